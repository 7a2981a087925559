import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from scipy import integrate, stats

from pritchel import numerics


@pytest.mark.parametrize("rank", [1, 3])
def test_log_det_is_the_dense_one(x64, rank):
    rng = np.random.default_rng(rank)
    diag, factor = rng.uniform(0.1, 2, 6), rng.normal(size=(6, rank))
    dense = np.linalg.slogdet(np.diag(diag) + factor @ factor.T)[1]
    assert numerics.log_det_diag_plus_low_rank(jnp.log(diag), jnp.asarray(factor)) == pytest.approx(dense, rel=1e-12)


@pytest.mark.parametrize(("mean", "sd"), [(0.0, 1.0), (-2.0, 0.5), (1.5, 2.0), (3.0, 0.01)])
def test_rectified_moments_are_the_integrals(x64, mean, sd):
    first, cdf = numerics.rectified_normal(jnp.asarray(mean), jnp.asarray(sd**2))
    second = mean * first + sd**2 * cdf
    density = stats.norm(mean, sd).pdf
    upper = max(mean, 0) + 12 * sd
    for value, power in ((cdf, 0), (first, 1), (second, 2)):
        exact = integrate.quad(lambda b, p=power: b**p * density(b), 0, upper, points=[max(mean, 0)], epsabs=1e-13)[0]
        assert float(value) == pytest.approx(exact, rel=1e-8, abs=1e-12)


def test_hand_written_gradients_are_the_numerical_ones(x64):
    rng = np.random.default_rng(0)
    mean, var = jnp.asarray(rng.normal(size=(3, 4))), jnp.asarray(rng.uniform(0.1, 2, (3, 4)))
    check_grads(numerics.rectified_normal, (mean, var), order=1, modes=["fwd", "rev"], rtol=1e-6)
    check_grads(numerics.times_columns, (mean, var[0]), order=1, modes=["rev"], rtol=1e-6)


@pytest.mark.parametrize("power", [-1.0, 1.0, 2.0])
def test_log_normal_moment(x64, power):
    exact = integrate.quad(lambda z: np.exp(power * z) * stats.norm(0.3, 0.7).pdf(z), -10, 10)[0]
    assert float(numerics.log_normal_moment(jnp.asarray(0.3), jnp.asarray(0.49), power)) == pytest.approx(
        exact, rel=1e-9
    )


def test_gauss_hermite_integrates_polynomials():
    nodes, weights = numerics.gauss_hermite(5)
    assert weights @ nodes**8 == pytest.approx(105.0)  # the eighth moment of N(0, 1)
