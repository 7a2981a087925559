"""A model as an ONNX graph: one input a column, mean and sd or class probabilities out, the draws inside."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from pritchel.files.deployed import Deployed
from pritchel.files.expressions import Expression
from pritchel.tables.columns import Column
from pritchel.writing import write_bytes

OPSET, ML_OPSET, IR_VERSION = 18, 3, 9


class _Graph:
    """Nodes and constants as they are added; every method returns the name of what it made.

    What it makes has names that no column has; an answer whose name is a column's is called `predicted_...`.
    """

    def __init__(self, columns: Iterable[str]):
        from onnx import helper, numpy_helper

        self.helper, self.numpy_helper = helper, numpy_helper
        self.nodes, self.constants, self.count = [], [], 0
        self.columns, self.prefix = set(columns), ""
        while any(name.startswith((f"{self.prefix}constant", f"{self.prefix}value")) for name in self.columns):
            self.prefix += "_"

    def answer(self, name: str) -> str:
        while name in self.columns:
            name = f"predicted_{name}"
        return name

    def constant(self, value: Any) -> str:
        name = f"{self.prefix}constant{len(self.constants)}"
        self.constants.append(self.numpy_helper.from_array(np.asarray(value), name))
        return name

    def add(self, kind: str, *inputs: str, name: str | None = None, domain: str = "", **attributes: Any) -> str:
        self.count += 1
        output = name or f"{self.prefix}value{self.count}"
        self.nodes.append(self.helper.make_node(kind, list(inputs), [output], domain=domain, **attributes))
        return output


def write_onnx(model: Deployed, path: Path) -> Path:
    """Write the graph. Numbers come in as double (NaN: missing), categories as text, each of shape (rows, 1)."""
    try:
        import onnx
        from onnx import TensorProto, helper
    except ImportError:
        raise ValueError("Exporting to ONNX needs the onnx package: pip install 'pritchel[onnx]'.") from None
    graph = _Graph(column.name for column in model.plan.columns)
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
    outputs = (_answers if model.classes is None else _class_answers)(graph, model, joined)
    whole = helper.make_graph(graph.nodes, "pritchel", inputs, outputs, graph.constants)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
    proto = helper.make_model(whole, opset_imports=opsets, ir_version=IR_VERSION, producer_name="pritchel")
    helper.set_model_props(proto, {"targets": ", ".join(model.plan.targets), "classes": ", ".join(model.classes or ())})
    onnx.checker.check_model(proto)
    return write_bytes(path, proto.SerializeToString())


def _features(graph: _Graph, columns: tuple[Column, ...]) -> str:
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


def _forward(graph: _Graph, standard: str, weights: Any, activation: str) -> str:
    """All draws of one member at once: (draws, rows, targets)."""
    value = standard
    for layer in weights.hidden:
        value = graph.add("MatMul", value, graph.constant(layer[:, :-1]))
        value = graph.add("Add", value, graph.constant(layer[:, -1:]))
        value = graph.add({"relu": "Relu", "tanh": "Tanh"}[activation], value)
    value = graph.add("MatMul", value, graph.constant(weights.output[:, :-1]))
    value = graph.add("Add", value, graph.constant(weights.output[:, -1:]))
    if weights.linear is not None:
        value = graph.add("Add", value, graph.add("MatMul", standard, graph.constant(weights.linear)))
    return value


def _answers(graph: _Graph, model: Deployed, joined: str) -> list[Any]:
    """Mean and standard deviation of y by the law of total variance over the draws."""
    scale = graph.constant(model.target_scale)
    first = graph.constant(np.asarray([0], np.int64))
    means, noise = (_emit(graph, part, joined) for part in (model.mean, model.var))
    centre = graph.add("ReduceMean", means, first, keepdims=0)
    away = graph.add("Sub", means, centre)
    var = graph.add("ReduceMean", graph.add("Add", graph.add("Mul", away, away), noise), first, keepdims=0)
    mean, sd = map(graph.answer, ("mean", "sd"))
    graph.add("Add", graph.add("Mul", centre, scale), graph.constant(model.target_mean), name=mean)
    graph.add("Mul", graph.add("Sqrt", var), scale, name=sd)
    shape = ["rows", len(model.target_mean)]
    kind = graph.helper.TensorProto.DOUBLE
    return [graph.helper.make_tensor_value_info(name, kind, shape) for name in (mean, sd)]


def _class_answers(graph: _Graph, model: Deployed, joined: str) -> list[Any]:
    """Probabilities averaged over the draws, and the most probable label."""
    first = graph.constant(np.asarray([0], np.int64))
    probabilities, label = map(graph.answer, ("probabilities", "class"))
    graph.add("ReduceMean", _emit(graph, model.mean, joined), first, keepdims=0, name=probabilities)
    index = graph.add("ArgMax", probabilities, axis=1, keepdims=0)
    graph.add("Gather", graph.constant(np.asarray(model.classes, object)), index, axis=0, name=label)
    proto = graph.helper.TensorProto
    shape = ["rows", len(model.classes or ())]
    return [
        graph.helper.make_tensor_value_info(probabilities, proto.DOUBLE, shape),
        graph.helper.make_tensor_value_info(label, proto.STRING, ["rows"]),
    ]


def _emit(graph: _Graph, value: Expression, outputs: str) -> str:
    """Nodes for an expression of the network's outputs."""
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
