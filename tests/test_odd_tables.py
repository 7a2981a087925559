"""Tables as they come: columns read as the model knows them, odd files refused by name, nothing guessed unsaid."""

import contextlib
import re

import numpy as np
import pandas as pd
import pyarrow
import pytest
from pyarrow import parquet

from pritchel import FileError, HorseshoeClassifier, HorseshoeRegressor
from pritchel.tables.columns import TablePlan
from pritchel.tables.encode import encode_inputs
from pritchel.tables.messages import TableError
from pritchel.tables.outside import joined_counts, outside_cells, outside_remarks
from pritchel.tables.plan import holds_classes, plan_table
from pritchel.tables.read import iter_table, read_table


def written(path, text: str, **options):
    """The path of a file with that text, as a command takes it."""
    path.write_text(text, newline="", **options)
    return str(path)


def test_a_cell_means_the_same_whatever_stands_around_it(tmp_path):
    """TRUE and FALSE alone, codes alone, one row alone: as in the table of the fit, with UNKNOWN and XX."""
    rows = [
        f"{flag},{code},{code}{flag[0]},{index}" for index, (flag, code) in enumerate(zip(FLAGS, CODES, strict=True))
    ]
    whole = written(tmp_path / "train.csv", "\n".join(["flag,code,mixed,y", *rows]))
    plan = plan_table(read_table(whole), ["y"])
    expected = encode_inputs(plan, read_table(whole))
    assert {column.name: column.kind for column in plan.columns}["flag"] == "category"
    for index in range(len(rows)):
        one = written(tmp_path / "one.csv", f"flag,code,mixed,y\n{rows[index]}\n")
        np.testing.assert_array_equal(encode_inputs(plan, read_table(one))[0], expected[index])
    pieces = [encode_inputs(plan, piece) for piece in iter_table(whole, chunk_rows=2)]
    np.testing.assert_array_equal(np.concatenate(pieces), expected)


FLAGS = ["TRUE", "TRUE", "FALSE", "FALSE", "UNKNOWN", "TRUE"]
CODES = ["01", "02", "1", "02", "XX", "XX"]


def test_yes_and_no_with_gaps_are_classes_and_numbers_as_without(tmp_path):
    text = "\n".join(["x,flag,y", *(f"{i}.5,{'True' if i % 2 else 'False'},{i}" for i in range(20)), "7.5,,3"])
    frame = read_table(written(tmp_path / "t.csv", text))
    typed = frame.assign(flag=[*([False, True] * 10), None])
    for table in (frame, typed):
        assert holds_classes(table, ["flag"])
        plan = plan_table(table, ["y"])
        column = next(column for column in plan.columns if column.name == "flag")
        assert (column.kind, column.is_missing_marked) == ("number", True)
        one = encode_inputs(plan, table.iloc[[1]])
        np.testing.assert_array_equal(one, [[1.5, 1.0, 0.0]])


def test_lines_that_end_in_a_separator_shift_nothing(tmp_path):
    frame = read_table(written(tmp_path / "t.csv", "x,y\n1,10,\n2,20,\n3,30,\n"))
    assert list(frame.columns) == ["x", "y"]
    assert frame["y"].tolist() == ["10", "20", "30"]
    also = read_table(written(tmp_path / "also.csv", "x,y,\n1,10,\n2,20,\n"))
    assert list(also.columns) == ["x", "y"]
    with pytest.raises(TableError, match="row 2 has 3 cells, and the header has 2"):
        read_table(written(tmp_path / "more.csv", "x,y\n1,10\n2,20,200\n"))


REFUSED_FILES = {
    "twice": ("x,y,y\n1,2,2\n3,4,4\n", "Column 'y' occurs twice"),
    "stray quotes": (
        "a,b,c\n" + "".join(f"{'' if i not in (5, 9) else chr(34)}t{i},{i},{2 * i}\n" for i in range(20)),
        "column 'a' in row 6 runs over 5 lines, which look like rows",
    ),
    "one quote": ('a,b\n1,2\n"3,4\n5,6\n', "EOF inside string"),
    "nothing": ("\n\n", "is empty"),
    "for Excel": ("sep=;\na;b\n1;2\n", "begins with a line for Excel, 'sep=;'"),
    "old Macs": ("a,b\r1,2\r3,4\r", "ends its lines with CR alone"),
    "zeros": ("a,b\n\0\0,\0\n", "not a text file"),
    "workbook": ("PK\x03\x04 and more", "Save it as CSV or Parquet"),
}


@pytest.mark.parametrize("name", REFUSED_FILES)
def test_files_that_would_be_misread_are_refused(tmp_path, name):
    text, message = REFUSED_FILES[name]
    with pytest.raises(TableError, match=message):
        read_table(written(tmp_path / "t.csv", text))


def test_texts_of_several_lines_are_no_stray_quotes(tmp_path):
    frame = read_table(written(tmp_path / "t.csv", 'a,b,c\n"one\ntwo, three\nfour",2,3\n5,6,7\n'))
    assert frame["a"].tolist() == ["one\ntwo, three\nfour", "5"]
    rows = "".join(f"Ulm,{i},{i}.5\n" for i in range(4))
    address = "Main St 1, Apt 4, Ulm\nGermany"
    frame = read_table(written(tmp_path / "t.csv", f'address,x,y\n"{address}",2,3\n{rows}'))
    assert frame["address"].tolist() == [address, *["Ulm"] * 4]
    with pytest.raises(TableError, match="runs over 2 lines, which look like rows"):
        read_table(written(tmp_path / "t.csv", f'address,x,y\n"Ulm,2,3\nBonn",2,3\n{rows}'))


def test_whole_numbers_of_parquet_keep_their_digits_where_one_is_missing(tmp_path):
    codes, kind = [2**53 + 1, 2**53 + 3, None], pyarrow.int64()
    parquet.write_table(
        pyarrow.table({"code": pyarrow.array(codes, kind), "x": [1.0, 2.0, 3.0]}), tmp_path / "t.parquet"
    )
    assert read_table(str(tmp_path / "t.parquet"))["code"].astype("string").tolist() == [
        "9007199254740993",
        "9007199254740995",
        pd.NA,
    ]
    kinds = {piece["code"].dtype for piece in iter_table(str(tmp_path / "t.parquet"), chunk_rows=2)}
    assert kinds == {pd.Int64Dtype()}


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zip", ".tar", ".tar.gz", ".zst"])
def test_damaged_archives_are_named(tmp_path, suffix):
    text = b"x,y\n" + b"".join(b"%d,%d\n" % (i, i * i) for i in range(2000))
    path = tmp_path / f"t.csv{suffix}"
    if suffix == ".zst":
        path.write_bytes(b"\x28\xb5\x2f\xfd and more")
    else:
        pd.DataFrame({"x": np.arange(2000), "y": np.arange(2000) ** 2}).to_csv(path, index=False)
        assert len(read_table(str(path))) == 2000
        whole = path.read_bytes()
        for damaged in (whole[: len(whole) // 2], whole[:30] + b"\xff" * 20 + whole[50:], text[:100]):
            path.write_bytes(damaged)
            with contextlib.suppress(TableError):  # some damage is not seen; what is seen, is told
                read_table(str(path))
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(TableError, match=re.escape(path.name)):
        read_table(str(path))


def test_an_index_with_a_name_is_a_column(tmp_path):
    frame = pd.DataFrame({"area": [1.5, 2.5, 4.0], "y": [1.0, 2.0, 3.0]})
    frame.set_index("area").to_parquet(tmp_path / "t.parquet")
    assert sorted(read_table(str(tmp_path / "t.parquet")).columns) == ["area", "y"]
    frame.to_parquet(tmp_path / "t.parquet")
    assert sorted(read_table(str(tmp_path / "t.parquet")).columns) == ["area", "y"]


NESTED = {
    "list": ([[1, 2], [3]], pyarrow.list_(pyarrow.int64())),
    "struct": ([{"a": 1}, {"a": 2}], pyarrow.struct({"a": pyarrow.int64()})),
    "map": ([[("a", 1)], [("b", 2)]], pyarrow.map_(pyarrow.string(), pyarrow.int64())),
}


@pytest.mark.parametrize("name", NESTED)
def test_lists_and_records_are_refused_by_name(tmp_path, name):
    columns = {"x": [0.5, 3.0], "odd": pyarrow.array(*NESTED[name]), "y": [1.0, 2.5]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
    frame = read_table(str(tmp_path / "t.parquet"))
    with pytest.raises(TableError, match=r"'odd' holds lists or records.*drop=\['odd'\]"):
        plan_table(frame, ["y"])


@pytest.mark.parametrize(
    "values",
    [
        pd.to_datetime(["2020-01-02", None, "2021-05-06"]),
        ["2020-01-02", None, "2021-05-06"],
        pd.to_timedelta([1, 2, 5], unit="h"),
        pd.period_range("2020-01", periods=3, freq="M"),
    ],
)
def test_dates_are_no_target(values):
    frame = pd.DataFrame({"x": [1.0, 2.0, 4.0], "when": values})
    assert not holds_classes(frame, ["when"])
    with pytest.raises(TableError, match="target 'when' holds dates or times"):
        plan_table(frame, ["when"])


def test_a_number_that_is_no_float_is_told_by_its_row(tmp_path):
    text = "x,y\n" + "".join(f"{i},{i}\n" for i in range(30)) + "1e400,3\n"
    frame = read_table(written(tmp_path / "t.csv", text))
    with pytest.raises(TableError, match=r"'x'.* row 31"):
        plan_table(frame, ["y"])


def test_columns_of_yes_and_no_in_older_folders_are_still_read():
    frame = pd.DataFrame({"flag": [True, False, True, True], "x": [1.0, 2.0, 4.0, 7.0], "y": [1.0, 2.0, 3.0, 5.0]})
    now = plan_table(frame, ["y"]).to_json()
    once = TablePlan.from_json({name: value for name, value in now.items() if name not in ("spellings", "na_values")})
    texts = frame.astype(str)
    np.testing.assert_array_equal(encode_inputs(once, texts), encode_inputs(plan_table(frame, ["y"]), frame))
    kinds = pd.DataFrame({"flag": ["TRUE", "True", "FALSE"], "x": ["1", "2", "5"]})
    np.testing.assert_array_equal(encode_inputs(once, kinds)[:, 0], [1, 1, 0])
    with pytest.raises(FileError, match="not sound"):
        TablePlan.from_json({**now, "spellings": {"x": "odd"}})


ODD_TARGETS = {
    "texts": (HorseshoeRegressor, ["1", "2", "x"] * 10, r"y must hold numbers; row 2 is 'x'. For classes"),
    "none": (HorseshoeRegressor, [1.0, None, 2.0] * 10, "y must hold numbers; row 1 is 'None'"),
    "two columns": (HorseshoeRegressor, [["1", "2"], ["3", "no"]] * 15, "row 1 is 'no'"),
    "dates": (HorseshoeRegressor, np.asarray(["2020-01-02"] * 30, "datetime64[D]"), "y holds dates or times"),
    "mixed": (HorseshoeClassifier, np.asarray(["a", 1.0] * 15, object), r"several kinds \(float, str\)"),
}


@pytest.mark.parametrize("name", ODD_TARGETS)
def test_targets_that_are_no_numbers_are_named(name):
    kind, y, message = ODD_TARGETS[name]
    with pytest.raises(ValueError, match=message):
        kind().fit(np.arange(60.0).reshape(30, 2), y)


def test_what_is_compared_with_is_checked_too(fitted, table):
    with pytest.raises(ValueError, match="row 0 is 'a'"):
        fitted.log_prob(table[0], ["a"] * 60)


def test_what_lies_outside_is_counted_on_both_sides_and_over_pieces():
    plan = plan_table(pd.DataFrame({"x": np.arange(10.0) ** 2, "y": np.arange(10.0)}), ["y"])
    new = pd.DataFrame({"x": [4.0, -500.0, 90.0, 400.0]})
    first, second = outside_cells(plan, new[:2])[1], outside_cells(plan, new[2:], 2)[1]
    for one, other in ((first, second), (second, first)):
        assert list(outside_remarks(plan, joined_counts(plan, one, other))) == [
            "'x' lies outside the range of the fit, 0 to 81, in 3 of 4 row(s); the furthest is -500 in row 2."
        ]


def test_gaps_are_told_of_where_the_fit_had_none():
    frame = pd.DataFrame({"x": np.arange(10.0) ** 2, "gaps": [None, *np.arange(9.0) ** 3], "y": np.arange(10.0)})
    frame["town"] = [None, "Ayr"] * 5
    plan = plan_table(frame, ["y"])
    counts = outside_cells(plan, pd.DataFrame({"x": [None, 4.0], "gaps": [None, 8.0], "town": [None, "Ayr"]}))[1]
    told = "'x' is missing in 1 of 2 row(s); in the rows of the fit it never was."
    assert list(outside_remarks(plan, counts)) == [told]


def test_of_many_columns_outside_the_first_are_told():
    frame = pd.DataFrame({f"x{index}": np.arange(10.0) ** 2 for index in range(20)}).assign(y=np.arange(10.0))
    plan = plan_table(frame, ["y"])
    told = list(outside_remarks(plan, outside_cells(plan, frame + 1000)[1]))
    assert len(told) == 9
    assert told[-1] == "12 more columns are unlike the rows of the fit."


def test_a_lack_of_memory_is_no_fault_of_the_file(tmp_path, monkeypatch):
    def lacking(*_):
        raise pd.errors.ParserError("Error tokenizing data. C error: out of memory")

    monkeypatch.setattr("pritchel.tables.read._next_piece", lacking)
    with pytest.raises(MemoryError, match=r"to read .*t\.csv"):
        read_table(written(tmp_path / "t.csv", "x,y\n1,2\n"))


def test_a_table_is_not_begun_where_memory_is_too_short_for_pandas(tmp_path, monkeypatch):
    monkeypatch.setattr("pritchel.tables.read.READ_BYTES", 2**60)
    with pytest.raises(MemoryError, match=r"to read .*t\.csv: less than 1099511627776 MB are left"):
        read_table(written(tmp_path / "t.csv", "x,y\n1,2\n"))


def test_damaged_notes_for_pandas_in_a_parquet_file_are_told(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"x": [1.0, 2.0], "town": ["a", "b"]}).to_parquet(path)
    whole = path.read_bytes()
    assert whole.count(b'"pandas_type"') > 0
    path.write_bytes(whole.replace(b'"pandas_type"', b'"pandas_tipe"'))
    with pytest.raises(TableError, match=r"t\.parquet is not a Parquet file that can be read: its notes for pandas"):
        read_table(str(path))
