"""An ONNX graph as it grows."""

from collections.abc import Iterable
from typing import Any

import numpy as np


class Graph:
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
        """The name of an answer that would be called so."""
        while name in self.columns:
            name = f"predicted_{name}"
        return name

    def constant(self, value: Any) -> str:
        """A number or an array."""
        name = f"{self.prefix}constant{len(self.constants)}"
        self.constants.append(self.numpy_helper.from_array(np.asarray(value), name))
        return name

    def add(self, kind: str, *inputs: str, name: str | None = None, domain: str = "", **attributes: Any) -> str:
        """A node, of the first output that it has."""
        self.count += 1
        output = name or f"{self.prefix}value{self.count}"
        self.nodes.append(self.helper.make_node(kind, list(inputs), [output], domain=domain, **attributes))
        return output

    def repeat(self, times: int, starts: list[str], kind: int, step: Any) -> list[str]:
        """Values after so many steps, each a function of their names that adds the nodes of one."""
        outside, self.nodes = self.nodes, []
        names = [f"{start}_{self.prefix}before" for start in starts]
        turn, is_on = f"{starts[0]}_turn", f"{starts[0]}_on"
        after = [self.add("Identity", is_on), *step(names)]
        info = self.helper.make_tensor_value_info
        proto = self.helper.TensorProto
        inputs = [info(turn, proto.INT64, []), info(is_on, proto.BOOL, []), *(info(name, kind, None) for name in names)]
        outputs = [info(after[0], proto.BOOL, []), *(info(name, kind, None) for name in after[1:])]
        body, self.nodes = self.helper.make_graph(self.nodes, "step", inputs, outputs), outside
        given = [self.constant(np.asarray(times, np.int64)), self.constant(np.asarray(True)), *starts]
        ends = [f"{start}_{self.prefix}after" for start in starts]
        self.nodes.append(self.helper.make_node("Loop", given, ends, body=body))
        return ends
