"""Every prior there is, by one contract; and a prior from another package with a latent of its own."""

import importlib
import subprocess
import sys
import textwrap

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pritchel import FileError, load
from pritchel.guide import FAMILIES
from pritchel.guide.base import OUTPUT_STARTS
from pritchel.infer.outputs import OUTPUT_MOMENTS, pass_noise_shapes
from pritchel.model.priors import PRIORS, Moments
from pritchel.serial import decode
from tests.conftest import tiny

HIDDEN = (4, 3)


def moments_of(start, log_sd):
    """Moments of Gaussians around where q starts."""
    around = lambda mean: Moments(jnp.asarray(mean), jnp.full(np.shape(mean), np.exp(2 * log_sd)))  # noqa: E731
    units = [around(np.full(width, mean)) for width, mean in zip(HIDDEN, start.log_unit_scales or (), strict=False)]
    return units, jax.tree.map(around, start.scales), jax.tree.map(around, start.latents)


@pytest.mark.parametrize("name", PRIORS)
@pytest.mark.parametrize("linear", [True, False])
def test_contract(x64, name, linear):
    """What starts, what is drawn and what has a density are the same things, of the same shapes."""
    prior = PRIORS[name]().build(len(HIDDEN))
    start = prior.start(HIDDEN, linear)
    assert (start.log_unit_scales is not None) == prior.has_unit_scales
    assert set(prior.held) <= {field for field, value in start.scales._asdict().items() if value is not None}
    units, scales, latents = prior.draw(np.random.default_rng(0), 7, HIDDEN, linear)
    assert [unit.shape for unit in units] == [(7, 1, width) for width in HIDDEN if prior.has_unit_scales]
    for field, shape in {"layer": (2, 7, 1, 1), "output": (7, 1, 1), "linear": (7, 1, 1)}.items():
        drawn, at_start = getattr(scales, field), getattr(start.scales, field)
        assert (drawn is None) == (at_start is None)
        assert drawn is None or drawn.shape == shape
    assert {key: [part.shape for part in parts] for key, parts in latents.items()} == {
        key: [(7, 1, len(part)) for part in parts] for key, parts in start.latents.items()
    }
    density = prior.log_density(*jax.tree.map(lambda moments: moments.mean, moments_of(start, 0.0),
                                              is_leaf=lambda part: isinstance(part, Moments)))  # fmt: skip
    assert np.isfinite(density)


@pytest.mark.parametrize("name", [name for name in PRIORS if name != "gaussian"])
def test_expected_log_density_is_the_mean_over_draws(x64, name):
    """In standard errors, with the half-Cauchy exact; and the paper's bound lies below."""
    wide = {"layer_scale": 0.3, "spike_scale": 0.3, "inclusion": 0.4}
    settings = PRIORS[name]()
    settings = settings.changed(**{field: value for field, value in wide.items() if field in settings.values()})
    prior = settings.changed(half_cauchy="exact").build(len(HIDDEN))
    start = prior.start(HIDDEN, True)
    moments = moments_of(start, -0.7)
    leaves, structure = jax.tree.flatten(moments, is_leaf=lambda part: isinstance(part, Moments))
    rng = np.random.default_rng(0)
    noise = [rng.normal(size=(20_000, *leaf.mean.shape)) for leaf in leaves]

    def density(noise):
        values = [leaf.mean + jnp.sqrt(leaf.var) * part for leaf, part in zip(leaves, noise, strict=True)]
        return prior.log_density(*jax.tree.unflatten(structure, values))

    draws = np.asarray(jax.vmap(density)(noise))
    expected = float(prior.expected_log_density(*moments))
    assert abs(draws.mean() - expected) < 5 * draws.std() / np.sqrt(len(draws))
    bound = settings.changed(half_cauchy="auxiliary").build(len(HIDDEN)).expected_log_density(*moments)
    assert float(bound) < expected


OUTSIDE = '''
"""A family and a prior that another package brings."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from pritchel.guide import family
from pritchel.guide.independent import IndependentLayer
from pritchel.guide.normal import Normal
from pritchel.model.priors import prior
from pritchel.model.priors.shrinkage import HalfCauchy, ShrinkagePrior, ShrinkageSettings
from pritchel.shapes import AnyArray, OutputScales


class TemperedPrior(ShrinkagePrior):
    """Raw scales to the power 1 / (1 + e^t), with a temperature t ~ N(0, 1) for each hidden layer."""

    log_unit_scale_prior: Float[AnyArray, " layers"]
    log_layer_scale_prior: Float[AnyArray, " layers"]
    log_output_scale_prior: OutputScales
    log_linear_scale_prior: OutputScales
    half_cauchy: HalfCauchy = eqx.field(static=True)
    learn_layer_scale: bool = eqx.field(static=True)

    def log_weight_scale(self, log_scale, latents):
        return log_scale / (1 + jnp.exp(latents["temperature"]))

    def start_latents(self, hidden):
        return {"temperature": tuple(np.full(1, -3.0) for _ in hidden)}

    def expected_latent_log_density(self, latents):
        return sum((-0.5 * (q.mean**2 + q.var + jnp.log(2 * jnp.pi))).sum() for q in latents["temperature"])

    def latent_log_density(self, latents):
        return sum((-0.5 * (value**2 + jnp.log(2 * jnp.pi))).sum() for value in latents["temperature"])

    def draw_latents(self, rng, num_draws, hidden):
        return {"temperature": tuple(rng.normal(size=(num_draws, 1, 1)) for _ in hidden)}


@prior("tempered")
@dataclasses.dataclass(frozen=True)
class Tempered(ShrinkageSettings):
    """Its settings."""

    def build(self, num_hidden):
        return TemperedPrior(**self.scale_fields(num_hidden))


class OwnLayer(IndependentLayer):
    """A class of its own, so that files must name it."""


@family("own")
def start_own(start):
    return OwnLayer.start(Normal.start(start.base_mean, 0.1), start)
'''


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """That package on the path, and its name; gone from every registry afterwards."""
    (tmp_path / "outside_pritchel.py").write_text(textwrap.dedent(OUTSIDE))
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("outside_pritchel")
    for registry, name in ((PRIORS, "tempered"), (FAMILIES, "own"), (OUTPUT_STARTS, "own")):
        registry.pop(name, None)
    sys.modules.pop("outside_pritchel")


def brief(**changes):
    return tiny(training__num_steps=60, **changes)


def test_a_prior_from_another_package_is_its_own(outside, table, tmp_path):
    """Its latent is learned, its bound and its draws are not the horseshoe's, and it comes back from a folder."""
    X, y = table
    settings = {"prior__layer_scale": 0.1}
    own = brief(prior=outside.Tempered(layer_scale=0.1), prior__half_cauchy="exact").fit(X, y)
    plain = brief(prior="horseshoe", prior__half_cauchy="exact", **settings).fit(X, y)
    member = own.posterior_.members[0]
    (temperature,) = member.guide.latents["temperature"]
    assert temperature.mean[0] != pytest.approx(-3.0, abs=1e-3)
    for objective, moments in OUTPUT_MOMENTS.items():  # the data see it too, whichever way they are looked at
        noise = jax.tree.map(lambda leaf: np.zeros(leaf.shape), pass_noise_shapes(member.guide, 2, objective))
        hotter = eqx.tree_at(lambda g: g.latents["temperature"][0].mean, member.guide, temperature.mean + 1)
        outputs = [
            moments(member.model, guide, jnp.asarray(X[:2], np.float32), noise)[0] for guide in (member.guide, hotter)
        ]
        assert np.abs(outputs[0] - outputs[1]).max() > 1e-3
    assert not np.allclose(own.elbo_, plain.elbo_)
    assert not np.allclose(own.prior_predictive(X, 3), plain.prior_predictive(X, 3))
    assert own.prune(threshold=0.05).predict(X).shape == y.shape
    own.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), own.predict(X))


def test_a_family_from_another_package_comes_back_where_that_is_imported(outside, table, tmp_path):
    X, y = table
    model = brief(family="own").fit(X, y)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert type(loaded.posterior_.members[0].guide.layers[0]) is outside.OwnLayer
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    code = "import sys; from pritchel import load, FileError\ntry: load(sys.argv[1])\nexcept FileError as e: print(e)"
    alone = subprocess.run([sys.executable, "-c", code, tmp_path / "model"], capture_output=True, text=True, check=True)
    assert "outside_pritchel:OwnLayer" in alone.stdout
    assert "import that first" in alone.stdout


@pytest.mark.slow
def test_a_package_that_says_it_extends_this_one_is_found(outside, table, tmp_path):
    """Loading alone finds a prior and a family whose package has an entry point, as if that had been imported."""
    X, y = table
    model = brief(prior=outside.Tempered(layer_scale=0.1), family="own").fit(X, y)
    model.save(tmp_path / "model")
    metadata = tmp_path / "outside_pritchel-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: outside-pritchel\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[pritchel]\nown = outside_pritchel\n")
    np.save(tmp_path / "X.npy", X)
    code = (
        "import sys, numpy as np\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "from pritchel import load\n"
        "np.save(sys.argv[1] + '/mean.npy', load(sys.argv[1] + '/model').predict(np.load(sys.argv[1] + '/X.npy')))\n"
    )
    alone = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=False)
    assert alone.returncode == 0, alone.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "mean.npy"), model.predict(X))


def test_classes_of_packages_that_registered_nothing_cannot_be_named():
    """A file cannot ask for any class that happens to be loaded, a module like ours or not."""
    layer = eqx.nn.Linear
    for name in (f"{layer.__module__}:{layer.__name__}", layer.__name__, "os:PathLike", "builtins:dict"):
        with pytest.raises(FileError, match="does not know"):
            decode({"module": name, "fields": {}}, {})
