"""`pritchel report`: one self-contained HTML page about a model, or about the experiments in a folder of records."""

from pathlib import Path
from typing import Annotated

import typer

from pritchel.cli.common import Decimal, Encoding, NaValues, Overwrite, Sep, Targets, plain_errors, put


def report(
    folder: Annotated[Path, typer.Argument(help="Model folder, or a folder of records of `pritchel reproduce`.")],
    table: Annotated[
        str | None, typer.Argument(metavar="[TABLE]", help="A table to show predictions for; else rows held out.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page.", dir_okay=False)] = Path("report.html"),
    target: Targets = None,
    sep: Sep = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    na_value: NaValues = None,
    overwrite: Overwrite = False,
) -> None:
    """Write one self-contained HTML page about a model, or about the experiments of the paper.

    The data, the trace of the fit, which units lived, predictions against what was observed, calibration, what the
    strongest inputs do, the settings and how to repeat it. Of a folder of records: each figure of the paper, what it
    claims, and whether that holds. Needs matplotlib, which the extra `plots` brings.

    Exit codes: 0 done; 2 wrong option or table; 3 not a sound model.
    """
    with plain_errors("pritchel.tables.model"):
        if output.exists() and not overwrite:
            raise FileExistsError(f"{output} exists. Choose another name, or add --overwrite.")
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            raise ValueError("The report draws pictures and needs matplotlib: pip install 'pritchel[plots]'.") from None
        from pritchel.folder import is_model_folder

        if not is_model_folder(folder) and any(folder.glob("*.jsonl")):
            from pritchel.report.reproduction_page import reproduction_page

            put(f"Written: {reproduction_page(folder).write(output)}")
            return
        from pritchel.report.model_page import model_page
        from pritchel.tables.model import TableModel
        from pritchel.tables.read import read_table

        model = TableModel.load(folder).reading(decimal, na_value or (), target or ())
        frame = None if table is None else read_table(table, sep, encoding)
        put(f"Written: {model_page(model, frame, folder.resolve().name).write(output)}")
