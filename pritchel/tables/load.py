"""Any model from its folder: no class needs to be known."""

import os
from pathlib import Path
from typing import Any

from pritchel.estimators.saved import load_saved
from pritchel.tables.model import TableModel


def load(path: str | os.PathLike[str]) -> Any:
    """The fitted model of a folder: a `TableModel` if it was fitted to a table, else the estimator or dynamics model.

    Nothing in the folder is run; one that is damaged or not a model raises a `FileError` with the reason.
    """
    saved = load_saved(Path(path))
    return saved.model if saved.table is None else TableModel.of_saved(saved, path)
