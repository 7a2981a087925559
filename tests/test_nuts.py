"""A tiny network against NUTS on the same model: the reference that no variational shortcut enters."""

import numpy as np
import pytest

from pritchel import Gaussian, HorseshoeRegressor, RegularizedHorseshoe, Sampling
from pritchel.posterior.convergence import effective_size

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

NUM_UNITS, LAYER_SCALE, NOISE_PRIOR, SLAB = 6, 0.1, (1.0, 0.1), (2.0, 6.0)


def nuts_functions(x, y, grid, seed=0):
    """Posterior draws of f on the grid and of the noise precision, by NumPyro's NUTS; everything standardized."""
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS, Predictive

    def model(inputs, targets=None):
        tau = numpyro.sample("tau", dist.HalfCauchy(1.0).expand([NUM_UNITS]).to_event(1))
        upsilon = numpyro.sample("upsilon", dist.HalfCauchy(LAYER_SCALE))
        slab_sq = numpyro.sample("slab_sq", dist.InverseGamma(*SLAB))
        kappa = numpyro.sample("kappa", dist.HalfCauchy(5.0))
        base = numpyro.sample("base", dist.Normal(0, 1).expand([2, NUM_UNITS]).to_event(2))
        output = numpyro.sample("output", dist.Normal(0, 1).expand([NUM_UNITS + 1]).to_event(1))
        precision = numpyro.sample("precision", dist.Gamma(*NOISE_PRIOR))
        raw = tau * upsilon
        scale = raw * jnp.sqrt(slab_sq / (slab_sq + raw**2))
        hidden = jax.nn.relu((inputs[:, None] * base[0] + base[1]) * scale)
        f = numpyro.deterministic("f", kappa * (hidden @ output[:-1] + output[-1]))
        numpyro.sample("y", dist.Normal(f, 1 / jnp.sqrt(precision)), obs=targets)

    kernel = NUTS(model, target_accept_prob=0.95, max_tree_depth=9)
    sampler = MCMC(kernel, num_warmup=600, num_samples=600, num_chains=2, chain_method="sequential", progress_bar=False)
    sampler.run(jax.random.key(seed), jnp.asarray(x), jnp.asarray(y))
    draws = sampler.get_samples()
    functions = Predictive(model, draws, return_sites=["f"])(jax.random.key(1), jnp.asarray(grid))["f"]
    return np.asarray(functions), np.asarray(draws["precision"])


def curve(num_points):
    """Eighty noisy rows of a sine, standardized, and points among them."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, 80)
    x = (x - x.mean()) / x.std()
    y = np.sin(2 * x) + 0.2 * rng.normal(size=80)
    y = (y - y.mean()) / y.std()
    grid = np.linspace(np.quantile(x, 0.05), np.quantile(x, 0.95), num_points)
    return x, y, grid


@pytest.mark.parametrize("family", ["structured", "factorized"])
def test_predictive_agrees_with_nuts(family):
    """Where there are data: mean within a third of the noise sd, predictive width within a quarter of NUTS's."""
    x, y, grid = curve(40)
    functions, precision = nuts_functions(x, y, grid)
    nuts_mean = functions.mean(0)
    nuts_sd = np.sqrt(functions.var(0) + (1 / precision).mean())
    prior = RegularizedHorseshoe(layer_scale=LAYER_SCALE, learn_layer_scale=True, slab=SLAB, half_cauchy="exact")
    model = HorseshoeRegressor(
        hidden=(NUM_UNITS,),
        family=family,
        prior=prior,
        likelihood=Gaussian(noise_prior=NOISE_PRIOR),
        inference="variational",
        num_members=5,
        num_draws=500,
        random_state=0,
        progress=False,
    ).fit(x[:, None], y)
    mean, sd = model.predict(grid[:, None], return_std=True)
    noise_sd = np.sqrt((1 / precision).mean())
    assert np.sqrt(np.mean((mean - nuts_mean) ** 2)) < noise_sd / 3
    assert 0.75 < np.mean(sd / nuts_sd) < 1.25


def test_sampled_predictive_is_that_of_nuts(monkeypatch):
    """Four long chains from fitted, pruned starts against NUTS of the whole network from random ones.

    No unit leaves because others can stand in for it: the network that is left then is another model.
    Means of the function agree within the error that the effective numbers of draws leave, widths within a tenth.
    """
    monkeypatch.setattr("pritchel.infer.redundant.MOST_NATS", -1.0)
    x, y, grid = curve(20)
    functions, precision = nuts_functions(x, y, grid)
    prior = RegularizedHorseshoe(layer_scale=LAYER_SCALE, learn_layer_scale=True, slab=SLAB)
    model = HorseshoeRegressor(
        hidden=(NUM_UNITS,),
        prior=prior,
        likelihood=Gaussian(noise_prior=NOISE_PRIOR),
        activation="relu",
        inference="sampled",
        sampling=Sampling(num_warmup=1000, num_samples=2000),
        num_members=4,
        num_draws=4000,
        random_state=0,
        progress=False,
    ).fit(x[:, None], y)
    draws = model.posterior_.sample_functions(grid[:, None], 4000, None)[:, 0]  # chains take turns, each in its order
    ours = draws.T.reshape(-1, 4, len(grid)).swapaxes(0, 1)
    theirs = functions.reshape(2, -1, len(grid))
    error = np.sqrt(sum(own.var((0, 1)) / effective_size(own) for own in (ours, theirs)))
    gap = ours.mean((0, 1)) - theirs.mean((0, 1))
    assert np.sqrt(np.mean((gap / error) ** 2)) < 2
    np.testing.assert_allclose(ours.std((0, 1)).mean(), theirs.std((0, 1)).mean(), rtol=0.1)
    _, sd = model.predict(grid[:, None], return_std=True)
    nuts_sd = np.sqrt(functions.var(0) + (1 / precision).mean())
    np.testing.assert_allclose(sd.mean(), nuts_sd.mean(), rtol=0.025)
    np.testing.assert_allclose(sd, nuts_sd, rtol=0.08)  # single points of two NUTS runs differ by 0.03
