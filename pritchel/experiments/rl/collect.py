"""Transitions from a double DQN that learns online in the true domain, and the few of them a model may see."""

import hashlib
import threading
from typing import Any, NamedTuple

import jax.random as jr
import numpy as np

from pritchel.experiments.rl.domain import Domain
from pritchel.experiments.rl.dqn import Learning, learn
from pritchel.experiments.rl.settings import Protocol
from pritchel.experiments.rl.world import true_world


class Transitions(NamedTuple):
    """One row a step."""

    states: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    is_done: np.ndarray
    next_states: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, domain: Domain) -> "Transitions":
        """From the rows a learner remembers."""
        size = domain.num_features
        states, actions, rewards, is_done, after = np.split(rows.astype(np.float64), np.cumsum([size, 1, 1, 1]), axis=1)
        return cls(states, actions[:, 0].astype(int), rewards[:, 0], is_done[:, 0] > 0, after)

    def take(self, rows: np.ndarray) -> "Transitions":
        """Some of the rows."""
        return Transitions(*(part[rows] for part in self))


class Collection(NamedTuple):
    """What a model is trained and tested on, and how it came about."""

    train: Transitions
    test: Transitions
    learning: Learning  # of the run that was kept, without its transitions
    attempts: list[dict[str, int]]  # every run, the last one kept: its steps, episodes and ends at the goal

    @property
    def fingerprint(self) -> str:
        """Short name of the training rows: equal for all methods of a seed."""
        return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in self.train)).hexdigest()[:12]


def collect(protocol: Protocol, seed: int) -> Collection:
    """A run of the learner, with new keys until one has reached the goal; rows for training and test from all of it."""
    world = true_world(protocol.domain)
    attempts: list[dict[str, int]] = []
    while True:
        learning = learn(world, protocol.collect, jr.fold_in(stream_key(seed, "collect"), len(attempts)))
        num_steps = int(learning.num_steps)
        rows = Transitions.of(np.asarray(learning.transitions)[:num_steps], protocol.domain)
        goals = int(rows.is_done.sum())
        attempts.append({"steps": num_steps, "episodes": int(learning.episodes[-1]), "goals": goals})
        if goals or len(attempts) >= protocol.max_attempts:
            break
    order = np.random.default_rng(np.random.SeedSequence((seed, 1))).permutation(num_steps)
    train, test = np.split(order[: protocol.num_train + protocol.num_test], [protocol.num_train])
    return Collection(rows.take(train), rows.take(test), learning._replace(transitions=None), attempts)


STREAMS = {"collect": 0, "learn": 1, "test": 2, "curve": 3, "picture": 4}


def stream_key(seed: int, stream: str) -> Any:
    """The key of one purpose of one seed; all methods of a seed share it, so that differences are paired."""
    return jr.fold_in(jr.key(seed), STREAMS[stream])


_collections: dict[Any, Collection] = {}
_locks: dict[Any, threading.Lock] = {}
_guard = threading.Lock()


def collected(protocol: Protocol, seed: int) -> Collection:
    """The collection of a seed, made once in a process whoever asks first."""
    key = (protocol, seed)
    with _guard:
        lock = _locks.setdefault(key, threading.Lock())
    with lock:
        if key not in _collections:
            _collections[key] = collect(protocol, seed)
    return _collections[key]
