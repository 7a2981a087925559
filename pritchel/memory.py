"""Asking for memory while it can still be refused: libraries in C end the process where they find none."""

import numpy as np


def has_room(num_bytes: int) -> bool:
    """Whether so much could be had at this moment; nothing is kept of it."""
    try:
        np.empty(num_bytes, np.uint8)
    except MemoryError:
        return False
    return True


def require_room(num_bytes: int, what_for: str) -> None:
    """Raise a MemoryError where so much could not be had."""
    if not has_room(num_bytes):
        raise MemoryError(f"{what_for}: less than {num_bytes >> 20} MB are left")
