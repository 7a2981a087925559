"""Quantiles of a mixture of Student-t parts as nodes of an ONNX graph: bisection of its distribution function."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pritchel.files.deployed import Deployed
from pritchel.files.onnx_graph import Graph
from pritchel.files.tails import Tails
from pritchel.posterior.calibration.base import TAIL

NUM_STEPS = 36  # each halves the bracket


def add_quantiles(graph: Graph, model: Deployed, parts: Sequence[tuple[str, ...]], levels: np.ndarray) -> list[str]:
    """Values (rows, targets), one a level and in standard units, of mean, variance and weight of the draws' parts."""
    if model.tails is None or len(levels) == 0:
        return []
    means, noise, weights = (
        parts[0] if len(parts) == 1 else (_stacked(graph, each) for each in zip(*parts, strict=True))
    )
    scale = graph.add("Mul", graph.add("Sqrt", noise), graph.constant(model.tails.scale))
    shares = graph.add("Mul", weights, graph.constant(float(len(parts))))
    mixture = Mixture(model.tails, means, scale, shares)
    own, beyond = model.own_levels(levels)
    ends = [_quantile(graph, mixture, own[:, index]) for index in range(len(levels))]
    if not beyond.any():
        return ends
    low, high = (_quantile(graph, mixture, np.full(len(own), level)) for level in (TAIL, 1 - TAIL))
    width = graph.add("Sub", high, low)
    more = [graph.add("Mul", width, graph.constant(beyond[:, index])) for index in range(len(levels))]
    return [graph.add("Add", end, far) for end, far in zip(ends, more, strict=True)]


class Mixture(NamedTuple):
    """Parts of all draws, (parts of draws, rows, targets); the mean of their shares is one."""

    tails: Tails
    means: str
    scale: str
    shares: str


def _stacked(graph: Graph, values: Sequence[str]) -> str:
    return graph.add("Concat", *values, axis=0)


def _quantile(graph: Graph, mixture: Mixture, level: np.ndarray) -> str:
    """Of one level a target."""
    first = graph.constant(np.asarray([0], np.int64))
    reach = graph.add("Mul", mixture.scale, graph.constant(mixture.tails.reach))
    low = graph.add("ReduceMin", graph.add("Sub", mixture.means, reach), first, keepdims=0)
    high = graph.add("ReduceMax", graph.add("Add", mixture.means, reach), first, keepdims=0)

    def halve(ends: list[str]) -> list[str]:
        middle = graph.add("Mul", graph.add("Add", *ends), graph.constant(0.5))
        shares = graph.add("Mul", _cdf(graph, mixture, middle), mixture.shares)
        is_low = graph.add("Less", graph.add("ReduceMean", shares, first, keepdims=0), graph.constant(level))
        return [graph.add("Where", is_low, middle, ends[0]), graph.add("Where", is_low, ends[1], middle)]

    ends = graph.repeat(NUM_STEPS, [low, high], graph.helper.TensorProto.DOUBLE, halve)
    return graph.add("Mul", graph.add("Add", *ends), graph.constant(0.5))


def _cdf(graph: Graph, mixture: Mixture, values: str) -> str:
    """Of every part: the normal distribution function of its score."""
    proto: Any = graph.helper.TensorProto
    tails = mixture.tails
    standard = graph.add("Div", graph.add("Sub", values, mixture.means), mixture.scale)
    ratio = graph.add("Div", graph.add("Mul", standard, standard), graph.constant(tails.dof))
    part = graph.add("Div", graph.add("Log", graph.add("Add", ratio, graph.constant(1.0))), graph.constant(tails.limit))
    part = graph.add("Min", part, graph.constant(1.0))
    factor = graph.constant(tails.powers[-1])
    for power in tails.powers[-2::-1]:
        factor = graph.add("Add", graph.add("Mul", factor, part), graph.constant(power))
    size = graph.add("Sqrt", graph.add("Mul", part, graph.constant(0.5 * tails.dof * tails.limit)))
    score = graph.add("Mul", graph.add("Sign", standard), graph.add("Mul", size, factor))
    erf = graph.add("Erf", graph.add("Cast", score, to=proto.FLOAT))  # of doubles runtimes have none
    half = graph.constant(0.5)
    return graph.add("Add", graph.add("Mul", graph.add("Cast", erf, to=proto.DOUBLE), half), half)
