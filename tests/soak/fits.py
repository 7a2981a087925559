"""Fits that are killed and go on, that find no memory, and that are made again and again."""

import contextlib
import os
import resource
import shutil
import signal
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np

from pritchel import load
from tests.conftest import tiny
from tests.soak.area import Area, has_ended, in_child, outcome


def _table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=60)


class KilledFits(Area):
    """A fit with chains is killed at any moment, up to three times, and goes on. Nothing is computed in this process:
    what is forked from it is free to."""

    about = "`kill -9` of a fit (steps, chains, checkpoints, save), then resumed"

    def __init__(self, folder: Path):
        super().__init__(folder)
        os.environ["PRITCHEL_CACHE"] = str(folder / "programs")  # a try is to meet the fit, not the compiler
        import jax  # noqa: F401 - once, for all that are forked

        assert outcome(in_child(lambda: self._fit("whole"))) == 0
        shutil.rmtree(folder / "whole.partial")
        start = time.perf_counter()
        assert outcome(in_child(lambda: self._fit("whole"))) == 0  # from the start, with its programs made
        self.seconds = time.perf_counter() - start
        self.answers = load(folder / "whole").predict(_table()[0])

    def _fit(self, name: str) -> None:
        from pritchel.infer import checkpoint

        checkpoint.EVERY_SECONDS = 0.0
        warnings.simplefilter("ignore")
        model = tiny(
            inference="sampled",
            training__num_steps=1500,
            sampling__num_warmup=20,
            sampling__num_samples=40,
            num_members=2,
            num_draws=20,
            n_jobs=2,
            checkpoint=self.folder / f"{name}.partial",
        ).fit(*_table())
        model.save(self.folder / name, overwrite=True)

    def attempt(self, rng: np.random.Generator) -> None:
        """However often it was killed, the end is the same to the bit."""
        for leftover in ("killed", "killed.partial"):
            shutil.rmtree(self.folder / leftover, ignore_errors=True)
        for _ in range(int(rng.integers(1, 4))):
            pid = in_child(lambda: self._fit("killed"))
            end = time.monotonic() + rng.uniform(0, self.seconds)
            while time.monotonic() < end and not has_ended(pid):
                time.sleep(0.005)
            os.kill(pid, signal.SIGKILL)
            assert outcome(pid) in (0, -signal.SIGKILL)
        assert outcome(in_child(lambda: self._fit("killed"))) == 0
        np.testing.assert_array_equal(load(self.folder / "killed").predict(_table()[0]), self.answers)


class LittleMemory(Area):
    """Models and tables are read and predicted from with little memory left."""

    about = "little memory left (address-space limits): load, predict, read a table"

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.table = folder / "t.csv"
        rng = np.random.default_rng(0)
        rows = ("{:.3f},{:.3f},{:.3f}".format(*row) for row in rng.normal(size=(20_000, 3)))
        self.table.write_text("\n".join(["a,b,c", *rows]) + "\n")

        def fit() -> None:
            warnings.simplefilter("ignore")
            model = tiny(training__num_steps=20, num_draws=20).fit(*_table())
            model.save(folder / "m", overwrite=True)
            np.save(folder / "answers.npy", model.predict(self.inputs))

        self.inputs = rng.normal(size=(5000, 3))
        assert outcome(in_child(fit)) == 0  # nothing is computed in this process: what is forked from it is free to
        self.answers = np.load(folder / "answers.npy")

    def attempt(self, rng: np.random.Generator) -> None:
        """The right answer, or an error that says what is lacking; never a crash, never a wrong answer."""
        from pritchel.tables.read import read_table

        room = int(2 ** rng.uniform(18, 28))
        is_table = rng.random() < 0.4

        def run() -> None:
            load(self.folder / "m").predict(self.inputs[:3])  # JAX's runtime, which no limit stops but by a crash
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + room, used + room))
            with contextlib.suppress(MemoryError, OSError):
                if is_table:
                    assert len(read_table(str(self.table))) == 20_000
                else:
                    np.testing.assert_array_equal(load(self.folder / "m").predict(self.inputs), self.answers)

        assert outcome(in_child(run)) == 0


class Repeats(Area):
    """Fit, save, load, predict, over and over in one process."""

    about = "fits, saves and loads repeated: memory, threads, open files"
    settling = 20

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.number, self.first = 0, (0.0, 0, 0)

    def attempt(self, rng: np.random.Generator) -> None:
        """After the first few, a try leaves nothing behind."""
        X, y = _table()
        warnings.simplefilter("ignore")
        model = tiny(training__num_steps=10, num_draws=5, random_state=int(rng.integers(1000))).fit(X, y)
        model.save(self.folder / "m", overwrite=True)
        np.testing.assert_array_equal(load(self.folder / "m").predict(X), model.predict(X))
        self.number += 1
        now = (_resident_megabytes(), threading.active_count(), len(list(Path("/proc/self/fd").iterdir())))
        if self.number <= self.settling:
            self.first = now
            return
        grown = now[0] - self.first[0]
        assert grown < 20 + 0.02 * (self.number - self.settling), f"{grown:.0f} MB more after {self.number} tries"
        assert now[1] <= self.first[1] + 1, f"{now[1]} threads, {self.first[1]} at first"
        assert now[2] <= self.first[2] + 1, f"{now[2]} open files, {self.first[2]} at first"


def _resident_megabytes() -> float:
    assert sys.platform == "linux"
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20
