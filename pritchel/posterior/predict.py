"""The predictive distribution in the units of y: mean, spread, quantiles, densities, samples."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import numpy as np

from pritchel.data.dataset import Standardizer
from pritchel.model.network import Weights, forward
from pritchel.posterior.draws import BLOCK_DRAWS, Member, weight_block
from pritchel.posterior.mixture import StudentMixture, log_mean_exp

MAX_CACHED_BYTES = 2**28
MAX_CHUNK_FLOATS = 2**22


class Uncertainty(NamedTuple):
    """Standard deviations: of a new observation, of its noise, and of what the posterior does not know about f."""

    total: np.ndarray
    aleatoric: np.ndarray
    epistemic: np.ndarray


class Posterior:
    """Fitted members mixed in equal parts. Arrays are (rows, features) in and (rows, outputs, ...) out.

    Answers come from a fixed set of weight draws, the same for every row and every call. The draws are remade from the
    seed when needed and kept in memory while they are small; they are no part of the pickled state.
    """

    def __init__(self, members: list[Member], standardizer: Standardizer, seed: int, num_draws: int):
        self.members, self.standardizer, self.seed = members, standardizer, seed
        self.num_draws = num_draws
        self._cache: dict[Any, Weights] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cache": {}}

    def replace_members(self, members: list[Member]) -> "Posterior":
        """The same predictive with other members."""
        return Posterior(members, self.standardizer, self.seed, self.num_draws)

    def mean_std(self, inputs: np.ndarray) -> tuple[np.ndarray, Uncertainty]:
        """Predictive mean and the split of the predictive standard deviation by the law of total variance."""
        noise_var = self.mean_noise_var()
        parts = []
        for functions in self._functions(inputs, self.num_draws, ()):
            mean, epistemic = functions.mean(0), functions.var(0)
            parts.append((mean, np.sqrt(epistemic + noise_var), np.sqrt(epistemic)))
        mean, total, epistemic = (np.concatenate(column) for column in zip(*parts, strict=True))
        return mean, Uncertainty(total, np.broadcast_to(np.sqrt(noise_var), mean.shape).copy(), epistemic)

    def log_density(self, inputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """ln of the mean over draws of the Student-t density: one value a row, targets taken jointly."""
        return self._mixed(inputs, targets, lambda mixture, rows: log_mean_exp(mixture.log_density(rows).sum(-1)))

    def log_density_per_target(self, inputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """The same, each target by itself: (rows, outputs)."""
        return self._mixed(inputs, targets, lambda mixture, rows: log_mean_exp(mixture.log_density(rows)))

    def cdf(self, inputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """P(y <= targets): (rows, outputs)."""
        return self._mixed(inputs, targets, lambda mixture, rows: mixture.cdf(rows))

    def _mixed(
        self, inputs: np.ndarray, targets: np.ndarray, answer: Callable[[StudentMixture, np.ndarray], np.ndarray]
    ) -> np.ndarray:
        parts, start = [], 0
        for functions in self._functions(inputs, self.num_draws, ()):
            rows = targets[start : start + functions.shape[1]]
            parts.append(answer(self._mixture(functions), rows))
            start += len(rows)
        return np.concatenate(parts)

    def quantiles(self, inputs: np.ndarray, levels: np.ndarray) -> np.ndarray:
        """Quantiles of the predictive mixture, levels on the last axis. They cannot cross."""
        parts = []
        for functions in self._functions(inputs, self.num_draws, ()):
            mixture = self._mixture(functions)
            parts.append(np.stack([mixture.quantile(level) for level in levels], -1))
        return np.concatenate(parts)

    def weight_draws(self) -> Iterator[Weights]:
        """The draws behind every answer, in standard units: stacked weights, member by member, block by block."""
        for index in range(len(self.members)):
            own = np.flatnonzero(self._member_of_draw(self.num_draws) == index)
            for block, first in enumerate(range(0, len(own), BLOCK_DRAWS)):
                count = len(own[first : first + BLOCK_DRAWS])
                yield jax.tree.map(lambda leaf: leaf[:count], self._weights(index, block, ()))  # noqa: B023 - at once

    def sample_functions(self, inputs: np.ndarray, num_samples: int, seed: int) -> np.ndarray:
        """Function draws, one weight draw for all rows; samples on the last axis."""
        parts = [np.moveaxis(part, 0, -1) for part in self._functions(inputs, num_samples, (seed,))]
        return np.concatenate(parts)

    def sample_targets(self, inputs: np.ndarray, num_samples: int, seed: int) -> np.ndarray:
        """Draws of y: function draws plus Student-t noise; samples on the last axis."""
        functions = self.sample_functions(inputs, num_samples, seed)
        scale, dof = self._noise(num_samples)
        rng = np.random.default_rng(np.random.SeedSequence((self.seed, seed, 1)))
        scale, dof = (np.moveaxis(part[:, 0], 0, -1) for part in (scale, dof))
        return functions + scale * rng.standard_t(np.broadcast_to(dof, functions.shape))

    def draw_log_densities(self, functions: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """ln p(y | f) for function draws (draws, rows, outputs) that `sample_functions` gave."""
        return self._mixture(functions).log_density(targets)

    def _member_of_draw(self, num_draws: int) -> np.ndarray:
        return np.arange(num_draws) % len(self.members)

    def _noise(self, num_draws: int) -> tuple[np.ndarray, np.ndarray]:
        """Scale (in units of y) and degrees of freedom of each draw's noise: (draws, 1, outputs) and (draws, 1, 1)."""
        scales, dofs = [], []
        for member in self.members:
            scales.append(
                np.exp(-0.5 * np.asarray(member.guide.likelihood, np.float64)) * self.standardizer.target_scale
            )
            dofs.append(2 * float(member.model.likelihood.shape))
        of_draw = self._member_of_draw(num_draws)
        return np.stack(scales)[of_draw][:, None], np.asarray(dofs)[of_draw][:, None, None]

    def mean_noise_var(self) -> np.ndarray:
        """Variance of the noise in the units of y, mixed over members: (outputs,)."""
        scale, dof = self._noise(len(self.members))
        inflation = np.where(dof > 2, dof / np.maximum(dof - 2, 1e-9), np.inf)
        return (scale**2 * inflation).mean(0)[0]

    def _mixture(self, functions: np.ndarray) -> StudentMixture:
        return StudentMixture(functions, *self._noise(len(functions)))

    def _functions(self, inputs: np.ndarray, num_draws: int, stream: tuple[int, ...]) -> Iterator[np.ndarray]:
        """Chunks over rows of f in units of y: (draws, rows, outputs). The members take turns over the draws."""
        standard = self.standardizer.scale_inputs(inputs)
        widest = max(max(member.guide.widths) for member in self.members)
        outputs = self.members[0].guide.widths[-1]
        floats_a_row = max(BLOCK_DRAWS * widest, num_draws * outputs)
        chunk_rows = max(1, MAX_CHUNK_FLOATS // floats_a_row)
        for start in range(0, len(standard), chunk_rows):
            rows = standard[start : start + chunk_rows]
            functions = np.empty((num_draws, len(rows), outputs))
            for index, member in enumerate(self.members):
                own = np.flatnonzero(self._member_of_draw(num_draws) == index)
                for block, first in enumerate(range(0, len(own), BLOCK_DRAWS)):
                    draws = own[first : first + BLOCK_DRAWS]
                    weights = self._weights(index, block, stream)
                    used = jax.tree.map(lambda leaf: leaf[: len(draws)], weights)  # noqa: B023 - used at once
                    functions[draws] = forward(used, rows, member.model.activation)
            yield self.standardizer.unscale_targets(functions)

    def _weights(self, member: int, block: int, stream: tuple[int, ...]) -> Weights:
        key = (member, block, *stream)
        if key not in self._cache:
            weights = weight_block(self.members[member], (self.seed, *key))
            size = sum(leaf.nbytes for leaf in jax.tree.leaves(weights))
            num_blocks = len(self.members) * -(-self.num_draws // (BLOCK_DRAWS * len(self.members)))
            if stream or size * num_blocks > MAX_CACHED_BYTES:
                return weights
            self._cache[key] = weights
        return self._cache[key]
