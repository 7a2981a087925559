"""`TableModel` from Python: what `pritchel fit` does, without a command line."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from pritchel import HorseshoeClassifier, HorseshoeRegressor, TableError, TableModel
from pritchel.tables.columns import LeftOut, Told
from pritchel.tables.encode import encode_inputs
from pritchel.tables.plan import plan_arrays
from pritchel.tables.score_table import rows_scored
from pritchel.tables.training import training_table
from tests.conftest import TINY, tiny

QUICK = {"training__num_steps": 300, "num_draws": 30, "random_state": None}
BRIEF = {**QUICK, "training__num_steps": 5, "num_draws": 5}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "key": np.arange(100),
            "area": rng.gamma(4, 30, 100),
            "town": rng.choice(np.asarray(["Ayr", "Bath", None], object), 100),
            "age": np.where(rng.random(100) < 0.2, np.nan, rng.uniform(0, 100, 100)),
            "country": "UK",
        },
        index=[f"house {index}" for index in range(100)],
    )
    price = 50 + 2 * frame["area"] + 40 * (frame["town"] == "Bath")
    return frame.assign(price=price.where(frame["key"] != 5), is_dear=price > 300)


@pytest.fixture(scope="module")
def said() -> list[str]:
    return []


@pytest.fixture(scope="module")
def model(frame, said) -> TableModel:
    fresh = TableModel(tiny(**QUICK), drop=["is_dear"], holdout=0.2)
    return fresh.fit(frame, "price", say=lambda message: said.append(str(message)))


@pytest.fixture(scope="module")
def classes(frame) -> TableModel:
    return TableModel(tiny(HorseshoeClassifier, **QUICK), drop=["price"], holdout=0.2).fit(frame, target="is_dear")


def test_a_fit_holds_rows_out_and_scores_them(model, frame, said):
    assert [column.name for column in model.plan_.columns] == ["area", "town", "age"]
    assert model.plan_.left_out == {"key": LeftOut.ID_COUNT, "country": LeftOut.CONSTANT, "is_dear": LeftOut.TOLD}
    assert model.notes_["num_scored"] == len(model.arrays_["observed"]) == 20
    (score,) = model.notes_["scores"]
    assert score["rmse"] < 0.5 * score["constant_rmse"]
    assert model.notes_["source"] == {
        "table": "a data frame",
        "rows": 100,
        "without_target": 1,
        "seed": 0,
        "holdout": 0.2,
    }
    assert said[0].startswith("How the table is taken")
    assert re.search(r"\n  town +category: .*Bath.* +number=\['town'\]\n", said[0])
    assert re.search(r"\n  key +left out: counts the rows, like an id +keep=\['key'\]", said[0])
    assert said[1:] == ["Dropped: 1 row(s) without a target, or cut short (row 6)"]
    assert not hasattr(model.estimator, "posterior_")  # the estimator given is left as it was


def test_it_is_the_estimators_own_fit(model, frame):
    data = training_table(frame, ["price"], Told(drop=["is_dear"]), holdout=0.2)
    expected = tiny(**QUICK | {"random_state": 0}).fit(*data.rows(held_out=False))
    np.testing.assert_array_equal(model.estimator_.elbo_, expected.elbo_)


def test_predictions_by_row(model, frame):
    answer = model.predict(frame, quantiles=(0.1, 0.9))
    assert list(answer.columns) == ["mean", "sd", "q10", "q90"]
    assert answer.index.equals(frame.index)
    mean, sd = model.estimator_.predict(encode_inputs(model.plan_, frame), return_std=True)
    np.testing.assert_array_equal(answer[["mean", "sd"]], np.column_stack([mean, sd]))
    with pytest.raises(TableError, match="quantiles must lie strictly between 0 and 1"):
        model.predict(frame, quantiles=[7])


def test_evaluation_leaves_rows_without_a_target_out(model, frame):
    outcome = model.evaluate(frame)
    assert len(outcome.observed) == 99
    error = model.predict(frame)["mean"] - frame["price"]
    assert outcome.scores[0].rmse == pytest.approx(np.sqrt((error**2).mean()))
    with pytest.raises(TableError, match="no column 'price' to compare"):
        model.evaluate(frame.drop(columns="price"))
    with pytest.raises(TableError, match="No row has 'price'"):
        model.evaluate(frame.assign(price=np.nan))


@pytest.mark.parametrize("name", ["model", "classes"])
def test_a_saved_model_answers_the_same(name, frame, tmp_path, request):
    model = request.getfixturevalue(name)
    loaded = TableModel.load(model.save(tmp_path / "m"))
    pd.testing.assert_frame_equal(loaded.predict(frame), model.predict(frame))
    assert loaded.plan_ == model.plan_
    assert loaded.notes_ == model.notes_
    assert "versions" in loaded.spec_
    assert loaded.estimator.get_params()["hidden"] == (8,)
    with pytest.raises(FileExistsError):
        model.save(tmp_path / "m")
    model.save(str(tmp_path / "m"), overwrite=True)


def test_classes(classes, frame):
    answer = classes.predict(frame)
    assert list(answer.columns) == ["class", "p_False", "p_True"]
    (score,) = classes.evaluate(frame).scores
    assert score.accuracy == pytest.approx((answer["class"] == frame["is_dear"].astype(str)).mean())
    assert score.accuracy > score.constant_accuracy + 0.2
    with pytest.raises(TableError, match="a class that the model has not seen"):
        classes.evaluate(frame.assign(is_dear="perhaps"))


def test_pruning_keeps_the_plan_and_the_scores_as_the_larger_models(model, frame, tmp_path):
    small = model.prune(threshold=0.05)
    assert small.estimator_.units_kept_.sum() <= model.estimator_.units_kept_.sum()
    assert small.plan_ == model.plan_
    assert small.notes_["source"] == model.notes_["source"]
    assert small.notes_ == model.notes_ | {"scored_before_pruning": True}
    assert "scored_before_pruning" not in model.notes_
    assert "on 20 held-out rows (before it was pruned): RMSE" in (small.save(tmp_path / "s") / "README.md").read_text()
    assert rows_scored(TableModel.load(tmp_path / "s").notes_) == "20 rows held out from the fit, before it was pruned"
    with pytest.raises(TableError, match="give them with frame"):
        model.prune(fine_tune_steps=5)
    tuned = model.prune(threshold=0.05, fine_tune_steps=5, frame=frame)
    assert not np.array_equal(tuned.predict(frame), small.predict(frame))


def test_the_estimator_is_the_one_the_target_asks_for(frame, monkeypatch):
    """Without a fit: only which estimator would be fitted."""
    from pritchel.tables import model as tables_model

    made = []
    monkeypatch.setattr(tables_model, "fit_and_score", lambda estimator, data, tell: made.append(estimator) or ({}, {}))
    for target, likelihood, wanted in (
        ("price", "auto", HorseshoeRegressor()),
        ("is_dear", "auto", HorseshoeClassifier()),
        ("town", "auto", HorseshoeClassifier()),
        ("key", "categorical", HorseshoeClassifier()),
        ("key", "poisson", HorseshoeRegressor(likelihood="poisson")),
    ):
        TableModel(likelihood=likelihood, random_state=3).fit(frame, target)
        assert repr(made[-1]) == repr(wanted.set_params(random_state=3))
    with pytest.raises(TableError, match=r"likelihood='categorical' asks for a HorseshoeClassifier; the estimator is"):
        TableModel(HorseshoeRegressor(), likelihood="categorical").fit(frame, "key")
    with pytest.raises(TableError, match="likelihood must be one of auto, categorical, gaussian"):
        TableModel(likelihood="odd").fit(frame, "price")
    with pytest.raises(TableError, match="A model of classes has one target"):
        TableModel(likelihood="categorical").fit(frame, ["key", "price"])


def test_refit_uses_all_rows_and_keeps_the_scores(frame, tmp_path):
    rows = frame[["area", "price"]]
    estimator = tiny(**BRIEF, checkpoint=tmp_path / "part")
    said = []
    again = TableModel(estimator, refit=True).fit(rows, "price", say=said.append)
    assert str(said[-1]) == "Fitting again to all rows ..."
    assert again.notes_["num_scored"] == 10
    assert again.notes_["source"]["refit"]
    assert again.estimator_.checkpoint is None
    assert sorted(path.name for path in (tmp_path / "part").iterdir()) == ["fit", "refit"]
    whole = TableModel(tiny(**BRIEF), holdout=0).fit(rows, "price")
    np.testing.assert_array_equal(again.estimator_.elbo_, whole.estimator_.elbo_)
    assert set(whole.arrays_) == {"line_weights", "line_sd"}  # for tables that are scored later
    np.testing.assert_array_equal(again.arrays_["line_weights"], whole.arrays_["line_weights"])


def test_codes_are_hinted_at_in_arguments(frame):
    said = []
    rows = frame[["area"]].assign(code=frame["is_dear"].astype(int))
    TableModel(tiny(**BRIEF)).fit(rows, "code", say=said.append)
    TableModel(HorseshoeRegressor.paper(**TINY | BRIEF)).fit(rows, "code", say=said.append)
    assert len(said) == 4
    for message in said[1::2]:
        assert "for classes add likelihood='categorical', for counts likelihood='poisson'." in str(message)


def test_every_class_is_fitted_to(frame):
    """A class of one row: a fit that never saw it could not be scored on it."""
    rows = frame[["area"]].assign(kind=np.where(frame["is_dear"], "dear", "cheap"))
    for seed in range(6):
        rows.iloc[seed, 1] = "rare"
        data = training_table(rows, ["kind"], holdout=0.5, seed=seed, classes=True)
        assert set(data.rows(held_out=False)[1]) == set(rows["kind"])
        rows["kind"] = rows["kind"].where(rows["kind"] != "rare", "cheap")


def test_labels_of_a_table_are_those_of_a_fit_to_numbers(frame):
    X, codes = frame[["area"]].to_numpy(), np.where(frame["is_dear"], 2.0, 1.0)
    estimator = tiny(HorseshoeClassifier, **BRIEF).fit(X, codes)
    model = TableModel.of(estimator, plan_arrays(estimator))
    for values in (codes, codes.astype(int)):
        scores = model.evaluate(pd.DataFrame({"x1": X[:, 0], "y": values})).scores
        assert scores[0].accuracy == pytest.approx(estimator.score(X, codes))


def test_custom_of_scikit_learn(model, frame):
    fresh = clone(model)
    assert fresh.get_params()["holdout"] == 0.2
    with pytest.raises(NotFittedError):
        fresh.predict(frame)
    again = pickle.loads(pickle.dumps(model))
    pd.testing.assert_frame_equal(again.predict(frame), model.predict(frame))
    with pytest.raises(TypeError, match="must be a pandas DataFrame; got a ndarray"):
        fresh.fit(frame.to_numpy(), "price")
    with pytest.raises(ValueError, match="holdout must be a number"):
        TableModel(holdout=2).fit(frame, "price")
