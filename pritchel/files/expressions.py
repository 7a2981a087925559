"""A likelihood's `moments`, followed symbolically, so that exports can say the same in ONNX or in plain numpy."""

from typing import Any

import numpy as np


class Expression:
    """The network's outputs, a constant, or an operation on expressions; knows the length of its last axis."""

    __array_ufunc__ = None  # numpy arrays leave arithmetic with expressions to the methods below

    def __init__(self, kind: str, arguments: tuple[Any, ...], width: int):
        self.kind, self.arguments, self.shape = kind, arguments, (width,)

    def _with(self, kind: str, other: Any, is_first: bool = True) -> "Expression":
        value = other if isinstance(other, Expression) else constant(other)
        pair = (self, value) if is_first else (value, self)
        return Expression(kind, pair, max(self.shape[-1], value.shape[-1]))

    def __add__(self, other: Any) -> "Expression":
        return self._with("Add", other)

    def __radd__(self, other: Any) -> "Expression":
        return self._with("Add", other, False)

    def __sub__(self, other: Any) -> "Expression":
        return self._with("Sub", other)

    def __rsub__(self, other: Any) -> "Expression":
        return self._with("Sub", other, False)

    def __mul__(self, other: Any) -> "Expression":
        return self._with("Mul", other)

    def __rmul__(self, other: Any) -> "Expression":
        return self._with("Mul", other, False)

    def __truediv__(self, other: Any) -> "Expression":
        return self._with("Div", other)

    def __getitem__(self, index: Any) -> "Expression":
        _, columns = index
        start, stop, _ = columns.indices(self.shape[-1])
        return Expression("Slice", (self, start, stop), stop - start)


def constant(value: Any) -> Expression:
    """A number or an array."""
    array = np.asarray(value, float)
    return Expression("Constant", (array,), array.shape[-1] if array.ndim else 1)


class ExpressionOps:
    """`ops` for expressions."""

    @staticmethod
    def exp(value: Expression) -> Expression:
        """Exponential."""
        return Expression("Exp", (value,), value.shape[-1])

    @staticmethod
    def clip(value: Expression, low: float, high: float) -> Expression:
        """Held between two numbers."""
        return Expression("Clip", (value, low, high), value.shape[-1])

    @staticmethod
    def sigmoid(value: Expression) -> Expression:
        """Logistic function."""
        return Expression("Sigmoid", (value,), value.shape[-1])

    @staticmethod
    def softmax(value: Expression) -> Expression:
        """Over the last axis."""
        return Expression("Softmax", (value,), value.shape[-1])

    @staticmethod
    def concatenate(parts: list[Expression]) -> Expression:
        """Along the last axis."""
        return Expression("Concat", tuple(parts), sum(part.shape[-1] for part in parts))


SIGNS = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/"}


def as_source(value: Expression | float, arrays: dict[str, np.ndarray]) -> str:
    """Python source for an expression of `outputs`; its constants go to `arrays`."""
    if not isinstance(value, Expression):
        return repr(value)
    if value.kind == "Outputs":
        return "outputs"
    if value.kind == "Constant":
        array = value.arguments[0]
        if array.ndim == 0:
            return repr(float(array))
        same = (name for name, known in arrays.items() if np.array_equal(known, array))
        name = next(same, f"constant.{len(arrays)}")
        arrays[name] = array
        return f"arrays[{name!r}]"
    if value.kind in SIGNS:
        left, right = (as_source(part, arrays) for part in value.arguments)
        return f"({left} {SIGNS[value.kind]} {right})"
    if value.kind == "Slice":
        inner, start, stop = value.arguments
        return f"{as_source(inner, arrays)}[..., {start}:{stop}]"
    if value.kind == "Clip":
        inner, low, high = value.arguments
        return f"np.clip({as_source(inner, arrays)}, {low!r}, {high!r})"
    parts = [as_source(part, arrays) for part in value.arguments]
    if value.kind == "Concat":
        return f"np.concatenate([{', '.join(parts)}], -1)"
    return f"{ {'Exp': 'np.exp', 'Sigmoid': '_sigmoid', 'Softmax': '_softmax'}[value.kind] }({parts[0]})"
