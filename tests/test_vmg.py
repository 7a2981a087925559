"""VMG: the matrix normal with pseudo data, against dense matrices, draws, and the contract of every family."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import tests.test_guides as contract
from pritchel import HorseshoeRegressor, Training
from pritchel.guide.vmg import PRIOR_RATE, PRIOR_SHAPE, PseudoDataNormal, _log_uniform_kl
from tests.conftest import tiny

ROWS, UNITS = 4, 3


@pytest.fixture
def weights(x64) -> PseudoDataNormal:
    """Weights with nothing at its starting value and pseudo data that matter."""
    rng = np.random.default_rng(0)
    start = PseudoDataNormal.start(ROWS, UNITS, rng)
    moved = jax.tree.map(lambda leaf: jnp.asarray(leaf + 0.3 * rng.normal(size=leaf.shape)), start)
    return moved.take(np.arange(ROWS), np.arange(UNITS))


def dense_conditional(q: PseudoDataNormal) -> tuple[np.ndarray, np.ndarray]:
    """Mean and row covariance of the weights given the pseudo data, from the joint Gaussian of [W; AW + noise]."""
    rows_cov = np.diag(np.exp(2 * np.asarray(q.log_row_sd)))
    inputs = np.asarray(q.raw_pseudo_inputs) / np.sqrt(ROWS)
    extra = float(q.pseudo_cov()[1])
    pseudo_cov = inputs @ rows_cov @ inputs.T + extra * np.eye(len(inputs))
    gain = rows_cov @ inputs.T @ np.linalg.inv(pseudo_cov)
    mean = np.asarray(q.raw_mean)
    mean = mean + gain @ (np.asarray(q.pseudo_outputs) - inputs @ mean)
    return mean / np.sqrt(ROWS), (rows_cov - gain @ inputs @ rows_cov) / ROWS


def test_projection_is_that_of_the_dense_conditional(weights):
    mean, row_cov = dense_conditional(weights)
    np.testing.assert_allclose(weights.mean, mean, rtol=1e-6, atol=1e-9)
    inputs = np.random.default_rng(1).normal(size=(5, ROWS - 1))
    padded = np.column_stack([inputs, np.ones(5)])
    got_mean, got_var = weights.project_moments(jnp.asarray(inputs))
    np.testing.assert_allclose(got_mean, padded @ mean, rtol=1e-6)
    col_var = np.exp(2 * np.asarray(weights.log_col_sd))
    spread = np.einsum("nr,rs,ns->n", padded, row_cov, padded)
    floor = 1e-6 * padded**2 @ np.exp(2 * np.asarray(weights.log_row_sd)) / ROWS
    np.testing.assert_allclose(got_var.full(), np.outer(np.maximum(spread, floor), col_var), rtol=1e-4)


@pytest.mark.slow
def test_few_pseudo_pairs_leave_most_of_the_spread(weights):
    """With two pairs in four dimensions the conditional is far from a point; draws have its mean and covariance."""
    few = eqx_few(weights, 2)
    mean, row_cov = dense_conditional(few)
    num = 20_000
    noise = np.random.default_rng(2).normal(size=(num, ROWS + 2, UNITS))
    draws = np.asarray(jax.vmap(few.draw)(jnp.asarray(noise)))
    col_sd = np.exp(np.asarray(few.log_col_sd))
    deviation = (draws - mean) / col_sd
    contract._agree_in_standard_errors(deviation, np.zeros((ROWS, UNITS)))
    products = np.einsum("nru,nsu->nrsu", deviation, deviation)
    contract._agree_in_standard_errors(products, np.broadcast_to(row_cov[:, :, None], products.shape[1:]))
    inputs = np.random.default_rng(3).normal(size=(2, ROWS - 1))
    _, var = few.project_moments(jnp.asarray(inputs))
    functions = np.column_stack([inputs, np.ones(2)]) @ draws
    contract._agree_in_standard_errors((functions - functions.mean(0)) ** 2, np.asarray(var.full()))


def eqx_few(q: PseudoDataNormal, num: int) -> PseudoDataNormal:
    import equinox as eqx

    return eqx.tree_at(
        lambda q: (q.raw_pseudo_inputs, q.pseudo_outputs), q, (q.raw_pseudo_inputs[:num], q.pseudo_outputs[:num])
    )


def test_bound_terms_are_monte_carlo_means(weights):
    """E ln p(W, t) - E ln q(W, t) from draws of the free weights and of both precisions."""
    rng = np.random.default_rng(4)
    num, entries = 40_000, ROWS * UNITS
    sd = np.outer(np.exp(weights.log_row_sd), np.exp(weights.log_col_sd))
    mean = np.asarray(weights.raw_mean)
    free = mean + sd * rng.normal(size=(num, ROWS, UNITS))
    shape = PRIOR_SHAPE + entries / 2
    q_t = stats.gamma(shape, scale=np.exp(np.asarray(weights.log_precisions)) / shape)
    precisions = q_t.rvs((num, 2), random_state=rng)
    p_sd = 1 / np.sqrt(precisions.prod(1))[:, None, None]
    log_p = stats.norm.logpdf(free, 0, p_sd).sum((1, 2))
    log_p += stats.gamma(PRIOR_SHAPE, scale=1 / PRIOR_RATE).logpdf(precisions).sum(1)
    draws = log_p - stats.norm.logpdf(free, mean, sd).sum((1, 2)) - q_t.logpdf(precisions).sum(1)
    sizes = np.array([weights.raw_pseudo_inputs.size, weights.pseudo_outputs.size])
    penalty = float(sizes @ (_log_uniform_kl(weights.log_jitter_sd) - _log_uniform_kl(0.5 * np.log(0.005))))
    got = -0.5 * (entries * np.log(2 * np.pi) + float(weights.expected_sq_sum())) + float(weights.entropy()) + penalty
    assert abs(draws.mean() - got) < 5 * draws.std() / np.sqrt(num)


def test_noise_on_pseudo_data_costs_more_the_smaller_it_is():
    """The cubic is the negative of the log-uniform KL: it must fall towards the bound and be near their fit there."""
    log_sd = np.linspace(-4, 0.5 * np.log(0.005), 20)
    kl = np.asarray(_log_uniform_kl(log_sd))
    assert np.all(np.diff(kl) < 0)
    var = np.exp(2 * log_sd)
    np.testing.assert_allclose(
        kl, -(0.5 * np.log(var) + 1.16145124 * var - 1.50204118 * var**2 + 0.58629921 * var**3), rtol=1e-5
    )


def test_shape_of_the_precisions_is_the_best(weights):
    """Whatever the weights, no other gamma shape gives a larger bound: the shape need not be learned."""
    entries, (log_mean, _) = ROWS * UNITS, np.asarray(weights.log_precisions)
    other = np.exp(weights.log_precisions[1])
    square = float(weights.expected_sq_sum() / np.exp(weights.log_precisions.sum()))

    def bound(shape: float, mean: float) -> float:
        from scipy.special import digamma, gammaln

        rate = shape / mean
        kl = (shape - PRIOR_SHAPE) * digamma(shape) - gammaln(shape) + gammaln(PRIOR_SHAPE)
        kl += PRIOR_SHAPE * (np.log(rate) - np.log(PRIOR_RATE)) + shape * (PRIOR_RATE - rate) / rate
        return float(0.5 * entries * (digamma(shape) - np.log(rate)) - 0.5 * mean * other * square - kl)

    best = PRIOR_SHAPE + entries / 2
    assert all(bound(best, np.exp(log_mean)) > bound(best * factor, np.exp(log_mean)) for factor in (0.7, 0.95, 1.05))


@pytest.mark.slow  # compiles every piece of two networks
@pytest.mark.parametrize("hidden", [(5,), (5, 4)], ids=["1", "2"])
def test_contract_of_every_family(x64, hidden):
    contract.test_contract(None, "vmg", "gaussian", hidden)


@pytest.mark.slow  # Monte Carlo over whole networks
def test_sampled_output_has_the_moments_of_weight_draws(x64):
    contract.test_sampled_output_has_the_moments_of_weight_draws(None, "vmg", "gaussian", (5,))


@pytest.mark.slow  # Monte Carlo over whole networks
def test_moments_output_is_exact_for_one_hidden_layer(x64):
    """Given the noise on the pseudo data, units are integrated out exactly; the noise itself is drawn."""
    model, guide = contract.build("vmg", "gaussian", (5,), linear=False)
    inputs = contract.table_batch(2).inputs
    draws = contract.DRAW_MANY(model, guide, contract.noise_for(contract.draw_noise_shapes(guide), 6, 40_000))
    functions = np.asarray(contract.forward(draws, inputs, "relu"))
    noise = contract.noise_for(contract.pass_noise_shapes(guide, 2, "moments"), 7, 5_000)
    output = jax.jit(jax.vmap(contract.OUTPUTS["moments"], in_axes=(None, None, None, 0)))
    mean, var = output(model, guide, inputs, noise)
    contract._agree_in_standard_errors(functions, np.asarray(mean))
    contract._agree_in_standard_errors(functions**2, np.asarray(mean**2 + var))


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["moments", "sampled"])
def test_estimator_fits_and_repeats(table, objective):
    options = {"family": "vmg", "prior": "gaussian", "hidden": (8,), "linear": False, "num_members": 1}
    training = Training(objective=objective, num_steps=1500, learning_rate=0.02, average=0.99)
    model = HorseshoeRegressor(
        **options, training=training, inference="variational", random_state=0, progress=False
    ).fit(*table)
    assert model.score(*table) > 0.8
    np.testing.assert_array_equal(model.predict(table[0]), model.predict(table[0]))
    with pytest.raises(ValueError, match="no unit scales to prune by"):
        model.prune()


def test_wants_the_gaussian_prior(table):
    with pytest.raises(ValueError, match="prior='gaussian'"):
        tiny(family="vmg").fit(*table)
