"""The arena's tables by name: real ones of UCI and of packages, and made-up ones whose truth is known."""

from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from from_packages import SPECS, Spec, split_arrays, varying
from made_up import RECIPES, Recipe, log_density

TEST_ROWS = DRAWS = 1000  # of made-up tables


class Truth(NamedTuple):
    """What is known of the test targets of a made-up table."""

    mean: np.ndarray  # of each test row; for classes their probabilities (rows, classes)
    log_density: np.ndarray  # of each test target under the truth
    draws: np.ndarray | None  # (rows, 1000) draws of the target, for quantiles; None for classes


class Split(NamedTuple):
    """Rows to fit and rows to score on: inputs without gaps or constant columns, targets or class codes."""

    X: np.ndarray
    y: np.ndarray
    test_X: np.ndarray
    test_y: np.ndarray
    truth: Truth | None = None


class Table(NamedTuple):
    """A table, what it is, and its splits."""

    name: str
    kind: Literal["regression", "classification"]
    about: str  # what rows are, what is predicted, what is hard
    traits: tuple[str, ...]
    splits: tuple[int, ...]  # which the whole arena uses
    load: Callable[[int], Split]
    rows: int  # to fit; known without loading


THREE = (0, 1, 2)
FRESH = (5, 6, 7)  # Pritchel's settings were chosen on splits 0 to 4 of the small UCI tables
UCI = (  # name, rows to fit, splits, about, traits
    (
        "yacht",
        277,
        FRESH,
        "Yacht hulls and their drag, which spans three orders of magnitude.",
        ("spread varies", "grid"),
    ),
    ("boston", 455, FRESH, "Districts of Boston and their median house price, cut off at 50.", ("capped", "outliers")),
    ("energy", 691, FRESH, "Simulated buildings and their heating load; almost no noise.", ("grid", "little noise")),
    ("concrete", 927, FRESH, "Concrete mixes and their strength; recipes repeat at several ages.", ("duplicates",)),
    ("wine", 1439, FRESH, "Red wines and their grade, a whole number from 3 to 8.", ("grid", "duplicates")),
    ("kin8nm", 7373, (5, 6), "Joint angles of a simulated robot arm and its reach; smooth.", ("smooth", "many rows")),
    (
        "power",
        8611,
        (5, 6),
        "Hours of a power plant and its output, from the weather; smooth.",
        ("smooth", "many rows"),
    ),
    (
        "naval",
        10741,
        (5, 6),
        "States of a simulated ship engine and its decay; no noise.",
        ("little noise", "grid", "many rows"),
    ),
    ("protein", 41157, (3, 4), "Folded proteins and their error of shape; humped targets.", ("two humps", "many rows")),
)


def from_uci(name: str, index: int) -> Split:
    from pritchel.data.sources import load_uci

    X, y, test_X, test_y = load_uci(name).split(index)
    return Split(*varying(X, y, test_X, test_y))


def from_package(spec: Spec, seed: int) -> Split:
    return Split(*split_arrays(spec, seed))


def made_up(recipe: Recipe, seed: int) -> Split:
    """A fresh table; the truth is derived here from the one distribution its targets are drawn from."""
    rng = np.random.default_rng(seed)
    X, test_X = recipe.inputs(rng, recipe.rows), recipe.inputs(rng, TEST_ROWS)
    given, is_class = recipe.given(test_X), recipe.kind == "classification"
    y, test_y = recipe.given(X).rvs(random_state=rng), given.rvs(random_state=rng)
    draws = None if is_class else given.rvs(size=(DRAWS, TEST_ROWS), random_state=rng).T.astype(float)
    truth = Truth(given.mean(), log_density(given, test_y), draws)
    dtype = int if is_class else float
    return Split(X, y.astype(dtype), test_X, test_y.astype(dtype), truth)


def _all() -> list[Table]:
    uci = [
        Table(name, "regression", about, traits, splits, partial(from_uci, name), rows)
        for name, rows, splits, about, traits in UCI
    ]
    packaged = [
        Table(spec.name, spec.kind, spec.about, spec.traits, THREE, partial(from_package, spec), spec.rows * 4 // 5)
        for spec in SPECS
    ]
    drawn = [
        Table(each.name, each.kind, each.about, each.traits, THREE, partial(made_up, each), each.rows)
        for each in RECIPES
    ]
    return sorted(uci + packaged + drawn, key=lambda table: (table.kind != "regression", table.rows))


TABLES: dict[str, Table] = {table.name: table for table in _all()}  # smallest first, regression before classification
