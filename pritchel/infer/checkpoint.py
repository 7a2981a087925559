"""A fit under way, on disk: written now and then, read after a crash."""

import contextlib
import hashlib
import json
import os
import threading
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pritchel.crew import Crew
from pritchel.serial import (
    Arrays,
    FileError,
    decode,
    encode,
    pack_arrays,
    parse_arrays,
    read_arrays,
    stored,
    versions,
    write_arrays,
)

EVERY_SECONDS = float(os.environ.get("PRITCHEL_CHECKPOINT_SECONDS", "5"))


def fingerprint(parts: Any, *described: Any) -> str:
    """A digest of values that can be stored, of others by what `repr` says of them, and of the versions in use."""
    arrays: dict[str, np.ndarray] = {}
    digest = hashlib.sha256(repr((encode(parts, arrays, ""), *described, versions())).encode())
    for array in arrays.values():
        digest.update(array.tobytes())
    return digest.hexdigest()


class Checkpoint:
    """One file for one fit. `fingerprint` stands for the data, settings and seed: another fit's file is refused.

    A file that cannot be written, as on a full disk, is told of once, by whoever first meets it of those that share
    `is_told`, and tried again when it is next due: the fit goes on.
    """

    def __init__(self, path: Path, fingerprint: str, is_told: threading.Event | None = None):
        self.path, self.fingerprint = path, fingerprint
        self._is_told = is_told or threading.Event()
        self._written = time.monotonic()

    def is_due(self) -> bool:
        """Whether it is time to write again."""
        return time.monotonic() - self._written >= EVERY_SECONDS

    def save(self, state: Any) -> None:
        """Replace what is there by any value that can be stored."""
        arrays: Arrays = {}
        metadata = {"fingerprint": self.fingerprint, "state": encode(state, arrays, "state")}
        try:
            write_arrays(self.path, arrays, {**metadata, "sha256": _digest(metadata, arrays)})
        except OSError as error:
            self._tell(error)
        self._written = time.monotonic()

    def load(self) -> Any:
        """What was saved; None: nothing yet."""
        if not self.path.exists():
            return None
        try:
            arrays, metadata = read_arrays(self.path)
        except FileError as error:
            raise self._damaged(str(error)) from None
        if not isinstance(metadata, dict) or {"fingerprint", "state", "sha256"} - metadata.keys():
            raise self._damaged("it is no checkpoint of this version")
        digest = metadata.pop("sha256")
        if digest != _digest(metadata, arrays):
            raise self._damaged("it is not as it was written")
        if metadata["fingerprint"] != self.fingerprint:
            raise FileError(
                f"{self.path} belongs to another fit: the data, the settings, the seed or the version differ. "
                "Repeat them exactly to resume, or remove it to start anew."
            )
        return decode(metadata["state"], arrays)

    def _damaged(self, why: str) -> FileError:
        return FileError(f"{self.path} cannot be resumed from: {why}. Remove it to start that part of the fit anew.")

    def _tell(self, error: OSError) -> None:
        if not self._is_told.is_set():
            self._is_told.set()
            warnings.warn(
                f"The state of the fit cannot be kept in {self.path.parent} ({error.strerror or error}). The fit goes "
                "on; should it be cut short, it cannot be resumed from here.",
                UserWarning,
                stacklevel=2,
            )


class Kept:
    """A checkpoint in memory, for a worker that does not see the folder: who asked for the fit writes what it holds."""

    def __init__(self, state: Any):
        self.state = state

    def is_due(self) -> bool:
        """Never: only the end is kept."""
        return False

    def save(self, state: Any) -> None:
        """Replace what is there."""
        self.state = state

    def load(self) -> Any:
        """What was saved; None: nothing yet."""
        return self.state


class OfFirst:
    """The checkpoint of a fit that processes share: the first one writes and reads it, for all."""

    def __init__(self, checkpoint: Checkpoint, crew: Crew):
        self.checkpoint, self.crew = checkpoint, crew

    def is_due(self) -> bool:
        """Whether it is time for this process to write again."""
        return self.crew.index == 0 and self.checkpoint.is_due()

    def save(self, state: Any) -> None:
        """Replace what is there."""
        if self.crew.index == 0:
            self.checkpoint.save(state)

    def load(self) -> Any:
        """What was saved; None: nothing yet. A file that the first process refuses, all refuse."""
        return unpacked(self.crew.from_process(self._loaded() if self.crew.index == 0 else None, 0))

    def _loaded(self) -> bytes:
        try:
            return packed(self.checkpoint.load())
        except FileError as error:
            return packed(Refused(str(error)))


@stored
class Refused(NamedTuple):
    """Why a file cannot be used."""

    why: str


def packed(value: Any) -> bytes:
    """Any value that can be stored, for another process."""
    arrays: Arrays = {}
    encoded = encode(value, arrays, "value")  # before its arrays are packed
    return pack_arrays(arrays, encoded) if value is not None else b""


def unpacked(data: bytes) -> Any:
    """What another process has packed; what it refused is refused here."""
    if not data:
        return None
    arrays, encoded = parse_arrays(data, "What another process sent")
    value = decode(encoded, arrays)
    if isinstance(value, Refused):
        raise FileError(value.why)
    return value


class SharedFolder(NamedTuple):
    """A folder as it is named to a worker, which may be on a machine that has another there, or none."""

    path: Path
    number: int  # that its drive knows it by

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> "SharedFolder":
        """The folder, made if need be."""
        folder = Path(path).resolve()
        with contextlib.suppress(OSError):  # `save` will speak of it
            folder.mkdir(parents=True, exist_ok=True)
        return cls(folder, folder.stat().st_ino if folder.is_dir() else 0)

    def here(self) -> Path | None:
        """The folder on the worker; None: it is not the same."""
        return self.path if self.path.is_dir() and self.path.stat().st_ino == self.number else None


class CheckpointElsewhere(NamedTuple):
    """What a worker in another process, perhaps on another machine, is sent of a checkpoint."""

    folder: SharedFolder
    name: str
    fingerprint: str
    saved: Any

    @classmethod
    def of(cls, checkpoint: Checkpoint) -> "CheckpointElsewhere":
        """The checkpoint as it stands."""
        folder = SharedFolder.of(checkpoint.path.parent)
        return cls(folder, checkpoint.path.name, checkpoint.fingerprint, checkpoint.load())

    def opened(self) -> Checkpoint | Kept:
        """On the worker: the same file where it has the same folder, else the state in memory."""
        folder = self.folder.here()
        return Kept(self.saved) if folder is None else Checkpoint(folder / self.name, self.fingerprint)


def _digest(metadata: dict[str, Any], arrays: Arrays) -> str:
    """Of all that a checkpoint says."""
    digest = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        digest.update(repr((name, array.dtype.str, array.shape)).encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
