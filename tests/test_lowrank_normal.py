import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from pritchel.guide.lowrank_normal import LowRankNormal
from pritchel.guide.structured import StructuredLayer
from tests.oracles.dense import condition, dense_covariance

pytestmark = pytest.mark.usefixtures("x64")


@pytest.fixture(params=[(1, True), (1, False), (3, True), (3, False)], ids=["r1-unit", "r1", "r3-unit", "r3"])
def normal(request) -> LowRankNormal:
    rank, unit_norm = request.param
    rng = np.random.default_rng(3)
    return LowRankNormal(
        jnp.asarray(rng.normal(size=(5, 4))),
        jnp.asarray(rng.normal(-1, 0.5, 5)),
        jnp.asarray(rng.normal(size=(5, rank))),
        jnp.asarray(rng.normal(-0.5, 0.4, 4)),
        unit_rows=unit_norm,
        unit_cols=unit_norm,
    )


def test_unit_norm_means_unit_norm(normal):
    norms = [np.linalg.norm(part) for part in (normal.row_diag, normal.row_factor, normal.col_diag)]
    assert (np.allclose(norms, 1)) == normal.unit_rows


def test_entropy_and_squares_are_the_dense_ones(normal):
    dense = stats.multivariate_normal(np.ravel(normal.mean), dense_covariance(normal))
    assert float(normal.entropy()) == pytest.approx(dense.entropy(), rel=1e-10)
    squares = (np.asarray(normal.mean) ** 2).sum() + np.trace(dense_covariance(normal))
    assert float(normal.expected_sq_sum()) == pytest.approx(squares, rel=1e-12)


def test_projection_moments_are_the_dense_ones(normal):
    rng = np.random.default_rng(5)
    inputs = rng.normal(size=(3, 4))
    mean, var = normal.project_moments(jnp.asarray(inputs))
    var = var.full()
    cov = dense_covariance(normal)
    for example, a in enumerate(np.column_stack([inputs, np.ones(3)])):
        projector = np.kron(a, np.eye(4))
        np.testing.assert_allclose(mean[example], a @ np.asarray(normal.mean), rtol=1e-12)
        np.testing.assert_allclose(var[example], np.diag(projector @ cov @ projector.T), rtol=1e-12)


def test_uncertain_inputs_add_their_variance(normal):
    rng = np.random.default_rng(6)
    inputs, input_var = rng.normal(size=(2, 4)), rng.uniform(0.1, 1, (2, 4))
    mean, var = normal.project_moments(jnp.asarray(inputs), jnp.asarray(input_var))
    num = 100_000
    a = inputs[0] + np.sqrt(input_var[0]) * rng.normal(size=(num, 4))
    flat = rng.multivariate_normal(np.ravel(normal.mean), dense_covariance(normal), num)
    draws = np.einsum("nr,nru->nu", np.column_stack([a, np.ones(num)]), flat.reshape(num, 5, 4))
    assert np.all(np.abs(draws.mean(0) - mean[0]) < 5 * draws.std(0) / np.sqrt(num))
    squares = (draws - draws.mean(0)) ** 2
    assert np.all(np.abs(squares.mean(0) - var[0]) < 5 * squares.std(0) / np.sqrt(num))


def test_structured_projection_given_the_log_scales_is_the_dense_conditional(normal):
    """The last row as log unit scales: mean, slope and variance of the projection must make up the conditional."""
    layer = StructuredLayer(normal)
    inputs = np.random.default_rng(7).normal(size=(3, 3))
    projection = layer.project(jnp.asarray(inputs))
    mean, var, slope = projection.mean, projection.full_var(), projection.slope
    shift = np.array([0.3, -1.0, 0.0, 2.0])
    last = np.asarray(normal.mean[-1]) + shift
    given_mean, given_cov = condition(np.ravel(normal.mean), dense_covariance(normal), np.arange(16, 20), last)
    log_scale_var = layer.log_unit_scale_moments()[1]
    for example, a in enumerate(np.column_stack([inputs, np.ones(3)])):
        projector = np.kron(a, np.eye(4))
        np.testing.assert_allclose(mean[example] + slope[example] * shift, projector @ given_mean, rtol=1e-10)
        got_var = var[example] - slope[example] ** 2 * log_scale_var
        np.testing.assert_allclose(got_var, np.diag(projector @ given_cov @ projector.T), rtol=1e-9)


def test_a_row_or_unit_that_counts_twice_is_there_twice(normal):
    """Entropy, squares and norms with counts are those of the matrix in which the row and the unit are repeated."""
    rows, units = np.array([0, 1, 1, 1, 2, 3, 4]), np.array([0, 1, 2, 2, 3])
    repeated = normal.take(rows, units)
    counted = normal.count(np.bincount(rows).astype(float), np.bincount(units).astype(float))
    assert float(counted.entropy()) == pytest.approx(float(repeated.entropy()), rel=1e-12)
    assert float(counted.expected_sq_sum()) == pytest.approx(float(repeated.expected_sq_sum()), rel=1e-12)
    np.testing.assert_allclose(counted.row_var, repeated.row_var[np.array([0, 1, 4, 5, 6])], rtol=1e-12)
    np.testing.assert_allclose(counted.col_diag, repeated.col_diag[np.array([0, 1, 2, 4])], rtol=1e-12)


def test_draws_have_the_dense_covariance(normal):
    rng = np.random.default_rng(8)
    rank, num = normal.raw_row_factor.shape[1], 40_000
    noise = rng.normal(size=(num, 5 + rank, 4))
    import jax

    draws = np.asarray(jax.vmap(normal.draw)(jnp.asarray(noise))).reshape(num, 20)
    deviations = draws - np.ravel(normal.mean)
    products = deviations[:, :, None] * deviations[:, None, :]
    error = np.abs(products.mean(0) - dense_covariance(normal))
    assert np.all(error < 5.5 * products.std(0) / np.sqrt(num) + 1e-12)


def test_keep_is_the_dense_marginal(normal):
    rows, units = np.array([0, 3, 4]), np.array([1, 3])
    kept = normal.written_out().take(rows, units)
    flat = (rows[:, None] * 4 + units).ravel()
    np.testing.assert_allclose(dense_covariance(kept), dense_covariance(normal)[np.ix_(flat, flat)], rtol=1e-12)
    np.testing.assert_allclose(kept.mean, np.asarray(normal.mean)[np.ix_(rows, units)])
