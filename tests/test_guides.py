"""One list of families and priors, one set of contract tests."""

from unittest import mock

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from pritchel.guide import FAMILIES as REGISTERED
from pritchel.guide import Family
from pritchel.guide.network import draw_noise_shapes, draw_weights, keep_units, start_guide, weight_mean_mask
from pritchel.infer.elbo import Batch, elbo, scale_terms, weight_terms
from pritchel.infer.outputs import (
    OUTPUT_MOMENTS,
    activated,
    draw_shared,
    pass_noise_shapes,
    scaled_projection,
    tilted_scales,
)
from pritchel.model.network import Model, activate, forward
from pritchel.model.priors import PRIORS, Scales
from tests.conftest import gaussian
from tests.oracles.dense import dense_covariance

# Every family but VMG, which goes with the Gaussian prior alone and has tests of its own.
FAMILIES = tuple(name for name in REGISTERED if name != "vmg")
PRIOR_OPTIONS = ("slab_sharing", "layer_scale", "half_cauchy")
WIDE = {"layer_scale": 0.5, "inclusion": 0.4, "spike_scale": 0.2}  # of those that a prior has: nothing is negligible
HIDDEN = ((5,), (5, 4), (4, 3, 3))
DRAW_ONE = jax.jit(draw_weights)
DRAW_MANY = jax.jit(jax.vmap(draw_weights, in_axes=(None, None, 0)))


def build(family="structured", prior="regularized_horseshoe", hidden=(5,), seed=0, spread=0.3, **options):
    """A small model and a guide with nothing at its starting value, so that no term is trivially zero."""
    settings = PRIORS[prior]()
    chosen = WIDE | {name: options.pop(name) for name in PRIOR_OPTIONS if name in options}
    settings = settings.changed(**{name: value for name, value in chosen.items() if name in settings.values()})
    model = Model(
        settings.build(len(hidden)),
        options.pop("likelihood", gaussian((1.0, 0.5), 20)),
        options.pop("activation", "relu"),
        options.pop("linear", True),
    )
    rng = np.random.default_rng(seed)
    with mock.patch("pritchel.guide.network.START_SD", 0.3):  # wide enough for every variance to matter
        guide = start_guide(model, hidden, Family(family, **options), 3, 2, rng)
    guide = jax.tree.map(lambda leaf: leaf + spread * jnp.asarray(rng.normal(size=leaf.shape)), guide)
    return model, guide


def noise_for(shapes, seed, num=None):
    rng = np.random.default_rng(seed)
    lead = () if num is None else (num,)
    return jax.tree.map(lambda leaf: jnp.asarray(rng.normal(size=(*lead, *leaf.shape))), shapes)


def table_batch(num=6, seed=1):
    rng = np.random.default_rng(seed)
    return Batch(*(jnp.asarray(part) for part in (rng.normal(size=(num, 3)), rng.normal(size=(num, 2)), np.ones(num))))


def total_elbo(model, guide, batch, noise, objective="sampled"):
    return elbo(model, guide, batch, noise, jnp.asarray(20.0), objective).total


every_family = pytest.mark.parametrize("family", FAMILIES)


def _quick_or_slow(family, prior, hidden):
    """Every family with the default prior and two hidden layers; every prior with one and the first family.

    The rest takes minutes to compile.
    """
    is_default, is_first = prior == "regularized_horseshoe", family == next(iter(FAMILIES))
    is_quick = (len(hidden) == 2 and is_default) or (len(hidden) == 1 and is_first)
    name = f"{prior}-{len(hidden)}-{family}"
    return pytest.param(family, prior, hidden, id=name, marks=() if is_quick else pytest.mark.slow)


@pytest.mark.parametrize(
    ("family", "prior", "hidden"),
    [_quick_or_slow(family, prior, hidden) for family in FAMILIES for prior in PRIORS for hidden in HIDDEN],
)
def test_contract(x64, family, prior, hidden):
    """Shapes; a finite bound and gradient; jit and vmap change nothing; the same noise gives the same numbers."""
    model, guide = build(family, prior, hidden)
    assert guide.widths == (3, *hidden, 2)
    batch = table_batch()
    noise = noise_for(pass_noise_shapes(guide, 6, "sampled"), 2)
    bound = jax.jit(jax.value_and_grad(total_elbo, argnums=1))
    value, grads = bound(model, guide, batch, noise)
    assert np.isfinite(value)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(grads))
    idle = [path for path, leaf in jax.tree_util.tree_leaves_with_path(grads) if not np.any(leaf != 0)]
    assert not idle, "parameters that nothing depends on"
    np.testing.assert_array_equal(bound(model, guide, batch, noise)[0], value)
    if hidden == HIDDEN[0]:
        np.testing.assert_allclose(total_elbo(model, guide, batch, noise), value, rtol=1e-12)

    draws_noise = noise_for(draw_noise_shapes(guide), 3, num=2)
    stacked = DRAW_MANY(model, guide, draws_noise)
    for index in range(2):
        one = DRAW_ONE(model, guide, jax.tree.map(lambda leaf, i=index: leaf[i], draws_noise))
        jax.tree.map(lambda a, b, i=index: np.testing.assert_allclose(a[i], b, rtol=1e-12), stacked, one)
    functions = forward(stacked, batch.inputs, "relu")
    assert functions.shape == (2, 6, 2)


@every_family
@pytest.mark.parametrize("prior", [pytest.param("gaussian", marks=pytest.mark.slow), "regularized_horseshoe"])
@pytest.mark.parametrize("hidden", [pytest.param((5,), marks=pytest.mark.slow), (5, 4)], ids=["1", "2"])
def test_sampled_output_has_the_moments_of_weight_draws(x64, family, prior, hidden):
    """Local reparametrisation against whole-network draws, in standard errors, for mean and second moment."""
    model, guide = build(family, prior, hidden)
    guide = _without_shared_spread(guide)
    inputs = table_batch(2).inputs
    num = 20_000
    weights = DRAW_MANY(model, guide, noise_for(draw_noise_shapes(guide), 4, num))
    functions = np.asarray(forward(weights, inputs, "relu"))
    pass_noise = noise_for(pass_noise_shapes(guide, 2, "sampled"), 5, num)
    mean, var = jax.vmap(OUTPUT_MOMENTS["sampled"], in_axes=(None, None, None, 0))(model, guide, inputs, pass_noise)
    _agree_in_standard_errors(np.asarray(mean), functions)
    _agree_in_standard_errors(np.asarray(mean**2 + var), functions**2)


@every_family
@pytest.mark.parametrize(
    "prior", [pytest.param(n, marks=() if n.startswith("reg") else pytest.mark.slow) for n in PRIORS]
)
def test_moments_output_is_exact_for_one_hidden_layer(x64, family, prior, monkeypatch):
    monkeypatch.setattr("pritchel.infer.outputs.NUM_SCALE_NODES", 20)
    model, guide = build(family, prior, (5,))
    guide = _without_shared_spread(guide)
    inputs = table_batch(2).inputs
    num = 40_000
    weights = DRAW_MANY(model, guide, noise_for(draw_noise_shapes(guide), 6, num))
    functions = np.asarray(forward(weights, inputs, "relu"))
    mean, var = OUTPUT_MOMENTS["moments"](model, guide, inputs, noise_for(pass_noise_shapes(guide, 2, "moments"), 7))
    _agree_in_standard_errors(functions, np.asarray(mean))
    _agree_in_standard_errors(functions**2, np.asarray(mean**2 + var))


@every_family
def test_what_comes_to_units_has_the_moments_of_weight_draws(x64, family, monkeypatch):
    monkeypatch.setattr("pritchel.infer.outputs.NUM_SCALE_NODES", 20)
    model, guide = build(family, hidden=(5,))
    guide = _without_shared_spread(guide)
    inputs = table_batch(2).inputs
    (shared,) = draw_shared(guide, noise_for(pass_noise_shapes(guide, 2, "moments"), 7))
    (layer,) = guide.layers
    tilted = tilted_scales(model.prior, *layer.log_unit_scale_moments(), shared)
    mean, var = scaled_projection(layer.project(inputs), tilted)
    (matrix,) = DRAW_MANY(model, guide, noise_for(draw_noise_shapes(guide), 6, 40_000)).hidden
    values = np.asarray(inputs @ matrix[:, :-1] + matrix[:, -1:])
    _agree_in_standard_errors(values, np.asarray(mean))
    _agree_in_standard_errors(values**2, np.asarray(mean**2 + var))


@pytest.mark.parametrize("activation", ["swish", "tanh"])
def test_moments_of_smooth_units_are_integrals(x64, activation, monkeypatch):
    """With three nodes nearly, with many exactly."""
    at, sd = np.broadcast_arrays(np.linspace(-2, 2, 9)[:, None], np.array([[0.1, 0.3, 0.6]]))
    nodes = np.linspace(-9, 9, 4001)[:, None, None]
    values = np.asarray(activate(activation, at + sd * nodes))
    first, second = (integrate.trapezoid(values**power * stats.norm.pdf(nodes), nodes, axis=0) for power in (1, 2))
    for num, slack in ((3, 0.02), (60, 1e-5)):
        monkeypatch.setattr("pritchel.infer.outputs.NUM_UNIT_NODES", num)
        mean, var = activated(activation, jnp.asarray(at), jnp.asarray(sd**2))
        np.testing.assert_allclose(mean, first, atol=slack)
        np.testing.assert_allclose(var, second - first**2, atol=2 * slack)


@pytest.mark.parametrize("activation", ["relu", "swish"])
@every_family
def test_moments_output_is_close_for_two_hidden_layers(x64, family, activation):
    """Deeper, inputs of the second layer are taken as independent: an approximation, here within a tenth of the sd."""
    model, guide = build(family, hidden=(5, 4), spread=0.1, activation=activation)
    guide = _without_shared_spread(guide)
    inputs = table_batch(4).inputs
    weights = DRAW_MANY(model, guide, noise_for(draw_noise_shapes(guide), 8, 20_000))
    functions = np.asarray(forward(weights, inputs, activation))
    mean, var = OUTPUT_MOMENTS["moments"](model, guide, inputs, noise_for(pass_noise_shapes(guide, 4, "moments"), 9))
    sd = functions.std(0)
    assert np.all(np.abs(functions.mean(0) - mean) < 0.1 * sd)
    np.testing.assert_allclose(np.sqrt(var), sd, rtol=0.15)


def _without_shared_spread(guide):
    """Scales that all units share become points, so that a single pass need not average over them."""
    shrink = lambda normal: eqx.tree_at(lambda n: n.log_sd, normal, jnp.full_like(normal.log_sd, -30.0))  # noqa: E731
    layer = guide.scales.layer
    scales = guide.scales if layer is None else guide.scales._replace(layer=shrink(layer))
    latents = {name: tuple(shrink(part) for part in parts) for name, parts in guide.latents.items()}
    return eqx.tree_at(lambda g: (g.scales, g.latents), guide, (scales, latents))


def _agree_in_standard_errors(draws, other):
    """Means over the leading axis agree; `other` is exact, or a second set of draws."""
    is_exact = other.ndim < draws.ndim
    other_mean, other_var = (other, 0.0) if is_exact else (other.mean(0), other.var(0) / len(other))
    error = np.sqrt(draws.var(0) / len(draws) + other_var)
    assert np.all(np.abs(draws.mean(0) - other_mean) < 5 * error)


@pytest.mark.parametrize("rank", [1, 2])
def test_structured_unit_scales_are_the_last_row_of_the_dense_joint(x64, rank):
    _, guide = build("structured", hidden=(4,), rank=rank)
    joint = guide.layers[0].joint
    mean, var = guide.layers[0].log_unit_scale_moments()
    np.testing.assert_allclose(mean, joint.mean[-1])
    np.testing.assert_allclose(var, np.diag(dense_covariance(joint))[-4:], rtol=1e-12)
    cov = dense_covariance(joint)
    expected = cov[:-4:4, -4] / cov[-4, -4]  # regression of the first unit's weights on its log scale
    np.testing.assert_allclose(guide.layers[0].scale_slope(), expected, rtol=1e-10)


@every_family
def test_weight_and_unit_scale_terms_are_monte_carlo_means(x64, family):
    """E ln p - E ln q over draws of the hidden layer, with log q from the dense Gaussian."""
    model, guide = build(family, "horseshoe", (4,), half_cauchy="exact")
    layer = guide.layers[0]
    rows = layer.base_mean.shape[0]
    num = 20_000
    noise = np.random.default_rng(0).normal(size=(num, rows + layer.num_shared_noise_rows, 4))
    base, log_scales = jax.vmap(layer.draw)(jnp.asarray(noise))
    flat = np.concatenate([np.asarray(base).reshape(num, -1), np.asarray(log_scales)], axis=1)
    cov = np.cov(flat.T)
    # The dense q comes from the draws themselves: their covariance has its own test for each family.
    log_q = stats.multivariate_normal(flat.mean(0), cov).logpdf(flat)
    log_p = stats.norm.logpdf(flat[:, : rows * 4]).sum(1)
    draws = log_p - log_q
    got = -0.5 * (rows * 4 * np.log(2 * np.pi) + float(layer.expected_weight_sq_sum())) + float(layer.entropy())
    assert abs(draws.mean() - got) < 5 * draws.std() / np.sqrt(num) + 0.02
    nu = flat[:, rows * 4 :]
    half_cauchy = (np.log(2 / np.pi) - np.logaddexp(nu, -nu)).sum(1)
    without_units = _scale_terms_without_unit_scales(model, guide)
    got_scales = float(scale_terms(model, guide)) - without_units
    assert abs(half_cauchy.mean() - got_scales) < 5 * half_cauchy.std() / np.sqrt(num)


def _scale_terms_without_unit_scales(model, guide):
    from pritchel.model.scales import half_cauchy_exact

    prior = model.prior
    at = Scales(prior.log_layer_scale_prior, prior.log_output_scale_prior, prior.log_linear_scale_prior)
    pairs = zip(guide.scales, at, strict=True)
    return float(sum(half_cauchy_exact(q.mean, q.var, at).sum() + q.entropy() for q, at in pairs))


def test_structured_without_coupling_is_semi_structured(x64):
    """With the scale entry of the row factor at zero the two families give the same bound and the same output."""
    model, guide = build("structured", hidden=(5,), unit_norm=False)
    joint = guide.layers[0].joint
    joint = eqx.tree_at(lambda j: j.raw_row_factor, joint, joint.raw_row_factor.at[-1].set(0.0))
    coupled = eqx.tree_at(lambda g: g.layers[0].joint, guide, joint)
    from pritchel.guide.independent import IndependentLayer
    from pritchel.guide.lowrank_normal import LowRankNormal
    from pritchel.guide.normal import Normal

    base = LowRankNormal(
        joint.mean[:-1], joint.raw_log_row_diag[:-1], joint.raw_row_factor[:-1], joint.raw_log_col_diag
    )
    scales = Normal(joint.mean[-1], 0.5 * (joint.log_col_diag + joint.log_row_diag[-1]))
    apart = eqx.tree_at(lambda g: g.layers, guide, (IndependentLayer(base, scales),))
    batch = table_batch()
    for objective in ("sampled", "moments"):
        noise = noise_for(pass_noise_shapes(guide, 6, objective), 2)
        np.testing.assert_allclose(
            total_elbo(model, coupled, batch, noise, objective),
            total_elbo(model, apart, batch, noise, objective),
            rtol=1e-10,
        )


@every_family
@pytest.mark.parametrize(
    "slab_sharing", ["unit", *(pytest.param(n, marks=pytest.mark.slow) for n in ("network", "layer"))]
)
def test_keeping_units_is_an_exact_marginal(x64, family, slab_sharing):
    """Draws of the kept guide from selected noise are the selected entries of the full guide's draws."""
    model, guide = build(family, hidden=(5, 4), slab_sharing=slab_sharing)
    kept = (np.array([0, 2, 3]), np.array([1, 3]))
    smaller = keep_units(guide, kept)
    assert smaller.widths == (3, 3, 2, 2)
    noise = noise_for(draw_noise_shapes(guide), 3)
    full = draw_weights(model, guide, noise)
    selected = noise.take(kept)
    pruned = draw_weights(model, smaller, selected)
    np.testing.assert_allclose(pruned.hidden[0], full.hidden[0][:, kept[0]], rtol=1e-12)
    np.testing.assert_allclose(pruned.hidden[1], full.hidden[1][np.ix_(np.append(kept[0], 5), kept[1])], rtol=1e-12)
    np.testing.assert_allclose(pruned.output, full.output[np.append(kept[1], 4)], rtol=1e-12)


@every_family
def test_mean_mask_marks_only_weight_means(x64, family):
    _, guide = build(family, hidden=(5, 4))
    moved = jax.tree.map(lambda value, mask: value + mask, guide, weight_mean_mask(guide))
    for before, after in zip(guide.layers, moved.layers, strict=True):
        np.testing.assert_allclose(after.base_mean, before.base_mean + 1)
        for old, new in zip(before.log_unit_scale_moments(), after.log_unit_scale_moments(), strict=True):
            np.testing.assert_array_equal(old, new)
        np.testing.assert_allclose(before.entropy(), after.entropy())
    np.testing.assert_allclose(moved.output.mean, guide.output.mean + 1)
    np.testing.assert_allclose(moved.linear.mean, guide.linear.mean + 1)
    np.testing.assert_array_equal(moved.linear.log_sd, guide.linear.log_sd)
    np.testing.assert_array_equal(moved.likelihood, guide.likelihood)


def test_weight_terms_vanish_at_the_prior(x64):
    """KL(q || p) of the output layer's base weights is zero at q = p, and positive elsewhere."""
    model, guide = build("factorized", "gaussian", (5,))
    at_prior = jax.tree.map(jnp.zeros_like, guide)
    assert float(weight_terms(model, at_prior)) == pytest.approx(0.0, abs=1e-10)
    assert float(weight_terms(model, guide)) < 0


def test_bound_is_below_the_evidence_and_meets_it(x64):
    """With no hidden unit left the model is y = b + noise with b ~ N(0, 1): the evidence is a small integral."""
    from scipy import integrate, stats

    model, guide = build("factorized", "gaussian", (5,), linear=False)
    model = eqx.tree_at(lambda m: m.likelihood, model, gaussian((4000.0, 1000.0), 6.0))
    guide = keep_units(guide, (np.array([], int),))
    guide = eqx.tree_at(lambda g: (g.output, g.likelihood), guide, (_first_output(guide.output), guide.likelihood[:1]))
    batch = table_batch()
    batch = batch._replace(targets=batch.targets[:, :1])
    y = np.asarray(batch.targets[:, 0])
    # The noise prior is all but a point at precision 4, so the evidence is that of a conjugate Gaussian mean.
    marginal = np.eye(6) / 4 + np.ones((6, 6))
    evidence = stats.multivariate_normal(np.zeros(6), marginal).logpdf(y)
    check = integrate.quad(lambda b: np.exp(stats.norm.logpdf(y, b, 0.5).sum()) * stats.norm.pdf(b), -4, 4, epsabs=0)[0]
    assert evidence == pytest.approx(np.log(check), rel=1e-8)
    noise = noise_for(pass_noise_shapes(guide, 6, "moments"), 0)
    precision = 1 + 4 * 6

    def bound(mean, var):
        output = eqx.tree_at(
            lambda n: (n.mean, n.log_sd), guide.output, (jnp.full((1, 1), mean), jnp.full((1, 1), 0.5 * np.log(var)))
        )
        at = eqx.tree_at(lambda g: (g.output, g.likelihood), guide, (output, jnp.full(1, np.log(4.0))))
        return float(elbo(model, at, batch, noise, jnp.asarray(6.0), "moments").total)

    best = bound(4 * y.sum() / precision, 1 / precision)
    assert best == pytest.approx(evidence, abs=0.01)
    for mean, var in ((0.0, 1.0), (4 * y.sum() / precision, 0.2), (1.0, 1 / precision)):
        assert bound(mean, var) < best


def _first_output(output):
    return jax.tree.map(lambda leaf: leaf[:, :1], output)


def test_a_fifth_family_is_one_file(table):
    """A family written elsewhere registers itself and is fitted, pruned and used like the built-in ones."""
    from pritchel import HorseshoeRegressor, Training
    from pritchel.guide import FAMILIES as registry
    from pritchel.guide import family
    from pritchel.guide.independent import IndependentLayer
    from pritchel.guide.normal import Normal

    @family("wide_start")
    def start(layer_start):
        return IndependentLayer.start(Normal.start(layer_start.base_mean, 0.3), layer_start)

    try:
        model = HorseshoeRegressor(
            family="wide_start", hidden=(4,), training=Training(num_steps=20), inference="variational", progress=False
        ).fit(*table)
        assert np.isfinite(model.prune().predict(table[0])).all()
    finally:
        registry.pop("wide_start")
