"""Simpler methods fitted to the rows of a network: a line, which is kept, and boosted trees, which are not."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import special
from threadpoolctl import threadpool_limits

from pritchel.posterior.baselines import LINES, TREES, BaselinePrediction
from pritchel.serial import FileError

PENALTIES = np.logspace(-4, 4, 25)  # of a ridge, for a row on average
SMALLEST_SD = 1e-6  # around a line, of the targets' own
MAX_LINE_ROWS = 200_000
MAX_BOOSTED_ROWS = 50_000  # of classes, a class
MAX_BOOSTED_CLASSES = 20
MAX_LINE_CELLS = 20_000_000  # of a logistic regression: rows times inputs times classes


class Line(NamedTuple):
    """A fitted line in the units of the table: `weights` are (inputs + 1, outputs), the constant last.

    `sd` is the spread of the targets around it, (targets,), and empty for classes, whose outputs are log odds.
    """

    weights: np.ndarray
    sd: np.ndarray

    def predict(self, inputs: np.ndarray) -> BaselinePrediction:
        """What the line says of some rows."""
        outputs = inputs @ self.weights[:-1] + self.weights[-1]
        if not len(self.sd):
            return BaselinePrediction(LINES[1], special.softmax(outputs, axis=1))
        return BaselinePrediction(LINES[0], outputs, np.broadcast_to(self.sd, outputs.shape))

    def arrays(self) -> dict[str, np.ndarray]:
        """The line as arrays of a model folder."""
        return {"line_weights": self.weights, "line_sd": self.sd}


def line_of(estimator: Any, arrays: Mapping[str, np.ndarray]) -> Line | None:
    """The line beside an estimator that arrays of a model folder hold, checked; None: they have none."""
    if "line_weights" not in arrays:
        return None
    line = Line(arrays["line_weights"], arrays.get("line_sd", np.zeros(0)))
    num_classes = len(getattr(estimator, "classes_", ()))
    num_targets = len(estimator.posterior_.standardizer.target_mean)
    shapes = (estimator.n_features_in_ + 1, num_classes or num_targets), (0 if num_classes else num_targets,)
    if (line.weights.shape, line.sd.shape) != shapes or not all(np.isfinite(part).all() for part in line):
        raise FileError("The line beside the network does not fit it.")
    if np.any(line.sd <= 0):
        raise FileError("The line beside the network has a spread that is not positive.")
    return line


def fit_line(
    inputs: np.ndarray, targets: np.ndarray, weights: np.ndarray | None = None, num_classes: int = 0
) -> Line | None:
    """Ridge regression, or of classes logistic regression, of at most 200,000 rows; None where there is no answer.

    `targets` are (rows, targets), of classes their indices.
    """
    weights = np.ones(len(inputs)) if weights is None else weights
    rows = some_rows(np.flatnonzero(weights > 0), MAX_LINE_ROWS)
    inputs, targets, weights = inputs[rows], targets[rows], weights[rows]
    share = weights / weights.sum()
    location = share @ inputs
    scale = np.sqrt(share @ (inputs - location) ** 2)
    scale = np.where(scale > 1e-12 * np.maximum(np.abs(location), 1e-300), scale, np.inf)  # a constant says nothing
    standard = (inputs - location) / scale
    if not num_classes:
        slopes, constant, sd = _ridge(standard, targets, weights)
    elif inputs.size * num_classes > MAX_LINE_CELLS or len(np.unique(targets)) < 2:
        return None
    else:
        slopes, constant = _logistic(standard, targets[:, 0].astype(int), weights, num_classes)
        sd = np.zeros(0)
    slopes = slopes / scale[:, None]
    line = Line(np.vstack([slopes, constant - location @ slopes]), sd)
    return line if all(np.isfinite(part).all() for part in line) else None


def some_rows(rows: np.ndarray, most: int) -> np.ndarray:
    """The rows, or of more than enough some at random."""
    return rows if len(rows) <= most else np.sort(np.random.default_rng(0).permutation(rows)[:most])


def _ridge(inputs: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Slopes, constant and spread; the penalty of each target is the one that predicts rows left out best.

    A row's residual when it is left out is its own over one less what the row adds to its own prediction.
    """
    share = weights / weights.sum()
    constant = share @ targets
    values, vectors = np.linalg.eigh(inputs.T @ (share[:, None] * inputs))
    turned, centred = inputs @ vectors, targets - constant
    squares = turned**2
    pull = turned.T @ (share[:, None] * centred)
    best = np.full(targets.shape[1], np.inf)
    slopes = np.zeros((inputs.shape[1], targets.shape[1]))
    for penalty in PENALTIES:
        shrunken = 1 / (np.maximum(values, 0) + penalty)
        own = turned @ (shrunken[:, None] * pull)
        leverage = share * (1 + squares @ shrunken)
        left_out = (centred - own) / np.maximum(1 - leverage, 1e-6)[:, None]
        error = share @ left_out**2
        better = error < best
        best = np.where(better, error, best)
        slopes[:, better] = (vectors @ (shrunken[:, None] * pull))[:, better]
    spread = np.sqrt(share @ centred**2)
    return slopes, constant, np.maximum(np.sqrt(best), SMALLEST_SD * np.where(spread > 0, spread, 1.0))


def _logistic(
    inputs: np.ndarray, index: np.ndarray, weights: np.ndarray, num_classes: int
) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression(max_iter=300).fit(inputs, index, sample_weight=weights)
    slopes = np.zeros((inputs.shape[1], num_classes))
    constant = np.full(num_classes, -30.0)  # of a class without rows
    seen = np.asarray(fitted.classes_, int)
    if len(seen) == 2:  # which scikit-learn gives the second's log odds of
        slopes[:, seen[1]], constant[seen] = fitted.coef_[0], (0.0, fitted.intercept_[0])
    else:
        slopes[:, seen], constant[seen] = fitted.coef_.T, fitted.intercept_
    return slopes, constant


def boosted(
    rows: tuple[np.ndarray, np.ndarray], inputs: np.ndarray, weights: np.ndarray | None = None, num_classes: int = 0
) -> BaselinePrediction | None:
    """What gradient boosting, with scikit-learn's defaults, fitted to some rows says of others; of many some are taken.

    None for classes that are too many, or only one.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    known, targets = rows
    if num_classes > MAX_BOOSTED_CLASSES or (num_classes and len(np.unique(targets)) < 2):
        return None
    taken = some_rows(np.arange(len(known)), MAX_BOOSTED_ROWS // max(num_classes, 1))
    known, targets = known[taken], targets[taken]
    weights = None if weights is None else weights[taken]
    if num_classes:
        steps: Any = {"early_stopping": False}  # which would need every class twice
        made = HistGradientBoostingClassifier(**steps, random_state=0)
        made.fit(known, targets[:, 0].astype(int), sample_weight=weights)
        probabilities = np.zeros((len(inputs), num_classes))
        probabilities[:, np.asarray(made.classes_, int)] = made.predict_proba(inputs)
        return BaselinePrediction(TREES, probabilities)
    columns = []
    for column in targets.T:
        made = HistGradientBoostingRegressor(random_state=0).fit(known, column, sample_weight=weights)
        columns.append(made.predict(inputs))
    return BaselinePrediction(TREES, np.column_stack(columns))


def baselines(
    rows: tuple[np.ndarray, np.ndarray],
    inputs: np.ndarray | None,
    weights: np.ndarray | None = None,
    num_classes: int = 0,
) -> tuple[Line | None, list[BaselinePrediction]]:
    """A line and trees fitted to some rows: the line, and what both say of others.

    They stand beside a network and never in its way: what cannot be fitted to a table is left out.
    """
    found: list[BaselinePrediction] = []
    line: Any = None
    # One thread: those of several wait for each other, which takes long where other work has the cores.
    with warnings.catch_warnings(), np.errstate(all="ignore"), threadpool_limits(1, user_api="openmp"):
        warnings.simplefilter("ignore")  # of optimizers that had not come to an end
        try:
            line = fit_line(*rows, weights, num_classes)
            if line is not None and inputs is not None:
                found.append(line.predict(inputs))
            trees = None if inputs is None else boosted(rows, inputs, weights, num_classes)
            found += [] if trees is None else [trees]
        except (ValueError, ArithmeticError, np.linalg.LinAlgError):
            pass
    return line, [said for said in found if np.isfinite(said.mean).all()]


def crossed_baselines(
    rows: tuple[np.ndarray, np.ndarray],
    parts: Sequence[np.ndarray],
    weights: np.ndarray | None = None,
    num_classes: int = 0,
) -> list[BaselinePrediction]:
    """What a line and trees say of the rows of each part, fitted to all others; in the order of the rows.

    A method that cannot be fitted to some of them is left out.
    """
    said: list[dict[str, BaselinePrediction]] = []
    for part in parts:
        is_known = np.ones(len(rows[0]), bool)
        is_known[part] = False
        others = (rows[0][is_known], rows[1][is_known])
        found = baselines(others, rows[0][part], None if weights is None else weights[is_known], num_classes)[1]
        said.append({own.name: own for own in found})
    order = np.argsort(np.concatenate(parts))
    everywhere = [name for name in said[0] if all(name in own for own in said)]
    return [_joined([own[name] for own in said], order) for name in everywhere]


def _joined(said: Sequence[BaselinePrediction], order: np.ndarray) -> BaselinePrediction:
    mean = np.concatenate([own.mean for own in said])[order]
    sds = [own.sd for own in said if own.sd is not None]
    return BaselinePrediction(said[0].name, mean, np.concatenate(sds)[order] if sds else None)
