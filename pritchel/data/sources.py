"""Benchmark tables by name: from a local folder, or fetched once from their public source and checked.

Folders are looked through in order: PRITCHEL_DATA, `../shared/data` beside the checkout, the user's cache. A table
that is in none of them is fetched into the cache. Whatever its way here, its arrays must have the digest on record.
"""

import hashlib
import os
import tempfile
import threading
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pritchel.checks import check_choice
from pritchel.data.download import SOURCE, FetchError, fetch_arrays
from pritchel.user_cache import user_cache


class Origin(NamedTuple):
    """Folder of a table at its source, how many splits it has, and the digest of its arrays."""

    folder: str
    num_splits: int
    digest: str


ORIGINS = {  # smallest first
    "yacht": Origin("yacht", 20, "f90e106644d2e51530b3a6703f49e2e9ab39b397b47ff746096154436eac659a"),
    "boston": Origin("bostonHousing", 20, "a701331bfcc0895226c6153a14fa0daa9a81d9864e0bdc3dd702caa1e91a48d9"),
    "energy": Origin("energy", 20, "d1681a550b8dc6a45e95cfbd84b7917a824af867beec6477782b1497cdc46810"),
    "concrete": Origin("concrete", 20, "8f23a27fc73f47b5fadf6afbdc5514729ebf92f06ee989c26237ef99f9e31888"),
    "wine": Origin("wine-quality-red", 20, "53c58c2b17ba3c01b31bf3f33cd3cd786b0737a427880df4827ff3f71dd8141f"),
    "kin8nm": Origin("kin8nm", 20, "6cde454942f5150b73b57b893e928622a34cca3e3ccd7be5010f78d91171d623"),
    "power": Origin("power-plant", 20, "810a4d26e695e2ad82064964feef9f40c6379a184a76dc348330c6dda804359f"),
    "naval": Origin("naval-propulsion-plant", 20, "75e98091a3e18abfaa4631fed5d755f14e65fc0f1d871bd9fde0aeead6caa5c0"),
    "protein": Origin(
        "protein-tertiary-structure", 5, "936750ca849ca04562dfb080bd2e8ca02ccbcea11387da8d1f4523d5819c1d59"
    ),
}
UCI = tuple(ORIGINS)
OPTIONAL = ("year",)  # used where somebody has put its file
_FETCHING = threading.Lock()


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

    def digest(self) -> str:
        """SHA-256 of the three arrays, each with its kind and shape; the same on every machine."""
        total = hashlib.sha256()
        for array, kind in ((self.inputs, "<f8"), (self.targets, "<f8"), (self.test_index, "<i4")):
            total.update(f"{kind}{array.shape}".encode())
            total.update(np.ascontiguousarray(array, kind).tobytes())
        return total.hexdigest()


def _local_folders() -> list[Path]:
    beside = Path(__file__).parents[3] / "shared" / "data"
    named = os.environ.get("PRITCHEL_DATA")
    return [Path(named), beside] if named else [beside]


def _find(name: str) -> Path | None:
    paths = (folder / "uci" / f"{name}.npz" for folder in (*_local_folders(), user_cache()))
    return next((path for path in paths if path.exists()), None)


def data_folder() -> Path:
    """The first local folder, where it holds tables; a FileNotFoundError that says what to do where there is none."""
    folder = _local_folders()[0]
    if not (folder / "uci").is_dir():
        raise FileNotFoundError(
            f"no benchmark tables at {folder}: set PRITCHEL_DATA to a folder that holds uci/boston.npz and its like "
            "(arrays X, y and test_index)."
        )
    return folder


def available_tables() -> tuple[str, ...]:
    """The nine UCI tables, and the optional ones whose file is there; smallest first."""
    return UCI + tuple(name for name in OPTIONAL if _find(name))


def load_uci(name: str) -> Table:
    """One of the UCI tables with its standard splits, fetched if it is in no folder."""
    check_choice("name", name, UCI + OPTIONAL)
    if os.environ.get("PRITCHEL_DATA"):
        data_folder()  # one that was named in vain is a mistake to tell of, not a reason to fetch
    with _FETCHING:
        path = _find(name)
        if path is None:
            return _fetch(name)
    with np.load(path, allow_pickle=False) as arrays:
        table = Table(name, arrays["X"], arrays["y"], arrays["test_index"])
    return _checked(table, str(path))


def _checked(table: Table, place: str) -> Table:
    origin = ORIGINS.get(table.name)
    if origin is not None and table.digest() != origin.digest:
        raise ValueError(
            f"{place} does not hold the standard {table.name} table: its arrays have SHA-256 {table.digest()}, wanted "
            f"was {origin.digest}. It is not used; set PRITCHEL_DATA to a folder with a sound uci/{table.name}.npz."
        )
    return table


def _fetch(name: str) -> Table:
    """The table from its source, checked, and kept in the cache."""
    origin = ORIGINS.get(name)
    needed = f"set PRITCHEL_DATA to a folder that holds uci/{name}.npz (arrays X, y and test_index)"
    if origin is None:
        raise FileNotFoundError(f"the table {name} has no source to fetch it from: {needed}.")
    try:
        arrays = fetch_arrays(origin.folder, origin.num_splits)
    except FetchError as error:
        raise FileNotFoundError(
            f"the table {name} is in no local folder and could not be fetched: {error}. "
            f"Try again with a network, or {needed}."
        ) from error
    table = _checked(Table(name, *arrays), f"{SOURCE}/{origin.folder}")
    _keep(table, user_cache() / "uci" / f"{name}.npz")
    return table


def _keep(table: Table, path: Path) -> None:
    """Write the file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".tmp", delete=False) as file:
        try:
            np.savez_compressed(file, X=table.inputs, y=table.targets, test_index=table.test_index)
            file.close()
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise
