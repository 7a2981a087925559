"""Classes, counts, outliers and wrong labels: against simple models and the constant predictor, on several splits.

Every fit is one line of `results/likelihoods_runs.jsonl`; a run that was stopped goes on where it was.
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from common import RESULTS, table, with_error, write
from scipy import optimize, special, stats
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import BayesianRidge, LogisticRegression, PoissonRegressor
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pritchel import HorseshoeClassifier, HorseshoeRegressor
from pritchel.experiments.records import Records
from pritchel.posterior.evaluate import calibration_error

NUM_SPLITS = 5
DIGIT_LAYERS = (200, 200)
ON_DIGITS: dict[str, Any] = {"hidden": DIGIT_LAYERS, "input_limit": 5.0}  # pixels are mostly zero
DIGITS_TABLE = "digits, 200 + 200 units offered"
DIGITS_SPLITS = range(10, 30)  # options were chosen on splits before
CALIBRATED, MLP_ON_DIGITS = "Pritchel, one network, temperature", "MLPClassifier, 200 + 200"
COMPARED = {"accuracy": "accuracy", "ll": "log-lik.", "error": "calibration error", "lost": "log-lik. lost"}
NUM_BINS = 10
NOISY_SHARE, SPOILED_SHARE = 0.3, 0.1


class Split(NamedTuple):
    """Rows to fit, rows to score on, and the split's number."""

    X: np.ndarray
    y: np.ndarray
    test_X: np.ndarray
    test_y: np.ndarray
    seed: int


# --- tables: a split's number to its rows ---


def classes_of(load: Callable) -> Callable[[int], Split]:
    def split(seed: int) -> Split:
        X, y = load(return_X_y=True)
        X, test_X, y, test_y = train_test_split(X, y, random_state=seed, stratify=y)
        return Split(X, y, test_X, test_y, seed)

    return split


def wrong_labels(seed: int) -> Split:
    """Three in ten training labels of breast cancer replaced by one drawn at random."""
    clean, rng = classes_of(load_breast_cancer)(seed), np.random.default_rng(seed)
    is_drawn = rng.random(len(clean.y)) < NOISY_SHARE
    return clean._replace(y=np.where(is_drawn, rng.integers(0, 2, len(clean.y)), clean.y))


def diabetes(seed: int) -> Split:
    X, y = load_diabetes(return_X_y=True)
    X, test_X, y, test_y = train_test_split(X, y, random_state=seed)
    return Split(X, y, test_X, test_y, seed)


def outliers(seed: int) -> Split:
    """One training target in ten is tenfold; test rows are clean."""
    clean = diabetes(seed)
    is_spoiled = np.random.default_rng(seed).random(len(clean.y)) < SPOILED_SHARE
    return clean._replace(y=np.where(is_spoiled, 10 * clean.y, clean.y))


def counts_of(dispersion: float | None) -> Callable[[int], Split]:
    """A bent rate; with a dispersion, more spread than Poisson."""

    def split(seed: int) -> Split:
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(800, 4))
        rate = np.exp(1 + np.sin(2 * X[:, 0]) + 0.5 * X[:, 1])
        if dispersion is not None:
            rate = rate * rng.gamma(dispersion, 1 / dispersion, 800)
        y = rng.poisson(rate).astype(float)
        return Split(X[:600], y[:600], X[600:], y[600:], seed)

    return split


# --- methods: a split to its scores ---


def lost_to_confidence(proba: np.ndarray, index: np.ndarray) -> tuple[float, float]:
    """The best temperature for the logs of probabilities, and the log-likelihood a row that it would have gained.

    Below 1 the probabilities were too cautious, above 1 too sure. It has no bins, and where the confidence is right it
    is one over twice the rows on average, far less than a calibration error of so many rows.
    """
    logs = np.log(np.maximum(proba, 1e-12))

    def log_likelihood(log_temperature: float) -> float:
        own = logs / np.exp(log_temperature)
        return float((own[np.arange(len(index)), index] - special.logsumexp(own, axis=1)).mean())

    best = optimize.minimize_scalar(lambda value: -log_likelihood(value), bounds=(-2, 2), method="bounded")
    return float(np.exp(best.x)), log_likelihood(best.x) - log_likelihood(0.0)


def class_scores(model: Any, data: Split) -> dict[str, Any]:
    """Accuracy, log-likelihood, calibration error, and the bins that calibration errors are pooled from."""
    proba = model.predict_proba(data.test_X)
    index = np.searchsorted(model.classes_, data.test_y)
    confidence, is_right = proba.max(1), proba.argmax(1) == index
    place = np.minimum((confidence * NUM_BINS).astype(int), NUM_BINS - 1)
    temperature, lost = lost_to_confidence(proba, index)
    scores = {
        "temperature": temperature,
        "lost": lost,
        "accuracy": float(is_right.mean()),
        "ll": float(np.log(np.maximum(proba[np.arange(len(index)), index], 1e-12)).mean()),
        "error": calibration_error(confidence, is_right),
        "gaps": np.bincount(place, confidence - is_right, NUM_BINS).tolist(),
        "rows": len(index),
    }
    fitted = model.calibrated_classifiers_[0].estimator if isinstance(model, CalibratedClassifierCV) else model
    if isinstance(fitted, HorseshoeClassifier):
        pruned = fitted.prune().predict_proba(data.test_X)  # a temperature would not change which class is likeliest
        scores["units"] = np.atleast_2d(fitted.units_kept_).mean(0).tolist()
        scores["pruned_accuracy"] = float((pruned.argmax(1) == index).mean())
    return scores


def with_temperature(model: Any) -> CalibratedClassifierCV:
    """The model fitted to all rows, with the temperature that was best in a cross-validation of three folds."""
    return CalibratedClassifierCV(model, method="temperature", cv=3, ensemble=False)


def by_classifier(*, temperature: bool = False, **options: Any) -> Callable[[Split], dict]:
    def run(data: Split) -> dict:
        model = HorseshoeClassifier().set_params(random_state=data.seed, progress=False, **options)
        model = with_temperature(model) if temperature else model
        return class_scores(model.fit(data.X, data.y), data)

    return run


def by_logistic(data: Split) -> dict:
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    return class_scores(model.fit(data.X, data.y), data)


def by_mlp(hidden: tuple[int, ...], *, temperature: bool = False) -> Callable[[Split], dict]:
    def run(data: Split) -> dict:
        model = make_pipeline(StandardScaler(), MLPClassifier(hidden, max_iter=1000, random_state=data.seed))
        model = with_temperature(model) if temperature else model
        return class_scores(model.fit(data.X, data.y), data)

    return run


def by_shares(data: Split) -> dict:
    return class_scores(DummyClassifier(strategy="prior").fit(data.X, data.y), data)


def number_scores(mean: Any, log_density: np.ndarray, data: Split) -> dict[str, Any]:
    return {"rmse": float(np.sqrt(np.mean((mean - data.test_y) ** 2))), "ll": float(np.mean(log_density))}


def by_regressor(likelihood: str, **options: Any) -> Callable[[Split], dict]:
    def run(data: Split) -> dict:
        model = HorseshoeRegressor().set_params(
            likelihood=likelihood, random_state=data.seed, progress=False, **options
        )
        model.fit(data.X, data.y)
        scores = number_scores(model.predict(data.test_X), model.log_prob(data.test_X, data.test_y), data)
        return scores | {"units": np.atleast_2d(model.units_kept_).mean(0).tolist()}

    return run


def by_poisson_regression(data: Split) -> dict:
    rate = PoissonRegressor(alpha=1e-3, max_iter=1000).fit(data.X, data.y).predict(data.test_X)
    return number_scores(rate, stats.poisson.logpmf(data.test_y, rate), data)


def by_mean_count(data: Split) -> dict:
    return number_scores(data.y.mean(), stats.poisson.logpmf(data.test_y, data.y.mean()), data)


def by_ridge(data: Split) -> dict:
    mean, sd = BayesianRidge().fit(data.X, data.y).predict(data.test_X, return_std=True)
    return number_scores(mean, stats.norm.logpdf(data.test_y, mean, sd), data)


def by_mean(data: Split) -> dict:
    return number_scores(data.y.mean(), stats.norm.logpdf(data.test_y, data.y.mean(), data.y.std()), data)


SIMPLE = {
    "Pritchel": by_classifier(),
    "Pritchel, kl_warmup=0": by_classifier(kl_warmup=0.0),
    "logistic regression": by_logistic,
    "MLPClassifier, 100": by_mlp((100,)),
}
DIGITS = {
    "Pritchel": by_classifier(**ON_DIGITS, num_members=2),
    "Pritchel, kl_weight=0.1": by_classifier(**ON_DIGITS, num_members=2, kl_weight=0.1),
    "Pritchel, kl_weight=0.03": by_classifier(**ON_DIGITS, num_members=2, kl_weight=0.03),
    CALIBRATED: by_classifier(**ON_DIGITS, num_members=1, temperature=True),
    "logistic regression": by_logistic,
    MLP_ON_DIGITS: by_mlp(DIGIT_LAYERS),
    "MLPClassifier, temperature": by_mlp(DIGIT_LAYERS, temperature=True),
}
NOISY = {
    "Pritchel, label_noise=0.3": by_classifier(label_noise=NOISY_SHARE),
    "Pritchel, labels trusted": by_classifier(),
    "logistic regression": by_logistic,
    "MLPClassifier, 100": by_mlp((100,)),
}
CONTINUOUS = {
    "Pritchel, student_t": by_regressor("student_t", student_dof=2.5),
    "Pritchel, gaussian": by_regressor("gaussian"),
    "Pritchel, gaussian, kl_warmup=0": by_regressor("gaussian", kl_warmup=0.0),
    "BayesianRidge": by_ridge,
    "constant": by_mean,
}
COUNTS = {f"Pritchel, {name}": by_regressor(name) for name in ("poisson", "negative_binomial", "gaussian")} | {
    "Poisson regression": by_poisson_regression,
    "constant": by_mean_count,
}
CLASS_TABLES = {
    "breast cancer": (classes_of(load_breast_cancer), SIMPLE | {"constant": by_shares}),
    "wine": (classes_of(load_wine), SIMPLE | {"constant": by_shares}),
    DIGITS_TABLE: (classes_of(load_digits), DIGITS | {"constant": by_shares}),
    "breast cancer, 30 % of labels random": (wrong_labels, NOISY | {"constant": by_shares}),
}
NUMBER_TABLES = {
    "diabetes": (diabetes, CONTINUOUS),
    "diabetes, one target in ten tenfold": (outliers, CONTINUOUS),
    "counts, Poisson": (counts_of(None), COUNTS),
    "counts, overdispersed": (counts_of(2.0), COUNTS),
}
TABLES = CLASS_TABLES | NUMBER_TABLES


def _splits(name: str) -> range:
    return DIGITS_SPLITS if name == DIGITS_TABLE else range(NUM_SPLITS)


def fit(key: dict[str, Any]) -> dict[str, Any]:
    load, methods = TABLES[key["table"]]
    return methods[key["method"]](load(key["split"]))


def pooled_error(results: list[dict]) -> float:
    """Calibration error with the bins of all splits put together, so that few rows in a bin matter less."""
    gaps = np.sum([result["gaps"] for result in results], 0)
    return float(np.abs(gaps).sum() / sum(result["rows"] for result in results))


def row(name: str, method: str, results: list[dict]) -> tuple:
    units = (
        "+".join(f"{count:.0f}" for count in np.mean([r["units"] for r in results], 0)) if "units" in results[0] else ""
    )
    own = lambda part: with_error([result[part] for result in results])  # noqa: E731
    if "accuracy" not in results[0]:
        return name, method, own("rmse"), own("ll"), units
    pruned = own("pruned_accuracy") if units else ""
    temperature = f"{np.exp(np.mean([np.log(result['temperature']) for result in results])):.2f}"
    calibration = own("error"), f"{pooled_error(results):.4f}", temperature, own("lost")
    return name, method, own("accuracy"), own("ll"), *calibration, units, pruned


def against_mlp(found: dict[tuple[str, str], list[dict]], part: str, name: str) -> str:
    """One score of the network with a temperature minus scikit-learn's, paired by split."""
    ours, theirs = (
        np.asarray([result[part] for result in found[DIGITS_TABLE, method]]) for method in (CALIBRATED, MLP_ON_DIGITS)
    )
    return f"- {name}: {with_error(ours - theirs, digits=4)}"


def main() -> None:
    warnings.simplefilter("ignore")
    records = Records(RESULTS / "likelihoods_runs.jsonl")
    keys = [
        {"table": name, "method": method, "split": split}
        for name, (_, methods) in TABLES.items()
        for split in _splits(name)
        for method in methods
    ]
    failures = records.run(keys, fit, n_jobs=1, say=print)
    if failures:
        raise SystemExit("\n".join(failures))
    found: dict[tuple[str, str], list[dict]] = {}
    for record in records.of(keys):
        found.setdefault((record["key"]["table"], record["key"]["method"]), []).append(record["result"])
    classes, numbers = (
        [row(*pair, results) for pair, results in found.items() if pair[0] in part]
        for part in (CLASS_TABLES, NUMBER_TABLES)
    )
    lines = [
        "Mean and standard error over five splits (digits: twenty); log-likelihood in nats a row. Calibration",
        "error: confidence against accuracy in ten bins, within a split and with the rows of all splits put",
        "together. Best temperature: below 1 the probabilities were too cautious, above too sure; and the log-",
        "likelihood lost without it. Units: kept, a hidden layer.",
        "",
        "Digits: `temperature` is scikit-learn's CalibratedClassifierCV with three folds around one network;",
        "every network here has input_limit=5. Splits 10 to 29 are shown. What was tried before, in order: on",
        "splits 0 to 4 the default was behind MLPClassifier (calibration error 0.022, 0.012), also with rows",
        "counted 3 or 10 times (0.013, 0.015), so kl_weight, input_limit and the columns pooled and temperature",
        "were added. kl_weight=0.1 was ahead in the pooled error on splits 10 to 14, the measure settled on for",
        "them (0.0090, 0.0101), and behind on 10 to 19 (0.0074, 0.0069). 0.03 was then taken from 0.01, 0.03,",
        "0.05 and 0.1 on splits 0 to 7; on 10 to 29 it ties. The temperature was tried last, on splits 0 to 5,",
        "after these results were known: of the four rows of Pritchel set against MLPClassifier here it is the",
        "one that did best, so read its lead with that in mind. The rows with kl_warmup=0 came after the default",
        "had done badly on diabetes.",
        "",
        f"{CALIBRATED}, minus {MLP_ON_DIGITS}, paired by split:",
        "",
        *(against_mlp(found, part, name) for part, name in COMPARED.items()),
        "",
        *table(
            (
                "table",
                "",
                "accuracy",
                "log-lik.",
                "calibration error",
                "pooled",
                "best temperature",
                "log-lik. lost",
                "units",
                "accuracy, pruned",
            ),
            classes,
        ),
        "",
        *table(("table", "", "RMSE", "log-lik.", "units"), numbers),
    ]
    write(
        "likelihoods", "Classes, counts, outliers and wrong labels", lines, [*map(list, classes), *map(list, numbers)]
    )


if __name__ == "__main__":
    main()
