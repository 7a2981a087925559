"""A model as an ONNX graph: one input a column, mean and sd or class probabilities out, the draws inside."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pritchel.files.deployed import Deployed
from pritchel.files.expressions import Expression
from pritchel.files.onnx_graph import Graph
from pritchel.files.onnx_quantiles import add_quantiles
from pritchel.tables.columns import Column
from pritchel.writing import write_bytes

OPSET, ML_OPSET, IR_VERSION = 18, 3, 9


def write_onnx(model: Deployed, path: Path, quantiles: Sequence[float] = (), split: bool = False) -> Path:
    """Write the graph. Numbers come in as double (NaN: missing), categories as text, each of shape (rows, 1).

    `quantiles` are outputs q5, q95, ... beside mean and sd; with `split` there are aleatoric and epistemic ones.
    """
    levels = model.check_levels(quantiles)
    try:
        import onnx
        from onnx import TensorProto, helper
    except ImportError:
        raise ValueError("Exporting to ONNX needs the onnx package: pip install 'pritchel[onnx]'.") from None
    graph = Graph(column.name for column in model.plan.columns)
    kinds = {"number": TensorProto.DOUBLE, "category": TensorProto.STRING}
    inputs = [
        helper.make_tensor_value_info(column.name, kinds[column.kind], ["rows", 1]) for column in model.plan.columns
    ]
    features = _features(graph, model.plan.columns)
    standard = graph.add("Sub", features, graph.constant(model.input_mean))
    standard = graph.add("Div", standard, graph.constant(model.input_scale))
    standard = graph.add("Cast", standard, to=TensorProto.FLOAT)
    functions = [_forward(graph, standard, weights, model.activation) for weights in model.stacks]
    joined = graph.add("Concat", *functions, axis=0) if len(functions) > 1 else functions[0]
    joined = graph.add("Cast", joined, to=TensorProto.DOUBLE)
    outputs = (
        _answers(graph, model, joined, levels, split)
        if model.classes is None
        else _class_answers(graph, model, joined, split)
    )
    whole = helper.make_graph(graph.nodes, "pritchel", inputs, outputs, graph.constants)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
    proto = helper.make_model(whole, opset_imports=opsets, ir_version=IR_VERSION, producer_name="pritchel")
    helper.set_model_props(proto, {"targets": ", ".join(model.plan.targets), "classes": ", ".join(model.classes or ())})
    onnx.checker.check_model(proto)
    return write_bytes(path, proto.SerializeToString())


def _features(graph: Graph, columns: tuple[Column, ...]) -> str:
    """The network's inputs in the plan's order: numbers, marks of missing ones, categories."""
    from onnx import TensorProto

    numbers, marks, categories = [], [], []
    for column in columns:
        if column.kind == "category":
            hot = graph.add(
                "OneHotEncoder", column.name, domain="ai.onnx.ml", cats_strings=list(column.categories), zeros=1
            )
            flat = graph.add("Reshape", hot, graph.constant(np.asarray([-1, len(column.categories)], np.int64)))
            categories.append(graph.add("Cast", flat, to=TensorProto.DOUBLE))
            continue
        is_missing = graph.add("IsNaN", column.name)
        numbers.append(graph.add("Where", is_missing, graph.constant(np.asarray([column.fill])), column.name))
        if column.is_missing_marked:
            marks.append(graph.add("Cast", is_missing, to=TensorProto.DOUBLE))
    parts = numbers + marks + categories
    return graph.add("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]


def _forward(graph: Graph, standard: str, weights: Any, activation: str) -> str:
    """All draws of one member at once: (draws, rows, targets)."""
    value = standard
    for layer in weights.hidden:
        value = graph.add("MatMul", value, graph.constant(layer[:, :-1]))
        value = graph.add("Add", value, graph.constant(layer[:, -1:]))
        value = _activated(graph, value, activation)
    value = graph.add("MatMul", value, graph.constant(weights.output[:, :-1]))
    value = graph.add("Add", value, graph.constant(weights.output[:, -1:]))
    if weights.linear is not None:
        value = graph.add("Add", value, graph.add("MatMul", standard, graph.constant(weights.linear)))
    return value


def _activated(graph: Graph, value: str, activation: str) -> str:
    if activation == "relu":
        return graph.add("Relu", value)
    turned = graph.add("Tanh", value)
    if activation == "tanh":
        return turned
    half = graph.constant(np.asarray(0.5, np.float32))
    share = graph.add("Add", half, graph.add("Mul", half, turned))
    return graph.add("Mul", value, share)


def _answers(graph: Graph, model: Deployed, joined: str, levels: np.ndarray, split: bool) -> list[Any]:
    """Mean and standard deviation of y by the law of total variance over the draws, and what else is asked for."""
    first = graph.constant(np.asarray([0], np.int64))
    humps = [tuple(_emit(graph, value, joined) for value in part) for part in model.parts]
    means, noise = humps[0][:2] if len(humps) == 1 else _mixed(graph, humps)
    centre = graph.add("ReduceMean", means, first, keepdims=0)
    away = graph.add("Sub", means, centre)
    parts = {
        "aleatoric": graph.add("ReduceMean", noise, first, keepdims=0),
        "epistemic": graph.add("ReduceMean", graph.add("Mul", away, away), first, keepdims=0),
    }
    total = {"sd": graph.add("Add", *parts.values())}
    spread = graph.constant(model.target_scale * model.factor)
    scaled = graph.add("Mul", centre, graph.constant(model.target_scale))
    answers = {"mean": graph.add("Add", scaled, graph.constant(model.target_mean))}
    for name, var in (total | parts if split else total).items():
        answers[name] = graph.add("Mul", graph.add("Sqrt", var), spread)
    for level, own in zip(levels, add_quantiles(graph, model, humps, levels), strict=True):
        moved = graph.add("Mul", graph.add("Sub", own, centre), spread)
        answers[f"q{100 * level:g}"] = graph.add("Add", moved, answers["mean"])
    shape = [-1] if model.has_one_answer else [-1, len(model.target_mean)]
    kind = graph.helper.TensorProto.DOUBLE
    outputs = []
    for name, value in answers.items():
        graph.add("Reshape", value, graph.constant(np.asarray(shape, np.int64)), name=graph.answer(name))
        outputs.append(graph.helper.make_tensor_value_info(graph.answer(name), kind, ["rows", *shape[1:]]))
    return outputs


def _class_answers(graph: Graph, model: Deployed, joined: str, split: bool) -> list[Any]:
    """Probabilities averaged over the draws, and the most probable label; with `split` entropies in nats."""
    first, last = (graph.constant(np.asarray([axis], np.int64)) for axis in (0, -1))
    draws = _emit(graph, model.parts[0][0], joined)
    if model.power != 0:
        mixed = graph.add("ReduceMean", draws, first, keepdims=0)
        moved = graph.add("Mul", draws, graph.add("Pow", _positive(graph, mixed), graph.constant(model.power)))
        draws = graph.add("Div", moved, graph.add("ReduceSum", moved, last, keepdims=1))
    probabilities, label = map(graph.answer, ("probabilities", "class"))
    graph.add("ReduceMean", draws, first, keepdims=0, name=probabilities)
    index = graph.add("ArgMax", probabilities, axis=1, keepdims=0)
    graph.add("Gather", graph.constant(np.asarray(model.classes, object)), index, axis=0, name=label)
    proto, info = graph.helper.TensorProto, graph.helper.make_tensor_value_info
    shape = ["rows", len(model.classes or ())]
    outputs = [info(probabilities, proto.DOUBLE, shape), info(label, proto.STRING, ["rows"])]
    if split:
        total = _entropy(graph, probabilities, last)
        aleatoric = graph.add("ReduceMean", _entropy(graph, draws, last), first, keepdims=0)
        epistemic = graph.add("Max", graph.add("Sub", total, aleatoric), graph.constant(0.0))
        for name, value in (("aleatoric", aleatoric), ("epistemic", epistemic)):
            graph.add("Identity", value, name=graph.answer(name))
            outputs.append(info(graph.answer(name), proto.DOUBLE, ["rows"]))
    return outputs


def _positive(graph: Graph, value: str) -> str:
    return graph.add("Max", value, graph.constant(np.finfo(float).tiny))


def _entropy(graph: Graph, probabilities: str, last: str) -> str:
    parts = graph.add("Mul", probabilities, graph.add("Log", _positive(graph, probabilities)))
    return graph.add("Neg", graph.add("ReduceSum", parts, last, keepdims=0))


def _mixed(graph: Graph, humps: Sequence[tuple[str, ...]]) -> tuple[str, str]:
    """Means and variances of draws that are mixtures."""

    def over_humps(values: list[str]) -> str:
        weighed = (graph.add("Mul", weight, value) for value, (*_, weight) in zip(values, humps, strict=True))
        return functools.reduce(lambda total, value: graph.add("Add", total, value), weighed)

    means = over_humps([mean for mean, *_ in humps])
    away = [graph.add("Sub", mean, means) for mean, *_ in humps]
    squares = [graph.add("Add", var, graph.add("Mul", far, far)) for far, (_, var, _) in zip(away, humps, strict=True)]
    return means, over_humps(squares)


def _emit(graph: Graph, value: Expression | float, outputs: str) -> str:
    """Nodes for an expression of the network's outputs."""
    if not isinstance(value, Expression):
        return graph.constant(value)
    if value.kind == "Outputs":
        return outputs
    if value.kind == "Constant":
        return graph.constant(value.arguments[0])
    if value.kind == "Slice":
        inner, *ends = value.arguments
        start, stop = (graph.constant(np.asarray([end], np.int64)) for end in ends)
        return graph.add("Slice", _emit(graph, inner, outputs), start, stop, graph.constant(np.asarray([-1], np.int64)))
    if value.kind == "Clip":
        inner, *ends = value.arguments
        return graph.add(
            "Clip", _emit(graph, inner, outputs), *(graph.constant(np.asarray(end, float)) for end in ends)
        )
    parts = [_emit(graph, part, outputs) for part in value.arguments]
    attributes: dict[str, Any] = {"axis": -1} if value.kind in ("Concat", "Softmax") else {}
    return graph.add(value.kind, *parts, **attributes)
