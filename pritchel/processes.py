"""Several processes that share one fit: each takes its part of every batch, and gradients are summed over all of them.

JAX's own `jax.distributed` connects them and carries arrays. Here is what it leaves open: who joins whom under Slurm,
Open MPI or `pritchel fit --processes`; one decision for all; Ctrl-C heard by all at the same step; and a word when a
process is gone.
"""

import dataclasses
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from pritchel.crew import Crew, PeerLostError, ProcessError, losses_told
from pritchel.lazy import jax

__all__ = ["PeerLostError", "ProcessError", "is_first", "join", "leave", "place"]

VARIABLE = "PRITCHEL_PROCESSES"  # host:port,count,index: how `pritchel fit --processes 2` tells its processes
JOIN_SECONDS = 300  # to wait for the others at first
HEARTBEAT_SECONDS = 60  # after which a machine that has gone silent is given up


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a process stands among those that are to be joined; None: JAX finds out by itself."""

    address: str | None = None
    count: int | None = None
    index: int | None = None


def _of_launcher() -> Place | None:
    told = os.environ.get(VARIABLE)
    if not told:
        return None
    try:
        address, count, index = told.split(",")
        return Place(address, int(count), int(index))
    except ValueError:
        raise ProcessError(f"{VARIABLE} must be host:port,count,index, as in node1:4321,2,0; got {told!r}.") from None


def _of_slurm() -> Place | None:
    needed = ("SLURM_JOB_ID", "SLURM_STEP_NODELIST", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID")
    if not all(name in os.environ for name in needed):  # in a batch script, but outside `srun`, there is no step
        return None
    return Place(count=int(os.environ["SLURM_NTASKS"]), index=int(os.environ["SLURM_PROCID"]))


def _of_open_mpi() -> Place | None:
    if "OMPI_COMM_WORLD_SIZE" not in os.environ:
        return None
    count, index = (int(os.environ[f"OMPI_COMM_WORLD_{name}"]) for name in ("SIZE", "RANK"))
    if count > 1 and not {"OMPI_MCA_orte_hnp_uri", "JAX_COORDINATOR_ADDRESS"} & os.environ.keys():
        raise ProcessError(
            "This version of Open MPI does not say where its processes can meet: give the first one's host and a free "
            "port, as in mpirun -x JAX_COORDINATOR_ADDRESS=node1:4321 ..."
        )
    return Place(count=count, index=index)


PLACES: dict[str, Callable[[], Place | None]] = {
    "the launching command": _of_launcher,
    "Slurm": _of_slurm,
    "Open MPI": _of_open_mpi,
}


def place() -> Place | None:
    """Where this process stands, as whoever started it says; None: nobody does."""
    return next((found for look in PLACES.values() if (found := look()) is not None), None)


_crew: Crew | None = None
_busy = threading.Lock()


def join(coordinator: str | None = None, num_processes: int | None = None, index: int | None = None) -> int:
    """Join the processes that run this same script: from here on they share every fit.

    Every process calls it first of all, then makes the same calls with the same rows: each holds the table, or reads
    the same source, and computes with its part of every batch. A fit is then that of one process, to rounding.

    Parameters
    ----------
    coordinator : str, optional
        Host and port of the first process, as "node1:4321". Slurm, Open MPI and `pritchel fit` say it themselves.
    num_processes, index : int, optional
        How many there are, and which one this is, from 0; said likewise.

    Returns
    -------
    int
        The number of this process, from 0. The first is the one to save the model and to print.
    """
    global _crew
    if _crew is not None:
        return _crew.index
    if not jax.distributed.is_initialized():
        _initialize(_place_of(coordinator, num_processes, index))
    if jax.process_count() > 1:
        if len(jax.devices()) != jax.process_count() * len(jax.local_devices()):
            raise ProcessError("Every process must have the same number of devices; see JAX_LOCAL_DEVICE_IDS.")
        _crew = Crew()
    return jax.process_index()


def _place_of(coordinator: str | None, num_processes: int | None, index: int | None) -> Place:
    given = Place(coordinator, num_processes, index)
    if given == Place():
        found = place()
        if found is None:
            raise ProcessError(
                "Nothing says which processes are to be joined. Start them with srun, with mpirun or with pritchel fit "
                '--processes 2; or give join("host:port", num_processes, index) in each.'
            )
        return found
    if None in (coordinator, num_processes, index):
        told = f"{coordinator!r}, {num_processes!r}, {index!r}"
        raise ValueError(f"join wants all of coordinator, num_processes and index, or none of them; got {told}.")
    return given


def _initialize(own: Place) -> None:
    """Connect; loopback stays loopback."""
    is_local = (own.address or "").startswith("127.")
    try:
        jax.distributed.initialize(
            own.address,
            own.count,
            own.index,
            initialization_timeout=JOIN_SECONDS,
            heartbeat_timeout_seconds=HEARTBEAT_SECONDS,
            coordinator_bind_address=own.address if is_local else None,
        )
    except RuntimeError as error:
        raise ProcessError(f"The processes could not be joined: {error}") from error


def leave() -> None:
    """End what `join` began, in all processes at once: fits are each one's own again."""
    global _crew
    if _crew is not None:
        _crew = None
        jax.distributed.shutdown()


def crew() -> Crew | None:
    """The processes that share fits; None: this one is alone."""
    return _crew


def is_first() -> bool:
    """Whether this process is the one that writes and speaks for all; alone, it is."""
    return _crew is None or _crew.index == 0


def of_first(array: Any) -> np.ndarray:
    """The array as the first process has it, so that all decide alike; of one process, its own."""
    own = np.asarray(array, order="C")
    if _crew is None:
        return own
    with losses_told(_crew):
        data = _crew.from_process(own.tobytes() if _crew.index == 0 else None, 0)
    return np.frombuffer(data, own.dtype).reshape(own.shape)


def require_alone(what: str) -> None:
    """Refuse what processes that share fits cannot do."""
    if _crew is not None:
        raise ProcessError(
            f"{what} cannot run in processes that share their fits. Leave them first (pritchel.processes.leave()), or "
            "do without --processes."
        )


@contextmanager
def together(kept: Path | None = None) -> Iterator[Crew | None]:
    """The crew for the length of a fit, with Ctrl-C held until all hear it, and a lost process told of; None: alone.

    `kept` is the folder of the fit's checkpoints.
    """
    own = _crew
    if own is None:
        yield None
        return
    if not _busy.acquire(blocking=False):
        raise ProcessError(
            "Two fits at once in processes that share them would mix: fit one after the other (n_jobs=1 of a search)."
        )
    try:
        with own.interrupts(), losses_told(own, kept):
            yield own
    finally:
        _busy.release()
