"""Names with brackets, dollars, escapes and quotes in them are names; messages stay short."""

import json
import os
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

from pritchel import HorseshoeClassifier, TableModel
from pritchel.cli.common import print_json, put, say, visible, warnings_told
from pritchel.files.deployed import deployed
from pritchel.files.numpy_export import write_numpy
from pritchel.files.onnx_export import write_onnx
from pritchel.posterior.diagnostics import CollapseWarning, warn_if_collapsed
from pritchel.tables.encode import encode_inputs
from pritchel.tables.training import remarks, training_table
from tests.conftest import tiny
from tests.test_cli import run

SMALL = {"hidden": (3,), "training__num_steps": 20, "num_draws": 5}
ODD = ["[/s]", "[red]x", "$a$", "$\\frac{$", ":smile:", "\x1b[31mred", "é漢", '"""', "{x}", "\\N{", "a\nb"]


def odd_frame(names, target="y") -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.normal(size=60) for name in names})
    return frame.assign(**{target: frame[names[0]] + 0.1 * rng.normal(size=60)})


@pytest.mark.filterwarnings("ignore:Glyph")
def test_odd_names_can_be_fitted_inspected_scored_and_reported(tmp_path):
    target = "[/b] $\\y{$ \x1b[2J"
    frame = odd_frame(ODD, target).assign(town=np.resize(["[/i]", "$b$ $"], 60))
    frame.to_csv(tmp_path / "t.csv", index=False)
    words = [
        "-o",
        tmp_path / "m",
        "--family",
        "factorized",
        "--hidden",
        "3",
        "--inference",
        "variational",
        "--num-steps",
        "20",
        "--num-members",
        "1",
        "--num-draws",
        "5",
    ]
    said = [run("fit", tmp_path / "t.csv", "-t", target, *words)]
    said += [run("inspect", tmp_path / "m"), run("evaluate", tmp_path / "m", tmp_path / "t.csv")]
    run("report", tmp_path / "m", tmp_path / "t.csv", "-o", tmp_path / "r.html")
    for result in said:
        assert "[/b] $\\y{$" in result.output
        assert "\x1b" not in result.output + result.stderr
    assert "[/s]" in said[1].output
    assert ":smile:" in said[1].output
    assert "\\x1b[31mred" in said[1].output


def test_control_characters_are_spelled_out(capsys):
    assert visible("a\x1b[2Jb\u202e\x07\ttab\nline é") == "a\\x1b[2Jb\\u202e\\x07\ttab\nline é"
    say("\x1b[2J")
    put("\x1b[3J")
    assert capsys.readouterr() == ("\\x1b[3J\n", "\\x1b[2J\n")


def test_json_has_no_infinity(capsys):
    print_json({"a": [float("inf"), 1.0], "b": {"c": float("nan")}})
    assert json.loads(capsys.readouterr().out) == {"a": [None, 1.0], "b": {"c": None}}


COLLIDING = ["mean", "sd", "value1", "constant0", "_value2", "class", "probabilities", "predicted_mean"]


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_onnx_takes_columns_of_any_name(tmp_path, kind):
    runtime = pytest.importorskip("onnxruntime")
    frame = odd_frame(COLLIDING)
    estimator = tiny(**SMALL)
    if kind == "classes":
        frame["y"] = np.where(frame["y"] > 0, "up", "down")
        estimator = tiny(HorseshoeClassifier, **SMALL)
    model = TableModel(estimator, holdout=0).fit(frame, "y")
    path = write_onnx(deployed(model.estimator_, model.plan_), tmp_path / "m.onnx")
    session = runtime.InferenceSession(str(path))
    first, _ = session.run(None, {name: frame[[name]].to_numpy() for name in COLLIDING})
    mean = model.estimator_.posterior_.mean_std(encode_inputs(model.plan_, frame))[0]
    np.testing.assert_allclose(first, mean[:, 0] if kind == "numbers" else mean, rtol=1e-4, atol=1e-4)
    names = [node.name for node in session.get_outputs()]
    assert names == (
        ["predicted_predicted_mean", "predicted_sd"]
        if kind == "numbers"
        else ["predicted_probabilities", "predicted_class"]
    )


@pytest.mark.parametrize("stem", ['a"""\nopen("ran", "w")\n"""', "a'b", "{x}", "class"])
def test_a_file_name_is_not_run_by_the_export(fitted, tmp_path, stem):
    from pritchel.tables.plan import plan_arrays

    plan = plan_arrays(fitted)._replace(targets=('y"""\nopen("ran", "w")\n"""\0',))
    path = write_numpy(deployed(fitted, plan), tmp_path / f"{stem}.py")
    code = compile(path.read_text(), "exported", "exec")
    result = subprocess.run(
        [sys.executable, "-c", path.read_text().partition("if __name__")[0]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert code
    assert result.returncode == 0, result.stderr
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_thousands_of_classes_are_not_all_named(table):
    frame = pd.DataFrame({"x": np.arange(4000.0) ** 1.1, "y": [f"class {i}" for i in range(2000)] * 2})
    (said,) = [
        str(one) for one in remarks(training_table(frame, ["y"], classes=True), classes=True, may_hold_codes=False)
    ]
    assert len(said) < 500
    assert "and 1,988 more" in said
    X, _ = table
    model = tiny(HorseshoeClassifier, **SMALL | {"training__num_steps": 2}).fit(X, np.arange(60) % 30)
    with pytest.raises(ValueError, match="30 others, such as") as error:
        model.log_prob(X[:2], [99, 1])
    assert len(str(error.value)) < 300


def test_an_enormous_error_is_told_in_a_few_digits():
    with pytest.warns(CollapseWarning, match=r"is 6\.91e\+28 of") as heard:
        warn_if_collapsed(np.array([[1.0], [-1.0]]), np.full((2, 1), 6.91e28), np.ones(2))
    assert len(str(heard[0].message)) < 500


def test_a_damaged_cache_is_told_of_once(capsys):
    with warnings_told():
        for name in "abc":
            warnings.warn(f"Error reading persistent compilation cache entry for '{name}': zlib.error", stacklevel=1)
            warnings.warn(f"Error writing persistent compilation cache entry for '{name}': full", stacklevel=1)
        warnings.warn("something else", stacklevel=1)
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2
    assert "PRITCHEL_CACHE" in said[0]


@pytest.mark.slow
def test_an_unusable_cache_stops_nothing(fitted, tmp_path):
    path = fitted.save(tmp_path / "m")
    (tmp_path / "file").touch()
    environment = {**os.environ, "PRITCHEL_CACHE": str(tmp_path / "file")}
    words = [sys.executable, "-m", "pritchel", "inspect", path]
    result = subprocess.run(words, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("PRITCHEL_CACHE") == 1
    assert result.stderr.startswith("Note: ")


def test_formulas_are_quoted_if_asked_for(fitted, tmp_path):
    path = fitted.save(tmp_path / "m")
    frame = pd.DataFrame(np.zeros((2, 3)), columns=["x1", "x2", "x3"]).assign(**{"=id": ["=1+1", "plain"]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    words = ["predict", path, tmp_path / "t.csv", "--id", "=id"]
    plain = run(*words).stdout.splitlines()
    assert [line.split(",")[0] for line in plain] == ["=id", "=1+1", "plain"]
    quoted = run(*words, "--quote-formulas").stdout.splitlines()
    assert [line.split(",")[0] for line in quoted] == ["'=id", "'=1+1", "plain"]
    assert [line.split(",")[1:] for line in quoted] == [line.split(",")[1:] for line in plain]
