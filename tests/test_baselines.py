"""Simpler methods beside a network: a line that is exact, scores that pair rows, and sentences that tell no noise."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression, Ridge

from pritchel import HorseshoeClassifier, TableModel
from pritchel.posterior.baselines import LINES, TREES, BaselinePrediction, in_words, paired, score_baseline, standing
from pritchel.posterior.evaluate import Evaluation
from pritchel.serial import FileError
from pritchel.tables import baselines as simpler
from pritchel.tables.baselines import baselines, boosted, fit_line, line_of
from tests.conftest import tiny

RNG = np.random.default_rng(0)
INPUTS = RNG.normal(2, [1, 5, 0.1, 3], size=(40, 4))
TARGETS = np.column_stack([INPUTS @ [1, 0.5, 3, 0], INPUTS @ [0, 0, 9, 1]]) + RNG.normal(size=(40, 2))


@pytest.mark.parametrize("is_weighted", [False, True])
def test_the_ridge_is_the_one_that_predicts_left_out_rows_best(is_weighted):
    """Against every row left out in turn, for every penalty."""
    weights = RNG.integers(1, 4, 40).astype(float) if is_weighted else np.ones(40)
    share = weights / weights.sum()
    location = share @ INPUTS
    scale = np.sqrt(share @ (INPUTS - location) ** 2)
    standard = (INPUTS - location) / scale
    errors = []
    for penalty in simpler.PENALTIES:
        left_out = np.empty_like(TARGETS)
        for row in range(40):
            rest = np.arange(40) != row
            # In the means of all rows, which the closed form keeps as well.
            kept = Ridge(penalty * weights.sum(), fit_intercept=False).fit(
                standard[rest], TARGETS[rest] - share @ TARGETS, sample_weight=weights[rest]
            )
            left_out[row] = TARGETS[row] - share @ TARGETS - kept.predict(standard[row : row + 1])[0]
        errors.append(share @ left_out**2)
    line = fit_line(INPUTS, TARGETS, weights)
    assert line is not None
    for target, best in enumerate(np.argmin(errors, 0)):
        expected = Ridge(simpler.PENALTIES[best] * weights.sum()).fit(standard, TARGETS[:, target], weights)
        np.testing.assert_allclose(line.predict(INPUTS).mean[:, target], expected.predict(standard), rtol=1e-6)
        # The closed form also counts that a row moves the constant, by one part in forty.
        assert line.sd[target] == pytest.approx(np.sqrt(errors[best][target]), rel=0.05)


def test_a_line_of_classes_is_scikit_learns():
    for num_classes in (2, 3):
        index = np.digitize(TARGETS[:, 0], np.quantile(TARGETS[:, 0], np.arange(1, num_classes) / num_classes))
        line = fit_line(INPUTS, index[:, None], None, num_classes)
        standard = (INPUTS - INPUTS.mean(0)) / INPUTS.std(0)
        expected = LogisticRegression(max_iter=300).fit(standard, index).predict_proba(standard)
        assert line is not None
        np.testing.assert_allclose(line.predict(INPUTS).mean, expected, atol=1e-9)


def test_a_class_without_rows_and_a_constant_input_do_no_harm():
    index = (TARGETS[:, :1] > TARGETS[:, :1].mean()).astype(float) * 2
    inputs = np.column_stack([INPUTS, np.full(40, 7.0)])
    for said in baselines((inputs, index), inputs, None, 3)[1]:
        assert said.mean.shape == (40, 3)
        np.testing.assert_allclose(said.mean.sum(1), 1)
        assert said.mean[:, 1].max() < 1e-9


def test_what_cannot_be_fitted_is_left_out(monkeypatch):
    rows = (INPUTS, np.zeros((40, 1)))
    assert baselines(rows, INPUTS, None, 2) == (None, [])  # one class of two
    monkeypatch.setattr(simpler, "fit_line", lambda *_: 1 / 0)
    assert baselines(rows, INPUTS) == (None, [])


def test_of_many_rows_some_are_taken(monkeypatch):
    monkeypatch.setattr(simpler, "MAX_BOOSTED_ROWS", 30)
    monkeypatch.setattr(simpler, "MAX_LINE_ROWS", 30)
    chosen = simpler.some_rows(np.arange(40), 30)
    assert len({*chosen}) == 30
    line, other = fit_line(INPUTS, TARGETS), fit_line(INPUTS[chosen], TARGETS[chosen])
    assert line is not None
    assert other is not None
    np.testing.assert_array_equal(line.weights, other.weights)
    few = boosted((INPUTS, TARGETS), INPUTS, np.ones(40))
    assert few is not None
    assert few.mean.shape == (40, 2)
    assert boosted((INPUTS, TARGETS), INPUTS, None, 21) is None


def evaluation(observed, mean, log_density, classes=False) -> Evaluation:
    nothing = np.zeros((len(observed), 0 if classes else 1))
    return Evaluation([], observed, mean, nothing, nothing, [], log_density, nothing)


def test_gains_are_paired_over_rows():
    observed, mean = TARGETS[:, :1], TARGETS[:, :1] + RNG.normal(size=(40, 1))
    density = stats.norm.logpdf(observed, mean, 1)
    outcome = evaluation(observed, mean, density)
    said = BaselinePrediction(LINES[0], mean + 1, np.full((40, 1), 2.0))
    (own,) = score_baseline(said, outcome, ["y"])
    other = stats.norm.logpdf(observed, mean + 1, 2)
    assert own.log_likelihood == pytest.approx(other.mean())
    assert (own.gain, own.gain_error) == pytest.approx(
        ((density - other).mean(), (density - other).std(ddof=1) / np.sqrt(40))
    )
    (trees,) = score_baseline(said._replace(name=TREES, sd=None), outcome, ["y"])
    root = np.sqrt(np.mean((mean - observed) ** 2))
    assert trees.gain == pytest.approx(trees.rmse - root)
    assert trees.log_likelihood is None


def test_a_gaussian_gives_counts_probabilities():
    counts = np.arange(6.0)[:, None]
    said = BaselinePrediction(LINES[0], np.full((6, 1), 2.0), np.full((6, 1), 0.3))
    (own,) = score_baseline(said, evaluation(counts, counts, counts), ["y"], has_counts=True)
    inside = stats.norm.cdf(counts + 0.5, 2, 0.3) - stats.norm.cdf(counts - 0.5, 2, 0.3)
    expected = np.where(inside > 1e-6, np.log(np.maximum(inside, 1e-300)), stats.norm.logpdf(counts, 2, 0.3))
    assert own.log_likelihood == pytest.approx(expected.mean(), rel=0.01)


def test_noise_is_told_as_none():
    own = {"name": LINES[0], "log_likelihood": -1.0, "gain": 0.1, "gain_error": 0.06}
    assert standing(own, 100) == 0
    assert in_words(own, 100) == "level with ridge regression, as far as 100 rows can tell"
    assert standing({**own, "gain": 0.13}, 100) == 1
    assert standing({**own, "gain": 0.13}, 4) == 0  # of four rows the error is not known well
    assert standing({**own, "gain": -0.13}, 100) == -1
    assert standing({**own, "gain": None}, 100) == 0
    assert "behind ridge regression by 0.13 in log-likelihood a row" in in_words({**own, "gain": -0.13}, 100)
    assert paired(np.ones(1))[1] == np.inf


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=150), "b": rng.normal(size=150), "w": rng.integers(1, 3, 150)})
    line = frame["a"] - frame["b"] + 0.5 * rng.normal(size=150)
    return frame.assign(line=line, steps=np.where(frame["a"] * frame["b"] > 0, 5.0, -5.0) + line, kind=line > 0)


def test_a_fit_is_scored_beside_them_and_a_folder_keeps_the_line(frame, tmp_path):
    model = TableModel(tiny(), drop=["steps", "kind"], weight="w", holdout=0.3).fit(frame, "line")
    line, trees = model.notes_["baselines"]
    assert (line["name"], trees["name"]) == (LINES[0], TREES)
    assert line["rmse"] == pytest.approx(0.5, rel=0.25)
    assert standing(line, 45) < 1  # a network cannot be ahead where there is nothing but a line
    assert set(model.arrays_["row"]) < set(range(1, 151))
    assert len(model.arrays_["log_density"]) == len(model.arrays_["row"]) == 45
    folder = model.save(tmp_path / "m")
    assert "ridge regression" in (folder / "README.md").read_text()
    rows = frame.iloc[model.arrays_["row"].astype(int) - 1]
    (again,) = TableModel.load(folder).evaluate(rows).baselines
    assert again.log_likelihood == pytest.approx(line["log_likelihood"])
    assert again.gain == pytest.approx(line["gain"])
    broken = {**model.arrays_, "line_sd": np.zeros(1)}
    for arrays in (broken, {**broken, "line_sd": np.ones(2)}):
        with pytest.raises(FileError, match="The line beside the network"):
            line_of(model.estimator_, arrays)


def test_classes_have_a_line_and_trees_too(frame):
    model = TableModel(tiny(HorseshoeClassifier), drop=["steps", "line", "w"], holdout=0.3).fit(frame, "kind")
    line, trees = model.notes_["baselines"]
    assert (line["name"], trees["name"]) == (LINES[1], TREES)
    assert min(line["accuracy"], trees["accuracy"]) > 0.7
    assert line["rmse"] is None
    (again,) = model.evaluate(frame).baselines
    assert again.accuracy > 0.8
