"""The arena: scores against closed forms, fits within limits, records that resume, a page from records alone."""

import importlib.util
import json
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scoringrules
from scipy import stats
from threadpoolctl import threadpool_limits

FOLDER = Path(__file__).parents[1] / "benchmarks" / "arena"
MODULES = ("prediction", "scores", "tables", "registry", "run", "summary", "figures", "page")
FOREIGN = ("methods", "made_up", "from_packages", "plain_network")


@pytest.fixture(scope="module")
def arena():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        for name in (*MODULES, *FOREIGN):
            patch.delitem(sys.modules, name, raising=False)
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in MODULES})
        for name in [name for name in sys.modules if name.split(".")[0] in (*MODULES, *FOREIGN)]:
            del sys.modules[name]


# --- scores ---


def test_scores_of_normals_are_scoringrules(arena):
    rng = np.random.default_rng(0)
    mean, sd = rng.normal(size=40), rng.uniform(0.5, 2, 40)
    y = rng.normal(mean, sd)
    own = arena.prediction.of_normals(mean, sd)
    quantiles = own.quantiles(arena.scores.LEVELS)
    found = arena.scores.score_numbers(y, own.mean, quantiles, own.log_density(y))
    assert found["ll"] == pytest.approx(stats.norm.logpdf(y, mean, sd).mean())
    assert found["crps"] == pytest.approx(scoringrules.crps_normal(y, mean, sd).mean(), rel=2e-3)
    for share in arena.scores.COVERAGES:
        low, high = stats.norm.interval(share, mean, sd)
        exact = scoringrules.interval_score(y, low, high, 1 - share).mean()
        assert found[f"interval{share * 100:.0f}"] == pytest.approx(exact)
        assert found[f"coverage{share * 100:.0f}"] == np.mean((low <= y) & (y <= high))


def test_an_answer_that_is_no_number_is_refused(arena):
    ones = np.ones(3)
    with pytest.raises(ValueError, match="not a finite number"):
        arena.scores.score_numbers(ones, ones * np.nan, np.ones((3, len(arena.scores.LEVELS))), None)
    with pytest.raises(ValueError, match="not a finite number"):
        arena.scores.score_classes(np.zeros(3, int), np.full((3, 2), np.nan))


def test_scores_of_classes(arena):
    y = np.array([0, 1, 1, 2])
    probabilities = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.6, 0.3, 0.1], [1.0, 0.0, 0.0]])
    found = arena.scores.score_classes(y, probabilities)
    assert found["ll"] == pytest.approx((np.log(0.7) + np.log(0.8) + np.log(0.3) + np.log(1e-12)) / 4)
    brier = [0.09 + 0.04 + 0.01, 0.01 + 0.04 + 0.01, 0.36 + 0.49 + 0.01, 2.0]
    assert found["brier"] == pytest.approx(np.mean(brier))
    assert found["error"] == 0.5


@pytest.mark.parametrize("num", [3, 400])  # solved for, and read off draws
def test_quantiles_and_density_of_a_mixture(arena, num):
    rng = np.random.default_rng(1)
    means, sds = rng.normal(size=(num, 2)), rng.uniform(0.3, 1, (num, 2))
    own, levels = arena.prediction.of_mixtures(means, sds), np.array([0.05, 0.5, 0.9])
    quantiles = own.quantiles(levels)
    below = [stats.norm.cdf(quantiles[row][:, None], means[:, row], sds[:, row]).mean(1) for row in range(2)]
    np.testing.assert_allclose(below, [levels, levels], atol=1e-9 if num == 3 else 0.02)
    expected = np.log(stats.norm.pdf(0.3, means, sds).mean(0))
    np.testing.assert_allclose(own.log_density(np.full(2, 0.3)), expected)


def test_quantiles_between_and_beyond_those_given(arena):
    own = arena.prediction.of_quantiles(np.zeros(1), np.array([0.25, 0.75]), np.array([[3.0, 1.0]]))  # crossed
    np.testing.assert_allclose(own.quantiles(np.array([0.1, 0.5, 0.9])), [[1.0, 2.0, 3.0]])
    assert own.log_density is None


# --- methods ---


def test_every_method_says_what_it_is(arena):
    assert {"Pritchel", "bde", "NGBoost", "Gaussian process", "Constant", "TabPFN"} <= set(arena.registry.METHODS)
    for method in arena.registry.METHODS.values():
        assert method.about, method.name
        assert method.fit_numbers is not None, method.name


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # an idle column's length scale
@pytest.mark.parametrize("name", ["Constant", "Linear", "Gaussian process", "Gradient boosting"])
def test_methods_without_a_package_of_their_own(arena, name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 2))
    y = 5 + X[:, 0] + 0.1 * rng.normal(size=160)
    method, levels = arena.registry.METHODS[name], np.array([0.05, 0.5, 0.95])
    with threadpool_limits(1, "openmp"):  # threads that wait for each other by spinning take minutes on a busy machine
        answer = method.fit_numbers(X[:120], y[:120], 0).predict(X[120:])
    quantiles = answer.quantiles(levels)
    assert (np.diff(quantiles) >= 0).all()
    error = np.sqrt(np.mean((answer.mean - y[120:]) ** 2))
    assert error < (1.5 if name == "Constant" else 0.7)
    codes = (y > 5).astype(int)
    with threadpool_limits(1, "openmp"):
        probabilities = method.fit_classes(X[:120], codes[:120], 0).predict(X[120:])
    np.testing.assert_allclose(probabilities.sum(1), 1)
    assert arena.scores.score_classes(codes[120:], probabilities)["ll"] > (-0.75 if name == "Constant" else -0.5)


def test_networks_of_the_two_peers_learn(arena, monkeypatch):
    monkeypatch.setattr(importlib.import_module("plain_network"), "STEPS", 400)
    monkeypatch.setattr(importlib.import_module("methods.mc_dropout"), "RATES", (0.05,))
    monkeypatch.setattr(importlib.import_module("methods.deep_ensemble"), "MEMBERS", 2)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = 100 * (X[:, 0] + 0.3 * rng.normal(size=120))
    for name in ("Deep ensemble", "MC dropout"):
        answer = arena.registry.METHODS[name].fit_numbers(X[:90], y[:90], 0).predict(X[90:])
        scores = arena.scores.score_numbers(
            y[90:], answer.mean, answer.quantiles(arena.scores.LEVELS), answer.log_density(y[90:])
        )
        assert scores["rmse"] < 70, name  # noise: 30, the target: 104
        assert scores["coverage90"] >= 0.5, name


# --- fits in processes of their own ---

METHOD_FILE = """
import os, sys, time
import numpy as np
from prediction import Fitted, Method, of_normals

def fit(X, y, seed):
    {body}
    return Fitted(lambda test_X: of_normals(np.full(len(test_X), y.mean()), np.full(len(test_X), y.std())), 7)

METHODS = [Method("Try", "a test's own", fit, environment="try")]
"""


@pytest.fixture
def ground(arena, tmp_path, monkeypatch):
    """A copy of the arena with one method, whose body a test writes; workers run in this interpreter."""
    (tmp_path / "methods").mkdir()
    for path in ("worker.py", "registry.py", "prediction.py", "scores.py"):
        (tmp_path / path).write_text((FOLDER / path).read_text())
    monkeypatch.setattr(arena.run, "HERE", tmp_path)
    monkeypatch.setattr(arena.run, "python_of", lambda environment: Path(sys.executable))
    table = arena.tables.Table("t", "regression", "a table", (), (0,), lambda index: None, 20)
    X, y = np.arange(25.0)[:, None], np.arange(25.0)
    split = arena.tables.Split(X[:20], y[:20], X[20:], y[20:])

    def run(body, **limits):
        (tmp_path / "methods" / "own.py").write_text(METHOD_FILE.format(body=body))
        method = arena.prediction.Method("Try", "a test's own", lambda *a: None, environment="try")
        return arena.run.run_cell(method, table, 0, split, arena.run.Limits(**limits))

    return run


def test_a_fit_is_scored(ground):
    record = ground("pass")
    assert record["status"] == "ok"
    assert record["rmse"] == pytest.approx(np.sqrt(np.mean((np.arange(20, 25) - 9.5) ** 2)))
    assert record["bytes"] == 7
    assert record["fit_seconds"] < 5


def test_a_fit_that_fails_or_takes_too_much_is_recorded_with_the_reason(ground):
    assert ground("raise RuntimeError('no such luck')")["status"] == "failed: RuntimeError: no such luck"
    assert ground("time.sleep(60)", seconds=3)["status"] == "over 3 s"
    hog = ground("kept = np.ones((60, 1 << 20)); time.sleep(60)", megabytes=300)
    assert hog["status"] == "over 300 MB"
    assert "ll" not in hog


def test_who_does_not_take_part_is_known_beforehand(arena, monkeypatch):
    table = arena.tables.TABLES["power"]
    method = arena.prediction.Method("Try", "", lambda *a: None, max_rows=100, environment="nowhere")
    small = table._replace(rows=100)
    assert arena.run.reason_to_skip(method, table._replace(rows=101), 0) == "not for more than 100 rows"
    assert arena.run.reason_to_skip(method, small, 0) == "no environment .venv-nowhere"
    assert arena.run.reason_to_skip(method._replace(fit_numbers=None), small, 0) == "not for regression"
    assert arena.run.reason_to_skip(method._replace(num_splits=1), small, 1) == "on 1 of a table's splits only"


@pytest.mark.parametrize("num", [1, 2])
def test_fits_run_so_many_at_a_time(arena, tmp_path, monkeypatch, num):
    spec = importlib.util.spec_from_file_location("arena_main", FOLDER / "__main__.py")
    main = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(main)
    together = threading.Barrier(num)

    def run_cell(method, table, index, split, limits):
        assert split.y == index
        together.wait(20)
        return {"table": table.name, "split": index, "method": method.name, "status": "failed"}

    loads = []
    split = lambda index: loads.append(index) or SimpleNamespace(y=index, truth=None)  # noqa: E731
    table = SimpleNamespace(name="t", rows=10, load=split)
    asked = [(SimpleNamespace(name=f"m{each}"), table, index) for index in (0, 1) for each in range(4)]
    monkeypatch.setattr(main, "run_cell", run_cell)
    monkeypatch.setattr(main, "cells", lambda options, records: asked)
    records = arena.run.Records(tmp_path / "runs.jsonl")
    main.run(SimpleNamespace(jobs=num, seconds=1.0, megabytes=1.0), records)
    assert sorted(record["method"] for record in records if record["split"]) == ["m0", "m1", "m2", "m3"]
    assert loads == [0, 1]  # once for all methods


def test_what_stands_beside_runs_on_fewer_splits(arena, tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("arena_main", FOLDER / "__main__.py")
    main = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(main)
    monkeypatch.setattr(arena.run, "python_of", lambda environment: FOLDER)
    options = SimpleNamespace(
        tables=["yacht"], methods=["Pritchel", "MC dropout"], quick=False, splits=9, retry=False, jobs=1
    )
    records = arena.run.Records(tmp_path / "runs.jsonl")
    asked = [(method.name, index) for method, _, index in main.cells(options, records)]
    assert asked == [("Pritchel", 5), ("MC dropout", 5), ("Pritchel", 6), ("Pritchel", 7)]
    cost = {"rows": 277, "fit_seconds": 100.0, "predict_seconds": 1.0}
    records.add({"table": "yacht", "split": 5, "method": "Pritchel", "status": "ok", **cost})
    assert len(main.cells(options, records)) == 3
    assert arena.run.typical_seconds(records, "Pritchel", 300) == 104
    assert arena.run.typical_seconds(records, "MC dropout", 300) == 104  # for want of its own


def test_records_resume_and_forget(arena, tmp_path):
    path = tmp_path / "runs.jsonl"
    records = arena.run.Records(path)
    for method, value in (("A", 1.0), ("B", 2.0), ("A", 3.0)):
        records.add({"table": "t", "split": 0, "method": method, "status": "ok", "ll": value})
    again = arena.run.Records(path)
    assert [record["ll"] for record in again] == [3.0, 2.0]  # the last of a key counts
    again.forget("A", ["another"])
    assert len(list(arena.run.Records(path))) == 2
    again.forget("A", ["t"])
    assert [record["method"] for record in arena.run.Records(path)] == ["B"]


# --- from records to a page ---


def made_up_records(tables, gains=None):
    """Methods that differ by known amounts on every table, with a little noise."""
    rng, records = np.random.default_rng(0), []
    for table in tables:
        for split in range(4):
            level = rng.normal()
            for method, gain in (gains or {"Pritchel": 0.5, "NGBoost": 0.2, "Linear": 0.3, "Constant": 0.0}).items():
                value = gain + 0.01 * rng.normal()
                own = {"table": table, "split": split, "method": method, "status": "ok", "rows": 100}
                scores = {"ll": level + value, "crps": 2 - value, "rmse": 2 - value, "brier": 1 - value, "error": 0.2}
                shares = {f"coverage{share}": share / 100 for share in (50, 80, 90, 95)}
                cost = {"fit_seconds": 1 + gain, "predict_seconds": 0.1, "megabytes": 100, "bytes": 1000, "load": 1.0}
                records.append(own | scores | shares | cost | {"versions": {"numpy": "2"}})
    return records


def test_critical_difference_is_demsars(arena):
    """Demšar's table 5: 2.569 for four methods, 3.164 for ten."""
    for num_methods, quantile in ((4, 2.569), (10, 3.164)):
        expected = quantile * np.sqrt(num_methods * (num_methods + 1) / (6 * 14))
        assert arena.summary.critical_difference(num_methods, 14) == pytest.approx(expected, rel=1e-3)


def test_ranks_duels_and_losses(arena):
    runs = arena.summary.frame(made_up_records([f"t{k}" for k in range(8)]))
    for score in ("ll", "crps"):
        own = arena.summary.ranks(runs, score, ["Pritchel", "NGBoost", "Linear", "Constant"])
        assert list(own.average.index) == ["Pritchel", "Linear", "NGBoost", "Constant"]
        assert list(own.average) == [1, 2, 3, 4]
        assert own.groups == [(1, 2), (2, 3), (3, 4)]  # the critical difference of 8 tables is 1.66
        assert arena.summary.tally(arena.summary.paired(runs, score, "NGBoost")) == (8, 0, 0)
        assert not arena.summary.losses(runs, score, ["NGBoost"])
    turned = arena.summary.frame(made_up_records(["t0"], {"Pritchel": 0.2, "NGBoost": 0.5}))
    (loss,) = arena.summary.losses(turned, "ll", ["NGBoost"])
    assert (loss.table, loss.peer) == ("t0", "NGBoost")
    assert loss.behind.mean == pytest.approx(-0.3, abs=0.03)


def test_methods_that_finished_few_tables_are_left_out_of_ranks(arena):
    records = made_up_records([f"t{k}" for k in range(8)])
    few = [record for record in records if record["method"] != "NGBoost" or record["table"] < "t4"]
    own = arena.summary.ranks(arena.summary.frame(few), "ll", ["Pritchel", "NGBoost", "Linear", "Constant"])
    assert own.left_out == ("NGBoost",)
    assert own.num_tables == 8


def test_the_page_is_made_from_records(arena, tmp_path):
    records = made_up_records(["yacht", "boston", "linear", "iris", "glass", "moons"])
    records.append({"table": "yacht", "split": 9, "method": "NGBoost", "status": "over 5 s", "rows": 10})
    arena.page.write_page(records, tmp_path)
    text = (tmp_path / "arena.md").read_text()
    assert "| NGBoost | 3 / 0 / 0 | 3 / 0 / 0 | 3 / 0 / 0 |" in text
    assert "- NGBoost: over 5 s (yacht 9)" in text
    assert "0.73" in text  # TabPFN's published figure of yacht
    for name in ("arena_ranks.png", "arena_time.png"):
        assert (tmp_path / name).stat().st_size > 5000


def test_a_page_of_little_has_what_there_is(arena, tmp_path):
    records = [record for record in made_up_records(["yacht"]) if record["method"] == "Linear"]
    records.append(
        {"table": "linear", "split": 0, "method": "Truth", "status": "ok", "ll": 1.0, "crps": 1.0, "rmse": 1.0}
    )
    arena.page.write_page(records, tmp_path)
    assert "| yacht | 4 | **" in (tmp_path / "arena.md").read_text()


def test_the_front_is_of_those_nobody_beats_in_both(arena):
    points = pd.DataFrame({"seconds": [1.0, 2.0, 3.0, 4.0], "quality": [0.9, 0.95, 0.5, 0.6]}, index=list("abcd"))
    assert list(arena.figures.front(points).index) == ["a", "c"]


@pytest.fixture(scope="module")
def on_record(arena):
    path = FOLDER.parent / "results" / "arena_runs.jsonl"
    return arena.summary.frame(map(json.loads, path.read_text().splitlines()))


def test_the_readme_has_what_is_on_record(arena, on_record):
    text = (FOLDER.parents[1] / "README.md").read_text()
    for line in arena.page.readme_table(on_record):
        assert line in text


def test_losses_on_record_are_in_the_list(arena, on_record):
    """LOSSES.md has a word on every table that the arena shows us to lose by more than error."""
    runs = on_record
    peers = [name for name in arena.registry.METHODS if not name.startswith("Pritchel")]
    lost = {loss.table for score in ("ll", "crps") for loss in arena.summary.losses(runs, score, peers)}
    text = (FOLDER / "LOSSES.md").read_text()
    assert not [table for table in sorted(lost) if f"**{table}**" not in text]
