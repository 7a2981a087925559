"""The progress bar of a fit: on standard error, and only where somebody is watching."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pritchel.infer.trial import Execution, Progress


@contextmanager
def progress_display(
    progress: bool | Callable[[Progress], None], num_trials: int, num_steps: int, execution: Execution
) -> Iterator[Execution]:
    """The execution with somebody to tell: the user's own function, a bar, or nobody."""
    if callable(progress):
        yield execution._replace(on_progress=progress)
        return
    from rich.console import Console

    console = Console(stderr=True)
    if not progress or not console.is_terminal:
        yield execution
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[elbo]}"),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=console, transient=True) as bars:
        tasks = [
            bars.add_task("compiling", total=num_steps, elbo="")
            if num_trials == 1
            else bars.add_task(f"member {index + 1}", total=num_steps, elbo="")
            for index in range(num_trials)
        ]

        def update(state: Progress) -> None:
            alive = "" if state.units is None else f", units {'+'.join(map(str, state.units))}"
            name = state.stage if num_trials == 1 else f"{state.stage} member {state.trial + 1}"
            measure = "ELBO" if state.stage == "fitting" else "log density"
            bars.update(
                tasks[state.trial],
                completed=state.step,
                description=name,
                elbo=f"{measure} per row {state.elbo:.3f}{alive}",
            )

        yield execution._replace(on_progress=update)
