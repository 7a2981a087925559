"""Posterior draws for ArviZ: a data tree with weights, function draws, predictive draws and log-likelihoods."""

from typing import Any

import numpy as np

from pritchel.posterior.predict import Posterior


def arviz_tree(
    posterior: Posterior, inputs: np.ndarray | None = None, targets: np.ndarray | None = None, num_draws: int = 100
) -> Any:
    """Groups `posterior` (weights of the first member's network) and, with inputs, `posterior_predictive`.

    With targets, (rows, targets), also `log_likelihood` and `observed_data`. The draws are independent draws of a
    fitted approximation, not a chain: R-hat and effective sample sizes say nothing about it.
    """
    try:
        from arviz_base import from_dict
    except ImportError:
        raise ImportError("to_arviz needs the arviz-base package: pip install 'pritchel[arviz]'.") from None
    groups: dict[str, dict[str, np.ndarray]] = {
        "posterior": {name: values[None] for name, values in _first_member(posterior).items()}
    }
    if inputs is not None:
        functions = np.moveaxis(posterior.sample_functions(inputs, num_draws, 0), -1, 0)
        observations = np.moveaxis(posterior.sample_targets(inputs, num_draws, 0), -1, 0)
        groups["posterior_predictive"] = {"f": functions[None], "y": observations[None]}
        if targets is not None:
            groups["log_likelihood"] = {"y": posterior.draw_log_densities(inputs, targets, num_draws, 0)[None]}
            groups["observed_data"] = {"y": targets}
    return from_dict(groups, dims={"f": ["row", "target"], "y": ["row", "target"]})


def _first_member(posterior: Posterior) -> dict[str, np.ndarray]:
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
