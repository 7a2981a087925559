"""The arena's page: Markdown and pictures from records alone."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from figures import draw_ranks, draw_time, front
from registry import METHODS
from scores import COVERAGES
from summary import OURS, Loss, Ranks, frame, losses, means, paired, ranks, tally
from tables import TABLES

PUBLISHED = json.loads((Path(__file__).parent / "published.json").read_text())
UCI = ("yacht", "boston", "energy", "concrete", "wine", "kin8nm", "power", "naval", "protein")
README_METHODS = ["Pritchel", "bde", "NGBoost", "Gaussian process", "Gradient boosting"]
REGRESSION = [name for name, table in TABLES.items() if table.kind == "regression"]
CLASSIFICATION = [name for name, table in TABLES.items() if table.kind == "classification"]


def markdown(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> list[str]:
    columns = list(columns)
    return ["| " + " | ".join(map(str, line)) + " |" for line in (columns, ["---"] * len(columns), *rows)]


def number(value: float, digits: int) -> str:
    return "" if pd.isna(value) else f"{value:.{digits}f}"


def score_table(runs: pd.DataFrame, score: str, tables: list[str], extra: dict[str, dict] | None = None) -> list[str]:
    """Tables x methods; the best of those that were run is bold, the truth and published figures stand apart."""
    wide = means(runs, score)
    tables = [
        name for name in tables if name in wide.index and wide.loc[name].drop("Truth", errors="ignore").notna().any()
    ]
    if not tables:
        return ["Nothing on record yet."]
    shown = [name for name in METHODS if name in wide.columns and wide.loc[tables, name].notna().any()]
    has_truth = "Truth" in wide.columns and wide.loc[tables, "Truth"].notna().any()
    num_splits = runs.pivot_table(index="table", columns="method", values=score, aggfunc="count")
    rows = []
    for table in tables:
        own = wide.loc[table, shown]
        scale = float(own.abs().median())
        digits = 3 if score == "ll" or scale >= 1 or scale == 0 else int(np.clip(2 - np.floor(np.log10(scale)), 3, 8))
        best = own.max() if score == "ll" else own.min()
        most = int(num_splits.loc[table, shown].max())
        cells = [f"**{number(v, digits)}**" if v == best else number(v, digits) for v in own]
        is_short = (num_splits.loc[table, shown] < most).to_numpy()
        cells = [text + "*" if text and short else text for text, short in zip(cells, is_short, strict=True)]
        truth = [number(wide.loc[table, "Truth"], digits)] if has_truth else []
        apart = [str(values.get(table, "")) for values in (extra or {}).values()]
        rows.append([table, most, *cells, *truth, *apart])
    return markdown(["", "splits", *shown, *(["the truth"] if has_truth else []), *(extra or {})], rows)


def readme_table(runs: pd.DataFrame) -> list[str]:
    """Log-likelihood and CRPS of the methods that a reader looks for first, on UCI tables that all of them finished."""
    both = {score: means(runs, score).reindex(columns=README_METHODS) for score in ("ll", "crps")}
    shared = runs[runs["method"].isin(README_METHODS)].groupby(["table", "split"])["method"].nunique()
    num_splits = (shared == len(README_METHODS)).groupby("table").sum()
    rows = []
    for table in (name for name in UCI if num_splits.get(name, 0)):
        likelihoods, ranked = both["ll"].loc[table], both["crps"].loc[table]
        cells = []
        for name in README_METHODS:
            parts = [
                f"**{value:.{digits}f}**" if value == best else f"{value:.{digits}f}"
                for value, best, digits in (
                    (likelihoods[name], likelihoods.max(), 2),
                    (ranked[name], ranked.min(), 3),
                )
                if not pd.isna(value)
            ]
            cells.append(" / ".join(parts))
        rows.append([table, num_splits[table], *cells, *(own["ll"].get(table, "") for own in PUBLISHED.values())])
    return markdown(["", "splits", *README_METHODS, *PUBLISHED], rows)


def duels(runs: pd.DataFrame, tables: list[str], scores: tuple[str, ...]) -> list[str]:
    """How often we are ahead of each peer, and behind, by more than error."""
    own = runs[runs["table"].isin(tables)]
    rows = []
    for peer in METHODS:
        if peer == OURS:
            continue
        cells = []
        for score in scores:
            intervals = paired(own, score, peer)
            ahead, behind, open_ = tally(intervals)
            cells.append(f"{ahead} / {behind} / {open_}" if intervals else "")
        if any(cells):
            rows.append([peer, *cells])
    titles = {"ll": "log-likelihood", "crps": "CRPS", "rmse": "RMSE", "brier": "Brier score", "error": "error rate"}
    return markdown(["Pritchel against", *(f"{titles[score]}: ahead / behind / open" for score in scores)], rows)


def coverage_table(runs: pd.DataFrame, tables: list[str]) -> list[str]:
    """Shares of test rows in intervals, averaged over tables, and how far a table's share is from the promise."""
    own, rows = runs[runs["table"].isin(tables)], []
    for method in METHODS:
        part = own[own["method"] == method]
        if part.empty:
            continue
        by_table = part.groupby("table")[[f"coverage{share * 100:.0f}" for share in COVERAGES]].mean()
        off = (by_table["coverage90"] - 0.9).abs().mean()
        shares = [f"{100 * by_table[column].mean():.0f} %" for column in by_table]
        rows.append([method, *shares, f"{100 * off:.1f}"])
    return markdown(["", *(f"{100 * s:.0f} %" for s in COVERAGES), "mean distance from 90, in points"], rows)


def costs(runs: pd.DataFrame) -> list[str]:
    rows = []
    for method in METHODS:
        part = runs[runs["method"] == method]
        if part.empty:
            continue
        size = part["bytes"].median()
        rows.append(
            [
                method,
                len(part),
                f"{part['fit_seconds'].median():.1f}",
                f"{part['fit_seconds'].max():.0f}",
                f"{part['predict_seconds'].median():.2f}",
                f"{part['megabytes'].median():.0f}",
                "" if pd.isna(size) else f"{size / 1000:,.0f}",
            ]
        )
    return markdown(["", "fits", "fit, s", "longest", "predict, s", "memory, MB", "deployed, kB"], rows)


def time_points(runs: pd.DataFrame) -> pd.DataFrame:
    """Median time and mean CRPS against the constant predictor, on tables that every plotted method finished."""
    own = runs[runs["table"].isin(REGRESSION)]
    wide = means(own, "crps")
    if "Constant" not in wide.columns:
        return pd.DataFrame()
    wide = wide[wide["Constant"].notna()]
    methods = [name for name in METHODS if name in wide.columns and wide[name].notna().mean() >= 0.7]
    complete = wide[methods].dropna()
    quality = complete.div(complete["Constant"], axis=0).mean()
    seconds = own[own["table"].isin(complete.index)].groupby("method")["fit_seconds"].median()
    return pd.DataFrame({"quality": quality, "seconds": seconds}).dropna()


def loss_table(found: list[Loss]) -> list[str]:
    """One line a table: who is ahead of us there, by how much, largest first."""
    by_table: dict[str, list[Loss]] = {}
    for loss in found:
        by_table.setdefault(loss.table, []).append(loss)
    rows = [[t, "; ".join(f"{own.peer} {own.behind!s}" for own in part)] for t, part in by_table.items()]
    return markdown(["", "behind, with the 95 % interval of the paired difference"], rows)


def failures(records: list[dict]) -> list[str]:
    found: dict[tuple[str, str], list[str]] = {}
    for record in records:
        if record["status"] != "ok":
            found.setdefault((record["method"], record["status"]), []).append(f"{record['table']} {record['split']}")
    return [f"- {method}: {status} ({', '.join(where)})" for (method, status), where in found.items()] or ["None."]


def entrants(runs: pd.DataFrame) -> list[str]:
    rows = []
    for name, method in METHODS.items():
        part = runs[runs["method"] == name]
        versions = {} if part.empty else part["versions"].iloc[-1]
        text = ", ".join(f"{package} {version}" for package, version in versions.items()) or "not run here"
        rows.append([name, method.about, text])
    return markdown(["", "settings", "versions"], rows)


def in_words(title: str, own: Ranks) -> str:
    """What a panel of ranks shows, in a sentence."""
    apart = own.average[own.average > own.average.iloc[0] + own.critical]
    names = "; ".join(f"{name} {rank:.1f}" for name, rank in own.average.iloc[:3].items())
    behind = f"surely behind the first: {'; '.join(map(str, apart.index))}" if len(apart) else "none surely behind"
    left = f" Left out, for too few tables: {'; '.join(own.left_out)}." if own.left_out else ""
    return f"{title}, average ranks over {own.num_tables} tables: {names}; {behind}.{left}"


def pictures(runs: pd.DataFrame, shown: list[str], folder: Path) -> list[str]:
    """Draw what there is to draw; lines of the page that show it and say what it shows."""
    numbers, classes = runs[runs["table"].isin(REGRESSION)], runs[runs["table"].isin(CLASSIFICATION)]
    found = {
        "Regression, CRPS": ranks(numbers, "crps", shown),
        "Regression, log-likelihood": ranks(numbers, "ll", [n for n in shown if n in means(numbers, "ll").columns]),
        "Classification, log-likelihood": ranks(classes, "ll", shown) if len(classes) else None,
    }
    panels = {title: own for title, own in found.items() if own is not None}
    lines = []
    if panels:
        draw_ranks(panels, folder / "arena_ranks.png")
        lines += ["![Average ranks](arena_ranks.png)", ""]
        lines += [line for title, own in panels.items() for line in (in_words(title, own), "")]
    points = time_points(runs) if len(numbers) else pd.DataFrame()
    if len(points) > 1:
        draw_time(points, folder / "arena_time.png")
        best = ", ".join(map(str, front(points).index))
        lines += ["![Time against quality](arena_time.png)", ""]
        lines.append(
            f"Nobody is both faster and better than these: {best}. Means over tables that all of them finished; what "
            "takes less than a tenth of a second is not drawn."
        )
    return lines


def write_page(records: list[dict[str, Any]], folder: Path) -> None:
    """Write arena.md and its pictures."""
    runs = frame(records)
    peers = [name for name in METHODS if not name.startswith(OURS)]
    shown = [name for name in METHODS if name in set(runs["method"])]
    numbers, classes = runs[runs["table"].isin(REGRESSION)], runs[runs["table"].isin(CLASSIFICATION)]
    fits = runs[runs["method"] != "Truth"]
    published = {name: own["ll"] for name, own in PUBLISHED.items()}
    load = runs["load"].dropna()
    lines = [
        "# The arena",
        "",
        f"{len(fits)} fits of {len(shown)} methods to {fits['table'].nunique()} tables, each in a process of its own, "
        f"on two cores; load as a fit ended: {load.median():.1f} in the middle, {load.max():.1f} at most. "
        "Times are those of a first fit in a fresh process: what must be compiled is. Every method has the same rows, "
        "coded the same way. Higher log-likelihoods and lower CRPS are better; bold is best, and a star stands "
        "by figures of fewer splits than their row has.",
        "",
        *pictures(runs, shown, folder),
        "",
        "## Duels",
        "",
        "On how many tables the 95 % interval of the paired difference lies above zero, below, or neither. One split "
        "alone is always open.",
        "",
        "Regression:",
        "",
        *duels(numbers, REGRESSION, ("ll", "crps", "rmse")),
        "",
        "Classification:",
        "",
        *(duels(classes, CLASSIFICATION, ("ll", "brier", "error")) if len(classes) else ["Nothing on record yet."]),
        "",
        "## Log-likelihood of the nine UCI tables",
        "",
        *score_table(numbers, "ll", [name for name in REGRESSION if name in UCI], published),
        "",
        *(f"{name}: {own['source']}." for name, own in PUBLISHED.items()),
        "",
        "## Log-likelihood of the other regression tables",
        "",
        *score_table(numbers, "ll", [name for name in REGRESSION if name not in UCI]),
        "",
        "## CRPS",
        "",
        *score_table(numbers, "crps", REGRESSION),
        "",
        "## RMSE",
        "",
        *score_table(numbers, "rmse", REGRESSION),
        "",
        "## Coverage",
        "",
        "Shares of test rows inside central intervals, averaged over the tables a method finished.",
        "",
        *coverage_table(numbers, REGRESSION),
        "",
        "## Log-likelihood of the classification tables",
        "",
        *(score_table(classes, "ll", CLASSIFICATION) if len(classes) else ["Nothing on record yet."]),
        "",
        "## Cost",
        "",
        "Medians over all fits.",
        "",
        *costs(runs),
        "",
        "## Where Pritchel loses by more than error",
        "",
        "Log-likelihood:",
        "",
        *loss_table(losses(runs, "ll", peers)),
        "",
        "CRPS:",
        "",
        *loss_table(losses(numbers, "crps", peers)),
        "",
        "Causes, where they are known: [LOSSES.md](../arena/LOSSES.md).",
        "",
        "## What did not finish",
        "",
        *failures(records),
        "",
        "## Methods",
        "",
        *entrants(runs),
        "",
        "## Tables",
        "",
        *markdown(
            ["", "rows to fit", "what it is"],
            [[name, table.rows, table.about] for name, table in TABLES.items() if name in set(runs["table"])],
        ),
        "",
    ]
    (folder / "arena.md").write_text("\n".join(lines))
    print(f"{folder / 'arena.md'}: {len(fits)} fits on record.")
