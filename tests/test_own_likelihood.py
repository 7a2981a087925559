"""A likelihood from outside whose targets are neither standardized nor counts: each question has its own answer."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from pritchel.model.likelihoods import LIKELIHOODS, Likelihood, LikelihoodSettings, likelihood
from pritchel.model.likelihoods.base import Components
from pritchel.numerics import LOG_2PI
from tests.conftest import tiny

LOG_SD = -1.0


class LogNormalComponents(Components):
    """Log-normal, one a draw."""

    def __init__(self, log_median):
        sd = np.exp(LOG_SD)
        self.own = stats.lognorm(sd, scale=np.exp(log_median))
        self.mean, self.var = self.own.mean(), self.own.var()

    def log_density(self, values):
        return self.own.logpdf(values)

    def cdf(self, values):
        return self.own.cdf(values)

    def quantile(self, level):
        return self.own.ppf(level)

    def sample(self, rng):
        return self.own.rvs(size=self.mean.shape, random_state=rng)


class LogNormalLikelihood(Likelihood):
    """ln y ~ N(f, sd^2) with a known spread; y in its own units."""

    standardizes = False

    def expected_log_density(self, params, targets, mean, var):
        log_y = jnp.log(targets)
        return -(LOG_SD + log_y + 0.5 * LOG_2PI + 0.5 * ((log_y - mean) ** 2 + var) * np.exp(-2 * LOG_SD)).sum(-1)

    def log_density(self, params, targets, outputs):
        return self.expected_log_density(params, targets, outputs, jnp.zeros_like(outputs))

    def moments(self, outputs, values, ops):
        spread = np.exp(2 * LOG_SD)
        mean = ops.exp(outputs + 0.5 * spread)
        return mean, mean * mean * float(np.expm1(spread))

    def components(self, outputs, values, location, scale):
        return LogNormalComponents(outputs)


@pytest.fixture(scope="module")
def fitted_log_normal():
    @likelihood("log_normal")
    @dataclasses.dataclass(frozen=True)
    class LogNormal(LikelihoodSettings):
        """Its settings."""

        kind = LogNormalLikelihood

        def build(self, start):
            return LogNormalLikelihood()

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.exp(X[:, 0] + np.exp(LOG_SD) * rng.normal(size=300))
    yield tiny(likelihood="log_normal").fit(X, y), X, y
    LIKELIHOODS.pop("log_normal")


def test_checks_are_those_of_numbers(fitted_log_normal):
    model, X, y = fitted_log_normal
    assert [check.statistic for check in model.check_predictions(X, y)] == ["mean", "sd", "smallest", "largest"]


def test_coverage_is_that_of_its_distribution_function(fitted_log_normal):
    """Levels 0.5, 0.8, 0.9 and 0.95, as intervals of the predictive mixture hold them, and not those of counts."""
    model, X, y = fitted_log_normal
    (score,) = model.evaluate(X, y).scores
    for level, share in zip((0.5, 0.8, 0.9, 0.95), score.coverage, strict=True):
        low, high = model.predict_interval(X, level).T
        assert share == pytest.approx(np.mean((low <= y) & (y <= high)))
        assert share == pytest.approx(level, abs=0.1)
    assert score.constant_rmse == pytest.approx(y.std())
