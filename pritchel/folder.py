"""A model as a folder: `spec.json` (what it is), `weights.safetensors` (its arrays), `README.md` (its card).

A folder is there whole or not at all, and each of its files is seen to be the one that was written.
"""

import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from pritchel.serial import MAX_TEXT_BYTES, Arrays, FileError, read_arrays, read_json, write_arrays

FORMAT, FORMAT_VERSION = "pritchel-model", 3
SPEC, WEIGHTS, CARD = "spec.json", "weights.safetensors", "README.md"


def require_free(path: Path, overwrite: bool) -> None:
    """Refuse a name that is taken, unless by a model that may be overwritten."""
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists. Choose another name, or allow it to be overwritten.")
    if path.exists() and not _is_model_folder(path):
        raise FileExistsError(f"{path} exists and is not a model folder; it is left alone.")


def write_folder(path: Path, spec: dict[str, Any], arrays: Arrays, card: str, *, overwrite: bool = False) -> Path:
    """Write a model folder; the spec gets the format, its version and the digests."""
    require_free(path, overwrite)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent))
    try:
        temporary.chmod(0o755)
        write_arrays(temporary / WEIGHTS, arrays)
        whole = {"format": FORMAT, "format_version": FORMAT_VERSION, **spec}
        whole["weights_sha256"] = hashlib.sha256((temporary / WEIGHTS).read_bytes()).hexdigest()
        whole["spec_sha256"] = spec_digest(whole)
        (temporary / SPEC).write_text(json.dumps(whole, indent=1, allow_nan=False) + "\n", encoding="utf-8")
        (temporary / CARD).write_text(card, encoding="utf-8")
        _swap_in(temporary, path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return path


def _swap_in(temporary: Path, path: Path) -> None:
    """Put the new folder in the old one's place; the old one is gone only once the new one is there."""
    if not path.exists():
        os.rename(temporary, path)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".old", dir=path.parent))
    os.rename(path, old / path.name)
    try:
        os.rename(temporary, path)
    except OSError:
        os.rename(old / path.name, path)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


def read_folder(path: Path) -> tuple[dict[str, Any], Arrays]:
    """The spec and the arrays of a model folder; a `FileError` with the reason for one that is not sound."""
    spec = _read_spec(path)
    weights = path / WEIGHTS
    if not weights.is_file():
        raise FileError(f"{WEIGHTS} is missing")
    with weights.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != spec.get("weights_sha256"):
        raise FileError(f"{WEIGHTS} is not the file that {SPEC} was written with: truncated, edited or exchanged")
    return spec, read_arrays(weights)[0]


def _is_model_folder(path: Path) -> bool:
    try:
        return json.loads((path / SPEC).read_text())["format"] == FORMAT
    except (OSError, ValueError, KeyError, TypeError):
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
    if not isinstance(version, int) or version > FORMAT_VERSION:
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
