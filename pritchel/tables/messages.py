"""Sentences that advise on an argument, which Python and the command line spell each in its own way."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

LONG = 2.0  # seconds that nobody waits without a word
PLACE = "{option}"
LISTS = ("drop", "keep", "category", "number", "na_values")  # arguments that take several values


class Option(NamedTuple):
    """An argument that helps, and what to give it; None: the argument as such."""

    name: str
    value: Any = None

    def __str__(self) -> str:
        """As in Python: `drop=['when']`."""
        if self.value is None:
            return self.name
        return f"{self.name}={[self.value] if self.name in LISTS else self.value!r}"


class Message(NamedTuple):
    """A sentence with a place, `{option}`, for each of its options."""

    text: str
    options: tuple[Option, ...] = ()

    def spelled(self, spell: Callable[[Option], str]) -> str:
        """The sentence with its options in the reader's spelling."""
        text = self.text
        for option in self.options:
            text = text.replace(PLACE, spell(option), 1)
        return text

    def __str__(self) -> str:
        return self.spelled(str)


class TableError(ValueError):
    """A table that cannot be used as asked, with the column, the row and the way out.

    Where an argument is the way out, the text has a place for it, `{option}`; `value` is what to give it.
    """

    def __init__(self, text: str, option: str | None = None, value: Any = None):
        super().__init__(text, option, value)
        self.message = Message(text, () if option is None else (Option(option, value),))

    def __str__(self) -> str:
        return str(self.message)


@contextmanager
def told_if_long(tell: Callable[[Message], Any], message: Message) -> Iterator[None]:
    """Tell what is being done, if that takes long."""
    timer = threading.Timer(LONG, tell, [message])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
