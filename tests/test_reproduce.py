"""Experiments: records that survive a kill, trials that never run twice, figures from records, the rule of verdicts."""

import ast
import json
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

from pritchel import Horseshoe, experiments
from pritchel.cli import app
from pritchel.data.sources import Table
from pritchel.experiments import statistics
from pritchel.experiments.paper import curve, prior_draws, settings, tables
from pritchel.experiments.paper.settings import make_estimator
from pritchel.experiments.paper.vmg import _tuned
from pritchel.experiments.records import Records
from pritchel.experiments.reproduce import EXPERIMENTS, Check, Finding, load, run_experiment
from pritchel.experiments.statistics import Interval, all_hold, judge, judge_tables, t_interval
from pritchel.report import axes, verdicts
from pritchel.report.experiment_figures import FIGURES
from pritchel.report.reproduction_page import reproduction_page
from pritchel.report.verdicts import write_verdicts


def small_table(name: str) -> Table:
    rng = np.random.default_rng(len(name))
    X = rng.normal(size=(40, 2))
    test_index = np.stack([rng.permutation(40)[:20] for _ in range(20)])
    return Table(name, X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=40), test_index)


@pytest.fixture
def tiny(monkeypatch):
    """Experiments whose fits take twenty steps of four units, of few kinds so that little is compiled; counts fits."""
    fits = []

    def make(key, num_rows, target_sd=1.0):
        fits.append(key)
        options = {
            "hidden": (4,),
            "training__num_steps": 20,
            "training__objective": "moments",
            "training__average": 0.0,
            "num_draws": 25,
        }
        if key["prior"] != "gaussian":
            options |= {"prior": "regularized_horseshoe", "family": "factorized"}
        return make_estimator(key, num_rows, target_sd).set_params(
            **options, training__schedule="cosine", training__batch_size=32
        )

    for module in (tables, curve):
        monkeypatch.setattr(module, "make_estimator", make)
    monkeypatch.setattr(tables, "load_uci", small_table)
    monkeypatch.setattr(prior_draws, "WIDTHS", (5, 10, 20))
    monkeypatch.setattr(tables, "QUICK_STEPS", 20)
    monkeypatch.setattr(tables, "QUICK_SPLITS", 1)
    monkeypatch.setattr(tables, "QUICK_TABLES", ("energy",))
    return fits


@pytest.fixture
def drawn(monkeypatch) -> list[str]:
    """Names of the pictures written, as they are."""
    names, write = [], axes.write_bytes

    def note(path, data):
        names.append(path.name)
        write(path, data)

    monkeypatch.setattr(axes, "write_bytes", note)
    return names


def test_every_experiment_runs_once_and_is_drawn(tiny, drawn, tmp_path, monkeypatch):
    """Quick trials end to end, in one folder; a second run trains nothing; each picture is drawn where it is shown."""
    figures = {}
    for name in EXPERIMENTS:
        if "paper" not in EXPERIMENTS[name]:
            continue
        outcome = run_experiment(name, tmp_path, quick=True, n_jobs=1)
        assert outcome.failures == []
        assert outcome.finding is not None
        assert outcome.finding.checks
        assert outcome.finding.rows
        assert all(len(row) == len(outcome.finding.columns) for row in outcome.finding.rows)
        assert drawn == []
        paths = FIGURES[name](outcome.records, tmp_path)
        assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)
        figures[name] = [path.name for path in paths]
        assert drawn == figures[name]
        drawn.clear()
    assert sum(map(len, figures.values())) >= 10
    before = len(tiny)
    result = CliRunner().invoke(app, ["reproduce", "families", "--quick", "-o", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert drawn == figures["families"] == ["families.png"]
    drawn.clear()
    assert len(tiny) == before, "a trial on record was trained again"
    keys = [json.dumps(key, sort_keys=True) for key in tiny]
    assert len(set(keys)) == len(keys), "experiments that share trials trained one twice"
    shown = ("toy", "families")  # two of them: the page draws its figures anew
    monkeypatch.setattr(verdicts, "EXPERIMENTS", {name: EXPERIMENTS[name] for name in shown})
    page = reproduction_page(tmp_path).html()
    assert drawn == [*figures["toy"], *figures["families"]]
    assert page.count("<img") == len(drawn)
    assert "rehearsal only" in page
    assert str(tmp_path) not in page


def test_figures_are_of_experiments():
    assert set(FIGURES) <= set(EXPERIMENTS)


def imported(tree: ast.AST) -> set[str]:
    """Full names of the modules that a file imports, also inside functions."""
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names |= {f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names}
    return names


def test_experiments_judge_and_do_not_draw():
    """No file of the experiments imports matplotlib or the report, at its top or inside a function."""
    files = sorted(Path(experiments.__path__[0]).rglob("*.py"))
    assert len(files) > 20
    for file in files:
        for name in imported(ast.parse(file.read_text())):
            assert not name.startswith((".", "matplotlib", "pritchel.report")), f"{file.name} imports {name}"


def test_records_survive_a_torn_line(tmp_path):
    """A line cut short by a kill is dropped and its trial runs again; whole lines are not run again."""
    path, runs = tmp_path / "x.jsonl", []

    def run(key):
        runs.append(key["trial"])
        return {"value": key["trial"] ** 2}

    keys = [{"trial": trial} for trial in range(3)]
    assert Records(path).run(keys, run, n_jobs=1) == []
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:2]) + lines[2][:20])
    records = Records(path)
    assert len(records.all()) == 2
    records.run(keys, run, n_jobs=1)
    assert runs == [0, 1, 2, 2]
    assert [record["result"]["value"] for record in Records(path).of(keys)] == [0, 1, 4]


def test_a_failed_trial_is_named_and_missing_data_stop_the_run(tmp_path):
    def run(key):
        if key["trial"] == 1:
            raise ValueError("no such thing")
        if key["trial"] == 3:
            raise FileNotFoundError("no benchmark tables")
        return {}

    records = Records(tmp_path / "x.jsonl")
    failures = records.run([{"trial": trial} for trial in range(3)], run, n_jobs=1)
    assert len(failures) == 1
    assert "no such thing" in failures[0]
    assert len(records.all()) == 2
    with pytest.raises(FileNotFoundError, match="benchmark tables"):
        records.run([{"trial": 3}], run, n_jobs=1)


def test_command_lists_refuses_and_says_where_data_are_wanted(tmp_path):
    runner = CliRunner()
    listing = runner.invoke(app, ["reproduce", "list"]).output
    assert all(name in listing for name in EXPERIMENTS)
    assert runner.invoke(app, ["reproduce", "nothing"]).exit_code == 2
    options = ["priors", "--quick", "--data", str(tmp_path / "none"), "-o", str(tmp_path)]
    result = runner.invoke(app, ["reproduce", *options], env={"PRITCHEL_DATA": ""})
    assert result.exit_code == 2
    assert "PRITCHEL_DATA" in result.output


def test_interval_and_rule():
    interval = t_interval([1.0, 2.0, 3.0])
    assert interval.mean == 2
    assert interval.high - 2 == pytest.approx(4.303 / np.sqrt(3), rel=1e-3)  # t with two degrees of freedom
    assert judge(t_interval([5.0])) == "unclear"
    above, below, across = Interval(1, 0.5, 1.5, 5), Interval(-1, -1.5, -0.5, 5), Interval(0, -1, 1, 5)
    assert (judge(above), judge(below), judge(across)) == ("holds", "does not hold", "unclear")
    assert judge(below, margin=2) == "holds"
    for intervals, verdict in (
        ([above, above, across], "holds"),
        ([above, across, across], "unclear"),
        ([above, above, below], "unclear"),
        ([above, below], "unclear"),
        ([across, across, below], "unclear"),
        ([above, below, below], "does not hold"),
        ([above, above, above, below, below], "unclear"),
        ([below], "does not hold"),
        ([], "unclear"),
    ):
        assert judge_tables({str(index): each for index, each in enumerate(intervals)}) == verdict
    assert all_hold(["holds", "unclear"]) == "unclear"
    assert all_hold(["holds", "does not hold", "unclear"]) == "does not hold"
    assert all_hold([]) == "unclear"
    assert statistics.RULE.endswith(".")


def test_finding_rests_on_the_papers_settings():
    checks = [Check("a", "paper", "1", "holds"), Check("a", "ours", "2", "does not hold")]
    assert Finding.of_checks(checks).verdict == "holds"
    assert Finding.of_checks(checks[1:]).verdict == "unclear"


def made_up(gain: float, noise: float, sizes=(("yacht", 277), ("boston", 455), ("energy", 691))) -> list[dict]:
    """Records of both priors on three tables and five splits in which reg-HS gains so much log-likelihood."""
    rng = np.random.default_rng(0)
    records = []
    for data, rows in sizes:
        for split in range(5):
            base = rng.normal(-2, 1)
            for prior, ll in (("horseshoe", base), ("regularized_horseshoe", base + gain + noise * rng.normal())):
                key = {"data": data, "split": split, "prior": prior, "family": "factorized", "settings": "paper"}
                records.append({"key": key, "result": {"ll": ll, "rmse": 1.0, "train_rows": rows}})
    return records


@pytest.mark.parametrize(
    ("gain", "noise", "verdict"), [(0.5, 0.1, "holds"), (-0.5, 0.1, "does not hold"), (0.0, 0.5, "unclear")]
)
def test_verdict_follows_made_up_records(gain, noise, verdict):
    """The pairing matters: splits differ by far more than the methods do."""
    finding = load("priors").find(made_up(gain, noise))
    assert finding.verdict == verdict
    assert "of 3 tables" in finding.statistic


def test_verdicts_as_markdown(tmp_path, monkeypatch):
    """Written from records alone, and with no figure so much as begun."""

    def must_not_draw(figure, *args, **options):
        raise AssertionError("a figure was begun")

    monkeypatch.setattr(Figure, "__init__", must_not_draw)
    records = Records(tmp_path / "tables.jsonl")
    by_settings = {key["settings"]: key for key in load("priors").trials(False)}
    for record in made_up(0.5, 0.1):
        for settings_name in by_settings:
            units = {"units": 50, "rows": "most", "steps": None, "settings": settings_name}
            records.add(record["key"] | units, record["result"] | {"smallest_norms": [0.1, 0.2], "kept": 3}, 1.0)
    text = write_verdicts(tmp_path).read_text()
    assert "| priors | The regularized horseshoe leads" in text
    assert "| holds | holds | 60 of 660 |" in text
    assert "| reg-HS is consistently better than HS | ours |" in text


def test_settings_are_the_papers_and_ours():
    key = {"units": 50, "prior": "horseshoe", "family": "factorized", "settings": "paper", "split": 3, "steps": None}
    paper = make_estimator(key, 455)
    assert (paper.training.learning_rate, paper.training.kl_warmup) == (0.005, 0.0)
    assert paper.likelihood.noise_prior == (6.0, 6.0)
    assert paper.prior == Horseshoe(learn_layer_scale=True)
    training = paper.training
    assert (training.objective, training.schedule, training.num_steps) == ("sampled", "constant", 8000)
    assert paper.random_state == 3
    assert make_estimator(key, 40_000).training.num_steps > 8000
    ours = make_estimator(key | {"settings": "ours"}, 455)
    assert (ours.num_members, ours.linear, ours.hidden, ours.prior) == (1, False, (50,), "horseshoe")
    assert ours.training.learning_rate == 0.02
    vmg = {"family": "vmg", "prior": "gaussian"}
    own = make_estimator(key | vmg, 455).training
    assert (own.learning_rate, own.average, own.batch_size, own.num_steps) == (0.001, 0.999, 128, 20_000)
    assert make_estimator(key | vmg | {"settings": "original"}, 455, 2.0).likelihood.noise_prior == (6.0, 1.5)
    assert set(settings.NAMES) == set(settings.SETTINGS)


def test_full_sets_are_the_papers():
    """Numbers of trials, and that first splits of all tables come first."""
    priors = load("priors").trials(False)
    assert len(priors) == (8 * 20 + 5) * 4
    assert {key["units"] for key in priors if key["data"] == "protein"} == {100}
    assert [key["split"] < 5 for key in priors].index(False) == 9 * 5 * 4
    low = load("low_data").trials(False)
    assert {key["data"] for key in low} == {"yacht", "boston", "energy"}
    assert len(low) == 3 * 20 * 4
    assert all(key["rows"] == "tenth" for key in low)


@pytest.mark.parametrize(
    ("change", "verdict"), [(0.01, "holds"), (0.5, "does not hold"), (-0.5, "does not hold"), (0.1, "unclear")]
)
def test_little_change_is_neither_gain_nor_loss(change, verdict):
    moved = {data: Interval(change, change - 0.05, change + 0.05, 5) for data in ("yacht", "boston", "energy")}
    assert _tuned(moved, "paper").verdict == verdict
