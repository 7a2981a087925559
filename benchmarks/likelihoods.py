"""Classes, counts, outliers and wrong labels: against simple models and the constant predictor, five splits each."""

import warnings

import numpy as np
from common import table, with_error, write
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pritchel import HorseshoeClassifier, HorseshoeRegressor
from pritchel.estimators.evaluate import calibration_error

SPLITS = range(5)


def class_scores(model, X, y):
    """Accuracy, log-likelihood, calibration error."""
    proba = model.predict_proba(X)
    index = np.searchsorted(model.classes_, y)
    own = proba[np.arange(len(y)), index]
    is_right = proba.argmax(1) == index
    return is_right.mean(), np.log(np.maximum(own, 1e-12)).mean(), calibration_error(proba.max(1), is_right)


def rows_of(name, runs, units):
    """One row of the table a method."""
    for method, values in runs.items():
        columns = [with_error(column) for column in zip(*values, strict=True)]
        yield (name, method, *columns, f"{np.mean(units):.1f}" if method.startswith("Pritchel") and units else "")


def classes() -> list[tuple]:
    rows = []
    for name, load, options in (
        ("breast cancer", load_breast_cancer, {}),
        ("wine", load_wine, {}),
        ("digits, 200 + 200 units offered", load_digits, {"hidden": (200, 200), "num_members": 2}),
    ):
        X, y = load(return_X_y=True)
        runs, units = {}, []
        for split in SPLITS:
            X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=split, stratify=y)
            mine = HorseshoeClassifier(random_state=split, progress=False, **options).fit(X_train, y_train)
            units.append(np.atleast_2d(mine.units_kept_).sum(1).mean())
            methods = {
                "Pritchel": mine,
                "Pritchel, pruned": mine.prune(),
                "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
                "MLPClassifier": make_pipeline(
                    StandardScaler(), MLPClassifier(options.get("hidden", (100,)), max_iter=1000, random_state=split)
                ),
            }
            for method, model in methods.items():
                fitted = model if method.startswith("Pritchel") else model.fit(X_train, y_train)
                runs.setdefault(method, []).append(class_scores(fitted, X_test, y_test))
            shares = np.bincount(y_train) / len(y_train)
            constant = ((y_test == shares.argmax()).mean(), np.log(shares[y_test]).mean(), 0.0)
            runs.setdefault("constant", []).append(constant)
        rows += rows_of(name, runs, units)
    return rows


def wrong_labels() -> list[tuple]:
    """Three in ten training labels of breast cancer replaced by one drawn at random."""
    X, y = load_breast_cancer(return_X_y=True)
    runs: dict[str, list] = {}
    for split in SPLITS:
        X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=split, stratify=y)
        rng = np.random.default_rng(split)
        noisy = np.where(rng.random(len(y_train)) < 0.3, rng.integers(0, 2, len(y_train)), y_train)
        for method, noise in (("Pritchel, label_noise=0.3", 0.3), ("Pritchel, labels trusted", 0.0)):
            mine = HorseshoeClassifier(random_state=split, progress=False, label_noise=noise).fit(X_train, noisy)
            runs.setdefault(method, []).append(class_scores(mine, X_test, y_test))
        plain = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)).fit(X_train, noisy)
        runs.setdefault("logistic regression", []).append(class_scores(plain, X_test, y_test))
    return list(rows_of("breast cancer, 30 % of labels random", runs, []))


def outliers() -> list[tuple]:
    """Diabetes with one training target in ten multiplied by ten; clean test rows."""
    X, y = load_diabetes(return_X_y=True)
    runs: dict[str, list] = {}
    for split in SPLITS:
        X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=split)
        spoiled = np.where(np.random.default_rng(split).random(len(y_train)) < 0.1, 10 * y_train, y_train)
        for likelihood in ("student_t", "gaussian"):
            options = {"student_dof": 2.5} if likelihood == "student_t" else {}
            mine = HorseshoeRegressor(random_state=split, progress=False, likelihood=likelihood, **options)
            mine.fit(X_train, spoiled)
            rmse = np.sqrt(np.mean((mine.predict(X_test) - y_test) ** 2))
            runs.setdefault(f"Pritchel, {likelihood}", []).append((rmse, mine.log_prob(X_test, y_test).mean()))
        away = y_test - spoiled.mean()
        runs.setdefault("constant", []).append(
            (np.sqrt(np.mean(away**2)), stats.norm.logpdf(away, 0, spoiled.std()).mean())
        )
    return list(rows_of("diabetes, one target in ten tenfold", runs, []))


def counts() -> list[tuple]:
    """Made-up counts: a bent rate, with and without more spread than Poisson."""
    rows = []
    for name, spread in (("Poisson counts", None), ("overdispersed counts", 2.0)):
        runs: dict[str, list] = {}
        for split in SPLITS:
            rng = np.random.default_rng(split)
            X = rng.normal(size=(800, 4))
            rate = np.exp(1 + np.sin(2 * X[:, 0]) + 0.5 * X[:, 1])
            y = rng.poisson(rate if spread is None else rate * rng.gamma(spread, 1 / spread, 800)).astype(float)
            for likelihood in ("poisson", "negative_binomial", "gaussian"):
                mine = HorseshoeRegressor(random_state=split, progress=False, likelihood=likelihood, num_members=2)
                mine.fit(X[:600], y[:600])
                rmse = np.sqrt(np.mean((mine.predict(X[600:]) - y[600:]) ** 2))
                runs.setdefault(f"Pritchel, {likelihood}", []).append((rmse, mine.log_prob(X[600:], y[600:]).mean()))
            plain = PoissonRegressor(alpha=1e-3, max_iter=1000).fit(X[:600], y[:600]).predict(X[600:])
            own = (np.sqrt(np.mean((plain - y[600:]) ** 2)), stats.poisson.logpmf(y[600:], plain).mean())
            runs.setdefault("Poisson regression", []).append(own)
            mean = y[:600].mean()
            own = (np.sqrt(np.mean((mean - y[600:]) ** 2)), stats.poisson.logpmf(y[600:], mean).mean())
            runs.setdefault("constant", []).append(own)
        rows += rows_of(name, runs, [])
    return rows


def main() -> None:
    warnings.simplefilter("ignore")
    by_class = [*classes(), *wrong_labels()]
    by_number = [*outliers(), *counts()]
    lines = [
        *table(("table", "", "accuracy", "log-likelihood", "calibration error", "units kept"), by_class),
        "",
        *table(("table", "", "RMSE", "log-likelihood"), [row[:4] for row in by_number]),
    ]
    data = [list(row) for row in (*by_class, *by_number)]
    write("likelihoods", "Classes, counts, outliers and wrong labels, five splits", lines, data)


if __name__ == "__main__":
    main()
