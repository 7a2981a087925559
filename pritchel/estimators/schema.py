"""What a spec must look like, whole, before anything is made of it.

A rule is a function of a value and of its place, for the message; a part that the schema does not name is left to
whoever reads it.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from pritchel.folder import SPEC
from pritchel.guide.member import Member
from pritchel.posterior.baselines import BaselineScores
from pritchel.posterior.calibration import CALIBRATIONS
from pritchel.posterior.evaluate import LEVELS, ClassScores, TargetScores
from pritchel.posterior.predictive_checks import PredictiveCheck
from pritchel.serial import FileError

Rule = Callable[[Any, str], None]
NUM_QUANTILES = 7  # of a column's summary


def check_spec(spec: Any) -> None:
    """Raise a `FileError` that names the first part of a spec that is not as it must be."""
    SPEC_RULE(spec, SPEC)


def _kind(is_right: Callable[[Any], bool], wanted: str) -> Rule:
    def rule(value: Any, where: str) -> None:
        if not is_right(value):
            raise FileError(f"{where} must be {wanted}; it is {str(value)[:60]!r}")

    return rule


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


text = _kind(lambda value: isinstance(value, str), "a text")
flag = _kind(lambda value: isinstance(value, bool), "true or false")
number = _kind(_is_number, "a finite number")
whole = _kind(lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0, "a whole number")
some = _kind(lambda value: isinstance(value, int) and not isinstance(value, bool) and value > 0, "a number above zero")


def anything(value: Any, where: str) -> None:
    """Left to whoever reads it."""


def one_of(*choices: str) -> Rule:
    """One of some texts."""
    return _kind(lambda value: isinstance(value, str) and value in choices, f"one of {', '.join(choices)}")


def maybe(rule: Rule) -> Rule:
    """Also null."""
    return lambda value, where: None if value is None else rule(value, where)


def each(rule: Rule, length: int | None = None) -> Rule:
    """A list of such values."""

    def check(value: Any, where: str) -> None:
        if not isinstance(value, list) or (length is not None and len(value) != length):
            raise FileError(f"{where} must be a list" + ("" if length is None else f" of {length}"))
        for index, part in enumerate(value):
            rule(part, f"{where}[{index}]")

    return check


def named(rule: Rule) -> Rule:
    """An object whose values are such, whatever their names."""

    def check(value: Any, where: str) -> None:
        if not isinstance(value, dict):
            raise FileError(f"{where} must be an object")
        for name, part in value.items():
            rule(part, f"{where}.{name}")

    return check


def parts(required: Mapping[str, Rule], optional: Mapping[str, Rule] | None = None) -> Rule:
    """An object with parts by name, which may have others too."""

    def check(value: Any, where: str) -> None:
        if not isinstance(value, dict):
            raise FileError(f"{where} must be an object")
        for name, rule in required.items():
            if name not in value:
                raise FileError(f"{name!r} is missing from {where}")
            rule(value[name], f"{where}: {name}")
        for name, rule in (optional or {}).items():
            if name in value:
                rule(value[name], f"{where}: {name}")

    return check


def sequence(*rules: Rule) -> Rule:
    """A list with a rule for each of its places."""

    def check(value: Any, where: str) -> None:
        each(anything, len(rules))(value, where)
        for rule, part in zip(rules, value, strict=True):
            rule(part, where)

    return check


def either(*rules: Rule) -> Rule:
    """As one of the rules will have it; the last one says what is wrong."""

    def check(value: Any, where: str) -> None:
        for rule in rules[:-1]:
            try:
                return rule(value, where)
            except FileError:
                continue
        return rules[-1](value, where)

    return check


NUMBER_SUMMARY = parts(
    {"missing": whole, "quantiles": each(number, NUM_QUANTILES)}, {"rug": each(number), "values": each(number)}
)
CATEGORY_SUMMARY = parts({"missing": whole, "distinct": whole, "counts": named(whole)})
NOTHING = _kind(lambda value: value == {}, "empty")
COLUMN = either(
    parts(
        {"name": text, "kind": one_of("number"), "fill": number, "is_missing_marked": flag},
        {"summary": either(NOTHING, NUMBER_SUMMARY)},
    ),
    parts(
        {"name": text, "kind": one_of("number", "category"), "categories": each(text)},
        {"summary": either(NOTHING, CATEGORY_SUMMARY)},
    ),
)
TABLE = parts({"columns": each(COLUMN), "targets": each(text)}, {"left_out": named(text)})
SCORE = maybe(number)  # null: it was not finite
NUMBER_SCORES = parts(
    dict.fromkeys(TargetScores._fields, SCORE) | {"target": text, "coverage": each(SCORE, len(LEVELS))}
)
CLASS_SCORES = parts(dict.fromkeys(ClassScores._fields, SCORE) | {"target": text})
BASELINE = parts(
    {"target": text, "name": text, "gain": SCORE, "gain_error": SCORE},
    dict.fromkeys(BaselineScores._fields[4:], SCORE) | {"coverage": maybe(each(SCORE, len(LEVELS)))},
)
WORST_PARTS: dict[str, Rule] = {"target": text, "row": whole, "log_density": SCORE}
WORST = either(
    parts(WORST_PARTS | {"observed": text, "predicted": text, "probability": number}),
    parts(WORST_PARTS | dict.fromkeys(("observed", "predicted", "lower", "upper"), number)),
)
FOLDS = parts({"num": whole, "errors": each(parts({"target": text, "name": text}))})
CHECK = parts(dict.fromkeys(PredictiveCheck._fields, SCORE) | {"target": text, "statistic": text})
SOURCE = parts(
    {"table": text, "rows": whole},
    {
        "without_target": whole,
        "seed": maybe(whole),
        "holdout": number,
        "folds": whole,
        "refit": flag,
        "command": each(text),
    },
)
WORTH = parts(
    {"name": text, "log_likelihood": SCORE, "error": SCORE},
    {"log_likelihood_range": each(SCORE, 2), "error_range": each(SCORE, 2)},
)
NOTES = parts(
    {},
    {
        "seconds": number,
        "importances": each(WORTH),
        "scores": each(either(CLASS_SCORES, NUMBER_SCORES)),
        "num_scored": some,
        "checks": each(CHECK),
        "baselines": each(BASELINE),
        "folds": FOLDS,
        "crossed": some,
        "worst": each(WORST),
        "scored_before_pruning": flag,
        "source": SOURCE,
    },
)
CHAIN = sequence(number, whole, whole, whole, number, text)
SAMPLING = sequence(one_of("variational", "sampled"), text, each(CHAIN), maybe(number), maybe(number))
CALIBRATION = parts({"kind": one_of(*CALIBRATIONS), "values": anything, "num_rows": whole, "seed": whole})
FITTED = parts(
    {
        "n_features_in": whole,
        "feature_names_in": maybe(each(text)),
        "is_single_target": flag,
        "is_collapsed": flag,
        "status": each(text),
        "n_iter": whole,
        "num_skipped_steps": whole,
        "elbo": anything,
        "seed": whole,
        "num_draws": whole,
        "standardizer": anything,
        "members": each(parts(dict.fromkeys(Member._fields, anything))),
        "units_kept": each(each(whole)),
        "sampling_report": SAMPLING,
        "noise_report": maybe(each(sequence(number, number, number, maybe(number), number))),
        "calibration": maybe(CALIBRATION),
        "prune_reports": maybe(each(sequence(each(whole), each(whole), maybe(number), number))),
    },
    {"num_left_out": whole, "cv_score": maybe(number)},
)
SPEC_RULE = parts(
    {
        "estimator": text,
        "kind": text,
        "extra": named(anything),
        "created": text,
        "versions": named(text),
        "settings": named(anything),
        "fitted": FITTED,
        "table": maybe(TABLE),
        "notes": NOTES,
    }
)
