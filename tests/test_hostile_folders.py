"""Any change to a spec ends in a `FileError` at load, or in a model that predicts, is inspected and reported."""

import copy
import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pritchel import FileError, HorseshoeClassifier, TableModel
from pritchel.cli.inspect import describe, show
from pritchel.estimators.saved import unpack, unpack_to_ask
from pritchel.folder import read_folder
from pritchel.posterior.evaluate import LEVELS, ClassScores, TargetScores
from pritchel.tables.loaded import LoadedTable
from tests.conftest import tiny
from tests.test_files import JSON_VALUES, rewrite_spec

ODD = [None, True, False, -5, 0, 1, 3, 10**6, 1e300, -1.5, "", "x", "array", [], [1], [[]], {}, {"array": "elbo"}]
SMALL = {"hidden": (3,), "training__num_steps": 20, "num_draws": 5}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=60), "town": rng.choice(["Ayr", "Bath"], 60)})
    return frame.assign(y=frame["x"] + (frame["town"] == "Ayr"), z=np.where(frame["x"] > 0, "up", "down"))


@pytest.fixture(scope="module", params=["numbers", "classes"])
def saved(request, frame, tmp_path_factory):
    is_number = request.param == "numbers"
    estimator = tiny(calibration="spread", **SMALL) if is_number else tiny(HorseshoeClassifier, **SMALL)
    model = TableModel(estimator, holdout=0.2, drop=["z" if is_number else "y"]).fit(frame, "y" if is_number else "z")
    return read_folder(model.save(tmp_path_factory.mktemp("hostile") / "m"))


def places(node, path=()):
    """Every place in a spec."""
    if path:
        yield path
    inside = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, part in inside:
        yield from places(part, (*path, key))


def use(spec, arrays, frame):
    """Load, predict and inspect, as a model and as what commands ask; the model, or None if it was refused."""
    model, asked = (
        loaded(kind, made, spec, arrays) for kind, made in ((TableModel, unpack), (LoadedTable, unpack_to_ask))
    )
    assert model is None or asked is not None
    for own in filter(None, (model, asked)):
        num_columns = own.estimator_.n_features_in_
        of_arrays = pd.DataFrame(np.zeros((3, num_columns)), columns=[f"x{1 + index}" for index in range(num_columns)])
        rows = of_arrays if spec["table"] is None else frame.head(3)
        if not {column.name for column in own.plan_.columns} <= {*rows.columns}:
            continue  # a sound model, of another table
        answers = own.predict(rows, () if own.has_classes else (0.5,))
        assert np.isfinite(answers.select_dtypes("number").to_numpy()).all()
        show(describe(own, "folder"))
    return model


def loaded(kind, unpack, spec, arrays):
    try:
        return kind.of_saved(unpack(spec, arrays), "folder")
    except FileError:
        return None


def with_value(spec, path, value):
    changed = copy.deepcopy(spec)
    node = changed
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    return changed


@settings(
    max_examples=120, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_a_changed_spec_is_refused_or_works(saved, frame, data):
    spec, arrays = saved
    path = data.draw(st.sampled_from(list(places(spec))))
    use(with_value(spec, path, data.draw(st.sampled_from(ODD) | JSON_VALUES)), arrays, frame)


@pytest.mark.slow
def test_every_odd_value_in_every_place(saved, frame):
    spec, arrays = saved
    for path in places(spec):
        for value in ODD:
            use(with_value(spec, path, value), arrays, frame)


WRONG = [
    (("created",), 3),
    (("versions",), ["1.0"]),
    (("fitted", "units_kept"), []),
    (("fitted", "units_kept", 0), [1, 2]),
    (("fitted", "status"), None),
    (("fitted", "num_draws"), 100_000),
    (("fitted", "num_draws"), True),
    (("fitted", "elbo"), {"array": "members.0.kept.0"}),
    (("fitted", "members", 0, "model", "fields", "activation"), "sigmoid"),
    (("fitted", "members", 0, "model", "fields", "linear"), 1),
    (("table", "columns"), {}),
    (("table", "columns", 0, "summary"), {"missing": 0}),
    (("table", "left_out", "z"), "for no reason"),
    (("table", "targets"), ["y", "y"]),
    (("notes", "scores", 0, "target"), None),
    (("notes", "scores", 0), {"target": "y"}),
    (("notes", "checks", 0), 3),
    (("notes", "source", "rows"), "many"),
    (("notes", "num_scored"), 0),
    (("settings", "checkpoint"), "elsewhere"),
    (("settings", "n_jobs"), "all"),
    (("settings", "random_state"), -1),
    (("settings", "input_limit"), 0.5),
    (("settings", "num_draws"), 0),
]


@pytest.mark.parametrize("saved", ["numbers"], indirect=True)
@pytest.mark.parametrize(("path", "value"), WRONG, ids=str)
def test_what_no_model_says_is_refused(saved, path, value):
    spec, arrays = saved
    with pytest.raises(FileError):
        TableModel.of_saved(unpack(with_value(spec, path, value), arrays), "folder")


@pytest.mark.parametrize("saved", ["classes"], indirect=True)
@pytest.mark.parametrize("weights", ["odd", 2, {"pairs": [["up", -1], ["down", 1]]}], ids=str)
def test_class_weights_that_are_none_are_refused(saved, weights):
    spec, arrays = saved
    with pytest.raises(FileError, match="class_weight"):
        unpack(with_value(spec, ("settings", "class_weight"), weights), arrays)


def test_scores_are_one_a_target_and_of_so_many_rows(saved):
    spec, arrays = saved
    notes = spec["notes"]
    without_count = {name: part for name, part in notes.items() if name != "num_scored"}
    for wrong in ({**notes, "scores": 2 * notes["scores"]}, without_count):
        with pytest.raises(FileError, match="not one a target"):
            unpack({**spec, "notes": wrong}, arrays)


def test_scores_are_of_the_kind_of_the_targets(saved):
    spec, arrays = saved
    (own,) = spec["notes"]["scores"]
    of_numbers = dict.fromkeys(TargetScores._fields) | {"coverage": [None] * len(LEVELS)}
    other = of_numbers if "accuracy" in own else dict.fromkeys(ClassScores._fields)
    with pytest.raises(FileError, match="of another kind"):
        unpack(with_value(spec, ("notes", "scores"), [other | {"target": own["target"]}]), arrays)


def test_scales_that_are_not_positive_are_refused(saved):
    spec, arrays = saved
    for name in ("standardizer.1", "standardizer.3"):
        for scale in (0, -1):
            with pytest.raises(FileError, match="not positive"):
                unpack(spec, arrays | {name: np.full_like(arrays[name], scale)})


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("saved", ["numbers"], indirect=True)
def test_weights_with_no_finite_answers_are_refused(saved):
    spec, arrays = saved
    name = "members.0.guide.linear.log_sd"
    with pytest.raises(FileError, match="predictions are not finite"):
        unpack(spec, arrays | {name: np.full_like(arrays[name], 3e38)})


def test_older_specs_pass_the_schema(saved):
    """What a later version may add is no hindrance."""
    spec, arrays = saved
    unpack({**spec, "later": 1, "notes": {**spec["notes"], "later": {}}}, arrays)


def test_what_could_not_be_loaded_is_not_saved(fitted, tmp_path, table):
    model = copy.copy(fitted)
    broken = copy.copy(fitted.posterior_)
    broken.standardizer = broken.standardizer._replace(target_scale=np.array([np.nan]))
    model.posterior_ = broken
    with pytest.raises(ValueError, match="cannot be saved"):
        model.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:invalid:RuntimeWarning")
@pytest.mark.parametrize("column", ["x", "y"])
def test_one_enormous_cell_makes_a_folder_that_loads(frame, tmp_path, column):
    huge = frame.drop(columns="z")
    huge.loc[7, column] = 1e99  # just small enough to be taken
    model = TableModel(tiny(**SMALL), holdout=0.2).fit(huge, "y")
    assert TableModel.load(model.save(tmp_path / "m")).predict(huge).shape == (60, 2)
    text = (tmp_path / "m" / "spec.json").read_text()
    assert not re.search("NaN|Infinity", text)


def test_dates_as_labels_come_back(table, tmp_path):
    X, y = table
    labels = np.where(y > 10, np.datetime64("2020-01-02"), np.datetime64("2021-03-04"))
    model = tiny(HorseshoeClassifier, **SMALL).fit(X, labels)
    loaded = HorseshoeClassifier.load(model.save(tmp_path / "m"))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.classes_.dtype == labels.dtype


def test_labels_that_cannot_be_written_are_refused_with_advice(table, tmp_path):
    X, y = table
    model = tiny(HorseshoeClassifier, **SMALL).fit(X, np.where(y > 10, np.timedelta64(1, "D"), np.timedelta64(2, "D")))
    with pytest.raises(ValueError, match="texts, numbers or numpy dates"):
        model.save(tmp_path / "m")


def test_a_folder_on_disk_is_checked_as_one_in_memory(fitted, tmp_path):
    path = fitted.save(tmp_path / "m")
    rewrite_spec(path, lambda spec: spec["fitted"].update(units_kept="all"))
    with pytest.raises(FileError, match="units_kept must be a list"):
        TableModel.load(path)
    assert json.loads((path / "spec.json").read_text())["fitted"]["units_kept"] == "all"
