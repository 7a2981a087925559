"""Tasks on workers outside this process, where `joblib.parallel_config` names some: loky's, or a Dask or Ray cluster's.

joblib and the engines behind it start workers, share tasks out and carry values. Here is what they do not do: tasks of
a lost worker begun anew, warnings passed on, and a word where a worker could not give the same bits.
"""

import importlib.metadata
import os
import pickle
import platform
import threading
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any

import numpy as np

from pritchel import __version__
from pritchel.cores import num_cores
from pritchel.processes import require_alone

MAX_LOST = 3  # times that workers may be lost in one call
TASKS_A_ROUND = 16  # a worker's, where an engine has no answers until all are there
LOST = {"TerminatedWorkerError", "RayActorError"}  # loky's and Ray's; Dask begins anew by itself
CARRIED = ("PRITCHEL_DATA",)  # settings of this process that hold for its tasks
SAME = ("jax", "jaxlib", "numpy")  # packages that decide on bits


class WorkerError(RuntimeError):
    """Workers that cannot do what is asked of them, with the reason and the way out."""


def is_elsewhere() -> bool:
    """Whether tasks go to workers outside this process: `joblib.parallel_config` says so, and is not within a task.

    Those of "multiprocessing" are forked, with JAX's locks and without its threads, and would wait for ever: not there.
    """
    from joblib.parallel import BACKENDS

    backend = _active()[0]
    is_forked = type(backend) is BACKENDS.get("multiprocessing")  # what extends it, as Ray's does, starts its own
    found = not (is_forked or getattr(backend, "supports_sharedmem", False))
    if found:
        require_alone("A fit on the workers of joblib.parallel_config")
    return found


def num_at_once(n_jobs: int | None) -> int:
    """Tasks at a time: so many, if above zero, else as `joblib.parallel_config` says, else all that there can be."""
    if n_jobs == 0:
        raise ValueError("n_jobs must be a number of tasks at a time, or -1 or None for all cores; got 0.")
    backend, told = _active()
    told = n_jobs if n_jobs is not None and n_jobs > 0 else told
    if is_elsewhere():
        return backend.effective_n_jobs(-1 if told is None else told)
    return int(told) if told is not None and told > 0 else num_cores()


def _active() -> tuple[Any, Any]:
    """The backend that joblib is told to use, threads where nothing is said, and the number of jobs, or None."""
    from joblib.parallel import get_active_backend

    return get_active_backend(prefer="threads")[0], get_active_backend()[1]


def circumstances() -> dict[str, str]:
    """What must be the same in a worker, for the same bits."""
    found = {"pritchel": __version__, "python": ".".join(platform.python_version_tuple()[:2])}
    found |= {name: importlib.metadata.version(name) for name in SAME}
    return found | {"XLA_FLAGS": os.environ.get("XLA_FLAGS", "")}


def answers(function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], n_jobs: int) -> Iterator[tuple[int, Any]]:
    """The number of each task and what `function` made of its arguments on a worker, as they end.

    Tasks that a lost worker had are begun anew, which a warning says. An error of a task, or an interrupt, ends all.
    """
    left, num_lost = dict(enumerate(tasks)), 0
    while left:
        try:
            with _closing(_on_workers(function, dict(left), n_jobs)) as ended:
                for number, value, warned in ended:
                    del left[number]
                    for text, category in warned:
                        warnings.warn(text, category, stacklevel=2)
                    yield number, value
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "pritchel":
                raise
            text = f"A worker has no pritchel, or another version of it ({error}). Install {__version__} there."
            raise WorkerError(text) from error
        except Exception as error:
            if not LOST & {kind.__name__ for kind in type(error).__mro__}:
                raise
            num_lost += 1
            if num_lost > MAX_LOST:
                raise WorkerError(
                    f"Workers were lost {num_lost} times, as when memory is short: {len(left)} of {len(tasks)} tasks "
                    "are not done. Let fewer run at a time (n_jobs), or give each more memory."
                ) from error
            warnings.warn("A worker was lost. What it was doing is begun anew, to the same bits.", stacklevel=2)


def answers_anywhere(
    function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], n_jobs: int
) -> Iterator[tuple[int, Any]]:
    """As `answers`; in threads of this process where joblib names no workers. An interrupt lets those end."""
    if is_elsewhere():
        yield from answers(function, tasks, n_jobs)
        return
    pool = ThreadPoolExecutor(n_jobs)
    try:
        numbers = {pool.submit(function, *task): number for number, task in enumerate(tasks)}
        for future in as_completed(numbers):
            yield numbers.pop(future), future.result()
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _closing(ended: Generator[Any, None, None]) -> Iterator[Generator[Any, None, None]]:
    """Let go of tasks under way in the end; whoever interrupts knows that they are lost."""
    try:
        yield ended
    finally:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"\d+ tasks which were still being processed", UserWarning)
            ended.close()


def _on_workers(
    function: Callable[..., Any], tasks: dict[int, tuple[Any, ...]], n_jobs: int
) -> Generator[tuple[int, Any, Any], None, None]:
    from joblib import Parallel, delayed

    make_parallel: Any = Parallel  # whose annotations know less than its documentation
    told, sent = circumstances(), _Sent()
    carried = {name: os.environ[name] for name in CARRIED if name in os.environ}

    def calls(numbers: list[int]) -> Iterator[Any]:
        for number in numbers:
            yield delayed(_work)(number, told, carried, *sent.pack((function, tasks[number])))

    if _active()[0].supports_return_generator:
        yield from make_parallel(n_jobs, batch_size=1, return_as="generator_unordered")(calls(list(tasks)))
        return
    numbers, size = list(tasks), TASKS_A_ROUND * n_jobs
    with make_parallel(n_jobs, batch_size=1) as parallel:
        for start in range(0, len(numbers), size):
            yield from parallel(calls(numbers[start : start + size]))


class _Sent:
    """Values as bytes and arrays of bytes: an array that many tasks have is one object, and an engine sends it once."""

    def __init__(self) -> None:
        self.arrays: dict[tuple[int, int], np.ndarray] = {}

    def pack(self, value: Any) -> tuple[bytes, *tuple[np.ndarray, ...]]:
        """What `_work` takes apart. Opened only after a look at the versions, which would not tell what is amiss."""
        import cloudpickle

        buffers: list[Any] = []
        body = cloudpickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        return body, *(self._array(np.frombuffer(buffer.raw(), np.uint8)) for buffer in buffers)

    def _array(self, array: np.ndarray) -> np.ndarray:
        return self.arrays.setdefault((array.ctypes.data, array.nbytes), array)


def _work(
    number: int, told: dict[str, str], carried: dict[str, str], body: bytes, *buffers: np.ndarray
) -> tuple[int, Any, list[tuple[str, type[Warning]]]]:
    """A task, in a worker: its number, what it came to, and its warnings; fits inside it are threads of the worker."""
    from joblib import parallel_config

    require_same(told)
    os.environ.update(carried)
    function, arguments = pickle.loads(body, buffers=buffers)  # noqa: S301 - from the process that asks, not from a file
    with kept_warnings() as warned, parallel_config(backend="threading"):
        value = function(*arguments)
    return number, value, warned


def require_same(told: dict[str, str]) -> None:
    """Raise a WorkerError where this process could not give the bits of the one that it works for."""
    here = circumstances()
    differing = [f"{name} {here.get(name) or 'unset'} instead of {told[name] or 'unset'}" for name in told]
    differing = [text for text, name in zip(differing, told, strict=True) if here.get(name) != told[name]]
    if differing:
        raise WorkerError(
            f"A worker (process {os.getpid()} on {platform.node()}) has {', '.join(differing)}: its fits would not be "
            "the same to the bit. Install the same versions there, and start it with the same XLA_FLAGS."
        )


_lock = threading.Lock()
_kept: dict[int, list[tuple[str, type[Warning]]]] = {}  # warnings of tasks under way, by thread
_show: Any = None


@contextmanager
def kept_warnings() -> Iterator[list[tuple[str, type[Warning]]]]:
    """The warnings of this thread, in a list; tasks of other threads, and what they warn of, are let be."""
    global _show
    thread, own = threading.get_ident(), []
    with _lock:
        if not _kept:
            _show, warnings.showwarning = warnings.showwarning, _keep
        outer, _kept[thread] = _kept.get(thread), own
    try:
        yield own
    finally:
        with _lock:
            del _kept[thread]
            if outer is not None:
                _kept[thread] = outer
            if not _kept:
                warnings.showwarning = _show


def _keep(message: Any, category: Any, *rest: Any, **named: Any) -> None:
    own = _kept.get(threading.get_ident())
    if own is None:
        _show(message, category, *rest, **named)
    else:
        own.append((str(message), category))
