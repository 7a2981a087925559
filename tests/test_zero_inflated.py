"""Counts with too many zeros against Monte Carlo, sums over all counts, and a table that has such rows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

from pritchel import HorseshoeRegressor, ZeroInflated
from pritchel.model.likelihoods import LikelihoodStart
from pritchel.model.likelihoods.base import NumpyOps
from pritchel.model.likelihoods.negative_binomial import NegativeBinomialComponents
from pritchel.model.likelihoods.zero_inflated import ZeroInflatedComponents
from pritchel.posterior.mixture import mixed_cdf, mixed_quantile
from tests.conftest import tiny


def zero_inflated(num_targets=1):
    counts = np.tile(np.array([[1.0], [3.0], [0.0]]), num_targets)
    return ZeroInflated().build(LikelihoodStart(counts, np.ones(3)))


def test_the_density_of_a_zero_is_that_of_both_ways_to_it(x64):
    likelihood = zero_inflated()
    params, outputs = np.array([0.4, -0.7]), np.array([[0.3, 0.2]])
    rate, r, none = np.exp(0.3 + np.log(4 / 3)), np.exp(0.4), special.expit(0.2 - 0.7)
    expected = np.log(none + (1 - none) * stats.nbinom.pmf(0, r, r / (r + rate)))
    got = likelihood.log_density(jnp.asarray(params), jnp.zeros((1, 1)), jnp.asarray(outputs))
    np.testing.assert_allclose(got, [expected], rtol=1e-10)


@pytest.mark.parametrize("y", [0.0, 1.0, 6.0])
def test_the_bound_is_the_monte_carlo_mean_of_a_count_and_below_that_of_a_zero(x64, y):
    rng = np.random.default_rng(0)
    likelihood = zero_inflated()
    params, mean, var = jnp.asarray([0.4, -0.7]), np.array([[0.3, 0.2]]), np.array([[0.3, 0.8]])
    outputs = mean + np.sqrt(var) * rng.normal(size=(200_000, 2))
    draws = np.asarray(likelihood.log_density(params, jnp.full((len(outputs), 1), y), jnp.asarray(outputs)))
    got = likelihood.expected_log_density(params, jnp.full((1, 1), y), jnp.asarray(mean), jnp.asarray(var))
    got, error = float(got[0]) - special.gammaln(y + 1), draws.std() / np.sqrt(len(draws))
    assert got < draws.mean() + 4 * error
    assert got > draws.mean() - (0.1 if y == 0 else 4 * error)


def test_the_prior_is_a_density(x64):
    likelihood = zero_inflated()

    odds, dispersion = np.meshgrid(np.linspace(-19, 13, 161), np.linspace(-16, 16, 161))
    points = np.stack([dispersion.ravel(), odds.ravel()], 1)
    density = np.exp(jax.vmap(likelihood.log_prior)(jnp.asarray(points)))
    assert density.sum() * 0.2**2 == pytest.approx(1, abs=1e-6)
    constant = float(likelihood.kl(jnp.zeros(2))) + float(likelihood.log_prior(jnp.zeros(2)))
    at = jnp.asarray([0.5, 1.0])
    assert float(likelihood.kl(at)) + float(likelihood.log_prior(at)) == pytest.approx(constant)


@pytest.fixture(scope="module")
def some():
    rng = np.random.default_rng(1)
    counts = NegativeBinomialComponents(3 * rng.random((4, 3, 1)) + 0.5, 0.5 + rng.random((4, 1, 1)))
    return ZeroInflatedComponents(counts, rng.normal(size=(4, 3, 1)))


def test_components_agree_with_one_another(some):
    every = np.arange(2000.0)
    mass = np.exp([some.log_density(np.full((3, 1), value)) for value in every])
    np.testing.assert_allclose(mass.sum(0), 1, rtol=1e-9)
    shaped = every[:, None, None, None]
    np.testing.assert_allclose((mass * shaped).sum(0), some.mean, rtol=1e-7)
    np.testing.assert_allclose((mass * shaped**2).sum(0) - some.mean**2, some.var, rtol=1e-7)
    np.testing.assert_allclose(some.cdf(np.full((3, 1), 2.0)), mass[:3].sum(0), rtol=1e-9)
    assert np.all(some.cdf(np.full((3, 1), -1.0)) == 0)
    for level in (0.05, 0.5, 0.95, 0.999):
        found = mixed_quantile(some, level)
        assert found.shape == (3, 1)
        assert np.all(mixed_cdf(some, found) >= level)
        assert np.all((mixed_cdf(some, found - 1) < level) | (found == 0))
    rng = np.random.default_rng(2)
    samples = np.stack([some.sample(rng) for _ in range(20_000)])
    assert np.all(np.abs(samples.mean(0) - some.mean) < 4.5 * np.sqrt(some.var / len(samples)))


@pytest.mark.parametrize("num_targets", [1, 2])
def test_moments_for_exports_are_those_of_the_components(num_targets):
    rng = np.random.default_rng(3)
    likelihood = zero_inflated(num_targets)
    outputs = rng.normal(size=(4, 5, 2 * num_targets))
    values = likelihood.known_noise_values(rng.normal(size=(4, 2 * num_targets)))
    mean, var = likelihood.moments(outputs, values, NumpyOps)
    components = likelihood.components(outputs, values, np.zeros(num_targets), np.ones(num_targets))
    np.testing.assert_allclose(mean, components.mean)
    np.testing.assert_allclose(var, components.var)


def test_rows_that_count_nothing_are_found(tmp_path):
    """Which rows those are depends on one column, the rate on another."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = rng.poisson(np.exp(1.5 + 0.5 * X[:, 0])) * (rng.random(600) < special.expit(1.5 * X[:, 1]))
    score = {}
    for name in ("zero_inflated", "negative_binomial"):
        model = tiny(likelihood=name, training__num_steps=1000).fit(X[:400], y[:400])
        score[name] = model.log_prob(X[400:], y[400:])
        if name == "zero_inflated":
            model.save(tmp_path / "m")
            np.testing.assert_array_equal(HorseshoeRegressor.load(tmp_path / "m").predict(X), model.predict(X))
            low, high = model.predict_interval(X[400:], 0.9).T
            assert np.mean((low <= y[400:]) & (y[400:] <= high)) > 0.85
    gain = score["zero_inflated"] - score["negative_binomial"]
    assert gain.mean() > 3 * gain.std() / np.sqrt(200)
