"""The first stage of a fit: members that find the width, begun anew where they diverge, are cramped or fall behind."""

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

from pritchel.data.dataset import Standardizer
from pritchel.data.passes import Rows
from pritchel.data.split import Crossing, Unseen
from pritchel.estimators.growth import with_room
from pritchel.estimators.outcome import slower, usable_fits
from pritchel.estimators.stragglers import mend_stragglers
from pritchel.guide.member import Member
from pritchel.infer.members import MemberFit, fit_members
from pritchel.infer.options import Options
from pritchel.infer.trial import Execution, Stage
from pritchel.posterior.diagnostics import FitWarning

Executing = Callable[[int, int, Any, Stage], AbstractContextManager[Execution]]
"""How so many fits of so many steps are run and shown, with checkpoints in a folder if one is given."""


class Ready(NamedTuple):
    """Rows to fit to, and all that their fit depends on."""

    rows: Rows
    standardizer: Standardizer
    options: Options
    seed: int
    starts: list[Member]
    unseen: Unseen | None
    crossing: Crossing | None = None


class FirstStage(NamedTuple):
    """The fits that can be mixed, the options that they ended with, and how many were left out as too far behind."""

    fits: list[MemberFit]
    options: Options
    num_left_out: int


def fit_variational(ready: Ready, num_classes: int, executing: Executing, checkpoint: Any) -> FirstStage:
    """Members fitted to the rows; a fit that goes on from another stays as wide, and all its members stay."""
    rows, standardizer, options, seed, starts, _, crossing = ready

    def fit(
        options: Options, folder: Any, stage: Stage = "fitting", numbers: list[int] | None = None
    ) -> list[MemberFit]:
        num_fits = options.num_members if numbers is None else len(numbers)
        named = {"num_classes": num_classes, "starts": starts, "numbers": numbers, "crossing": crossing}
        with executing(num_fits, options.fit_settings(rows.num_rows).num_steps, folder, stage) as execution:
            return fit_members(rows, options, seed, **named, execution=execution)

    def fit_wider(options: Options) -> list[MemberFit]:
        folder = None if checkpoint is None else Path(checkpoint) / "-".join(map(str, options.hidden))
        return fit(options, folder, "fitting wider")

    fits = fit(options, checkpoint)
    if any(one.result.status == "diverged" for one in fits):
        options = slower(options)
        told = f"The fit diverged and was begun anew with learning_rate={options.training.learning_rate:g}."
        warnings.warn(told, FitWarning, stacklevel=4)
        fits = fit(options, None)
    if not starts:
        options, fits = with_room(fits, options, rows.num_rows, fit_wider)
    num_steps = options.fit_settings(rows.num_rows).num_steps
    usable = usable_fits(fits, options.num_members, num_steps, options.training.learning_rate)
    if starts:
        return FirstStage(usable, options, 0)
    num_parts = 1 if crossing is None else crossing.num_parts
    num_starts = -(-options.num_members // num_parts) * num_parts
    mended = mend_stragglers(
        usable, standardizer, seed, rows.sample, lambda numbers: fit(options, checkpoint, numbers=numbers), num_starts
    )
    return FirstStage(mended, options, len(usable) - len(mended))
