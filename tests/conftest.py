"""Shared fixtures: float64 for oracle tests, one small table, one small fitted estimator."""

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # before SciPy is imported, or scikit-learn skips one of its checks

from pritchel.compile_cache import compile_fast

compile_fast()  # tests compile thousands of small programs and run each briefly
os.environ["PRITCHEL_CACHE"] = "off"  # what is on this machine changes nothing

import jax
import numpy as np
import psutil
import pytest

from pritchel import HorseshoeRegressor
from pritchel.model.likelihoods import Likelihood, LikelihoodStart
from pritchel.model.likelihoods.gaussian import Gaussian
from pritchel.programs import give_memory_back


def gaussian(noise_prior: tuple[float, float], num_rows: float) -> Likelihood:
    """Gaussian noise for a table of so many rows."""
    return Gaussian(noise_prior).build(LikelihoodStart(np.zeros((1, 1)), np.full(1, float(num_rows))))


TINY = {
    "hidden": (8,),
    "family": "factorized",  # half the time to compile; what is special about a family is tested with that family
    "training__num_steps": 400,
    "training__learning_rate": 0.05,
    "inference": "variational",
    "num_members": 1,
    "progress": False,
    "random_state": 0,
}


def tiny(kind=HorseshoeRegressor, /, **changes):
    """A small estimator that is fitted in a moment, with some arguments, or settings inside them, changed."""
    noise = {"likelihood": "gaussian"} if kind is HorseshoeRegressor else {}
    return kind().set_params(**TINY | noise | changes)


ROOM = 1.2e9  # bytes that a worker may hold as it goes on to another file of tests


@pytest.fixture(scope="session", autouse=True)
def all_programs_are_kept():
    """The tests of a file, and of others while there is room, share what is compiled."""
    from pritchel import programs

    programs.MAX_PROGRAMS = 10_000


@pytest.fixture(scope="module", autouse=True)
def little_memory():
    """Forget what is compiled after a file of tests, once it takes much room."""
    yield
    if psutil.Process().memory_info().rss > ROOM:
        jax.clear_caches()
        give_memory_back()


@pytest.fixture
def x64():
    """Double precision for the length of a test."""
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


@pytest.fixture(scope="session")
def table() -> tuple[np.ndarray, np.ndarray]:
    """Sixty rows of a smooth function of three inputs, one of which is idle."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 3))
    return X, 10 + 3 * np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=60)


@pytest.fixture(scope="session")
def fitted(table) -> HorseshoeRegressor:
    """A small fitted estimator; tests must not change it."""
    return tiny().fit(*table)
