"""Taking turns: more fits or chains under way than cores, a chunk at a time, so that no core idles at the end."""

import threading
from collections import deque
from contextlib import AbstractContextManager
from typing import Any


class Turns(AbstractContextManager):
    """Lets so many threads in at a time, first come first served: `with turns: ...` around each chunk."""

    def __init__(self, num_at_once: int):
        self._condition = threading.Condition()
        self._num_free = num_at_once
        self._queue: deque[object] = deque()

    def __enter__(self) -> None:
        own = object()
        with self._condition:
            self._queue.append(own)
            self._condition.wait_for(lambda: self._num_free > 0 and self._queue[0] is own)
            self._queue.popleft()
            self._num_free -= 1
            self._condition.notify_all()

    def __exit__(self, *_: Any) -> None:
        with self._condition:
            self._num_free += 1
            self._condition.notify_all()


def num_under_way(count: int, n_jobs: int) -> int:
    """Threads for so many fits: as many as may run at once, and one more if that leaves no core without work.

    Three fits on two cores, one after another on each, take as long as four; taking turns, as long as three.
    """
    return min(count, n_jobs + (1 if count % n_jobs else 0))
