"""One fit in a process of its own: python worker.py METHOD KIND SEED IN.npz OUT.npz.

Rows come in as arrays and predictions go out as arrays, so that a method may live in any environment that has NumPy,
SciPy and its own package.
"""

import importlib.metadata
import json
import sys
import time

import numpy as np
from registry import METHODS
from scores import LEVELS


def versions(packages: tuple[str, ...]) -> dict[str, str]:
    return {package: importlib.metadata.version(package) for package in packages}


def run(name: str, kind: str, seed: int, data: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Fit and predict; arrays of the answer, and notes as JSON text."""
    method = METHODS[name]
    start = time.perf_counter()
    fit = method.fit_numbers if kind == "regression" else method.fit_classes
    assert fit is not None
    fitted = fit(data["X"], data["y"], seed)
    fitted_at = time.perf_counter()
    answer = fitted.predict(data["test_X"])
    if kind == "regression":
        arrays = {"mean": answer.mean, "quantiles": answer.quantiles(LEVELS)}
        predicted_at = time.perf_counter()
        if answer.log_density is not None:
            arrays["log_density"] = answer.log_density(data["test_y"])
    else:
        arrays, predicted_at = {"probabilities": answer}, time.perf_counter()
    notes = {
        "fit_seconds": fitted_at - start,
        "predict_seconds": predicted_at - fitted_at,
        "bytes": fitted.num_bytes,
        "versions": versions(method.packages),
    }
    return {**arrays, "notes": np.array(json.dumps(notes))}


if __name__ == "__main__":
    method_name, kind_of_table, seed_text, place, out = sys.argv[1:]
    with np.load(place, allow_pickle=False) as file:
        result = run(method_name, kind_of_table, int(seed_text), dict(file))
    np.savez(out, **result)
