"""`pritchel predict`: mean, spread and quantiles for every row of a table."""

from pathlib import Path
from typing import Annotated, Any

import typer

from pritchel.cli.common import NaValues, Overwrite, plain_errors, say


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
    na_value: NaValues = None,
    quote_formulas: Annotated[
        bool, typer.Option("--quote-formulas", help="A quote before texts that a spreadsheet would run as a formula.")
    ] = False,
    overwrite: Overwrite = False,
) -> None:
    """Predict every row of a table: mean, sd and quantiles (5, 50 and 95 % unless told otherwise).

    Columns are matched by name. Columns that looked like ids when the model was fitted are copied to the output; --id
    names others. The table is read and written in pieces, so it may be larger than memory.

    Example: pritchel predict houses-model new.csv -o out.csv --quantile 0.1 --quantile 0.9

    Exit codes: 0 done; 1 failed; 2 wrong option or table; 3 not a sound model; 130 interrupted.
    """
    with plain_errors():
        levels = quantile or [0.05, 0.5, 0.95]
        _predict(model, table, output, levels, row_id, na_value or [], overwrite, quote_formulas)


def _predict(folder, table, output, levels, row_ids, na_values, overwrite, quote_formulas) -> None:
    import time

    import pandas as pd

    from pritchel.cli.tables_out import table_writer
    from pritchel.tables.messages import TableError
    from pritchel.tables.model import TableModel
    from pritchel.tables.read import iter_table

    model = TableModel.load(folder)
    num_rows, told, start = 0, False, time.monotonic()
    with table_writer(output, overwrite, quote_formulas) as write:
        for piece in iter_table(table, na_values):
            ids = row_ids or [name for name in model.plan_.ids if name in piece.columns]
            missing = [name for name in ids if name not in piece.columns]
            if missing:
                raise TableError(f"--id: the table has no column {', '.join(map(repr, missing))}.")
            if not told:
                _tell_extra_columns(model, piece, ids)
                told = True
            kept = (
                piece[ids]
                if ids
                else pd.DataFrame({"row": range(num_rows + 1, num_rows + 1 + len(piece))}, piece.index)
            )
            write(pd.concat([kept, model.predict(piece, levels, num_rows)], axis=1))
            num_rows += len(piece)
            if time.monotonic() - start > 2:
                say(f"{num_rows:,} rows predicted")
    say(f"Predicted {num_rows:,} row(s)" + ("" if output == "-" else f": {output}"))


def _tell_extra_columns(model: Any, piece: Any, ids: list[str]) -> None:
    plan = model.plan_
    known = {column.name for column in plan.columns} | {*plan.targets, *plan.left_out, *ids}
    extra = [str(name) for name in piece.columns if name not in known]
    if extra:
        say(f"Note: the model does not know, and does not use, column {', '.join(map(repr, extra))}.")
