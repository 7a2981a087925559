import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from scipy import integrate, special, stats

from pritchel import numerics


@pytest.mark.parametrize("rank", [1, 3])
def test_log_det_is_the_dense_one(x64, rank):
    rng = np.random.default_rng(rank)
    diag, factor = rng.uniform(0.1, 2, 6), rng.normal(size=(6, rank))
    dense = np.linalg.slogdet(np.diag(diag) + factor @ factor.T)[1]
    assert numerics.log_det_diag_plus_low_rank(jnp.log(diag), jnp.asarray(factor)) == pytest.approx(dense, rel=1e-12)


@pytest.mark.parametrize("dof", [2.0, 2.5, 7.0, 300.0])
def test_student_normalizer_is_that_of_gamma_functions_and_cancels_nothing(dof):
    exact = special.gammaln((dof + 1) / 2) - special.gammaln(dof / 2) - 0.5 * np.log(dof / 2)
    in_double = numerics.log_student_normalizer(np.asarray([1 / dof]))
    np.testing.assert_allclose(in_double, exact, rtol=1e-6)
    in_single = numerics.log_student_normalizer(jnp.asarray([1 / dof], jnp.float32))
    np.testing.assert_allclose(in_single, in_double, rtol=1e-5)


@pytest.mark.parametrize("mean", [0.0, -4.0, 0.75, 3.0])
def test_rectified_moments_are_the_integrals(x64, mean):
    first, var, cdf = numerics.rectified_normal(jnp.asarray(mean))
    density = stats.norm(mean, 1).pdf
    for value, power in ((cdf, 0), (first, 1), (var + first**2, 2)):
        exact = integrate.quad(lambda b, p=power: b**p * density(b), 0, 15, points=[max(mean, 0)], epsabs=1e-13)[0]
        assert float(value) == pytest.approx(exact, rel=1e-8, abs=1e-12)


def test_variance_of_a_rectified_normal_keeps_its_digits_in_single_precision():
    """E[relu^2] - E[relu]^2 would be 1 - 0.06 at the far end and negative at the other."""
    ends = jnp.asarray([1000.0, 5000.0, -30.0], jnp.float32)
    np.testing.assert_allclose(numerics.rectified_normal(ends)[1], [1, 1, 0], rtol=1e-6)


def test_hand_written_gradients_are_the_numerical_ones(x64):
    standard = jnp.asarray(np.random.default_rng(0).normal(size=(3, 4)))
    check_grads(numerics.rectified_normal, (standard,), order=1, modes=["fwd", "rev"], rtol=1e-6)


@pytest.mark.parametrize("power", [-1.0, 1.0, 2.0])
def test_log_normal_moment(x64, power):
    exact = integrate.quad(lambda z: np.exp(power * z) * stats.norm(0.3, 0.7).pdf(z), -10, 10)[0]
    assert float(numerics.log_normal_moment(jnp.asarray(0.3), jnp.asarray(0.49), power)) == pytest.approx(
        exact, rel=1e-9
    )


def test_gauss_hermite_integrates_polynomials():
    nodes, weights = numerics.gauss_hermite(5)
    assert weights @ nodes**8 == pytest.approx(105.0)  # the eighth moment of N(0, 1)


def test_whitening_is_the_inverse_cholesky_factor(x64):
    rng = np.random.default_rng(0)
    root = rng.normal(size=(6, 6))
    matrix, values = root @ root.T + 0.1 * np.eye(6), rng.normal(size=(6, 4))
    expected = np.linalg.solve(np.linalg.cholesky(matrix), values)
    np.testing.assert_allclose(numerics.whiten(jnp.asarray(matrix), jnp.asarray(values)), expected, rtol=1e-9)
