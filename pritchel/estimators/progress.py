"""The progress bar of a fit: on standard error, and only where somebody is watching."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pritchel.infer.fit import Progress


@contextmanager
def progress_display(
    progress: bool | Callable[[Progress], None], num_trials: int, num_steps: int
) -> Iterator[Callable[[Progress], None] | None]:
    """A callback for the training loop: the user's own, a bar, or None."""
    if callable(progress):
        yield progress
        return
    from rich.console import Console

    console = Console(stderr=True)
    if not progress or not console.is_terminal:
        yield None
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
            name = "fitting" if num_trials == 1 else f"member {state.trial + 1}"
            bars.update(
                tasks[state.trial],
                completed=state.step,
                description=name,
                elbo=f"ELBO per row {state.elbo:.3f}{alive}",
            )

        yield update
