"""One self-contained HTML page: sections of text, tables and pictures, nothing fetched from anywhere."""

import base64
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from pritchel.report.palette import INK, LINE, SHADE, SOFT, VERDICTS
from pritchel.writing import write_text

PICTURE_DPI, CSS_PIXELS_PER_INCH = 160, 96
_COLOURS = f"""
:root {{ color-scheme: light; --ink: {INK}; --soft: {SOFT}; --line: {LINE}; --shade: {SHADE}; --paper: #fff; }}
"""
_VERDICTS = "".join(
    f".{verdict.replace(' ', '-')} {{ background: {ground}; color: {text}; }}\n"
    for verdict, (ground, text) in VERDICTS.items()
)
_LAYOUT = """
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1.1rem 4rem; max-width: 56rem; color: var(--ink); background: var(--paper);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.2rem; margin: 2.4rem 0 .5rem; padding-top: .7rem; border-top: 1px solid var(--line); }
p { margin: .5rem 0; max-width: 44rem; }
.lead, figcaption, .note { color: var(--soft); }
figure { margin: 1rem 0; }
figure img { max-width: 100%; height: auto; display: block; }
figcaption { font-size: .9rem; margin-top: .35rem; max-width: 44rem; }
.figures { display: flex; flex-wrap: wrap; gap: .6rem 1rem; }
.verdicts { padding-left: 1.1rem; max-width: 46rem; }
.verdicts li { margin: .35rem 0; }
/* A shadow at a side of a table that goes on beyond it; at its end the paper moves over the shadow. */
.scroll { overflow-x: auto; background:
  linear-gradient(to right, var(--paper) 40%, transparent) 0 0 / 2.5rem 100% no-repeat local,
  linear-gradient(to left, var(--paper) 40%, transparent) 100% 0 / 2.5rem 100% no-repeat local,
  linear-gradient(to right, rgb(34 49 63 / .28), transparent) 0 0 / .9rem 100% no-repeat scroll,
  linear-gradient(to left, rgb(34 49 63 / .28), transparent) 100% 0 / .9rem 100% no-repeat scroll; }
table { border-collapse: collapse; font-size: .92rem; margin: .7rem 0; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 600; }
td.number, th.number { text-align: right; white-space: nowrap; }
td:not(.number) { min-width: 5.5rem; }
pre { background: var(--shade); padding: .8rem; border-radius: .4rem; white-space: pre-wrap; font-size: .86rem; }
.cards { display: flex; flex-wrap: wrap; gap: .6rem; margin: 1rem 0; }
.card { border: 1px solid var(--line); border-radius: .5rem; padding: .5rem .9rem; flex: 1 1 8.5rem;
  max-width: 14rem; }
.card b { display: block; font-size: 1.25rem; }
.card span { color: var(--soft); font-size: .85rem; }
.verdict { display: inline-block; border-radius: 1rem; padding: .05rem .7rem; font-weight: 600; font-size: .9rem; }
@media print { body { max-width: none; padding: 0; font-size: 11pt; } h2, figure, table { break-inside: avoid; }
  h2 { break-after: avoid; } .scroll { overflow: visible; } }
"""


def _is_number(text: str) -> bool:
    return bool(text) and text.strip()[0] in "0123456789+-−.<" and any(character.isdigit() for character in text)


def _image(picture: bytes, alt: str) -> str:
    data = base64.b64encode(picture).decode()
    width = int.from_bytes(picture[16:20], "big") * CSS_PIXELS_PER_INCH // PICTURE_DPI  # from the PNG's own header
    return f'<img width="{width}" src="data:image/png;base64,{data}" alt="{escape(alt)}">'


class Page:
    """A page to be filled from top to bottom. All text is escaped."""

    def __init__(self, title: str, lead: str = ""):
        self.title = title
        self._parts = [f"<h1>{escape(title)}</h1>"]
        if lead:
            self._parts.append(f'<p class="lead">{escape(lead)}</p>')

    def heading(self, text: str) -> None:
        """Begin a section."""
        self._parts.append(f"<h2>{escape(text)}</h2>")

    def text(self, text: str, *, is_note: bool = False) -> None:
        """A paragraph."""
        self._parts.append(f"<p{' class=note' if is_note else ''}>{escape(text)}</p>")

    def verdicts(self, texts: Iterable[str]) -> None:
        """A list of sentences."""
        items = "".join(f"<li>{escape(text)}</li>" for text in texts)
        self._parts.append(f'<ul class="verdicts">{items}</ul>')

    def code(self, text: str) -> None:
        """A block of commands."""
        self._parts.append(f"<pre><code>{escape(text)}</code></pre>")

    def verdict(self, verdict: str, text: str) -> None:
        """A verdict in its colour, and the sentence it rests on."""
        kind = verdict.replace(" ", "-")
        self._parts.append(f'<p><span class="verdict {escape(kind)}">{escape(verdict)}</span> {escape(text)}</p>')

    def cards(self, figures: Iterable[tuple[str, str]]) -> None:
        """A row of large figures, each with what it is."""
        cards = "".join(f'<div class="card"><b>{escape(v)}</b><span>{escape(k)}</span></div>' for k, v in figures)
        self._parts.append(f'<div class="cards">{cards}</div>')

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """A table; columns whose cells are all numbers are set to the right."""
        rows = [tuple(map(str, row)) for row in rows]
        is_right = [bool(rows) and all(_is_number(row[i]) or not row[i] for row in rows) for i in range(len(columns))]
        kinds = [' class="number"' if right else "" for right in is_right]
        head = "".join(f"<th{kind}>{escape(name)}</th>" for name, kind in zip(columns, kinds, strict=True))
        body = "".join(
            "<tr>" + "".join(f"<td{k}>{escape(cell)}</td>" for cell, k in zip(row, kinds, strict=True)) + "</tr>"
            for row in rows
        )
        self._parts.append(
            f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        )

    def figure(self, picture: bytes, alt: str, caption: str = "") -> None:
        """A PNG inside the page; `alt` says in words what it shows."""
        self.figures([(picture, alt)], caption)

    def figures(self, pictures: Iterable[tuple[bytes, str]], caption: str = "") -> None:
        """Pictures side by side where there is room, each with what it shows in words."""
        text = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
        images = "".join(_image(picture, alt) for picture, alt in pictures)
        self._parts.append(f'<figure><div class="figures">{images}</div>{text}</figure>')

    def html(self) -> str:
        """The whole page."""
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<link rel="icon" href="data:,"><title>{escape(self.title)}</title>'
            f"<style>{_COLOURS}{_LAYOUT}{_VERDICTS}</style></head>\n<body>\n"
            + "\n".join(self._parts)
            + "\n</body></html>\n"
        )

    def write(self, path: Path) -> Path:
        """Write the page to a file."""
        return write_text(path, self.html())
