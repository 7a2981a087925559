"""The README as the site's front page: tables of contents are added here, so that the files stay plain Markdown."""

import fnmatch
import shutil
from pathlib import Path

from sphinx.application import Sphinx

# The pages below each page, by caption. A pattern takes what was not named before it, so that a new page finds a place.
CONTENTS = {
    "README": {
        "Using it": [
            "docs/tutorial",
            "docs/priors",
            "docs/likelihoods",
            "docs/uncertainty",
            "docs/streaming",
            "docs/scale",
            "docs/rl",
        ],
        "Reference": ["docs/api", "docs/reference/index"],
        "Measured": ["results/verdicts", "results/*", "benchmarks/README"],
        "How it works": ["docs/method", "CONTRIBUTING", "docs/*", "CHANGELOG", "*"],
    },
    "benchmarks/README": {"": ["benchmarks/TRIED", "benchmarks/results/*"]},
}
ELSEWHERE = (
    "README",
    "docs/reference/[!i]*",
    "benchmarks/TRIED",
    "benchmarks/results/*",
)  # not below the front page itself


def contents(chapters: dict[str, list[str]], pages: list[str]) -> str:
    """The chapters as hidden tables of contents: they show in the sidebar."""
    lines = []
    for title, patterns in chapters.items():
        chapter = list(dict.fromkeys(page for pattern in patterns for page in fnmatch.filter(pages, pattern)))
        pages = [page for page in pages if page not in chapter]
        caption = [f":caption: {title}"] if title else []
        lines += ["", "```{toctree}", ":hidden:", *caption, "", *(f"/{page}" for page in chapter), "```", ""]
    return "\n".join(lines)


def add_contents(app: Sphinx, docname: str, source: list[str]) -> None:
    """Append its contents to the text of a page that has some."""
    pages = sorted(app.env.found_docs)
    if docname == app.config.root_doc:
        pages = [page for page in pages if not any(fnmatch.fnmatch(page, pattern) for pattern in ELSEWHERE)]
    source[0] += contents(CONTENTS.get(docname, {}), pages)


def name_it_index(app: Sphinx, error: Exception | None) -> None:
    """The front page under the name that web servers look for."""
    if error is None and app.builder.format == "html":
        shutil.copy(Path(app.outdir) / f"{app.config.root_doc}.html", Path(app.outdir) / "index.html")


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", add_contents)
    app.connect("build-finished", name_it_index)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
