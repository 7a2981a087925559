"""Whether chains agree: R-hat and effective sample size of predictions, and a report of how the sampling went.

Weights are not identified (units can change places), so it is the functions that are compared. Both figures are plain
numpy: compiling a library's would take longer than sampling a small table.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pritchel.data.dataset import Dataset
from pritchel.guide.member import Member
from pritchel.infer.sample import ChainResult
from pritchel.posterior.draws import stored_block
from pritchel.posterior.stacked import stacked_forward

MAX_ROWS = 200
POOR_R_HAT = 1.5
FEWEST_DRAWS = 4  # of a chain, for its halves to have a variance
POOR_ACCEPTANCE = 0.3
POOR_DIVERGENT = 0.1  # of the draws


class ChainReport(NamedTuple):
    """How one member's chain went, its warm-up not counted but in the gradients."""

    acceptance: float
    num_divergent: int
    num_samples: int
    num_gradients: int
    step_size: float
    status: str


class SamplingReport(NamedTuple):
    """What inference a fit used and why; for chains, how they went and whether their predictions agree.

    `r_hat` is the median over rows of the split R-hat of the function, near 1 where the members' chains tell the same;
    `effective_draws` the median of how many independent draws those of all members are worth.

    Examples
    --------
    >>> from pritchel import SamplingReport
    >>> print(SamplingReport("variational", "as asked for"))
    variational inference: as asked for
    """

    inference: str
    why: str
    chains: tuple[ChainReport, ...] = ()
    r_hat: float | None = None
    effective_draws: float | None = None

    @property
    def complaint(self) -> str | None:
        """What is wrong with the chains and what to do about it; None: nothing that can be seen."""
        if not self.chains:
            return None
        if self.r_hat is None and self.inference == "sampled":
            return (
                f"Fewer than {FEWEST_DRAWS} draws of each chain are kept, too few to tell whether chains agree: raise "
                "num_draws, or num_samples of sampling."
            )
        if self.r_hat is None:
            return "Too few draws were made before the interrupt; the fit answers by its variational posterior."
        worst = min(chain.acceptance for chain in self.chains)
        divergent = max(chain.num_divergent / max(chain.num_samples, 1) for chain in self.chains)
        if divergent > POOR_DIVERGENT:
            return f"{divergent:.0%} of a chain's trajectories diverged: raise sampling's target_acceptance to 0.95."
        if worst < POOR_ACCEPTANCE:
            return (
                f"A chain accepted {worst:.0%} of its proposals: raise target_acceptance of sampling, as to 0.95, or "
                "num_warmup."
            )
        if self.r_hat > POOR_R_HAT:
            return (
                f"The chains' predictions disagree (R-hat {self.r_hat:.2f}): they have not run long enough, or the "
                "posterior has several modes, over which the members then spread. Raise num_warmup and num_samples of "
                "sampling; if R-hat stays, it is modes."
            )
        return None

    def __str__(self) -> str:
        if not self.chains:
            return f"{self.inference} inference: {self.why}"
        acceptance = np.mean([chain.acceptance for chain in self.chains])
        divergent = sum(chain.num_divergent for chain in self.chains)
        gradients = sum(chain.num_gradients for chain in self.chains)
        text = f"{self.inference} inference: {self.why}; {len(self.chains)} chain(s), {gradients:,} gradients, "
        text += f"acceptance {acceptance:.2f}, {divergent} divergent"
        if self.r_hat is not None:
            text += f"; predictions: R-hat {self.r_hat:.2f}, {self.effective_draws:.0f} effective draws"
        return text


def report_sampling(
    members: Sequence[Member],
    chains: Sequence[ChainResult],
    why: str,
    data: Dataset,
    *,
    have_same_rows: bool = True,
) -> SamplingReport:
    """The report of members and their chains (none: variational), over some of the rows that were fitted.

    Where chains have not the same rows they need not agree, and each is compared with itself alone.
    """
    if not chains:
        return SamplingReport("variational", why)
    reports = tuple(_chain_report(chain) for chain in chains)
    sampled = [member for member in members if member.draws is not None]
    if not sampled:
        return SamplingReport("variational", why, reports)
    some = np.linspace(0, len(data.inputs) - 1, min(len(data.inputs), MAX_ROWS)).astype(int)
    functions = [_functions(member, data.take(some)) for member in sampled]
    shortest = min(map(len, functions))
    values = np.stack([function[:shortest] for function in functions])
    alike = [values] if have_same_rows else [own[None] for own in values]
    if shortest < FEWEST_DRAWS:
        return SamplingReport("sampled", why, reports)
    r_hat = max(float(np.median(split_r_hat(own))) for own in alike)
    effective = sum(float(np.median(effective_size(own))) for own in alike)
    return SamplingReport("sampled", why, reports, r_hat, effective)


def _functions(member: Member, data: Dataset) -> np.ndarray:
    """Outputs of a member's draws that say where y lies, (draws, values): all classes', or the first, one a target."""
    block = stored_block(member, slice(None))
    outputs = stacked_forward(block.weights, data.inputs.astype(np.float64), member.model.activation)
    num = outputs.shape[-1] if member.model.likelihood.has_classes else data.targets.shape[1]
    return outputs[..., :num].reshape(len(outputs), -1)


def _chain_report(chain: ChainResult) -> ChainReport:
    after = slice(chain.num_warmup, None)
    acceptance, is_divergent = chain.acceptance[after], chain.is_divergent[after]
    return ChainReport(
        float(acceptance.mean()) if len(acceptance) else 0.0,
        int(is_divergent.sum()),
        len(acceptance),
        chain.num_gradients,
        chain.step_size,
        chain.status,
    )


def split_r_hat(values: np.ndarray) -> np.ndarray:
    """Gelman and Rubin's potential scale reduction between halves of chains: (chains, draws, ...) in, (...) out."""
    half = values.shape[1] // 2
    if half < 2:
        return np.full(values.shape[2:], np.nan)
    halves = np.concatenate([values[:, :half], values[:, values.shape[1] - half :]])
    within = halves.var(1, ddof=1).mean(0)
    between = halves.mean(1).var(0, ddof=1)
    return np.sqrt((half - 1) / half + between / np.maximum(within, np.finfo(float).tiny))


def effective_size(values: np.ndarray) -> np.ndarray:
    """Independent draws that those of all chains are worth: (chains, draws, ...) in, (...) out.

    Autocorrelations are summed in pairs for as long as the pairs stay positive, made to fall (Geyer 1992), with the
    variance between chains in the denominator, as in Stan.
    """
    num_chains, num_draws = values.shape[:2]
    if num_draws < 4:
        return np.full(values.shape[2:], np.nan)
    centered = values - values.mean(1, keepdims=True)
    spectrum = np.fft.rfft(centered, 2 * num_draws, axis=1)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, axis=1)[:, :num_draws].mean(0) / num_draws
    within = covariance[0] * num_draws / (num_draws - 1)
    total = covariance[0] + (values.mean(1).var(0, ddof=1) if num_chains > 1 else 0.0)
    correlation = 1 - (within - covariance) / np.maximum(total, np.finfo(float).tiny)
    correlation[0] = 1.0
    pairs = correlation[: 2 * (num_draws // 2)].reshape(num_draws // 2, 2, *values.shape[2:]).sum(1)
    pairs = np.minimum.accumulate(pairs, axis=0)
    pairs = np.where(np.logical_and.accumulate(pairs > 0, axis=0), pairs, 0.0)
    time = np.maximum(2 * pairs.sum(0) - 1, 1 / np.log10(num_chains * num_draws + 1))
    return num_chains * num_draws / time
