"""What a fitted `TableModel`, or a folder of one, can say: answers by row, scores, what columns are worth."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd

from pritchel.posterior.evaluate import Evaluation
from pritchel.posterior.importance import Importance
from pritchel.tables.answers import class_answers, number_answers, region_answers
from pritchel.tables.baselines import line_of
from pritchel.tables.columns import TablePlan, names_of
from pritchel.tables.encode import encode_inputs, known_row_numbers, known_rows, one_or_more
from pritchel.tables.messages import TableError
from pritchel.tables.outside import outside_cells
from pritchel.tables.read import named
from pritchel.tables.scoring import beside


class FittedTable(ABC):
    """Answers from a fitted estimator for tables whose columns a plan knows."""

    estimator_: Any
    plan_: TablePlan
    notes_: dict[str, Any]
    arrays_: dict[str, np.ndarray]
    spec_: dict[str, Any]

    def predict(
        self, frame: pd.DataFrame, quantiles: Sequence[float] = (), first_row: int = 0, *, split: bool = False
    ) -> pd.DataFrame:
        """Mean, standard deviation and quantiles, a column each; several targets: with the target's name before it.

        Of classes: the most probable one and the probability of each. `split` adds the aleatoric and epistemic parts
        of the uncertainty. `first_row` is the number of the first row, for messages about a table in pieces. A row
        unlike those of the fit is answered as well: `outside` says which are.
        """
        self._require_fitted()
        if not all(0 < level < 1 for level in quantiles):
            raise TableError(f"{{option}} must lie strictly between 0 and 1, as in 0.9; got {quantiles}.", "quantiles")
        inputs = encode_inputs(self.plan_, named(frame), first_row)
        rows = inputs if len(inputs) else np.zeros((1, inputs.shape[1]))  # an empty table still has its columns
        posterior = self.estimator_.posterior_
        if self.has_classes:
            columns = class_answers(posterior, rows, self.estimator_.classes_, split)
        else:
            columns = number_answers(posterior, rows, self.plan_.targets, quantiles, split)
        return pd.DataFrame(columns).iloc[: len(inputs)].set_index(frame.index)

    def region(self, frame: pd.DataFrame, coverage: float, first_row: int = 0) -> pd.DataFrame:
        """The smallest set that holds a new observation of each row with that probability, in words."""
        self._require_fitted()
        inputs = encode_inputs(self.plan_, named(frame), first_row)
        return pd.DataFrame(
            region_answers(self.estimator_.posterior_, inputs, self.plan_.targets, coverage), frame.index
        )

    def reading(
        self, decimal: str | None = None, na_values: Sequence[str] = (), target: str | Sequence[str] = ()
    ) -> Self:
        """The same model for a file with another decimal mark, more words for missing, or targets by other names."""
        other = copy.copy(self)
        other.plan_ = self.plan_.read_with(decimal, na_values, names_of(target))
        return other

    def outside(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Cells unlike those of the fit, (rows, columns): beyond the range, never seen, or missing where none was."""
        self._require_fitted()
        return outside_cells(self.plan_, named(frame))[0]

    def evaluate(self, frame: pd.DataFrame) -> Evaluation:
        """Scores on a table that has the targets; rows without them are left out.

        Beside them are those of the constant predictor and, of a model fitted by this class, of the line that was
        fitted to the same rows.
        """
        inputs, values = self.known_rows(frame)
        outcome = self.estimator_.evaluate(inputs, one_or_more(values), names=list(self.plan_.targets))
        line = line_of(self.estimator_, self.arrays_)
        return outcome if line is None else beside(outcome, [line.predict(inputs)], self.estimator_, self.plan_.targets)

    def importances(self, frame: pd.DataFrame) -> list[Importance]:
        """What each column is worth: what predictions of these rows lose when it is shuffled among them; most first."""
        inputs, values = self.known_rows(frame)
        return self.estimator_.importances(inputs, one_or_more(values), self.plan_.features_of_column())

    @property
    def has_classes(self) -> bool:
        """Whether it predicts classes."""
        return self.estimator_.posterior_.likelihood.has_classes

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C cut the fit short."""
        return self.estimator_.is_interrupted_

    def known_rows(self, frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """Inputs, and targets of shape (rows, targets), of the rows of a table that have all targets."""
        self._require_fitted()
        return known_rows(self.plan_, named(frame), self._labels())

    def known_row_numbers(self, frame: pd.DataFrame) -> np.ndarray:
        """The numbers, from 1, of the rows that `known_rows` gives."""
        self._require_fitted()
        return known_row_numbers(self.plan_, named(frame), self._labels())

    @abstractmethod
    def _require_fitted(self) -> None:
        """Raise scikit-learn's own error where there is nothing to answer from yet."""

    def _labels(self) -> np.ndarray | None:
        return self.estimator_.classes_ if self.has_classes else None
