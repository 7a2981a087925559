"""Posterior draws for ArviZ: a data tree with weights, function draws, predictive draws and log-likelihoods."""

from typing import Any

import numpy as np


def to_arviz(estimator: Any, X: np.ndarray | None = None, y: np.ndarray | None = None, num_draws: int = 100) -> Any:
    """Groups `posterior` (weights of the first member's network) and, with X, `posterior_predictive`; with y, more.

    With y also `log_likelihood` and `observed_data`. The draws are independent draws of a fitted approximation, not a
    chain: R-hat and effective sample sizes say nothing about it.
    """
    try:
        from arviz_base import from_dict
    except ImportError:
        raise ImportError("to_arviz needs the arviz-base package: pip install 'pritchel[arviz]'.") from None
    posterior = estimator.posterior_
    groups: dict[str, dict[str, np.ndarray]] = {
        "posterior": {name: values[None] for name, values in _first_member(posterior).items()}
    }
    if X is not None:
        inputs = estimator._check_inputs(X)
        functions = np.moveaxis(posterior.sample_functions(inputs, num_draws, 0), -1, 0)
        observations = np.moveaxis(posterior.sample_targets(inputs, num_draws, 0), -1, 0)
        groups["posterior_predictive"] = {"f": functions[None], "y": observations[None]}
        if y is not None:
            targets = np.asarray(y, float).reshape(len(inputs), -1)
            groups["log_likelihood"] = {"y": posterior.draw_log_densities(inputs, targets, num_draws, 0)[None]}
            groups["observed_data"] = {"y": targets}
    return from_dict(groups, dims={"f": ["row", "target"], "y": ["row", "target"]})


def _first_member(posterior: Any) -> dict[str, np.ndarray]:
    """Stacked weights of the first member: one array a layer."""
    blocks = [weights for member, weights in posterior.weight_draws() if member == 0]
    arrays = {
        f"hidden{layer + 1}_weights": np.concatenate([block.hidden[layer] for block in blocks])
        for layer in range(len(blocks[0].hidden))
    }
    arrays["output_weights"] = np.concatenate([block.output for block in blocks])
    if blocks[0].linear is not None:
        arrays["linear_weights"] = np.concatenate([block.linear for block in blocks])
    return arrays
