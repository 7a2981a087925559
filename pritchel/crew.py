"""The processes that share a fit, as seen from one of them: its part of the rows, arrays and bytes to and from all."""

import hashlib
import os
import platform
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from pritchel.lazy import jax, jnp
from pritchel.programs import compiled

ROWS = "rows"  # the axis of the mesh of all devices
LOST = ("Gloo", "NCCL", "Socket closed", "Connection reset", "Connection closed", "UNAVAILABLE", "heartbeat")
MIN_BYTES = 64  # sent at a time; more are filled up to powers of two, so that few programs are compiled


class ProcessError(RuntimeError):
    """Processes that cannot share a fit, with the reason and the way out."""


class PeerLostError(ProcessError):
    """A process that shared the fit is gone, and with it what all were computing."""


@contextmanager
def losses_told(own: "Crew", kept: Path | None = None) -> Iterator[None]:
    """What JAX says of a broken connection as a PeerLostError, which says what is kept of a fit, and where."""
    try:
        yield
    except (ValueError, RuntimeError) as error:
        if isinstance(error, ProcessError) or not any(mark in str(error) for mark in LOST):
            raise
        left = "A fit that has a checkpoint folder goes on from what was kept there."
        if kept is not None and any(kept.glob("*.safetensors")):
            left = f"Its state is in {kept}: the same fit goes on from there (on the command line with --resume)."
        raise PeerLostError(f"{own.others()} gone: the fit cannot go on without it. {left}") from error


class Crew:
    """Processes that share fits, as seen from one of them."""

    def __init__(self) -> None:
        self.index, self.count = jax.process_index(), jax.process_count()
        self.num_local = len(jax.local_devices())
        devices = sorted(jax.devices(), key=lambda device: (device.process_index, device.id))
        self.mesh = jax.sharding.Mesh(np.asarray(devices), (ROWS,))
        self.asked = threading.Event()  # Ctrl-C, in this process
        self.stop = threading.Event()  # what all have agreed upon
        with _nothing_printed():  # gloo says that it is connected, on standard output
            self.names = [data.decode() for data in self.gathered(f"pid {os.getpid()} on {platform.node()}".encode())]

    def own_rows(self, num_rows: int) -> tuple[slice, int]:
        """Which of so many rows are this process's, and how many places it has for them: the same in all processes."""
        places = -(-num_rows // self.mesh.size) * self.num_local
        first = min(self.index * places, num_rows)
        return slice(first, min(first + places, num_rows)), places

    def spread(self, array: Any, axis: int) -> Any:
        """An array of all processes, of which this one has given its part along an axis."""
        spec = jax.sharding.PartitionSpec(*[None] * axis, ROWS)
        return jax.make_array_from_process_local_data(jax.sharding.NamedSharding(self.mesh, spec), np.asarray(array))

    def same(self, array: Any) -> Any:
        """An array that every process has."""
        if isinstance(array, jax.Array) and len(array.sharding.device_set) == self.mesh.size:
            return array
        sharding = jax.sharding.NamedSharding(self.mesh, jax.sharding.PartitionSpec())
        return jax.make_array_from_process_local_data(sharding, np.asarray(array))

    def from_process(self, data: bytes | None, source: int) -> bytes:
        """The bytes that one process gives, in all of them; the others give None."""
        size = np.asarray([0 if data is None else len(data)], np.uint64)
        num = int(self._sent(size.view(np.uint8), source).view(np.uint64)[0])
        room = np.zeros(max(1 << max(num - 1, 0).bit_length(), MIN_BYTES), np.uint8)
        if data is not None:
            room[:num] = np.frombuffer(data, np.uint8)
        return self._sent(room, source)[:num].tobytes()

    def gathered(self, data: bytes) -> list[bytes]:
        """The bytes that each process gives, in all of them."""
        return [self.from_process(data if source == self.index else None, source) for source in range(self.count)]

    def _sent(self, data: np.ndarray, source: int) -> np.ndarray:
        own = data if source == self.index else np.zeros_like(data)
        by_device = np.zeros((self.num_local, len(data)), np.uint8)
        by_device[0] = own
        return np.asarray(_sum(self.spread(by_device, 0), self.mesh))

    def require_same(self, mark: str, what: str) -> None:
        """Refuse, in all processes, what is not the same in all of them."""
        marks = self.gathered(hashlib.sha256(mark.encode()).digest())
        differing = [index for index, own in enumerate(marks) if own != marks[0]]
        if differing:
            raise ProcessError(
                f"Process {', '.join(map(str, differing))} has other {what} than process 0. All must be given "
                "the same ones, with the same versions installed: each computes with its part of every batch."
            )

    def others(self) -> str:
        """The other processes, as far as it is known which of them is meant, and the verb."""
        rest = [f"{index} ({name})" for index, name in enumerate(self.names) if index != self.index]
        return f"Process {rest[0]} is" if len(rest) == 1 else f"One of the processes {', '.join(rest)} is"

    @contextmanager
    def interrupts(self) -> Iterator[None]:
        """Ctrl-C asks all processes to stop after the same step, instead of one of them at once."""
        self.asked.clear()
        self.stop.clear()
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGINT, self._ask)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _ask(self, number: int, frame: Any) -> None:
        """The second time, others may not be listening any more."""
        if self.asked.is_set():
            signal.default_int_handler(number, frame)
        self.asked.set()


@compiled(static_argnames=("mesh",))
def _sum(spread: Any, mesh: Any) -> Any:
    spec = jax.sharding.PartitionSpec
    add = lambda own: jax.lax.psum(own[0].astype(jnp.uint8), ROWS)  # noqa: E731
    return jax.shard_map(add, mesh=mesh, in_specs=spec(ROWS), out_specs=spec(), check_vma=False)(spread)


@contextmanager
def _nothing_printed() -> Iterator[None]:
    """What libraries print to standard output goes nowhere: there may be somebody who reads results."""
    try:
        kept = os.dup(1)
    except OSError:  # there is none
        yield
        return
    sink = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(sink, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(sink)
