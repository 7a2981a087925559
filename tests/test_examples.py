"""Every script in examples/ runs from start to end, with small networks trained briefly."""

import contextlib
import importlib
import runpy
import sys
import warnings
from pathlib import Path

import pandas as pd
import pytest

from pritchel import HorseshoeClassifier, HorseshoeRegressor
from tests.conftest import TINY

SLOW = ("pendulum_planner", "score_dask", "score_ray")  # what a planner does is compiled for it; clusters are started
FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = [
    pytest.param(path, id=path.stem, marks=pytest.mark.slow if path.stem in SLOW else ())
    for path in sorted(FOLDER.glob("*.py"))
]
NEEDS = {"score_dask": "dask.dataframe", "score_ray": "ray"}


@pytest.fixture
def brief_fits(monkeypatch):
    """Whatever options a script chose, its fits are tiny; their number is counted."""
    fits = []
    for kind in (HorseshoeClassifier, HorseshoeRegressor):

        def fit(self, *table, fit=kind.fit, **options):
            fits.append(self)
            return fit(self.set_params(**TINY), *table, **options)

        monkeypatch.setattr(kind, "fit", fit)
    return fits


@pytest.mark.filterwarnings("ignore::DeprecationWarning:matplotlib")
@pytest.mark.parametrize("path", EXAMPLES)
def test_runs(path, tmp_path, monkeypatch, capsys, brief_fits):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(FOLDER)  # as for a script
    monkeypatch.setattr("sys.argv", [str(path)])
    with contextlib.ExitStack() as stack:
        if path.stem in NEEDS:
            pytest.importorskip(NEEDS[path.stem])
            stack.enter_context(warnings.catch_warnings(action="ignore"))  # what engines warn of is theirs
        runpy.run_path(str(path), run_name="__main__")
    assert brief_fits
    told = capsys.readouterr().out
    assert told
    assert not path.stem.startswith("score_") or "a second, without JAX" in told


@pytest.mark.parametrize(("name", "function"), [("score_dask", "predict_part"), ("score_ray", "predict_batch")])
def test_workers_refuse_to_have_jax(name, function, tmp_path, monkeypatch):
    """What the examples say of their workers is seen there: the same call fails in this process, which has JAX."""
    monkeypatch.syspath_prepend(FOLDER)
    (tmp_path / "exported.py").write_text("def predict(columns):\n    return columns['a'], columns['a']\n")
    rows = pd.DataFrame({"a": [1.0], "town": ["Ulm"], "y": [1.0]})
    predict = getattr(importlib.import_module(name), function)
    with pytest.raises(AssertionError):
        predict(rows, str(tmp_path / "exported.py"))
    monkeypatch.setattr(
        "sys.modules", {k: v for k, v in sys.modules.items() if k not in ("jax", "pritchel", "sklearn")}
    )
    assert len(predict(rows, str(tmp_path / "exported.py"))["mean"]) == 1
