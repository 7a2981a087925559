"""A learned model of how an environment moves: fit on transitions, then plan with whole draws of its dynamics."""

import dataclasses
import os
from pathlib import Path
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from pritchel import checks
from pritchel.estimators.dynamics_draws import Dynamics, Plan, in_raw_units, network_inputs, rollouts, tidy
from pritchel.estimators.regressor import HorseshoeRegressor
from pritchel.estimators.typed import Seed, float_array, seed_of, unfitted
from pritchel.model.likelihoods.adaptive import AdaptiveNoise
from pritchel.model.likelihoods.continuous import PrecisionLikelihood


class DynamicsModel(BaseEstimator):
    """A model of (state, action) to next state: predicts differences, and is uncertain where it has seen little.

    Parameters
    ----------
    num_actions : int, optional
        How many discrete actions there are (0, 1, ...); None for actions that are vectors of numbers.
    angles : tuple of ints
        Columns of the state that are angles in radians. The network sees their cosine and sine, and differences are
        taken the short way round.
    estimator : HorseshoeRegressor, optional
        With the options of your choice; a copy of it is fitted.

    Attributes
    ----------
    estimator_ : HorseshoeRegressor
        The fitted estimator, with its scores, scales and pruning.

    Examples
    --------
    A cart that a push moves by a tenth of it, and what three draws of its dynamics expect of two pushes:

    >>> import numpy as np
    >>> from pritchel import DynamicsModel, HorseshoeRegressor
    >>> rng = np.random.default_rng(0)
    >>> states, pushes = rng.normal(size=(80, 1)), rng.normal(size=(80, 1))
    >>> short = HorseshoeRegressor.fast(training__num_steps=500, random_state=0)
    >>> model = DynamicsModel(estimator=short).fit(states, pushes, states + 0.1 * pushes)
    >>> paths = model.rollout(np.zeros((3, 1)), np.ones((3, 2, 1)))
    >>> paths.shape
    (3, 3, 1)
    >>> bool(np.abs(paths[:, -1] - 0.2).max() < 0.1)
    True
    """

    def __init__(
        self,
        *,
        num_actions: int | None = None,
        angles: tuple[int, ...] = (),
        estimator: HorseshoeRegressor | None = None,
    ):
        self.num_actions = num_actions
        self.angles = angles
        self.estimator = estimator

    def fit(self, states: Any, actions: Any, next_states: Any) -> Self:
        """Fit to transitions: one row each, in any order."""
        if self.num_actions is not None:
            checks.check_integer("num_actions", self.num_actions, at_least=1)
        states = float_array(states, name="states")
        self._angles = tuple(range(states.shape[1])[index] for index in self.angles)
        actions = self._check_actions(actions, len(states))
        after = float_array(next_states, name="next_states")
        if after.shape != states.shape:
            raise ValueError(f"next_states must be shaped like states, {states.shape}; got {after.shape}.")
        difference = tidy(after - states, self._angles)
        estimator = HorseshoeRegressor(likelihood="gaussian") if self.estimator is None else unfitted(self.estimator)
        if not issubclass(kind := estimator.likelihood_settings().kind, PrecisionLikelihood):
            raise ValueError(
                "a DynamicsModel steps by the network's outputs, which must be mean differences: give its estimator "
                f'likelihood="gaussian", "auto", "student_t" or "heteroscedastic"; got {kind.__name__}.'
            )
        if isinstance(noise := estimator.likelihood_settings(), AdaptiveNoise):  # of several, none is at the output
            estimator.set_params(likelihood=dataclasses.replace(noise, num_humps=1))
        if estimator.calibration == "auto":
            estimator.set_params(calibration=None)
        if estimator.calibration is not None:
            raise ValueError(
                "a DynamicsModel plans with the networks' own draws, which calibration does not reach: give its "
                f"estimator calibration=None; got {estimator.calibration!r}."
            )
        self.estimator_ = estimator.fit(network_inputs(states, actions, self.num_actions, self._angles), difference)
        self.num_features_ = states.shape[1]
        return self

    def prune(self, **options: Any) -> "DynamicsModel":
        """A smaller model without the units that are switched off; options as in `HorseshoeRegressor.prune`."""
        self._check_is_fitted()
        smaller = DynamicsModel(num_actions=self.num_actions, angles=self.angles, estimator=self.estimator)
        smaller.__dict__ |= self.__dict__ | {"estimator_": self.estimator_.prune(**options)}
        return smaller

    def predict(self, states: Any, actions: Any, return_std: bool = False) -> Any:
        """Mean next state a row, and with `return_std` the standard deviation of a new observation of it."""
        states, inputs = self._inputs(states, actions)
        answer = self.estimator_.predict(inputs, return_std=return_std)
        mean = tidy(states + (answer[0] if return_std else answer), self._angles)
        return (mean, answer[1]) if return_std else mean

    def sample_functions(self, states: Any, actions: Any, n_samples: int = 1, random_state: Seed = 0) -> np.ndarray:
        """Next states under each of the draws that `draw(n_samples, random_state)` gives: (rows, features, samples)."""
        states, inputs = self._inputs(states, actions)
        checks.check_integer("n_samples", n_samples, at_least=1)
        functions = self.estimator_.posterior_.sample_functions(inputs, n_samples, seed_of(random_state))
        return np.moveaxis(tidy(states + np.moveaxis(functions, -1, 0), self._angles), 0, -1)

    def draw(self, n_samples: int = 1, random_state: Seed = 0) -> Dynamics:
        """Coherent draws of the dynamics, for `step` and `rollout`: each is one function, the same at every step."""
        self._check_is_fitted()
        checks.check_integer("n_samples", n_samples, at_least=1)
        posterior = self.estimator_.posterior_
        weights = in_raw_units(posterior.sample_weights(n_samples, seed_of(random_state)), posterior.standardizer)
        return Dynamics(
            jax.tree.map(lambda leaf: jnp.asarray(leaf, float), weights),
            self.num_actions,
            self._angles,
            posterior.members[0].model.activation,
        )

    def rollout(self, states: Any, plan: Plan, num_steps: int | None = None, random_state: Seed = 0) -> np.ndarray:
        """Imagined trajectories, a weight draw for each: (rollouts, steps + 1, features), start states first.

        `plan` is an array of actions (rollouts, steps) or, for vectors, (rollouts, steps, size); or a policy, a pure
        JAX function from one state to one action, run for `num_steps`.
        """
        self._check_is_fitted()
        states = self._check_states(states)
        draws = self.draw(len(states), random_state)
        if callable(plan):
            if num_steps is None:
                raise ValueError("rollout with a policy needs num_steps, the length of the trajectories.")
            return np.asarray(rollouts(draws, jnp.asarray(states, float), None, plan, num_steps))
        flat = np.asarray(plan)
        if flat.ndim < 2 or len(flat) != len(states):
            raise ValueError(
                f"plan must have one row of actions for each of {len(states)} states; got shape {flat.shape}."
            )
        checked = self._check_actions(flat.reshape(-1, *flat.shape[2:]), flat.shape[0] * flat.shape[1])
        actions = jnp.asarray(checked.reshape(*flat.shape[:2], *checked.shape[1:]))
        return np.asarray(rollouts(draws, jnp.asarray(states, float), actions, None, num_steps))

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the fitted model to a folder, as estimators do."""
        from pritchel.estimators.saved import save_estimator

        self._check_is_fitted()
        extra = {"num_actions": self.num_actions, "angles": list(self._angles), "num_features": self.num_features_}
        return save_estimator(Path(path), self.estimator_, kind="DynamicsModel", extra=extra, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """A fitted model from a folder that `save` wrote; no code in it is run."""
        from pritchel.estimators.saved import load_saved

        return load_saved(Path(path)).of_kind(cls)

    @classmethod
    def from_saved(cls, estimator: HorseshoeRegressor, extra: dict[str, Any]) -> Self:
        """The model of a fitted estimator and what a folder says of states and actions; a ValueError if they clash."""
        num_actions, num_features = extra["num_actions"], int(extra["num_features"])
        angles = tuple(int(index) for index in extra["angles"])
        num_inputs = num_features + len(angles) + (num_actions or 0)
        num_outputs = len(estimator.posterior_.standardizer.target_mean)
        is_whole = num_actions is None or (isinstance(num_actions, int) and num_actions > 0)
        is_right = num_inputs == estimator.n_features_in_ or (
            num_actions is None and num_inputs < estimator.n_features_in_
        )
        if (
            not is_whole
            or not is_right
            or num_outputs != num_features
            or any(not 0 <= i < num_features for i in angles)
            or estimator.calibration_ is not None
        ):
            raise ValueError("its states and actions do not fit its network")
        model = cls(num_actions=num_actions, angles=angles, estimator=unfitted(estimator))
        model._angles, model.estimator_, model.num_features_ = angles, estimator, num_features
        return model

    def _check_is_fitted(self) -> None:
        if not hasattr(self, "estimator_"):
            raise NotFittedError("This DynamicsModel is not fitted; call fit(states, actions, next_states) first.")

    def _check_states(self, states: Any) -> np.ndarray:
        checked = float_array(states, name="states")
        if checked.shape[1] != self.num_features_:
            raise ValueError(f"states must have {self.num_features_} columns, as in the fit; got {checked.shape[1]}.")
        return checked

    def _check_actions(self, actions: Any, num_rows: int) -> np.ndarray:
        wanted = "(rows,)" if self.num_actions is not None else "(rows, size)"
        checked = float_array(actions, name="actions", ensure_2d=False)
        if len(checked) != num_rows:
            raise ValueError(f"actions must have a row for each of {num_rows} states; got {len(checked)}.")
        if self.num_actions is None:
            return checked[:, None] if checked.ndim == 1 else checked
        whole = checked.astype(int)
        if checked.ndim != 1 or np.any(whole != checked) or whole.min() < 0 or whole.max() >= self.num_actions:
            raise ValueError(
                f"discrete actions must be integers from 0 to {self.num_actions - 1}, shaped {wanted}; got shape "
                f"{checked.shape} with values from {checked.min():g} to {checked.max():g}. "
                "For vectors of numbers leave num_actions=None."
            )
        return whole

    def _inputs(self, states: Any, actions: Any) -> tuple[np.ndarray, np.ndarray]:
        self._check_is_fitted()
        states = self._check_states(states)
        return states, network_inputs(states, self._check_actions(actions, len(states)), self.num_actions, self._angles)
