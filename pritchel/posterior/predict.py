"""The predictive distribution in the units of y: mean, spread, quantiles, densities, samples."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from scipy import special

from pritchel.cores import by_chunks, one_blas_thread
from pritchel.data.dataset import Standardizer
from pritchel.guide.member import Member
from pritchel.model.likelihoods import Likelihood
from pritchel.model.likelihoods.base import Components
from pritchel.model.network import Weights
from pritchel.posterior.answers import Comparison, Fresh, Uncertainty
from pritchel.posterior.blocks import Blocks
from pritchel.posterior.calibration import CALIBRATIONS, FoundCalibration
from pritchel.posterior.diagnostics import FitWarning
from pritchel.posterior.draws import (
    BLOCK_DRAWS,
    DrawBlock,
    take_turns,
)
from pritchel.posterior.mixture import cell_log_probability, log_mean_exp, mixed_cdf, mixed_quantiles
from pritchel.posterior.region import density_regions
from pritchel.posterior.stacked import stacked_forward
from pritchel.tree import map_leaves

MAX_CHUNK_FLOATS = 2**22
QUICK_CHUNK_FLOATS = 2**17  # so few stay in the fast memory of a core
MAX_DOUBLE_ROWS = 20_000  # more at once are answered in single precision
ONE_DEVIATION = special.ndtr((-1.0, 1.0))  # levels between which the middle 68 % lies
MAX_SINGLE_INPUT = 1e4  # deviations from the mean beyond which single precision would not do
Part = TypeVar("Part")


class Posterior:
    """Fitted members mixed in equal parts. Arrays are (rows, features) in and (rows, outputs, ...) out.

    Answers come from a fixed set of weight draws, the same for every row and every call. Draws of a guide are remade
    from the seed when needed and kept in memory while they are small; they are no part of the pickled state. Many rows
    at once are answered in single precision, which changes the sixth digit or so.
    A calibration, where there is one, is part of every answer in the units of y.
    """

    def __init__(
        self,
        members: list[Member],
        standardizer: Standardizer,
        seed: int,
        num_draws: int,
        calibration: FoundCalibration | None = None,
    ):
        self.members, self.standardizer, self.seed = members, standardizer, seed
        self.num_draws, self.calibration = num_draws, calibration
        self._blocks = Blocks(members, seed, num_draws)

    def replace_members(self, members: list[Member]) -> "Posterior":
        """The same predictive with other members."""
        return Posterior(members, self.standardizer, self.seed, self.num_draws, self.calibration)

    def with_calibration(self, calibration: FoundCalibration | None) -> "Posterior":
        """The same members and draws, calibrated in another way."""
        changed = Posterior(self.members, self.standardizer, self.seed, self.num_draws, calibration)
        changed._blocks = self._blocks
        return changed

    def with_draws(self, num_draws: int) -> "Posterior":
        """The same, answering from another number of draws."""
        return Posterior(self.members, self.standardizer, self.seed, num_draws, self.calibration)

    def calibrated(self, name: str, unseen: Sequence[Fresh], seed: int) -> "Posterior":
        """The same, set right in the named way by rows that members were not fitted to; the seed chose them."""
        return self.with_calibration(CALIBRATIONS[name].find(unseen, seed))

    @property
    def likelihood(self) -> Likelihood:
        """The members' likelihood; what they have learned of it differs, and is in their guides."""
        return self.members[0].model.likelihood

    def mean_std(self, inputs: np.ndarray) -> tuple[np.ndarray, Uncertainty]:
        """Predictive mean and the split of the predictive standard deviation by the law of total variance."""

        def answer(components: Components, rows: slice) -> tuple[np.ndarray, ...]:
            mean, epistemic, aleatoric = components.mean.mean(0), components.mean.var(0), components.var.mean(0)
            return mean, *map(np.sqrt, (epistemic + aleatoric, aleatoric, epistemic))

        mean, *spread = self._columns(inputs, answer)
        return mean, Uncertainty(*spread)

    def noise(self, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Each row's noise: its standard deviation and its humps, (rows, targets); the tails' degrees of freedom.

        Those are (targets,). Without a variance, up to two of them, it is half of what holds the middle 68 %.
        """

        def answer(components: Components, rows: slice) -> tuple[np.ndarray, ...]:
            humps = np.broadcast_to(components.num_humps, components.mean.shape).mean(0)
            dof = np.broadcast_to(components.dof, (self.num_draws, 1, components.mean.shape[-1]))
            spread = np.sqrt(components.var.mean(0))
            if not np.isfinite(spread).all():
                low, high = (components.quantile(level).mean(0) for level in ONE_DEVIATION)
                spread = np.where(np.isfinite(spread), spread, 0.5 * (high - low))
            return spread, humps, np.median(dof, 0)

        spread, humps, dof = self._columns(inputs, answer)
        return spread, humps, dof[-1]

    def log_density(self, inputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """ln of the mean over draws of the density: one value a row, targets taken jointly."""
        return self.over_rows(inputs, targets, lambda parts, own: log_mean_exp(parts.log_density(own).sum(-1)))

    def log_densities(self, inputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """The same of each target by itself: (rows, targets)."""
        return self.over_rows(inputs, targets, lambda parts, own: log_mean_exp(parts.log_density(own)))

    def log_cell(self, inputs: np.ndarray, targets: np.ndarray, width: np.ndarray | float) -> np.ndarray:
        """ln of the probability that y, rounded to multiples of `width`, is the target: one value a row."""
        return self.over_rows(
            inputs, targets, lambda parts, own: log_mean_exp(cell_log_probability(parts, own, width).sum(-1))
        )

    def cdf(self, inputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """P(y <= targets): (rows, targets)."""
        return self.over_rows(inputs, targets, self._mixed_cdf)

    def _mixed_cdf(self, components: Components, values: np.ndarray) -> np.ndarray:
        cdf = mixed_cdf(components, values)
        return cdf if self.calibration is None else self.calibration.cdf(components, values, cdf)

    def compare(self, inputs: np.ndarray, targets: np.ndarray) -> "Comparison":
        """Everything that scores are made of, in one pass over the draws."""

        def answer(components: Components, rows: slice) -> tuple[np.ndarray, ...]:
            own, epistemic = targets[rows], components.mean.var(0)
            density, cdf = log_mean_exp(components.log_density(own)), self._mixed_cdf(components, own)
            below = self._mixed_cdf(components, own - 1) if components.is_discrete else cdf
            sd = np.sqrt(epistemic + components.var.mean(0))
            return components.mean.mean(0), sd, density, cdf, below, np.sqrt(epistemic)

        return Comparison(*self._columns(inputs, answer))

    def over_rows(
        self, inputs: np.ndarray, targets: np.ndarray, answer: Callable[[Components, np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """Whatever is to be said of the draws' distributions at known targets, some rows at a time."""
        return np.concatenate(self._by_rows(inputs, lambda components, rows: answer(components, targets[rows])))

    def quantiles(self, inputs: np.ndarray, levels: np.ndarray) -> np.ndarray:
        """Quantiles of the predictive mixture, levels on the last axis. They cannot cross."""
        found = mixed_quantiles if self.calibration is None else self.calibration.quantiles
        if self.calibration is not None and (complaint := self.calibration.complaint(levels)) is not None:
            warnings.warn(complaint, FitWarning, stacklevel=3)
        return np.concatenate(self._by_rows(inputs, lambda components, rows: found(components, levels)))

    def regions(self, inputs: np.ndarray, coverage: float) -> list[list[np.ndarray]]:
        """Highest-density regions, a list of targets for each row: (intervals, 2) each."""
        parts = self._by_rows(inputs, lambda components, rows: density_regions(components, coverage))
        return [row for part in parts for row in part]

    def entropies(self, inputs: np.ndarray) -> Uncertainty:
        """Of a class: the entropy of the mixture, the mean of the draws' entropies, and what lies between."""

        def answer(components: Components, rows: slice) -> tuple[np.ndarray, ...]:
            total = special.entr(components.mean.mean(0)).sum(-1)
            aleatoric = special.entr(components.mean).sum(-1).mean(0)
            return total, aleatoric, np.maximum(total - aleatoric, 0.0)

        return Uncertainty(*self._columns(inputs, answer))

    def weight_draws(self) -> Iterator[tuple[int, DrawBlock]]:
        """The draws behind every answer, in standard units: the member's index and a block of them."""
        for index in range(len(self.members)):
            own = np.flatnonzero(self._member_of_draw(self.num_draws) == index)
            for block, first in enumerate(range(0, len(own), BLOCK_DRAWS)):
                yield index, self._blocks.block(index, block, ()).first(len(own[first : first + BLOCK_DRAWS]))

    def sample_functions(self, inputs: np.ndarray, num_samples: int, seed: int | None) -> np.ndarray:
        """Draws of E[y | f], one weight draw for all rows; samples on the last axis.

        With no seed, here and below, they are the draws behind every answer, in their order.
        """
        parts = [np.moveaxis(part.mean, 0, -1) for part in self._components(inputs, num_samples, _stream(seed))]
        return np.concatenate(parts)

    def sample_weights(self, num_samples: int, seed: int) -> Weights:
        """The weight draws behind `sample_functions`, stacked, for inputs and outputs in standard units.

        Units that a member has lost, and others have not, come back as zeros.
        """
        own = [len(range(index, num_samples, len(self.members))) for index in range(len(self.members))]
        parts = []
        for index, count in enumerate(own[:num_samples]):
            blocks = [self._blocks.block(index, block, (seed,)).weights for block in range(-(-count // BLOCK_DRAWS))]
            parts.append(map_leaves(lambda *leaves: np.concatenate(leaves)[:count], *blocks))  # noqa: B023
        return take_turns(parts, num_samples)

    def sample_targets(self, inputs: np.ndarray, num_samples: int, seed: int | None) -> np.ndarray:
        """Draws of y: one from each component; samples on the last axis."""
        rng = np.random.default_rng(np.random.SeedSequence((self.seed, seed or 0, 1)))
        parts = [np.moveaxis(part.sample(rng), 0, -1) for part in self._components(inputs, num_samples, _stream(seed))]
        return np.concatenate(parts)

    def draw_log_densities(
        self, inputs: np.ndarray, targets: np.ndarray, num_samples: int, seed: int | None
    ) -> np.ndarray:
        """ln p(y | f) for the draws that `sample_functions` gives: (draws, rows, targets)."""
        parts, start = [], 0
        for components in self._components(inputs, num_samples, _stream(seed)):
            rows = targets[start : start + components.mean.shape[1]]
            parts.append(components.log_density(rows))
            start += len(rows)
        return np.concatenate(parts, 1)

    def _member_of_draw(self, num_draws: int) -> np.ndarray:
        return np.arange(num_draws) % len(self.members)

    def _columns(
        self, inputs: np.ndarray, answer: Callable[[Components, slice], tuple[np.ndarray, ...]]
    ) -> list[np.ndarray]:
        """An answer of several parts for all rows, a part each."""
        return [np.concatenate(column) for column in zip(*self._by_rows(inputs, answer), strict=True)]

    def _by_rows(self, inputs: np.ndarray, answer: Callable[[Components, slice], Part]) -> list[Part]:
        """What is made of the draws' predictive distributions, chunk by chunk of the rows, on all cores."""
        floats = QUICK_CHUNK_FLOATS if self._blocks.is_kept else MAX_CHUNK_FLOATS
        precision = np.float64 if len(inputs) <= MAX_DOUBLE_ROWS else np.float32

        def of_chunk(rows: slice) -> Part:
            return answer(self._components_of(inputs[rows], self.num_draws, (), precision), rows)

        return by_chunks(of_chunk, len(inputs), self._chunk_rows(self.num_draws, floats))

    def _chunk_rows(self, num_draws: int, num_floats: int) -> int:
        """Rows for which the largest array of a pass has so many floats."""
        widest = max(max(member.guide.widths) for member in self.members)
        return max(1, num_floats // max(BLOCK_DRAWS * widest, num_draws * self.members[0].guide.widths[-1]))

    def _components(self, inputs: np.ndarray, num_draws: int, stream: tuple[int, ...]) -> Iterator[Components]:
        """Chunks over rows of the draws' predictive distributions."""
        chunk_rows = self._chunk_rows(num_draws, MAX_CHUNK_FLOATS)
        for start in range(0, len(inputs), chunk_rows):
            with one_blas_thread():
                components = self._components_of(inputs[start : start + chunk_rows], num_draws, stream)
            yield components

    def _components_of(
        self, inputs: np.ndarray, num_draws: int, stream: tuple[int, ...], precision: Any = np.float64
    ) -> Components:
        outputs, values = self._functions(inputs, num_draws, stream, precision)
        location, scale = self.standardizer.target_mean, self.standardizer.target_scale
        parts = self.likelihood.components(outputs, values, location, scale)
        if self.calibration is None:
            return parts
        is_own = not stream and num_draws == self.num_draws  # else the center is of those behind answers
        moves_others = self.calibration.moves_draws and not is_own
        center = self.with_calibration(None).mean_std(inputs)[0] if moves_others else parts.mean.mean(0)
        return self.calibration.components(parts, center)

    def _functions(
        self, inputs: np.ndarray, num_draws: int, stream: tuple[int, ...], precision: Any
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """The network's outputs, (draws, rows, outputs), and what else the draws' components need.

        The members take turns over the draws.
        """
        standard = self.standardizer.scale_inputs(inputs)
        if np.abs(standard).max(initial=0) > MAX_SINGLE_INPUT:
            precision = np.float64
        standard = standard.astype(precision, copy=False)
        functions = np.empty((num_draws, len(standard), self.members[0].guide.widths[-1]))
        values: dict[str, np.ndarray] = {}
        for index, member in enumerate(self.members):
            own = np.flatnonzero(self._member_of_draw(num_draws) == index)
            for block, first in enumerate(range(0, len(own), BLOCK_DRAWS)):
                draws = own[first : first + BLOCK_DRAWS]
                used = self._blocks.block(index, block, stream, precision).first(len(draws))
                functions[draws] = stacked_forward(used.weights, standard, member.model.activation)
                for name, value in used.noise.items():
                    values.setdefault(name, np.empty((num_draws, *value.shape[1:])))[draws] = value
        return functions, values


def _stream(seed: int | None) -> tuple[int, ...]:
    return () if seed is None else (seed,)
