"""`pritchel predict`: mean, spread and quantiles for every row of a table."""

import time
from pathlib import Path
from typing import Annotated

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
    region: Annotated[
        float | None,
        typer.Option(help="Add the smallest set that holds this share of new observations; it may have gaps."),
    ] = None,
    flag_outside: Annotated[
        bool,
        typer.Option("--flag-outside", help="Add a column that names the inputs in which a row is unlike the fit's."),
    ] = False,
    unknown: Annotated[
        str,
        typer.Option(
            help="Of one model a group: raise, or missing, which leaves rows of groups without a model empty."
        ),
    ] = "raise",
    sep: Sep = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    na_value: NaValues = None,
    quote_formulas: Annotated[
        bool, typer.Option("--quote-formulas", help="A quote before texts that a spreadsheet would run as a formula.")
    ] = False,
    overwrite: Overwrite = False,
) -> None:
    """Predict every row of a table: mean, sd and quantiles (5, 50 and 95 % unless told otherwise).

    Columns are matched by name. Columns that looked like ids when the model was fitted are copied to the output; --id
    names others. The table is read and written in pieces, so it may be larger than memory. Values outside the range of
    the rows of the fit, and categories that were not among them, are counted and told.

    Of a folder with one model a group (`pritchel fit --by`) each row is answered by the model of its group.

    Example: pritchel predict houses-model new.csv -o out.csv --quantile 0.1 --quantile 0.9

    Exit codes: 0 done; 1 failed; 2 wrong option or table; 3 not a sound model; 130 interrupted.
    """
    with plain_errors():
        from pritchel.checks import check_choice
        from pritchel.cli.tables_out import table_writer
        from pritchel.tables.groups import load_to_ask
        from pritchel.tables.pieces import Asked, answer_pieces, remarks_on
        from pritchel.tables.read import iter_table

        check_choice("--unknown", unknown, ("raise", "missing"))
        loaded = load_to_ask(model).reading(decimal, na_value or ())
        empty = "missing" if unknown == "missing" else "raise"
        asked = Asked(quantile or (0.05, 0.5, 0.95), row_id or (), split, flag_outside, region, empty)
        start, last = time.monotonic(), None
        with table_writer(output, overwrite, quote_formulas) as write:
            for last in answer_pieces(loaded, iter_table(table, sep, encoding), asked):
                write(last.answer)
                if time.monotonic() - start > 2:
                    say(f"{last.num_rows:,} rows predicted")
        for text in remarks_on(loaded, last) if last is not None else ():
            say(f"Note: {text}")
        num_rows = 0 if last is None else last.num_rows
        say(f"Predicted {num_rows:,} row(s)" + ("" if output == "-" else f": {output}"))
