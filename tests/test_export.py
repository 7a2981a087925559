"""Exports answer as the model does, without Pritchel; ArviZ gets what it asks for."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from pritchel.files.deployed import deployed
from pritchel.files.numpy_export import write_numpy
from pritchel.files.onnx_export import write_onnx
from pritchel.tables.cells import MISSING
from pritchel.tables.encode import encode_inputs
from pritchel.tables.model import TableModel
from pritchel.tables.plan import plan_arrays
from tests.conftest import tiny

OTHERS = {"activation": "tanh", "linear": False, "likelihood": "mixture"}


@pytest.fixture(scope="module", params=["two networks of two layers", "two, relu", "one network, two targets, tanh"])
def model(request) -> tuple[TableModel, pd.DataFrame]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": 1e6 + rng.normal(size=60),  # single precision would lose this one
            "age": np.where(rng.random(60) < 0.2, np.nan, rng.uniform(0, 9, 60)),
            "town": rng.choice(np.asarray(["Ayr", 'O\'Bath "x"', None], object), 60),
        }
    )
    frame["y"] = frame["size"] - 1e6 + (frame["town"] == "Ayr")
    frame["z"] = frame["y"] ** 2
    is_first = request.param.startswith("two")
    defaults = {"family": "structured", "likelihood": "auto"}
    choice = defaults | {"num_members": 2, "hidden": (5, 4)} if is_first else OTHERS
    if "relu" in request.param:
        choice |= {"activation": "relu"}
    estimator = tiny(training__num_steps=100, num_draws=30, **choice)
    fresh = TableModel(estimator, holdout=0, drop=["z"] if is_first else ())
    return fresh.fit(frame, "y" if is_first else ["y", "z"]), frame


def test_onnx_agrees(model, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    table_model, frame = model
    path = write_onnx(deployed(table_model.estimator_, table_model.plan_), tmp_path / "m.onnx")
    session = runtime.InferenceSession(str(path))
    new = pd.concat([frame, frame.head(1).assign(town="never seen")])
    feed = {
        "size": new[["size"]].to_numpy(),
        "age": new[["age"]].to_numpy(),
        "town": new["town"].fillna(MISSING).to_numpy(object)[:, None],
    }
    mean, sd = session.run(["mean", "sd"], feed)
    expected_mean, expected_sd = table_model.estimator_.predict(encode_inputs(table_model.plan_, new), return_std=True)
    np.testing.assert_allclose(mean, expected_mean.reshape(mean.shape), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(sd, expected_sd.reshape(sd.shape), rtol=1e-4)
    assert {node.name for node in session.get_inputs()} == {"size", "age", "town"}


@pytest.mark.parametrize(("sep", "encoding"), [(",", "utf-8"), (";", "cp1252"), ("\t", "utf-8-sig")])
def test_the_numpy_file_agrees_and_imports_nothing_else(model, tmp_path, sep, encoding):
    table_model, frame = model
    frame = frame.assign(Höhe=1)
    path = write_numpy(deployed(table_model.estimator_, table_model.plan_), tmp_path / "exported.py")
    frame.to_csv(tmp_path / "rows.csv", index=False, sep=sep, encoding=encoding)
    code = (
        "import sys, csv; sys.modules.update(dict.fromkeys(['pritchel', 'jax', 'sklearn', 'scipy', 'pandas']));"
        "import exported; sys.argv = ['exported.py', 'rows.csv']; exported.main()"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    lines = [line.split(",") for line in result.stdout.splitlines()]
    got = np.asarray(lines[1:], float)
    mean, sd = table_model.estimator_.predict(encode_inputs(table_model.plan_, frame), return_std=True)
    pairs = np.stack([mean.reshape(60, -1), sd.reshape(60, -1)], -1).reshape(60, -1)
    np.testing.assert_allclose(got, pairs, rtol=1e-5, atol=1e-5)
    assert lines[0] == [f"{name}_{what}" for name in table_model.plan_.targets for what in ("mean", "sd")]
    for module in ("pickle", "pritchel", "eval", "exec"):
        assert f"import {module}" not in path.read_text()


ODD_TEXTS = (
    "Ayr",
    " Ayr",
    "Ayr  ",
    "NA",
    " NA ",
    "",
    "n/a",
    "?",
    None,
    "ayr",
    "TRUE",
    "true",
    True,
    1,
    1.0,
    "1.0",
    "02",
)
ODD_NUMBERS = ("1.5", " 2", "NA", "?", "", None, "1e3", 7, 8.5, "9999", 9999.0, float("nan"))


def test_the_numpy_file_reads_cells_as_the_model_does(tmp_path, monkeypatch):
    rows = pd.DataFrame({"town": ["Ayr", "True", "1", "02", "NA", "?"] * 6, "y": np.arange(36.0) % 7})
    rows["plain"] = (np.arange(36) ** 2 / 8).astype(str)
    rows.loc[3, "plain"] = "NA"
    rows["euro"] = [f"1.{100 + index},5" for index in range(36)]
    rows["flag"] = ["TRUE", "FALSE", ""] * 12
    estimator = tiny(training__num_steps=5, num_draws=5)
    table_model = TableModel(estimator, holdout=0, na_values=["?", "9999"], category=["town"], keep=["euro"])
    table_model.fit(rows, "y")
    write_numpy(deployed(table_model.estimator_, table_model.plan_), tmp_path / "odd_cells.py")
    monkeypatch.syspath_prepend(tmp_path)
    import odd_cells  # pyright: ignore[reportMissingImports]

    length = max(len(ODD_TEXTS), len(ODD_NUMBERS))
    new = pd.DataFrame(
        {
            "town": pd.Series([*ODD_TEXTS], dtype=object),
            "plain": pd.Series([*ODD_NUMBERS, *[None] * (length - len(ODD_NUMBERS))], dtype=object),
            "euro": pd.Series([None, "1.234,5", "7,25", "1 234,5", " 12"] + ["3"] * (length - 5), dtype=object),
            "flag": pd.Series(["TRUE", "false", "NA", 1, True, 0.0] + [None] * (length - 6), dtype=object),
        }
    )
    columns = {name: new[name].tolist() for name in new}
    np.testing.assert_array_equal(odd_cells.encode(columns), encode_inputs(table_model.plan_, new))


def test_a_missing_extra_is_named(model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ValueError, match=r"pritchel\[onnx\]"):
        write_onnx(deployed(model[0].estimator_, model[0].plan_), tmp_path / "m.onnx")
    monkeypatch.setitem(sys.modules, "arviz_base", None)
    with pytest.raises(ImportError, match=r"pritchel\[arviz\]"):
        model[0].estimator_.to_arviz()


def test_arviz_tree(fitted, table):
    pytest.importorskip("arviz_base")
    X, y = table
    tree = fitted.to_arviz(X, y, n_samples=40)
    assert tree["posterior"]["hidden1_weights"].shape == (1, 200, 4, 8)
    assert tree["posterior_predictive"]["y"].shape == (1, 40, 60, 1)
    np.testing.assert_array_equal(tree["observed_data"]["y"].values[:, 0], y)
    mean = tree["posterior_predictive"]["f"].values[0].mean(0)[:, 0]
    spread = tree["posterior_predictive"]["f"].values[0].std(0)[:, 0]
    assert np.all(np.abs(mean - fitted.predict(X)) < 5 * spread / np.sqrt(40) + 1e-3)
    mixed = np.log(np.exp(tree["log_likelihood"]["y"].values[0, :, :, 0]).mean(0))
    assert np.abs(mixed - fitted.log_prob(X, y)).mean() < 0.2
    assert set(fitted.to_arviz().children) == {"posterior"}


def test_a_model_fitted_to_arrays_has_columns_too(fitted, table):
    plan = plan_arrays(fitted)
    frame = pd.DataFrame(table[0], columns=["x1", "x2", "x3"])
    np.testing.assert_array_equal(encode_inputs(plan, frame), table[0])
    np.testing.assert_allclose(TableModel.of(fitted, plan).predict(frame)["mean"], fitted.predict(table[0]))
