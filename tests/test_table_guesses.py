"""Layouts and spellings are guessed, said and corrected; columns are what they are told to be."""

import numpy as np
import pandas as pd
import pytest

from pritchel import HorseshoeClassifier, HorseshoeRegressor, TableError, TableModel
from pritchel.tables.columns import LeftOut, TablePlan, Told
from pritchel.tables.encode import encode_inputs, target_values
from pritchel.tables.guesses import column_remarks, guess_table
from pritchel.tables.plan import holds_classes, plan_table
from pritchel.tables.read import LAYOUT, read_table
from pritchel.tables.training import training_table
from tests.conftest import tiny

BRIEF = {"training__num_steps": 5, "num_draws": 5}
ROWS = [(f"{index}.5", "Köln" if index % 3 else "Bonn", index * index) for index in range(1, 31)]


@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_separators_and_encodings_are_guessed(tmp_path, sep, encoding):
    lines = [sep.join(map(str, row)) for row in [("x", "town", "y"), *ROWS]]
    (tmp_path / "t.csv").write_text("\n".join(lines), encoding=encoding)
    frame = read_table(str(tmp_path / "t.csv"))
    assert frame["town"].tolist() == [town for _, town, _ in ROWS]
    assert frame.attrs[LAYOUT]["sep"] == sep
    told = read_table(str(tmp_path / "t.csv"), sep, encoding)
    pd.testing.assert_frame_equal(told, frame)


def test_a_layout_that_is_told_is_not_guessed(tmp_path):
    (tmp_path / "t.csv").write_text("a:b;c\n1:2;3\n4:5;6\n")
    assert list(read_table(str(tmp_path / "t.csv"), ":").columns) == ["a", "b;c"]
    for options, message in (((":;", None), "sep must be one character"), ((None, "odd"), "no encoding 'odd'")):
        with pytest.raises(TableError, match=message):
            read_table(str(tmp_path / "t.csv"), *options)
    (tmp_path / "b.csv").write_bytes("x,town\n1,Köln\n".encode("cp1252"))
    with pytest.raises(TableError, match=r"not a text file in ascii\. Give another encoding"):
        read_table(str(tmp_path / "b.csv"), encoding="ascii")


def texts(**columns) -> pd.DataFrame:
    """A table of texts, as a CSV gives it."""
    return pd.DataFrame({name: list(map(str, values)) for name, values in columns.items()})


def spelled(columns: dict[str, list[str]], told: Told = Told()) -> dict[str, float]:  # noqa: B008
    """The first cell of every column as the encoding has it."""
    frame = texts(**columns, y=[*range(len(next(iter(columns.values()))))])
    plan = plan_table(frame, ["y"], told)
    return dict(zip(plan.feature_names(), encode_inputs(plan, frame)[0].tolist(), strict=True))


POINT = {"area": ["9,231", "10,400", "870", "12,000"], "rate": ["0.5", "0.25", "1.5", "3"]}
COMMA = {"area": ["9.231", "10.400", "870", "12.000"], "rate": ["0,5", "0,25", "1,5", "3"]}
GAPS = {"area": ["9 231,5", "10\u202f400", "870", "12\u00a0000"], "rate": ["0,5", "0,25", "1,5", "3"]}
SWISS = {"area": ["9'231.5", "10'400", "870", "12'000"], "rate": ["0.5", "0.25", "1.5", "3"]}


@pytest.mark.parametrize(("columns", "area"), [(POINT, 9231), (COMMA, 9231), (GAPS, 9231.5), (SWISS, 9231.5)])
def test_thousands_and_decimal_commas_are_numbers(columns, area):
    assert spelled(columns) == {"area": area, "rate": 0.5}


def test_commas_that_may_be_either_mark_are_asked_about():
    only = {"area": POINT["area"], "other": ["1", "2", "4", "7"]}
    with pytest.raises(TableError, match=r"'area' holds numbers with commas, such as '9,231'. Say with decimal"):
        spelled(only)
    assert spelled(only, Told(decimal="."))["area"] == 9231
    assert spelled(only, Told(decimal=","))["area"] == 9.231
    assert spelled(only, Told(drop=["area"])) == {"other": 1}
    with pytest.raises(TableError, match=r"decimal must be '.' or ','; got 'x'"):
        spelled(only, Told(decimal="x"))


def test_a_target_with_commas_is_one_of_numbers(tmp_path):
    frame = texts(x=np.arange(40) / 8, price=[f"{index + 9},{100 + index}.5" for index in range(40)])
    assert not holds_classes(frame, ["price"])
    plan = plan_table(frame, ["price"])
    values, _ = target_values(TablePlan.from_json(plan.to_json()), frame)
    assert values[:2, 0].tolist() == [9100.5, 10101.5]


def test_numbers_are_spelled_as_the_model_knows_them_unless_told():
    train = texts(x=["1.234,5", "2,5", "3,5"] * 5, y=range(15))
    plan = plan_table(train, ["y"])
    assert encode_inputs(plan, texts(x=["1.234"]))[0, 0] == 1234
    assert encode_inputs(plan.read_with("."), texts(x=["1.234"]))[0, 0] == 1.234
    with pytest.raises(TableError, match=r"row 1 is '1\.5'"):
        encode_inputs(plan, texts(x=["1.5"]))
    plain = plan_table(texts(x=["1.5", "2.5", "4"] * 5, y=range(15)), ["y"])
    with pytest.raises(TableError, match="row 1 is '1,5'"):
        encode_inputs(plain, texts(x=["1,5"]))


def test_columns_are_what_they_are_told_to_be():
    frame = texts(code=["01", "02", "02"] * 10, level=["1", "2", "x"] * 10, many=range(30), w=["1"] * 30, y=range(30))
    kinds = {column.name: column.kind for column in plan_table(frame, ["y"]).columns}
    assert kinds == {"code": "number", "level": "category"}
    told = Told(category=["code"], number=["many"], weight="w", drop=["level"])
    plan = plan_table(frame, ["y"], told)
    assert {column.name: column.kind for column in plan.columns} == {"code": "category", "many": "number"}
    assert plan.left_out == {"level": LeftOut.TOLD, "w": LeftOut.WEIGHT}
    assert plan.categories[0].categories == ("01", "02")
    with pytest.raises(TableError, match=r"'level' must hold numbers; row 3 is 'x'.*na_values=\['x'\]"):
        plan_table(frame, ["y"], Told(number=["level"]))
    with pytest.raises(TableError, match="cannot be a category and a number"):
        plan_table(frame, ["y"], Told(number=["level"], category=["level"]))
    assert holds_classes(frame, ["code"], Told(category=["code"]))
    assert not holds_classes(frame, ["level"], Told(number=["level"]))


def test_weights_are_read_as_the_file_spells_numbers():
    """Where another column says that the comma is the decimal mark, 1.200 is twelve hundred."""
    frame = pd.DataFrame({"x": ["0,5", "1,5", "2,5", "4,5"], "y": ["1,5", "2,5", "3,25", "4"]})
    for given, expected in ((["900", "1.200", "2.500", "1"], [900, 1200, 2500, 1]), (["0,5"] * 4, [0.5] * 4)):
        data = training_table(frame.assign(w=given), ["y"], Told(weight="w"), holdout=0.0)
        np.testing.assert_array_equal(data.weights, expected)
    data = training_table(frame.assign(w=["True", "False", "True", "True"]), ["y"], Told(weight="w"), holdout=0.0)
    np.testing.assert_array_equal(data.weights, [1, 0, 1, 1])


def test_weights_are_those_of_the_rows():
    frame = pd.DataFrame({"x": np.arange(40) % 7 / 2, "y": np.arange(40.0) % 5, "w": np.arange(40) % 3})
    data = training_table(frame, ["y"], Told(weight="w"), holdout=0.2)
    assert data.weights is not None
    np.testing.assert_array_equal(data.weights, frame["w"])
    kept = ~data.is_held_out
    weighted = TableModel(tiny(**BRIEF), weight="w", holdout=0.2).fit(frame, "y")
    expected = tiny(**BRIEF).fit(data.inputs[kept], data.targets[kept, 0], sample_weight=data.weights[kept])
    np.testing.assert_array_equal(weighted.estimator_.elbo_, expected.elbo_)
    for wrong in (-1.0, np.nan):
        with pytest.raises(TableError, match=r"'w' is (-1|nan) in row 4; a weight is zero or more"):
            training_table(frame.assign(w=[1.0, 1.0, 1.0, wrong] + [1.0] * 36), ["y"], Told(weight="w"))


@pytest.mark.parametrize(("weight", "size"), [(1e20, "large"), (1e99, "large"), (1e-40, "small")])
def test_weights_too_large_or_small_to_compute_with_are_refused(weight, size):
    frame = pd.DataFrame({"x": np.arange(40) % 7 / 2, "y": np.arange(40.0) % 5, "w": np.full(40, weight)})
    with pytest.raises(TableError, match=rf"Column 'w' is up to .*, too {size} to compute with.*Divide it by its mean"):
        training_table(frame, ["y"], Told(weight="w"))
    with pytest.raises(ValueError, match=f"sample_weight is up to .*, too {size} to compute with"):
        tiny(**BRIEF).fit(frame[["x"]], frame["y"], sample_weight=frame["w"])


def test_weights_that_are_just_small_enough_can_be_fitted_with():
    X, y = np.arange(40.0)[:, None] % 7, np.arange(40.0) % 5
    assert np.isfinite(tiny(**BRIEF).fit(X, y, sample_weight=np.full(40, 2e10)).predict(X)).all()


def test_guesses_are_listed_beside_what_changes_them(tmp_path):
    text = "house_id;area;town;price\n" + "".join(f"{i};{i % 9},25;{'AB'[i % 2]};{i * i % 31}\n" for i in range(1, 31))
    (tmp_path / "t.csv").write_text(text)
    frame = read_table(str(tmp_path / "t.csv"))
    lines = str(guess_table(plan_table(frame, ["price"]), frame.attrs[LAYOUT], classes=False)).splitlines()
    for line, words in zip(
        lines[1:],
        (
            ["(the file)", "sep ';'", "sep"],
            ["price", "the target: numbers", "category=['price']"],
            ["area", "number ('1.234,5' is 1234.5)", "category=['area']"],
            ["town", "category: ", "number=['town']"],
            ["house_id", "left out: counts the rows", "keep=['house_id']"],
        ),
        strict=True,
    ):
        assert all(word in line for word in words), line


def test_a_wide_table_has_a_short_list_of_guesses():
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(5, 1500)), columns=[f"c{i}" for i in range(1500)])
    plan = plan_table(wide, ["c0"])
    table = str(guess_table(plan, {}, classes=False))
    assert len(table) < 5000
    assert "and 1,460 more columns" in table
    assert encode_inputs(plan, wide).shape == (5, 1499)  # and pandas has nothing to warn of


def test_many_categories_and_values_far_from_all_others_are_told():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"town": [f"t{i % 700}" for i in range(1400)], "x": rng.lognormal(0, 2, 1400), "y": range(1400)}
    )
    frame["age"] = rng.integers(0, 90, 1400).astype(float)
    frame.loc[[3, 9], "age"] = 9999.0
    frame["depth"] = rng.normal(size=1400)
    frame.loc[5, "depth"] = -400.0
    told = [str(message) for message in column_remarks(plan_table(frame, ["y"]))]
    assert told == [
        "'town' has 700 categories, of which the commonest 30 are told apart and the other 670 are not. If it names "
        "its rows, leave it out with drop=['town'].",
        "'age' is 9999 in 2 row(s), far from all its other values. If that means missing, say so with "
        "na_values=['9999'].",
        "'depth' is -400 in 1 row(s), far from all its other values. If that means missing, say so with "
        "na_values=['-400'].",
    ]
    plan = plan_table(frame, ["y"], Told(na_values=["9999"]))
    assert next(column for column in plan.columns if column.name == "age").is_missing_marked
    assert np.nanmax(encode_inputs(TablePlan.from_json(plan.to_json()), frame)[:, 1]) < 100


def test_thousands_of_classes_are_not_all_listed(monkeypatch):
    from pritchel.tables import model as tables_model

    monkeypatch.setattr(tables_model, "fit_and_score", lambda estimator, data, tell: ({}, {}))
    frame = pd.DataFrame({"x": np.arange(8000) / 3, "kind": [f"kind {i % 3000}" for i in range(8000)]})
    frame["town"] = [f"town {i % 700}" for i in range(8000)]
    said = []
    TableModel(HorseshoeClassifier()).fit(frame, "kind", say=lambda message: said.append(str(message)))
    assert "3,000 classes" in said[-1]
    assert any("'town' has 700 categories" in text for text in said)
    assert all(len(text) < 2000 for text in said)


@pytest.mark.parametrize("num_rows", [0, 1])
def test_tables_with_hardly_a_row_are_refused(num_rows):
    frame = pd.DataFrame({"x": [1.5], "y": [2.0]}).iloc[:num_rows]
    with pytest.raises(TableError, match=r"has (no|1) row\(s\) below its header"):
        TableModel(HorseshoeRegressor()).fit(frame, "y")


def test_rows_and_columns_in_messages_are_the_tables():
    """Rows without a target stand before the slip, and most rows are held out."""
    frame = pd.DataFrame({"x": np.arange(50.0), "count": [np.nan] * 10 + [3.0] * 40})
    frame.loc[36, "count"] = -2.0
    model = TableModel(tiny(**BRIEF), likelihood="poisson", holdout=0.5)
    with pytest.raises(TableError, match=r"Column 'count' holds -2 in row 37, which poisson cannot take.*likelihood"):
        model.fit(frame, "count")
    frame["count"] = frame["count"].abs()
    frame["size"] = frame["x"] ** 2
    fitted = model.fit(frame, "count")
    with pytest.raises(TableError, match="'size' must hold numbers; row 40 is 'big'"):
        fitted.evaluate(frame.astype({"size": object}).assign(size=[*frame["size"][:39], "big", *frame["size"][40:]]))


TOO_MUCH = {
    "large": ({"x": [1.0] * 9 + [1e300]}, "'x' is 1e\\+300, too large to compute with, in row 10"),
    "offset": ({"x": 1e15 + np.arange(10.0)}, "'x': floats have but a few steps"),
    "small": ({"x": 1e-160 * np.arange(10.0)}, "'x' is too small"),
    "target": ({"y": 1e15 + np.arange(10.0)}, "'y': floats have but a few steps"),
    "large target": ({"y": [1e160] * 5 + [2e160] * 5}, "'y' is 1e\\+160, too large"),
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_numbers_that_floats_cannot_tell_apart_are_refused(name):
    columns, message = TOO_MUCH[name]
    frame = pd.DataFrame({"x": np.arange(10.0) ** 2, "z": np.arange(10.0) % 3, "y": np.arange(10.0) % 4, **columns})
    with pytest.raises(TableError, match=message):
        training_table(frame, ["y"])
    X, y = frame[["x", "z"]].to_numpy(), frame["y"].to_numpy()
    if "few steps" in message:
        with pytest.warns(UserWarning, match=r"(X|y), column 0: floats have but a few steps"):
            tiny(**BRIEF).fit(X, y)
    else:
        with pytest.raises(ValueError, match=r"too (large|small) to compute with"):
            tiny(**BRIEF).fit(X, y)


def test_an_input_too_large_to_predict_from_is_refused(fitted):
    with pytest.raises(ValueError, match=r"X holds 1e\+200 in row 1, column 2: too large"):
        fitted.predict([[0.0, 0.0, 0.0], [0.0, 0.0, 1e200]])
