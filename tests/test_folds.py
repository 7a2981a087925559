"""Cross-validation: every row is scored by a fit that did not see it, and the model is fitted to all of them."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pritchel import HorseshoeClassifier, TableError, TableModel
from pritchel.infer import checkpoint as checkpointing
from pritchel.infer import feed as feeding
from pritchel.posterior.baselines import BaselinePrediction, score_baseline
from pritchel.posterior.evaluate import Evaluation
from pritchel.tables import model as tables_model
from pritchel.tables.folds import fold_of_rows, pooled
from pritchel.tables.score_table import score_table
from pritchel.tables.scoring import SCORE_ARRAYS
from pritchel.tables.training import training_table
from tests.conftest import tiny
from tests.test_cli import run
from tests.test_cut_short import SHORT, interrupt

BRIEF = {"training__num_steps": 60, "num_draws": 10, "hidden": (4,)}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=50), "w": rng.integers(1, 3, 50)})
    frame["y"] = 3 * frame["a"] + rng.normal(size=50)
    frame.loc[7, "y"] = None
    return frame.assign(kind=np.where(frame["a"] > 1, "high", "low"))


@pytest.fixture(scope="module")
def seen() -> list[tuple[set[float], int]]:
    return []


@pytest.fixture(scope="module")
def model(frame, seen) -> TableModel:
    """What each of its fits was given is noted down."""
    real = tables_model.fit_and_score

    def noted(estimator, data, tell):
        seen.append((set(data.rows(held_out=False)[1]), int(data.is_held_out.sum())))
        return real(estimator, data, tell)

    tables_model.fit_and_score = noted
    said = []
    try:
        fitted = TableModel(tiny(**BRIEF), drop=["kind"], weight="w", folds=3).fit(frame, "y", say=said.append)
    finally:
        tables_model.fit_and_score = real
    assert [str(text) for text in said[-4:]] == [
        *(f"Fold {index} of 3 ..." for index in (1, 2, 3)),
        "Fitting to all rows ...",
    ]
    return fitted


def test_every_row_has_its_turn_and_the_model_sees_all(model, frame, seen):
    known = frame["y"].dropna()
    np.testing.assert_array_equal(model.arrays_["row"], np.flatnonzero(frame["y"].notna()) + 1)
    np.testing.assert_array_equal(model.arrays_["observed"][:, 0], known)
    assert sorted(num for _, num in seen) == [0, 16, 16, 17]
    assert seen[-1][0] == set(known)
    alone = TableModel(tiny(**BRIEF), drop=["kind"], weight="w", holdout=0).fit(frame, "y")
    np.testing.assert_array_equal(model.estimator_.elbo_, alone.estimator_.elbo_)
    np.testing.assert_array_equal(model.arrays_["line_weights"], alone.arrays_["line_weights"])


def test_scores_are_those_of_all_rows_together(model):
    (score,) = model.notes_["scores"]
    assert model.notes_["num_scored"] == 49
    error = model.arrays_["mean"] - model.arrays_["observed"]
    assert score["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)))
    assert score["log_likelihood"] == pytest.approx(model.arrays_["log_density"].mean())
    assert score["coverage"][2] == pytest.approx(np.mean(np.abs(model.arrays_["pit"] - 0.5) <= 0.45))
    line, trees = model.notes_["baselines"]
    assert trees["gain"] == pytest.approx(trees["rmse"] - score["rmse"])
    assert line["gain"] == pytest.approx(score["log_likelihood"] - line["log_likelihood"])
    assert 0 < line["gain_error"] < 1
    names = [own["name"] for own in model.notes_["folds"]["errors"]]
    assert names == ["model", "ridge regression", "gradient boosting", "constant predictor"]
    _, rows = score_table(model.notes_, levels=(0.9,))
    assert all("±" in row[2] for row in rows)
    assert [own["name"] for own in model.notes_["importances"]] == ["a"]


def test_gains_over_folds_are_those_of_all_rows():
    """Against the same rows scored at once: the means are equal, the errors nearly."""
    rng = np.random.default_rng(1)
    observed = rng.normal(size=(400, 1))
    mean, other = (observed + rng.normal(size=(400, 1)) * scale for scale in (1.0, 1.3))
    density = stats.norm.logpdf(observed, mean, 1)
    own = {"target": "y", "rmse": 0.0, "log_likelihood": 0.0, "constant_rmse": 1.0}

    def part(rows):
        outcome = Evaluation([], observed[rows], mean[rows], observed[rows], mean[rows], [], density[rows], mean[rows])
        said = [BaselinePrediction("ridge regression", other[rows], np.full((len(mean[rows]), 1), 1.3))]
        said.append(BaselinePrediction("gradient boosting", other[rows]))
        scored = [score_baseline(each, outcome, ["y"])[0]._asdict() for each in said]
        mine = own | {"rmse": float(np.sqrt(np.mean((mean - observed)[rows] ** 2)))}
        notes = {"seconds": 1.0, "importances": [], "worst": [], "scores": [mine], "num_scored": len(mean[rows])}
        arrays = {name: getattr(outcome, name) for name in SCORE_ARRAYS} | {"row": np.arange(400.0)[rows]}
        return notes | {"baselines": scored}, arrays

    whole = part(slice(None))[0]["baselines"]
    parts = [part(slice(0, 150)), part(slice(150, 400))]
    for found, expected in zip(pooled(parts)[0]["baselines"], whole, strict=True):
        assert found["gain"] == pytest.approx(expected["gain"])
        assert found["gain_error"] == pytest.approx(expected["gain_error"], rel=0.05)


def test_a_folder_keeps_it(model, tmp_path):
    folder = model.save(tmp_path / "m")
    assert TableModel.load(folder).notes_ == model.notes_
    assert "on 49 rows in 3 folds" in (folder / "README.md").read_text()
    shown = run("inspect", folder).stdout
    assert "each predicted by one of 3 fits" in " ".join(shown.split())


def test_folds_of_classes_have_their_share_of_each(frame):
    rows = frame.assign(kind=frame["kind"].where(frame.index != 3, "only"))
    data = training_table(rows, ["kind"], holdout=0.0, classes=True)
    fold = fold_of_rows(data, 4, True, 0)
    assert list(np.flatnonzero(fold < 0)) == [3]
    for kind in ("high", "low"):
        counts = np.bincount(fold[rows["kind"] == kind], minlength=4)
        assert counts.max() - counts.min() <= 1
    fitted = TableModel(tiny(HorseshoeClassifier, **BRIEF), folds=2, drop=["y", "w"]).fit(rows, "kind")
    assert fitted.notes_["num_scored"] == 49
    assert fitted.arrays_["mean"].shape == (49, 3)
    assert fitted.notes_["scores"][0]["accuracy"] > 0.6


def test_what_cannot_be_is_said(frame):
    with pytest.raises(TableError, match=r"Give folds or holdout=0.2, not both"):
        TableModel(folds=3, holdout=0.2).fit(frame, "y")
    with pytest.raises(ValueError, match="folds must be"):
        TableModel(folds=1).fit(frame, "y")
    with pytest.raises(TableError, match="49 rows are too few for folds=60"):
        TableModel(folds=60, drop=["kind"]).fit(frame, "y")


def test_a_fit_over_folds_is_resumed_where_it_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(feeding, "MAX_CHUNK_STEPS", 50)
    monkeypatch.setattr(checkpointing, "EVERY_SECONDS", 0.0)
    x = np.random.default_rng(0).normal(size=(40, 2))
    (tmp_path / "t.csv").write_text("a,b,y\n" + "".join(f"{a:.4f},{b:.4f},{a + 2 * b:.4f}\n" for a, b in x))
    words = [word for word in SHORT if word not in ("--holdout", "0")]

    def fit(*more, to="m", code=0):
        place = ("fit", tmp_path / "t.csv", "-t", "y", "-o", tmp_path / to, "--num-members", 1, "--folds", 2)
        return run(*place, *words, *more, code=code)

    with monkeypatch.context() as once:
        interrupt(once, after=6)  # of four chunks a fold
        result = fit(code=130)
    assert "Fold 2 of 2 ..." in result.stderr
    partial = tmp_path / "m.partial"
    assert sorted(path.name for path in partial.iterdir()) == ["fold-1", "fold-2", "model"]
    so_far = TableModel.load(partial / "model")
    assert so_far.is_interrupted
    assert "scores" not in so_far.notes_
    assert "holds an unfinished fit" in fit(code=2).stderr
    fit("--resume")
    assert not partial.exists()
    fit(to="whole")
    notes = [json.loads((tmp_path / to / "spec.json").read_text())["notes"] for to in ("m", "whole")]
    assert notes[0]["scores"] == notes[1]["scores"]
    assert notes[0]["folds"] == notes[1]["folds"]
