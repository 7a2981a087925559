"""Quantiles of a mixture of Student-t draws as nodes of an ONNX graph: bisection of its distribution function."""

from typing import Any

import numpy as np

from pritchel.files.deployed import Deployed
from pritchel.files.onnx_graph import Graph
from pritchel.files.tails import Tails
from pritchel.posterior.calibration.base import TAIL

NUM_STEPS = 36  # each halves the bracket


def add_quantiles(graph: Graph, model: Deployed, means: str, noise: str, levels: np.ndarray) -> list[str]:
    """Values (rows, targets), one a level and in standard units, of draws' means and variances."""
    if model.tails is None or len(levels) == 0:
        return []
    scale = graph.add("Mul", graph.add("Sqrt", noise), graph.constant(model.tails.scale))
    own, beyond = model.own_levels(levels)
    ends = [_quantile(graph, model.tails, means, scale, own[:, index]) for index in range(len(levels))]
    if not beyond.any():
        return ends
    widest = [np.full(len(own), level) for level in (TAIL, 1 - TAIL)]
    low, high = (_quantile(graph, model.tails, means, scale, level) for level in widest)
    width = graph.add("Sub", high, low)
    more = [graph.add("Mul", width, graph.constant(beyond[:, index])) for index in range(len(levels))]
    return [graph.add("Add", end, far) for end, far in zip(ends, more, strict=True)]


def _quantile(graph: Graph, tails: Tails, means: str, scale: str, level: np.ndarray) -> str:
    """Of one level a target."""
    first = graph.constant(np.asarray([0], np.int64))
    reach = graph.add("Mul", scale, graph.constant(tails.reach))
    low = graph.add("ReduceMin", graph.add("Sub", means, reach), first, keepdims=0)
    high = graph.add("ReduceMax", graph.add("Add", means, reach), first, keepdims=0)

    def halve(ends: list[str]) -> list[str]:
        middle = graph.add("Mul", graph.add("Add", *ends), graph.constant(0.5))
        below = graph.add("ReduceMean", _cdf(graph, tails, middle, means, scale), first, keepdims=0)
        is_low = graph.add("Less", below, graph.constant(level))
        return [graph.add("Where", is_low, middle, ends[0]), graph.add("Where", is_low, ends[1], middle)]

    ends = graph.repeat(NUM_STEPS, [low, high], graph.helper.TensorProto.DOUBLE, halve)
    return graph.add("Mul", graph.add("Add", *ends), graph.constant(0.5))


def _cdf(graph: Graph, tails: Tails, values: str, means: str, scale: str) -> str:
    """Of every draw, (draws, rows, targets): the normal distribution function of its score."""
    proto: Any = graph.helper.TensorProto
    standard = graph.add("Div", graph.add("Sub", values, means), scale)
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
