"""Any model from its folder: no class needs to be known."""

import os
from pathlib import Path
from typing import Any

from pritchel.estimators.saved import load_saved
from pritchel.tables.group_folder import is_groups_folder
from pritchel.tables.groups import GroupedModel
from pritchel.tables.model import TableModel


def load(path: str | os.PathLike[str]) -> Any:
    """The fitted model of a folder, of whatever kind.

    Nothing in the folder is run.

    Parameters
    ----------
    path : path
        A folder that `save` or the command line wrote.

    Returns
    -------
    model : TableModel, GroupedModel, HorseshoeRegressor, HorseshoeClassifier or DynamicsModel
        A :class:`~pritchel.TableModel` if it was fitted to a table, a :class:`~pritchel.GroupedModel` if to each group
        of one, else the estimator or dynamics model.

    Raises
    ------
    FileError
        If it is damaged or no model; the message has the reason.

    Examples
    --------
    >>> import tempfile
    >>> from pritchel import HorseshoeRegressor, load
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 2.0, 4.0, 6.0]
    >>> model = HorseshoeRegressor.fast(training__num_steps=500).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load(model.save(f"{folder}/model"))
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    if is_groups_folder(Path(path)):
        return GroupedModel.load(path)
    saved = load_saved(Path(path))
    return saved.model if saved.table is None else TableModel.of_saved(saved, path)
