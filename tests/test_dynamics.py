"""Learned dynamics: coherent draws, gradients, batches, roll-outs, and what it says to wrong input."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from pritchel import DynamicsModel
from pritchel.estimators.dynamics_draws import rollout, step
from pritchel.guide.network import keep_units
from tests.conftest import tiny

# Every model here has four inputs and two targets, so that the fit is compiled once.


def spring(states, actions):
    position, speed = states.T
    return np.column_stack([position + 0.1 * speed, speed + 0.1 * (actions.sum(-1) - 3 * np.abs(position))])


@pytest.fixture(scope="module")
def transitions():
    rng = np.random.default_rng(0)
    states, actions = rng.normal(size=(80, 2)), rng.uniform(-1, 1, (80, 2))
    return states, actions, spring(states, actions)


@pytest.fixture(scope="module")
def model(transitions):
    return DynamicsModel(estimator=tiny(num_members=2)).fit(*transitions)


@pytest.fixture(scope="module")
def ragged_model(model):
    """The same with members of different widths, which draws must not mind."""
    smaller = model.prune()
    posterior = smaller.estimator_.posterior_
    first, second = posterior.members
    guide = keep_units(second.guide, (np.arange(3),))
    members = [first, second.reduced(jax.tree.map(np.asarray, guide), (np.arange(3),))]
    smaller.estimator_.posterior_ = posterior.replace_members(members)
    assert first.guide.widths != members[1].guide.widths
    return smaller


@pytest.fixture(scope="module")
def discrete_model(transitions):
    states, _, _ = transitions
    actions = np.arange(80) % 2
    after = states + 0.1 * (2 * actions[:, None] - 1)
    return DynamicsModel(num_actions=2, estimator=tiny()).fit(states, actions, after)


def test_it_predicts_differences(model, transitions):
    states, actions, after = transitions
    mean, spread = model.predict(states, actions, return_std=True)
    np.testing.assert_array_equal(mean, model.predict(states, actions))
    assert np.sqrt(np.mean((mean - after) ** 2)) < 0.1
    assert spread.shape == states.shape
    assert (spread > 0).all()


@pytest.mark.parametrize(("kind", "num_draws"), [("model", 1), ("model", 60), ("ragged_model", 5)])
def test_draws_are_those_behind_sample_functions(request, transitions, kind, num_draws):
    model = request.getfixturevalue(kind)
    states, actions, _ = transitions
    draws = model.draw(num_draws, 3)
    assert draws.num_draws == num_draws
    each = jax.vmap(step, in_axes=(0, None, None))(draws, states, actions)
    expected = np.moveaxis(model.sample_functions(states, actions, num_draws, 3), -1, 0)
    np.testing.assert_allclose(each, expected, atol=2e-5)


def test_a_draw_is_one_function_and_draws_differ(model, transitions):
    states, actions, _ = transitions
    draws = model.draw(8, 1)
    first = step(draws[2], states[:5], actions[:5])
    np.testing.assert_array_equal(first, step(draws[2], states[:5], actions[:5]))
    np.testing.assert_array_equal(jax.tree.leaves(draws)[0], jax.tree.leaves(model.draw(8, 1))[0])
    assert not np.allclose(first, step(draws[3], states[:5], actions[:5]), atol=1e-6)
    assert not np.allclose(first, step(model.draw(8, 2)[2], states[:5], actions[:5]), atol=1e-6)


def test_a_seed_may_be_a_generator_or_none(model, transitions):
    states, actions, _ = transitions
    paths = [model.rollout(states[:4], actions[:4, None], random_state=np.random.RandomState(0)) for _ in range(2)]
    np.testing.assert_array_equal(*paths)
    after = [model.sample_functions(states, actions, 2, random_state=None) for _ in range(2)]
    assert not np.allclose(*after)


def test_batch_is_loop(model, transitions):
    states, actions, _ = transitions
    draws = model.draw(6)
    together = jax.vmap(step)(draws, states[:6], actions[:6])
    alone = [step(draws[i], states[i], actions[i]) for i in range(6)]
    np.testing.assert_allclose(together, np.stack(alone), atol=1e-6)
    np.testing.assert_allclose(step(draws[0], states, actions)[4], step(draws[0], states[4], actions[4]), atol=1e-6)


@pytest.mark.usefixtures("x64")
def test_gradients_agree_with_finite_differences(model):
    draw = model.draw(1)[0]
    plan = np.linspace(-0.5, 0.5, 8).reshape(4, 2)
    start = np.asarray([0.3, -0.2])

    def end(plan):
        return (rollout(draw, start, plan)[-1] ** 2).sum()

    found = jax.grad(end)(jnp.asarray(plan))
    for index in range(4):
        nudge = np.zeros_like(plan)
        nudge[index, 0] = 1e-6
        slope = (end(plan + nudge) - end(plan - nudge)) / 2e-6
        assert float(found[index, 0]) == pytest.approx(float(slope), rel=1e-5, abs=1e-9)


def test_rollouts_keep_their_draw(model, transitions):
    states, actions, _ = transitions
    plan = np.stack([actions[:7]] * 4)
    paths = model.rollout(states[:4], plan, random_state=5)
    assert paths.shape == (4, 8, 2)
    draws = model.draw(4, 5)
    state = jnp.asarray(states[2], float)
    for time in range(7):
        np.testing.assert_allclose(paths[2, time], state, atol=1e-5)
        state = step(draws[2], state, plan[2, time])
    by_policy = model.rollout(states[:4], lambda state: -state, 7, random_state=5)
    assert by_policy.shape == (4, 8, 2)
    np.testing.assert_allclose(by_policy[1, 1], step(draws[1], states[1], -states[1]), atol=1e-5)


def test_discrete_actions_are_one_hot(discrete_model, transitions):
    states, _, _ = transitions
    after = discrete_model.predict(states[:2], [0, 1])
    np.testing.assert_allclose(after - states[:2], [[-0.1] * 2, [0.1] * 2], atol=0.03)
    paths = discrete_model.rollout(states[:2], np.zeros((2, 5), int))
    assert paths.shape == (2, 6, 2)
    assert step(discrete_model.draw(2)[0], states[0], 1).shape == (2,)


def test_angles_go_the_short_way():
    rng = np.random.default_rng(0)
    angle = rng.uniform(-np.pi, np.pi, 200)
    after = (angle + 0.3 + np.pi) % (2 * np.pi) - np.pi
    model = DynamicsModel(angles=(-2,), estimator=tiny())
    states = np.column_stack([angle, np.zeros(200)])
    model.fit(states, np.zeros((200, 1)), np.column_stack([after, np.zeros(200)]))
    mean = model.predict(states, np.zeros(200))
    gap = mean[:, 0] - after
    assert np.abs((gap + np.pi) % (2 * np.pi) - np.pi).max() < 0.05
    assert np.abs(mean[:, 0]).max() <= np.pi + 1e-9
    stepped = step(model.draw(1)[0], jnp.asarray([3.1, 0.0]), jnp.zeros(1))
    assert abs(float(stepped[0])) <= np.pi + 1e-5


def test_pruning_leaves_the_dynamics(model, transitions):
    states, actions, _ = transitions
    smaller = model.prune()
    assert smaller.estimator_.prune_report_
    np.testing.assert_allclose(smaller.predict(states, actions), model.predict(states, actions), atol=1e-2)
    assert smaller.rollout(states[:2], np.zeros((2, 3, 2))).shape == (2, 4, 2)


def test_wrong_input_is_explained(model, discrete_model, transitions):
    states, actions, after = transitions
    with pytest.raises(NotFittedError, match="call fit"):
        DynamicsModel().predict(states, actions)
    with pytest.raises(ValueError, match="integers from 0 to 1"):
        discrete_model.predict(states[:2], [0, 2])
    with pytest.raises(ValueError, match="2 columns"):
        model.predict(states[:, :1], actions)
    with pytest.raises(ValueError, match="a row for each of 80"):
        model.predict(states, actions[:5])
    with pytest.raises(ValueError, match="shaped like states"):
        DynamicsModel().fit(states, actions, after[:, :1])
    with pytest.raises(ValueError, match="num_steps"):
        model.rollout(states, lambda state: state)
    with pytest.raises(ValueError, match="one row of actions"):
        model.rollout(states, actions[:, 0])


def test_custom_of_scikit_learn(model, discrete_model, transitions):
    states, actions, after = transitions
    fresh = clone(model).set_params(num_actions=4, estimator__prior__layer_scale=1e-3)
    assert fresh.get_params()["estimator__prior__layer_scale"] == fresh.estimator.prior.layer_scale == 1e-3
    assert repr(DynamicsModel(num_actions=4)) == "DynamicsModel(num_actions=4)"
    assert model.num_actions is None
    brief = DynamicsModel(estimator=tiny(training__num_steps=5)).fit(states, actions, after)
    assert brief.fit(states[:, :1], actions, after[:, :1]).num_features_ == 1, "a fit starts anew"


def test_outputs_that_are_no_means_are_refused():
    states = np.zeros((5, 2))
    for likelihood in ("mixture", "poisson"):
        with pytest.raises(ValueError, match='give its estimator likelihood="gaussian"'):
            DynamicsModel(estimator=tiny(likelihood=likelihood)).fit(states, np.zeros((5, 1)), states)


def test_noise_that_adapts_keeps_to_one_hump_however_many_rows(monkeypatch, transitions):
    """Of several, none is where the network's output says."""
    monkeypatch.setattr("pritchel.model.likelihoods.adaptive.MANY_ROWS", 10)
    estimator = tiny(likelihood="auto", inference="variational", training__num_steps=20)
    model = DynamicsModel(estimator=estimator).fit(*transitions)
    assert type(model.estimator_.posterior_.likelihood).__name__ == "AdaptiveLikelihood"
