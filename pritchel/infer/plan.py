"""How chains are to be run, what that costs, and the widths that networks are filled up to for it."""

from collections.abc import Sequence
from typing import NamedTuple

from pritchel.guide.member import Member
from pritchel.guide.network import num_weights
from pritchel.infer.coordinates import filled_widths

SECONDS_PER_GRADIENT = 5e-5  # of a small network, and
SECONDS_PER_PRODUCT = 1.5e-10  # a row and weight on top; measured on one core, with chains on the others
COMPILE_SECONDS = 5.0


class SamplingPlan(NamedTuple):
    """How chains are run."""

    num_warmup: int
    num_samples: int
    num_leapfrogs: int
    target_acceptance: float
    num_kept: int  # draws kept of each chain, evenly spaced

    def seconds(self, num_rows: int, num_weights: int) -> float:
        """About what a chain takes on a core, compiling not counted."""
        gradient = SECONDS_PER_GRADIENT + SECONDS_PER_PRODUCT * num_rows * num_weights
        return (self.num_warmup + self.num_samples) * self.num_leapfrogs * gradient


def chain_widths(members: Sequence[Member], num_rows: int, plan: SamplingPlan) -> list[tuple[int, ...]]:
    """Hidden widths that each network is filled up to: common ones, to compile once, unless its own save more time."""
    common = filled_widths(members)
    chosen = []
    for member in members:
        own, (num_features, *_, num_outputs) = filled_widths([member]), member.guide.widths
        at_common, at_own = (
            plan.seconds(num_rows, num_weights((num_features, *widths, num_outputs))) for widths in (common, own)
        )
        chosen.append(own if at_common - at_own > COMPILE_SECONDS else common)
    return chosen
