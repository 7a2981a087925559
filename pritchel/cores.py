"""The cores that are this process's to use, and work on rows shared out among them."""

import contextvars
import functools
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from pritchel.memory import has_room, require_room

BLAS_BYTES = 2**26  # what linear algebra takes for a thread, and as much again
THREAD_BYTES = 2**27
Answer = TypeVar("Answer")

_lock = threading.Lock()
_num_inside = 0  # calls that want linear algebra on one thread, at this moment
_limit: Any = None


def num_cores() -> int:
    """Cores to use: the process's share where it is a worker among others, who are told so by OMP_NUM_THREADS."""
    from joblib import cpu_count

    told = os.environ.get("OMP_NUM_THREADS", "")
    return min(cpu_count(), int(told)) if told.isdecimal() and int(told) else cpu_count()


def by_chunks(answer: Callable[[slice], Answer], num_rows: int, chunk_rows: int) -> list[Answer]:
    """The answers for chunks of rows, in order; at least one, if of no rows.

    The chunks are made on all cores, and are the same however many there are: so are the answers, to the bit.
    """
    chunks = [slice(start, min(start + chunk_rows, num_rows)) for start in range(0, max(num_rows, 1), chunk_rows)]
    with one_blas_thread():
        _take_blas_memory()
        num_threads = min(len(chunks), num_cores()) if len(chunks) > 1 else 1
        pool = ThreadPoolExecutor(num_threads)
        try:
            if (
                num_threads > 1
                and has_room(num_threads * THREAD_BYTES)
                and (futures := _submitted(pool, answer, chunks)) is not None
            ):
                return [future.result() for future in futures]
        finally:
            pool.shutdown(cancel_futures=True)
        return [answer(chunk) for chunk in chunks]


@functools.cache
def _take_blas_memory() -> None:
    """Have linear algebra take its working memory, which it does once, at the first product that is not a small one."""
    require_room(BLAS_BYTES, "for products of matrices")
    matrix = np.ones((256, 256))
    np.matmul(matrix, matrix)


def _submitted(
    pool: ThreadPoolExecutor, answer: Callable[[slice], Answer], chunks: list[slice]
) -> list[Future[Answer]] | None:
    """The answers to come, each with a copy of what is set here, as by numpy's errstate; None: no room for a thread."""
    try:
        return [pool.submit(contextvars.copy_context().run, answer, chunk) for chunk in chunks]
    except RuntimeError:
        return None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Linear algebra on one thread: with stacks of small matrices, as here, more of them take longer."""
    global _num_inside, _limit
    with _lock:
        if _num_inside == 0:
            _limit = _libraries().limit(limits=1, user_api="blas")
        _num_inside += 1
    try:
        yield
    finally:
        with _lock:
            _num_inside -= 1
            if _num_inside == 0:
                _limit.restore_original_limits()


@functools.cache
def _libraries() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
