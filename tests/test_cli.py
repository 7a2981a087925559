import pytest
from typer.testing import CliRunner

from pritchel import HorseshoeRegressor, __version__
from pritchel.cli import app


def test_version_and_help():
    runner = CliRunner()
    assert __version__ in runner.invoke(app, ["--version"]).output
    assert "demo" in runner.invoke(app, ["--help"]).output
    assert runner.invoke(app, ["demo", "--units", "3"]).exit_code == 2


def test_demo_prints_the_table_and_draws_the_picture(tmp_path, monkeypatch):
    from pritchel.experiments import demo

    class Quick(HorseshoeRegressor):
        """The demo's estimator with fewer steps and units."""

        def fit(self, X, y, sample_weight=None):
            self.set_params(num_steps=300, hidden=(8,), learning_rate=0.05, num_draws=25)
            return super().fit(X, y, sample_weight)

    monkeypatch.setattr(demo, "HorseshoeRegressor", Quick)
    result = CliRunner().invoke(app, ["demo", "-o", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    for word in ("sine", "diabetes", "BayesianRidge", "constant", "of 8", "coverage"):
        assert word in result.output
    picture = tmp_path / "out" / "demo.png"
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_demo_table_is_in_the_order_of_the_yardsticks(tmp_path):
    pytest.importorskip("matplotlib")
    import numpy as np

    from pritchel.experiments.scores import constant_scores, gaussian_scores

    y = np.random.default_rng(0).normal(3, 2, 4000)
    scores = constant_scores(y, y)
    assert scores.rmse == pytest.approx(y.std())
    assert scores.coverage == pytest.approx(0.9, abs=0.02)
    assert gaussian_scores(3.0, 20.0, y).log_likelihood < scores.log_likelihood
