"""How a table is taken, as a list that can be corrected: every guess beside the argument that changes it."""

from collections.abc import Iterator
from typing import Any

from pritchel.tables.columns import Column, LeftOut, TablePlan
from pritchel.tables.messages import PLACE, Message, Option
from pritchel.tables.spelling import SENTENCES

MAX_ROWS, MAX_SHOWN, MAX_WIDTH = 40, 4, 60
USUAL = {"sep": ",", "encoding": "utf-8"}
Guess = tuple[str, str, Option | None]  # the column, what it is taken for, how to change that


def guesses(plan: TablePlan, layout: dict[str, Any], classes: bool) -> Iterator[Guess]:
    """Everything about a table that was guessed, the file first."""
    for name, usual in USUAL.items():
        if layout.get(name, usual) != usual:
            yield "(the file)", f"{name} {layout[name]!r}", Option(name)
    for name in plan.targets:
        kind = "classes" if classes else f"numbers{_spelled(plan, name)}"
        yield name, f"the target: {kind}", Option("number" if classes else "category", name)
    for column in plan.columns:
        if column.kind == "number":
            yield column.name, f"number{_spelled(plan, column.name)}", Option("category", column.name)
        else:
            yield column.name, f"category: {_levels(column)}", Option("number", column.name)
    for name, why in plan.left_out.items():
        yield name, f"left out: {why}", None if why in (LeftOut.TOLD, LeftOut.WEIGHT) else Option("keep", name)


def guess_table(plan: TablePlan, layout: dict[str, Any], classes: bool) -> Message:
    """The guesses as lines of text, those of the first columns."""
    found = list(guesses(plan, layout, classes))
    shown = [(_cut(name), _cut(taken), option) for name, taken, option in found[:MAX_ROWS]]
    widths = [max(len(str(row[index])) for row in shown) for index in (0, 1)]
    lines = ["How the table is taken, and what changes it:"]
    options = []
    for name, taken, option in shown:
        line = f"  {name:<{widths[0]}}  {taken:<{widths[1]}}"
        lines.append(line.rstrip() if option is None else f"{line}  {PLACE}")
        options += [] if option is None else [option]
    if len(found) > MAX_ROWS:
        lines.append(f"  ... and {len(found) - MAX_ROWS:,} more columns")
    return Message("\n".join(lines), tuple(options))


def column_remarks(plan: TablePlan) -> Iterator[Message]:
    """What to tell about columns that may not be what they seem: many categories, one value far from all others."""
    for column in plan.columns:
        num_merged = column.summary.get("distinct", 0) - len(column.categories)
        if num_merged > 0:
            yield Message(
                f"{column.name!r} has {column.summary['distinct']:,} categories, of which the commonest "
                f"{len(column.categories)} are told apart and the other {num_merged:,} are not. If it names its rows, "
                f"leave it out with {PLACE}.",
                (Option("drop", column.name),),
            )
        for value, count in column.summary.get("far", ()):
            yield Message(
                f"{column.name!r} is {value:g} in {count:,} row(s), far from all its other values. If that means "
                f"missing, say so with {PLACE}.",
                (Option("na_values", f"{value:g}"),),
            )


def _spelled(plan: TablePlan, name: str) -> str:
    spelling = plan.spelling(name)
    return "" if spelling == "plain" else f" ({SENTENCES[spelling]})"


def _levels(column: Column) -> str:
    num_more = column.summary.get("distinct", len(column.categories)) - MAX_SHOWN
    shown = ", ".join(list(column.summary.get("counts", column.categories))[:MAX_SHOWN])
    return shown + (f" and {num_more:,} more" if num_more > 0 else "")


def _cut(text: str) -> str:
    """On one line, and not too long."""
    plain = text.replace(PLACE, "...") if text.isprintable() else repr(text)
    return plain if len(plain) <= MAX_WIDTH else f"{plain[: MAX_WIDTH - 3]}..."
