"""Answers for a table that comes in pieces, and what there is to tell about it once all have been seen."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pandas as pd

from pritchel.tables.cells import listed
from pritchel.tables.fitted import FittedTable
from pritchel.tables.groups import GroupedModel, Unknown
from pritchel.tables.messages import TableError
from pritchel.tables.outside import Outside, joined_counts, outside_cells, outside_remarks


class Asked(NamedTuple):
    """What is wanted of every row: quantiles, columns to copy, the parts of the uncertainty, what lies outside, the
    coverage of a region, and of one model a group what becomes of rows that have none."""

    quantiles: Sequence[float] = ()
    ids: Sequence[str] = ()
    split: bool = False
    flag_outside: bool = False
    region: float | None = None
    unknown: Unknown = "raise"


class PieceAnswers(NamedTuple):
    """The answer to one piece, and the counts of all pieces up to it."""

    answer: pd.DataFrame
    num_rows: int
    counts: dict[str, Outside]
    extra: list[str]  # columns that the model does not know


def answer_pieces(
    model: FittedTable | GroupedModel, pieces: Iterator[pd.DataFrame], asked: Asked
) -> Iterator[PieceAnswers]:
    """An answer a piece: ids, or numbers of rows, and predictions."""
    num_rows, counts = 0, {}
    of_groups: Any = {"unknown": asked.unknown} if isinstance(model, GroupedModel) else {}
    for piece in pieces:
        ids = _ids(model, piece, asked.ids)
        numbers = pd.DataFrame({"row": range(num_rows + 1, num_rows + 1 + len(piece))}, piece.index)
        answer = model.predict(piece, asked.quantiles, num_rows, split=asked.split, **of_groups)
        if asked.region is not None:
            answer = answer.join(model.region(piece, asked.region, num_rows, **of_groups))
        if (same := [name for name in ids if name in answer.columns]) and asked.ids:
            raise TableError(
                f"Column {listed(same)} has the name of an answer, and no table has it twice: rename it, or leave "
                "it out of {option}.",
                "id",
            )
        ids = [name for name in ids if name not in same]
        flags, found = outside_cells(model.plan_, piece, num_rows)
        if asked.flag_outside:
            answer["outside"] = ["; ".join(flags.columns[row]) for row in flags.to_numpy(bool)]
        counts = joined_counts(model.plan_, counts, found)
        num_rows += len(piece)
        whole = pd.concat([piece[ids] if ids else numbers, answer], axis=1)
        yield PieceAnswers(whole, num_rows, counts, _extra_columns(model, piece, ids))


def remarks_on(model: FittedTable | GroupedModel, last: PieceAnswers) -> Iterator[str]:
    """What to tell about a table, given the answer to its last piece."""
    if last.extra:
        yield f"The model does not know, and does not use, column {listed(last.extra)}."
    yield from outside_remarks(model.plan_, last.counts)


def _ids(model: FittedTable | GroupedModel, piece: pd.DataFrame, wanted: Sequence[str]) -> list[str]:
    missing = [name for name in wanted if name not in piece.columns]
    if missing:
        raise TableError(f"{{option}}: the table has no column {listed(missing)}.", "id")
    by = [model.by] if isinstance(model, GroupedModel) else []
    return list(dict.fromkeys(wanted)) or [name for name in (*by, *model.plan_.ids) if name in piece.columns]


def _extra_columns(model: FittedTable | GroupedModel, piece: pd.DataFrame, ids: Sequence[str]) -> list[str]:
    plan = model.plan_
    known = {column.name for column in plan.columns} | {*plan.targets, *plan.left_out, *ids}
    return [str(name) for name in piece.columns if name not in known]
