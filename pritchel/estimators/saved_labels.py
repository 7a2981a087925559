"""The labels of a classifier to and from JSON."""

import re
from typing import Any

import numpy as np

from pritchel.serial import FileError

DATES = re.compile(r"datetime64\[\w+\]")


def pack_labels(labels: np.ndarray | None) -> Any:
    """Texts, numbers and truth values as they are, dates with their unit; None: there are no classes."""
    if labels is None:
        return None
    if labels.dtype.kind == "M":
        return {"dtype": str(labels.dtype), "values": [str(label) for label in labels]}
    plain = labels.tolist()
    wrong = [label for label in plain if not isinstance(label, (str, bool, int, float))]
    if wrong:
        raise ValueError(
            f"Labels such as {wrong[0]!r} ({type(wrong[0]).__name__}) cannot be saved: fit to texts, numbers or "
            "numpy dates."
        )
    return plain


def unpack_labels(packed: Any) -> np.ndarray:
    """What `pack_labels` wrote."""
    if not isinstance(packed, dict):
        return np.asarray(packed)
    if not DATES.fullmatch(str(packed.get("dtype"))):
        raise FileError("its labels are of a kind that this version does not know")
    return np.asarray(packed["values"], dtype=packed["dtype"])
