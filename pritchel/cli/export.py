"""`pritchel export`: a model for a place without Pritchel."""

from pathlib import Path
from typing import Annotated

import typer

from pritchel.cli.common import Overwrite, plain_errors, put, say


def export(
    model: Annotated[Path, typer.Argument(help="Model folder.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write.", dir_okay=False)],
    kind: Annotated[
        str, typer.Option("--format", help="onnx, or numpy: one Python file that needs only numpy.")
    ] = "onnx",
    overwrite: Overwrite = False,
) -> None:
    """Write a model as ONNX, or as one Python file that needs only numpy.

    Both hold the same posterior draws that the model itself predicts from and answer with mean and sd. In ONNX each
    column is an input of shape (rows, 1): double for numbers, NaN where missing; text for categories, "(missing)"
    where missing.

    Exit codes: 0 done; 2 wrong option; 3 not a sound model.
    """
    with plain_errors():
        from pritchel.files.deployed import deployed
        from pritchel.files.numpy_export import write_numpy
        from pritchel.files.onnx_export import write_onnx
        from pritchel.tables.model import TableModel

        writers = {"onnx": write_onnx, "numpy": write_numpy}
        if kind not in writers:
            raise ValueError(f"--format must be one of {', '.join(writers)}; got {kind!r}.")
        if output.exists() and not overwrite:
            raise FileExistsError(f"{output} exists. Choose another name, or add --overwrite.")
        loaded = TableModel.load(model)
        members = loaded.estimator_.posterior_.members
        in_use = loaded.estimator_.units_kept_.sum()
        present = sum(len(units) for member in members for units in member.kept)
        if present > 2 * in_use:
            say(f"Note: {present} units are present and {in_use} in use; `pritchel prune` first makes a smaller file.")
        path = writers[kind](deployed(loaded.estimator_, loaded.plan_), output)
        put(f"Written: {path} ({path.stat().st_size / 1e6:.1f} MB)")
