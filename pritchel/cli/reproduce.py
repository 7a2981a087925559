"""`pritchel reproduce`: the paper's experiments, by name."""

from pathlib import Path
from typing import Annotated

import typer

from pritchel.cli.common import BAD_INPUT, INTERRUPTED
from pritchel.compile_cache import compile_fast


def reproduce(
    names: Annotated[list[str], typer.Argument(help="Experiments, or 'all'; 'list' names them.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="Every figure from few trials and short fits, to see that it works.")
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of benchmark tables; else PRITCHEL_DATA, ../shared/data, or fetched by name, once."),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for records and figures.")] = Path("results"),
    n_jobs: Annotated[int | None, typer.Option("--jobs", min=1, help="Trials at a time; default: all cores.")] = None,
) -> None:
    """Run experiments of the paper and draw their figures.

    Each trial is one line of OUTPUT/NAME.jsonl, written as it ends; a run that was killed goes on where it stopped and
    trains nothing twice. Figures and OUTPUT/verdicts.md are made from the lines; `pritchel report OUTPUT` makes a page.
    """
    import os

    try:
        import matplotlib  # noqa: F401
    except ImportError:
        typer.echo("Figures need matplotlib: pip install 'pritchel[plots]'.", err=True)
        raise typer.Exit(BAD_INPUT) from None

    if quick:
        compile_fast()
    from pritchel.experiments.reproduce import EXPERIMENTS, load, run_experiment
    from pritchel.report.experiment_figures import draw_figures
    from pritchel.report.verdicts import write_verdicts

    if names == ["list"]:
        for name in EXPERIMENTS:
            typer.echo(f"{name:14} {load(name).title}")
        return
    chosen = list(EXPERIMENTS) if names == ["all"] else names
    unknown = [name for name in chosen if name not in EXPERIMENTS]
    if unknown:
        typer.echo(f"No experiment {', '.join(unknown)}; there are: {', '.join(EXPERIMENTS)}, or all.", err=True)
        raise typer.Exit(BAD_INPUT)
    if data is not None:
        os.environ["PRITCHEL_DATA"] = str(data)
    has_failed = False
    for name in chosen:
        try:
            outcome = run_experiment(
                name, output, quick=quick, n_jobs=n_jobs, say=lambda text: typer.echo(text, err=True)
            )
        except FileNotFoundError as error:
            typer.echo(f"{name}: {error}", err=True)
            raise typer.Exit(BAD_INPUT) from None
        except OSError as error:
            typer.echo(f"{name}: nothing can be kept in {output} ({error.strerror or error}).", err=True)
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            typer.echo("Interrupted. Finished trials are on record; the same command goes on from there.", err=True)
            raise typer.Exit(INTERRUPTED) from None
        has_failed |= bool(outcome.failures)
        label = f"{name} (quick: a rehearsal, no evidence)" if quick else name
        finding = outcome.finding
        typer.echo(f"{label}: {finding.verdict}. {finding.statistic}" if finding else f"{label}: no trial on record.")
        for path in draw_figures(name, outcome.records, output) if outcome.records else ():
            typer.echo(f"  {path}")
        for failure in outcome.failures:
            typer.echo(f"  failed: {failure}", err=True)
    typer.echo(f"All verdicts so far: {write_verdicts(output)}")
    raise typer.Exit(1 if has_failed else 0)
