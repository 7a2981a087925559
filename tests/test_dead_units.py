import jax
import numpy as np
import pytest

from pritchel import HorseshoeRegressor
from pritchel.guide.network import take_units
from pritchel.infer.dead_units import Cut, DeadUnits, UnitsState
from pritchel.infer.outputs import pass_noise_shapes
from tests.conftest import tiny
from tests.test_guides import FAMILIES, build, noise_for, table_batch, total_elbo


def dead_guide(family, hidden, repeats):
    """A model and a guide whose last unit of each layer is dead, and the guide in which it is there several times."""
    model, guide = build(family, hidden=hidden, linear=True)
    guide = jax.tree.map(np.array, guide)
    for layer in guide.layers:
        log_scale = layer.joint.mean[-1:] if family == "structured" else layer.log_unit_scales.mean[None]
        log_scale[0, -1] = -60.0
    index = tuple(np.append(np.arange(units), [units - 1] * (repeats - 1)) for units in hidden)
    return model, guide, take_units(guide, index)


@pytest.mark.parametrize(
    "family",
    [pytest.param(name, marks=[] if name == "tied" else pytest.mark.slow) for name in FAMILIES],
)
@pytest.mark.parametrize("hidden", [(4, 3)], ids=["2"])
def test_a_unit_that_stands_for_dead_ones_gives_the_same_gradient(x64, family, hidden):
    """Three dead units alike, or one that counts for three: what is left to train cannot tell the difference."""
    model, guide, wide = dead_guide(family, hidden, repeats=3)
    kept = tuple(np.arange(units) for units in hidden)
    counts = tuple(np.append(np.ones(units - 1), 3.0) for units in hidden)
    cut = Cut(kept, counts)
    small = cut.apply(wide)
    batch = table_batch()
    gradient = jax.jit(jax.grad(total_elbo, argnums=1), static_argnames="objective")
    noise = noise_for(pass_noise_shapes(guide, 6, "moments"), 2)
    of_wide = take_units(gradient(model, wide, batch, noise, objective="moments"), kept)
    of_small = gradient(model, small, batch, noise, objective="moments")
    live = tuple(np.arange(units - 1) for units in hidden)
    in_small = dict(jax.tree_util.tree_leaves_with_path(take_units(of_small, live)))
    for path, leaf in jax.tree_util.tree_leaves_with_path(take_units(of_wide, live)):
        np.testing.assert_allclose(in_small[path], leaf, rtol=1e-9, atol=1e-12, err_msg=jax.tree_util.keystr(path))


@pytest.mark.parametrize("family", ["structured", "semi_structured"])
def test_counts_are_never_trained(family):
    """Of inputs and units, and of the rows that a layer has beside them: they once drifted, and the bound with them."""
    _, guide = build(family, hidden=(4, 3))
    cut = Cut((np.arange(3), np.arange(2)), (np.array([1.0, 1.0, 2.0]), np.array([1.0, 2.0])))
    moves = cut.apply_to_updates(jax.tree.map(np.ones_like, guide))
    counts = {
        jax.tree_util.keystr(path): leaf
        for path, leaf in jax.tree_util.tree_leaves_with_path(moves)
        if "counts" in jax.tree_util.keystr(path)
    }
    assert len(counts) == 4
    assert not any(leaf.any() for leaf in counts.values())
    kept = jax.tree_util.tree_leaves_with_path(cut.apply(guide))
    assert all(leaf.min() >= 1 for path, leaf in kept if "counts" in jax.tree_util.keystr(path))


@pytest.mark.slow
def test_a_thousand_units_for_a_hundred_rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (100, 1))
    truth = np.sin(2 * X[:, 0])
    model = HorseshoeRegressor(hidden=(1000,), num_members=1, random_state=0, inference="variational", progress=False)
    model.fit(X, truth + 0.1 * rng.normal(size=100))
    assert model.posterior_.members[0].guide.widths[1] < 1000  # most left on the way
    assert np.sqrt(np.mean((model.predict(X) - truth) ** 2)) < 0.1


def test_units_leave_only_after_two_looks_and_only_in_powers_of_two():
    model, guide = build(hidden=(100,))
    guide = jax.tree.map(np.array, guide)
    guide.layers[0].joint.mean[-1, 20:] = -60.0
    units = DeadUnits(model.prior, UnitsState.start(guide), drop=True)
    assert units.look(guide, 0.5) is None
    cut = units.look(guide, 0.5)
    assert cut is not None
    assert set(range(20)) < set(cut.units[0])
    assert cut.counts[0].sum() == pytest.approx(100)
    assert cut.apply(guide).widths == (3, 32, 2)
    np.testing.assert_array_equal(cut.counts[0][:20], 1.0)
    np.testing.assert_array_equal(units.state.kept[0], cut.units[0])


def test_automatic_dropping_weighs_what_it_gains():
    model, guide = build(hidden=(100,))
    guide = jax.tree.map(np.array, guide)
    guide.layers[0].joint.mean[-1, 20:] = -60.0
    for drop, rows, is_cut in (("auto", 1e5, False), ("auto", 1e9, True), (False, 1e9, False), (True, 1.0, True)):
        units = DeadUnits(model.prior, UnitsState.start(guide), drop, rows)
        units.look(guide, 0.5)
        assert (units.look(guide, 0.5) is not None) == is_cut


@pytest.mark.parametrize("family", ["factorized", pytest.param("structured", marks=pytest.mark.slow)])
def test_dropping_changes_neither_the_units_kept_nor_the_predictions(table, family):
    X, y = table
    settings = {"hidden": (64,), "training__num_steps": 1500, "training__learning_rate": 0.03, "family": family}
    full = tiny(**settings, training__drop_dead_units=False).fit(X, y)
    small = tiny(**settings, training__drop_dead_units=True).fit(X, y)
    member = small.posterior_.members[0]
    assert member.guide.widths[1] < 64, "nothing was dropped: the comparison would show nothing"
    assert member.offered == (64,)
    kept = [set(np.flatnonzero(model.unit_scales_[0][0] > 1e-2)) for model in (full, small)]
    assert kept[0] == kept[1]
    assert np.sqrt(np.mean((full.predict(X) - small.predict(X)) ** 2)) < 0.1 * y.std()
    assert small.unit_scales_[0][0].shape == small.weight_norms_[0][0].shape == (64,)
    pruned = small.prune()
    assert pruned.prune_report_[0].offered == (64,)
    np.testing.assert_allclose(pruned.predict(X), small.predict(X), atol=0.02 * y.std())
