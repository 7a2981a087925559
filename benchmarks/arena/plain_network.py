"""A plain network of the size that Pritchel offers (100 + 100), for deep ensembles and MC dropout."""

import itertools
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

UNITS = (100, 100)
BATCH, RATE, EPOCHS, STEPS = 100, 1e-3, 400, 20_000
CHECKS = 40  # times that the held-out rows are looked at; the best weights of these are kept


class Settings(NamedTuple):
    """What is static in a compiled training run."""

    dropout: float  # share of units and inputs of hidden layers that are off in a pass
    decay: float
    num_outputs: int
    is_normal: bool  # mean and log variance and their likelihood, or a mean and its squared error
    steps_a_check: int


def start(sizes: tuple[int, ...], seed: int) -> list:
    """He's random weights."""
    rng = np.random.default_rng(seed)
    pairs = itertools.pairwise(sizes)
    return [(rng.normal(0, np.sqrt(2 / a), (a, b)).astype(np.float32), np.zeros(b, np.float32)) for a, b in pairs]


def outputs(params: list, X: jax.Array, dropout: float, key: jax.Array | None) -> jax.Array:
    """One pass; with a key, hidden units are off at random."""
    hidden = X
    for index, (weight, bias) in enumerate(params[:-1]):
        hidden = jax.nn.relu(hidden @ weight + bias)
        if key is not None and dropout > 0:
            is_on = jax.random.bernoulli(jax.random.fold_in(key, index), 1 - dropout, hidden.shape)
            hidden = jnp.where(is_on, hidden / (1 - dropout), 0.0)
    weight, bias = params[-1]
    return hidden @ weight + bias


def loss(params: list, X: jax.Array, y: jax.Array, settings: Settings, key: jax.Array | None) -> jax.Array:
    """Negative log-likelihood of a normal distribution, or half the squared error."""
    out = outputs(params, X, settings.dropout, key)
    if not settings.is_normal:
        return 0.5 * jnp.mean((out[:, 0] - y) ** 2)
    log_var = jnp.clip(out[:, 1], -12.0, 6.0)
    return 0.5 * jnp.mean(log_var + (out[:, 0] - y) ** 2 * jnp.exp(-log_var))


@partial(jax.jit, static_argnames="settings")
def _train(
    params: list, X: jax.Array, y: jax.Array, held_X: jax.Array, held_y: jax.Array, seed: int, settings: Settings
):
    optimizer = optax.adamw(RATE, weight_decay=settings.decay)

    def step(carry: tuple, key: jax.Array) -> tuple[tuple, None]:
        params, state = carry
        rows_key, drop_key = jax.random.split(key)
        rows = jax.random.randint(rows_key, (min(BATCH, len(y)),), 0, len(y))
        gradient = jax.grad(loss)(params, X[rows], y[rows], settings, drop_key)
        updates, state = optimizer.update(gradient, state, params)
        return (optax.apply_updates(params, updates), state), None

    def check(carry: tuple, key: jax.Array) -> tuple[tuple, None]:
        now, best, lowest = carry
        now, _ = jax.lax.scan(step, now, jax.random.split(key, settings.steps_a_check))
        held = loss(now[0], held_X, held_y, settings, None)
        best = jax.tree.map(lambda new, old: jnp.where(held < lowest, new, old), now[0], best)
        return (now, best, jnp.minimum(held, lowest)), None

    carry = ((params, optimizer.init(params)), params, jnp.inf)
    (_, best, lowest), _ = jax.lax.scan(check, carry, jax.random.split(jax.random.key(seed), CHECKS))
    return best, lowest


class Standardized(NamedTuple):
    """Inputs and targets with mean 0 and deviation 1, and the way back."""

    X: np.ndarray
    y: np.ndarray
    input_mean: np.ndarray
    input_sd: np.ndarray
    mean: float
    sd: float

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray) -> "Standardized":
        """By training rows."""
        input_mean, input_sd, mean, sd = X.mean(0), X.std(0) + 1e-8, y.mean(), y.std() + 1e-12
        inputs = ((X - input_mean) / input_sd).astype(np.float32)
        return cls(inputs, ((y - mean) / sd).astype(np.float32), input_mean, input_sd, float(mean), float(sd))

    def inputs(self, X: np.ndarray) -> np.ndarray:
        """Other rows' inputs."""
        return ((X - self.input_mean) / self.input_sd).astype(np.float32)


def train(data: Standardized, seed: int, *, is_normal: bool, dropout: float = 0.0, decay: float = 1e-4) -> tuple:
    """Weights that were best on a tenth of the rows held out, that loss, and the held-out rows."""
    order = np.random.default_rng(seed).permutation(len(data.y))
    cut = max(1, len(order) // 10)
    train_rows, held = order[cut:], order[:cut]
    steps = min(STEPS, max(2000, EPOCHS * len(train_rows) // BATCH))
    num_outputs = 2 if is_normal else 1
    settings = Settings(dropout, decay, num_outputs, is_normal, steps // CHECKS)
    params = start((data.X.shape[1], *UNITS, num_outputs), seed)
    best, lowest = _train(params, data.X[train_rows], data.y[train_rows], data.X[held], data.y[held], seed, settings)
    return jax.device_get(best), float(lowest), held
