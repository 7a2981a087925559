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
    quantile: Annotated[
        list[float] | None, typer.Option("--quantile", help="A level between 0 and 1 to answer with; again for more.")
    ] = None,
    split: Annotated[bool, typer.Option("--split", help="Answer with aleatoric and epistemic parts too.")] = False,
    num_draws: Annotated[
        int | None, typer.Option(min=1, help="Weight draws to take along: fewer make a smaller, coarser file.")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write a model as ONNX, or as one Python file that needs only numpy.

    Both hold the same posterior draws that the model itself predicts from, and its calibration. They answer with mean
    and sd, shaped as `predict` does it (classes: probabilities and the likeliest), with q5, q95 and so on for each
    --quantile, and with --split aleatoric and epistemic. The Python file has functions for all of them, whatever the
    options, which say what its command writes. Quantiles are those of noise of one hump or several; counts and others
    have mean and sd only. In ONNX each column is an input of shape (rows, 1): double for numbers,
    NaN where missing; text for categories, "(missing)" where missing.

    Exit codes: 0 done; 2 wrong option; 3 not a sound model.
    """
    with plain_errors():
        from pritchel.files.deployed import deployed
        from pritchel.files.numpy_export import write_numpy
        from pritchel.files.onnx_export import write_onnx
        from pritchel.tables.loaded import LoadedTable

        writers = {"onnx": write_onnx, "numpy": write_numpy}
        if kind not in writers:
            raise ValueError(f"--format must be one of {', '.join(writers)}; got {kind!r}.")
        if output.exists() and not overwrite:
            raise FileExistsError(f"{output} exists. Choose another name, or add --overwrite.")
        loaded = LoadedTable.load(model)
        members = loaded.estimator_.posterior_.members
        in_use = loaded.estimator_.units_kept_.sum()
        present = sum(len(units) for member in members for units in member.kept)
        if present > 2 * in_use:
            say(f"Note: {present} units are present and {in_use} in use; `pritchel prune` first makes a smaller file.")
        taken = deployed(loaded.estimator_, loaded.plan_, num_draws)
        path = writers[kind](taken, output, quantile or (), split)
        put(f"Written: {path} ({path.stat().st_size / 1e6:.1f} MB)")
