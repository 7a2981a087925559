"""Loading a model and asking it takes little: no JAX, and nothing else that only fits need."""

import itertools
import json
import os
import subprocess
import sys
import textwrap

import jax
import numpy as np
import pandas as pd
import pytest

from pritchel import FileError, HorseshoeClassifier, TableError, TableModel
from pritchel.cli.inspect import describe
from pritchel.estimators.saved import unpack_to_ask
from pritchel.folder import read_folder
from pritchel.guide import Family
from pritchel.guide.member import Member
from pritchel.guide.network import draw_noise_shapes, draw_weights, keep_units, start_guide
from pritchel.model.network import Model
from pritchel.model.priors import PRIORS
from pritchel.posterior.draws import BLOCK_DRAWS, weight_block
from pritchel.tables.loaded import LoadedTable
from pritchel.tables.scoring import score_notes
from tests.conftest import gaussian, tiny

HEAVY = ("jax", "equinox", "optax", "blackjax", "sklearn", "scipy.stats", "scipy.optimize", "joblib")
ASK = """
import json, sys
import pandas as pd
from typer.testing import CliRunner
import pritchel
from pritchel.cli import app

folder, heavy = sys.argv[1], sys.argv[2].split()
found = {}
exported = ["export", folder, "--format", "numpy", "-o", f"{folder}.py"]
for words in (["inspect", folder], ["predict", folder, "rows.csv"], ["evaluate", folder, "rows.csv"], exported):
    outcome = CliRunner().invoke(app, words)
    assert outcome.exit_code == 0, outcome.output
    found[words[0]] = [name for name in heavy if name in sys.modules]
answers = pritchel.load(folder).predict(pd.read_csv("rows.csv"))
found["load"] = [name for name in ("jax", "equinox") if name in sys.modules]
print(json.dumps(found))
"""


def ask(folder, kind, code=ASK, heavy=HEAVY):
    """What the code prints, in a process that has imported nothing yet."""
    words = [sys.executable, "-c", code, str(kind), " ".join(heavy)]
    told = {name: value for name, value in os.environ.items() if name != "SCIPY_ARRAY_API"}
    told["PYTHONPATH"] = os.pathsep.join([os.getcwd(), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(words, cwd=folder, env=told, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A variational and a sampled model, and one of classes, with rows for all of them."""
    path = tmp_path_factory.mktemp("light")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    frame["y"] = np.sin(frame["a"]) + 0.1 * rng.normal(size=60)
    frame["z"] = np.where(frame["b"] > 0, "up", "down")
    frame.to_csv(path / "rows.csv", index=False)
    short = {"training__num_steps": 40, "num_draws": 10, "hidden": (3,), "family": "structured"}
    sampled = {"inference": "sampled", "sampling__num_warmup": 20, "sampling__num_samples": 20}
    for name, estimator, target in (
        ("variational", tiny(**short, likelihood="auto"), "y"),
        ("sampled", tiny(**short | sampled), "y"),
        ("classes", tiny(HorseshoeClassifier, **short), "z"),
    ):
        TableModel(estimator, holdout=0.2).fit(frame, target).save(path / name)
    return path


@pytest.mark.filterwarnings("ignore::pritchel.FitWarning")
@pytest.mark.parametrize("kind", ["variational", "sampled", "classes"])
def test_commands_that_ask_a_model_import_nothing_heavy(folder, kind):
    """And `load`, whose estimators are scikit-learn's, imports no JAX either."""
    assert ask(folder, kind) == {word: [] for word in ("inspect", "predict", "evaluate", "export", "load")}


@pytest.mark.filterwarnings("ignore::pritchel.FitWarning")
@pytest.mark.parametrize("kind", ["variational", "sampled", "classes"])
def test_a_folder_that_is_asked_answers_as_the_model_does(folder, kind):
    frame = pd.read_csv(folder / "rows.csv")
    asked, model = LoadedTable.load(folder / kind), TableModel.load(folder / kind)
    levels = () if model.has_classes else (0.1, 0.9)
    pd.testing.assert_frame_equal(
        asked.predict(frame, levels, split=True), model.predict(frame, levels, split=True), check_exact=True
    )
    pd.testing.assert_frame_equal(asked.outside(frame), model.outside(frame))
    assert score_notes(asked.evaluate(frame)) == score_notes(model.evaluate(frame))
    assert asked.importances(frame) == model.importances(frame)
    assert describe(asked, "m") == describe(model, "m")
    for name in ("unit_scales_", "weight_norms_"):
        (own,), (other,) = getattr(asked.estimator_, name), getattr(model.estimator_, name)
        np.testing.assert_array_equal(own, other)


@pytest.mark.filterwarnings("ignore::pritchel.FitWarning")
def test_a_folder_that_is_asked_checks_what_it_uses(folder, tmp_path):
    spec, arrays = read_folder(folder / "classes")
    frame = pd.read_csv(folder / "rows.csv")
    asked = LoadedTable.of_saved(unpack_to_ask(spec, arrays), "folder")
    with pytest.raises(TableError, match="sideways"):
        asked.evaluate(frame.assign(z="sideways"))
    with pytest.raises(ValueError, match="has not seen"):
        asked.estimator_.evaluate(frame[["a", "b"]], np.full(len(frame), "sideways"))
    for change in ({"kind": "Oracle"}, {"settings": {"checkpoint": "elsewhere"}}):
        with pytest.raises(FileError):
            unpack_to_ask(spec | change, arrays)
    with pytest.raises(TableError, match="holds a DynamicsModel"):
        LoadedTable.of_saved(unpack_to_ask(spec | {"kind": "DynamicsModel"}, arrays), "folder")


@pytest.mark.filterwarnings("ignore::pritchel.FitWarning")
def test_a_model_loaded_before_jax_can_be_fitted_on(folder):
    """Its trees were made when JAX was not there; the steps that follow are those of any fit."""
    code = """
    import json, sys, warnings
    import pandas as pd
    import pritchel
    warnings.simplefilter("ignore")
    model = pritchel.load(sys.argv[1])
    before = model.predict(frame := pd.read_csv("rows.csv"))
    assert "jax" not in sys.modules
    small = model.prune(1e-9, fine_tune_steps=30, frame=frame)
    assert "jax" in sys.modules
    print(json.dumps(float((small.predict(frame)["mean"] - before["mean"]).abs().max())))
    """
    assert 1e-6 < ask(folder, "variational", textwrap.dedent(code)) < 1


@pytest.mark.parametrize(
    ("family", "prior"),
    [
        *itertools.product(
            ("structured", "semi_structured", "factorized", "tied"), ("regularized_horseshoe", "gaussian")
        ),
        ("vmg", "gaussian"),
    ],
)
def test_draws_by_numpy_are_those_by_jax(family, prior):
    """Up to rounding, which pseudo data make the most of: of a pruned network, with noise for every unit offered."""
    settings = {} if prior == "gaussian" else {"slab_sharing": "unit", "layer_scale": 0.1}
    model = Model(PRIORS[prior](**settings).build(2), gaussian((1.0, 1.0), 20.0), "relu", family != "vmg")
    guide = start_guide(model, (6, 4), Family(family, rank=2), 3, 2, np.random.default_rng(1))
    kept = (np.array([0, 2, 5]), np.array([1, 3]))
    member = Member.unpruned(model, guide)
    if family != "vmg":
        member = member.reduced(jax.tree.map(np.asarray, keep_units(guide, kept)), kept)
    rng = np.random.default_rng(np.random.SeedSequence((4, 2)))
    shapes = draw_noise_shapes(member.guide, member.offered)
    noise = jax.tree.map(lambda leaf: rng.standard_normal((BLOCK_DRAWS, *leaf.shape), dtype=np.float32), shapes)
    expected = jax.jit(jax.vmap(draw_weights, in_axes=(None, None, 0)))(model, member.guide, noise.take(member.kept))
    own = weight_block(member, (4, 2))
    assert jax.tree.structure(own) == jax.tree.structure(expected)
    for matrix, wanted in zip(jax.tree.leaves(own), jax.tree.leaves(expected), strict=True):
        assert isinstance(matrix, np.ndarray)
        assert matrix.dtype == np.float64
        error = np.abs(matrix - wanted).max() / np.abs(wanted).max()
        assert error < (2e-5 if family == "vmg" else 2e-6)
