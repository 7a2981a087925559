"""Files and folders that are there whole or not at all, and one owner at a time for the place they are written to."""

import contextlib
import contextvars
import ctypes
import errno
import io
import os
import sys
import tempfile
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

AT_FDCWD, RENAME_EXCHANGE = -100, 2  # of Linux
NO_LOCKS_HERE = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)  # some network drives have none
POLL_SECONDS = 0.02

# Places that this thread owns while their lock files are open; who was interrupted has dropped his, wherever he was.
_OWNED: contextvars.ContextVar[dict[Path, weakref.ref[io.FileIO]] | None] = contextvars.ContextVar(
    "owned", default=None
)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary file beside `path` to write to; it takes the place of `path` at the end, unless an error comes."""
    if path.exists() and not path.is_file():  # a pipe or a device: there is nothing to lose, and no place to take
        yield path
        return
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:100]}.", suffix=".tmp", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        temporary.chmod(0o644)
        yield temporary
        sync(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_bytes(path: Path, data: bytes) -> Path:
    """Write a file that is there whole or not at all."""
    with whole_file(path) as temporary:
        temporary.write_bytes(data)
    return path


def write_text(path: Path, text: str) -> Path:
    """Write a text, as UTF-8, that is there whole or not at all."""
    return write_bytes(path, text.encode())


def sync(path: Path) -> None:
    """See to it that a file, or the names in a folder, are on the disk."""
    if os.name == "nt" and path.is_dir():
        return
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some drives cannot, and say so
            raise
    finally:
        os.close(handle)


def exchange(first: Path, second: Path) -> None:
    """Exchange two folders: at once where the system can, else by three names, `second` being back on any error."""
    if _exchange_at_once(first, second):
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{second.name[:100]}.", suffix=".old", dir=second.parent))
    kept = aside / second.name
    try:
        os.rename(second, kept)
        os.rename(first, second)
        os.rename(kept, first)
    except BaseException:
        if kept.exists():
            os.rename(kept, first if second.exists() else second)
        raise
    finally:
        aside.rmdir()


def _exchange_at_once(first: Path, second: Path) -> bool:
    """Linux's renameat2; whether it could."""
    if sys.platform != "linux":
        return False
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    if rename(AT_FDCWD, os.fsencode(first), AT_FDCWD, os.fsencode(second), RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise OSError(number, os.strerror(number), os.fspath(second))


@contextmanager
def owned(path: Path, wait_seconds: float = 0.0) -> Iterator[None]:
    """Be the only one to write at `path`, which another process, or thread, is refused until the end.

    The lock is the operating system's, on a hidden file beside `path`, and dies with its process. Who has it already
    may ask again. A FileExistsError names the holder if it has not gone after some seconds.
    """
    place = path.parent.resolve() / path.name
    held = _OWNED.get() or {}
    before = held[place]() if place in held else None
    if before is not None and not before.closed:
        yield
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    lock = place.with_name(f".{place.name}.lock")
    file = _take(lock, time.monotonic() + wait_seconds, path)
    token = _OWNED.set({**held, place: weakref.ref(file)})
    try:
        yield
    finally:
        _give_back(lock, file)
        _OWNED.reset(token)


def _take(lock: Path, deadline: float, path: Path) -> io.FileIO:
    """A lock file that is locked and still has its name; it is unlocked when it is dropped, whatever comes."""
    while True:
        file = io.FileIO(lock, "a+")
        is_mine = _is_locked(file)
        if is_mine and _is_named(file, lock):
            file.truncate(0)
            file.write(str(os.getpid()).encode())
            return file
        file.seek(0)
        holder = file.read(20).decode(errors="replace")
        file.close()
        if not is_mine and time.monotonic() >= deadline:
            who = f"process {holder}" if holder.isdigit() else "another process"
            raise FileExistsError(
                f"{path} is being written by {who}. Wait until that has ended, or choose another name."
            )
        time.sleep(POLL_SECONDS)


def _is_locked(file: io.FileIO) -> bool:
    """Lock an open file; whether nobody else has. Where there are no locks, everybody may."""
    try:
        if os.name == "nt":
            import msvcrt

            file.seek(1000)  # beyond the text, which others may read
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # pyright: ignore[reportAttributeAccessIssue]
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in NO_LOCKS_HERE
    return True


def _is_named(file: io.FileIO, lock: Path) -> bool:
    """Whether the file is still the one of that name: the holder before may have removed it meanwhile."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(lock))
    except FileNotFoundError:
        return False


def _give_back(lock: Path, file: io.FileIO) -> None:
    """Remove the lock file while it is still locked, so that nobody can wait for a file that has no name."""
    if os.name != "nt":
        lock.unlink(missing_ok=True)
        file.close()
        return
    file.close()
    with contextlib.suppress(OSError):  # somebody has it by now
        lock.unlink(missing_ok=True)
