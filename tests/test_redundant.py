"""Units whose part others take over: against constrained minima and copies; what a fit then keeps."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

from pritchel.data.dataset import Dataset
from pritchel.guide.member import Member
from pritchel.guide.network import draw_noise_shapes, draw_weights, keep_units
from pritchel.infer import redundant
from pritchel.infer.redundant import take_out, without_redundant
from pritchel.model.likelihoods import LIKELIHOODS, LikelihoodStart
from pritchel.model.network import forward
from pritchel.tree import map_leaves
from tests.conftest import tiny
from tests.test_guides import build


def quadratics(seed: int, num_units: int = 6, num_outputs: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(num_outputs, 2 * num_units, num_units + 1))
    return rng.normal(size=(num_units + 1, num_outputs)), roots.swapaxes(1, 2) @ roots


def test_what_leaves_costs_what_the_best_of_the_others_leaves_behind():
    mean, hessians = quadratics(0)
    left, new = take_out(mean, hessians, 20.0)
    assert 0 < len(left) < 6
    rows = np.append(left, 6)
    gone = np.setdiff1d(np.arange(6), left)
    for output, hessian in enumerate(hessians):  # of (w - mean)' H (w - mean), w zero where a unit has left
        best = (
            mean[rows, output]
            + np.linalg.solve(hessian[np.ix_(rows, rows)], hessian[np.ix_(rows, gone)]) @ (mean[gone, output])
        )
        np.testing.assert_allclose(new[rows, output], best)
        np.testing.assert_array_equal(new[gone, output], 0)


def test_the_cheapest_goes_first_and_none_that_is_dear():
    mean, hessians = quadratics(1)
    units = range(6)

    def cost(unit):
        rest = [row for row in range(7) if row != unit]
        return sum(
            0.5 * w[unit] ** 2 * (h[unit, unit] - h[unit, rest] @ np.linalg.solve(h[np.ix_(rest, rest)], h[rest, unit]))
            for w, h in zip(mean.T, hessians, strict=True)
        )

    costs = np.array([cost(unit) for unit in units])
    assert len(take_out(mean, hessians, 0.999 * costs.min())[0]) == 6
    left, _ = take_out(mean, hessians, 1.001 * costs.min())
    assert costs.argmin() not in left
    assert len(take_out(mean, hessians, np.inf)[0]) == 1


@pytest.mark.parametrize("name", ["gaussian", "heteroscedastic", "poisson", "categorical"])
def test_curvature_is_that_of_the_log_density(x64, name):
    """At values of y for which its expectation is taken: exactly where the density is Gaussian in f, or a bound."""
    targets = np.array([[1.0], [2.0], [0.0]])
    likelihood = LIKELIHOODS[name]().build(LikelihoodStart(targets, np.full(3, 1e9), 3))
    outputs = 0.3 * np.random.default_rng(0).normal(size=(3, likelihood.num_outputs(1)))
    params = jnp.full(likelihood.start(1).shape, 0.3)
    got = np.asarray(redundant._curvature(likelihood, params, jnp.asarray(targets), jnp.asarray(outputs)))
    for output in range(outputs.shape[1]):
        step = 1e-3 * np.eye(outputs.shape[1])[output]
        at, up, down = (
            np.asarray(likelihood.log_density(params, jnp.asarray(targets), jnp.asarray(outputs + move)))
            for move in (0 * step, step, -step)
        )
        second = -(up - 2 * at + down) / 1e-6
        np.testing.assert_allclose(got[:, output], second, rtol=0.15 if name == "categorical" else 1e-3, atol=2e-3)


def member_with_copies(num_copies: int = 3) -> tuple[Member, Dataset]:
    """A network of two units, each of them in some copies that share its part."""
    rng = np.random.default_rng(0)
    model, guide = build("structured", hidden=(2,), spread=0.3, activation="swish")
    index = np.repeat([0, 1], [num_copies, 2])
    guide = keep_units(map_leaves(np.asarray, guide), (index,))
    share = np.append(np.repeat([1 / num_copies, 0.5], [num_copies, 2]), 1.0)[:, None]
    guide = replace(guide, output=replace(guide.output, mean=guide.output.mean * share))
    guide = map_leaves(lambda leaf: leaf.astype(np.float32), guide)
    inputs = rng.normal(size=(500, 3)).astype(np.float32)
    data = Dataset(inputs, rng.normal(size=(500, 2)).astype(np.float32), np.ones(500, np.float32))
    return Member.unpruned(map_leaves(lambda leaf: np.asarray(leaf, np.float32), model), guide), data


def at_mean(member: Member, inputs: np.ndarray) -> np.ndarray:
    noise = map_leaves(lambda leaf: np.zeros(leaf.shape, np.float32), draw_noise_shapes(member.guide))
    weights = draw_weights(member.model, map_leaves(np.asarray, member.guide), noise)
    return np.asarray(forward(weights, inputs, member.model.activation))


def test_copies_leave_and_what_the_network_says_stays():
    member, data = member_with_copies()
    fewer = without_redundant(member, data)
    assert fewer.guide.widths == (3, 2, 2)
    assert sorted(np.repeat([0, 1], [3, 2])[fewer.kept[0]]) == [0, 1]
    before, after = at_mean(member, data.inputs), at_mean(fewer, data.inputs)
    np.testing.assert_allclose(after, before, atol=0.1 * before.std())
    again = without_redundant(fewer, data)
    assert again.guide.widths == fewer.guide.widths


def test_rows_count_by_their_weights():
    member, data = member_with_copies(1)
    assert without_redundant(member, data).guide.widths == (3, 2, 2)
    assert without_redundant(member, data._replace(weights=0 * data.weights)).guide.widths == (3, 1, 2)


@pytest.mark.filterwarnings("ignore::pritchel.FitWarning")
def test_a_fit_has_them_out_before_its_chains_and_not_without(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=100)
    options = {"hidden": (12,), "activation": "swish", "training__num_steps": 600, "random_state": 0}
    short = {"sampling__num_warmup": 20, "sampling__num_samples": 20}
    plain = tiny(**options, inference="variational").fit(X, y)
    sampled = tiny(**options, **short, inference="sampled").fit(X, y)
    assert sampled.posterior_.members[0].guide.widths[1] < plain.prune().posterior_.members[0].guide.widths[1]
    monkeypatch.setattr(redundant, "MOST_NATS", -1.0)
    every = tiny(**options, **short, inference="sampled").fit(X, y)
    assert every.posterior_.members[0].guide.widths[1] == plain.prune().posterior_.members[0].guide.widths[1]
