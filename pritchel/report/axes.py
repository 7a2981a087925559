"""What the axes of all pictures share."""

from typing import Any


def bare(axis: Any, label_size: float | None = None) -> None:
    """No frame above and to the right; labels of ticks in the given size."""
    axis.spines[["top", "right"]].set_visible(False)
    if label_size is not None:
        axis.tick_params(labelsize=label_size)
