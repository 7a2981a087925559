"""The card of a model folder: what a colleague wants to know before using it, in Markdown."""

import re
from typing import Any

from pritchel.folder import FORMAT_VERSION
from pritchel.posterior.baselines import in_words
from pritchel.posterior.calibration import FoundCalibration
from pritchel.posterior.noise import NoiseReport, TargetNoise

OF_NUMBERS = (
    "Answers are a mean, a standard deviation and quantiles; the spread is what the model cannot know plus noise."
)
OF_CLASSES = "Answers are the probabilities of the classes: how far they overlap, and what the model does not know."


def card(spec: dict[str, Any], calibration: FoundCalibration | None = None) -> str:
    """The text of README.md for a model's spec and what its calibration came to."""
    fitted, table, notes = spec["fitted"], spec["table"], spec["notes"]
    lines = [f"# A {spec['estimator']} fitted with Pritchel {spec['versions']['pritchel']}", ""]
    if table is not None:
        columns = ", ".join(_code(column["name"]) for column in table["columns"])
        lines += [f"Predicts {', '.join(map(_code, table['targets']))} from {columns}.", ""]
    lines += [f"- Written {spec['created']}, format version {FORMAT_VERSION}"]
    for index, (member, kept) in enumerate(zip(fitted["members"], fitted["units_kept"], strict=True)):
        layers = zip(kept, member["offered"], strict=True)
        units = ", ".join(f"{in_use} of {offered}" for in_use, offered in layers)
        lines.append(f"- Network {index + 1}: hidden units in use {units}")
    _, _, chains, r_hat, effective = fitted["sampling_report"]
    if chains and r_hat is not None:
        lines.append(
            f"- Sampled: {len(chains)} chain(s), R-hat of predictions {r_hat:.2f}, {effective:.0f} effective draws"
        )
    if fitted["noise_report"] is not None:
        lines.append(f"- Noise: {NoiseReport([TargetNoise(*target) for target in fitted['noise_report']])}")
    if calibration is not None:
        lines.append(f"- Calibration: {calibration}")
    lines += _scores(notes)
    lines += [
        "",
        OF_NUMBERS if fitted["classes"] is None else OF_CLASSES,
        "Far from the rows it was fitted to, it may be too sure of itself.",
        "",
        "```sh",
        "pritchel inspect .",
        "pritchel predict . new-rows.csv -o predictions.csv",
        "```",
    ]
    return "\n".join(lines) + "\n"


def _code(name: str) -> str:
    """A name as code, between more backticks than it holds in a row."""
    fence = "`" * (1 + max(map(len, re.findall("`+", name)), default=0))
    return f"{fence} {name} {fence}" if len(fence) > 1 else f"`{name}`"


def _scores(notes: dict[str, Any]) -> list[str]:
    """A line a target, and one for each simpler method beside it."""
    if not notes.get("scores"):
        return []
    num_rows, folds = notes["num_scored"], notes.get("folds")
    where = f"{num_rows} rows in {folds['num']} folds" if folds else f"{num_rows} held-out rows"
    where = f"{num_rows} rows, each by members that did not see it" if notes.get("crossed") else where
    where += " (before it was pruned)" if notes.get("scored_before_pruning") else ""
    lines = []
    for score in notes["scores"]:
        if "accuracy" in score:
            lines.append(
                f"- {_code(score['target'])} on {where}: accuracy {score['accuracy']:.1%} "
                f"(the constant predictor's: {score['constant_accuracy']:.1%}), log-likelihood "
                f"{score['log_likelihood']:.3f} ({score['constant_log_likelihood']:.3f})"
            )
        else:
            lines.append(
                f"- {_code(score['target'])} on {where}: RMSE {score['rmse']:.4g} (the constant "
                f"predictor's: {score['constant_rmse']:.4g}), log-likelihood {score['log_likelihood']:.3f} "
                f"({score['constant_log_likelihood']:.3f}), 90 % intervals hold {score['coverage'][2]:.0%}"
            )
        simpler = (own for own in notes.get("baselines", []) if own["target"] == score["target"])
        lines += [f"  - {in_words(own, num_rows)} ({_figures(own)})" for own in simpler]
    return lines


def _figures(own: dict[str, Any]) -> str:
    """A simpler method's scores, those that it has."""
    parts = (("accuracy", "accuracy", ".1%"), ("RMSE", "rmse", ".4g"), ("log-likelihood", "log_likelihood", ".3f"))
    return ", ".join(f"its {title} {own[name]:{shown}}" for title, name, shown in parts if own[name] is not None)
