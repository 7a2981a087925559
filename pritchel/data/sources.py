"""Benchmark tables by name, from a local folder: PRITCHEL_DATA, or `../shared/data` beside the checkout."""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

UCI = ("yacht", "boston", "energy", "concrete", "wine", "kin8nm", "power", "naval", "protein")  # smallest first
OPTIONAL = ("year",)  # used where somebody has put its file


class Table(NamedTuple):
    """A raw table with its standard test rows, one set a split."""

    name: str
    inputs: np.ndarray
    targets: np.ndarray
    test_index: np.ndarray

    def split(self, index: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Training inputs and targets, then test inputs and targets."""
        test = self.test_index[index]
        train = np.setdiff1d(np.arange(len(self.targets)), test)
        return self.inputs[train], self.targets[train], self.inputs[test], self.targets[test]


def _folder() -> Path:
    named = os.environ.get("PRITCHEL_DATA")
    return Path(named) if named else Path(__file__).parents[3] / "shared" / "data"


def data_folder() -> Path:
    """Where the benchmark tables are; a FileNotFoundError that says what to do where they are not."""
    folder = _folder()
    if not (folder / "uci").is_dir():
        raise FileNotFoundError(
            f"no benchmark tables at {folder}: set PRITCHEL_DATA to a folder that holds uci/boston.npz and its like "
            "(arrays X, y and test_index)."
        )
    return folder


def available_tables() -> tuple[str, ...]:
    """The nine UCI tables, and the optional ones whose file is there; smallest first."""
    return UCI + tuple(name for name in OPTIONAL if (_folder() / "uci" / f"{name}.npz").exists())


def load_uci(name: str) -> Table:
    """One of the UCI tables with its standard splits."""
    known = UCI + OPTIONAL
    if name not in known:
        raise ValueError(f"name must be one of {', '.join(known)}; got {name!r}.")
    with np.load(data_folder() / "uci" / f"{name}.npz", allow_pickle=False) as arrays:
        return Table(name, arrays["X"], arrays["y"], arrays["test_index"])
