"""Where the scales of units and layers begin: a choice of the training, not of the model."""

from collections.abc import Callable

import numpy as np

from pritchel.model.priors.base import Prior, PriorStart

ScaleStart = Callable[[Prior, PriorStart, tuple[int, ...], np.random.Generator], PriorStart]
WIDTH = 2.0  # of the uniform start, on either side of one, in logs


def _at_prior(prior: Prior, start: PriorStart, hidden: tuple[int, ...], rng: np.random.Generator) -> PriorStart:
    """Where the prior says: layer scales at their prior, and the product with unit scales at one."""
    return start


def _at_ones(prior: Prior, start: PriorStart, hidden: tuple[int, ...], rng: np.random.Generator) -> PriorStart:
    """Every scale at one."""
    return _moved(start, [np.zeros(units) for units in hidden], np.zeros(len(hidden)))


def _drawn(prior: Prior, start: PriorStart, hidden: tuple[int, ...], rng: np.random.Generator) -> PriorStart:
    """A draw from the prior."""
    units, scales, _ = prior.draw(rng, 1, hidden, False)
    return _moved(start, [part.reshape(-1) for part in units], scales.layer)


def _uniform(prior: Prior, start: PriorStart, hidden: tuple[int, ...], rng: np.random.Generator) -> PriorStart:
    """Logs uniform between -2 and 2."""
    units = [rng.uniform(-WIDTH, WIDTH, count) for count in hidden]
    return _moved(start, units, rng.uniform(-WIDTH, WIDTH, len(hidden)))


def _moved(start: PriorStart, units: list[np.ndarray], layer: np.ndarray | None) -> PriorStart:
    """The start with other logs of unit scales, and of layer scales where there are any."""
    own = None if start.scales.layer is None or layer is None else layer.reshape(-1)
    return start._replace(log_unit_scales=tuple(units), scales=start.scales._replace(layer=own))


SCALE_STARTS: dict[str, ScaleStart] = {"prior": _at_prior, "ones": _at_ones, "draws": _drawn, "uniform": _uniform}


def scale_start(
    name: str, prior: Prior, start: PriorStart, hidden: tuple[int, ...], rng: np.random.Generator
) -> PriorStart:
    """The start that a name stands for; the prior's own where units have no scales."""
    return start if start.log_unit_scales is None else SCALE_STARTS[name](prior, start, hidden, rng)
