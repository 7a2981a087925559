"""One model a group: compiled once, side by side, resumable, failures listed."""

import json
import os
import shutil
import time
import warnings
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pritchel import checks
from pritchel.estimators.progress import span
from pritchel.estimators.saved_labels import pack_labels
from pritchel.estimators.saved_settings import pack_settings
from pritchel.folder import read_folder
from pritchel.jobs import answers_anywhere, num_at_once
from pritchel.model.likelihoods import LIKELIHOODS
from pritchel.posterior.diagnostics import FitWarning
from pritchel.processes import require_alone
from pritchel.serial import FileError, versions
from pritchel.settings import name_of
from pritchel.tables.cells import MISSING, as_known, column_of, count_texts, listed, texts
from pritchel.tables.columns import Told, names_of
from pritchel.tables.group_fits import GroupSettings, fit_group, group_mark
from pritchel.tables.group_folder import GROUPS, INDEX, folder_of, move_in, require_free_for_groups, write_index
from pritchel.tables.groups import GroupedModel
from pritchel.tables.guesses import column_remarks, guess_table
from pritchel.tables.messages import Message, TableError
from pritchel.tables.model import HOLDOUT, TableModel
from pritchel.tables.read import LAYOUT, named
from pritchel.tables.training import TrainingTable, asks_for_classes, new_estimator, remarks, training_table
from pritchel.writing import owned

MIN_ROWS = 10
SECONDS = 5.0  # between two words on how far it is


def fit_groups(
    frame: pd.DataFrame,
    target: str | Sequence[str],
    by: str,
    output: str | os.PathLike[str],
    *,
    model: TableModel | None = None,
    min_rows: int = MIN_ROWS,
    n_jobs: int | None = None,
    resume: bool = False,
    overwrite: bool = False,
    say: Callable[[Message], Any] | None = None,
) -> GroupedModel:
    """Fit one model to the rows of each group of a table, and write all to one folder.

    Columns are planned over the whole table, so that all groups have the same inputs and share what is compiled. Groups
    are fitted side by side, in threads or on the workers that `joblib.parallel_config` names. A group that cannot be
    fitted is listed with the reason, and ends no other. Until the end the models are in `output` + ".partial": after a
    kill or Ctrl-C, `resume=True` fits those that are missing.

    Parameters
    ----------
    frame : DataFrame
        The table.
    target : str or sequence of str
        The column to predict, or several.
    by : str
        The column that says which group a row is of; it is no input.
    output : path
        The folder to write.
    model : TableModel, optional
        Unfitted; how each group is fitted, scored on rows held out of it. Its `folds` are refused.
    min_rows : int
        Groups with fewer rows have no model.
    n_jobs : int, optional
        Groups at a time; None for as many as there are cores, or as `joblib.parallel_config` says.
    resume, overwrite : bool
        Whether to go on from an unfinished run, and to replace what is there.
    say : callable, optional
        Is told, in sentences, how the table is taken and how far the fits are; `say=print` shows them.

    Returns
    -------
    models : GroupedModel
        The models of the folder.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import pandas as pd
    >>> from pritchel import HorseshoeRegressor, TableModel, fit_groups
    >>> heat = np.linspace(0, 30, 40)
    >>> sales = pd.DataFrame({"heat": np.tile(heat, 2), "shop": ["Ulm"] * 40 + ["Ham"] * 40})
    >>> sales["ice"] = [*(5 + 2 * heat), *(60 - heat)]
    >>> how = TableModel(HorseshoeRegressor.fast(training__num_steps=500))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     models = fit_groups(sales, "ice", "shop", f"{folder}/shops", model=how)
    ...     models.predict(sales.iloc[[0, -1]]).round(-1)["mean"].tolist()
    [10.0, 30.0]
    """
    require_alone("One model a group")
    run = _Run(named(frame), names_of(target), by, model or TableModel(), min_rows, say or (lambda message: None))
    output = Path(output)
    require_free_for_groups(output, overwrite)
    with owned(output):
        require_free_for_groups(output, overwrite)
        partial = output.with_name(f"{output.name}.partial")
        _make_partial(partial, resume, overwrite)
        run.fit(partial, num_at_once(n_jobs))
        move_in(partial, output)
    return GroupedModel(output)


class _Run:
    """A table in groups, under way to its models."""

    def __init__(
        self,
        frame: pd.DataFrame,
        targets: list[str],
        by: str,
        model: TableModel,
        min_rows: int,
        tell: Callable[[Message], Any],
    ):
        checks.check_integer("min_rows", min_rows, at_least=2)
        self.by, self.tell, self.targets = by, tell, targets
        told = _told(frame, by, targets, model)
        classes = asks_for_classes(frame, targets, model.likelihood, model.estimator, told)
        self.estimator = _for_many(new_estimator(model.estimator, classes, model.likelihood, model.random_state))
        likelihood = name_of(LIKELIHOODS, self.estimator.likelihood_settings())
        holdout = HOLDOUT if model.holdout is None else model.holdout
        checks.check_number("holdout", holdout, at_least=0, at_most=0.9)
        self.settings = GroupSettings(likelihood, classes, holdout, model.refit, model.random_state, min_rows)
        self.data = training_table(frame, targets, told, holdout=0.0, seed=model.random_state, classes=classes)
        tell(guess_table(self.data.plan, frame.attrs.get(LAYOUT, {}), classes))
        for message in (*column_remarks(self.data.plan), *remarks(self.data, classes=classes, may_hold_codes=False)):
            tell(message)
        self.rows = self._rows_by_group(frame, told)
        self.described = json.dumps(pack_settings(self.estimator), sort_keys=True)

    def _rows_by_group(self, frame: pd.DataFrame, told: Told) -> dict[str, np.ndarray]:
        """The places of each group's rows, of those that have a target; the largest group first."""
        values = column_of(frame, self.by, told.na_values)
        names = np.asarray(as_known(texts(values), list(count_texts(values))), object)[self.data.row_numbers - 1]
        found, places = np.unique(names.astype(str), return_inverse=True)
        order = np.split(np.argsort(places, kind="stable"), np.cumsum(np.bincount(places))[:-1])
        rows = dict(sorted(zip(found.tolist(), order, strict=True), key=lambda item: -len(item[1])))
        if (lost := rows.pop(MISSING, None)) is not None:
            self.tell(Message(f"Dropped: {len(lost):,} row(s) without a {self.by}"))
        largest = max(map(len, rows.values()), default=0)
        if largest < self.settings.min_rows:
            raise TableError(
                f"No {self.by} has {self.settings.min_rows} rows with a target: the largest of {len(rows):,} groups "
                f"has {largest}. Choose a column with fewer values, or set {{option}} lower.",
                "min_rows",
            )
        return rows

    def fit(self, partial: Path, n_jobs: int) -> None:
        """Fit the groups that are not in a folder yet, and write its index."""
        self.partial, self.entries, self.failed = partial, {}, {}
        parts = {name: self.data.take(rows) for name, rows in self.rows.items()}
        marks = {name: group_mark(part, self.settings, self.described) for name, part in parts.items()}
        for name in parts:
            if (entry := _there(folder_of(partial, name), marks[name])) is not None:
                self.entries[name] = entry
        missing = [name for name in parts if name not in self.entries]
        there = f", {len(self.entries):,} of them are there" if self.entries else ""
        self.tell(Message(f"{len(parts):,} groups by {self.by}{there}; {n_jobs} at a time ..."))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always", FitWarning)  # the index has those of every group
                self._fit_missing(missing, parts, marks, n_jobs)
        except KeyboardInterrupt:
            self._write_index(is_finished=False)
            raise
        if not self.entries:
            shutil.rmtree(partial)
            largest = next(iter(parts))
            reason = f"{self.by} {largest!r}: {self.failed[largest]}"
            raise TableError(f"None of {len(parts):,} groups could be fitted. {reason}")
        self._write_index(is_finished=True)

    def _fit_missing(
        self, missing: list[str], parts: dict[str, TrainingTable], marks: dict[str, str], n_jobs: int
    ) -> None:
        tasks = [(self.estimator, parts[name], self.settings) for name in missing]
        first, told = None, time.monotonic()
        for num_done, (number, outcome) in enumerate(answers_anywhere(fit_group, tasks, n_jobs), 1):
            name = missing[number]
            if outcome.estimator is None:
                self.failed[name] = outcome.reason
            else:
                self._keep(name, outcome, parts[name], marks[name])
            now = time.monotonic()
            first = first or (now, num_done)  # what came before was compiling, too
            if now - told > SECONDS and first[1] < num_done < len(missing):
                told, pace = now, (now - first[0]) / (num_done - first[1])
                failed = f", {len(self.failed):,} failed" if self.failed else ""
                left = span(pace * (len(missing) - num_done))
                self.tell(Message(f"{num_done:,} of {len(missing):,} groups{failed}, about {left} left"))

    def _keep(self, name: str, outcome: Any, part: TrainingTable, mark: str) -> None:
        """Write a group's model to its folder."""
        source = {"table": "a data frame", "rows": len(part.targets), "seed": self.settings.seed}
        source |= {"holdout": self.settings.holdout, "group": {"by": self.by, "name": name, "mark": mark}}
        notes = {**outcome.notes, "source": source | ({"refit": True} if self.settings.refit else {})}
        folder = folder_of(self.partial, name)
        TableModel.of(outcome.estimator, self.data.plan, notes, outcome.arrays).save(folder, overwrite=True)
        kept = outcome.estimator.units_kept_.tolist()
        self.entries[name] = _entry(notes, kept, outcome.estimator.is_collapsed_)

    def _write_index(self, is_finished: bool) -> None:
        index = {
            "by": self.by,
            "targets": self.targets,
            "classes": self.settings.classes,
            "labels": pack_labels(np.unique(self.data.targets)) if self.settings.classes else None,
            "is_finished": is_finished,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": versions(),
            "settings": pack_settings(self.estimator),
            "fit": self.settings._asdict(),
            "table": self.data.plan.to_json(),
            "groups": [{"name": name, **self.entries[name]} for name in sorted(self.entries)],
            "failed": dict(sorted(self.failed.items())),
        }
        write_index(self.partial, index)


def _told(frame: pd.DataFrame, by: str, targets: list[str], model: TableModel) -> Told:
    """What is said about the columns; that of the groups is no input."""
    told = Told.by(model)
    if by not in frame.columns:
        raise TableError(f"No column {by!r} ({{option}}). The table has {listed(frame.columns)}.", "by")
    if by in (*targets, *told.keep, *told.category, *told.number, told.weight):
        raise TableError(f"Column {by!r} says which group a row is of ({{option}}): it can be nothing else.", "by")
    if model.folds is not None:
        raise TableError("Groups are scored on rows held out of each: leave {option} out.", "folds")
    return told._replace(drop=[*told.drop, by])


def _for_many(estimator: Any) -> Any:
    """The estimator for fits side by side that share programs: no unit leaves, which would ask for another."""
    if estimator.options().training.drop_dead_units == "auto":
        estimator.set_params(training__drop_dead_units=False)
    return estimator.set_params(progress=False, checkpoint=None, warm_start=False, n_jobs=1)


def _make_partial(partial: Path, resume: bool, overwrite: bool) -> None:
    """The folder for a run under way, empty or with what an unfinished run left."""
    if partial.exists() and not partial.is_dir():
        raise FileExistsError(f"{partial} is in the way: the models go into a folder of that name until the end.")
    strange = [own.name for own in partial.iterdir() if own.name not in (INDEX, GROUPS)] if partial.exists() else []
    if strange:
        raise FileExistsError(f"{partial} holds {listed(strange)}, which is no model of a group; it is left alone.")
    if partial.exists() and not resume:
        if not overwrite:
            raise FileExistsError(
                f"{partial} holds an unfinished run. Resume it to fit the groups that are missing, or allow it to be "
                "overwritten."
            )
        shutil.rmtree(partial)
    (partial / GROUPS).mkdir(parents=True, exist_ok=True)


def _there(folder: Path, mark: str) -> dict[str, Any] | None:
    """What the index says of a group whose model is in its folder, of the same fit; None: there is none."""
    if not folder.exists():
        return None
    try:
        spec, _ = read_folder(folder)
        is_same = spec["notes"]["source"]["group"]["mark"] == mark
    except (FileError, OSError, KeyError, TypeError):
        return None
    return _entry(spec["notes"], spec["fitted"]["units_kept"], spec["fitted"]["is_collapsed"]) if is_same else None


def _entry(notes: dict[str, Any], units_kept: list[list[int]], is_collapsed: bool) -> dict[str, Any]:
    """What the index says of a group."""
    return {
        "rows": notes["source"]["rows"],
        "units_kept": units_kept,
        "is_collapsed": bool(is_collapsed),
        "scores": notes.get("scores", []),
        "num_scored": notes.get("num_scored", 0),
        "warnings": notes["warnings"],
        "seconds": notes["seconds"],
    }
