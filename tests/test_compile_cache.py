"""Compiled programs on disk: whose folder, what is kept out of it, and that fits are the same with it."""

import os
import shutil
import subprocess
import sys
import time
import zlib

import jax
import pytest

from pritchel import compile_cache
from pritchel.compile_cache import use_compile_cache

FIT = """
import numpy as np
from pritchel import HorseshoeRegressor, Training
X = np.random.default_rng(0).normal(size=(40, 2))
model = HorseshoeRegressor(hidden=(3,), num_members=1, family="factorized", training=Training(num_steps=20))
model.set_params(inference="variational", progress=False, random_state=0).fit(X, X[:, 0])
print(model.predict(X).tobytes().hex()[:400])
"""


@pytest.fixture(autouse=True)
def as_it_was():
    yield
    jax.config.update("jax_compilation_cache_dir", None)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A user's empty cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("PRITCHEL_CACHE")
    return tmp_path


def test_the_default_is_the_users_own_and_private(home):
    path = use_compile_cache()
    assert path is not None
    assert path.parent == home / "pritchel" / "programs"
    assert path.stat().st_mode & 0o077 == 0
    assert jax.config.jax_compilation_cache_dir == str(path)


def test_it_can_be_named_or_turned_off(home, tmp_path, monkeypatch):
    monkeypatch.setenv("PRITCHEL_CACHE", "off")
    assert use_compile_cache() is None
    assert jax.config.jax_compilation_cache_dir is None
    monkeypatch.setenv("PRITCHEL_CACHE", str(tmp_path / "programs"))
    assert use_compile_cache() == tmp_path / "programs"
    assert jax.config.jax_compilation_cache_dir == str(tmp_path / "programs")


def test_a_cache_of_jaxs_own_stays(home):
    jax.config.update("jax_compilation_cache_dir", "/somewhere/else")
    assert use_compile_cache() is None
    assert jax.config.jax_compilation_cache_dir == "/somewhere/else"


def test_one_that_was_named_and_cannot_be_used_is_told_of(home, tmp_path):
    (tmp_path / "file").touch()
    for unusable in (tmp_path / "file" / "below", tmp_path / "file", "~nobody-of-that-name/x", "a\0b"):
        with pytest.warns(UserWarning, match="PRITCHEL_CACHE"):
            assert use_compile_cache(unusable) is None


def test_a_default_that_others_can_write_to_or_nobody_can_is_done_without(home):
    path = use_compile_cache()
    assert path is not None
    jax.config.update("jax_compilation_cache_dir", None)
    path.chmod(0o770)
    assert use_compile_cache() is None
    shutil.rmtree(path)
    path.touch()
    assert use_compile_cache() is None


def write(path, name, data, age):
    (path / name).write_bytes(data)
    os.utime(path / name, (time.time() - age,) * 2)


def test_files_cut_short_go_and_so_do_the_oldest(home, monkeypatch):
    path = use_compile_cache()
    assert path is not None
    jax.config.update("jax_compilation_cache_dir", None)
    (path / "checked").unlink()
    sound = zlib.compress(bytes(range(256)) * 10)
    write(path, "a-cache", sound, 900)
    write(path, "b-cache", sound[:-5], 600)
    write(path, "c-cache", sound[:50] + b"?" + sound[51:], 500)
    write(path, "d-cache", sound[:-5], 1)  # somebody may be writing it
    write(path, "notes.txt", b"", 900)
    use_compile_cache()
    assert {own.name for own in path.iterdir()} == {"a-cache", "d-cache", "notes.txt", "checked"}
    write(path, "e-cache", sound, 300)
    monkeypatch.setattr(compile_cache, "MAX_BYTES", 2 * len(sound))
    jax.config.update("jax_compilation_cache_dir", None)
    use_compile_cache()
    assert {own.name for own in path.iterdir()} == {"d-cache", "e-cache", "notes.txt", "checked"}


def test_a_fit_is_the_same_with_it_and_a_program_cut_short_is_made_anew(tmp_path):
    """Two processes: nothing on disk; programs on disk, the largest of them cut short."""
    environment = {**os.environ, "PRITCHEL_CACHE": str(tmp_path)}

    def fit() -> str:
        words = [sys.executable, "-W", "error", "-c", FIT]
        return subprocess.run(words, env=environment, check=True, capture_output=True, text=True).stdout

    first, files = fit(), list(tmp_path.glob("*-cache"))
    assert len(files) >= 1
    largest = max(files, key=lambda own: own.stat().st_size)
    largest.write_bytes(largest.read_bytes()[:-100])
    os.utime(largest, (time.time() - 300,) * 2)
    (tmp_path / "checked").unlink()
    assert fit() == first
    assert largest.stat().st_size > 100
