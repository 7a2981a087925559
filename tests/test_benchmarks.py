"""Every benchmark script still runs: its own code from end to end, on a made-up table and with few steps."""

import importlib
import json
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from pritchel import HorseshoeClassifier, HorseshoeRegressor, Sampling, Training
from pritchel.data import sources
from pritchel.data.sources import Table
from pritchel.infer import feed
from pritchel.infer.trial import FitSettings

FOLDER = Path(__file__).parents[1] / "benchmarks"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py"))
UNITS = 50  # as some scripts have it, and then all: what is compiled for one serves the others
COMPILES_MUCH = pytest.mark.slow  # what little is run of each script is compiled for it alone
BRIEF = Training(num_steps=2, drop_dead_units=False)


def made_up_table(name: str) -> Table:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(170, 2))
    return Table(name, X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=170), np.arange(40).reshape(20, 2))


class IdleNetwork:
    """Stands where NumPyro's would, which takes long to set up."""

    def __init__(self, *settings):
        pass

    def run(self, batch):
        assert batch.inputs.shape == (2, 128, 2)

    def test_log_likelihood(self, problem):
        return -1e9


@pytest.fixture
def script(monkeypatch, tmp_path):
    """Imports a script and changes some of its constants; scripts read the made-up table and write to `tmp_path`."""
    monkeypatch.syspath_prepend(FOLDER)
    for name in SCRIPTS:
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sources, "load_uci", made_up_table)
    monkeypatch.setattr(feed, "MAX_CHUNK_STEPS", 2)

    def load(name, **changes):
        module = importlib.import_module(name)
        for constant, value in changes.items():
            monkeypatch.setattr(module, constant, value)
        return module

    load("common", RESULTS=tmp_path)
    return load


@pytest.fixture
def peers(script):
    """The peers, with chunks of two steps and no NumPyro."""
    return script("peers", STEPS=2, NumPyroNetwork=IdleNetwork)


def written(folder, name):
    assert (folder / f"{name}.md").read_text().startswith("# ")
    return json.loads((folder / f"{name}.json").read_text())["results"]


@pytest.mark.parametrize("name", SCRIPTS)
def test_it_can_be_imported(script, name):
    assert script(name).__doc__


@COMPILES_MUCH
@pytest.mark.usefixtures("peers")
def test_step(script, tmp_path):
    script("step", UNITS=(UNITS,), REPEATS=1).main()
    names = ["plain network", "Pritchel, moments", "Pritchel, sampled", "NumPyro AutoNormal"]
    assert [row["method"] for row in written(tmp_path, "step")] == names


@pytest.mark.slow
def test_numpyro_learns_on_the_same_batches(script):
    peers = script("peers")
    problem = peers.uci_problem("boston")
    trial, settings = peers.pritchel_trial(problem.data, (UNITS,)), FitSettings(num_steps=500)
    network = peers.NumPyroNetwork(problem.data, UNITS)
    before = network.test_log_likelihood(problem)
    for _ in range(100):
        network.run(peers.batches(trial, settings))
    assert network.test_log_likelihood(problem) > before


@COMPILES_MUCH
@pytest.mark.usefixtures("peers")
def test_cold(script):
    for fit in script("cold", NUM_STEPS=2).FITS.values():
        fit()


@COMPILES_MUCH
@pytest.mark.usefixtures("peers")
def test_to_target(script, tmp_path):
    script("to_target", NUMPYRO_STEPS=4, RATES=(0.01,), PRITCHEL_STEPS=(2,)).main()
    assert written(tmp_path, "to_target")["ratio"] >= 0


@COMPILES_MUCH
@pytest.mark.usefixtures("peers")
def test_dead_units(script, tmp_path):
    script("dead_units", UNITS=UNITS, NUM_STEPS=2, SETS=("boston",)).main()
    assert written(tmp_path, "dead_units")["kept"] == [
        {"set": "boston", "kept": {"False": [UNITS] * 2, "True": [UNITS] * 2}, "both": [UNITS] * 2}
    ]


@COMPILES_MUCH
@pytest.mark.usefixtures("peers")
def test_growth(script, tmp_path):
    _, X, y, _ = made_up_table("flights")
    (tmp_path / "standin").mkdir()
    np.savez(tmp_path / "standin" / "flights.npz", X=X, y=y)
    sizes = {"ROWS": (150,), "UNITS": (UNITS,), "DEPTHS": (), "STEPS": FitSettings(2, drop_dead_units=False)}
    flights = {"NUM_TEST_FLIGHTS": 20, "SHORT": BRIEF, "data_folder": lambda: tmp_path}
    growth = script("growth", **sizes, **flights)
    growth.made_up.__defaults__ = (2,)  # features
    growth.ON_FLIGHTS.update(hidden=(UNITS,), training=BRIEF)
    growth.main()
    assert written(tmp_path, "growth")["flights"]["rows"] == 150


@COMPILES_MUCH
def test_objectives(script, tmp_path):
    script("objectives", SETS=("boston",), SPLITS=range(1), TRAINING=BRIEF).main()
    (found,) = written(tmp_path, "objectives")
    assert {len(values["moments"]) for name, values in found.items() if name != "set"} == {1}
    assert found["units"]["sampled"] == [50]


@COMPILES_MUCH
@pytest.mark.filterwarnings("ignore::UserWarning")  # of so short a fit
def test_predict(script, tmp_path):
    few = {"NUM_ROWS": 20, "FEW_ROWS": 10, "TRAINING": BRIEF, "SAMPLING": Sampling(num_warmup=20, num_samples=20)}
    script("predict", UNITS=UNITS, **few).main()
    found = list(written(tmp_path, "predict"))
    assert found[1].startswith("pruned, 50 units")
    assert found[-1] == "99 quantiles, 10 rows"


@COMPILES_MUCH
@pytest.mark.filterwarnings("ignore::UserWarning")  # of so short a fit
def test_startup(script, tmp_path):
    script("startup", REPEATS=1, TRAINING=BRIEF, SAMPLING=Sampling(num_warmup=20, num_samples=20)).main()
    found = written(tmp_path, "startup")
    assert found["pritchel --help"][1] < found["pritchel predict"][1] < found["import pritchel.tables.model"][1]


def test_what_got_slower_is_named(script, tmp_path, monkeypatch, capsys):
    quick = script("quick", RECORD=tmp_path / "quick.json", startup_ratio=lambda: 2.0, prediction_ratios=lambda *_: {})
    monkeypatch.setattr(sys, "argv", ["quick.py"])
    for ratio, code in ((3.0, 0), (3.7, 0), (3.8, 1)):
        monkeypatch.setattr(quick, "step_ratio", lambda hidden, *_, ratio=ratio: ratio if hidden == (500,) else 1.0)
        with pytest.raises(SystemExit) as ended:
            quick.main()
        assert ended.value.code == code
    assert written(tmp_path, "quick")["step, 500 / plain network"] == 3.0
    assert "Slower by 27%: step, 500 / plain network." in capsys.readouterr().out


@COMPILES_MUCH
@pytest.mark.usefixtures("peers")
def test_quick_measures_all_it_compares(script, tmp_path, monkeypatch):
    small = {"HIDDEN": ((UNITS,),), "REPEATS": 1, "NUM_ROWS": 170, "NUM_FEATURES": 3, "STEPS": 2}
    quick = script("quick", RECORD=tmp_path / "quick.json", **small)
    monkeypatch.setattr(sys, "argv", ["quick.py"])
    with pytest.raises(SystemExit):
        quick.main()
    assert min(written(tmp_path, "quick").values()) > 0


def test_the_defaults_are_measured_in_processes_of_their_own(tmp_path):
    _, X, y, _ = made_up_table("boston")
    np.savez(tmp_path / "data.npz", X=X, y=y, test_X=X[:20], test_y=y[:20], rows=X)
    words = [sys.executable, FOLDER / "default.py", "--only", "Constant", tmp_path / "data.npz"]
    found = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    assert found["first"] > found["second"] > 0  # imports are part of a first fit
    assert found["intervals"] > found["mean"] > 0
    assert found["megabytes"] > 10
    assert found["log_likelihood"] == pytest.approx(np.log(0.5), abs=1)


def test_time_to_quality_is_that_of_the_soonest_schedule(script, tmp_path, monkeypatch):
    monkeypatch.setattr(
        sys, "argv", ["time_to_quality.py", "--cases", "boston:5", "boston:6", "--peers", "NGBoost", "bde"]
    )
    module = script("time_to_quality", RUNS=tmp_path / "runs.jsonl", SCHEDULES=((10, 4, 3), (20, 4, 3), (40, 8, 6)))
    scores = {10: -3.0, 20: -1.0, 40: -0.9}
    module.of_schedule = lambda schedule, case: {
        "seconds": schedule[0] + case[1],
        "log_likelihood": scores[schedule[0]],
    }
    module.of_peer = lambda name, case: {"seconds": 51.0, "log_likelihood": -2.0 if name == "NGBoost" else 0.0}
    module.main()
    lines = (tmp_path / "time_to_quality.md").read_text().splitlines()
    assert "| NGBoost | -2.000 | 51.0 | 25.5 | 20, 4 + 3 | 0.50 |" in lines
    assert "| bde | 0.000 | 51.0 | never |  |  |" in lines
    assert "| Pritchel's own, less 0.02 | -0.920 | 45.5 | 45.5 | 40, 8 + 6 | 1.00 |" in lines
    module.of_peer = module.of_schedule = None  # what was measured is on record
    module.main()


def test_a_peer_is_timed_in_a_process_of_its_own(script):
    found = script("time_to_quality").of_peer("Constant", ("boston", 0))
    assert found["seconds"] > 0
    assert found["log_likelihood"] == pytest.approx(np.log(0.5), abs=1)


def test_a_schedule_is_timed_once_compiled(script, capsys, monkeypatch):
    module = script("time_to_quality")
    monkeypatch.setattr(
        "pritchel.HorseshoeRegressor", partial(HorseshoeRegressor, hidden=(8,), num_members=1, n_jobs=1)
    )
    module.fit_schedule((5, 20, 4), "boston", 0)
    found = json.loads(capsys.readouterr().out)
    assert found["seconds"] > 0
    assert np.isfinite(found["log_likelihood"])


def test_groups(script, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["groups.py", "--groups", "2"])
    groups = script("groups", NUM_ROWS=30, NUM_ALONE=1)
    monkeypatch.setattr(groups, "num_cores", lambda: 1)
    groups.HOW.set_params(training__num_steps=2, hidden=(8,), family="factorized")
    groups.main()
    found = json.loads((tmp_path / "groups.json").read_text())["results"]
    assert [num for num, _ in found.values()] == [2, 2, 1, 1]
    groups.fit_groups = None  # what was measured is on record
    groups.main()
    assert json.loads((tmp_path / "groups.json").read_text())["results"] == found


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of engines
def test_serving(script, tmp_path, monkeypatch):
    pytest.importorskip("dask.dataframe")
    pytest.importorskip("ray")
    monkeypatch.setattr(sys, "argv", ["serving.py", "--rows", "400"])
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAY_USAGE_STATS_ENABLED"):
        monkeypatch.setenv(name, "1")  # the script sets them: they are put back
    script("serving", NUM_ROWS=400, NUM_FILES=2, REPEATS=1).main()
    found = written(tmp_path, "serving")
    assert found["rows"] == 400
    assert [name.split(",")[0] for name in found["rows a second"]][2:] == [
        "pyarrow",
        "Dask map_partitions",
        "Ray Data map_batches",
    ]
    assert min(found["rows a second"].values()) > 0


def made_up_cost(setting, *_):
    """Steps that cost what the model says, and a tenth more with forty columns."""
    own = (setting["features"] + 1) * setting["units"] + (setting["units"] + 2) * setting["units"] + 1
    seconds = 3e-4 + 2e-9 * own + 4e-11 * own * setting["batch"] + 5e-10 * setting["units"] * setting["batch"]
    seconds *= 1 + 0.5 * (setting["members"] - 1)
    seconds *= 1.1 if setting["features"] == 40 else 1
    is_read = setting["source"] == "files"
    return {
        "seconds": seconds + 1e-6 * setting["batch"] * is_read,
        "reading": 2e-6 * setting["rows"] if is_read else None,
        "learned": 2 * own,
    }


@pytest.fixture
def cost_model(script, tmp_path, monkeypatch):
    page = tmp_path / "scale.md"
    monkeypatch.setattr(sys, "argv", ["cost_model.py"])
    model = script("cost_model", PAGE=page, measure=made_up_cost, quality=lambda b, s: {"error": b / 1e5})
    page.write_text(f"before\n\n{model.BEGIN}\nas it was\n{model.END}\n\nafter\n")
    return model


def test_the_cost_model_finds_what_a_step_costs(cost_model, tmp_path):
    cost_model.main()
    found = written(tmp_path, "cost_model")
    expected = {"a": 3e-4, "b": 2e-9, "c": 4e-11, "d": 5e-10}
    assert found["model"]["coefficients"] == pytest.approx(expected, rel=1e-6)
    assert found["model"]["largest_error"]["fitted"] < 1e-6
    assert found["model"]["largest_error"]["held_out"] == pytest.approx(1 - 1 / 1.1)
    assert found["model"]["settings"] == {"fitted": 8, "held_out": 5}
    assert found["more"]["crowd"] == pytest.approx(0.5)
    assert found["more"]["read"] == pytest.approx(1e-6)
    assert found["more"]["scan"] == pytest.approx(2e-6)
    one, many, large = (found["plans"][name] for name in ("one host", "64 hosts", "64 hosts, 256 rows each"))
    assert one["efficiency"] == pytest.approx(1)
    assert many["efficiency"] < large["efficiency"] < 1
    assert large["compute"] == one["compute"] > many["compute"]
    assert one["late"] == one["wire"] == 0
    assert many["late"] == pytest.approx(126 * 50e-6)
    assert many["wire"] == pytest.approx(126 / 64 * many["bytes"] / 1.25e9)
    assert many["step"] == pytest.approx(many["compute"] + many["read"] + many["late"] + many["wire"])
    assert many["first_pass"] == pytest.approx(one["first_pass"] / 64)
    page = (tmp_path / "scale.md").read_text()
    assert page.startswith("before\n")
    assert page.endswith("after\n")
    assert "as it was" not in page
    cost_model.measure = None  # every setting is on record
    cost_model.main()
    assert (tmp_path / "scale.md").read_text() == page


def test_the_cost_model_reads_steps_of_two_processes(cost_model, tmp_path):
    runs = [
        {"rows": 9, "units": 50, "batch": 256, "processes": num, "seconds_a_step": 1e-3 * num, "bytes_a_step": 5 * num}
        for num in (1, 2)
    ]
    (tmp_path / "processes.json").write_text(json.dumps({"results": runs}))
    cost_model.main()
    assert [run["efficiency"] for run in written(tmp_path, "cost_model")["processes"]] == [1, 0.25]
    assert "| 50 | 256 | 2 | 2000 | 10 | 25 % |" in (tmp_path / "scale.md").read_text()
    (tmp_path / "processes.json").write_text(json.dumps({"results": [{"units": 50}]}))
    with pytest.raises(SystemExit, match="must hold a list of runs"):
        cost_model.main()


def test_the_page_on_scale_has_what_is_on_record(script):
    record = json.loads((FOLDER / "results" / "cost_model.json").read_text())["results"]
    page = (FOLDER.parent / "docs" / "scale.md").read_text()
    model = script("cost_model")
    own = page.partition(model.BEGIN)[2].partition(model.END)[0]
    assert own.strip().splitlines() == model.section(record)


@COMPILES_MUCH
def test_a_clock_tells_the_seconds_of_real_steps(script, tmp_path):
    model = script("cost_model", BUFFER=100)
    small = model.BASE | {"units": 8, "batch": 64, "rows": 200, "features": 3, "members": 2}
    for source in ("memory", "files"):
        found = model.measure(small | {"source": source}, 8, tmp_path)
        assert found["seconds"] > 0
        assert found["learned"] > model.weights(8, 3)
        assert (found["reading"] is None) == (source == "memory")
    clock = model.Clock()
    clock.told = [("fitting", 0, 2, 1.0), ("fitting", 0, 4, 2.0), ("fitting", 1, 2, 9.0), ("fitting", 1, 4, 9.8)]
    assert clock.seconds_a_step() == pytest.approx(0.45)
    assert model.quality(64, 2)["error"] > 0


@pytest.mark.slow
def test_processes(script, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["processes.py", "--units", "4", "--batches", "8"])
    script("processes").main()
    alone, shared = written(tmp_path, "processes")
    assert (alone["processes"], shared["processes"]) == (1, 2)
    assert shared["sums_a_step"] == 1
    assert shared["bytes_a_step"] == 4 * (shared["parameters"] + 1), "the gradient, and the likelihood beside it"


@COMPILES_MUCH
def test_quality(script, tmp_path, monkeypatch):
    published = {"boston": dict.fromkeys(range(20), (1.0, -1.0))}
    sizes = {"protocol": lambda name: {"hidden": (UNITS,), "num_members": 2, "training": BRIEF}}
    quality = script("quality", RUNS=tmp_path / "runs.jsonl", SIZES=sizes, published=lambda: (published, {}))
    monkeypatch.setattr(sys, "argv", ["quality.py", "--sizes", "protocol", "--sets", "boston", "--splits", "1"])
    quality.main()
    (run,) = written(tmp_path, "quality")["runs"]
    assert (run["size"], run["set"], run["offered"], run["kept"]) == ("protocol", "boston", [UNITS], [UNITS])


def test_sizes_are_compared_on_the_splits_that_both_have(script):
    published = {"boston": dict.fromkeys(range(20), (1.0, -1.0))}
    quality = script("quality", published=lambda: (published, {}))

    def run(size, split, ll):
        fit = {"constant": [1.0, -1.0], "offered": [9], "kept": [3.0], "seconds": 1.0}
        scores = {"ll": ll, "rmse": 2 - ll, "coverage": 0.5 + 0.01 * split}
        return {"size": size, "set": "boston", "split": split, **scores, **fit}

    runs = [run("sampled gaussian", split, 0.0) for split in (0, 1, 16, 17)]
    runs += [run("defaults", split, gain) for split, gain in ((0, 1.0), (16, 0.5), (17, -0.3), (19, 100.0))]
    lines = quality.compare("sampled gaussian", "defaults", runs)
    row = [cell.strip() for cell in lines[2].split("|")[1:-1]]
    assert row[:4] == ["boston", "3", "0.000", "0.400"]
    assert row[4:6] == ["0.400 ± 0.379", "0.100 ± 0.400"]
    assert row[6:9] == ["2.000", "1.600", "-0.400 ± 0.379"]
    assert lines[-1] == (
        "Ahead in log-likelihood on 2 of 3 splits. Log-likelihood: no worse by more than error on boston. "
        "RMSE: no worse by more than error on boston."
    )
    runs += [run("variational", split, gain) for split, gain in ((0, 0.1), (16, -0.4), (17, -1.3))]
    told = quality.compare("variational", "defaults", runs)[-1]
    assert told.startswith(
        "Ahead in log-likelihood on 3 of 3 splits. Log-likelihood: better on boston. RMSE: better on"
    )
    held = quality.report("defaults", runs[4:7])[0][-1]
    assert "90 % intervals hold 87 to 93 % of the test rows on 0 of 1, not boston 61.0" in held
    assert quality.compare("variational gaussian", "sampled gaussian", runs) == []


def test_small_tables(script, tmp_path, monkeypatch):
    small = script("small_tables", RUNS=tmp_path / "runs.jsonl", RESULTS=tmp_path)
    small.METHODS = {name: small.METHODS[name] for name in ("ridge", "constant")}
    monkeypatch.setattr(sys, "argv", ["small_tables.py", "--seeds", "1"])
    small.main()
    small.METHODS = dict.fromkeys(small.METHODS)  # every fit is on record
    small.main()
    runs = {(run["table"], run["method"]): run for run in written(tmp_path, "small_tables")["runs"]}
    assert len(runs) == 2 * len(small.TABLES)
    assert runs["noise 1000 x 30", "constant"]["ll"] == pytest.approx(-0.5 * (np.log(2 * np.pi) + 1), abs=0.1)
    assert runs["linear 200 x 10", "ridge"]["rmse"] < runs["linear 200 x 10", "constant"]["rmse"]


def test_small_tables_say_where_the_default_is_behind(script):
    small = script("small_tables")
    scores = {"adaptive": (-1.6, -1.5, -1.7), "ridge": (-1.5, -1.5, -1.5), "constant": (-2.0, -1.4, -2.0)}
    runs = [
        {"table": "diabetes", "method": method, "seed": seed, "rmse": 1.0, "ll": ll, "coverage": 0.8, "units": 3.0}
        for method, of_seeds in scores.items()
        for seed, ll in enumerate(of_seeds)
    ]
    np.testing.assert_allclose(small.over_simple(runs, "diabetes", "adaptive"), [-0.1, -0.1, -0.2])
    said = small.report(runs)[0]
    assert "diabetes: behind by 0.133 ± 0.033" in said
    assert "diabetes: 80% in 90 % intervals" in said
    better = [run | {"ll": run["ll"] + 0.2 * (run["method"] == "adaptive"), "coverage": 0.9} for run in runs]
    assert small.report(better)[0].startswith("The default (adaptive): nowhere behind")


def test_large_tables(script, tmp_path, monkeypatch):
    large = script("large_tables", RUNS=tmp_path / "runs.jsonl", RESULTS=tmp_path, NUM_TEST=20_000)
    *_, test_y, truth = large.made_up(100, 0)
    assert truth.mean() == pytest.approx(-0.5 * (np.log(2 * np.pi) + 1), abs=0.02)  # log spreads are zero on average
    assert len(test_y) == 20_000
    asked = []

    def made_up_run(key):
        asked.append(key)
        ll = -1.0 if key["inference"] == "variational" else -0.75
        return {"rmse": 1.0, "ll": ll, "coverage": 0.9, "seconds": 3.0, "regret": -ll}

    monkeypatch.setattr(large, "run", made_up_run)
    words = ["large_tables.py", "--rows", "2000", "--uci", "protein", "--seeds", "2"]
    monkeypatch.setattr(sys, "argv", words)
    large.main()
    large.main()  # every fit is on record
    assert len(asked) == 8
    assert (
        "| made up, 2,000 rows | 2 | 1.000 ± 0.000 | 0.750 ± 0.000 | 0.250 ± 0.000"
        in (tmp_path / "large_tables.md").read_text()
    )
    assert "| protein | 2 | -1.000 ± 0.000 | -0.750" in (tmp_path / "large_tables.md").read_text()


@pytest.mark.slow
def test_truth_lies_anywhere_among_sampled_draws(script, tmp_path, monkeypatch):
    """Simulation-based calibration of a hundred tables."""
    simulated = script("simulated", FIGURE=tmp_path / "simulated.png")
    monkeypatch.setattr(sys, "argv", ["simulated.py", "--tables", "100"])
    simulated.main()
    found = written(tmp_path, "simulated")
    assert min(figures["p"] for figures in found["sampled"].values()) > 0.002
    assert found["variational"]["mean of f"]["outer"] < 0.12  # too wide: the test can fail
    assert (tmp_path / "simulated.png").exists()


def test_likelihoods_takes_its_tables_from_what_is_on_record(script, tmp_path):
    shutil.copy(FOLDER / "results" / "likelihoods_runs.jsonl", tmp_path)
    likelihoods = script("likelihoods", RESULTS=tmp_path)
    likelihoods.fit = None  # every fit is on record
    likelihoods.main()
    ours, known = ((folder / "likelihoods.md").read_text() for folder in (tmp_path, FOLDER / "results"))
    assert ours.splitlines()[:-1] == known.splitlines()[:-1]  # but for the last line, the machine's


@COMPILES_MUCH
def test_methods_of_likelihoods_fit_and_score(script):
    likelihoods, methods = script("likelihoods"), script("likelihood_peers")
    wine = likelihoods.TABLES["wine"][0](0)
    scores = methods.by_classifier(hidden=(4,), num_members=2, training=BRIEF)(wine)
    assert scores["units"] == [4]
    assert len(likelihoods.row("wine", "Pritchel", [scores])) == 10
    data = methods.Split(*made_up_table("numbers").split(0), 0)
    scores = methods.by_regressor("gaussian", hidden=(UNITS,), num_members=2, training=BRIEF)(data)
    assert scores["units"] == [UNITS]
    assert len(likelihoods.row("numbers", "Pritchel", [scores])) == 5


class Checked(Exception):
    """The settings were sound."""


def test_every_network_that_likelihoods_compares_has_sound_settings(script, monkeypatch):
    pytest.importorskip("sklearn", minversion="1.8", reason="a peer is calibrated by temperature, new in 1.8")

    def check(estimator, X, y):
        estimator.options()
        raise Checked

    for kind in (HorseshoeClassifier, HorseshoeRegressor):
        monkeypatch.setattr(kind, "fit", check)
    for load, methods in script("likelihoods").TABLES.values():
        for method in (method for label, method in methods.items() if label.startswith("Pritchel")):
            with pytest.raises(Checked):
                method(load(0))


def test_noise_says_where_the_mean_came_to_harm(script, tmp_path, monkeypatch):
    noise = script("noise", RUNS=tmp_path / "runs.jsonl", RESULTS=tmp_path, NUM_TEST=20_000)
    for law in noise.LAWS:
        X, y, test_X, test_y, mean, truth = noise.made_up(law, 100, 0)
        assert (X.shape, y.shape, test_X.shape) == ((100, 10), (100,), (20_000, 10))
        assert np.median(test_y - mean) == pytest.approx(0, abs=0.03)
        assert truth.mean() == pytest.approx(-noise.LAWS[law](test_X).entropy().mean(), abs=0.03), law

    def made_up_run(key):
        error = 0.3 if (key["noise"], key["likelihood"]) == ("constant", "auto") else 0.2
        return {"error": error, "regret": 0.1, "coverage": 0.9, "noise_report": key["noise"], "seconds": 1.0}

    monkeypatch.setattr(noise, "run", made_up_run)
    monkeypatch.setattr(sys, "argv", ["noise.py", "--rows", "300"])
    noise.main()
    page = (tmp_path / "noise.md").read_text()
    assert "| changing | 300 | 1 | 0.200 | 0.200 | 0.100 | 0.100 | 0.900 | 0.900 | changing |" in page
    assert "further off, by more than a tenth, in 1 of 3 cases; constant, 300 rows." in page
