"""Compiled programs in memory: when they are made, how many are kept, and whose they are."""

import contextlib
import ctypes
import functools
import gc
import os
import threading
from collections.abc import Callable
from typing import Any

from pritchel.compile_cache import use_compile_cache
from pritchel.lazy import jax
from pritchel.tree import leaves

MAX_PROGRAMS = 16  # of one function in memory, some 30 MB each; another shape then clears them

_lock = threading.Lock()
_use_compile_cache = functools.cache(use_compile_cache)
_shapes: dict[Any, set[Any]] = {}  # that a function has programs for
_process: int | None = None  # that has run a program first


class Program:
    """A function that JAX compiles; to define it takes no JAX, which comes with the first call."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]):
        self.function, self._options = function, options
        self._compiled: Any = None
        self._making = threading.Lock()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """What the function gives."""
        return self._of_jax()(*arguments, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of_jax(), name)

    def _of_jax(self) -> Any:
        with self._making:  # by the first of several threads
            if self._compiled is None:
                _use_compile_cache()
                self._compiled = jax.jit(self.function, **self._options)
            return self._compiled


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Program]:
    """Have a function compiled when it is called; options are those of `jax.jit`."""
    return lambda function: Program(function, options)


def keep_few_programs(function: Any, *arguments: Any) -> None:
    """Before a compiled function is called: forget its programs if there would be too many, and give memory back."""
    shapes = tuple(getattr(leaf, "shape", ()) for leaf in leaves(arguments))
    with _lock:
        known = _shapes.setdefault(function, set())
        if shapes not in known and len(known) >= MAX_PROGRAMS:
            known.clear()
            function.clear_cache()
            give_memory_back()
        known.add(shapes)


def give_memory_back() -> None:
    """Have the system take back memory that nothing uses any more."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # glibc's; others give back by themselves, or do not
        ctypes.CDLL(None).malloc_trim(0)


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
