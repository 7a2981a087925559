"""A fit to a table that is read in batches, and its scores: what `TableModel` does of one that is not in memory."""

import glob
import re
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pritchel import checks
from pritchel.data.parts import Parts, kind_of
from pritchel.estimators.batches import Batch
from pritchel.estimators.progress import reading_display
from pritchel.estimators.scanned import ScannedBatches, scan_batches
from pritchel.tables.cells import MAX_NAMES, as_known, column_of, texts
from pritchel.tables.columns import TablePlan, Told
from pritchel.tables.encode import encode_inputs, target_values
from pritchel.tables.guesses import column_remarks, guess_table
from pritchel.tables.look import LookedTable, frame_of, look_through, plain_numbers
from pritchel.tables.messages import Message, TableError, told_if_long
from pritchel.tables.read import named, read_table
from pritchel.tables.scoring import score
from pritchel.tables.text_parts import table_parts
from pritchel.tables.training import TrainingTable, asks_for_classes, new_estimator, row_weights

MAX_TABLE_ROWS = 200_000  # of several files that are read into memory
MAX_FILE_BYTES = 1 << 30  # of one


class EncodedBatches:
    """The batches of a table as inputs and targets, by a plan; rows without a target are left out and counted."""

    def __init__(self, table: LookedTable, plan: TablePlan, told: Told, classes: bool):
        self.parts, self.plan, self.told = table.parts, plan, told
        self.num_rows = table.num_rows
        self.labels = table.labels(plan.targets[0], told) if classes else None
        self.num_without_target = 0

    def read(self, rng: np.random.Generator | None) -> Iterator[Batch]:
        """All batches: as they come, or parts in random order, by turns."""
        self.num_without_target = 0
        for where, row, batch in self.parts.read(rng):
            if batch.num_rows == 0:
                continue
            try:
                frame = self._frame(batch)
                values, is_known = self._targets(frame, row)
                inputs = encode_inputs(self.plan, frame, row)
                weights = None if self.told.weight is None else row_weights(frame, self.plan, self.told.weight, row)
            except TableError as error:
                text, options = error.message
                option = (options[0].name, options[0].value) if options else ()
                raise TableError(f"{where}: {text}", *option) from None
            self.num_without_target += int((~is_known).sum())
            kept = None if weights is None else weights[is_known]
            yield Batch(where, None, inputs[is_known], values[is_known], kept, row)

    def _frame(self, batch: Any) -> pd.DataFrame:
        """A batch as a data frame, with texts that are plain numbers throughout as numbers, where those are wanted."""
        frame = frame_of(batch)
        wanted = {column.name for column in self.plan.numbers} | (
            {*self.plan.targets} if self.labels is None else set()
        )
        for name in wanted & {*frame.columns}:
            if kind_of(batch.column(name).type) != "texts" or self.plan.spelling(name) not in ("plain", "point"):
                continue
            if (values := plain_numbers(batch.column(name))) is not None:
                frame[name] = values
        return frame

    def _targets(self, frame: pd.DataFrame, first_row: int) -> tuple[np.ndarray, np.ndarray]:
        if self.labels is None:
            values, is_known = target_values(self.plan, frame, first_row)
            return (values[:, 0] if values.shape[1] == 1 else values), is_known
        cells = column_of(frame, self.plan.targets[0], self.plan.na_values)
        raw = texts(cells)
        known = as_known(raw, self.labels)
        return known.where(known.notna(), raw).to_numpy(object), np.asarray(cells.notna())


class Outcome(NamedTuple):
    """What a `TableModel` is made of once it is fitted."""

    estimator: Any
    plan: TablePlan
    notes: dict[str, Any]
    arrays: dict[str, np.ndarray]


def read_or_look(
    source: str, in_batches: bool | None, sep: str | None, encoding: str | None, progress: Any
) -> pd.DataFrame | LookedTable:
    """A file in memory, unless it is large; several, as a folder or a pattern, in memory if they have few rows; else
    looked through, to be read in batches. `in_batches` says which, if it is said."""
    path = Path(source)
    if source == "-" and in_batches:
        raise TableError("{option}: standard input can be read once, and batches are read many times.", "stream")
    is_one = source == "-" or path.is_file() or not (path.is_dir() or glob.has_magic(source))
    is_large = is_one and path.is_file() and path.stat().st_size > MAX_FILE_BYTES
    if is_one and not (in_batches or (in_batches is None and is_large)):
        return read_table(source, sep, encoding)
    parts = table_parts(source, sep, encoding)
    if is_one:
        return open_table(parts, progress)
    if in_batches or (in_batches is None and (parts.num_rows or 0) > MAX_TABLE_ROWS):
        return open_table(parts, progress)
    frames = [frame_of(batch) for _, _, batch in parts.read()]
    if not frames:
        raise TableError(f"{source}: no file has any rows.")
    return named(pd.concat(frames, ignore_index=True), source)


def open_table(source: Any, progress: Any) -> LookedTable:
    """A source of rows, looked through once."""
    if isinstance(source, LookedTable):
        return source
    parts = source if isinstance(source, Parts) else table_parts(source)
    with reading_display(progress, parts.num_rows) as on_rows:
        return look_through(parts, on_rows)


def fit_streamed(
    model: Any, source: Any, targets: list[str], told: Told, holdout: float, tell: Callable[[Message], Any]
) -> Outcome:
    """Plan the columns of a table in batches, fit to it as the arguments of a `TableModel` say, and score."""
    if model.folds is not None:
        raise TableError("{option} needs the whole table in memory; of one in batches a part is held out.", "folds")
    table = open_table(source, True if model.estimator is None else model.estimator.progress)
    classes = asks_for_classes(table.sample, targets, model.likelihood, model.estimator, told)
    estimator = new_estimator(model.estimator, classes, model.likelihood, model.random_state)
    plan = table.plan(targets, told)
    tell(guess_table(plan, {}, classes))
    for message in column_remarks(plan):
        tell(message)
    encoded = EncodedBatches(table, plan, told, classes)
    scanned = scan_batches(encoded, None, None, estimator.likelihood_settings().kind, estimator.progress)
    num_without_target = encoded.num_without_target  # of all rows: later passes count anew
    data = scored_rows(plan, scanned, holdout, classes)
    for message in _remarks(encoded, scanned, data, classes):
        tell(message)
    to_fit = scanned.without(holdout) if holdout else scanned
    notes, arrays = _fit_and_score(model, "fit", estimator, to_fit, data, tell)
    num_held, num_rows = int(data.is_held_out.sum()), table.num_rows
    told_source = {"table": "a table in batches", "rows": num_rows, "without_target": num_without_target}
    told_source |= {"seed": model.random_state, "holdout": num_held / num_rows}
    if model.refit and num_held and not estimator.is_interrupted_:
        tell(Message("Fitting again to all rows ..."))
        arrays |= _fit_and_score(model, "refit", estimator, scanned, data.none_held_out(), tell)[1]
        told_source["refit"] = True
    return Outcome(estimator, plan, {**notes, "source": told_source}, arrays)


def scored_rows(plan: TablePlan, scanned: ScannedBatches, holdout: float, classes: bool) -> TrainingTable:
    """Rows held out, and some of the others: what scores and simpler methods are made of. They have no numbers."""
    labels, codes = scanned.classes() if classes else (None, None)
    stream, tables = scanned.stream(codes=codes), []
    if holdout:
        stream, aside = stream.leave_out(holdout)
        tables.append(aside)
    known = stream.in_own_units()
    inputs, targets, weights = (np.concatenate(parts) for parts in zip(known, *tables, strict=True))
    values = targets if labels is None else labels.astype(object)[targets.astype(int)]
    is_held_out = np.arange(len(inputs)) >= len(known.inputs)
    return TrainingTable(plan, inputs, values, is_held_out, np.zeros(len(inputs), int), (), weights)


def _fit_and_score(
    model: Any, part: str, estimator: Any, rows: ScannedBatches, data: TrainingTable, tell: Callable[[Message], Any]
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    start, folder = time.perf_counter(), None if model.estimator is None else model.estimator.checkpoint
    estimator.set_params(checkpoint=None if folder is None else Path(folder) / part)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", rf".*{re.escape(checks.FAR)}")  # said by column, in `column_remarks`
        estimator.fit(rows)
    estimator.set_params(checkpoint=None)
    seconds = {"seconds": round(time.perf_counter() - start, 2)}
    scored = f"the {data.is_held_out.sum():,} rows held out" if data.is_held_out.any() else "some of its rows"
    with told_if_long(tell, Message(f"Scoring the fit on {scored}, and beside simpler methods ...")):
        notes, arrays = score(estimator, data, None if data.weights is None else data.weights[~data.is_held_out])
    notes.pop("worst", None)  # which are known by their numbers
    arrays.pop("row", None)
    return seconds | notes, arrays


def _remarks(encoded: EncodedBatches, scanned: ScannedBatches, data: TrainingTable, classes: bool) -> Iterator[Message]:
    num_rows = scanned.found.num_rows
    yield Message(
        f"{num_rows:,} rows are read in batches; equal rows are not merged, and the fit is variational. "
        f"{int(data.is_held_out.sum()):,} are held out."
    )
    if classes:
        labels = [str(label) for label in scanned.classes()[0]]
        more = f" and {len(labels) - MAX_NAMES:,} more" if len(labels) > MAX_NAMES else ""
        yield Message(
            f"{data.plan.targets[0]} is taken as {len(labels):,} classes: {', '.join(labels[:MAX_NAMES])}{more}"
        )
    if encoded.num_without_target:
        yield Message(f"Dropped: {encoded.num_without_target:,} row(s) without a target")
