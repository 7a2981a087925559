"""The card of a model folder: what a colleague wants to know before using it, in Markdown."""

from typing import Any

from pritchel.folder import FORMAT_VERSION
from pritchel.posterior.calibration import FoundCalibration
from pritchel.posterior.noise import NoiseReport, TargetNoise


def card(spec: dict[str, Any], calibration: FoundCalibration | None = None) -> str:
    """The text of README.md for a model's spec and what its calibration came to."""
    fitted, table, notes = spec["fitted"], spec["table"], spec["notes"]
    lines = [f"# A {spec['estimator']} fitted with Pritchel {spec['versions']['pritchel']}", ""]
    if table is not None:
        columns = ", ".join(f"`{column['name']}`" for column in table["columns"])
        lines += [f"Predicts {', '.join(f'`{name}`' for name in table['targets'])} from {columns}.", ""]
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
    for score in notes.get("scores", []):
        if "accuracy" in score:
            lines.append(
                f"- `{score['target']}` on {notes['num_scored']} held-out rows: accuracy {score['accuracy']:.1%} "
                f"(the constant predictor's: {score['constant_accuracy']:.1%}), log-likelihood "
                f"{score['log_likelihood']:.3f} ({score['constant_log_likelihood']:.3f})"
            )
            continue
        lines.append(
            f"- `{score['target']}` on {notes['num_scored']} held-out rows: RMSE {score['rmse']:.4g} (the constant "
            f"predictor's: {score['constant_rmse']:.4g}), log-likelihood {score['log_likelihood']:.3f} "
            f"({score['constant_log_likelihood']:.3f}), 90 % intervals hold {score['coverage'][2]:.0%}"
        )
    lines += [
        "",
        "Answers are a mean, a standard deviation and quantiles; the spread is what the model cannot know plus noise.",
        "Far from the rows it was fitted to, it may be too sure of itself.",
        "",
        "```sh",
        "pritchel inspect .",
        "pritchel predict . new-rows.csv -o predictions.csv",
        "```",
    ]
    return "\n".join(lines) + "\n"
