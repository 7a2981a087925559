"""Compiled programs: an optional cache of them on disk, how many are kept in memory, and whose they are."""

import contextlib
import ctypes
import gc
import os
import threading
import warnings
from pathlib import Path
from typing import Any

VARIABLE = "PRITCHEL_CACHE"
MAX_PROGRAMS = 16  # of one function in memory, some 30 MB each; another shape then clears them

_lock = threading.Lock()
_shapes: dict[Any, set[Any]] = {}  # that a function has programs for
_process: int | None = None  # that has run a program first


def use_compile_cache(folder: str | os.PathLike[str] | None = None) -> Path | None:
    """Keep compiled programs in a folder, by default the one that the PRITCHEL_CACHE variable names; None: no cache.

    The folder holds machine code for this machine and JAX version, made by JAX; share it with nobody you would not let
    run code as you. It can be deleted at any time. The setting is JAX's own and holds for the whole process. A folder
    that cannot be used is told of, and done without.
    """
    folder = folder or os.environ.get(VARIABLE)
    if not folder:
        return None
    import jax

    try:
        path = Path(folder).expanduser()
        path.mkdir(parents=True, exist_ok=True)
        list(path.iterdir())
        if not os.access(path, os.W_OK):
            raise PermissionError("it cannot be written to")
    except (OSError, RuntimeError, ValueError) as error:
        warnings.warn(
            f"{VARIABLE}: the cache folder {folder} cannot be used ({error}). Programs are compiled anew; name another "
            "folder, or unset it.",
            UserWarning,
            stacklevel=2,
        )
        return None
    jax.config.update("jax_compilation_cache_dir", str(path))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
    return path


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
