"""Scores in words: what is said is what the figures say, and advice is never what is already done."""

from types import SimpleNamespace

import numpy as np
import pytest

from pritchel.cli.common import as_flag
from pritchel.posterior.calibration.pooled import PooledSpread
from pritchel.posterior.calibration.spread import Spread
from pritchel.tables.judgement import judge

RIGHT = (0.51, 0.79, 0.91, 0.95)


def told(
    coverage=RIGHT,
    num_rows=400,
    is_sampled=False,
    has_counts=False,
    log_likelihood=-1.0,
    spell=str,
    beside=(),
    found=None,
):
    estimator = SimpleNamespace(
        calibration_=found,
        sampling_report_=SimpleNamespace(chains=("one",) if is_sampled else ()),
        posterior_=SimpleNamespace(likelihood=SimpleNamespace(has_counts=has_counts)),
    )
    score = {"target": "y", "rmse": 5.0, "log_likelihood": log_likelihood, "constant_log_likelihood": -2.0}
    score |= {"coverage": coverage} if coverage else {}
    notes = {"scores": [score], "num_scored": num_rows, "baselines": beside}
    return [message.spelled(spell) for message in judge(estimator, notes)]


def test_intervals_that_hold_what_they_promise():
    assert told() == ["y: intervals hold what they promise, as far as 400 rows can tell (90 %: 91%)."]
    assert told((0.6, 0.85, 0.95, 1.0), num_rows=30) == [
        "y: intervals hold what they promise, as far as 30 rows can tell (90 %: 95%)."
    ]
    assert "hold what they promise" in told((0.51, 0.81, 0.91, 0.96), num_rows=100_000)[0]  # off, and nobody's trouble


@pytest.mark.parametrize(
    ("coverage", "is_sampled", "expected", "advice"),
    [
        ((0.70, 0.92, 0.97, 0.99), False, "too wide: the 50% intervals hold 70% of 400 rows", "inference='sampled'"),
        ((0.70, 0.92, 0.97, 0.99), True, "too wide", "sampling__num_warmup=600"),
        ((0.40, 0.60, 0.66, 0.74), False, "too narrow", "inference='sampled'"),
        ((0.40, 0.60, 0.66, 0.74), True, "too narrow: the 95% intervals hold 74% of 400 rows", "num_members=6"),
    ],
)
def test_intervals_that_do_not(coverage, is_sampled, expected, advice):
    (sentence,) = told(coverage, is_sampled=is_sampled)
    assert expected in sentence
    assert advice in sentence
    assert "sets them right: calibration='spread'" in sentence
    (calibrated,) = told(coverage, is_sampled=is_sampled, found=Spread(np.array([0.71]), 80, 0))
    assert advice in calibrated
    assert "calibration" not in calibrated
    (narrowed,) = told(coverage, is_sampled=is_sampled, found=PooledSpread(np.array([0.71]), 400, 0))
    assert "sets them right: calibration='spread'" in narrowed


def test_advice_is_spelled_for_the_command_line():
    assert "--num-warmup 600" in told((0.70, 0.92, 0.97, 0.99), is_sampled=True, spell=as_flag)[0]
    assert "--calibration spread" in told((0.70, 0.92, 0.97, 0.99), spell=as_flag)[0]
    assert "--inference sampled" in told((0.70, 0.92, 0.97, 0.99), spell=as_flag)[0]


def test_a_model_behind_the_constant_is_told_off():
    first, _ = told(log_likelihood=-2.5)
    assert "no better than the constant predictor, whose log-likelihood is 0.5 a row higher" in first
    (only,) = told(coverage=None, log_likelihood=float("nan"))
    assert "no better than the constant predictor" in only


def test_intervals_of_counts_are_left_alone():
    assert told((0.9, 0.99, 1.0, 1.0), has_counts=True) == []


def line(gain, error=0.1, name="ridge regression", **scores):
    own = {"target": "y", "name": name, "gain": gain, "gain_error": error, "rmse": None, "log_likelihood": -1.0 - gain}
    return own | scores


def test_a_line_that_does_as_well_is_told_as_such():
    first, _ = told(beside=[line(0.15)])
    assert first == (
        "y: ridge regression does as well, as far as 400 rows can tell (log-likelihood -1.000, its -1.150): a line may "
        "be all there is; more rows, or other inputs, could show more."
    )
    assert (
        "ahead of ridge regression by 0.5 in log-likelihood a row (standard error 0.1)." in told(beside=[line(0.5)])[0]
    )


def test_a_network_behind_is_told_off_with_advice_it_has_not_taken():
    first, _ = told(beside=[line(-0.5)], spell=as_flag)
    assert "ridge regression does better by 0.5 in log-likelihood a row (standard error 0.1): a line is right" in first
    assert "or try --inference sampled" in first
    first, _ = told(beside=[line(-0.5)], is_sampled=True, spell=as_flag)
    assert "give more rows, or try another --likelihood" in first
    trees = line(-2.0, 0.3, "gradient boosting", rmse=3.0, log_likelihood=None)
    assert "gradient boosting does better by 2 in RMSE (standard error 0.3)" in told(beside=[trees])[0]


def test_what_is_not_finite_is_not_compared():
    assert len(told(beside=[line(float("nan")), line(0.0) | {"gain": None}])) == 1


def test_a_simpler_method_without_figures_is_passed_over():
    beside = {"target": "y", "name": "gradient boosting", "gain": 1.0, "gain_error": 0.1, "log_likelihood": None}
    assert len(told(beside=[beside | {"rmse": 6.0}])) == 2
    assert len(told(beside=[beside | {"rmse": None}])) == 1  # what was not finite is null in a folder
    assert len(told(beside=[beside | {"rmse": 6.0, "gain": None}])) == 1
