import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from pritchel.model import scales
from tests.oracles.dense import auxiliary_bound, fixed_point_rate

CASES = [(-3.0, 1.0, 1.0), (0.0, 0.3, 1.0), (2.0, 0.8, 5.0), (-11.0, 0.05, 1e-5), (11.5, 0.1, 1.0)]


def log_half_cauchy(nu: np.ndarray, b: float) -> np.ndarray:
    return np.log(2 / np.pi) - np.logaddexp(np.log(b) - nu, nu - np.log(b))


@pytest.mark.parametrize(("mean", "sd", "b"), CASES)
def test_collapsed_bound_is_algorithm_one_at_its_fixed_point(x64, mean, sd, b):
    rate = fixed_point_rate(mean, sd**2, b)
    collapsed = scales.half_cauchy_auxiliary(jnp.asarray(mean), jnp.asarray(sd**2), jnp.asarray(np.log(b)))
    assert float(collapsed) == pytest.approx(auxiliary_bound(mean, sd**2, b, rate), rel=1e-10)


@pytest.mark.parametrize(("mean", "sd", "b"), CASES)
def test_fixed_point_update_never_lowers_the_bound(mean, sd, b):
    best = auxiliary_bound(mean, sd**2, b, fixed_point_rate(mean, sd**2, b))
    for factor in (0.1, 0.9, 1.1, 10.0):
        assert auxiliary_bound(mean, sd**2, b, factor * fixed_point_rate(mean, sd**2, b)) < best


@pytest.mark.parametrize(("mean", "sd", "b"), CASES)
def test_exact_term_is_the_integral_and_above_the_bound(x64, mean, sd, b):
    q = stats.norm(mean, sd)
    exact = integrate.quad(lambda nu: q.pdf(nu) * log_half_cauchy(nu, b), mean - 10 * sd, mean + 10 * sd)[0]
    args = jnp.asarray(mean), jnp.asarray(sd**2), jnp.asarray(np.log(b))
    assert float(scales.half_cauchy_exact(*args)) == pytest.approx(exact, rel=1e-6)
    assert float(scales.half_cauchy_auxiliary(*args)) <= exact + 1e-9


def test_method_figures_of_the_two_forms(x64):
    args = jnp.asarray(-3.0), jnp.asarray(1.0), jnp.asarray(0.0)
    assert float(scales.half_cauchy_auxiliary(*args)) == pytest.approx(-5.45, abs=0.01)
    assert float(scales.half_cauchy_exact(*args)) == pytest.approx(-3.47, abs=0.01)


def test_slab_term_is_the_integral(x64):
    mean, sd, shape, rate = 0.4, 0.6, 2.0, 6.0
    density = stats.invgamma(shape, scale=rate)
    exact = integrate.quad(
        lambda z: stats.norm(mean, sd).pdf(z) * (density.logpdf(np.exp(z)) + z), mean - 9 * sd, mean + 9 * sd
    )[0]
    constant = scales.inverse_gamma_log_normalizer(shape, rate)
    got = scales.inverse_gamma_log_density(*map(jnp.asarray, (mean, sd**2, shape, rate, constant)))
    assert float(got) == pytest.approx(exact, rel=1e-8)


def test_shrunken_scale_passes_small_and_caps_large(x64):
    tau = jnp.asarray([1e-8, 0.3, 1e6])
    slab = 1.7
    got = jnp.exp(scales.log_shrunken_scale(jnp.log(tau), jnp.full(3, 2 * np.log(slab))))
    wanted = slab * tau / np.sqrt(slab**2 + tau**2)
    np.testing.assert_allclose(got, wanted, rtol=1e-10)
    np.testing.assert_allclose(np.asarray(got)[[0, 2]], [1e-8, slab], rtol=1e-6)


def test_huge_slab_gives_the_plain_horseshoe(x64):
    log_tau = jnp.linspace(-9, 9, 7)
    np.testing.assert_allclose(scales.log_shrunken_scale(log_tau, jnp.full(7, 80.0)), log_tau, atol=1e-12)
