"""The page of a folder of records: what the paper claims, what came out, and whether it holds."""

import csv
import json
import tempfile
from pathlib import Path

import numpy as np

from pritchel.data.sources import UCI, data_folder
from pritchel.experiments.records import Records
from pritchel.experiments.reproduce import EXPERIMENTS, Finding, Standing, load
from pritchel.experiments.statistics import RULE
from pritchel.report.experiment_figures import draw_figures
from pritchel.report.page import Page
from pritchel.report.verdicts import PARTS, SUMMARY, part_rows, progress, standings, summary_rows

PAPER = "Ghosh, Yao and Doshi-Velez, Structured Variational Learning of Bayesian Neural Networks with Horseshoe Priors"
QUALITY = Path("benchmarks") / "results" / "quality.json"
PUBLISHED = {
    "MC-dropout grid search 2018 (per-split files)": "MC dropout, tuned",
    "Deep ensembles (M=5)": "deep ensembles",
    "PBP (1 hidden layer)": "PBP",
    "VI (Graves 2011)": "VI (Graves)",
}
Scores = dict[str, tuple[int, float, float]]  # by table: splits, mean RMSE, mean log-likelihood


def reproduction_page(folder: Path) -> Page:
    """The page made from the records in the folder; figures are drawn anew, nothing is trained or written there."""
    page = Page("The paper, reproduced", f"{PAPER} (ICML 2018). Made from the records in {folder.name}/ alone.")
    found = standings(folder)
    if not found:
        page.text(f"No records here yet. Make some with: pritchel reproduce all -o {folder.name}")
        return page
    page.heading("Verdicts")
    page.text(RULE)
    page.table(SUMMARY, summary_rows(found))
    for name, standing in found.items():
        _section(page, name, standing, folder)
    _scores(page, folder)
    missing = [name for name in EXPERIMENTS if name not in found]
    if missing:
        page.text(f"Not on record: {', '.join(missing)}.", is_note=True)
    return page


def _section(page: Page, name: str, standing: Standing, folder: Path) -> None:
    experiment, finding = load(name), standing.finding
    page.heading(experiment.title)
    page.text(f"The paper says: {experiment.claim}")
    if standing.is_quick:
        page.text("These are quick trials: few, short fits of small networks that show that the figure can be made.")
    else:
        is_map = bool(finding.under)
        page.verdict(
            finding.verdict,
            finding.statistic if is_map or not finding.checks else "under the paper's settings.",
        )
    for title, text in finding.under:
        page.text(f"{title.capitalize()}: {text}.")
    if finding.note:
        page.text(finding.note, is_note=True)
    if finding.checks:
        page.table(PARTS, part_rows(finding.checks))
    with tempfile.TemporaryDirectory() as drawn:
        for path in draw_figures(name, standing.records, Path(drawn)):
            page.figure(path.read_bytes(), _in_words(f"{experiment.title}: {path.stem.replace('_', ' ')}", finding))
    if finding.rows:
        page.table(finding.columns, finding.rows)
    command = f"pritchel reproduce {name}{' --quick' if standing.is_quick else ''} -o {folder.name}"
    page.text(
        f"{progress(standing)} trials on record, {standing.seconds / 60:.0f} minutes of fitting in all; made with "
        f"`{command}`.",
        is_note=True,
    )


def _in_words(title: str, finding: Finding) -> str:
    """What a figure shows: its title and, of a map, where the claim holds and where not."""
    shown = [f"{name}: {text}" for name, text in finding.under if "under" in name]
    return f"{'. '.join([title, *shown])}."


def _scores(page: Page, folder: Path) -> None:
    """Our scores beside the published ones."""
    columns = _own_scores(folder) | _published_scores()
    columns = {name: scores for name, scores in columns.items() if scores}
    if not columns:
        return
    page.heading("Scores beside published ones")
    page.text(
        "RMSE / test log-likelihood, means over as many of the standard splits as are on record (in brackets; "
        "published means are of all of them). Unless it says otherwise a network has 50 units in one layer (protein: "
        "100)."
    )
    rows = []
    for data in (*UCI, "year"):
        cells = [_score(scores.get(data), data) for scores in columns.values()]
        if any(cells):
            rows.append((data, *cells))
    page.table(("table", *columns), rows)


def _score(score: tuple[int, float, float] | None, data: str) -> str:
    if score is None:
        return ""
    num, rmse, likelihood = score
    text = f"{rmse:.{5 if data == 'naval' else 3}f} / {likelihood:.2f}"
    return f"{text} ({num})" if num else text


def _own_scores(folder: Path) -> dict[str, Scores]:
    """From the records: the paper's preset and ours for the same networks; from the benchmark: the defaults."""
    kinds = {
        "paper's settings, structured": ("structured", 50, ""),
        "our settings, structured": ("structured", 50, ""),
        "paper's, 500 units, pruned": ("structured", 500, "pruned"),
        "ours, 500 units, pruned": ("structured", 500, "pruned"),
        "VMG, its settings": ("vmg", 50, ""),
        "VMG, our settings": ("vmg", 50, ""),
    }
    records = Records(folder / "tables.jsonl").all()
    columns: dict[str, Scores] = {}
    for name, (family, units, part) in kinds.items():
        settings = "ours" if name.startswith("our") or name.endswith("our settings") else "paper"
        by_table: dict[str, list[tuple[float, float]]] = {}
        for record in records:
            key, result = record["key"], record["result"]
            is_width = key["units"] == units or (units == 50 and key["data"] in ("protein", "year"))
            is_kind = (key["family"], key["settings"], key["rows"], key["steps"]) == (family, settings, "most", None)
            is_structured = family == "vmg" or key["prior"] == "regularized_horseshoe"
            if is_kind and is_structured and is_width and key["units"] in (units, 2 * units):
                scores = result[part] if part else result
                by_table.setdefault(key["data"], []).append((scores["rmse"], scores["ll"]))
        columns[name] = {data: (len(pairs), *np.mean(pairs, 0)) for data, pairs in by_table.items()}
    columns["HorseshoeRegressor()"] = _default_scores(folder)
    return columns


def _default_scores(folder: Path) -> Scores:
    """What the defaults reach, from the benchmark of all tables if it lies beside the records."""
    path = folder.resolve().parent / QUALITY
    if not path.exists():
        return {}
    by_table: dict[str, list[tuple[float, float]]] = {}
    for run in json.loads(path.read_text())["results"]["runs"]:
        if run["size"] == "default":
            by_table.setdefault(run["set"], []).append((run["rmse"], run["ll"]))
    return {data: (len(pairs), *np.mean(pairs, 0)) for data, pairs in by_table.items()}


def _published_scores() -> dict[str, Scores]:
    """Published means, where the folder of published scores lies beside the benchmark tables."""
    try:
        path = data_folder().parent / "published" / "uci_published.csv"
        with path.open() as file:
            rows = list(csv.DictReader(file))
    except FileNotFoundError:
        return {}
    means = {(row["method"], row["dataset"], row["metric"]): float(row["mean"]) for row in rows}
    return {
        label: {
            data: (0, means[method, data, "rmse"], means[method, data, "ll"])
            for data in (*UCI, "year")
            if (method, data, "rmse") in means and (method, data, "ll") in means
        }
        for method, label in PUBLISHED.items()
    }
