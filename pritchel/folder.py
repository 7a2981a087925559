"""A model as a folder: `spec.json` (what it is), `weights.safetensors` (its arrays), `README.md` (its card).

A folder is there whole or not at all, and each of its files is seen to be the one that was written. What else a user
keeps in it stays when the model is overwritten.
"""

import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pritchel.serial import MAX_TEXT_BYTES, Arrays, FileError, pack_arrays, parse_arrays, read_json
from pritchel.writing import exchange, owned, sync, write_bytes, write_text

FORMAT, FORMAT_VERSION = "pritchel-model", 7
SPEC, WEIGHTS, CARD = "spec.json", "weights.safetensors", "README.md"
WAIT_SECONDS = 10.0  # for another writer to end
MAX_READS, PAUSE_SECONDS = 10, 0.02


def require_free(path: Path, overwrite: bool) -> None:
    """Refuse a name that is taken, unless by a model that may be overwritten."""
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists. Choose another name, or allow it to be overwritten.")
    if path.exists() and not is_model_folder(path):
        raise FileExistsError(f"{path} exists and is not a model folder; it is left alone.")


def write_folder(path: Path, spec: dict[str, Any], arrays: Arrays, card: str, *, overwrite: bool = False) -> Path:
    """Write a model folder; the spec gets the format, its version and the digests."""
    require_free(path, overwrite)
    place = path.resolve() if path.is_symlink() else path
    with owned(place, WAIT_SECONDS):
        clear_leftovers(place)
        require_free(path, overwrite)
        temporary = Path(tempfile.mkdtemp(prefix=f".{place.name}.", suffix=".tmp", dir=place.parent))
        try:
            temporary.chmod(0o755)
            _fill(temporary, spec, arrays, card)
            _swap_in(temporary, place)
        finally:  # what did not come to be, or the model that was there before
            shutil.rmtree(temporary, ignore_errors=True)
    return path


def _fill(folder: Path, spec: dict[str, Any], arrays: Arrays, card: str) -> None:
    weights = pack_arrays(arrays)
    whole = {"format": FORMAT, "format_version": FORMAT_VERSION, **spec}
    whole["weights_sha256"] = hashlib.sha256(weights).hexdigest()
    whole["spec_sha256"] = spec_digest(whole)
    write_bytes(folder / WEIGHTS, weights)
    write_text(folder / SPEC, json.dumps(whole, indent=1, allow_nan=False) + "\n")
    write_text(folder / CARD, card)


def _swap_in(temporary: Path, path: Path) -> None:
    """Put the new folder in the old one's place, with what the user keeps there; at no time is there neither."""
    if path.exists():
        keep_strangers(path, temporary, (SPEC, WEIGHTS, CARD))
        exchange(temporary, path)
    else:
        os.rename(temporary, path)
    sync(path.parent)


def keep_strangers(old: Path, new: Path, own: Sequence[str]) -> None:
    """Put into a new folder what a user keeps in the old one: all but what is `own`."""
    for kept in old.iterdir():
        if kept.name not in own:
            _put_also(kept, new / kept.name)


def _put_also(source: Path, target: Path) -> None:
    """The same file or folder under a second name, or, where a drive has no such thing, a copy."""
    if source.is_dir() and not source.is_symlink():
        shutil.copytree(source, target, symlinks=True, copy_function=_link_or_copy)
    else:
        _link_or_copy(source, target)


def _link_or_copy(source: Any, target: Any) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


def clear_leftovers(path: Path) -> None:
    """Remove what a writer that was killed has left beside a model; its owner calls this, so nobody else writes."""
    named = re.compile(re.escape(f".{path.name}.") + r"[a-z0-9_]{8}\.(tmp|old)")
    for leftover in path.parent.iterdir():
        if not named.fullmatch(leftover.name) or not leftover.is_dir():
            continue
        kept = leftover / path.name  # the model itself, put aside in a moment that never ended
        if leftover.suffix == ".old" and not path.exists() and is_model_folder(kept):
            os.rename(kept, path)
        shutil.rmtree(leftover, ignore_errors=True)


def read_folder(path: Path) -> tuple[dict[str, Any], Arrays]:
    """The spec and the arrays of a model folder; a `FileError` with the reason for one that is not sound.

    A folder that was exchanged for another while it was read is read again.
    """
    for attempt in range(MAX_READS):
        before = _identity(path)
        try:
            return _read(path)
        except (FileError, OSError):
            is_same = before == _identity(path) and (before is not None or attempt > 0)
            if is_same or attempt + 1 == MAX_READS:
                raise
            time.sleep(PAUSE_SECONDS)
    raise AssertionError("the last attempt returns or raises")


def _identity(path: Path) -> tuple[int, ...] | None:
    """Which folder it is now; the time of its last renaming is in it, since numbers of folders are used again."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_ctime_ns


def _read(path: Path) -> tuple[dict[str, Any], Arrays]:
    spec = _read_spec(path)
    if not (path / WEIGHTS).is_file():
        raise FileError(f"{WEIGHTS} is missing")
    weights = (path / WEIGHTS).read_bytes()
    if hashlib.sha256(weights).hexdigest() != spec.get("weights_sha256"):
        raise FileError(f"{WEIGHTS} is not the file that {SPEC} was written with: truncated, edited or exchanged")
    return spec, parse_arrays(weights, WEIGHTS)[0]


def is_model_folder(path: Path) -> bool:
    """Whether a folder says of itself that it is a model."""
    try:
        return json.loads((path / SPEC).read_text())["format"] == FORMAT
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def spec_digest(spec: dict[str, Any]) -> str:
    """The digest of a spec, all but its own."""
    rest = {name: value for name, value in spec.items() if name != "spec_sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _read_spec(path: Path) -> dict[str, Any]:
    if not path.is_dir():
        raise FileError("there is no such folder" if not path.exists() else "it is not a folder")
    file = path / SPEC
    if not file.is_file():
        raise FileError(f"{SPEC} is missing")
    if file.stat().st_size > MAX_TEXT_BYTES:
        raise FileError(f"{SPEC} is larger than any model's")
    try:
        spec = read_json(file.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise FileError(f"{SPEC} is not text") from None
    if not isinstance(spec, dict) or spec.get("format") != FORMAT:
        raise FileError(f"{SPEC} does not describe a Pritchel model")
    version = spec.get("format_version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise FileError(f"its format version is {version!r}, which is none")
    if version > FORMAT_VERSION:
        raise FileError(
            f"its format version is {version!r} and this release reads up to {FORMAT_VERSION}: upgrade pritchel"
        )
    try:
        is_whole = spec_digest(spec) == spec.get("spec_sha256")
    except RecursionError:
        is_whole = False
    if not is_whole:
        raise FileError(f"{SPEC} was changed after it was written (its digest does not match)")
    return spec
