"""Compiled programs on disk, from one process to the next: in the user's own cache folder, or in one that is named.

A first fit spends half its time on compiling. The folder holds machine code, so the default one is the user's alone,
and is for processors and versions of one kind; it can be deleted at any time.
"""

import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import time
import warnings
import zlib
from pathlib import Path

from pritchel.lazy import jax
from pritchel.user_cache import user_cache

VARIABLE = "PRITCHEL_CACHE"
OFF = "off"
MIN_SECONDS = 0.05  # a program that took less is compiled again
MAX_BYTES = 2**29  # beyond which the oldest programs go
SETTLED = 60.0  # seconds after which nobody is still writing a file
CHECKED = "checked"  # a file whose time says up to when programs have been looked at


def compile_fast() -> None:
    """Have JAX compile fast rather than run fast: for many programs, each run briefly. Before JAX is imported."""
    flags = ["--xla_backend_optimization_level=0", "--xla_llvm_disable_expensive_passes=true"]
    if importlib.metadata.version("jaxlib").startswith("0.10."):  # halves the time; newer ones refuse to start
        flags.append("--xla_cpu_use_fusion_emitters=false")
    os.environ.setdefault("XLA_FLAGS", " ".join(flags))


def use_compile_cache(folder: str | os.PathLike[str] | None = None) -> Path | None:
    """Keep compiled programs in a folder: this one, the one that PRITCHEL_CACHE names, or the user's own; None: none.

    "off" turns it off, and where the process has a cache of JAX's already, that one stays. The setting is JAX's own and
    holds for the whole process. Share the folder with nobody you would not let run code as you. One that was named and
    cannot be used is told of, and done without.
    """
    named = folder or os.environ.get(VARIABLE)
    if named == OFF:
        return None
    if not named and jax.config.values["jax_compilation_cache_dir"] is not None:
        return None
    path = _named_folder(named) if named else _own_folder()
    if path is None:
        return None
    _tidy(path)
    jax.config.update("jax_compilation_cache_dir", str(path))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", MIN_SECONDS)
    return path


def _named_folder(folder: str | os.PathLike[str]) -> Path | None:
    try:
        path = Path(folder).expanduser()
        path.mkdir(parents=True, exist_ok=True)
        list(path.iterdir())
        if not os.access(path, os.W_OK):
            raise PermissionError("it cannot be written to")
    except (OSError, RuntimeError, ValueError) as error:
        warnings.warn(
            f"{VARIABLE}: the cache folder {folder} cannot be used ({error}). Programs are compiled anew; name another "
            'folder, or "off".',
            UserWarning,
            stacklevel=3,
        )
        return None
    return path


def _own_folder() -> Path | None:
    """The default; where it cannot be made, or others may write to it, there is no cache, and nothing to be said."""
    try:
        path = user_cache() / "programs" / _kind_of_machine()
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path if _is_private(path) and os.access(path, os.W_OK) else None
    except (OSError, RuntimeError):
        return None


def _is_private(path: Path) -> bool:
    if not hasattr(os, "getuid"):
        return True  # the user's profile, which the system keeps from others
    status = path.stat()
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


def _kind_of_machine() -> str:
    """A name for what a program is made for: it would not run elsewhere, and homes are shared in clusters."""
    parts = [importlib.metadata.version("jax"), importlib.metadata.version("jaxlib"), platform.machine()]
    parts.append(str(importlib.util.find_spec("zstandard") is not None))  # JAX writes in its format where it is there
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        parts.append(next(line for line in lines if line.startswith(("flags", "Features"))))
    except (OSError, StopIteration):
        parts.append(platform.processor())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _tidy(path: Path) -> None:
    """Remove files that a killed process left unfinished, then the oldest if there is too much."""
    marker, now = path / CHECKED, time.time()
    try:
        checked = marker.stat().st_mtime if marker.exists() else 0.0
        files = {own: own.stat() for own in path.glob("*-cache")}
        for own, status in files.items():
            if checked <= status.st_mtime < now - SETTLED and not _is_whole(own):
                own.unlink(missing_ok=True)
        total = sum(status.st_size for status in files.values())
        for own, status in sorted(files.items(), key=lambda item: item[1].st_mtime):
            if total > MAX_BYTES:
                own.unlink(missing_ok=True)
                total -= status.st_size
        marker.touch()
        os.utime(marker, (now - SETTLED, now - SETTLED))
    except OSError:
        return  # another process tidies too, or it can only be read: not worth a word


def _is_whole(path: Path) -> bool:
    """Whether a file ends where it should and its check sum is right; True of a format that is not known here."""
    data = path.read_bytes()
    if data[:1] != b"\x78":  # zlib's
        return bool(data)
    stream = zlib.decompressobj()
    try:
        stream.decompress(data)
    except zlib.error:
        return False
    return stream.eof
