"""Model folders under kills, several writers and readers, full disks: old or new, whole, with nothing left about."""

import contextlib
import errno
import os
import resource
import signal
import time
import warnings
from pathlib import Path
from unittest import mock

import numpy as np

from pritchel.folder import clear_leftovers, read_folder, write_folder
from pritchel.infer.checkpoint import Checkpoint
from pritchel.serial import FileError
from pritchel.writing import write_text
from tests.soak.area import Area, in_child, outcome


def put(path: Path, number: int) -> None:
    """A model folder that is all about one number."""
    arrays = {name: np.full(2000, float(number)) for name in "ab"}
    write_folder(path, {"number": number}, arrays, f"card {number}", overwrite=True)


def number_in(path: Path) -> int:
    """The number, the same in every part."""
    spec, arrays = read_folder(path)
    assert all((array == spec["number"]).all() for array in arrays.values()), "a mixed model"
    return spec["number"]


class Kills(Area):
    """A writer is killed at any moment of a save."""

    about = "`kill -9` inside a save over a model"

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.path, self.number = folder / "m", 0
        put(self.path, 0)
        start = time.perf_counter()
        put(self.path, 0)
        self.seconds = time.perf_counter() - start

    def attempt(self, rng: np.random.Generator) -> None:
        """Kill it, read what is there, and save again."""
        before, self.number = self.number, self.number + 1
        pid = in_child(lambda: put(self.path, self.number))
        time.sleep(rng.uniform(0, 2 * self.seconds))
        os.kill(pid, signal.SIGKILL)
        outcome(pid)
        clear_leftovers(self.path)  # as the next save does: where there is no exchange at once, it puts the model back
        assert number_in(self.path) in (before, self.number)
        self.number += 1
        put(self.path, self.number)
        assert number_in(self.path) == self.number
        assert [each.name for each in self.folder.iterdir()] == ["m"], "something was left about"


class Crowds(Area):
    """Several processes write and read one model at once."""

    about = "writers and readers of one model at once"

    def attempt(self, rng: np.random.Generator) -> None:
        """Everybody sees whole models only."""
        path = self.folder / "m"
        put(path, 0)

        def write(first: int) -> None:
            for number in range(first, first + 3):
                with contextlib.suppress(FileExistsError):  # another is at it, and says so
                    put(path, number)

        def read() -> None:
            for _ in range(20):
                number_in(path)

        firsts = rng.integers(1, 1000, rng.integers(1, 4)).tolist()
        actions = [lambda first=first: write(first) for first in firsts] + [read] * int(rng.integers(1, 3))
        assert [outcome(pid) for pid in [in_child(action) for action in actions]] == [0] * len(actions)
        allowed = {0} | {first + step for first in firsts for step in range(3)}
        assert number_in(path) in allowed
        assert [each.name for each in self.folder.iterdir()] == ["m"], "something was left about"


class FullDisks(Area):
    """A disk that is full from some byte, or some call, on."""

    about = "no room for a file or folder (file-size limits, failing calls)"
    calls = ("fsync", "replace", "rename", "link", "mkdir", "write")

    def attempt(self, rng: np.random.Generator) -> None:
        """The old is there whole, or the new; the error is the system's; a checkpoint only warns."""
        model, page, state = (self.folder / name for name in ("m", "page.html", "c.safetensors"))
        put(model, 1)
        write_text(page, "old" * 5000)
        checkpoint = Checkpoint(state, "mark")
        checkpoint.save((np.zeros(3000),))
        action = [
            lambda: put(model, 2),
            lambda: write_text(page, "new" * 5000),
            lambda: checkpoint.save((np.ones(3000),)),
        ][rng.integers(3)]
        limit, name, countdown = int(rng.integers(0, 60_000)), rng.choice(self.calls), int(rng.integers(0, 8))
        is_limited = rng.random() < 0.5

        def run() -> None:
            warnings.simplefilter("ignore")
            with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
                if is_limited:
                    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
                else:
                    stack.enter_context(_failing(str(name), countdown))
                action()

        assert outcome(in_child(run)) == 0
        assert number_in(model) in (1, 2)
        assert page.read_text() in ("old" * 5000, "new" * 5000)
        (kept,) = checkpoint.load()
        assert len(set(kept.tolist())) == 1
        put(model, 3)  # which clears what the other could not
        assert number_in(model) == 3
        left = {each.name for each in self.folder.iterdir()} - {"m", "page.html", "c.safetensors"}
        assert not left, f"left about: {left}"


def _failing(name: str, countdown: int) -> contextlib.AbstractContextManager:
    """One of the system's calls finds no room, once it has been made so many times, and ever after."""
    real, left = getattr(os, name), [countdown]

    def fail(*arguments, **options):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*arguments, **options)

    return mock.patch.object(os, name, fail)


class Checkpoints(Area):
    """Checkpoints with bytes changed, cut off or put in."""

    about = "damaged checkpoints"

    def attempt(self, rng: np.random.Generator) -> None:
        """A damaged one is refused by name; one that loads says what was saved."""
        checkpoint = Checkpoint(self.folder / "c.safetensors", "mark")
        state = (np.arange(50.0), np.arange(3), {"done": 7})
        checkpoint.save(state)
        whole = checkpoint.path.read_bytes()
        checkpoint.path.write_bytes(damaged(whole, rng))
        refusal, loaded = checkpoint.path.name, state
        try:
            loaded = checkpoint.load()
        except FileError as error:
            refusal = str(error)
        assert checkpoint.path.name in refusal
        np.testing.assert_array_equal(loaded[0], state[0])
        np.testing.assert_array_equal(loaded[1], state[1])
        assert loaded[2] == state[2]


def damaged(whole: bytes, rng: np.random.Generator) -> bytes:
    """Bytes flipped, cut off, doubled, put in or overwritten."""
    data, where = bytearray(whole), int(rng.integers(0, max(len(whole), 1)))
    length = int(rng.integers(1, 40))
    match int(rng.integers(5)):
        case 0:
            for at in rng.integers(0, len(data), rng.integers(1, 4)):
                data[at] ^= 1 << int(rng.integers(8))
        case 1:
            del data[where:]
        case 2:
            data[where:where] = data[where : where + length]
        case 3:
            data[where:where] = rng.bytes(length)
        case _:
            data[where : where + length] = rng.bytes(length)
    return bytes(data)
