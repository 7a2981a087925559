"""The models that are compared: what each is, how it is fitted, and the dynamics it hands to the learner."""

from itertools import pairwise
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from pritchel.data.dataset import prepare
from pritchel.estimators.dynamics import DynamicsModel
from pritchel.estimators.dynamics_draws import Dynamics, in_raw_units, network_inputs, step, tidy
from pritchel.estimators.regressor import HorseshoeRegressor
from pritchel.experiments.rl.collect import Transitions
from pritchel.experiments.rl.settings import Protocol
from pritchel.infer.options import Training
from pritchel.model.network import Weights, forward
from pritchel.programs import compiled

NUM_PREDICTIVE_DRAWS = 100


class Method(NamedTuple):
    """A row of the table."""

    label: str
    kind: Literal["collect", "random", "simulator", "mean", "network", "bnn", "structured", "defaults"]
    hidden: tuple[int, ...] = ()


METHODS: dict[str, Method] = {
    "collect": Method("no model: learned online", "collect"),
    "simulator": Method("true simulator", "simulator"),
    "simulator-held": Method("true simulator, rate held", "simulator"),
    "mean": Method("mean difference", "mean"),
    "random": Method("random actions", "random"),
    "network-500": Method("plain network x-500-y", "network", (500,)),
    "network-100-100": Method("plain network x-100-100-y", "network", (100, 100)),
    "bnn-500": Method("BNN x-500-y", "bnn", (500,)),
    "bnn-100-100": Method("BNN x-100-100-y", "bnn", (100, 100)),
    "structured-500": Method("Structured x-500-y", "structured", (500,)),
    "structured-100-100": Method("Structured x-100-100-y", "structured", (100, 100)),
    "defaults": Method("Pritchel's defaults", "defaults", (100, 100)),
}


class ModelFit(NamedTuple):
    """Dynamics to learn in, with draws on a leading axis, and the mean predictions for the test rows."""

    dynamics: Dynamics
    predictions: np.ndarray
    facts: dict[str, Any]


def fit_model(method: Method, protocol: Protocol, train: Transitions, test: Transitions, seed: int) -> ModelFit:
    """Fit one method's model of the differences to the training rows."""
    if method.kind in ("mean", "network"):
        return _fit_plain(method, protocol, train, test, seed)
    estimator = _estimator(method, protocol, seed)
    angles = protocol.domain.angles if method.kind == "defaults" else ()
    model = DynamicsModel(num_actions=protocol.domain.num_actions, angles=angles, estimator=estimator)
    model.fit(train.states, train.actions, train.next_states)
    dynamics = model.draw(protocol.num_draws, seed)
    some = dynamics[:NUM_PREDICTIVE_DRAWS]
    mean, spread = _moments(some, jnp.asarray(test.states, float), jnp.asarray(test.actions))
    facts = {
        "units_kept": model.estimator_.units_kept_.tolist(),
        "is_collapsed": bool(model.estimator_.is_collapsed_),
        "epistemic": np.sqrt((np.asarray(spread, float) ** 2).mean(0)).tolist(),
    }
    return ModelFit(dynamics, np.asarray(mean, float), facts)


@compiled()
def _moments(draws: Dynamics, states: Any, actions: Any) -> tuple[Any, Any]:
    """Mean next state and standard deviation over draws; angles averaged as differences, the short way round."""
    after = jax.lax.map(lambda draw: step(draw, states, actions), draws)
    differences = tidy(after - states, draws.angles)
    return tidy(states + differences.mean(0), draws.angles), differences.std(0)


def _estimator(method: Method, protocol: Protocol, seed: int) -> HorseshoeRegressor:
    common = {"random_state": seed, "progress": False, "n_jobs": 1}
    if method.kind == "defaults":
        training = Training(num_steps=protocol.default_steps)
        return HorseshoeRegressor(likelihood="gaussian", training=training, inference="variational", **common)
    changes: dict[str, Any] = {} if method.kind == "structured" else {"prior": "gaussian", "family": "factorized"}
    return HorseshoeRegressor.paper(
        hidden=method.hidden,
        training__learning_rate=protocol.learning_rate,
        training__batch_size=protocol.batch_size,
        training__num_steps=num_fit_steps(protocol),
        num_draws=NUM_PREDICTIVE_DRAWS,
        **common,
        **changes,
    )


def num_fit_steps(protocol: Protocol) -> int:
    """Minibatches in all epochs of a fit."""
    return protocol.num_epochs * -(-protocol.num_train // protocol.batch_size)


def _fit_plain(method: Method, protocol: Protocol, train: Transitions, test: Transitions, seed: int) -> ModelFit:
    """A plain network with squared error, or none at all: the mean difference. One function stands for every draw."""
    num_actions = protocol.domain.num_actions
    inputs = network_inputs(train.states, train.actions, num_actions, ())
    differences = train.next_states - train.states
    if method.kind == "mean":
        bias = np.zeros((inputs.shape[1] + 1, differences.shape[1]))
        bias[-1] = differences.mean(0)
        weights = Weights((), bias)
    else:
        data, standardizer = prepare(inputs, differences)
        rng = np.random.default_rng(np.random.SeedSequence((seed, 2)))
        steps = num_fit_steps(protocol)
        weights = train_plain(data.inputs, data.targets, method.hidden, steps, protocol, rng)
        weights = in_raw_units(jax.tree.map(np.asarray, weights), standardizer)
    one = Dynamics(jax.tree.map(lambda leaf: jnp.asarray(leaf, float), weights), num_actions, (), "relu")
    draws = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (protocol.num_draws, *leaf.shape)), one)
    return ModelFit(draws, np.asarray(step(one, jnp.asarray(test.states), test.actions)), {})


def train_plain(
    inputs: np.ndarray,
    targets: np.ndarray,
    hidden: tuple[int, ...],
    num_steps: int,
    protocol: Protocol,
    rng: np.random.Generator,
) -> Weights:
    """A ReLU network from He's start, by Adam with the rate and minibatches of the other models."""
    sizes = (inputs.shape[1], *hidden, targets.shape[1])
    matrices = [
        np.concatenate([rng.normal(0, np.sqrt(2 / fan_in), (fan_in, units)), np.zeros((1, units))]).astype(np.float32)
        for fan_in, units in pairwise(sizes)
    ]
    passes = [rng.permutation(len(inputs)) for _ in range(-(-num_steps * protocol.batch_size // len(inputs)))]
    rows = np.concatenate(passes)[: num_steps * protocol.batch_size].reshape(num_steps, -1).astype(np.int32)
    start = Weights(tuple(matrices[:-1]), matrices[-1])
    return _descend(start, inputs, targets, rows, protocol.learning_rate)


@compiled(static_argnames=("learning_rate",))
def _descend(weights: Weights, inputs: Any, targets: Any, rows: Any, learning_rate: float) -> Weights:
    optimizer = optax.adam(learning_rate)

    def loss(weights, batch):
        return jnp.mean((forward(weights, inputs[batch], "relu") - targets[batch]) ** 2)

    def update(carry, batch):
        weights, state = carry
        updates, state = optimizer.update(jax.grad(loss)(weights, batch), state)
        return (jax.tree.map(jnp.add, weights, updates), state), None

    (weights, _), _ = jax.lax.scan(update, (weights, optimizer.init(weights)), rows)
    return weights
