"""The contributors' page: its examples work where it puts them, its walks and its drawing are true."""

import ast
import importlib
import pkgutil
import re
import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats
from typer.testing import CliRunner

import pritchel
from pritchel import HorseshoeRegressor, TableModel, cli
from pritchel.experiments import reproduce
from pritchel.guide.base import FAMILIES, OUTPUT_STARTS
from pritchel.guide.normal import Normal
from pritchel.model.likelihoods import LIKELIHOODS, LikelihoodStart
from pritchel.model.priors import PRIORS, Moments, Scales
from tests.conftest import TINY
from tests.pages import BLOCK, ROOT, defined_names
from tests.test_rooms import ROOMS as FLOORS

PAGE = (ROOT / "CONTRIBUTING.md").read_text()
DRAWING = (ROOT / "docs" / "house.svg").read_text()
FILES = {text.partition("\n")[0].removeprefix("# "): text for kind, text in BLOCK.findall(PAGE) if kind == "python"}
ROOMS = [*reversed(re.findall(r'class="room"[^>]*>(\w+)<', DRAWING))]
BELOW = re.findall(r'class="below"[^>]*>(\w+)<', DRAWING)
MAX_DEPTH = 7
STEP = re.compile(r"^( *)- `([\w/]+\.py)` `(\w+)`", re.M)


@pytest.fixture
def added(tmp_path, monkeypatch):
    """A function that puts an example where the page says and imports it; afterwards nothing is left of it."""
    registries = (FAMILIES, OUTPUT_STARTS, PRIORS, LIKELIHOODS)
    before = [dict(registry) for registry in registries]
    made = []

    def add(file):
        path = tmp_path / file
        path.parent.mkdir(parents=True)
        path.write_text(FILES[file])
        name = ".".join(Path(file).with_suffix("").parts)
        package = importlib.import_module(name.rpartition(".")[0])
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(path.parent)])
        assert path.stem in {found.name for found in pkgutil.iter_modules(package.__path__)}, "found by itself"
        made.append((package, path.stem))
        return importlib.import_module(name)

    yield add
    for package, stem in made:
        del sys.modules[f"{package.__name__}.{stem}"]
        delattr(package, stem)
    for registry, entries in zip(registries, before, strict=True):
        registry.clear()
        registry.update(entries)


def lives(folder, table, **choice):
    """A tiny fit with the new part that predicts, prunes, and predicts the same once it is saved and loaded."""
    X, y = table
    settings = TINY | {"training__num_steps": 60, "num_draws": 25} | choice
    model = HorseshoeRegressor().set_params(**settings).fit(X, y)
    assert np.isfinite(model.elbo_).all()
    small = model.prune(threshold=float(np.median(model.unit_scales_[0][0])), probability=0.5)
    assert 0 < small.prune_report_[0].kept[0] < small.prune_report_[0].offered[0]
    for fitted, name in ((model, "model"), (small, "small")):
        loaded = pritchel.load(fitted.save(folder / name))
        np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
        np.testing.assert_array_equal(loaded.log_prob(X, y), fitted.log_prob(X, y))
    assert np.isfinite(model.prior_predictive(X, 3)).all()
    return model


def test_every_example_is_used():
    assert sorted(FILES) == [
        "pritchel/cli/units.py",
        "pritchel/experiments/members.py",
        "pritchel/guide/by_unit.py",
        "pritchel/model/likelihoods/laplace.py",
        "pritchel/model/priors/horseshoe_plus.py",
    ]


def test_a_family(added, table, tmp_path):
    """It lives, and is the factorized family with equal deviations."""
    mean, log_sd = jnp.arange(12.0).reshape(4, 3) / 5, jnp.array([-1.0, 0.0, 0.5])
    own = added("pritchel/guide/by_unit.py").UnitNormal(mean, log_sd)
    same = Normal(mean, jnp.broadcast_to(log_sd, mean.shape))
    for name in ("entropy", "expected_sq_sum"):
        np.testing.assert_allclose(getattr(own, name)(), getattr(same, name)(), rtol=1e-6)
    inputs = jnp.asarray(np.random.default_rng(0).normal(size=(5, 3)))
    for input_var in (None, inputs**2):
        (got_mean, got_var), expected = (part.project_moments(inputs, input_var) for part in (own, same))
        np.testing.assert_allclose(got_mean, expected[0], rtol=1e-5)
        np.testing.assert_allclose(got_var.full() if input_var is None else got_var, expected[1], rtol=1e-5)
    lives(tmp_path, table, family="by_unit")


def test_a_prior_with_a_latent_of_its_own(added, table, tmp_path):
    settings = added("pritchel/model/priors/horseshoe_plus.py").HorseshoePlus(layer_scale=0.5)
    own, plain = settings.build(1), PRIORS["horseshoe"](layer_scale=0.5).build(1)
    latents = {"log_mixing": (np.array([0.3, -2.0]),)}
    units, scales = [np.array([0.1, 1.0])], Scales(np.zeros(1), np.zeros(()))
    mixing = stats.halfcauchy.logpdf(np.exp(latents["log_mixing"][0])) + latents["log_mixing"][0]
    expected = float(plain.log_density(units, scales, {})) + mixing.sum()
    assert float(own.log_density(units, scales, latents)) == pytest.approx(expected, rel=1e-5)
    sure = lambda value: None if value is None else Moments(value, np.zeros_like(value))  # noqa: E731
    moments = ([sure(units[0])], Scales(*map(sure, scales)), {"log_mixing": (sure(latents["log_mixing"][0]),)})
    assert float(own.expected_log_density(*moments)) == pytest.approx(expected, rel=1e-5)
    model = lives(tmp_path, table, prior="horseshoe_plus", prior__layer_scale=0.5)
    (learned,) = model.posterior_.members[0].guide.latents["log_mixing"]
    assert learned.mean.shape == (8,)
    assert not np.allclose(learned.mean, 0)


def test_a_likelihood(added, table, tmp_path):
    module = added("pritchel/model/likelihoods/laplace.py")
    own = module.Laplace().build(LikelihoodStart.without_data(1))
    params, targets = np.array([0.2]), np.array([[0.7]])
    density, noise = stats.norm(0.3, 0.8).pdf, stats.laplace(0, np.exp(0.2)).logpdf
    expected = integrate.quad(lambda f: density(f) * noise(0.7 - f), -6, 6, points=[0.7])[0]
    got = own.expected_log_density(params, targets, np.array([[0.3]]), np.array([[0.64]]))
    np.testing.assert_allclose(got, expected, rtol=1e-5)
    np.testing.assert_allclose(own.log_density(params, targets, np.zeros((1, 1))), noise(0.7), rtol=1e-5)
    parts, same = module.LaplaceComponents(np.full((1, 1, 1), 2.0), np.array(3.0)), stats.laplace(2.0, 3.0)
    for value in (-4.0, 2.5):
        np.testing.assert_allclose(parts.log_density(value), same.logpdf(value))
        np.testing.assert_allclose(parts.cdf(value), same.cdf(value))
    for level in (0.2, 0.9):
        np.testing.assert_allclose(parts.quantile(level), same.ppf(level))
    np.testing.assert_allclose(parts.var, same.var())
    lives(tmp_path, table, likelihood="laplace")


def test_a_likelihood_is_a_choice_of_tables_and_commands(added, table, tmp_path):
    import pandas as pd

    added("pritchel/model/likelihoods/laplace.py")
    frame = pd.DataFrame(table[0], columns=["a", "b", "c"]).assign(y=table[1])
    frame.to_csv(tmp_path / "t.csv", index=False)
    tiny = HorseshoeRegressor().set_params(**TINY | {"training__num_steps": 20})
    model = TableModel(tiny, likelihood="laplace").fit(frame, "y")
    assert np.isfinite(model.predict(frame, quantiles=[0.1])).all(axis=None)
    words = ["fit", str(tmp_path / "t.csv"), "-t", "y", "-o", str(tmp_path / "m"), "--likelihood", "laplace"]
    words += ["--hidden", "8", "--inference", "variational", "--num-steps", "20", "--num-members", "1", "--quiet"]
    result = CliRunner().invoke(cli.app, words)
    assert result.exit_code == 0, result.stderr
    assert type(pritchel.load(tmp_path / "m").estimator_.posterior_.likelihood).__name__ == "LaplaceLikelihood"


def test_a_command(added, fitted, tmp_path):
    command = added("pritchel/cli/units.py").units
    cli.app.command()(command)
    try:
        fitted.save(tmp_path / "model")
        result = CliRunner().invoke(cli.app, ["units", str(tmp_path / "model")])
        assert result.exit_code == 0, result.stderr
        assert result.stdout == f"Network 1: {fitted.units_kept_[0, 0]}\n"
        assert "units" in CliRunner().invoke(cli.app, ["--help"]).stdout
        assert CliRunner().invoke(cli.app, ["units", str(tmp_path)]).exit_code == 3
    finally:
        cli.app.registered_commands.pop()


def test_commands_are_those_that_the_tuple_names():
    assert [command.callback.__name__ for command in cli.app.registered_commands] == list(cli.COMMANDS)


def test_an_experiment(added, tmp_path, monkeypatch):
    module = added("pritchel/experiments/members.py")
    monkeypatch.setitem(reproduce.EXPERIMENTS, "members", module.__name__)
    few = [key | {"steps": 5} for key in module.trials(True)]
    monkeypatch.setattr(module, "EXPERIMENT", module.EXPERIMENT._replace(trials=lambda quick: few))
    outcome = reproduce.run_experiment("members", tmp_path, n_jobs=1)
    assert outcome.failures == []
    assert len(outcome.records) == 3
    assert outcome.finding is not None
    assert "three members less one" in outcome.finding.statistic
    made_up = [{"result": {"1": 0.0, "3": gain}} for gain in (1.0, 1.1, 1.2)]
    assert module.find(made_up).verdict == "holds"
    result = CliRunner().invoke(cli.app, ["reproduce", "members", "-o", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert outcome.finding.statistic in result.stdout
    assert "Members" in CliRunner().invoke(cli.app, ["reproduce", "list"]).stdout


def tree_of(file: str) -> ast.Module:
    return ast.parse((ROOT / "pritchel" / file).read_text())


def floor(file: str) -> int:
    """Which floor a file is on; the foundation is 0."""
    room = Path(file).parts[0]
    return ROOMS.index(room) + 1 if room in ROOMS else 0


def walks() -> list[list[tuple[int, str, str]]]:
    """Each walk of the page as (depth, file, name)."""
    parts = re.split(r"\n#+ |\n\n", PAGE.split("## How a call goes")[1].split("## How to add")[0])
    steps = [[(len(space) // 2, file, name) for space, file, name in STEP.findall(f"\n{part}")] for part in parts]
    return [walk for walk in steps if walk]


def calls_of(file: str, caller: str) -> dict[str, int]:
    """All names in the body of a file's function, imports left out, and the line that each is first used on."""
    functions = [n for n in ast.walk(tree_of(file)) if isinstance(n, ast.FunctionDef) and n.name == caller]
    places = [n for function in functions for n in ast.walk(function) if isinstance(n, (ast.Name, ast.Attribute))]
    found: dict[str, int] = {}
    for place in places:
        name = place.id if isinstance(place, ast.Name) else place.attr
        found[name] = min(found.get(name, place.lineno), place.lineno)
    return found


def test_walks_are_what_the_code_does():
    """A name is defined where the page says; its caller stands above it; calls are in order and go down."""
    assert len(walks()) == 13
    for walk in walks():
        callers: list[tuple[str, str]] = []
        lines = [0]
        for depth, file, name in walk:
            assert name in defined_names(tree_of(file)), f"no {name} in {file}"
            assert depth < MAX_DEPTH, "Markdown readers leave out what lies deeper"
            del callers[depth:], lines[depth + 1 :]
            if callers:
                above, caller = callers[-1]
                calls = calls_of(above, caller)
                assert name in calls, f"{above} {caller} does not call {name}"
                assert calls[name] >= lines[depth], f"{above} {caller} calls {name} sooner"
                assert floor(file) <= floor(above), f"{above} is below {file}"
                lines[depth] = calls[name]
            callers.append((file, name))
            lines.append(0)


def test_the_drawing_shows_every_room():
    package = ROOT / "pritchel"
    assert {path.parent.name for path in package.glob("*/__init__.py")} == set(ROOMS)
    assert tuple(ROOMS) == tuple(names[0] for names in FLOORS[1:])  # in the order in which imports run
    files = {path.stem for path in package.glob("*.py")} - {
        "__init__",
        "__main__",
        "compile_cache",
        "cores",
        "crew",
        "jobs",
        "lazy",
        "memory",
        "processes",
        "programs",
        "user_cache",
    }
    assert files == set(BELOW)
    for name in (*ROOMS, *BELOW):
        assert name in PAGE
