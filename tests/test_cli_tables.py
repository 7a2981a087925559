"""The commands and odd tables: options for layouts and columns, digits of answers, rows unlike those of the fit."""

import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from pritchel import TableModel
from pritchel.cli import app

BRIEF = [
    "--family",
    "factorized",
    "--hidden",
    "4",
    "--inference",
    "variational",
    "--num-steps",
    "60",
    "--num-members",
    "1",
    "--learning-rate",
    "0.05",
    "--num-draws",
    "10",
    "-q",
]


def run(*arguments, code=0, **options):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], **options)
    assert result.exit_code == code, result.output + result.stderr
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table as a European program writes it, and a model fitted to it."""
    folder = tmp_path_factory.mktemp("euro")
    rng = np.random.default_rng(0)
    lines = ["code;area;flag;when;amount;price"]
    for index in range(60):
        area, flag = f"{1 + index % 7}.{100 + index},{index % 4}", ("TRUE", "FALSE", "UNKNOWN")[index % 3]
        price = f"{1_700_000_000 + 100 * rng.normal():.3f}".replace(".", ",")
        lines.append(f"00{100 + index};{area};{flag};{'?' if index % 9 == 0 else index % 5};1;{price}")
    (folder / "t.csv").write_text("\n".join(lines) + "\n", encoding="cp1252")
    options = ["--na-value", "?", "--weight", "amount", "--category", "when"]
    said = run("fit", folder / "t.csv", "-t", "price", "-o", folder / "m", *options, *BRIEF).stderr
    assert re.search(r"amount +left out: weighs the rows\n", said)
    assert re.search(r"\(the file\) +sep ';' +--sep", said)
    assert re.search(r"area +number \('1\.234,5' is 1234\.5\) +--category area", said)
    assert re.search(r"code +left out: .* +--keep code", said)
    return folder


def answers(result) -> pd.DataFrame:
    """What a command printed, ids as they stand."""
    return pd.read_csv(io.StringIO(result.stdout), dtype={"code": str})


def test_digits_and_ids_are_not_lost(folder):
    out = answers(run("predict", folder / "m", folder / "t.csv"))
    assert out["code"].tolist() == [f"00{100 + index}" for index in range(60)]
    model = TableModel.load(folder / "m")
    from pritchel.tables.read import read_table

    expected = model.predict(read_table(str(folder / "t.csv")))
    np.testing.assert_allclose(out["mean"], expected["mean"], rtol=1e-15)  # pandas 2 reads to the last digit but one
    assert out["mean"].nunique() > 10


def test_options_of_the_fit_are_remembered(folder):
    model = TableModel.load(folder / "m")
    assert model.plan_.na_values == ("?",)
    assert {column.name: column.kind for column in model.plan_.columns} == {
        "area": "number",
        "flag": "category",
        "when": "category",
    }
    lines = (folder / "t.csv").read_text().splitlines()
    one = answers(run("predict", folder / "m", "-", input="\n".join([lines[0], lines[10]])))
    whole = answers(run("predict", folder / "m", folder / "t.csv"))
    assert one["mean"][0] == pytest.approx(whole["mean"][9], rel=1e-12)


def test_rows_unlike_the_fit_are_counted_and_flagged(folder):
    text = "code,area,flag,when\n1,1500.0,True,1\n2,99999.0,maybe,\n3,,unknown,1\n"
    result = run("predict", folder / "m", "-", "--decimal", ".", "--flag-outside", "--split", input=text)
    out = answers(result)
    assert out["outside"].fillna("").tolist() == ["", "area; flag", "area; flag"]
    assert (out["sd"] ** 2).to_numpy() == pytest.approx((out["aleatoric"] ** 2 + out["epistemic"] ** 2).to_numpy())
    for words in (
        "'area' lies outside the range of the fit",
        "the furthest is 99999 in row 2",
        "'area' is missing in 1 of 3 row(s); in the rows of the fit it never was",
        "'flag' holds categories that the model does not know in 2 of 3 row(s): 'maybe' (1), "
        "'unknown' (1; it knows 'UNKNOWN')",
    ):
        assert words in result.stderr
    table = text.replace("when\n", "when,price\n").replace("1\n", "1,1700000000\n")
    assert "the furthest is 99999 in row 2" in run("evaluate", folder / "m", "-", "--decimal", ".", input=table).stderr
    empty = run("predict", folder / "m", "-", input="code;area;flag;when\n1;;TRUE;1\n2;;TRUE;1\n").stderr
    assert "'area' is missing in every row" in empty
    assert "outside" not in run("predict", folder / "m", folder / "t.csv").stderr


def test_a_table_of_no_rows_is_answered_with_a_header(folder):
    result = run("predict", folder / "m", "-", input="code;area;flag;when\n")
    assert result.stdout == "code,mean,sd,q5,q50,q95\n"
    assert "Predicted 0 row(s)" in result.stderr


WRONG = {
    "workbook": (["predict", "{m}", "{t}", "-o", "out.xlsx"], "what ends in .xlsx is not written"),
    "sep": (["fit", "{t}", "-t", "price", "--sep", ";;"], "--sep must be one character"),
    "encoding": (["fit", "{t}", "-t", "price", "--encoding", "odd"], "no encoding 'odd'"),
    "decimal": (["fit", "{t}", "-t", "price", "--decimal", "x"], "--decimal must be '.' or ','"),
    "number": (["fit", "{t}", "-t", "price", "--number", "flag"], "'flag' must hold numbers; row 1 is 'TRUE'"),
    "weight": (["fit", "{t}", "-t", "price", "--weight", "heavy"], "No column 'heavy' (--weight)"),
    "empty": (
        ["fit", "{t}", "-t", "price", "--na-value", "1", "--na-value", "?", "--keep", "amount"],
        "'amount' is empty",
    ),
    "pruned": (["prune", "{m}", "-o", "small", "--table", "{t}"], "--table is for more steps"),
    "jobs": (
        ["fit", "{t}", "-t", "price", "-o", "n", "--n-jobs", "0", "-q", "--na-value", "?"],
        "n_jobs must be a number of tasks",
    ),
    "twice": (["fit", "{t}", "-t", "price", "-t", "price"], "Column 'price' is named twice as --target"),
    "row": (["evaluate", "{m}", "{t}", "--decimal", "."], "row 1 is '"),
}


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_are_named(folder, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    words, message = WRONG[name]
    result = run(*(word.format(m=folder / "m", t=folder / "t.csv") for word in words), code=2)
    assert message in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["report", "demo"])
def test_extras_are_named_in_help(command):
    """Without square brackets, which versions of typer read as different things."""
    assert "extra `plots`" in " ".join(run(command, "--help").stdout.split())


@pytest.mark.parametrize("seed", range(3))
def test_a_class_of_one_row_does_not_fail_the_fit(tmp_path, seed):
    rows = [f"{index % 13}.5,{'ab'[index % 2]}" for index in range(39)] + ["3.5,rare"]
    (tmp_path / "t.csv").write_text("\n".join(["x,kind", *rows]))
    words = ["--seed", seed, "--holdout", "0.4", "--early-stopping", "--json"]
    facts = json.loads(run("fit", tmp_path / "t.csv", "-t", "kind", "-o", tmp_path / "m", *words, *BRIEF).stdout)
    assert facts["scores"][0]["accuracy"] >= 0


def test_columns_that_are_copied_are_there_once_and_never_under_an_answers_name(tmp_path):
    x = np.arange(60.0)
    pd.DataFrame({"x": np.sin(x), "mean_id": [f"n{i}" for i in range(60)], "y": x}).to_csv(
        tmp_path / "t.csv", index=False
    )
    run("fit", tmp_path / "t.csv", "-t", "y", "-o", tmp_path / "m", *BRIEF)
    frame = pd.read_csv(tmp_path / "t.csv").assign(mean=1.0)
    frame.to_csv(tmp_path / "more.csv", index=False)
    out = answers(run("predict", tmp_path / "m", tmp_path / "more.csv", "--id", "x", "--id", "x"))
    assert [*out.columns][:2] == ["x", "mean"]
    result = run("predict", tmp_path / "m", tmp_path / "more.csv", "--id", "mean", code=2)
    assert "'mean' has the name of an answer" in result.stderr
    assert "leave it out of --id" in result.stderr


def test_parquet_answers_of_pieces_fit_together(tmp_path):
    """Ids with gaps in the second piece alone, and rows without a model in the first."""
    import pyarrow
    from pyarrow import parquet

    x = np.linspace(-1, 1, 120)
    frame = pd.DataFrame({"x": x, "y": np.where(x > 0, "up", "down"), "site": np.where(np.arange(120) % 2, "a", "b")})
    frame.to_csv(tmp_path / "t.csv", index=False)
    run("fit", tmp_path / "t.csv", "-t", "y", "--by", "site", "-o", tmp_path / "m", *BRIEF)
    many = {"x": np.zeros(20_005), "site": ["none"] * 20_000 + ["a"] * 5}
    table = pyarrow.table(many | {"number": pyarrow.array([*range(20_004), None], pyarrow.int64())})
    parquet.write_table(table, tmp_path / "many.parquet")
    how = ["--unknown", "missing", "--id", "number", "-o", tmp_path / "out.parquet"]
    run("predict", tmp_path / "m", tmp_path / "many.parquet", *how)
    out = parquet.read_table(tmp_path / "out.parquet")
    assert out["number"].type == pyarrow.int64()
    assert out["class"].null_count == 20_000
    assert out.column_names == ["number", "class", "p_down", "p_up"]
