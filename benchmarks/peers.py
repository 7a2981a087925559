"""The peers that Pritchel is timed against, on the same batches: a plain JAX network and NumPyro's SVI."""

import itertools
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from pritchel import HorseshoeRegressor
from pritchel.data.dataset import Dataset, prepare
from pritchel.data.sources import load_uci
from pritchel.guide.network import start_guide, trained_mask
from pritchel.infer.elbo import Batch
from pritchel.infer.feed import Feed
from pritchel.infer.trial import FitSettings, Trial
from pritchel.model.likelihoods import LikelihoodStart

STEPS = 250  # of one compiled chunk, for everyone


class Problem(NamedTuple):
    """A standardized training table and what is needed to score test rows in its units."""

    data: Dataset
    test_inputs: np.ndarray  # standardized
    test_targets: np.ndarray  # standardized
    target_scale: float

    @property
    def num_features(self) -> int:
        """Columns of the inputs."""
        return self.data.inputs.shape[1]


def uci_problem(name: str, split: int = 0) -> Problem:
    train_X, train_y, test_X, test_y = load_uci(name).split(split)
    data, standardizer = prepare(train_X, train_y[:, None])
    targets = standardizer.scale_targets(test_y[:, None])
    return Problem(data, standardizer.scale_inputs(test_X), targets, float(standardizer.target_scale[0]))


def pritchel_trial(data: Dataset, hidden: tuple[int, ...], seed: int = 0) -> Trial:
    """One member of what `HorseshoeRegressor(hidden=hidden)` fits, less linear path and adaptive noise."""
    options = HorseshoeRegressor(hidden=hidden, likelihood="gaussian", linear=False).options()
    model = options.model(LikelihoodStart(data.targets, data.weights))
    sizes, rng = (data.inputs.shape[1], data.targets.shape[1]), np.random.default_rng(seed)
    guide = start_guide(model, options.hidden, options.family, *sizes, rng)
    return Trial(model, guide, data, seed, trainable=trained_mask(model, guide))


def batches(trial: Trial, settings: FitSettings, start: int = 0) -> Batch:
    """A chunk of the very batches that Pritchel trains on."""
    return Feed(trial, settings, trial.guide).chunk(start)[0].batch


class PlainNetwork:
    """A network with one Adam and squared error: what a training step costs with nothing Bayesian in it."""

    def __init__(self, widths: tuple[int, ...], seed: int = 0):
        rng = np.random.default_rng(seed)
        self.params = [
            (rng.normal(0, np.sqrt(2 / a), (a, b)).astype(np.float32), np.zeros(b, np.float32))
            for a, b in itertools.pairwise(widths)
        ]
        self.state = _ADAM.init(self.params)

    def run(self, batch: Batch) -> None:
        """One chunk of steps."""
        self.params, self.state = jax.block_until_ready(_plain_chunk(self.params, self.state, batch))


_ADAM = optax.adam(0.01)


def _plain_loss(params: Any, batch: Batch) -> Any:
    values = batch.inputs
    for weights, bias in params[:-1]:
        values = jax.nn.relu(values @ weights + bias)
    weights, bias = params[-1]
    return ((values @ weights + bias - batch.targets) ** 2).mean()


@jax.jit
def _plain_chunk(params: Any, state: Any, batch: Batch) -> Any:
    def body(index, carry):
        params, state = carry
        grads = jax.grad(_plain_loss)(params, jax.tree.map(lambda leaf: leaf[index], batch))
        updates, state = _ADAM.update(grads, state)
        return optax.apply_updates(params, updates), state

    return jax.lax.fori_loop(0, len(batch.inputs), body, (params, state))


class NumPyroNetwork:
    """The same model, one hidden layer, in NumPyro: non-centred, `AutoNormal`, one ELBO sample a step."""

    def __init__(self, data: Dataset, units: int, learning_rate: Any = 0.01, seed: int = 0):
        import numpyro
        from numpyro.infer import SVI, Trace_ELBO
        from numpyro.infer.autoguide import AutoNormal

        model = partial(_numpyro_model, num_rows=len(data.inputs), units=units)
        self.guide = AutoNormal(model, init_scale=0.01)
        self.svi = SVI(model, self.guide, numpyro.optim.Adam(learning_rate), Trace_ELBO())
        self.model = model
        self.state = self.svi.init(jax.random.key(seed), data.inputs[:128], data.targets[:128])

        @jax.jit
        def chunk(state, batch):
            def body(index, state):
                return self.svi.update(state, batch.inputs[index], batch.targets[index])[0]

            return jax.lax.fori_loop(0, len(batch.inputs), body, state)

        self._chunk = chunk

    def run(self, batch: Batch) -> None:
        """One chunk of steps."""
        self.state = jax.block_until_ready(self._chunk(self.state, batch))

    def test_log_likelihood(self, problem: Problem, num_draws: int = 200) -> float:
        """Mean over test rows of the log of the mean density over draws, in the units of y."""
        from numpyro.infer import Predictive
        from scipy.special import logsumexp
        from scipy.stats import norm

        params = self.svi.get_params(self.state)
        draws = self.guide.sample_posterior(jax.random.key(1), params, sample_shape=(num_draws,))
        predict = Predictive(self.model, draws, return_sites=["f"])
        functions = np.asarray(predict(jax.random.key(2), problem.test_inputs, None)["f"])
        sd = 1 / np.sqrt(np.asarray(draws["precision"]))
        log_density = norm.logpdf(problem.test_targets, functions, sd[:, None, None]) - np.log(problem.target_scale)
        return float((logsumexp(log_density, axis=0) - np.log(num_draws)).mean())


def _numpyro_model(inputs, targets, num_rows, units):
    import numpyro
    import numpyro.distributions as dist

    with_bias = jnp.concatenate([inputs, jnp.ones_like(inputs[:, :1])], 1)
    base = numpyro.sample("base", dist.Normal(0, 1).expand([with_bias.shape[1], units]).to_event(2))
    unit = numpyro.sample("unit", dist.HalfCauchy(1.0).expand([units]).to_event(1))
    layer = numpyro.sample("layer", dist.HalfCauchy(1e-5))
    slab = numpyro.sample("slab", dist.InverseGamma(2.0, 6.0))
    output_scale = numpyro.sample("output_scale", dist.HalfCauchy(5.0))
    output = numpyro.sample("output", dist.Normal(0, 1).expand([units + 1, 1]).to_event(2))
    precision = numpyro.sample("precision", dist.Gamma(0.1, 0.01))
    square = (unit * layer) ** 2
    scale = jnp.sqrt(slab * square / (slab + square))
    hidden = jax.nn.relu(with_bias @ (base * scale))
    functions = numpyro.deterministic("f", output_scale * (hidden @ output[:-1] + output[-1]))
    if targets is not None:
        with numpyro.plate("rows", num_rows, subsample_size=len(inputs)):
            numpyro.sample("y", dist.Normal(functions, 1 / jnp.sqrt(precision)).to_event(1), obs=targets)
