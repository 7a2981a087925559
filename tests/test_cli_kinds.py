"""Classes and counts through every command: fit, predict, evaluate, prune, report, both exports."""

import html
import json
import re
import shlex
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from pritchel import HorseshoeClassifier
from pritchel.tables.model import TableModel
from tests.test_cli import QUICK, run


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=90).round(4), "town": rng.choice(["Ayr", "Bath"], 90)})
    rate = np.exp(1 + frame["x"] * (frame["town"] == "Ayr"))
    kinds = np.select([frame["x"] < -0.5, frame["x"] < 0.5], ["low", "middle"], "high")
    return frame.assign(kind=kinds, visits=rng.poisson(rate), code=(frame["x"] > 0).astype(int))


@pytest.fixture(scope="module", params=["kind", "visits"])
def workplace(request, frame, tmp_path_factory):
    """A folder with a table and a model of classes or of counts."""
    folder, target = tmp_path_factory.mktemp(request.param), request.param
    others = [name for name in ("kind", "visits", "code") if name != target]
    frame.drop(columns=others).to_csv(folder / "t.csv", index=False)
    words = [] if target == "kind" else ["--likelihood", "poisson"]
    result = run("fit", folder / "t.csv", "-t", target, "-o", folder / "model", *words, *QUICK)
    if target == "kind":
        assert "kind is taken as 3 classes: high (" in result.stderr
        assert "accuracy" in result.output
    return folder, target


def test_predict_and_evaluate(workplace, frame):
    folder, target = workplace
    run("predict", folder / "model", folder / "t.csv", "-o", folder / "out.csv")
    out = pd.read_csv(folder / "out.csv")
    told = run("evaluate", folder / "model", folder / "t.csv", "--json").stdout
    (score,) = json.loads(told)["scores"]
    if target == "kind":
        assert list(out.columns) == ["row", "class", "p_high", "p_low", "p_middle"]
        np.testing.assert_allclose(out.filter(like="p_").sum(axis=1), 1, atol=1e-4)
        assert score["accuracy"] == pytest.approx((out["class"] == frame["kind"]).mean())
        assert score["accuracy"] > score["constant_accuracy"] + 0.2
    else:
        assert list(out.columns) == ["row", "mean", "sd", "q5", "q50", "q95"]
        assert (out["q95"] % 1 == 0).all()
        assert score["rmse"] == pytest.approx(np.sqrt(np.mean((out["mean"] - frame["visits"]) ** 2)), rel=1e-4)
        assert score["rmse"] < score["constant_rmse"]
    checks = json.loads(told)["checks"]
    wanted = ["share of high", "share of low", "share of middle"]
    names = wanted if target == "kind" else ["mean", "variance over mean", "share of zeros", "largest"]
    assert [check["statistic"] for check in checks] == names
    assert "made-up" in run("evaluate", folder / "model", folder / "t.csv").output


def test_regions_are_for_numbers(workplace):
    folder, _ = workplace
    told = run("predict", folder / "model", folder / "t.csv", "--region", "0.9", code=2).stderr
    assert "--region is for numbers" in told


def test_prune_and_report(workplace):
    folder, target = workplace
    run("prune", folder / "model", "-o", folder / "small", "--threshold", "0.05")
    run("report", folder / "small", folder / "t.csv", "-o", folder / "report.html")
    page = (folder / "report.html").read_text()
    for words in ("made-up tables", *(("Confusion", "confidence") if target == "kind" else ("rootogram", "zeros"))):
        assert words in page


def test_exports_answer_as_the_model_does(workplace, frame):
    runtime = pytest.importorskip("onnxruntime")
    folder, target = workplace
    run("export", folder / "model", "--format", "onnx", "-o", folder / "m.onnx")
    run("export", folder / "model", "--format", "numpy", "-o", folder / "exported.py")
    expected = TableModel.load(folder / "model").predict(frame)
    columns = ["p_high", "p_low", "p_middle"] if target == "kind" else ["mean", "sd"]
    session = runtime.InferenceSession(str(folder / "m.onnx"))
    feed = {"x": frame[["x"]].to_numpy(), "town": frame["town"].to_numpy(object)[:, None]}
    if target == "kind":
        probabilities, labels = session.run(["probabilities", "class"], feed)
        np.testing.assert_allclose(probabilities, expected[columns], atol=1e-4)
        assert labels.tolist() == expected["class"].tolist()
    else:
        answers = np.stack(session.run(["mean", "sd"], feed), 1).reshape(len(frame), 2)
        np.testing.assert_allclose(answers, expected[columns], rtol=1e-4)
    words = [sys.executable, "exported.py", "t.csv"]
    result = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    lines = [line.split(",") for line in result.stdout.splitlines()]
    got = np.asarray([line[: len(columns)] for line in lines[1:]], float)
    np.testing.assert_allclose(got, expected[columns], rtol=1e-4, atol=1e-5)
    if target == "kind":
        assert [line[-1] for line in lines[1:]] == expected["class"].tolist()


def test_few_whole_numbers_are_taken_as_numbers_with_a_hint(frame, tmp_path):
    frame[["x", "code"]].to_csv(tmp_path / "t.csv", index=False)
    hint = run("fit", tmp_path / "t.csv", "-t", "code", "-o", tmp_path / "m", *QUICK)
    assert "2 distinct whole numbers" in hint.stderr
    assert "--likelihood categorical" in hint.stderr
    run("fit", tmp_path / "t.csv", "-t", "code", "-o", tmp_path / "c", "--likelihood", "categorical", *QUICK)
    assert TableModel.load(tmp_path / "c").estimator_.classes_.tolist() == ["0", "1"]
    wrong = run("fit", tmp_path / "t.csv", "-t", "code", "-t", "x", "--likelihood", "categorical", code=2)
    assert "one --target" in wrong.stderr


def test_the_reports_command_makes_the_same_model_again(frame, tmp_path, monkeypatch):
    """Codes of classes, and a column that looks like an id, taken as told both times."""
    monkeypatch.chdir(tmp_path)
    frame[["x", "code"]].assign(id=np.arange(len(frame))).to_csv("t.csv", index=False)
    run("fit", "t.csv", "-t", "code", "-o", "first", "--likelihood", "categorical", "--keep", "id", *QUICK)
    run("report", "first", "-o", "report.html")
    (command,) = re.findall("<pre>(?:<code>)?(pritchel fit .*?)</", (tmp_path / "report.html").read_text())
    run(*shlex.split(html.unescape(command))[1:], "-o", "again")
    first, again = TableModel.load("first"), TableModel.load("again")
    assert isinstance(again.estimator_, HorseshoeClassifier)
    assert "id" in [column.name for column in again.plan_.columns]
    np.testing.assert_array_equal(again.estimator_.elbo_, first.estimator_.elbo_)
