"""Model folders come back to the bit; nothing but a sound one loads; a killed fit goes on to the same end."""

import hashlib
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pritchel
from pritchel import HorseshoeRegressor, StudentT, folder
from pritchel.estimators import saved_members
from pritchel.estimators.saved import load_saved, save_estimator, unpack
from pritchel.infer import checkpoint as checkpointing
from pritchel.infer import feed as feeding
from pritchel.posterior.diagnostics import FitWarning
from pritchel.serial import FileError, read_arrays, write_arrays
from tests.conftest import tiny


@pytest.fixture(scope="module")
def saved(fitted, tmp_path_factory):
    return fitted.save(tmp_path_factory.mktemp("models") / "model")


@pytest.fixture
def copied(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "model")


def rewrite_spec(path, change):
    """Change a spec and mend its digest, as someone who means harm would."""
    spec = json.loads((path / "spec.json").read_text())
    change(spec)
    spec["spec_sha256"] = folder.spec_digest(spec)
    (path / "spec.json").write_text(json.dumps(spec))


CHOICES = [
    {"family": "structured", "likelihood": "auto"},
    {"prior": "gaussian", "linear": False},
    {"prior": "horseshoe", "family": "tied"},
    {"family": "semi_structured", "prior__slab_sharing": "unit", "training__drop_dead_units": True, "hidden": (40,)},
    {"family": "factorized", "num_members": 2, "hidden": (4, 3)},
    pytest.param({"family": "vmg", "prior": "gaussian", "linear": False}, marks=pytest.mark.slow),  # slow to compile
]


@pytest.mark.filterwarnings("ignore:Pruning left a hidden layer")
@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_predictions_come_back_to_the_bit(table, tmp_path, choice):
    X, y = table
    model = tiny(training__num_steps=60, **choice).fit(X, y)
    versions = [model] if choice.get("prior") == "gaussian" else [model, model.prune(threshold=0.02)]
    for version in versions:
        version.save(tmp_path / "model", overwrite=True)
        loaded = HorseshoeRegressor.load(tmp_path / "model")
        for before, after in zip(version.predict(X, True), loaded.predict(X, True), strict=True):
            np.testing.assert_array_equal(before, after)
        np.testing.assert_array_equal(version.units_kept_, loaded.units_kept_)
        np.testing.assert_array_equal(np.float32(version.elbo_), loaded.elbo_)
        assert str(getattr(version, "prune_report_", None)) == str(getattr(loaded, "prune_report_", None))
        unsaved = {"progress", "checkpoint", "warm_start"}
        before, after = version.get_params(), loaded.get_params()
        assert {k: v for k, v in before.items() if k not in unsaved} == {
            k: v for k, v in after.items() if k not in unsaved
        }


def test_saving_overwrites_only_models_and_only_when_told(fitted, copied, tmp_path):
    with pytest.raises(FileExistsError, match="overwritten"):
        fitted.save(copied)
    fitted.save(copied, overwrite=True)
    other = tmp_path / "holiday-photos"
    other.mkdir()
    (other / "one.jpg").write_text("x")
    with pytest.raises(FileExistsError, match="not a model"):
        fitted.save(other, overwrite=True)
    assert (other / "one.jpg").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["holiday-photos", "model"]


def test_a_write_that_fails_leaves_the_old_model(fitted, copied, monkeypatch):
    before = {file.name: file.read_bytes() for file in copied.iterdir()}

    def no_space(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder, "write_bytes", no_space)
    with pytest.raises(OSError, match="No space"):
        fitted.save(copied, overwrite=True)
    assert {file.name: file.read_bytes() for file in copied.iterdir()} == before
    assert [path.name for path in copied.parent.iterdir()] == ["model"]


def cut(path):
    path.write_bytes(path.read_bytes()[:-7])


DAMAGE = {
    "no folder": (lambda p: shutil.rmtree(p), "no such folder"),
    "no spec": (lambda p: (p / "spec.json").unlink(), "spec.json is missing"),
    "no weights": (lambda p: (p / "weights.safetensors").unlink(), "weights.safetensors is missing"),
    "short spec": (lambda p: cut(p / "spec.json"), "JSON is not valid"),
    "short weights": (lambda p: cut(p / "weights.safetensors"), "truncated"),
    "edited spec": (
        lambda p: (p / "spec.json").write_text(
            (p / "spec.json").read_text().replace('"num_draws": 200', '"num_draws": 9')
        ),
        "was changed",
    ),
    "not ours": (lambda p: (p / "spec.json").write_text('{"format": "other"}'), "does not describe a Pritchel model"),
    "newer": (lambda p: rewrite_spec(p, lambda s: s.update(format_version=99)), "upgrade pritchel"),
    "deep": (lambda p: (p / "spec.json").write_text("[" * 100_000), "JSON is not valid"),
    "bytes": (lambda p: (p / "spec.json").write_bytes(b"\xff\xfe\x00"), "not text"),
    "unknown class": (
        lambda p: rewrite_spec(p, lambda s: s["fitted"]["members"][0]["guide"].update(module="Popen")),
        "does not know",
    ),
    "unknown estimator": (lambda p: rewrite_spec(p, lambda s: s.update(estimator="os.system")), "does not know"),
    "huge draws": (lambda p: rewrite_spec(p, lambda s: s["fitted"].update(num_draws=10**12)), "out of range"),
    "huge offer": (
        lambda p: rewrite_spec(p, lambda s: s["fitted"]["members"][0].update(offered=[10**12])),
        "more than",
    ),
    "wrong option": (lambda p: rewrite_spec(p, lambda s: s["settings"].update(prior="flat")), "prior must be one of"),
    "extra option": (lambda p: rewrite_spec(p, lambda s: s["settings"].update(evil=1)), "do not fit together"),
    "lost part": (lambda p: rewrite_spec(p, lambda s: s["fitted"].pop("seed")), "'seed' is missing"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_what_is_not_a_sound_model_is_refused(copied, name):
    damage, message = DAMAGE[name]
    damage(copied)
    with pytest.raises(FileError, match=message):
        load_saved(copied)


def test_arrays_that_do_not_fit_are_refused(copied):
    arrays, _ = read_arrays(copied / "weights.safetensors")
    for name, array in arrays.items():
        if not name.startswith("members"):
            continue
        for broken in (np.concatenate([array.ravel(), [1]]).astype(array.dtype), np.full_like(array, -1)):
            if broken.dtype.kind == "f" and broken.shape == array.shape:
                broken = np.full_like(array, np.nan)
            write_arrays(copied / "weights.safetensors", arrays | {name: broken})
            digest = hashlib.sha256((copied / "weights.safetensors").read_bytes()).hexdigest()
            rewrite_spec(copied, lambda spec, digest=digest: spec.update(weights_sha256=digest))
            with pytest.raises(FileError):
                load_saved(copied)


@pytest.mark.parametrize("family", ["factorized", "semi_structured", "structured"])
def test_arrays_that_would_make_more_than_a_network_are_refused_before_it_is_made(family, table, tmp_path, monkeypatch):
    """Shapes that arithmetic would stretch to a matrix of the product of two lengths, alone or with their like."""
    saved = tiny(family=family, training__num_steps=5, num_draws=5).fit(*table).save(tmp_path / "model")
    monkeypatch.setattr(saved_members, "draw_unknowns", lambda *_: pytest.fail("it is drawn from"))
    spec = json.loads((saved / "spec.json").read_text())
    arrays, _ = read_arrays(saved / "weights.safetensors")
    others = (".kept", ".guide.likelihood")  # indices; and what no weight is made of
    is_part = lambda name: name.startswith("members") and not any(other in name for other in others)  # noqa: E731
    parts = {name: array for name, array in arrays.items() if is_part(name)}
    assert len(parts) > 10
    for name, array in parts.items():
        alike = [other for other in parts if other.rpartition(".")[0] == name.rpartition(".")[0]]
        for group in ([name], alike):
            with pytest.raises(FileError):
                unpack(spec, arrays | {one: parts[one][..., None] + np.zeros(2, array.dtype) for one in group})


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(max_size=8), parts, max_size=3),
    max_leaves=6,
)


@settings(
    max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_no_spec_does_more_than_raise_our_error(saved, data):
    """Any value anywhere in the spec: it loads, or it is refused, and nothing else."""
    spec = json.loads((saved / "spec.json").read_text())
    arrays, _ = read_arrays(saved / "weights.safetensors")
    node, path = spec, []
    while isinstance(node, (dict, list)) and node and (len(path) < 2 or data.draw(st.booleans())):
        key = data.draw(st.sampled_from(sorted(node)) if isinstance(node, dict) else st.integers(0, len(node) - 1))
        path.append((node, key))
        node = node[key]
    parent, key = path[-1]
    parent[key] = data.draw(JSON_VALUES)
    try:
        model = unpack(spec, arrays)
    except FileError:
        return
    assert isinstance(model.model, HorseshoeRegressor)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(junk=st.binary(max_size=300), where=st.integers(0, 400))
def test_no_bytes_do_more_than_raise_our_error(saved, tmp_path_factory, junk, where):
    path = tmp_path_factory.mktemp("fuzz") / "weights.safetensors"
    whole = (saved / "weights.safetensors").read_bytes()
    path.write_bytes(whole[:where] + junk + whole[where + len(junk) :])
    try:
        read_arrays(path)
    except FileError:
        return


def test_notes_and_their_arrays_come_back(fitted, tmp_path):
    extra = {"held_out_y": np.arange(3.0)}
    save_estimator(tmp_path / "m", fitted, table={"columns": [], "targets": ["y"]}, notes={"a": 1}, arrays=extra)
    loaded = load_saved(tmp_path / "m")
    assert loaded.notes == {"a": 1}
    assert loaded.table["targets"] == ["y"]
    np.testing.assert_array_equal(loaded.arrays["held_out_y"], extra["held_out_y"])


class Killed(BaseException):
    pass


@pytest.mark.parametrize(
    "choice",
    [
        {"num_members": 2, "n_jobs": 1, "calibration": "spread"},
        pytest.param(
            {"hidden": (32,), "training__drop_dead_units": True, "training__objective": "sampled"},
            marks=pytest.mark.slow,
        ),
        {"training__early_stopping": True, "training__patience": 3, "training__average": 0.9},
    ],
    ids=str,
)
def test_a_killed_fit_goes_on_to_the_same_end(table, tmp_path, monkeypatch, choice):
    monkeypatch.setattr(feeding, "MAX_CHUNK_STEPS", 50)
    monkeypatch.setattr(checkpointing, "EVERY_SECONDS", 0.0)
    options = {"training__num_steps": 500, "training__batch_size": 32, **choice}
    whole = tiny(**options).fit(*table)
    calls = 0

    def die_now_and_then(progress):
        nonlocal calls
        calls += 1
        if calls % 4 == 0:
            raise Killed

    num_deaths = 0
    for _ in range(40):
        resumed = tiny(**options, checkpoint=tmp_path / "part", progress=die_now_and_then)
        try:
            resumed.fit(*table)
            break
        except Killed:
            num_deaths += 1
    assert num_deaths > 1
    np.testing.assert_array_equal(whole.elbo_, resumed.elbo_)
    np.testing.assert_array_equal(whole.predict(table[0], True), resumed.predict(table[0], True))
    if choice.get("training__drop_dead_units"):
        assert len(whole.posterior_.members[0].kept[0]) < 32


def test_another_fits_checkpoint_is_refused(table, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpointing, "EVERY_SECONDS", 0.0)
    options = {"training__num_steps": 20, "checkpoint": os.fspath(tmp_path)}
    tiny(**options).fit(*table)
    with pytest.raises(FileError, match="another fit"):
        tiny(**options, random_state=1).fit(*table)


def test_a_model_written_by_format_version_1_still_loads():
    """Two networks of six units, 400 steps, 10 draws, seed 0; its settings were flat arguments."""
    path = Path(__file__).parent / "fixtures" / "model-v1"
    model = HorseshoeRegressor.load(path)
    expected = np.load(path / "predictions.npz", allow_pickle=False)
    mean, sd = model.predict(expected["X"], return_std=True)
    np.testing.assert_allclose(mean, expected["mean"], rtol=1e-4)
    np.testing.assert_allclose(sd, expected["sd"], rtol=1e-4)


def test_noise_without_a_variance_and_chains_of_few_draws_can_be_saved(table, tmp_path):
    X, y = table
    heavy = tiny(likelihood=StudentT(dof=1.5), inference="variational", training__num_steps=50).fit(X, y)
    assert str(heavy.noise_report_).startswith("half the width of the middle 68 % ")
    assert 0 < heavy.noise_report_[0].spread < np.inf
    assert pritchel.load(heavy.save(tmp_path / "heavy")).noise_report_ == heavy.noise_report_
    brief = {"inference": "sampled", "sampling__num_warmup": 20, "sampling__num_samples": 10, "training__num_steps": 50}
    with pytest.warns(FitWarning, match="Fewer than 4 draws of each chain"):
        few = tiny(num_draws=6, num_members=2, **brief).fit(X, y)
    loaded = pritchel.load(few.save(tmp_path / "few"))
    assert loaded.sampling_report_.r_hat is None
    np.testing.assert_array_equal(loaded.predict(X), few.predict(X))
