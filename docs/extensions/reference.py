"""The reference, written from the package: a page for each public name, and one for each package that can be extended.

The pages are made anew by every build in `docs/reference`; they are not kept in the repository.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING

import pritchel

if TYPE_CHECKING:
    from sphinx.application import Sphinx

EXTENDED = (
    "pritchel.model.priors",
    "pritchel.model.likelihoods",
    "pritchel.guide",
    "pritchel.infer",
    "pritchel.posterior",
    "pritchel.posterior.calibration",
)


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", lambda app: write_reference(Path(app.srcdir) / "docs" / "reference"))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_reference(folder: Path) -> None:
    """Write all pages; those of names that are gone go."""
    pages = reference_pages()
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.md"):
        if path.stem not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text() != text:  # an old date spares Sphinx the reading
            path.write_text(text)


def reference_pages() -> dict[str, str]:
    """Text of each page by name: `index`, the public names, the packages that can be extended."""
    names = sorted(pritchel.__all__)
    lines = ["# Python names", "", "What `import pritchel` offers:", ""]
    lines += [f"- [`{name}`]({name}.md): {first_line(getattr(pritchel, name))}" for name in names]
    lines += [
        "",
        "Where a prior, a likelihood, a family of posteriors or a calibration is added, and what they are made of:",
        "",
    ]
    lines += [f"- [`{name}`]({name}.md): {first_line(importlib.import_module(name))}" for name in EXTENDED]
    lines += ["", "```{toctree}", ":hidden:", "", *names, *EXTENDED, "```", ""]
    pages = {name: name_page(name) for name in names} | {name: package_page(name) for name in EXTENDED}
    return {"index": "\n".join(lines)} | pages


def first_line(thing: object) -> str:
    """What its docstring begins with."""
    return (inspect.getdoc(thing) or "").partition("\n")[0]


def name_page(name: str) -> str:
    """Page of one public name."""
    thing = getattr(pritchel, name)
    kind = "autoclass" if inspect.isclass(thing) else "autofunction" if inspect.isroutine(thing) else "autodata"
    options = [f"   :members: {', '.join(own_members(thing))}"] if inspect.isclass(thing) and own_members(thing) else []
    return "\n".join([f"# {name}", "", "```{eval-rst}", f".. {kind}:: pritchel.{name}", *options, "```", ""])


def own_members(thing: type) -> list[str]:
    """Public methods and properties that the package itself defines: scikit-learn's are in its own reference."""
    homes = [base for base in reversed(thing.__mro__) if base.__module__.startswith("pritchel.")]
    kinds = (property, staticmethod, classmethod)
    return list(
        dict.fromkeys(
            name
            for home in homes
            for name, value in vars(home).items()
            if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, kinds))
        )
    )


def package_page(name: str) -> str:
    """Page of a package: its own docstring, then each of its modules."""
    package = importlib.import_module(name)
    found = (module.name for module in pkgutil.iter_modules(getattr(package, "__path__", []), f"{name}."))
    modules = sorted(module for module in found if module not in EXTENDED)
    lines = [f"# {name}", "", "```{eval-rst}", f".. automodule:: {name}"]
    lines += ["   :no-members:" if modules else "   :members:", "```", ""]
    for module in modules:
        lines += [
            f"## {module.rpartition('.')[2]}",
            "",
            "```{eval-rst}",
            f".. automodule:: {module}",
            "   :members:",
            "```",
            "",
        ]
    return "\n".join(lines)
