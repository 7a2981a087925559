"""Scores in words: what is said is what the figures say, and advice is never what is already done."""

from types import SimpleNamespace

import pytest

from pritchel.cli.common import as_flag
from pritchel.tables.judgement import judge

RIGHT = (0.51, 0.79, 0.91, 0.95)


def told(coverage=RIGHT, num_rows=400, is_sampled=False, has_counts=False, log_likelihood=-1.0, spell=str, found=None):
    estimator = SimpleNamespace(
        calibration_=found,
        sampling_report_=SimpleNamespace(chains=("one",) if is_sampled else ()),
        posterior_=SimpleNamespace(likelihood=SimpleNamespace(has_counts=has_counts)),
    )
    score = {"target": "y", "log_likelihood": log_likelihood, "constant_log_likelihood": -2.0}
    score |= {"coverage": coverage} if coverage else {}
    return [message.spelled(spell) for message in judge(estimator, [score], num_rows)]


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
    (calibrated,) = told(coverage, is_sampled=is_sampled, found="spread 0.71")
    assert advice in calibrated
    assert "calibration" not in calibrated


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
