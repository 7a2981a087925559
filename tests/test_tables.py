"""Tables: what each column is taken for, what is refused, and that scikit-learn's transformers do the encoding."""

import numpy as np
import pandas as pd
import pytest

from pritchel.data.tables import MISSING, TableError, TablePlan, iter_table, plan_table, read_table, target_values


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
    assert plan.left_out["row_id"].endswith("like an id")
    assert plan.left_out["name"].endswith("like an id")
    assert plan.left_out["country"] == "constant"
    kept = plan_table(frame, ["price"], drop=["age"], keep=["row_id"])
    assert [column.name for column in kept.columns] == ["row_id", "area", "town"]
    assert kept.left_out["age"] == "as told"


def test_encoding_is_by_hand_the_same(frame):
    plan = plan_table(frame, ["price"])
    inputs = plan.encode(frame)
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
    np.testing.assert_array_equal(again.encode(frame[frame.columns[::-1]]), plan.encode(frame))
    for broken in ({}, {"columns": [{}]}, {**plan.to_json(), "columns": 3}):
        with pytest.raises(TableError, match="not sound"):
            TablePlan.from_json(broken)


def test_an_unseen_category_is_all_zeros_and_rare_ones_are_bundled():
    towns = [f"town {index % 60}" for index in range(300)] + ["big"] * 100
    plan = plan_table(pd.DataFrame({"town": towns, "y": 0.0}), ["y"])
    (column,) = plan.columns
    assert len(column.categories) == 30
    assert "big" in column.categories
    assert plan.encode(pd.DataFrame({"town": ["never seen"]})).sum() == 0


REFUSED = {
    "dates": ({"when": ["2020-01-02", "2021-05-06"] * 10}, "holds dates.*--drop 'when'"),
    "clock": ({"when": pd.to_datetime(["2020-01-02", "2021-05-06"] * 10)}, "holds dates"),
    "slip": ({"x": [str(i) for i in range(19)] + ["oops"]}, "row 20 is 'oops'.*--na-value"),
    "infinite": ({"x": [1.0, np.inf] * 10}, "'x' is infinite in row 2"),
    "nothing left": ({"x": ["a"] * 20}, "No column is left.*constant"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_go_wrong_unseen_is_refused(name):
    columns, message = REFUSED[name]
    frame = pd.DataFrame({**columns, "y": np.arange(20.0)})
    with pytest.raises(TableError, match=message):
        plan_table(frame, ["y"]).encode(frame)


def test_wrong_names_are_named(frame):
    with pytest.raises(TableError, match=r"No column 'prise' \(target\).*'price'"):
        plan_table(frame, ["prise"])
    plan = plan_table(frame, ["price"])
    with pytest.raises(TableError, match="no column 'area', 'town', which the model needs"):
        plan.encode(frame.drop(columns=["area", "town"]))
    with pytest.raises(TableError, match="'area' must hold numbers; row 103 is 'big'"):
        plan.encode(frame.astype({"area": object}).assign(area=[1.0, 2.0, "big"] + [1.0] * 37), first_row=100)


def test_rows_without_a_target_are_told_apart(frame):
    values, is_known = target_values(frame.assign(price=[np.nan] + [1.0] * 39), ["price", "area"])
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
    np.testing.assert_allclose(plan.encode(whole), plan_table(frame, ["price"]).encode(frame))
    np.testing.assert_array_equal(np.concatenate([plan.encode(piece) for piece in pieces]), plan.encode(whole))


def test_files_that_cannot_be_read_say_why(tmp_path):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "bad.parquet").write_text("not parquet")
    (tmp_path / "ragged.csv").write_text("a,b\n1,2\n1,2,3,4\n")
    (tmp_path / "bytes.csv").write_bytes(b"a,b\n\xff\xfe,1\n")
    for name, message in (
        ("missing.csv", "no file"),
        ("empty.csv", "is empty"),
        ("bad.parquet", "not a Parquet"),
        ("ragged.csv", "line 3"),
        ("bytes.csv", "not a CSV"),
    ):
        with pytest.raises(TableError, match=message):
            read_table(str(tmp_path / name))
