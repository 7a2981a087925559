"""Scores put into words: is a model of use, are its intervals too wide or too narrow, and what to try."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from pritchel.posterior.evaluate import LEVELS
from pritchel.tables.messages import Message, Option

SURE = 2.6  # standard errors; one calibrated model in a hundred is that far off at a level
WORTH_SAYING = 0.03  # of the rows: less than that off is nobody's trouble, however sure


def judge(estimator: Any, scores: Sequence[dict[str, Any]], num_rows: int) -> Iterator[Message]:
    """Sentences on the scores of a fitted estimator, as notes hold them."""
    is_sampled = bool(estimator.sampling_report_.chains)
    has_counts = estimator.posterior_.likelihood.has_counts
    is_calibrated = estimator.calibration_ is not None
    for score in scores:
        behind = score["constant_log_likelihood"] - score["log_likelihood"]
        if not behind < 0:
            yield Message(
                f"{score['target']}: no better than the constant predictor, whose log-likelihood is {behind:.3g} a row "
                "higher. Use that, or look for inputs that tell more."
            )
        if "coverage" in score and not has_counts:  # an interval of counts holds more than it must
            text, *options = _on_coverage(score["coverage"], num_rows, is_sampled, is_calibrated)
            yield Message(f"{score['target']}: {text}", tuple(options))


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
