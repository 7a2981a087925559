"""Tables in batches: `TableModel` and `pritchel fit` over many Parquet files, with categories and gaps."""

import json

import numpy as np
import pandas as pd
import pyarrow.dataset
import pytest
from typer.testing import CliRunner

from pritchel import HorseshoeClassifier, TableError, TableModel, cli, load
from pritchel.data.parts import SourceError, open_parts
from pritchel.tables import look, streamed, text_parts
from pritchel.tables.look import look_through
from pritchel.tables.plan import plan_table
from pritchel.tables.read import read_table
from pritchel.tables.streamed import open_table, read_or_look
from pritchel.tables.text_parts import table_parts
from tests.conftest import tiny

BRIEF = {"training__num_steps": 60}
WORDS = ["--hidden", "8", "--family", "factorized", "--inference", "variational", "--likelihood", "gaussian"]
WORDS += ["--num-steps", "60", "--num-members", "1", "--quiet"]


def made_up(num_rows: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=num_rows), "town": rng.choice(["Ulm", "Ham"], num_rows)})
    frame["gap"] = np.where(rng.random(num_rows) < 0.2, np.nan, rng.normal(size=num_rows))
    frame["number"] = np.arange(num_rows)
    frame["y"] = np.sin(frame["a"]) + (frame["town"] == "Ulm") + 0.1 * rng.normal(size=num_rows)
    return frame


def write(frame: pd.DataFrame, folder, num: int = 4):
    folder.mkdir(exist_ok=True)
    for index, rows in enumerate(np.array_split(np.arange(len(frame)), num)):
        frame.iloc[rows].to_parquet(folder / f"part-{index}.parquet", row_group_size=400)
    return folder


@pytest.fixture
def few_kept(monkeypatch):
    """A look keeps a hundred rows."""
    for name in ("MAX_ROWS", "MIN_ROWS"):
        monkeypatch.setattr(look, name, 100)


def run(*words):
    return CliRunner().invoke(cli.app, ["fit", *map(str, words), *WORDS])


def test_a_look_at_few_rows_plans_as_the_whole_table_does(tmp_path):
    frame = made_up().drop(columns="number")
    found = look_through(open_parts(write(frame, tmp_path / "t"))).plan(["y"], look.Told())
    expected = plan_table(frame, ["y"])
    assert found == expected


def test_what_is_rare_is_seen(tmp_path, few_kept):
    """Of 3,000 rows a hundred are kept at random, and those that hold what no other does."""
    frame = made_up()
    frame.loc[2995, "town"] = "Rare"
    frame.loc[2996, "a"] = 50.0
    frame["same"] = np.where(frame.index == 2994, "other", "same")
    frame["full"] = 1.0
    frame.loc[2997, "full"] = np.nan
    table = look_through(open_parts(write(frame, tmp_path / "t")))
    assert len(table.sample) < 200
    plan = table.plan(["y"], look.Told())
    columns = {column.name: column for column in plan.columns}
    assert columns["town"].categories == ("Ham", "Rare", "Ulm")
    assert columns["town"].summary["counts"] == frame["town"].value_counts().to_dict()
    assert columns["a"].summary["quantiles"][-1] == 50.0
    assert columns["same"].categories == ("other", "same")
    assert columns["full"].is_missing_marked
    assert columns["full"].summary["missing"] == 1
    assert columns["gap"].summary["missing"] == frame["gap"].isna().sum()
    assert plan.left_out == {"number": look.LeftOut.ID_COUNT}
    assert abs(columns["a"].fill) < 0.5


def test_many_categories_are_the_commonest_of_all_rows(tmp_path, few_kept):
    rng = np.random.default_rng(1)
    frame = made_up().assign(town=[f"t{index:02d}" for index in np.minimum(rng.geometric(0.05, 3000), 60)])
    plan = look_through(open_parts(write(frame, tmp_path / "t"))).plan(["y"], look.Told())
    town = next(column for column in plan.columns if column.name == "town")
    counts = frame["town"].value_counts()
    assert len(town.categories) == 30
    assert counts[list(town.categories)].min() >= counts.drop(list(town.categories)).max()
    assert town.summary["distinct"] == len(counts)


def test_tables_of_other_engines_are_planned_alike(tmp_path):
    pl, dd = (pytest.importorskip(name) for name in ("polars", "dask.dataframe"))
    folder = write(made_up(), tmp_path / "t")
    frame = dd.read_parquet(folder)
    sources = [pyarrow.dataset.dataset(folder), pl.scan_parquet(folder / "*.parquet"), frame]
    sources += [frame.categorize(columns=["town"]), frame[frame["town"] != "none"].repartition(npartitions=7)]
    plans = [look_through(open_parts(source)).plan(["y"], look.Told()) for source in (folder, *sources)]
    assert plans == plans[:1] * len(plans)


def test_a_table_in_batches_is_fitted_scored_and_saved(tmp_path):
    frame = made_up()
    frame.loc[[3, 2999], "y"] = np.nan
    source = str(write(frame, tmp_path / "t") / "*.parquet")
    said = []
    model = TableModel(tiny(training__buffer_rows=500)).fit(source, "y", say=lambda message: said.append(str(message)))
    whole = TableModel(tiny()).fit(frame, "y")
    assert [column.name for column in model.plan_.columns] == ["a", "town", "gap"]
    assert model.notes_["num_scored"] == 300
    assert model.notes_["source"]["rows"] == 3000
    assert model.notes_["source"]["without_target"] == 2
    assert any("2,998 rows are read in batches" in text for text in said)
    assert any("Dropped: 2 row" in text for text in said)
    own, other = (fitted.notes_["scores"][0] for fitted in (model, whole))
    assert own["rmse"] < 1.6 * other["rmse"]
    assert own["rmse"] < own["constant_rmse"] / 3
    assert {score["name"] for score in model.notes_["baselines"]} == {"ridge regression", "gradient boosting"}
    answers = load(model.save(tmp_path / "model")).predict(frame.head(20))
    pd.testing.assert_frame_equal(answers, model.predict(frame.head(20)))


def test_classes_weights_and_a_refit(tmp_path):
    frame = made_up(1200)
    frame["y"] = np.where(frame["y"] > 0.5, "high", "low")
    frame.loc[1199, "y"] = "odd"  # first met in the last file
    folder = write(frame.assign(w=2.0), tmp_path / "t")
    model = TableModel(tiny(HorseshoeClassifier, **BRIEF), weight="w", refit=True).fit(folder, "y")
    assert model.estimator_.classes_.tolist() == ["high", "low", "odd"]
    assert "w" not in [column.name for column in model.plan_.columns]
    assert model.notes_["source"]["refit"] is True
    assert model.predict(frame.head(3)).shape == (3, 4)


def test_a_slip_in_the_last_file_is_named_by_file_column_and_row(tmp_path, few_kept, monkeypatch):
    frame = made_up().assign(price=lambda own: own["a"].round(2).astype(str))
    frame.loc[2990, "price"] = "unknown"
    folder = write(frame, tmp_path / "t")
    with pytest.raises(TableError, match=r"part-3\.parquet: Column 'price'.*row 741 is 'unknown'"):
        TableModel(tiny(**BRIEF)).fit(folder, "y")
    with monkeypatch.context() as all_kept:
        all_kept.setattr(look, "MAX_ROWS", 5000)
        all_kept.setattr(look, "MIN_ROWS", 5000)
        with pytest.raises(TableError, match=r"price'.*row 741 of .*part-3\.parquet is 'unknown'"):
            TableModel(tiny(**BRIEF)).fit(folder, "y")
    TableModel(tiny(**BRIEF), na_values=["unknown"]).fit(folder, "y")
    with pytest.raises(TableError, match="folds needs the whole table"):
        TableModel(tiny(), folds=3).fit(folder, "y")
    with pytest.raises(TableError, match="No column 'z'"):
        TableModel(tiny()).fit(folder, "z")


def test_the_command_streams_many_files(tmp_path, monkeypatch):
    folder, output = write(made_up(), tmp_path / "t"), tmp_path / "model"
    pattern = folder / "*.parquet"
    in_memory = run(pattern, "-t", "y", "-o", output, "--json")
    assert in_memory.exit_code == 0, in_memory.stderr
    assert "batches" not in in_memory.stderr
    assert json.loads(in_memory.stdout)["source"]["rows"] == 3000
    told = run(pattern, "-t", "y", "-o", output, "--overwrite", "--stream")
    assert told.exit_code == 0, told.stderr
    assert "3,000 rows are read in batches" in told.stderr
    monkeypatch.setattr(streamed, "MAX_TABLE_ROWS", 2000)
    by_itself = run(folder, "-t", "y", "-o", output, "--overwrite")
    assert "3,000 rows are read in batches" in by_itself.stderr
    assert load(output).notes_["source"]["table"] == str(folder)
    assert not (tmp_path / "model.partial").exists()
    assert "batches" not in run(folder, "-t", "y", "-o", output, "--overwrite", "--no-stream").stderr


def test_the_command_names_the_file_and_writes_nothing(tmp_path):
    folder, output = write(made_up(), tmp_path / "t"), tmp_path / "model"
    path = folder / "part-2.parquet"
    good = path.read_bytes()
    pd.read_parquet(path).assign(a="text").to_parquet(path)
    for wrong, text in (
        (path.read_bytes(), "column 'a' holds texts; in"),
        (good[:3000], "not a Parquet file"),
        (b"", "not a Parquet file"),
    ):
        path.write_bytes(wrong)
        result = run(folder, "-t", "y", "-o", output, "--stream")
        assert result.exit_code == 2
        assert "part-2.parquet" in result.stderr
        assert text in result.stderr
        assert sorted(own.name for own in tmp_path.iterdir()) == ["t"]
    path.unlink()
    assert run(folder, "-t", "y", "-o", output, "--stream").exit_code == 0
    with pytest.raises(SourceError, match="no Parquet file"):
        open_parts(str(tmp_path / "none*"))
    assert run(tmp_path / "none*.parquet", "-t", "y", "-o", tmp_path / "m").exit_code == 2


def write_csv(frame: pd.DataFrame, folder, num: int = 4, **how):
    folder.mkdir(exist_ok=True)
    for index, rows in enumerate(np.array_split(np.arange(len(frame)), num)):
        frame.iloc[rows].to_csv(folder / f"part-{index}.csv", index=False, **how)
    return folder


@pytest.fixture
def short_ranges(monkeypatch):
    """Ranges of lines are of some thousand bytes."""
    monkeypatch.setattr(text_parts.line_ranges, "__defaults__", (20_000,))


def quoted(num_rows: int = 3000) -> pd.DataFrame:
    """With texts of several lines, separators and quotes."""
    frame = made_up(num_rows)
    frame["note"] = np.where(frame.index % 3 == 0, 'a "b", c\nd', "plain")
    return frame


def test_ranges_of_lines_are_the_file(tmp_path, short_ranges):
    frame = quoted()
    path = write_csv(frame, tmp_path / "t", 1) / "part-0.csv"
    parts = table_parts(path)
    assert len(parts.parts) > 8
    assert parts.num_rows == 3000
    rows = pd.concat([look.frame_of(batch).assign(first=row) for _, row, batch in parts.read()], ignore_index=True)
    pd.testing.assert_frame_equal(rows.drop(columns="first"), read_table(str(path)), check_dtype=False)
    starts = rows.index[rows["first"].diff() != 0]
    assert starts.tolist() == rows.loc[starts, "first"].tolist()
    shuffled = [where for _, where, _ in parts.read(np.random.default_rng(0))]
    assert shuffled != sorted(shuffled)


@pytest.mark.parametrize("how", [{}, {"sep": ";", "decimal": ","}, {"encoding": "utf-16"}, {"lineterminator": "\r\n"}])
def test_text_files_are_planned_as_a_table_in_memory_is(tmp_path, how, few_kept, short_ranges):
    frame = quoted()
    folder = write_csv(frame, tmp_path / "t", **how)
    in_memory = read_or_look(str(folder), False, None, None, False)
    found = open_table(str(folder), False).plan(["y"], look.Told())
    expected = plan_table(in_memory, ["y"])
    assert {column.name: column.kind for column in found.columns} == {"a": "number", "town": "category"} | {
        "gap": "number",
        "note": "category",
    }
    assert found.left_out == expected.left_out == {"number": look.LeftOut.ID_COUNT}
    assert found.spellings == expected.spellings
    for own, other in zip(found.columns, expected.columns, strict=True):
        assert own.categories == other.categories
        assert own.is_missing_marked == other.is_missing_marked
        assert own.summary["missing"] == other.summary["missing"]
    if "decimal" not in how:
        assert found.columns[0].summary["quantiles"][::6] == expected.columns[0].summary["quantiles"][::6]


def test_a_large_csv_is_read_in_batches(tmp_path, monkeypatch, short_ranges):
    path, output = write_csv(made_up(1000), tmp_path / "t", 1) / "part-0.csv", tmp_path / "model"
    assert isinstance(read_or_look(str(path), None, None, None, False), pd.DataFrame)
    monkeypatch.setattr(streamed, "MAX_FILE_BYTES", 1000)
    assert isinstance(read_or_look(str(path), False, None, None, False), pd.DataFrame)
    by_itself = run(path, "-t", "y", "-o", output, "--json", "--drop", "number")
    assert by_itself.exit_code == 0, by_itself.stderr
    assert "1,000 rows are read in batches" in by_itself.stderr
    assert json.loads(by_itself.stdout)["inputs"] == {"a": "number", "town": "category", "gap": "number"}


def test_many_text_files_are_fitted_as_parquet_files_are(tmp_path, monkeypatch):
    """Of the same rows in the same order: nothing is lost between a number and its text."""
    frame = made_up(1200)
    sources = write_csv(frame, tmp_path / "texts") / "*.csv", write(frame, tmp_path / "files")
    own, other = (TableModel(tiny(**BRIEF)).fit(source, "y").predict(frame.head(50)) for source in map(str, sources))
    pd.testing.assert_frame_equal(own, other, rtol=1e-3)
    monkeypatch.setattr(streamed, "MAX_TABLE_ROWS", 1000)
    assert isinstance(read_or_look(str(sources[0]), None, None, None, False), look.LookedTable)
    assert isinstance(read_or_look(str(sources[0]), False, None, None, False), pd.DataFrame)


def test_what_is_wrong_with_text_files_is_named_and_nothing_written(tmp_path, short_ranges):
    frame, output = made_up(), tmp_path / "model"
    folder = write_csv(frame, tmp_path / "t")
    path = folder / "part-2.csv"
    lines = path.read_text().splitlines()

    def changed(row, line):
        return [*lines[:row], line, *lines[row + 1 :]]

    for wrong, told in (
        ([], "part-2.csv is empty"),
        (changed(0, lines[0].replace("gap", "hole")), "part-2.csv has no column 'gap', which"),
        (changed(700, lines[700] + ",1,2,3"), "part-2.csv is not a CSV that can be read"),
        (changed(700, lines[700] + ",1"), "part-2.csv: row 700 has 6 cells, and the header has 5"),
        (changed(700, "wrong" + lines[700][lines[700].index(",") :]), "Column 'a'"),
        (changed(700, lines[700] + '"' + "\n".join(lines[:9]) + '"'), "part-2.csv"),
    ):
        path.write_text("\n".join(wrong))
        result = run(folder, "-t", "y", "-o", output, "--stream")
        assert result.exit_code == 2, result.stderr
        assert "part-2.csv" in result.stderr
        assert told in result.stderr
        assert "Column" not in told or "row 700" in result.stderr
        assert sorted(own.name for own in tmp_path.iterdir()) == ["t"]
    frame.to_parquet(folder / "one.parquet")
    mixed = run(folder / "*", "-t", "y", "-o", output, "--stream")
    assert mixed.exit_code == 2
    assert "Give files of one kind" in mixed.stderr
    assert "read once" in run("-", "-t", "y", "-o", output, "--stream").stderr
    with pytest.raises(SourceError, match=r"part-0\.csv is not a Parquet file.*TableModel"):
        tiny().fit(folder / "part-0.csv", "y")


def test_rows_cut_short_are_dropped_and_told(tmp_path):
    path = write_csv(made_up(1000), tmp_path / "t", 1) / "part-0.csv"
    path.write_text(path.read_text()[:-30])
    said = []
    TableModel(tiny(**BRIEF)).fit(path, "y", say=lambda message: said.append(str(message)))
    assert any("Dropped: 1 row" in text for text in said)


def test_a_file_cut_short_during_the_fit_is_named_and_no_model_written(tmp_path, monkeypatch):
    folder, output = write(made_up(1200), tmp_path / "t"), tmp_path / "model"
    path, scan = folder / "part-2.parquet", streamed.scan_batches

    def then_cut(*arguments):
        found = scan(*arguments)
        path.write_bytes(path.read_bytes()[:1000])
        return found

    monkeypatch.setattr(streamed, "scan_batches", then_cut)
    result = run(folder, "-t", "y", "-o", output, "--stream")
    assert result.exit_code == 2, result.stderr
    assert "part-2.parquet cannot be read" in result.stderr
    assert sorted(own.name for own in tmp_path.iterdir()) == ["t"]


def test_a_file_of_rows_without_weight_is_read_and_wrong_weights_are_named_by_row(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    frame = pd.DataFrame({"x": x, "y": 2 * x, "w": np.where(np.arange(60) < 30, 0.0, 1.0)})
    frame[:30].to_csv(tmp_path / "1.csv", index=False)
    frame[30:].to_csv(tmp_path / "2.csv", index=False)
    model = TableModel(tiny(training__num_steps=50), weight="w", holdout=0)
    found = model.fit(tmp_path, "y")
    assert found.estimator_.posterior_.standardizer.input_mean[0] == pytest.approx(x[30:].mean())
    frame.assign(w=[1.0] * 57 + [-1.0] * 3).to_csv(tmp_path / "2.csv", index=False)
    with pytest.raises(TableError, match="'w' is -1 in row 58"):
        TableModel(tiny(training__num_steps=50), weight="w", holdout=0).fit(tmp_path, "y")


def test_rows_without_a_target_are_counted_once_however_many_passes(tmp_path):
    x = np.arange(600.0)
    pd.DataFrame({"x": np.sin(x), "y": np.where(x % 3 == 0, np.nan, x)}).to_csv(tmp_path / "t.csv", index=False)
    how = tiny(training__num_steps=60, training__buffer_rows=64, num_members=2, n_jobs=2)
    model = TableModel(how, holdout=0).fit(tmp_path, "y")
    assert model.notes_["source"]["without_target"] == 200


def test_a_rare_true_is_seen(tmp_path, few_kept):
    flags = np.zeros(5000, bool)
    flags[4321] = True
    frame = pd.DataFrame({"x": np.sin(np.arange(5000.0)), "flag": flags, "y": np.cos(np.arange(5000.0))})
    plan = look_through(open_parts(write(frame, tmp_path / "t"))).plan(["y"], look.Told())
    assert [column.name for column in plan.columns] == ["x", "flag"]


def test_it_is_said_where_rows_set_aside_are_no_fair_share(tmp_path):
    """Few different inputs, and of each a yes and a no: whole cells would be set aside."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"shop": rng.integers(0, 5, 2000), "kind": rng.integers(0, 4, 2000)})
    frame["y"] = np.where(rng.random(2000) < 0.2 + 0.2 * frame["kind"], "yes", "no")
    frame.to_parquet(write(frame[:0], tmp_path / "t", 1) / "part-0.parquet")
    with pytest.warns(UserWarning, match="50% share their inputs"):
        TableModel(tiny(HorseshoeClassifier, training__num_steps=20), holdout=0.1).fit(tmp_path / "t", "y")
