"""The order that people expect of weekdays, months, and texts that begin with numbers."""

import re
from collections.abc import Sequence
from typing import Any

CALENDARS = (
    "monday tuesday wednesday thursday friday saturday sunday",
    "january february march april may june july august september october november december",
    "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "januar februar märz april mai juni juli august september oktober november dezember",
    "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "lunes martes miércoles jueves viernes sábado domingo",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
)
NUMBER = re.compile(r"\s*(?P<below>[<≤])?[>≥]?\s*(?P<number>-?\d+(?:\.\d+)?)")
SHORTEST = {7: 2, 12: 3}  # letters of a name of weekdays, or months, that is cut off


def natural_order(values: Sequence[str]) -> list[str] | None:
    """The values in their own order; None where they have none."""
    for calendar in CALENDARS:
        names = calendar.split()
        places = [place for value in values if (place := _place(value, names)) is not None]
        if len(values) == len(places) == len({*places}):
            return _by(places, values)
    numbers = [(float(found["number"]), not found["below"]) for value in values if (found := NUMBER.match(value))]
    return _by(numbers, values) if values and len(numbers) == len(values) else None


def _by(keys: Sequence[Any], values: Sequence[str]) -> list[str]:
    return [values[index] for index in sorted(range(len(values)), key=lambda index: keys[index])]


def _place(value: str, names: Sequence[str]) -> int | None:
    """Which of the names a value is, or the beginning of; None: none, or of several."""
    cut = value.strip().lower().rstrip(".")
    found = [place for place, name in enumerate(names) if len(cut) >= SHORTEST[len(names)] and name.startswith(cut)]
    return found[0] if len(found) == 1 else None
