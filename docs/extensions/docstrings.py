"""What the reference takes from docstrings, and how: formulas between dollars, as on the pages."""

import inspect
import re
from typing import NamedTuple

from sphinx.application import Sphinx

NAMED_TUPLE_FIELD = type(NamedTuple("Example", [("field", int)]).field)
FORMULA = re.compile(r"\$([^$]+)\$")


def formulas(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Rewrite a docstring's formulas in place; one may go on over several lines."""
    text = FORMULA.sub(lambda found: f":math:`{' '.join(found[1].split())}`", "\n".join(lines))
    lines[:] = text.split("\n")


def is_left_out(app: Sphinx, what: str, name: str, thing: object, is_skipped: bool, options: object) -> bool | None:
    """Leave out what another package wrote, such as numpy's exp as a method, or the fields of a named tuple."""
    home = getattr(inspect.unwrap(thing) if callable(thing) else thing, "__module__", None)
    is_foreign = isinstance(home, str) and not home.startswith("pritchel")
    return True if is_foreign or isinstance(thing, NAMED_TUPLE_FIELD) else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", formulas)
    app.connect("autodoc-skip-member", is_left_out)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
