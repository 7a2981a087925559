"""Compiled programs in memory: how many are kept, and whose they are."""

import contextlib
import ctypes
import gc
import os
import threading
from typing import Any

MAX_PROGRAMS = 16  # of one function in memory, some 30 MB each; another shape then clears them

_lock = threading.Lock()
_shapes: dict[Any, set[Any]] = {}  # that a function has programs for
_process: int | None = None  # that has run a program first


def keep_few_programs(function: Any, *arguments: Any) -> None:
    """Before a compiled function is called: forget its programs if there would be too many, and give memory back."""
    import jax

    shapes = tuple(getattr(leaf, "shape", ()) for leaf in jax.tree.leaves(arguments))
    with _lock:
        known = _shapes.setdefault(function, set())
        if shapes not in known and len(known) >= MAX_PROGRAMS:
            known.clear()
            function.clear_cache()
            gc.collect()
            with contextlib.suppress(OSError, AttributeError):  # glibc's; others give back by themselves, or do not
                ctypes.CDLL(None).malloc_trim(0)
        known.add(shapes)


class ForkedError(RuntimeError):
    """This process was forked from one that has run programs."""


def require_own_process() -> None:
    """Raise a ForkedError in a process forked from one that has run programs: their threads did not come along."""
    global _process
    if _process is None:
        _process = os.getpid()
    if _process != os.getpid():
        raise ForkedError(
            "This process was forked from one that had used JAX, whose threads are not here: it would wait for ever. "
            "Start processes with multiprocessing.get_context('spawn') or joblib's loky, or fork before the first fit."
        )
