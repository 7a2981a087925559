"""Tables: what each column is taken for, what is refused, and that scikit-learn's transformers do the encoding."""

import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pritchel.serial import FileError
from pritchel.tables.cells import MISSING
from pritchel.tables.columns import LeftOut, TablePlan, Told
from pritchel.tables.encode import encode_inputs, target_values
from pritchel.tables.messages import TableError
from pritchel.tables.plan import plan_table
from pritchel.tables.read import iter_table, read_table


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "row_id": np.arange(1, 41),
            "name": [f"house {index}" for index in range(40)],
            "area": rng.gamma(4, 30, 40),
            "age": np.where(np.arange(40) % 7 == 0, np.nan, rng.uniform(0, 100, 40)),
            "town": rng.choice(np.asarray(["Ayr", "Bath", None], object), 40),
            "country": "UK",
            "price": rng.normal(size=40),
        }
    )


def test_columns_are_recognized_and_reasons_given(frame):
    plan = plan_table(frame, ["price"])
    assert {column.name: column.kind for column in plan.columns} == {
        "area": "number",
        "age": "number",
        "town": "category",
    }
    assert plan.left_out == {"row_id": LeftOut.ID_COUNT, "name": LeftOut.ID_TEXT, "country": LeftOut.CONSTANT}
    assert plan.ids == ["row_id", "name"]
    assert str(plan.left_out["row_id"]) == "counts the rows, like an id"
    kept = plan_table(frame, ["price"], Told(drop=["age"], keep=["row_id"]))
    assert [column.name for column in kept.columns] == ["row_id", "area", "town"]
    assert kept.left_out["age"] is LeftOut.TOLD


def test_encoding_is_by_hand_the_same(frame):
    plan = plan_table(frame, ["price"])
    inputs = encode_inputs(plan, frame)
    age = frame["age"].to_numpy()
    expected = [frame["area"], np.where(np.isnan(age), np.nanmedian(age), age), np.isnan(age)]
    expected += [frame["town"].fillna(MISSING) == category for category in sorted({MISSING, "Ayr", "Bath"})]
    np.testing.assert_allclose(inputs, np.column_stack(expected).astype(float))
    assert plan.feature_names() == ["area", "age", "age is missing", f"town = {MISSING}", "town = Ayr", "town = Bath"]
    assert plan.column_of_feature() == ["area", "age", "age", "town", "town", "town"]


def test_a_plan_survives_json_and_the_order_of_columns_does_not_matter(frame):
    import json

    plan = plan_table(frame, ["price"])
    again = TablePlan.from_json(json.loads(json.dumps(plan.to_json())))
    assert again == plan
    np.testing.assert_array_equal(encode_inputs(again, frame[frame.columns[::-1]]), encode_inputs(plan, frame))
    for broken in ({}, {"columns": [{}]}, {**plan.to_json(), "columns": 3}):
        with pytest.raises(FileError, match="not sound"):
            TablePlan.from_json(broken)


def test_folders_that_told_reasons_in_sentences_are_still_read(frame):
    plan = plan_table(frame.assign(gap=np.nan), ["price"], Told(drop=["age"]))
    now = plan.to_json()
    assert now["left_out"] == {
        "row_id": "id_count",
        "name": "id_text",
        "age": "told",
        "country": "constant",
        "gap": "empty",
    }
    once = {
        "row_id": "counts the rows, like an id",
        "name": "every row has its own value, like an id",
        "age": "as told",
        "country": "constant",
        "gap": "empty",
    }
    assert TablePlan.from_json({**now, "left_out": once}) == plan
    with pytest.raises(FileError, match="not sound"):
        TablePlan.from_json({**now, "left_out": {"row_id": "a mood"}})


def test_an_error_spells_its_option_for_its_reader():
    from pritchel.cli.common import as_flag

    for option, value, in_python, typed in (
        ("drop", "the day", "drop=['the day']", "--drop 'the day'"),
        ("keep", None, "keep", "--keep"),
        ("na_values", "?", "na_values=['?']", "--na-value '?'"),
        ("holdout", 0.9, "holdout=0.9", "--holdout 0.9"),
        ("likelihood", "poisson", "likelihood='poisson'", "--likelihood poisson"),
    ):
        error = pickle.loads(pickle.dumps(TableError("Column '{x}': use {option}.", option, value)))
        assert str(error) == f"Column '{{x}}': use {in_python}."
        assert error.message.spelled(as_flag) == f"Column '{{x}}': use {typed}."


def test_no_flag_of_the_command_line_is_named_below_it():
    import pritchel

    folder = Path(pritchel.__file__).parent / "tables"
    assert not [path.name for path in folder.glob("*.py") if re.search(r"(?<![\w-])--[a-z]", path.read_text())]


def test_an_unseen_category_is_all_zeros_and_rare_ones_are_bundled():
    towns = [f"town {index % 60}" for index in range(300)] + ["big"] * 100
    plan = plan_table(pd.DataFrame({"town": towns, "y": 0.0}), ["y"])
    (column,) = plan.columns
    assert len(column.categories) == 30
    assert "big" in column.categories
    assert encode_inputs(plan, pd.DataFrame({"town": ["never seen"]})).sum() == 0


REFUSED = {
    "dates": ({"when": ["2020-01-02", "2021-05-06"] * 10}, "holds dates.*drop=\\['when'\\]"),
    "clock": ({"when": pd.to_datetime(["2020-01-02", "2021-05-06"] * 10)}, "holds dates"),
    "slip": ({"x": [str(i) for i in range(19)] + ["oops"]}, "row 20 is 'oops'.*na_values=\\['oops'\\]"),
    "infinite": ({"x": [1.0, np.inf] * 10}, "'x' is infinite in row 2"),
    "nothing left": ({"x": ["a"] * 20}, "No column is left.*constant.*Use keep to"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_go_wrong_unseen_is_refused(name):
    columns, message = REFUSED[name]
    frame = pd.DataFrame({**columns, "y": np.arange(20.0)})
    with pytest.raises(TableError, match=message):
        encode_inputs(plan_table(frame, ["y"]), frame)


def test_a_slip_is_found_whatever_the_rows_are_called():
    frame = pd.DataFrame({"x": [*map(str, range(19)), "oops"], "y": 0.0}, index=[f"row {i}" for i in range(20)])
    with pytest.raises(TableError, match="row 20 is 'oops'"):
        plan_table(frame, ["y"])
    with pytest.raises(TableError, match="'gap' is empty"):
        plan_table(frame.assign(gap=np.nan), ["y"], Told(drop=["x"], keep=["gap"]))


def test_wrong_names_are_named(frame):
    with pytest.raises(TableError, match=r"No column 'prise' \(target\).*'price'"):
        plan_table(frame, ["prise"])
    plan = plan_table(frame, ["price"])
    with pytest.raises(TableError, match="no column 'area', 'town', which the model needs"):
        encode_inputs(plan, frame.drop(columns=["area", "town"]))
    with pytest.raises(TableError, match="'area' must hold numbers; row 103 is 'big'"):
        encode_inputs(plan, frame.astype({"area": object}).assign(area=[1.0, 2.0, "big"] + [1.0] * 37), first_row=100)


def test_rows_without_a_target_are_told_apart(frame):
    gapped = frame.assign(price=[np.nan] + [1.0] * 39)
    values, is_known = target_values(plan_table(gapped, ["price", "area"]), gapped)
    assert values.shape == (40, 2)
    assert is_known.tolist() == [False] + [True] * 39


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_all_formats_read_the_same_whole_and_in_pieces(frame, tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    frame.to_parquet(path) if suffix == ".parquet" else frame.to_csv(path, index=False)
    whole = read_table(str(path))
    pieces = list(iter_table(str(path), chunk_rows=7))
    assert [len(piece) for piece in pieces] == [7, 7, 7, 7, 7, 5]
    plan = plan_table(whole, ["price"])
    np.testing.assert_allclose(encode_inputs(plan, whole), encode_inputs(plan_table(frame, ["price"]), frame))
    np.testing.assert_array_equal(
        np.concatenate([encode_inputs(plan, piece) for piece in pieces]), encode_inputs(plan, whole)
    )


def test_files_that_cannot_be_read_say_why(tmp_path):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "bad.parquet").write_text("not parquet")
    (tmp_path / "ragged.csv").write_text("a,b\n1,2\n1,2,3,4\n")
    (tmp_path / "bytes.csv").write_bytes(b"a,b\n\x81,1\n")
    for name, message in (
        ("missing.csv", "no file"),
        ("empty.csv", "is empty"),
        ("bad.parquet", "not a Parquet"),
        ("ragged.csv", "line 3 has 4 cells, and the header has 2"),
        ("bytes.csv", "not a text file"),
    ):
        with pytest.raises(TableError, match=message):
            read_table(str(tmp_path / name))
