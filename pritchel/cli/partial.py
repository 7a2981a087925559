"""The folder beside a model that holds a fit under way: what is in it, and when it may be used or removed."""

import shutil
from pathlib import Path

PARTS = ("fit", "refit", "fold-*")  # folders for checkpoints, as `TableModel` names them
KEPT = ("", "safetensors"), (".", "tmp")  # what begins and ends the name of a state, and of one half written
SO_FAR = "model"  # of an interrupted fit


def partial_folder(output: Path, resume: bool, overwrite: bool) -> Path:
    """The folder beside the model for a fit under way, once it is sure that neither place is taken."""
    from pritchel.folder import require_free

    require_free(output, overwrite)
    partial = partial_name(output)
    if partial.exists() and not partial.is_dir():
        raise FileExistsError(f"{partial} is in the way: the state of the fit goes into a folder of that name.")
    if parts_of(partial) and not (resume or overwrite):
        raise FileExistsError(
            f"{partial} holds an unfinished fit. Add --resume to go on from it, or --overwrite to discard it."
        )
    return partial


def partial_name(output: Path) -> Path:
    """The folder beside a model for a fit under way, whether it is there or not."""
    return output.with_name(f"{output.name}.partial")


def parts_of(partial: Path) -> list[Path]:
    """What of a folder is an unfinished fit; the rest is somebody else's."""
    from pritchel.folder import is_model_folder

    so_far = partial / SO_FAR
    kinds = [f"{lead}{kind}-*.{ending}" for kind in ("member", "chain") for lead, ending in KEPT]
    states = [path for folder in _folders(partial) for pattern in kinds for path in folder.glob(pattern)]
    return [*states, *([so_far] if is_model_folder(so_far) else [])]


def remove_partial(partial: Path) -> None:
    """Remove an unfinished fit, and the folders that are then empty."""
    for part in parts_of(partial):
        if part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        else:
            part.unlink(missing_ok=True)
    for folder in (*_folders(partial), partial):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def _folders(partial: Path) -> list[Path]:
    """Those for checkpoints, a wider fit's before the one that it is in."""
    return [folder for part in PARTS for pattern in (f"{part}/[0-9]*", part) for folder in partial.glob(pattern)]


def what_is_left(partial: Path) -> str:
    """What a fit that has broken off can go on from, in words."""
    if not parts_of(partial):
        return "Nothing had been kept yet: the same command begins anew."
    return f"The state of the fit is in {partial}. The same command with --resume goes on from it."
