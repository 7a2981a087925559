"""The commands, as a user types them."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from pritchel import HorseshoeClassifier, HorseshoeRegressor, Training, __version__
from pritchel.cli import app
from pritchel.cli.options import ESTIMATOR_OPTIONS
from pritchel.model.likelihoods import LIKELIHOODS
from pritchel.model.priors import PRIORS
from pritchel.tables.encode import encode_inputs
from pritchel.tables.model import TableModel

SMALL = ["--hidden", "8", "--inference", "variational", "--family", "factorized"]
QUICK = [*SMALL, "--num-steps", "300", "--num-members", "1", "--learning-rate", "0.05", "--num-draws", "30"]


def run(*arguments, code=0, **options):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], **options)
    assert result.exit_code == code, result.output + result.stderr
    return result


@pytest.fixture(scope="module")
def houses() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "house_id": np.arange(1, 121),
            "area": rng.gamma(4, 30, 120).round(2),
            "town": rng.choice(["Ayr", "Bath", "Cork"], 120),
            "age": np.where(rng.random(120) < 0.1, np.nan, rng.uniform(0, 100, 120).round(1)),
            "country": "UK",
        }
    )
    price = 50 + 2 * frame["area"] + 40 * (frame["town"] == "Bath") + rng.normal(0, 5, 120)
    return frame.assign(price=price.where(frame["house_id"] != 5))


@pytest.fixture(scope="module")
def workplace(houses, tmp_path_factory):
    """A folder with tables and a fitted model."""
    folder = tmp_path_factory.mktemp("work")
    houses.to_csv(folder / "houses.csv", index=False)
    houses.drop(columns="price").head(30).assign(colour="red").to_csv(folder / "new.csv", index=False)
    result = run("fit", folder / "houses.csv", "-t", "price", "-o", folder / "model", *QUICK)
    for words in (
        "house_id (counts the rows",
        "country (constant)",
        "without a target, or cut short (row 5)",
        "constant predictor",
    ):
        assert words in result.output
    assert not list(folder.glob("*.partial"))
    return folder


def test_version_and_help():
    assert __version__ in run("--version").output
    for command in ("fit", "predict", "evaluate", "inspect", "prune", "export", "report", "demo"):
        assert command in run("--help").output
        told = run(command, "--help").output
        assert "Exit codes" in told or command == "demo"
        assert "<bool>" not in told  # a flag takes nothing
        assert run(command, "-h").output == run(command, "--help").output
    run("demo", "--units", "3", code=2)


def test_help_needs_no_heavy_import():
    """Time is not a test's business; what is imported is."""
    code = (
        "import sys; import pritchel.cli; print([m for m in ('jax', 'sklearn', 'pandas', 'scipy') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_every_argument_of_the_estimator_is_an_option():
    offered = {option.name for option in ESTIMATOR_OPTIONS} | {"likelihood"}
    arguments = set(HorseshoeClassifier().get_params())
    for name, kind in LIKELIHOODS.items():
        arguments |= set() if kind.kind.has_classes else set(HorseshoeRegressor(likelihood=name).get_params())
    arguments |= set(HorseshoeRegressor(calibration="spread").get_params())
    for name in PRIORS:
        arguments |= set(HorseshoeRegressor(prior=name).get_params())
    of_python = {"random_state", "progress", "checkpoint", "warm_start", "training", "sampling"}
    of_python |= {"family__name", "calibration__name"}
    assert arguments - offered == of_python
    assert offered <= arguments
    assert len({option.flag for option in ESTIMATOR_OPTIONS}) == len(ESTIMATOR_OPTIONS)


def test_a_sampled_fit_leaves_a_model_and_nothing_else(houses, tmp_path, monkeypatch):
    monkeypatch.setattr("pritchel.infer.checkpoint.EVERY_SECONDS", 0.0)
    houses.to_csv(tmp_path / "t.csv", index=False)
    words = ["--inference", "sampled", "--num-warmup", "20", "--num-samples", "20", "--num-leapfrogs", "2"]
    words += ["--num-steps", "20", "--num-members", "1", "--hidden", "4", "--family", "factorized", "-q"]
    run("fit", tmp_path / "t.csv", "-t", "price", "-o", tmp_path / "m", *words)
    assert sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith(".")) == ["m", "t.csv"]
    assert "Sampled inference" in run("inspect", tmp_path / "m").output


def test_options_reach_the_estimator(houses, tmp_path):
    houses.to_csv(tmp_path / "t.csv", index=False)
    words = ["--hidden", "6,5", "--slab", "3,4", "--no-linear", "--drop-dead-units", "no", "--family", "factorized"]
    words += ["--num-steps", "20", "--num-members", "1", "--layer-scale", "1e-4,1e-5", "--holdout", "0"]
    words += ["--inference", "variational"]
    run("fit", tmp_path / "t.csv", "-t", "price", "-o", tmp_path / "m", *words, "-q")
    fitted = HorseshoeRegressor.load(tmp_path / "m")
    assert (fitted.hidden, fitted.linear, fitted.training.drop_dead_units) == ((6, 5), False, False)
    assert (fitted.prior.slab, fitted.prior.layer_scale) == ((3, 4), (1e-4, 1e-5))
    small = ["--hidden", "4", *words[9:11], "--num-draws", "30"]
    paper = run("fit", tmp_path / "t.csv", "-t", "price", "-o", tmp_path / "p", "--preset", "paper", *small)
    assert "Written" in paper.output
    assert HorseshoeRegressor.load(tmp_path / "p").likelihood.noise_prior == (6.0, 6.0)


def test_predictions_by_row_are_the_models(workplace, houses):
    result = run(
        "predict",
        workplace / "model",
        workplace / "new.csv",
        "-o",
        workplace / "out.csv",
        "--quantile",
        0.1,
        "--quantile",
        0.9,
    )
    assert "'colour'" in result.stderr
    out = pd.read_csv(workplace / "out.csv")
    assert list(out.columns) == ["house_id", "mean", "sd", "q10", "q90"]
    model = TableModel.load(workplace / "model")
    mean, sd = model.estimator_.predict(encode_inputs(model.plan_, houses.head(30)), return_std=True)
    np.testing.assert_allclose(out["mean"], mean, rtol=1e-5)
    np.testing.assert_allclose(out["sd"], sd, rtol=1e-5)
    assert (out["q10"] < out["mean"]).all()
    run("predict", workplace / "model", workplace / "new.csv", "-o", workplace / "out.csv", code=2)
    piped = run("predict", workplace / "model", "-", "--id", "town", input=(workplace / "new.csv").read_text())
    assert piped.stdout.splitlines()[0] == "town,mean,sd,q5,q50,q95"
    assert len(piped.stdout.splitlines()) == 31


def test_a_table_in_pieces_gives_the_same_predictions(workplace, monkeypatch):
    from pritchel.tables import read

    def rows():
        return pd.read_csv(io.StringIO(run("predict", workplace / "model", workplace / "new.csv").stdout))

    whole = rows()
    monkeypatch.setattr(read.iter_table, "__defaults__", (None, None, 7))
    pd.testing.assert_frame_equal(rows(), whole, rtol=1e-9)
    run("predict", workplace / "model", workplace / "new.csv", "-o", workplace / "out.parquet")
    assert len(pd.read_parquet(workplace / "out.parquet")) == 30


def test_evaluate_and_inspect_as_json(workplace, houses):
    scores = json.loads(run("evaluate", workplace / "model", workplace / "houses.csv", "--json").stdout)
    (score,) = scores["scores"]
    assert scores["num_scored"] == 119
    assert score["rmse"] < 0.5 * score["constant_rmse"]
    assert score["crps"] < score["constant_crps"]
    known = houses.dropna(subset=["price"])
    model = TableModel.load(workplace / "model")
    error = model.predict(known)["mean"] - known["price"]
    assert score["rmse"] == pytest.approx(np.sqrt((error**2).mean()))
    assert len(scores["calibration"]["price"]["nominal"]) == 19
    facts = json.loads(run("inspect", workplace / "model", "--json").stdout)
    worth = {own["name"]: own for own in facts["importances"]}
    assert set(worth) == {"area", "town", "age"}
    assert next(iter(worth)) == "area"
    assert worth["area"]["error_range"][0] > max(0, worth["age"]["error"])
    assert facts["versions"]["pritchel"] == __version__
    assert "area" in run("inspect", workplace / "model").output
    assert "90 %" in run("evaluate", workplace / "model", workplace / "houses.csv").output


def test_what_lies_outside_the_range_is_spoken_of_where_something_does():
    from pritchel.cli.scores import checks_table

    inside = {"target": "y", "statistic": "mean", "observed": 1.0, "lower": 0.5, "upper": 2.0}
    assert checks_table([inside]).caption is None
    assert "1 outside" in checks_table([inside, {**inside, "observed": 3.0}]).caption


def test_prune_makes_a_smaller_model(workplace):
    run("prune", workplace / "model", "-o", workplace / "small", "--threshold", "0.05")
    before, after = (json.loads(run("inspect", workplace / name, "--json").stdout) for name in ("model", "small"))
    assert sum(after["units_present"][0]) <= sum(before["units_present"][0])
    missing = run("prune", workplace / "model", "-o", workplace / "tuned", "--fine-tune", "5", code=2)
    assert "--table" in missing.stderr
    run(
        "prune", workplace / "model", "-o", workplace / "tuned", "--fine-tune", "5", "--table", workplace / "houses.csv"
    )


WRONG = {
    "no table": (["fit", "nowhere.csv", "-t", "price"], 2, "no file"),
    "no column": (["fit", "{table}", "-t", "prise"], 2, "'prise'"),
    "bad option": (["fit", "{table}", "-t", "price", "--prior", "flat"], 2, "prior must be one of"),
    "bad number": (["fit", "{table}", "-t", "price", "--hidden", "ten"], 2, "not a number"),
    "bad preset": (["fit", "{table}", "-t", "price", "--preset", "best"], 2, "--preset must be one of"),
    "no model": (["predict", "nowhere", "{table}"], 3, "no such folder"),
    "no targets": (["evaluate", "{model}", "{new}"], 2, "no column 'price'"),
    "bad level": (["predict", "{model}", "{new}", "--quantile", "7"], 2, "between 0 and 1"),
    "bad format": (["export", "{model}", "-o", "x.bin", "--format", "xml"], 2, "--format must be one of"),
}


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_are_answered_with_a_sentence_and_a_code(workplace, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    words, code, message = WRONG[name]
    places = {"table": workplace / "houses.csv", "model": workplace / "model", "new": workplace / "new.csv"}
    result = run(*(word.format(**places) for word in words), code=code)
    assert message in result.output + result.stderr
    assert "Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_rows_cut_short_are_named_and_few_rows_said(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{i}.5,{i}\n" if i % 2 else f"{i}.5\n" for i in range(14)))
    words = [*SMALL, "--num-steps", "5", "--num-members", "1", "--num-draws", "5", "--holdout", "0"]
    said = run("fit", tmp_path / "t.csv", "-t", "y", "-o", tmp_path / "m", *words).stderr
    assert "7 row(s) without a target, or cut short (row 1, 3, 5, 7, 9, ...)" in said
    assert "Only 7 rows are left" in said


ADVICE = {
    "dates": ("2020-01-02,1\n2021-05-06,2\n", ["-t", "y"], "leave it out with --drop 'the day'."),
    "slip": ("".join(f"{i}.5,{i}\n" for i in range(19)) + "ten,3\n", ["-t", "y"], "say with --na-value ten that"),
    "nothing left": ("a,1\na,2\n", ["-t", "y"], "Use --keep to use one"),
    "unknown": ("1,1\n2,2\n", ["-t", "y", "--drop", "z"], "No column 'z' (--drop)."),
    "holdout": ("1,1\n2,2\n", ["-t", "y", "--holdout", "0.9"], "Error: --holdout 0.9 leaves fewer than two"),
    "likelihood": ("1,1\n2,2\n", ["-t", "y", "--likelihood", "odd"], "Error: --likelihood must be one of auto,"),
    "classes": ("1,1\n2,2\n", ["-t", "y", "-t", "the day", "--likelihood", "categorical"], "has one --target."),
}


@pytest.mark.parametrize("name", ADVICE)
def test_advice_is_spelled_as_it_is_typed(tmp_path, name):
    rows, words, advice = ADVICE[name]
    (tmp_path / "t.csv").write_text(f"the day,y\n{rows}")
    assert advice in run("fit", tmp_path / "t.csv", "-o", tmp_path / "m", *words, code=2).stderr


def test_the_command_is_recorded_as_it_was_given(tmp_path, houses):
    houses.to_csv(tmp_path / "my table.csv", index=False)
    words = ["fit", tmp_path / "my table.csv", "--target", "price", "--keep", "house_id", "--drop", "age", "--refit"]
    words += [
        "--inference",
        "variational",
        "--hidden",
        "4",
        "--num-steps",
        "5",
        "--num-members",
        "1",
        "--no-linear",
        "--drop-dead-units",
        "no",
    ]
    of_the_run = ["-o", tmp_path / "m", "--overwrite", "--quiet", "--json"]
    told = json.loads(run(*words, *of_the_run).stdout)
    given = told["source"]["command"]
    assert given[:3] == ["pritchel", "fit", str(words[1])]
    assert sorted(given[1:]) == sorted(map(str, words))
    for flag, value in (("--target", "price"), ("--keep", "house_id"), ("--drop", "age"), ("--drop-dead-units", "no")):
        assert given[given.index(flag) + 1] == value


def test_two_targets(houses, tmp_path):
    houses.assign(rent=houses["price"] / 20).to_csv(tmp_path / "t.csv", index=False)
    run("fit", tmp_path / "t.csv", "-t", "price", "-t", "rent", "-o", tmp_path / "m", *QUICK)
    out = run("predict", tmp_path / "m", tmp_path / "t.csv").stdout.splitlines()[0]
    assert (
        out == "house_id,price_mean,price_sd,price_q5,price_q50,price_q95,rent_mean,rent_sd,rent_q5,rent_q50,rent_q95"
    )


def test_fit_killed_then_resumed_is_the_fit_never_killed(workplace, tmp_path):
    """kill -9, as a machine that goes down would."""
    words = [sys.executable, "-m", "pritchel", "fit", workplace / "houses.csv", "-t", "price", "--json"]
    words += [*SMALL, "--num-members", "1", "--num-draws", "30", "--num-steps", "6000", "--seed", "3"]
    environment = {**os.environ, "PRITCHEL_CHECKPOINT_SECONDS": "0"}
    process = subprocess.Popen([*words, "-o", tmp_path / "b"], env=environment, stdout=subprocess.DEVNULL)
    part = tmp_path / "b.partial" / "fit" / "member-1.safetensors"
    deadline = time.monotonic() + 120
    while not part.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert part.exists()
    assert not (tmp_path / "b").exists()
    run("fit", *words[4:], "-o", tmp_path / "b", code=2)  # an unfinished fit is not overwritten unasked
    run("fit", *words[4:], "-o", tmp_path / "b", "--resume")
    run("fit", *words[4:], "-o", tmp_path / "a")
    first, second = (HorseshoeRegressor.load(tmp_path / name) for name in "ab")
    np.testing.assert_array_equal(first.elbo_, second.elbo_)
    assert not (tmp_path / "b.partial").exists()


def test_regions_are_written_as_words(workplace):
    words = ("predict", workplace / "model", workplace / "houses.csv", "--region")
    lines = run(*words, "0.8").stdout.splitlines()
    assert lines[0].endswith(",region80")
    assert re.fullmatch(r"-?[\d.e+]+ to -?[\d.e+]+(; .*)?", lines[1].rpartition(",")[2])
    assert "must lie strictly between 0 and 1" in run(*words, "80", code=2).stderr


def test_ctrl_c_keeps_the_fit_so_far(workplace, tmp_path):
    words = [sys.executable, "-m", "pritchel", "fit", workplace / "houses.csv", "-t", "price", "-o", tmp_path / "m"]
    words += [*SMALL, "--num-members", "1", "--num-steps", "1000000"]
    environment = {**os.environ, "PRITCHEL_CHECKPOINT_SECONDS": "0"}
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    signal.signal(signal.SIGINT, before)
    part = tmp_path / "m.partial" / "fit" / "member-1.safetensors"
    deadline = time.monotonic() + 120
    while not part.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert "Interrupted" in errors
    assert HorseshoeRegressor.load(tmp_path / "m.partial" / "model").status_ == ["interrupted"]
    assert not (tmp_path / "m").exists()


def test_demo_prints_the_table_and_draws_the_picture(tmp_path, monkeypatch):
    from pritchel.experiments import demo

    class Quick(HorseshoeRegressor):
        """The demo's estimator with fewer steps and units."""

        def fit(self, X, y, sample_weight=None):
            self.set_params(
                hidden=(8,), num_draws=25, family="factorized", training=Training(num_steps=300, learning_rate=0.05)
            )
            return super().fit(X, y, sample_weight)

    monkeypatch.setattr(demo, "HorseshoeRegressor", Quick)
    result = run("demo", "-o", tmp_path / "out")
    for word in ("sine", "Friedman", "diabetes", "BayesianRidge", "constant", "of 8", "coverage"):
        assert word in result.output
    picture = tmp_path / "out" / "demo.png"
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_yardsticks():
    from pritchel.experiments.scores import constant_scores, gaussian_scores

    y = np.random.default_rng(0).normal(3, 2, 4000)
    scores = constant_scores(y, y)
    assert scores.rmse == pytest.approx(y.std())
    assert scores.coverage == pytest.approx(0.9, abs=0.02)
    assert gaussian_scores(3.0, 20.0, y).log_likelihood < scores.log_likelihood
