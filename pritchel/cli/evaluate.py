"""`pritchel evaluate`: how good a model is on a table whose targets are known."""

from pathlib import Path
from typing import Annotated

import typer

from pritchel.cli.common import (
    AsJson,
    Decimal,
    Encoding,
    NaValues,
    Sep,
    Targets,
    as_flag,
    console,
    plain_errors,
    print_json,
    put,
    say,
    visible,
)


def evaluate(
    model: Annotated[Path, typer.Argument(help="Model folder.")],
    table: Annotated[str, typer.Argument(metavar="TABLE", help="CSV (also .gz), Parquet, or - for CSV on stdin.")],
    target: Targets = None,
    sep: Sep = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    na_value: NaValues = None,
    as_json: AsJson = False,
) -> None:
    """Score a model on a table that has the targets: RMSE, log-likelihood, CRPS, coverage, calibration
    curve (classes: accuracy, Brier score, calibration error), and posterior-predictive checks.

    Beside it stand the line (ridge or logistic regression) that was fitted to the same rows as the model, and the
    constant predictor, which knows the mean and spread of those rows; of classes and counts, of this table.

    Exit codes: 0 done; 2 wrong table; 3 not a sound model.
    """
    with plain_errors():
        from rich.table import Table

        from pritchel.cli.scores import checks_table, scores_table
        from pritchel.posterior.evaluate import calibration_curve
        from pritchel.tables.judgement import judge
        from pritchel.tables.loaded import LoadedTable
        from pritchel.tables.outside import outside_cells, outside_remarks
        from pritchel.tables.read import read_table
        from pritchel.tables.scoring import score_notes

        loaded = LoadedTable.load(model).reading(decimal, na_value or (), target or ())
        frame = read_table(table, sep, encoding)
        outcome = loaded.evaluate(frame)
        for text in outside_remarks(loaded.plan_, outside_cells(loaded.plan_, frame)[1]):
            say(f"Note: {text}")
        notes = score_notes(outcome)
        verdicts = [told.spelled(as_flag) for told in judge(loaded.estimator_, notes)]
        curves = {}
        for index, name in enumerate(() if loaded.has_classes else loaded.plan_.targets):
            levels, observed = calibration_curve(outcome.pit[:, index])
            curves[name] = {"nominal": levels.round(4).tolist(), "observed": observed.round(4).tolist()}
        if as_json:
            print_json({"model": str(model), **notes, "verdicts": verdicts, "calibration": curves})
            return
        console().print(scores_table(notes, f"Scores ({notes['num_scored']:,})"))
        for verdict in verdicts:
            put(verdict)
        for name, curve in curves.items():
            shown = Table(title=f"Calibration of {visible(name)}: rows inside central intervals")
            shown.add_column("interval", justify="right")
            shown.add_column("holds", justify="right")
            for nominal, observed in list(zip(curve["nominal"], curve["observed"], strict=True))[1::4]:
                shown.add_row(f"{nominal:.0%}", f"{observed:.0%}")
            console().print(shown)
        console().print(checks_table(notes["checks"]))
