"""`pritchel predict`: mean, spread and quantiles for every row of a table."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from pritchel.cli.common import Decimal, Encoding, NaValues, Overwrite, Sep, plain_errors, say


def predict(
    model: Annotated[Path, typer.Argument(help="Model folder.")],
    table: Annotated[str, typer.Argument(metavar="TABLE", help="CSV (also .gz), Parquet, or - for CSV on stdin.")],
    output: Annotated[
        str, typer.Option("--output", "-o", help="CSV (also .gz) or Parquet file, or - for CSV on stdout.")
    ] = "-",
    quantile: Annotated[
        list[float] | None, typer.Option("--quantile", help="A level between 0 and 1; again for more.")
    ] = None,
    row_id: Annotated[
        list[str] | None, typer.Option("--id", help="A column to copy to the output; again for more.")
    ] = None,
    split: Annotated[
        bool, typer.Option("--split", help="Add what noise and what ignorance add: aleatoric and epistemic columns.")
    ] = False,
    flag_outside: Annotated[
        bool,
        typer.Option("--flag-outside", help="Add a column that names the inputs in which a row is unlike the fit's."),
    ] = False,
    sep: Sep = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    na_value: NaValues = None,
    overwrite: Overwrite = False,
) -> None:
    """Predict every row of a table: mean, sd and quantiles (5, 50 and 95 % unless told otherwise).

    Columns are matched by name. Columns that looked like ids when the model was fitted are copied to the output; --id
    names others. The table is read and written in pieces, so it may be larger than memory. Values outside the range of
    the rows of the fit, and categories that were not among them, are counted and told.

    Example: pritchel predict houses-model new.csv -o out.csv --quantile 0.1 --quantile 0.9

    Exit codes: 0 done; 1 failed; 2 wrong option or table; 3 not a sound model; 130 interrupted.
    """
    with plain_errors():
        from pritchel.cli.tables_out import table_writer
        from pritchel.tables.model import TableModel
        from pritchel.tables.read import iter_table

        loaded = TableModel.load(model).reading(decimal, na_value or ())
        answer = _Answer(loaded, quantile or [0.05, 0.5, 0.95], row_id, split, flag_outside)
        start = time.monotonic()
        with table_writer(output, overwrite) as write:
            for piece in iter_table(table, sep, encoding):
                write(answer.rows(piece))
                if time.monotonic() - start > 2:
                    say(f"{answer.num_rows:,} rows predicted")
        answer.tell_outside()
        say(f"Predicted {answer.num_rows:,} row(s)" + ("" if output == "-" else f": {output}"))


class _Answer:
    """Predictions of a table that comes in pieces, and what there is to tell about it."""

    def __init__(self, model: Any, levels: list[float], row_ids: list[str] | None, split: bool, flag_outside: bool):
        self.model, self.levels, self.row_ids = model, levels, row_ids
        self.split, self.flag_outside = split, flag_outside
        self.num_rows, self.counts = 0, {}

    def rows(self, piece: Any) -> Any:
        """What is written for the rows of the next piece."""
        import pandas as pd

        from pritchel.tables.outside import joined_counts, outside_cells

        plan, start = self.model.plan_, self.num_rows
        ids = self._ids(piece)
        if start == 0:
            _tell_extra_columns(plan, piece, ids)
        kept = piece[ids] if ids else pd.DataFrame({"row": range(start + 1, start + 1 + len(piece))}, piece.index)
        answer = self.model.predict(piece, self.levels, start, split=self.split)
        flags, counts = outside_cells(plan, piece, start)
        if self.flag_outside:
            answer["outside"] = ["; ".join(flags.columns[row]) for row in flags.to_numpy(bool)]
        self.counts = joined_counts(plan, self.counts, counts)
        self.num_rows += len(piece)
        return pd.concat([kept, answer], axis=1)

    def _ids(self, piece: Any) -> list[str]:
        from pritchel.tables.messages import TableError

        if not self.row_ids:
            return [name for name in self.model.plan_.ids if name in piece.columns]
        missing = [name for name in self.row_ids if name not in piece.columns]
        if missing:
            raise TableError(f"--id: the table has no column {', '.join(map(repr, missing))}.")
        return self.row_ids

    def tell_outside(self) -> None:
        """Say where the table was unlike the rows of the fit."""
        from pritchel.tables.outside import outside_remarks

        for text in outside_remarks(self.model.plan_, self.counts):
            say(f"Note: {text}")


def _tell_extra_columns(plan: Any, piece: Any, ids: list[str]) -> None:
    from pritchel.tables.cells import listed

    known = {column.name for column in plan.columns} | {*plan.targets, *plan.left_out, *ids}
    extra = [str(name) for name in piece.columns if name not in known]
    if extra:
        say(f"Note: the model does not know, and does not use, column {listed(extra)}.")
