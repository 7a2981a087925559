"""What the axes of all pictures share, and how they come to be files."""

import io
from pathlib import Path
from typing import Any

from pritchel.writing import write_bytes


def bare(axis: Any, label_size: float | None = None) -> None:
    """No frame above and to the right; labels of ticks in the given size."""
    axis.spines[["top", "right"]].set_visible(False)
    if label_size is not None:
        axis.tick_params(labelsize=label_size)


def save_figure(figure: Any, path: Path, dpi: int) -> None:
    """Write a figure as a PNG that is there whole or not at all."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=dpi)
    write_bytes(path, picture.getvalue())
