"""One trial: a model fitted to a seed's transitions, a policy learned in it, that policy's test on the true domain."""

from functools import partial
from typing import Any

import jax
import jax.random as jr
import numpy as np

from pritchel.estimators.dynamics_draws import wrap_angle
from pritchel.experiments.records import Key
from pritchel.experiments.rl.collect import Collection, collected, stream_key
from pritchel.experiments.rl.domain import Domain
from pritchel.experiments.rl.dqn import Learning, Network, learn, start_network
from pritchel.experiments.rl.evaluate import evaluate
from pritchel.experiments.rl.models import METHODS, fit_model
from pritchel.experiments.rl.picture import imagine
from pritchel.experiments.rl.settings import PROTOCOLS, Protocol
from pritchel.experiments.rl.world import World, true_world

TEST_EPSILON = 0.15
PICTURE_SEED = 0


def run_trial(domain_name: str, key: Key) -> dict[str, Any]:
    """The record of one method and seed, as JSON values."""
    protocol, seed = PROTOCOLS[domain_name, key["size"]], int(key["seed"])
    method = METHODS[key["method"]]
    if method.kind == "random":
        sizes = (protocol.domain.num_features, *protocol.learn.hidden, protocol.domain.num_actions)
        network = start_network(sizes, jr.key(seed))  # never asked: every action is random
        return {"test": [_evaluate(protocol, network, 1.0, stream_key(seed, "test"), protocol.num_episodes)]}
    collection = collected(protocol, seed)
    result: dict[str, Any] = {"data": _describe(collection)}
    if method.kind == "collect":
        return result | _judge(protocol, collection.learning, seed)
    starts = collection.train.states
    world = true_world(protocol.domain, starts, protocol.start_share)
    if method.kind != "simulator":
        fitted = fit_model(method, protocol, collection.train, collection.test, seed)
        result |= {"fit": fitted.facts | errors(protocol.domain, fitted.predictions, collection.test.next_states)}
        world = World(protocol.domain, fitted.dynamics, world.starts, world.start_share)
        if seed == PICTURE_SEED:
            result["picture"] = imagine(world, stream_key(seed, "picture"))
    settings = protocol.learn._replace(is_annealed=False) if key["method"] == "simulator-held" else protocol.learn
    learning = learn(world, settings, stream_key(seed, "learn"))
    return result | _judge(protocol, learning, seed)


def errors(domain: Domain, predictions: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    """RMSE over rows and features in raw units, as (we think) the paper's; and with angles the short way round."""
    raw = predictions - truth
    short = raw.copy()
    angles = list(domain.angles)
    short[:, angles] = wrap_angle(raw[:, angles])
    return {
        "rmse": float(np.sqrt(np.mean(raw**2))),
        "rmse_wrapped": float(np.sqrt(np.mean(short**2))),
        "rmse_by_feature": np.sqrt(np.mean(short**2, axis=0)).tolist(),
    }


def _describe(collection: Collection) -> dict[str, Any]:
    return {
        "fingerprint": collection.fingerprint,
        "attempts": collection.attempts,
        "train_goals": int(collection.train.is_done.sum()),
    }


def _evaluate(protocol: Protocol, network: Network, epsilon: float, key: Any, num_episodes: int) -> dict[str, float]:
    """Means over episodes of the true domain."""
    outcome = evaluate(protocol.domain, network, epsilon, key, num_episodes=num_episodes)
    return {
        "return": round(float(outcome.returns.mean()), 4),
        "success": round(float(outcome.is_success.mean()), 4),
        "length": round(float(outcome.lengths.mean()), 2),
    }


def _judge(protocol: Protocol, learning: Learning, seed: int) -> dict[str, Any]:
    """The late snapshots' tests, greedy and not, and the learning curve, in the world learned in and for real."""
    steps = np.asarray(learning.steps)
    kept = np.flatnonzero(np.diff(steps, prepend=-1) > 0)  # a run that is cut short repeats its last snapshot
    snapshots = [jax.tree.map(partial(_entry, index=index), learning.networks) for index in kept]
    test_key, curve_key = stream_key(seed, "test"), stream_key(seed, "curve")

    def tests(epsilon: float) -> list[dict[str, float]]:
        late = snapshots[-protocol.num_late :]
        return [_evaluate(protocol, network, epsilon, test_key, protocol.num_episodes) for network in late]

    curve = [_evaluate(protocol, network, 0.0, curve_key, protocol.num_curve_episodes) for network in snapshots]
    return {
        "test": tests(0.0),
        "test_random": tests(TEST_EPSILON),
        "curve": {
            "steps": steps[kept].tolist(),
            "episodes": np.asarray(learning.episodes)[kept].tolist(),
            "imagined": np.round(np.asarray(learning.returns)[kept].astype(float), 3).tolist(),
            "true": [point["return"] for point in curve],
        },
    }


def _entry(leaf: Any, index: int | np.integer) -> Any:
    return leaf[index]
