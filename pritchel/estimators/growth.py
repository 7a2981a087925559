"""Room to grow: a fit whose hidden layers end nearly full is begun anew with twice the units, and steps, for them."""

from collections.abc import Callable, Sequence

import numpy as np

from pritchel.guide.prune_rule import surviving_units_of
from pritchel.infer.members import MemberFit
from pritchel.infer.options import Options
from pritchel.posterior.diagnostics import full_layers
from pritchel.processes import of_first

MOST_TIMES = 2  # to four times the units that a fit begins with


def units_kept(fits: Sequence[MemberFit]) -> np.ndarray:
    """Units that each member keeps in each hidden layer under the default pruning rule: (members, layers)."""
    return of_first([[len(units) for units in surviving_units_of(fit.member)] for fit in fits])


def with_room(
    fits: list[MemberFit], options: Options, num_rows: int, fit_anew: Callable[[Options], list[MemberFit]]
) -> tuple[Options, list[MemberFit]]:
    """Fits whose layers have room, and their options: those given, where the width was not left open or none is full.

    An interrupt, or a fit that diverges, leaves the last that was whole.
    """
    for _ in range(MOST_TIMES):
        is_whole = all(fit.result.status in ("finished", "stopped early") for fit in fits)
        if not options.grows or not is_whole or not fits[0].member.guide.has_unit_scales():
            break
        num_steps = options.fit_settings(num_rows).num_steps
        layers = full_layers(units_kept(fits), options.hidden, num_steps, options.activation)
        if not layers:
            break
        wider = options.wider(layers, num_steps)
        try:
            grown = fit_anew(wider)
        except KeyboardInterrupt:  # before its first steps
            grown = []
        how = {fit.result.status for fit in grown}
        if len(grown) < len(fits) or "interrupted" in how:
            return options, [fit.ended("interrupted") for fit in fits]
        if "diverged" in how:
            break
        options, fits = wider, grown
    return options, fits
