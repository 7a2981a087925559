"""Domains against gymnasium, hand-worked moves and known returns; the learner; the experiment from end to end."""

import json
from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from pritchel.experiments.records import Records
from pritchel.experiments.reproduce import Experiment, load, run_experiment
from pritchel.experiments.rl import acrobot, collect, experiment, map2d, protocol
from pritchel.experiments.rl.acrobot import Acrobot
from pritchel.experiments.rl.domain import true_step
from pritchel.experiments.rl.dqn import DqnSettings, learn, values
from pritchel.experiments.rl.environments import make_environment
from pritchel.experiments.rl.evaluate import evaluate
from pritchel.experiments.rl.map2d import Map2D
from pritchel.experiments.rl.world import true_world
from pritchel.report.experiment_figures import FIGURES

gymnasium = pytest.importorskip("gymnasium")


@partial(jax.jit, static_argnames=("domain", "num_episodes"))
def returns_of(domain, policy, key, num_episodes):
    """Returns and successes of policy 0 (by hand), 1 (random) or 2 (always action 1), as plainly as can be."""
    by_hand = map2d.hand_policy if isinstance(domain, Map2D) else acrobot.hand_policy

    def episode(key):
        def one(carry, key):
            state, is_over = carry
            actions = jnp.stack([by_hand(domain, state), jr.randint(key, (), 0, domain.num_actions), jnp.asarray(1)])
            outcome = true_step(domain, state, actions[policy])
            reward = jnp.where(is_over, 0.0, outcome.reward)
            state = jnp.where(is_over, state, outcome.state)
            return (state, is_over | outcome.is_done), reward

        start = (domain.reset(key), jnp.zeros((), bool))
        (_, is_over), rewards = jax.lax.scan(one, start, jr.split(key, domain.horizon))
        return rewards.sum(), is_over

    return jax.vmap(episode)(jr.split(key, num_episodes))


BY_HAND, RANDOM, STILL = 0, 1, 2


def moves(domain, state, action):
    outcome = true_step(domain, jnp.asarray(state), jnp.asarray(action))
    return np.asarray(outcome.state), float(outcome.reward), bool(outcome.is_done)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize(
    ("kind", "state", "action", "after", "reward", "is_done"),
    [
        (1, (-1.5, -1.5), 1, (-1.5, -1.2), -0.1, False),
        (1, (0.1, -0.1), 1, (0.1, -0.1), -5, False),  # through the wall from below
        (1, (-0.1, 0.1), 2, (0.2 - 0.03 * np.hypot(1.4, 1.6), 0.1), 1000, True),
        (2, (-0.1, 0.1), 0, (-0.1, 0.1), -5, False),  # through class 2's wall
        (1, (-1.96, 0.0), 1, (-1.96, 0.0), -5, False),  # the drift pushes even "north" out of the box
    ],
)
def test_map_moves_worked_by_hand(kind, state, action, after, reward, is_done):
    got, got_reward, got_done = moves(Map2D(kind), state, action)
    expected = state if reward == -5 else after
    np.testing.assert_allclose(got, expected, atol=1e-12)
    assert got_reward == pytest.approx(reward)
    assert got_done == is_done


@pytest.mark.usefixtures("x64")
def test_map_classes_mirror_each_other():
    rng = np.random.default_rng(0)
    states, actions = jnp.asarray(rng.uniform(-2, 2, (2000, 2))), jnp.asarray(rng.integers(4, size=2000))
    one = jax.vmap(partial(true_step, Map2D(1)))(states, actions)
    two = jax.vmap(partial(true_step, Map2D(2)))(states[:, ::-1], jnp.asarray((1, 0, 3, 2))[actions])
    np.testing.assert_allclose(one.state, two.state[:, ::-1], atol=1e-12)
    np.testing.assert_array_equal(one.reward, two.reward)
    np.testing.assert_array_equal(one.is_done, two.is_done)


@pytest.mark.usefixtures("x64")
def test_acrobot_is_gymnasiums():
    env = gymnasium.make("Acrobot-v1").unwrapped
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    states = rng.uniform(-1, 1, (1000, 4)) * (np.pi, np.pi, 12, 25)
    actions = rng.integers(3, size=1000)
    ours = jax.vmap(partial(true_step, Acrobot()))(jnp.asarray(states), jnp.asarray(actions))
    for state, action, after, is_done in zip(states, actions, np.asarray(ours.state), ours.is_done, strict=True):
        env.state = state
        _, _, terminated, _, _ = env.step(int(action))
        gap = after - env.state
        gap[:2] = (gap[:2] + np.pi) % (2 * np.pi) - np.pi
        assert np.abs(gap).max() < 1e-10
        assert terminated == bool(is_done)


@pytest.mark.usefixtures("x64")
def test_acrobot_keeps_its_energy_without_torque():
    def energy(state):
        t1, t2, w1, w2 = state
        d11 = 2 * 0.25 + 1 + np.cos(t2) + 2
        d12, d22 = 0.25 + 0.5 * np.cos(t2) + 1, 1.25
        kinetic = 0.5 * (d11 * w1**2 + 2 * d12 * w1 * w2 + d22 * w2**2)
        return kinetic - 9.8 * (1.5 * np.cos(t1) + 0.5 * np.cos(t1 + t2))

    rng = np.random.default_rng(1)
    for _ in range(20):
        state = rng.uniform(-1, 1, 4) * (0.5, 0.5, 0.3, 0.3)
        after, _, _ = moves(Acrobot(), state, 1)
        assert energy(after) == pytest.approx(energy(state), abs=2e-3)


def test_map_returns_are_those_measured_elsewhere():
    for kind in (1, 2):
        hand, success = returns_of(Map2D(kind), BY_HAND, jr.key(0), 4000)
        assert success.all()
        assert float(hand.mean()) == pytest.approx(998.85, abs=0.05)
    random, success = returns_of(Map2D(), RANDOM, jr.key(1), 4000)
    assert abs(float(success.mean()) - 0.023) < 5 * np.sqrt(0.023 / 4000)
    assert abs(float(random.mean()) + 67) < 5 * float(random.std()) / np.sqrt(4000)
    assert -500 <= float(random.min()) <= float(random.max()) <= 1000


def test_map_optimum_is_that_of_a_search():
    """Breadth first over reachable points: 11 to 14 steps from the start square, 12.2 on average."""
    domain = Map2D()
    step = jax.jit(jax.vmap(jax.vmap(partial(true_step, domain), in_axes=(None, 0)), in_axes=(0, None)))
    lengths = []
    for key in jr.split(jr.key(3), 8):
        frontier, seen = np.asarray(domain.reset(key))[None], set()
        for length in range(1, 20):
            padded = np.pad(frontier, ((0, -len(frontier) % 1024), (0, 0)), mode="edge")
            outcome = step(padded, jnp.arange(4))
            if np.asarray(outcome.is_done).any():
                lengths.append(length)
                break
            fresh = {tuple(np.round(s / 0.02).astype(int)): s for s in np.asarray(outcome.state).reshape(-1, 2)}
            frontier = np.asarray([state for cell, state in fresh.items() if cell not in seen])
            seen |= set(fresh)
    assert len(lengths) == 8
    assert 11 <= min(lengths) <= max(lengths) <= 14
    assert 1000 - 0.1 * (np.mean(lengths) - 1) == pytest.approx(998.88, abs=0.1)


def test_acrobot_returns_are_those_measured_elsewhere():
    hand, success = returns_of(Acrobot(), BY_HAND, jr.key(0), 100)
    assert success.mean() >= 0.97
    assert float(hand.mean()) == pytest.approx(-11.1, abs=1.5)
    random, _ = returns_of(Acrobot(), RANDOM, jr.key(1), 100)
    assert float(random.mean()) == pytest.approx(-153, abs=6)
    still, success = returns_of(Acrobot(), STILL, jr.key(2), 100)
    assert float(still.mean()) == pytest.approx(-179.6, abs=0.5)
    assert not success.any()
    assert -180.1 <= float(random.min()) <= float(hand.max()) <= 10


@pytest.mark.parametrize("domain", [Map2D(), Acrobot()], ids=["map", "acrobot"])
def test_environments_pass_gymnasiums_checks(domain):
    from gymnasium.utils.env_checker import check_env

    env = make_environment(domain)
    check_env(env, skip_render_check=True)
    env.reset(seed=1)
    for _ in range(domain.horizon):
        observation, _, terminated, truncated, _ = env.step(1)
        assert observation in env.observation_space
        if terminated or truncated:
            break
    assert truncated != terminated


class Corridor(Map2D):
    """Two steps to the east reach the goal; every other move costs the same and leads back."""

    __slots__ = ()
    horizon = 8

    def reset(self, key):
        return jr.uniform(key, (2,), minval=-0.5, maxval=-0.4) * jnp.asarray((1.0, -1.0))


CORRIDOR = DqnSettings((16, 16), num_episodes=300, max_steps=3000, snapshot_episodes=100, learning_rate=5e-3)


@pytest.fixture(scope="module")
def corridor():
    return learn(true_world(Corridor()), CORRIDOR, jr.key(0))


def test_learner_solves_a_trivial_problem(corridor):
    network = jax.tree.map(lambda leaf: leaf[-1], corridor.networks)
    outcome = evaluate(Corridor(), network, 0.0, jr.key(1), num_episodes=50)
    assert outcome.is_success.mean() > 0.9
    assert float(jnp.median(outcome.lengths)) <= 4
    assert corridor.successes[-1] > corridor.successes[0]


def test_learner_remembers_what_happened(corridor):
    rows = collect.Transitions.of(np.asarray(corridor.transitions)[: int(corridor.num_steps)], Corridor())
    outcome = jax.vmap(partial(true_step, Corridor()))(jnp.asarray(rows.states, float), rows.actions)
    np.testing.assert_allclose(outcome.state, rows.next_states, atol=1e-5)
    np.testing.assert_allclose(outcome.reward, rows.rewards, atol=1e-4)
    assert int(rows.is_done.sum()) <= int(corridor.episodes[-1])
    assert int(corridor.episodes[-1]) >= 300 or int(corridor.num_steps) == 3000


def test_learner_repeats_itself_and_values_are_finite(corridor):
    again = learn(true_world(Corridor()), CORRIDOR, jr.key(0))
    np.testing.assert_array_equal(again.transitions, corridor.transitions)
    network = jax.tree.map(lambda leaf: leaf[-1], again.networks)
    assert np.isfinite(values(network, jnp.zeros((3, 2)))).all()


def test_errors_take_angles_the_short_way():
    truth = np.zeros((1, 4))
    found = protocol.errors(Acrobot(), np.asarray([[2 * np.pi - 0.2, 0, 0, 0.2]]), truth)
    assert found["rmse"] == pytest.approx(np.sqrt(((2 * np.pi - 0.2) ** 2 + 0.04) / 4))
    assert found["rmse_wrapped"] == pytest.approx(np.sqrt(0.08 / 4))


def test_trials_are_balanced_and_collections_come_first():
    keys = experiment.trials(False)
    assert len({json.dumps(key) for key in keys}) == len(keys) == 10 * len(experiment.METHODS)
    for index, key in enumerate(keys):
        assert {"size": "full", "seed": key["seed"], "method": "collect"} in keys[: index + 1]
        assert key["seed"] <= 1 + min(k["seed"] for k in keys[index:])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rl-map", "rl-acrobot"])
def test_experiment_runs_end_to_end_and_goes_on_where_it_stopped(name, tmp_path, monkeypatch):
    full = load(name)
    names = ("collect", "random", "structured-100-100")
    keys = [key for key in experiment.trials(True, 1, "tiny") if key["method"] in names]
    tiny = Experiment(full.title, full.claim, lambda quick: keys, full.run, full.find)
    monkeypatch.setattr("pritchel.experiments.reproduce.load", lambda name: tiny)
    outcome = run_experiment(name, tmp_path)
    assert not outcome.failures
    assert outcome.finding is not None
    assert all(path.stat().st_size > 5000 for path in FIGURES[name](outcome.records, tmp_path))
    assert {row[0] for row in outcome.finding.rows} == {experiment.METHODS[method].label for method in names}
    assert all(len(row) == len(outcome.finding.columns) for row in outcome.finding.rows)
    prints = {record["result"]["data"]["fingerprint"] for record in Records(tmp_path / f"{name}.jsonl").of(keys[::2])}
    assert len(prints) == 1  # both methods saw the same rows

    def must_not_run(key):
        raise AssertionError(f"ran again: {key}")

    monkeypatch.setattr("pritchel.experiments.reproduce.load", lambda name: tiny._replace(run=must_not_run))
    again = run_experiment(name, tmp_path)
    assert not again.failures
    assert again.finding == outcome.finding


def test_acrobot_is_drawn_from_records_alone(tmp_path):
    path = [[0.1 * time, 0.0, 0.0, 0.0] for time in range(9)]
    test = [{"return": -20.0, "success": 1.0, "length": 90.0}] * 2
    curve = {"steps": [10, 20], "episodes": [1, 2], "imagined": [-90.0, -30.0], "true": [-80.0, -20.0]}
    result = {"test": test, "test_random": test, "curve": curve}
    result |= {"fit": {"rmse": 0.5, "rmse_wrapped": 0.25}, "picture": [{"true": path, "imagined": [path[1:]] * 6}]}
    records = [
        {"key": {"size": "full", "seed": seed, "method": method}, "result": result}
        for seed in range(5)
        for method in experiment.METHODS
        if method != "random"
    ]
    figures = FIGURES["rl-acrobot"](records, tmp_path)
    assert len(figures) == 3
    assert all(figure.stat().st_size > 5000 for figure in figures)
    finding = load("rl-acrobot").find(records)
    row = dict(zip(finding.columns, finding.rows[-2], strict=True))
    assert row["test RMSE"] == "0.500 [0.500, 0.500]"
    assert row["angles wrapped"] == "0.250 [0.250, 0.250]"
    assert row["reward, greedy"] == "-20.0 [-20.0, -20.0]"
    assert row["paper reward"] == "-17.5"


def test_verdict_needs_both_architectures():
    def record(method, seed, value):
        return {"key": {"method": method, "seed": seed}, "result": {"test": [{"return": value}]}}

    def records(gain_500, gain_100, num_seeds=5):
        return [
            record(f"{kind}-{size}", seed, seed + (gain if kind == "structured" else 0))
            for size, gain in (("500", gain_500), ("100-100", gain_100))
            for kind in ("bnn", "structured")
            for seed in range(num_seeds)
        ]

    assert experiment.judge(records(5, 3))[1] == "holds"
    assert experiment.judge(records(5, 3, num_seeds=4))[1] == "unclear"
    assert experiment.judge(records(5, -3))[1] == "does not hold"
    assert experiment.judge(records(5, 0))[1] == "unclear"
    assert experiment.judge([])[1] == "unclear"
