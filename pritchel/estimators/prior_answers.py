"""What a regressor's prior says of a table: in the units of y after a fit, in standard units before."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from pritchel.data.dataset import prepare
from pritchel.estimators.typed import Seed
from pritchel.model.likelihoods import LikelihoodStart
from pritchel.model.likelihoods.base import Components
from pritchel.model.prior_draws import prior_components


def prior_answers(
    estimator: Any, table: np.ndarray, num_draws: int, include_noise: bool, random_state: Seed
) -> np.ndarray:
    """Functions, or observations, drawn from the prior for the rows of a checked table: (rows, targets, draws)."""
    rng = np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    components = _components(estimator, table, num_draws, rng)
    return np.moveaxis(components.sample(rng) if include_noise else components.mean, 0, -1)


def _components(estimator: Any, table: np.ndarray, num_draws: int, rng: np.random.Generator) -> Components:
    """Predictive distributions of draws from the prior."""
    options = estimator.options()
    if hasattr(estimator, "posterior_"):
        posterior = estimator.posterior_
        standardizer, member = posterior.standardizer, posterior.members[0]
        inputs, units = standardizer.scale_inputs(table), (standardizer.target_mean, standardizer.target_scale)
        return prior_components(member.model, member.offered, inputs, num_draws, rng, *units)
    rows = np.arange(len(table), dtype=float)[:, None]
    inputs = prepare(table, rows, input_limit=estimator.input_limit)[1].scale_inputs(table)
    model = options.model(LikelihoodStart.without_data(1))
    return prior_components(model, options.hidden, inputs, num_draws, rng, np.zeros(1), np.ones(1))
