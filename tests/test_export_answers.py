"""Exports say what the model says, in its shapes: quantiles, parts of the spread, calibration, fewer draws."""

import copy
import importlib.util
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

from pritchel import HorseshoeClassifier, Mixture, StudentT, TableModel
from pritchel.files.deployed import deployed
from pritchel.files.numpy_export import write_numpy
from pritchel.files.onnx_export import write_onnx
from pritchel.files.tails import student_tails
from pritchel.posterior.calibration.conformal import Conformal
from pritchel.posterior.calibration.spread import Spread
from pritchel.posterior.calibration.temperature import Temperature
from pritchel.tables.encode import encode_inputs
from tests.conftest import tiny
from tests.test_cli import run

LEVELS = (0.005, 0.05, 0.5, 0.9, 0.95)
SMALL = {"hidden": (4,), "training__num_steps": 60, "num_draws": 40}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=80), "w": rng.normal(size=80)})
    frame["y"] = 3 * frame["x"] + np.exp(0.5 * frame["w"]) * rng.standard_t(4, 80)
    return frame.assign(z=frame["w"] ** 2, group=np.digitize(frame["y"], [-2, 2]).astype(str))


def fitted(frame, targets=("y",), **options) -> TableModel:
    kind = (HorseshoeClassifier,) if "group" in targets else ()
    others = {"y", "z", "group"} - set(targets)
    return TableModel(tiny(*kind, **SMALL | options), holdout=0, drop=sorted(others)).fit(frame, [*targets])


def with_calibration(model: TableModel, found) -> TableModel:
    estimator = copy.copy(model.estimator_)
    estimator.posterior_ = model.estimator_.posterior_.with_calibration(found)
    return TableModel.of(estimator, model.plan_)


def numpy_file(model, folder, **options):
    path = write_numpy(deployed(model.estimator_, model.plan_), folder / "exported.py", **options)
    spec = importlib.util.spec_from_file_location("exported", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def onnx_answers(model, frame, folder, quantiles=(), split=False, num_draws=None) -> dict[str, np.ndarray]:
    runtime = pytest.importorskip("onnxruntime")
    taken = deployed(model.estimator_, model.plan_, num_draws)
    path = write_onnx(taken, folder / "m.onnx", quantiles, split)
    session = runtime.InferenceSession(str(path))
    found = session.run(None, {node.name: frame[[node.name]].to_numpy() for node in session.get_inputs()})
    return {node.name: value for node, value in zip(session.get_outputs(), found, strict=True)}


@pytest.mark.parametrize("dof", [2.05, 3.0, 8.0, 200.0, np.inf])
def test_scores_are_those_of_student_t(dof):
    tails = student_tails(np.full((1, 1, 1), dof))
    assert tails is not None
    level = np.concatenate([np.logspace(-6, -0.31, 50), [0.5]])
    value = special.stdtrit(min(dof, 1e6), level)
    part = np.log1p(value**2 / tails.dof[0, 0, 0]) / tails.limit[0, 0, 0]
    factor = np.polynomial.polynomial.polyval(part, tails.powers[:, 0, 0, 0])
    score = np.sign(value) * np.sqrt(tails.dof * tails.limit * part)[0, 0] * factor
    away = np.abs(special.stdtrit(min(dof, 1e6), special.ndtr(score)) - value)
    deviation = stats.t.std(dof)
    assert away[level > 1e-3].max() < 1e-3 * deviation
    assert (away / np.maximum(np.abs(value), 1)).max() < 1e-2


def test_noise_without_a_deviation_has_no_tails():
    assert student_tails(None) is None
    assert student_tails(np.array([[[3.0]], [[2.0]]])) is None


CASES = {
    "student_t": {"likelihood": StudentT(dof=2.5)},
    "auto": {"likelihood": "auto", "num_members": 2},
    "two targets": {"likelihood": "heteroscedastic", "targets": ("y", "z")},
    "humps": {"likelihood": "mixture"},
    "humps of two targets": {"likelihood": Mixture(num_humps=2), "targets": ("y", "z"), "num_members": 2},
    "sampled": {"inference": "sampled", "sampling__num_warmup": 20, "sampling__num_samples": 20},
}


@pytest.mark.filterwarnings("ignore::pritchel.FitWarning")
@pytest.mark.parametrize("case", CASES)
def test_quantiles_and_parts_are_the_models(frame, tmp_path, case):
    model = fitted(frame, **CASES[case])
    estimator, inputs = model.estimator_, encode_inputs(model.plan_, frame)
    mean, sd = estimator.predict(inputs, return_std=True)
    expected = estimator.predict_quantiles(inputs, LEVELS)
    parts = estimator.predict_uncertainty(inputs)
    exported = numpy_file(model, tmp_path)
    columns = {name: frame[name].tolist() for name in ("x", "w")}
    found = exported.quantiles(columns, LEVELS)
    assert found.shape == expected.shape
    assert np.max(np.abs(found - expected) / sd[..., None]) < 0.01
    np.testing.assert_allclose(exported.quantiles(columns, 0.5), found[..., 2])
    for own, wanted in zip((exported.predict(columns)[0], *exported.uncertainty(columns)), (mean, *parts), strict=True):
        assert own.shape == wanted.shape
        np.testing.assert_allclose(own, wanted, rtol=1e-4, atol=1e-4)
    answers = onnx_answers(model, frame, tmp_path, LEVELS, split=True)
    assert list(answers) == ["mean", "sd", "aleatoric", "epistemic", "q0.5", "q5", "q50", "q90", "q95"]
    for index, name in enumerate(("q0.5", "q5", "q50", "q90", "q95")):
        assert answers[name].shape == mean.shape
        assert np.max(np.abs(answers[name] - expected[..., index]) / sd) < 0.01
    for name in ("aleatoric", "epistemic"):
        np.testing.assert_allclose(answers[name], getattr(parts, name), rtol=1e-3, atol=1e-4)


@pytest.fixture(scope="module")
def plain(frame):
    return fitted(frame, ("y", "z"), likelihood="gaussian")


def scores(far):
    """Of thirty rows and two targets; the last ones may lie beyond any interval of the model's own."""
    own = np.linspace(0.01, 0.49, 30)
    return np.vstack([own, np.where(np.arange(30) > 25, far, own**2), np.ones(30)])


FOUND = {
    "spread": Spread(np.array([0.5, 3.0]), 9, 0),
    "conformal": Conformal(scores(0.45), 30, 0),
    "conformal, stretched": Conformal(scores(0.7), 30, 0),
}


@pytest.mark.parametrize("kind", FOUND)
def test_calibration_goes_along(plain, frame, tmp_path, kind):
    model = with_calibration(plain, FOUND[kind])
    inputs = encode_inputs(model.plan_, frame)
    levels = (0.05, 0.4, 0.95)
    expected = model.estimator_.predict_quantiles(inputs, levels)
    mean, sd = model.estimator_.predict(inputs, return_std=True)
    exported = numpy_file(model, tmp_path)
    columns = {name: frame[name].tolist() for name in ("x", "w")}
    width = np.maximum(sd, np.ptp(expected, axis=-1))
    assert np.max(np.abs(exported.quantiles(columns, levels) - expected) / width[..., None]) < 0.01
    answers = onnx_answers(model, frame, tmp_path, levels)
    for name, wanted in zip(("q5", "q40", "q95"), np.moveaxis(expected, -1, 0), strict=True):
        assert np.max(np.abs(answers[name] - wanted) / width) < 0.01
    for own in (exported.predict(columns), (answers["mean"], answers["sd"])):
        np.testing.assert_allclose(own[0], mean, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(own[1], sd, rtol=1e-4)


def test_a_file_says_where_too_few_rows_promise(plain, frame, tmp_path):
    exported = numpy_file(with_calibration(plain, Conformal(scores(0.45), 30, 0)), tmp_path)
    with pytest.warns(UserWarning, match="too few rows were kept"):
        exported.quantiles({"x": [0.0], "w": [1.0]}, 0.999)


@pytest.fixture(scope="module")
def groups(frame):
    return fitted(frame, ("group",))


@pytest.mark.parametrize("temperature", [None, 0.4, 2.5])
def test_probabilities_and_entropies_are_the_models(groups, frame, tmp_path, temperature):
    model = groups
    if temperature is not None:
        model = with_calibration(model, Temperature(np.array([temperature]), 9, 0))
    inputs = encode_inputs(model.plan_, frame)
    exported = numpy_file(model, tmp_path)
    columns = {name: frame[name].tolist() for name in ("x", "w")}
    answers = onnx_answers(model, frame, tmp_path, split=True)
    assert list(answers) == ["probabilities", "class", "aleatoric", "epistemic"]
    for own in (exported.predict(columns)[0], answers["probabilities"]):
        np.testing.assert_allclose(own, model.estimator_.predict_proba(inputs), rtol=1e-4, atol=1e-5)
    expected = model.estimator_.predict_uncertainty(inputs)
    for own, wanted in zip(exported.uncertainty(columns), expected, strict=True):
        np.testing.assert_allclose(own, wanted, rtol=1e-3, atol=1e-5)
    for name in ("aleatoric", "epistemic"):
        np.testing.assert_allclose(answers[name], getattr(expected, name), rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match="has probabilities, and no quantiles"):
        exported.quantiles(columns, 0.5)


def test_fewer_draws_are_those_of_a_model_with_fewer(plain, frame, tmp_path):
    answers = onnx_answers(plain, frame, tmp_path, num_draws=7)
    fewer = plain.estimator_.posterior_.with_draws(7)
    mean, spread = fewer.mean_std(encode_inputs(plain.plan_, frame))
    np.testing.assert_allclose(answers["mean"], mean, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(answers["sd"], spread.total, rtol=1e-4)
    small, large = (
        write_onnx(deployed(plain.estimator_, plain.plan_, number), tmp_path / "n.onnx").stat().st_size
        for number in (2, 40)
    )
    assert small < large / 2
    with pytest.raises(ValueError, match="num_draws must be a number at most 40"):
        deployed(plain.estimator_, plain.plan_, 41)


def test_other_likelihoods_say_that_they_have_no_quantiles(frame, tmp_path):
    model = fitted(frame.assign(y=frame["y"].abs().round()), likelihood="poisson")
    taken = deployed(model.estimator_, model.plan_)
    for write in (write_onnx, write_numpy):
        with pytest.raises(ValueError, match=r"mean and sd only: .* Leave --quantile out"):
            write(taken, tmp_path / "out", quantiles=(0.5,))
    exported = numpy_file(model, tmp_path)
    with pytest.raises(ValueError, match="mean and sd only"):
        exported.quantiles({"x": [0.0], "w": [0.0]}, 0.5)
    assert exported.predict({"x": [], "w": []})[0].shape == (0,)


def test_the_command_writes_what_was_asked_for(plain, frame, tmp_path):
    plain.save(tmp_path / "m")
    words = ["--quantile", "0.05", "--quantile", "0.95", "--split", "--num-draws", "10"]
    run("export", tmp_path / "m", "--format", "numpy", "-o", tmp_path / "exported.py", *words)
    text = (tmp_path / "exported.py").read_text()
    frame.to_csv(tmp_path / "rows.csv", index=False)
    command = [sys.executable, "exported.py", "rows.csv"]
    lines = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.splitlines()
    names = ("mean", "sd", "aleatoric", "epistemic", "q5", "q95")
    assert lines[0] == ",".join(f"{target}_{name}" for target in ("y", "z") for name in names)
    posterior = plain.estimator_.posterior_.with_draws(10)
    inputs = encode_inputs(plain.plan_, frame)
    mean, spread = posterior.mean_std(inputs)
    ends = posterior.quantiles(inputs, np.array([0.05, 0.95]))
    wanted = np.concatenate([np.stack([mean, *spread], -1), ends], -1).reshape(80, -1)
    found = np.array([line.split(",") for line in lines[1:]], float)
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-2)
    assert not re.search(r"^(import|from) (?!base64|csv|io|json|re|sys|warnings|numpy)", text, re.MULTILINE)
    pytest.importorskip("onnx")
    run("export", tmp_path / "m", "-o", tmp_path / "m.onnx", *words)
    wrong = run("export", tmp_path / "m", "-o", tmp_path / "n.onnx", "--quantile", "1.5", code=2)
    assert "--quantile must be a level between" in wrong.stderr
