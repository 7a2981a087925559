"""What an area of the campaign is: something to prepare, and an attempt that either holds or raises."""

import os
import sys
import traceback
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import numpy as np


class Area(ABC):
    """One kind of hard use. It runs in a process of its own, in a folder of its own."""

    about: ClassVar[str]

    def __init__(self, folder: Path):
        self.folder = folder

    @abstractmethod
    def attempt(self, rng: np.random.Generator) -> None:
        """One try; whatever is raised is a failure."""


def in_child(action: Callable[[], None]) -> int:
    """Start an action in a forked process; its id. It ends with 0, or with 1 and a traceback on standard error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of JAX, which the child has no use for, or is the first to use
        pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        action()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def has_ended(pid: int) -> bool:
    """Whether a child has ended; its outcome is still to be had."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def outcome(pid: int) -> int:
    """How a child ended: its exit code, or minus the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
