"""Fine-tuning after pruning takes rows as the fit does: labels of any kind, weights, the fit's own units."""

import numpy as np
import pytest

from pritchel import HorseshoeClassifier, load
from tests.conftest import tiny
from tests.test_cli import run

LABELS = {"numbers from one": [1, 2], "texts": ["no", "yes"]}


def blobs(labels) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    return X, np.asarray(labels)[(X[:, 0] > 0).astype(int)]


@pytest.fixture(scope="module", params=LABELS)
def classifier(request) -> tuple[HorseshoeClassifier, np.ndarray, np.ndarray]:
    X, y = blobs(LABELS[request.param])
    return tiny(HorseshoeClassifier).fit(X, y), X, y


def test_classes_survive_fine_tuning(classifier):
    """Labels that are not 0, 1, ...: their rows must train the classes that the fit gave them."""
    model, X, y = classifier
    assert model.score(X, y) > 0.95
    own_rows = model.prune(fine_tune_steps=100)
    given = model.prune(fine_tune_steps=100, X=X, y=y)
    assert given.score(X, y) > 0.95
    np.testing.assert_allclose(given.predict_proba(X), own_rows.predict_proba(X), atol=1e-6)


def test_a_class_that_the_fit_has_not_seen_is_refused(classifier):
    model, X, y = classifier
    other = np.asarray(["maybe"] * len(y)) if y.dtype.kind == "U" else np.full(len(y), 7)
    with pytest.raises(ValueError, match="has not seen"):
        model.prune(fine_tune_steps=5, X=X, y=other)


def test_class_weights_count_in_fine_tuning_too():
    """A weight of 50 on one class, on rows that overlap, moves predictions towards it."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 1))
    y = np.where(X[:, 0] + 2 * rng.normal(size=150) > 0, "b", "a")
    model = tiny(HorseshoeClassifier).fit(X, y)
    plain = model.prune(fine_tune_steps=200, X=X, y=y)
    weighted = model.set_params(class_weight={"a": 1.0, "b": 50.0}).prune(fine_tune_steps=200, X=X, y=y)
    assert weighted.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean() + 0.1


def test_the_command_fine_tunes_text_classes(tmp_path):
    import pandas as pd

    X, y = blobs(["no", "yes"])
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "answer": y}).to_csv(tmp_path / "t.csv", index=False)
    quick = [
        "--hidden",
        "8",
        "--family",
        "factorized",
        "--num-members",
        "1",
        "--num-steps",
        "300",
        "--learning-rate",
        "0.05",
        "-q",
    ]
    quick += ["--inference", "variational"]
    run("fit", tmp_path / "t.csv", "-t", "answer", "-o", tmp_path / "m", *quick)
    run("prune", tmp_path / "m", "-o", tmp_path / "s", "--fine-tune", "50", "--table", tmp_path / "t.csv")
    answers = load(tmp_path / "s").predict(pd.read_csv(tmp_path / "t.csv"))
    assert (answers["class"] == y).mean() > 0.9


def test_a_pruned_estimator_remembers_the_rows_of_its_fit(table, fitted):
    X, _ = table
    once, twice = fitted.prune(fine_tune_steps=5), fitted.prune(1e-30).prune(fine_tune_steps=5)
    np.testing.assert_array_equal(twice.predict(X), once.predict(X))
