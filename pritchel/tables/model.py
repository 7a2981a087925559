"""`TableModel`: columns by name in, predictions by row out."""

import copy
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from pritchel import checks
from pritchel.estimators.classifier import HorseshoeClassifier
from pritchel.estimators.regressor import HorseshoeRegressor
from pritchel.estimators.saved import Saved, load_saved, save_estimator
from pritchel.estimators.typed import unfitted
from pritchel.guide.prune_rule import PROBABILITY, THRESHOLD
from pritchel.model.likelihoods import LIKELIHOODS
from pritchel.posterior.evaluate import Evaluation
from pritchel.posterior.importance import Importance
from pritchel.serial import FileError
from pritchel.settings import name_of
from pritchel.tables.answers import class_answers, number_answers
from pritchel.tables.columns import TablePlan, Told, names_of
from pritchel.tables.encode import encode_inputs, known_rows
from pritchel.tables.guesses import column_remarks, guess_table
from pritchel.tables.messages import Message, TableError
from pritchel.tables.outside import outside_cells
from pritchel.tables.plan import plan_arrays
from pritchel.tables.read import LAYOUT, named
from pritchel.tables.training import (
    SCORE_NOTES,
    TrainingTable,
    asks_for_classes,
    fit_and_score,
    new_estimator,
    one_or_more,
    remarks,
    training_table,
)


class TableModel(BaseEstimator):
    """A regressor or classifier for a data frame: columns by name, with categories and gaps, as a table has them.

    Missing values and categories are taken care of; constant and id-like columns are left out; dates are refused with
    advice. A part of the rows is held out, and the fit is scored on them against the constant predictor.

    Parameters
    ----------
    estimator : HorseshoeRegressor or HorseshoeClassifier, optional
        Unfitted; it is copied. None for the one that the target asks for, with its defaults. Its `checkpoint` is a
        folder for the checkpoints of all fits.
    likelihood : str
        "auto" (classes for texts, else what the estimator says), or the name of one, as "poisson" or "categorical",
        which takes numbers as classes.
    drop : sequence of str
        Columns to leave out.
    keep : sequence of str
        Columns to use although they look like an id or are constant.
    category, number : sequence of str
        Columns that hold categories, or numbers, whatever they look like; the target, too.
    weight : str, optional
        A column that says how many rows each row counts for; it is no input.
    decimal : str, optional
        The decimal mark of numbers in texts, "." or ","; None for a guess, which is said.
    na_values : sequence of str
        Texts that mean missing, besides NA, nan and their like.
    holdout : float
        Part of the rows kept from the fit, to score it on; 0 for none.
    refit : bool
        After scoring, fit again to all rows.
    random_state : int, optional
        Fixes the split, and the fit of an estimator without a `random_state` of its own.

    Attributes
    ----------
    estimator_ : HorseshoeRegressor or HorseshoeClassifier
        The fitted estimator. It knows the columns as `plan_.feature_names()`.
    plan_ : TablePlan
        How columns become inputs, and why others are left out.
    notes_ : dict
        Scores on the rows held out, predictive checks, what each column is worth, seconds, and the source of the
        rows; plain values.
    arrays_ : dict of arrays
        Of the rows held out: "observed", "mean", "sd" and "pit".
    spec_ : dict
        What the model folder says, of a model that was loaded.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from pritchel import HorseshoeRegressor, TableModel
    >>> area = np.linspace(30, 200, 60)
    >>> homes = pd.DataFrame({"area": area, "town": ["Ulm", "Ham"] * 30})
    >>> homes["rent"] = 8 * area + [0.0, 90.0] * 30
    >>> model = TableModel(HorseshoeRegressor.fast(training__num_steps=500)).fit(homes, "rent")
    >>> list(model.predict(homes.head(3), quantiles=[0.9]).columns)
    ['mean', 'sd', 'q90']
    >>> bool(model.evaluate(homes).scores[0].rmse < homes["rent"].std() / 4)
    True
    """

    estimator_: Any
    plan_: TablePlan
    notes_: dict[str, Any]
    arrays_: dict[str, np.ndarray]
    spec_: dict[str, Any]

    def __init__(
        self,
        estimator: HorseshoeRegressor | HorseshoeClassifier | None = None,
        *,
        likelihood: str = "auto",
        drop: Sequence[str] = (),
        keep: Sequence[str] = (),
        category: Sequence[str] = (),
        number: Sequence[str] = (),
        weight: str | None = None,
        decimal: str | None = None,
        na_values: Sequence[str] = (),
        holdout: float = 0.1,
        refit: bool = False,
        random_state: int | None = 0,
    ):
        self.estimator = estimator
        self.likelihood = likelihood
        self.drop = drop
        self.keep = keep
        self.category = category
        self.number = number
        self.weight = weight
        self.decimal = decimal
        self.na_values = na_values
        self.holdout = holdout
        self.refit = refit
        self.random_state = random_state

    @classmethod
    def of(
        cls,
        estimator: Any,
        plan: TablePlan,
        notes: dict[str, Any] | None = None,
        arrays: dict[str, np.ndarray] | None = None,
        spec: dict[str, Any] | None = None,
    ) -> Self:
        """A model around an estimator that is fitted already, to inputs that the plan makes."""
        model = cls(unfitted(estimator))
        model.estimator_, model.plan_ = estimator, plan
        model.notes_, model.arrays_, model.spec_ = notes or {}, arrays or {}, spec or {}
        return model

    def fit(
        self, frame: pd.DataFrame, target: str | Sequence[str], *, say: Callable[[Message], Any] | None = None
    ) -> Self:
        """Fit to a table that has the target, or several; rows without it are dropped.

        `say` is told, in sentences, how the table is taken and what is being done; `say=print` shows them.
        """
        frame, targets, told = named(frame), names_of(target), Told.by(self)
        tell = say or (lambda message: None)
        checks.check_number("holdout", self.holdout, at_least=0, at_most=0.9)
        classes = asks_for_classes(frame, targets, self.likelihood, self.estimator, told)
        estimator = new_estimator(self.estimator, classes, self.likelihood, self.random_state)
        choice = {"holdout": self.holdout, "seed": self.random_state, "classes": classes}
        data = training_table(frame, targets, told, **choice)
        data.check_targets(likelihood := name_of(LIKELIHOODS, estimator.likelihood_settings()))
        is_untold = self.likelihood == "auto" and likelihood in ("auto", "gaussian") and not {*targets} & {*told.number}
        tell(guess_table(data.plan, frame.attrs.get(LAYOUT, {}), classes))
        for message in (*column_remarks(data.plan), *remarks(data, classes=classes, may_hold_codes=is_untold)):
            tell(message)
        notes, arrays = self._fit_part("fit", estimator, data, tell)
        source = {"table": "a data frame", "rows": len(frame), "without_target": len(data.rows_without_target)}
        source |= {"seed": self.random_state, "holdout": self.holdout}
        if self.refit and not estimator.is_interrupted_ and data.is_held_out.any():
            tell(Message("Fitting again to all rows ..."))
            self._fit_part("refit", estimator, data.none_held_out(), tell)
            source["refit"] = True
        self.estimator_, self.plan_ = estimator, data.plan
        self.notes_, self.arrays_, self.spec_ = {**notes, "source": source}, arrays, {}
        return self

    def predict(
        self, frame: pd.DataFrame, quantiles: Sequence[float] = (), first_row: int = 0, *, split: bool = False
    ) -> pd.DataFrame:
        """Mean, standard deviation and quantiles, a column each; several targets: with the target's name before it.

        Of classes: the most probable one and the probability of each. `split` adds the aleatoric and epistemic parts
        of the uncertainty. `first_row` is the number of the first row, for messages about a table in pieces. A row
        unlike those of the fit is answered as well: `outside` says which are.
        """
        check_is_fitted(self)
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

    def reading(self, decimal: str | None = None, na_values: Sequence[str] = ()) -> Self:
        """The same model for a file with another decimal mark, or with more words for missing."""
        other = copy.copy(self)
        other.plan_ = self.plan_.read_with(decimal, na_values)
        return other

    def outside(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Cells unlike those of the fit, (rows, columns): beyond the range, never seen, or missing where none was."""
        check_is_fitted(self)
        return outside_cells(self.plan_, named(frame))[0]

    def evaluate(self, frame: pd.DataFrame) -> Evaluation:
        """Scores on a table that has the targets; rows without them are left out."""
        inputs, values = self.known_rows(frame)
        return self.estimator_.evaluate(inputs, one_or_more(values), names=list(self.plan_.targets))

    def prune(
        self,
        threshold: float = THRESHOLD,
        probability: float = PROBABILITY,
        fine_tune_steps: int = 0,
        *,
        frame: pd.DataFrame | None = None,
    ) -> "TableModel":
        """A model without the units whose scale is below a threshold with more than some probability.

        `fine_tune_steps` more steps then move the weight means alone; they need the training table as `frame`. Scores
        of the larger model are left behind.
        """
        check_is_fitted(self)
        rows = {}
        if fine_tune_steps:
            if frame is None:
                raise TableError("Fine-tuning needs the training rows: give them with {option}.", "frame")
            inputs, values = self.known_rows(frame)
            rows = {"X": inputs, "y": one_or_more(values)}
        smaller = copy.copy(self)
        smaller.estimator_ = self.estimator_.prune(threshold, probability, fine_tune_steps, **rows)
        smaller.notes_ = {name: note for name, note in self.notes_.items() if name not in SCORE_NOTES}
        smaller.arrays_, smaller.spec_ = {}, {}
        return smaller

    def save(self, path: str | os.PathLike, overwrite: bool = False) -> Path:
        """Write the model folder: spec.json, weights.safetensors and a README.md card."""
        check_is_fitted(self)
        told = {"table": self.plan_.to_json(), "notes": self.notes_, "arrays": self.arrays_}
        return save_estimator(Path(path), self.estimator_, **told, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike) -> Self:
        """A model folder; of an estimator fitted to arrays, with columns x1, x2, ... and a target y."""
        return cls.of_saved(load_saved(Path(path)), path)

    @classmethod
    def of_saved(cls, saved: Saved, path: str | os.PathLike) -> Self:
        """The model of a folder that has been read."""
        if not isinstance(saved.model, (HorseshoeRegressor, HorseshoeClassifier)):
            raise TableError(f"{path} holds a {type(saved.model).__name__}, which does not predict from tables.")
        plan = plan_arrays(saved.model) if saved.table is None else TablePlan.from_json(saved.table)
        if len(plan.feature_names()) != saved.model.n_features_in_:
            raise FileError(f"{path} cannot be loaded: its columns do not make the inputs of the network.")
        return cls.of(saved.model, plan, saved.notes, saved.arrays, saved.spec)

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
        check_is_fitted(self)
        labels = self.estimator_.classes_ if self.has_classes else None
        return known_rows(self.plan_, named(frame), labels)

    def _fit_part(
        self, part: str, estimator: Any, data: TrainingTable, tell: Callable[[Message], Any]
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Fit and score, with the checkpoints of this part in a folder of its own."""
        folder = None if self.estimator is None else self.estimator.checkpoint
        estimator.set_params(checkpoint=None if folder is None else Path(folder) / part)
        outcome = fit_and_score(estimator, data, tell)
        estimator.set_params(checkpoint=None)
        return outcome
