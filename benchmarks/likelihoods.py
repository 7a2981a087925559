"""Classes, counts, outliers and wrong labels: against simple models and the constant predictor, on several splits.

Every fit is one line of `results/likelihoods_runs.jsonl`; a run that was stopped goes on where it was.
"""

import warnings
from typing import Any

import numpy as np
from common import RESULTS, table, with_error, write
from likelihood_peers import (
    NOISY_SHARE,
    by_classifier,
    by_logistic,
    by_mean,
    by_mean_count,
    by_mlp,
    by_poisson_regression,
    by_regressor,
    by_ridge,
    by_shares,
    classes_of,
    counts_of,
    diabetes,
    outliers,
    wrong_labels,
)
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from pritchel import StudentT, Training
from pritchel.experiments.records import Records

NUM_SPLITS = 5
DIGIT_LAYERS = (200, 200)
ON_DIGITS: dict[str, Any] = {"hidden": DIGIT_LAYERS, "input_limit": 5.0}  # pixels are mostly zero
DIGITS_TABLE = "digits, 200 + 200 units offered"
DIGITS_SPLITS = range(10, 30)  # options were chosen on splits before
CALIBRATED, MLP_ON_DIGITS = "Pritchel, one network, temperature", "MLPClassifier, 200 + 200"
COMPARED = {"accuracy": "accuracy", "ll": "log-lik.", "error": "calibration error", "lost": "log-lik. lost"}

SIMPLE = {
    "Pritchel": by_classifier(),
    "Pritchel, kl_warmup=0": by_classifier(training=Training(kl_warmup=0.0)),
    "logistic regression": by_logistic,
    "MLPClassifier, 100": by_mlp((100,)),
}
DIGITS = {
    "Pritchel": by_classifier(**ON_DIGITS, num_members=2),
    "Pritchel, kl_weight=0.1": by_classifier(**ON_DIGITS, num_members=2, training=Training(kl_weight=0.1)),
    "Pritchel, kl_weight=0.03": by_classifier(**ON_DIGITS, num_members=2, training=Training(kl_weight=0.03)),
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
    "Pritchel, student_t": by_regressor(StudentT(dof=2.5)),
    "Pritchel, gaussian": by_regressor("gaussian"),
    "Pritchel, gaussian, kl_warmup=0": by_regressor("gaussian", training=Training(kl_warmup=0.0)),
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
