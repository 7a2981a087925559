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
from pritchel.data.parts import is_table_source
from pritchel.estimators.classifier import HorseshoeClassifier
from pritchel.estimators.regressor import HorseshoeRegressor
from pritchel.estimators.saved import Saved, load_saved, save_estimator
from pritchel.estimators.typed import unfitted
from pritchel.jobs import is_elsewhere
from pritchel.model.likelihoods import LIKELIHOODS
from pritchel.settings import name_of
from pritchel.tables.columns import TablePlan, Told, names_of
from pritchel.tables.encode import one_or_more
from pritchel.tables.fitted import FittedTable
from pritchel.tables.folds import fit_folds_elsewhere, fold_of_rows, pooled
from pritchel.tables.group_folder import require_one_model
from pritchel.tables.guesses import column_remarks, guess_table
from pritchel.tables.loaded import plan_of
from pritchel.tables.look import LookedTable
from pritchel.tables.messages import Message, TableError
from pritchel.tables.read import LAYOUT, named
from pritchel.tables.scoring import fit_and_score
from pritchel.tables.streamed import fit_streamed
from pritchel.tables.training import (
    TrainingTable,
    asks_for_classes,
    new_estimator,
    remarks,
    training_table,
)

HOLDOUT = 0.1  # of the rows, where nothing is said


class TableModel(FittedTable, BaseEstimator):
    """A regressor or classifier for a data frame: columns by name, with categories and gaps, as a table has them.

    Missing values and categories are taken care of; constant and id-like columns are left out; dates are refused with
    advice. A part of the rows is held out, and the fit is scored on them against the constant predictor, a line (ridge
    or logistic regression) and gradient boosting, fitted to the same rows.

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
    holdout : float, optional
        Part of the rows kept from the fit, to score it on; 0 for none. None for a tenth, or for none with `folds` and
        for an estimator with `cross_fit`, whose rows are scored by members that did not see them.
    refit : bool
        After scoring, fit again to all rows.
    folds : int, optional
        Cross-validation: so many fits, each scored on rows it did not see, until every row has had its turn; then a
        fit to all rows, which is the model.
    random_state : int, optional
        Fixes the split, and the fit of an estimator without a `random_state` of its own.

    Attributes
    ----------
    estimator_ : HorseshoeRegressor or HorseshoeClassifier
        The fitted estimator. It knows the columns as `plan_.feature_names()`.
    plan_ : TablePlan
        How columns become inputs, and why others are left out.
    notes_ : dict
        Scores on the rows held out, of the fit and of simpler methods, predictive checks, what each column is worth,
        seconds, and the source of the rows; plain values.
    arrays_ : dict of arrays
        Of the rows held out: "observed", "mean", "sd", "pit", "log_density", "epistemic", and "row", their numbers in
        the table, from 1. "line_weights" and "line_sd" are the line beside the network, in the units of its inputs,
        the constant last.
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
        holdout: float | None = None,
        refit: bool = False,
        folds: int | None = None,
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
        self.folds = folds
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

    def fit(self, frame: Any, target: str | Sequence[str], *, say: Callable[[Message], Any] | None = None) -> Self:
        """Fit to a table that has the target, or several; rows without it are dropped.

        A data frame; or, read in batches, Parquet or CSV files (a path, a folder, a pattern, a list), a pyarrow
        dataset, a polars lazy frame, a Dask data frame or a Ray dataset. `say` is told how it is taken; `say=print`
        shows that.
        """
        targets, told, holdout = names_of(target), Told.by(self), self._holdout()
        tell = say or (lambda message: None)
        if isinstance(frame, LookedTable) or is_table_source(frame):
            found = fit_streamed(self, frame, targets, told, holdout, tell)
            self.estimator_, self.plan_, self.notes_, self.arrays_ = found
            self.spec_ = {}
            return self
        frame = named(frame)
        classes = asks_for_classes(frame, targets, self.likelihood, self.estimator, told)
        estimator = new_estimator(self.estimator, classes, self.likelihood, self.random_state)
        data = training_table(frame, targets, told, holdout=holdout, seed=self.random_state, classes=classes)
        data.check_targets(likelihood := name_of(LIKELIHOODS, estimator.likelihood_settings()))
        is_untold = self.likelihood == "auto" and likelihood in ("auto", "gaussian") and not {*targets} & {*told.number}
        tell(guess_table(data.plan, frame.attrs.get(LAYOUT, {}), classes))
        for message in (*column_remarks(data.plan), *remarks(data, classes=classes, may_hold_codes=is_untold)):
            tell(message)
        source = {"table": "a data frame", "rows": len(frame), "without_target": len(data.rows_without_target)}
        source |= {"seed": self.random_state, "holdout": holdout}
        if self.folds is None:
            notes, arrays = self._fit_part("fit", estimator, data, tell)
        else:
            source["folds"] = self.folds
            estimator, notes, arrays = self._fit_folds(
                estimator, data, fold_of_rows(data, self.folds, classes, self.random_state), tell
            )
        if self.refit and not estimator.is_interrupted_ and data.is_held_out.any():
            tell(Message("Fitting again to all rows ..."))
            arrays |= self._fit_part("refit", estimator, data.none_held_out(), tell)[1]
            source["refit"] = True
        self.estimator_, self.plan_ = estimator, data.plan
        self.notes_, self.arrays_, self.spec_ = {**notes, "source": source}, arrays, {}
        return self

    def prune(
        self,
        threshold: float | None = None,
        probability: float | None = None,
        fine_tune_steps: int = 0,
        *,
        frame: pd.DataFrame | None = None,
    ) -> "TableModel":
        """A model without the units whose scale is below a threshold with more than some probability, or, where neither
        is given and the prior is "spike_slab", without those that are more likely out than in.

        `fine_tune_steps` more steps then move the weight means alone; they need the training table as `frame`. Scores
        stay those of the larger model, and say so; `evaluate` has the smaller one's.
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
        smaller.notes_ = self.notes_ | ({"scored_before_pruning": True} if "scores" in self.notes_ else {})
        smaller.spec_ = {}
        return smaller

    def save(self, path: str | os.PathLike, overwrite: bool = False) -> Path:
        """Write the model folder: spec.json, weights.safetensors and a README.md card."""
        check_is_fitted(self)
        told = {"table": self.plan_.to_json(), "notes": self.notes_, "arrays": self.arrays_}
        return save_estimator(Path(path), self.estimator_, **told, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike) -> Self:
        """A model folder; of an estimator fitted to arrays, with columns x1, x2, ... and a target y."""
        require_one_model(Path(path))
        return cls.of_saved(load_saved(Path(path)), path)

    @classmethod
    def of_saved(cls, saved: Saved, path: str | os.PathLike) -> Self:
        """The model of a folder that has been read."""
        return cls.of(saved.model, plan_of(saved, path), saved.notes, saved.arrays, saved.spec)

    def _require_fitted(self) -> None:
        check_is_fitted(self)

    def _holdout(self) -> float:
        """The part of the rows to hold out, and whether it and the folds can be."""
        if self.holdout is not None:
            checks.check_number("holdout", self.holdout, at_least=0, at_most=0.9)
        if self.folds is None:
            training = None if self.estimator is None else self.estimator.training
            is_crossed = training is not None and bool(training.cross_fit)
            return (0.0 if is_crossed else HOLDOUT) if self.holdout is None else self.holdout
        checks.check_integer("folds", self.folds, at_least=2)
        if self.holdout:
            raise TableError(
                "Give folds or {option}, not both: over folds every row is scored, by a fit that did not see it.",
                "holdout",
                self.holdout,
            )
        return 0.0

    def _fit_folds(
        self, estimator: Any, data: TrainingTable, fold: np.ndarray, tell: Callable[[Message], Any]
    ) -> tuple[Any, dict[str, Any], dict[str, np.ndarray]]:
        """Scores over folds, and the estimator fitted to all rows; after an interrupt that of the fold it came in."""
        parts, num = [], int(fold.max()) + 1
        if is_elsewhere():
            parts = fit_folds_elsewhere(estimator, data, fold, self._checkpoints(), tell)
        for index in range(len(parts), num):
            tell(Message(f"Fold {index + 1} of {num} ..."))
            own = unfitted(estimator)
            parts.append(self._fit_part(f"fold-{index + 1}", own, data.holding_out(fold == index), tell))
            if own.is_interrupted_:
                return own, {}, {}
        notes, arrays = pooled(parts)
        tell(Message("Fitting to all rows ..."))
        last, line = self._fit_part("fit", estimator, data.none_held_out(), tell)
        return estimator, notes | {"seconds": round(notes["seconds"] + last["seconds"], 2)}, arrays | line

    def _fit_part(
        self, part: str, estimator: Any, data: TrainingTable, tell: Callable[[Message], Any]
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Fit and score, with the checkpoints of this part in a folder of its own."""
        folder = self._checkpoints()
        estimator.set_params(checkpoint=None if folder is None else folder / part)
        outcome = fit_and_score(estimator, data, tell)
        estimator.set_params(checkpoint=None)
        return outcome

    def _checkpoints(self) -> Path | None:
        folder = None if self.estimator is None else self.estimator.checkpoint
        return None if folder is None else Path(folder)
