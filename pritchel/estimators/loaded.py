"""A fitted model as its folder has it, to be asked and no more: without scikit-learn, whose import takes a second."""

from typing import Any

import numpy as np

from pritchel import checks
from pritchel.estimators.answering import Answering


class LoadedModel(Answering):
    """What the estimator of a folder would answer; it has no settings, and cannot be fitted, pruned or saved."""

    def __init__(self, fitted: dict[str, Any]):
        vars(self).update(fitted)

    def _check_inputs(self, X: Any) -> np.ndarray:
        inputs = np.ascontiguousarray(X, np.float64)
        checks.check_magnitude("X", inputs)
        return inputs

    def _labels(self) -> np.ndarray | None:
        return getattr(self, "classes_", None)

    def _target_values(self, y: Any, is_fit: bool) -> np.ndarray:
        labels = self._labels()
        if labels is None:
            return np.asarray(y, np.float64).reshape(len(y), -1)
        return checks.index_of_labels(np.asarray(y), labels)[:, None]

    def _known_targets(self, inputs: np.ndarray, y: Any) -> np.ndarray:
        return checks.check_columns(self._target_values(y, is_fit=False), len(inputs), self._num_targets)
