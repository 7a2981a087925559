"""`pritchel prune`: a smaller model from a fitted one."""

from pathlib import Path
from typing import Annotated

import typer

from pritchel.cli.common import (
    AsJson,
    Encoding,
    NaValues,
    Overwrite,
    Sep,
    plain_errors,
    print_json,
    put,
    warnings_told,
)


def prune(
    model: Annotated[Path, typer.Argument(help="Model folder.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the smaller model.", file_okay=False)],
    threshold: Annotated[
        float | None,
        typer.Option(
            help="A unit is dead if its scale is below this ...; default: 0.001; of spike_slab: if it is out ..."
        ),
    ] = None,
    probability: Annotated[
        float | None, typer.Option(help="... with a probability above this; default: 0.9; of spike_slab: 0.5.")
    ] = None,
    fine_tune: Annotated[
        int, typer.Option("--fine-tune", min=0, help="Steps that move the weight means alone; needs --table.")
    ] = 0,
    table: Annotated[str | None, typer.Option(help="The training table, for --fine-tune.")] = None,
    sep: Sep = None,
    encoding: Encoding = None,
    na_value: NaValues = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Take the units out of a model that it does not use.

    Predictions change by no more than what was cut; `pritchel inspect` shows what is left.

    Exit codes: 0 done; 1 failed; 2 wrong option or table; 3 not a sound model.
    """
    with plain_errors("pritchel.tables.model", "optax"):
        from pritchel.folder import require_free
        from pritchel.tables.messages import TableError
        from pritchel.tables.model import TableModel
        from pritchel.tables.read import read_table

        if table is not None and not fine_tune:
            raise TableError("{option} is for more steps, and none are asked for: add --fine-tune, as 500.", "table")
        require_free(output, overwrite)
        large = TableModel.load(model).reading(na_values=na_value or ())
        frame = None if table is None else read_table(table, sep, encoding)
        with warnings_told():
            small = large.prune(threshold, probability, fine_tune, frame=frame)
        small.save(output, overwrite=overwrite)
        reports = small.estimator_.prune_report_
        if as_json:
            print_json({"model": str(output), "reports": [one._asdict() for one in reports]})
        else:
            put(str(reports))
            put(f"Written: {output}")
