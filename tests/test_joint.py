"""The joint density: against scipy, against draws, and as the limit of the bound for a guide with no width."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

from pritchel.guide.network import draw_noise_shapes, draw_unknowns
from pritchel.infer.elbo import elbo
from pritchel.infer.outputs import pass_noise_shapes
from pritchel.model.joint import Unknowns, log_joint, log_likelihood, log_prior, weights_of
from pritchel.model.likelihoods import LIKELIHOODS, LikelihoodStart
from pritchel.model.likelihoods.adaptive import AdaptiveNoise
from pritchel.model.network import Model, forward
from pritchel.model.priors import PRIORS, Scales
from tests.test_guides import build, noise_for, table_batch

NO_WIDTH = -14.0  # log standard deviation: the bound's expectations are then values, to eleven digits


def drawn(prior="regularized_horseshoe", hidden=(4, 3), **options) -> tuple[Model, Unknowns]:
    model, guide = build("factorized", prior, hidden, **options)
    return model, draw_unknowns(guide, noise_for(draw_noise_shapes(guide), 3))


def log_half_cauchy(log_value, scale):
    """Density of the log of a half-Cauchy value: the value itself is the Jacobian."""
    return (stats.halfcauchy.logpdf(np.exp(log_value), scale=scale) + log_value).sum()


@pytest.mark.parametrize("sharing", ["network", "layer", "unit"])
def test_log_prior_is_scipys(x64, sharing):
    model, at = drawn(slab_sharing=sharing)
    base = [*at.hidden, at.output, at.linear]
    expected = sum(stats.norm.logpdf(part).sum() for part in base)
    expected += sum(log_half_cauchy(np.asarray(scale), 1.0) for scale in at.log_unit_scales)
    for value, scale in zip(at.scales, (0.5, 5.0, 1.0), strict=True):
        expected += log_half_cauchy(np.asarray(value), scale)
    for log_slab_sq in map(np.asarray, at.latents["log_slab_sq"]):
        expected += (stats.invgamma.logpdf(np.exp(log_slab_sq), 2.0, scale=6.0) + log_slab_sq).sum()
    expected += (stats.gamma.logpdf(np.exp(at.likelihood), 1.0, scale=1 / 0.5) + np.asarray(at.likelihood)).sum()
    assert float(log_prior(model, at)) == pytest.approx(expected, rel=1e-10)


def test_weights_are_scaled_base_weights(x64):
    model, at = drawn(slab_sharing="layer")
    weights = weights_of(model, at)
    for layer in range(2):
        raw = np.exp(at.log_unit_scales[layer] + at.scales.layer[layer])
        slab_sq = np.exp(at.latents["log_slab_sq"][layer])
        scale = raw * np.sqrt(slab_sq / (slab_sq + raw**2))
        np.testing.assert_allclose(weights.hidden[layer], at.hidden[layer] * scale, rtol=1e-12)
    np.testing.assert_allclose(weights.output, at.output * np.exp(at.scales.output), rtol=1e-12)
    np.testing.assert_allclose(weights.linear, at.linear * np.exp(at.scales.linear), rtol=1e-12)


DENSITIES = {
    "gaussian": lambda y, f, p: stats.norm.logpdf(y, f, np.exp(-0.5 * p)).sum(1),
    "student_t": lambda y, f, p: stats.t.logpdf(y, 4.0, f, np.exp(-0.5 * p)).sum(1),
    "heteroscedastic": lambda y, f, p: stats.norm.logpdf(y, f[:, :1], np.exp(0.05 * f[:, 1:] - 0.5 * p)).sum(1),
    "auto": lambda y, f, p: stats.t.logpdf(
        y, 2 * (1 + np.exp(-p[1:])), f[:, :1], np.exp(0.05 * f[:, 1:] - 0.5 * p[:1])
    ).sum(1),
    "mixture": lambda y, f, p: np.log(  # three humps, the first at the function; all own parameters 0.3
        sum(
            weight * stats.norm.pdf(y[:, 0], f[:, 0] + place, np.exp(0.05 * f[:, 1 + hump] - 0.15))
            for hump, (weight, place) in enumerate(
                zip(
                    special.softmax(np.c_[0 * y, 0.3 + 0.1 * f[:, 6:]], axis=1).T,
                    np.c_[0 * y, 0.3 + 0.1 * f[:, 4:6]].T,
                    strict=True,
                )
            )
        )
    ),
    "poisson": lambda y, f, p: stats.poisson.logpmf(y, np.exp(f + np.log(4 / 3))).sum(1),
    "negative_binomial": lambda y, f, p: stats.nbinom.logpmf(
        y, np.exp(p), np.exp(p) / (np.exp(p) + np.exp(f + np.log(4 / 3)))
    ).sum(1),
    "zero_inflated": lambda y, f, p: (  # none of the targets is a zero
        stats.nbinom.logpmf(y, np.exp(p[:1]), np.exp(p[:1]) / (np.exp(p[:1]) + np.exp(f[:, :1] + np.log(4 / 3))))
        + special.log_expit(-f[:, 1:] - p[1:])
    ).sum(1),
    "categorical": lambda y, f, p: (f - special.logsumexp(f, axis=1, keepdims=True))[np.arange(3), y[:, 0].astype(int)],
}


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_log_density_is_scipys(x64, name):
    """Every likelihood there is; one without an oracle here fails."""
    targets = np.array([[1.0], [2.0], [1.0]])
    likelihood = LIKELIHOODS[name]().build(LikelihoodStart(targets, np.ones(3), 3))
    outputs = np.random.default_rng(0).normal(size=(3, likelihood.num_outputs(1)))
    params = np.full(likelihood.start(1).shape, 0.3)
    got = likelihood.log_density(jnp.asarray(params), jnp.asarray(targets), jnp.asarray(outputs))
    np.testing.assert_allclose(got, DENSITIES[name](targets, outputs, params), rtol=1e-7 if name == "auto" else 1e-10)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_expected_log_density_of_a_sure_output_is_the_log_density(x64, name):
    """And what the KL of the likelihood's own parameters leaves out is a constant, or that of the prior."""
    targets = np.array([[1.0], [2.0], [1.0]])
    many = LikelihoodStart(targets, np.full(3, 1e9), 3)  # so many rows that a precision is all but known
    likelihood = (AdaptiveNoise(num_humps=1) if name == "auto" else LIKELIHOODS[name]()).build(many)
    outputs = np.random.default_rng(0).normal(size=(3, likelihood.num_outputs(1)))
    params = jnp.full(likelihood.start(1).shape, 0.3)
    arguments = (params, jnp.asarray(targets), jnp.asarray(outputs))
    expected = likelihood.expected_log_density(*arguments, jnp.zeros_like(outputs))
    if likelihood.has_counts:
        expected -= special.gammaln(targets + 1).sum(1)  # ln y!, which the bound adds up once, in the KL
    np.testing.assert_allclose(expected, likelihood.log_density(*arguments), rtol=1e-7)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("objective", ["moments", "sampled"])
def test_the_bound_of_a_guide_with_no_width_is_the_joint_density(x64, prior, objective):
    """Expectations become values: the bound less the entropy of q is ln p(y, everything unknown)."""
    model, guide = build("factorized", prior, (4, 3), half_cauchy="exact")
    normals = lambda path: jax.tree_util.keystr(path).endswith("log_sd")  # noqa: E731
    guide = jax.tree_util.tree_map_with_path(
        lambda path, leaf: jnp.full_like(leaf, NO_WIDTH) if normals(path) else leaf, guide
    )
    batch = table_batch()
    parts = elbo(model, guide, batch, noise_for(pass_noise_shapes(guide, 6, objective), 2), jnp.asarray(6.0), objective)
    num_normal = sum(leaf.size for path, leaf in jax.tree_util.tree_leaves_with_path(guide) if normals(path))
    entropy = num_normal * (0.5 * np.log(2 * np.pi * np.e) + NO_WIDTH)
    zero_noise = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape), draw_noise_shapes(guide))
    at = draw_unknowns(guide, zero_noise)
    expected = log_joint(model, at, batch.inputs, batch.targets, jnp.ones(6))
    # The precision's own factor is a gamma of fixed shape a, never without width: it is compared as it is.
    shape, mean = float(model.likelihood.shape), np.exp(np.asarray(guide.likelihood))
    gamma = stats.gamma(shape, scale=mean / shape)
    expected -= model.likelihood.log_prior(guide.likelihood)
    gap = special.digamma(shape) - np.log(shape)  # E ln gamma less ln E gamma
    expected += 0.5 * 6 * 2 * gap
    kl = sum(_gamma_kl(shape, shape / value, 1.0, 0.5) for value in mean)
    assert gamma.mean() == pytest.approx(mean)
    assert float(parts.total) - entropy == pytest.approx(float(expected) - kl, rel=1e-6)


def _gamma_kl(a, b, a0, b0):
    log_ratio = special.gammaln(a0) - special.gammaln(a) + a0 * (np.log(b) - np.log(b0))
    return (a - a0) * special.digamma(a) + log_ratio + a * (b0 - b) / b


def test_rows_count_as_often_as_they_weigh(x64):
    model, at = drawn(hidden=(4,))
    batch = table_batch()
    per_row = log_likelihood(model, at, batch.inputs, batch.targets)
    outputs = forward(weights_of(model, at), batch.inputs, "relu")
    expected = stats.norm.logpdf(batch.targets, outputs, np.exp(-0.5 * np.asarray(at.likelihood))).sum(1)
    np.testing.assert_allclose(per_row, expected, rtol=1e-10)
    twice = log_joint(model, at, batch.inputs, batch.targets, jnp.full(6, 2.0))
    once = log_joint(model, at, batch.inputs, batch.targets, jnp.ones(6))
    assert float(twice - once) == pytest.approx(expected.sum(), rel=1e-9)


def test_without_scales_the_weights_are_the_base_weights(x64):
    model, at = drawn("gaussian")
    assert at.scales == Scales()
    weights = weights_of(model, at)
    for got, base in zip((*weights.hidden, weights.output, weights.linear), (*at.hidden, at.output, at.linear),
                         strict=True):  # fmt: skip
        np.testing.assert_array_equal(got, base)
