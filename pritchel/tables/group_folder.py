"""A folder with one model a group: an index, and a model folder for each, under a name that every drive takes."""

import hashlib
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

from pritchel.estimators import schema
from pritchel.folder import CARD, SPEC, WEIGHTS, is_model_folder, keep_strangers, spec_digest
from pritchel.serial import MAX_TEXT_BYTES, FileError, read_json, with_nans, without_infinities
from pritchel.writing import exchange, sync, write_text

FORMAT, FORMAT_VERSION = "pritchel-groups", 1
INDEX, GROUPS = "groups.json", "groups"
GROUP = schema.parts(
    {
        "name": schema.text,
        "rows": schema.whole,
        "units_kept": schema.each(schema.each(schema.whole)),
        "is_collapsed": schema.flag,
        "scores": schema.each(schema.either(schema.CLASS_SCORES, schema.NUMBER_SCORES)),
        "num_scored": schema.whole,
    }
)
INDEX_RULE = schema.parts(
    {
        "by": schema.text,
        "targets": schema.each(schema.text),
        "classes": schema.flag,
        "is_finished": schema.flag,
        "created": schema.text,
        "versions": schema.named(schema.text),
        "settings": schema.named(schema.anything),
        "table": schema.TABLE,
        "groups": schema.each(GROUP),
        "failed": schema.named(schema.text),
    }
)
MAX_NAME = 40  # letters of a group's name in that of its folder


def folder_of(path: Path, name: str) -> Path:
    """The folder of a group's model: of its name what all drives take, and a digest that tells it from others."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:MAX_NAME].strip("_") or "group"
    return path / GROUPS / f"{plain}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def is_groups_folder(path: Path) -> bool:
    """Whether a folder says of itself that it holds one model a group."""
    try:
        return json.loads((path / INDEX).read_text(encoding="utf-8"))["format"] == FORMAT
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def require_one_model(path: Path) -> None:
    """Refuse a folder that holds one model a group, where one model is wanted."""
    if is_groups_folder(path):
        raise FileError(
            f"{path} holds one model a group, and this is for one model: give the folder of a group, in "
            f"{path / GROUPS}."
        )


def require_free_for_groups(path: Path, overwrite: bool) -> None:
    """Refuse a name that is taken, unless by models that may be overwritten."""
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists. Choose another name, or allow it to be overwritten.")
    if path.exists() and not (is_groups_folder(path) or is_model_folder(path)):
        raise FileExistsError(f"{path} exists and is not a model folder; it is left alone.")


def write_index(path: Path, index: dict[str, Any]) -> None:
    """Write the index of a folder; it gets the format, its version and a digest."""
    whole = {"format": FORMAT, "format_version": FORMAT_VERSION, **without_infinities(index)}
    whole["spec_sha256"] = spec_digest(whole)
    write_text(path / INDEX, json.dumps(whole, indent=1, allow_nan=False) + "\n")


def read_index(path: Path) -> dict[str, Any]:
    """The index of a folder; a `FileError` with the reason for one that is not sound."""
    try:
        index = _index(path)
        return {**index, "groups": [with_nans(group) for group in index["groups"]]}
    except FileError as error:
        raise FileError(f"{path} cannot be loaded: {error}.") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}.") from None


def _index(path: Path) -> dict[str, Any]:
    file = path / INDEX
    if not file.is_file():
        raise FileError(f"{INDEX} is missing")
    if file.stat().st_size > MAX_TEXT_BYTES:
        raise FileError(f"{INDEX} is larger than any index")
    try:
        index = read_json(file.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise FileError(f"{INDEX} is not text") from None
    if not isinstance(index, dict) or index.get("format") != FORMAT:
        raise FileError(f"{INDEX} does not describe groups of models")
    if index.get("format_version") != FORMAT_VERSION:
        version = index.get("format_version")
        raise FileError(f"its format version is {version!r} and this release reads {FORMAT_VERSION}: upgrade pritchel")
    try:
        is_whole = spec_digest(index) == index.get("spec_sha256")
    except RecursionError:
        is_whole = False
    if not is_whole:
        raise FileError(f"{INDEX} was changed after it was written (its digest does not match)")
    INDEX_RULE(index, INDEX)
    names = [*(group["name"] for group in index["groups"]), *index["failed"]]
    if len({*names}) < len(names):
        raise FileError(f"{INDEX} names a group twice")
    return index


def move_in(partial: Path, output: Path) -> None:
    """Put a finished folder in its place, with what the user keeps there; at no time is there neither."""
    if output.exists():
        keep_strangers(output, partial, (INDEX, GROUPS) if is_groups_folder(output) else (SPEC, WEIGHTS, CARD))
        exchange(partial, output)
        shutil.rmtree(partial, ignore_errors=True)
    else:
        os.rename(partial, output)
    sync(output.parent)
