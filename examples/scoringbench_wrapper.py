"""Pritchel as a model of ScoringBench, the public leaderboard of predictive distributions on regression tables.

ScoringBench (https://github.com/jonaslandsgesell/ScoringBench) asks a wrapper for `fit(X, y)`, `predict(X)` and
`predict_distribution(X)`, which gives each row's mean and the probabilities of its bins; every score is computed from
those. X is a data frame of numbers: categories are codes already, gaps are filled. In a checkout of it with Pritchel
installed:

    cp .../pritchel/examples/scoringbench_wrapper.py .
    # in scoringbench/univariate/models.py:
    #     from scoringbench_wrapper import PritchelWrapper
    #     MODELS = {"pritchel": PritchelWrapper}  # or one more entry among the others
    python run_bench_regression.py --lite

The bins are each row's own, some 400 of about equal probability, and hold what the fitted mixture of networks puts into
them, with no Gaussian in between. Scores of the density read them on the grid that ScoringBench lays over all models
but those with bins of their own. Written for ScoringBench as of its commit 4b4d059. This file alone, without it, fits
a made-up table and prints two scores:

    python examples/scoringbench_wrapper.py
"""

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.impute import SimpleImputer

from pritchel import HorseshoeRegressor

try:
    from scoringbench.univariate.wrappers import DistributionPrediction, ProbabilisticWrapper
except ImportError:  # all but `predict_distribution` works without
    DistributionPrediction, ProbabilisticWrapper = None, object

LEVELS = np.linspace(0.001, 0.999, 401)
NUM_DRAWS = 2000


class PritchelWrapper(ProbabilisticWrapper):
    """A regressor, by default with all its defaults and a fixed seed, behind ScoringBench's interface.

    It answers for y on the real line, so its likelihood must not be one of counts.
    """

    def __init__(self, estimator: HorseshoeRegressor | None = None):
        self.estimator = HorseshoeRegressor(random_state=0, progress=False) if estimator is None else estimator

    def fit(self, X, y) -> "PritchelWrapper":
        """Train on the rows whose y is known; gaps, should any be left, get their column's median."""
        inputs, targets = _numbers(X), np.asarray(y, float).reshape(-1)
        inputs, targets = inputs[np.isfinite(targets)], targets[np.isfinite(targets)]
        self._y_train_range = float(targets.min()), float(targets.max())  # the name that ScoringBench gives it
        self.imputer_ = SimpleImputer(strategy="median", keep_empty_features=True).fit(inputs)
        self.estimator_ = clone(self.estimator).fit(self.imputer_.transform(inputs), targets)
        return self

    def predict(self, X) -> np.ndarray:
        """Predictive means."""
        return self.estimator_.predict(self.imputer_.transform(_numbers(X)))

    def predict_bins(self, X) -> tuple[np.ndarray, np.ndarray]:
        """Edges, (rows, bins + 1), and the predictive probability of each bin, (rows, bins).

        Draws of y say where edges are worth having; the probabilities are differences of the distribution function.
        That takes a small part of the time that so many quantiles would.
        """
        inputs = self.imputer_.transform(_numbers(X))
        edges = np.quantile(self.estimator_.sample_y(inputs, NUM_DRAWS), LEVELS, axis=1).T
        below = np.hstack([self.estimator_.posterior_.cdf(inputs, edge[:, None]) for edge in edges.T])
        below[:, 0], below[:, -1] = 0, 1  # what lies beyond is counted into the outermost bins
        return edges, np.diff(below)

    def predict_distribution(self, X) -> "DistributionPrediction":
        """The bins and means as ScoringBench scores them."""
        if DistributionPrediction is None:
            raise ImportError(
                "predict_distribution answers in a class of ScoringBench, which cannot be imported here: run this in a "
                "checkout of it, or take the same bins as arrays from predict_bins."
            )
        edges, probabilities = self.predict_bins(X)
        return DistributionPrediction.from_histogram(
            edges, probabilities, mean=self.predict(X), train_range=self._y_train_range
        )


def _numbers(X) -> np.ndarray:
    """A frame or array as floats, with NaN for whatever is not finite."""
    table = pd.DataFrame(X).to_numpy(float, na_value=np.nan)
    return np.where(np.isfinite(table), table, np.nan)


def main() -> None:
    """Scores on rows left out of a generated table, whose noise grows along one of its inputs."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=300), "age": rng.uniform(0, 5, 300), "kind": rng.integers(0, 3, 300)})
    y = 10 + 2 * np.sin(X["size"]) + X["kind"] + 0.2 * X["age"] * rng.normal(size=300)
    model = PritchelWrapper(HorseshoeRegressor.fast(random_state=0, progress=False)).fit(X[:250], y[:250])
    edges, probabilities = model.predict_bins(X[250:])
    observed, middles = np.asarray(y[250:])[:, None], (edges[:, 1:] + edges[:, :-1]) / 2
    below = probabilities.cumsum(1) - probabilities / 2
    crps = (((middles >= observed) - below) ** 2 * np.diff(edges)).sum(1).mean()
    covered = np.abs((probabilities * (middles <= observed)).sum(1) - 0.5) <= 0.45
    print(f"CRPS {crps:.3f}; central intervals of 90 % hold {covered.mean():.0%} of {len(observed)} rows left out")


if __name__ == "__main__":
    main()
