"""Scores put into words: is a model of use, are its intervals too wide or too narrow, and what to try."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pritchel.posterior.baselines import LINES, by_how_much, standing
from pritchel.posterior.evaluate import LEVELS
from pritchel.tables.messages import Message, Option

SURE = 2.6  # standard errors; one calibrated model in a hundred is that far off at a level
WORTH_SAYING = 0.03  # of the rows: less than that off is nobody's trouble, however sure


def judge(estimator: Any, notes: Mapping[str, Any]) -> Iterator[Message]:
    """Sentences on the scores of a fitted estimator, as notes hold them; none where there are no scores."""
    is_sampled = bool(estimator.sampling_report_.chains)
    has_counts = estimator.posterior_.likelihood.has_counts
    is_calibrated = estimator.calibration_ is not None and not estimator.calibration_.uses_own_rows
    for score in notes.get("scores", ()):
        behind = score["constant_log_likelihood"] - score["log_likelihood"]
        if not behind < 0:
            yield Message(
                f"{score['target']}: no better than the constant predictor, whose log-likelihood is {behind:.3g} a row "
                "higher. Use that, or look for inputs that tell more."
            )
        for own in notes.get("baselines", ()):
            if own["target"] == score["target"] and _can_tell(own):
                text, *options = _on_baseline(own, score, notes["num_scored"], is_sampled)
                yield Message(f"{score['target']}: {text}", tuple(options))
        if "coverage" in score and not has_counts:  # an interval of counts holds more than it must
            text, *options = _on_coverage(score["coverage"], notes["num_scored"], is_sampled, is_calibrated)
            yield Message(f"{score['target']}: {text}", tuple(options))


def _part_of(own: Mapping[str, Any]) -> str:
    """The score that a simpler method is compared by."""
    return "rmse" if own["log_likelihood"] is None else "log_likelihood"


def _can_tell(own: Mapping[str, Any]) -> bool:
    """Whether there are figures to compare by: null stands for one that was not finite."""
    return all(own[name] is not None and math.isfinite(own[name]) for name in ("gain", _part_of(own)))


def _on_baseline(own: Mapping[str, Any], score: Mapping[str, Any], num_rows: int, is_sampled: bool) -> tuple[Any, ...]:
    """How a simpler method compares, and what follows; a difference within its error is told as none."""
    name, place = own["name"], standing(own, num_rows)
    part = _part_of(own)
    title = "RMSE" if part == "rmse" else "log-likelihood"
    shown = ".4g" if part == "rmse" else ".3f"
    figures = f"{title} {score[part]:{shown}}, its {own[part]:{shown}}"
    if place > 0:
        return (f"ahead of {name} by {by_how_much(own)}.",)
    if place == 0 and name in LINES:
        return (
            f"{name} does as well, as far as {num_rows:,} rows can tell ({figures}): a line may be all there is; more "
            "rows, or other inputs, could show more.",
        )
    if place == 0:
        return (f"level with {name}, as far as {num_rows:,} rows can tell ({figures}).",)
    found = f"{name} does better by {by_how_much(own)}"
    if name in LINES:
        rest = "a line is right here, or the network has too few rows to find it. Use the line"
    else:
        rest = "there are steps or corners that trees find sooner. Use them where the mean is all you need"
    if not is_sampled:
        return (f"{found}: {rest}, or try {{option}}.", Option("inference", "sampled"))
    return (f"{found}: {rest}, give more rows, or try another {{option}}.", Option("likelihood"))


def _on_coverage(shares: Sequence[float], num_rows: int, is_sampled: bool, is_calibrated: bool) -> tuple[Any, ...]:
    errors = [math.sqrt(level * (1 - level) / num_rows) for level in LEVELS]
    off = [(share - level) / error for share, level, error in zip(shares, LEVELS, errors, strict=True)]
    worst = max(range(len(LEVELS)), key=lambda index: abs(off[index]))
    level, share = LEVELS[worst], shares[worst]
    if abs(off[worst]) < SURE or abs(share - level) < WORTH_SAYING:
        return (f"intervals hold what they promise, as far as {num_rows:,} rows can tell (90 %: {shares[2]:.0%}).",)
    found = f"the {level:.0%} intervals hold {share:.0%} of {num_rows:,} rows"
    more = Option("sampling__num_warmup", 600) if off[worst] > 0 else Option("num_members", 6)
    ways_out = [more if is_sampled else Option("inference", "sampled")]
    or_else = ""
    if not is_calibrated:
        or_else = " A factor found from rows kept from the fit sets them right: {option}."
        ways_out.append(Option("calibration", "spread"))
    if off[worst] > 0:
        return (f"intervals are too wide: {found}. Longer chains, or any, narrow them: {{option}}.{or_else}", *ways_out)
    return (f"intervals are too narrow: {found}. What is still unknown widens them: {{option}}.{or_else}", *ways_out)
