"""Verdicts on the paper's claims, from records alone; nothing is drawn."""

import textwrap
from pathlib import Path

from pritchel.experiments.paper.map_findings import MAP_RULE
from pritchel.experiments.reproduce import EXPERIMENTS, Check, Standing, load, look_up
from pritchel.experiments.statistics import RULE, Verdict, all_hold
from pritchel.writing import write_text

SUMMARY = ("experiment", "the paper's claim", "under its settings", "under ours", "trials")
PARTS = ("part of the claim", "settings", "statistic", "verdict")


def standings(folder: Path) -> dict[str, Standing]:
    """What is on record in a folder, by experiment."""
    found = {name: look_up(name, folder) for name in EXPERIMENTS}
    return {name: standing for name, standing in found.items() if standing is not None}


def write_verdicts(folder: Path) -> Path:
    """All verdicts as `verdicts.md` in the folder: what a repository shows without a browser."""
    found = standings(folder)
    lines = ["# Verdicts", "", *textwrap.wrap(RULE, 120), "", *_markdown(SUMMARY, summary_rows(found)), ""]
    lines += _maps(found)
    for name, standing in found.items():
        finding = standing.finding
        if finding.checks and not standing.is_quick:
            lines += [f"## {name}", "", *_markdown(PARTS, part_rows(finding.checks)), ""]
        elif not standing.is_quick:
            lines += [f"## {name}", "", f"{finding.statistic} {finding.verdict.capitalize()}.", ""]
        if finding.note and not standing.is_quick:
            lines += [*textwrap.wrap(finding.note, 120), ""]
    return write_text(folder / "verdicts.md", "\n".join(lines))


def _maps(found: dict[str, Standing]) -> list[str]:
    """What each claim depends on: where it holds, where it fails, what decides, and where our defaults stand."""
    maps = {name: each for name, each in found.items() if each.finding.under and not each.is_quick}
    if not maps:
        return []
    lines = ["## What each claim depends on", "", *textwrap.wrap(MAP_RULE, 120), ""]
    for name, standing in maps.items():
        lines += [f"### {name}", "", f"The paper says: {load(name).claim}", ""]
        lines += [f"- **{title}**: {text}." for title, text in standing.finding.under]
        lines.append("")
    return lines


def _markdown(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    return ["| " + " | ".join(line) + " |" for line in (columns, ("---",) * len(columns), *rows)]


def summary_rows(found: dict[str, Standing]) -> list[tuple[str, ...]]:
    """A row of `SUMMARY` for each experiment."""
    return [
        (name, load(name).claim, _of(standing, "paper"), _of(standing, "ours"), progress(standing))
        for name, standing in found.items()
    ]


def part_rows(checks: tuple[Check, ...]) -> list[tuple[str, ...]]:
    """A row of `PARTS` for each part of a claim."""
    return [(check.claim, check.settings, check.statistic, check.verdict) for check in checks]


def _of(standing: Standing, settings: str) -> str:
    """The verdict under one kind of settings; the finding's own where it has no parts."""
    if standing.is_quick:
        return "rehearsal only"
    if standing.finding.under:
        return standing.finding.verdict if settings == "paper" else ""
    verdicts: list[Verdict] = [check.verdict for check in standing.finding.checks if check.settings == settings]
    if not standing.finding.checks:
        return standing.finding.verdict if settings == "paper" else ""
    return all_hold(verdicts) if verdicts else ""


def progress(standing: Standing) -> str:
    """Trials done, of how many."""
    done = f"{len(standing.records)} of {standing.num_trials}"
    return f"{done} (quick)" if standing.is_quick else done
