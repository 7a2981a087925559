"""A fit under way, on disk: written now and then, read after a crash."""

import hashlib
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from pritchel.serial import FileError, decode, encode, read_arrays, versions, write_arrays

EVERY_SECONDS = float(os.environ.get("PRITCHEL_CHECKPOINT_SECONDS", "5"))


def fingerprint(parts: Any, *described: Any) -> str:
    """A digest of values that can be stored, of others by what `repr` says of them, and of the versions in use."""
    arrays: dict[str, np.ndarray] = {}
    digest = hashlib.sha256(repr((encode(parts, arrays, ""), *described, versions())).encode())
    for array in arrays.values():
        digest.update(array.tobytes())
    return digest.hexdigest()


class Checkpoint:
    """One file for one fit. `fingerprint` stands for the data, settings and seed: another fit's file is refused."""

    def __init__(self, path: Path, fingerprint: str):
        self.path, self.fingerprint = path, fingerprint
        self._written = time.monotonic()

    def is_due(self) -> bool:
        """Whether it is time to write again."""
        return time.monotonic() - self._written >= EVERY_SECONDS

    def save(self, state: Any) -> None:
        """Replace what is there by any value that can be stored."""
        arrays = {}
        encoded = encode(state, arrays, "state")
        write_arrays(self.path, arrays, {"fingerprint": self.fingerprint, "state": encoded})
        self._written = time.monotonic()

    def load(self) -> Any:
        """What was saved; None: nothing yet."""
        if not self.path.exists():
            return None
        arrays, metadata = read_arrays(self.path)
        if not isinstance(metadata, dict) or metadata.get("fingerprint") != self.fingerprint:
            raise FileError(
                f"{self.path} belongs to another fit: the data, the settings, the seed or the version differ. "
                "Repeat them exactly to resume, or remove it to start anew."
            )
        return decode(metadata["state"], arrays)
