import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, optimize, stats

from pritchel.model.likelihoods import GaussianLikelihood


def test_noise_kl_is_the_integral(x64):
    likelihood = GaussianLikelihood.create((0.7, 1.3), 9.0)
    log_g = np.log([0.5, 4.0])
    shape = float(likelihood.shape)
    exact = 0.0
    for g in np.exp(log_g):
        q, p = stats.gamma(shape, scale=g / shape), stats.gamma(0.7, scale=1 / 1.3)
        exact += integrate.quad(lambda x, q=q, p=p: q.pdf(x) * (q.logpdf(x) - p.logpdf(x)), 0, 40 * g, limit=200)[0]
    assert float(likelihood.kl(jnp.asarray(log_g))) == pytest.approx(exact, rel=1e-7)


def test_expected_log_density_is_the_monte_carlo_mean(x64):
    rng = np.random.default_rng(0)
    likelihood = GaussianLikelihood.create((2.0, 3.0), 11.0)
    log_g, y, mean, var = np.array([0.4]), np.array([[1.2]]), np.array([[0.5]]), np.array([[0.3]])
    shape = float(likelihood.shape)
    gamma = rng.gamma(shape, np.exp(log_g[0]) / shape, 200_000)
    f = mean[0, 0] + np.sqrt(var[0, 0]) * rng.normal(size=gamma.size)
    draws = stats.norm.logpdf(y[0, 0], f, 1 / np.sqrt(gamma))
    got = likelihood.expected_log_density(*map(jnp.asarray, (log_g, y, mean, var)))
    assert abs(draws.mean() - float(got[0])) < 5 * draws.std() / np.sqrt(draws.size)


def test_posterior_shape_is_the_best_one():
    """The bound over q(gamma) = Gamma(a, b), with both free, peaks at the shape that the likelihood sets."""
    rng = np.random.default_rng(1)
    a0, b0, residuals = 0.7, 1.3, rng.normal(0, 0.6, 25)

    def negative_bound(log_params):
        a, b = np.exp(log_params)
        from scipy.special import digamma, gammaln

        likelihood = 0.5 * len(residuals) * (digamma(a) - np.log(b)) - 0.5 * a / b * (residuals**2).sum()
        kl = (a - a0) * digamma(a) - gammaln(a) + gammaln(a0) + a0 * np.log(b / b0) + a * (b0 - b) / b
        return kl - likelihood

    best = optimize.minimize(negative_bound, np.zeros(2), method="BFGS")
    shape = float(GaussianLikelihood.create((a0, b0), 25.0).shape)
    assert np.exp(best.x[0]) == pytest.approx(shape, rel=1e-3)
