"""Every script in examples/ runs from start to end, with small networks trained briefly."""

import runpy
from pathlib import Path

import pytest

from pritchel import HorseshoeClassifier, HorseshoeRegressor
from tests.conftest import TINY

SLOW = ("pendulum_planner",)  # what its planner does is compiled for it alone
EXAMPLES = [
    pytest.param(path, id=path.stem, marks=pytest.mark.slow if path.stem in SLOW else ())
    for path in sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
]


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
    monkeypatch.setattr("sys.argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    assert brief_fits
    assert capsys.readouterr().out
