"""Posterior draws for ArviZ: a data tree with weights, function draws, predictive draws and log-likelihoods."""

from typing import Any

import numpy as np

from pritchel.posterior.predict import Posterior


def arviz_tree(
    posterior: Posterior, inputs: np.ndarray | None = None, targets: np.ndarray | None = None, num_draws: int = 100
) -> Any:
    """Groups `posterior` (weights of the first member's network) and, with inputs, `posterior_predictive`.

    With targets, (rows, targets), also `log_likelihood` and `observed_data`. Draws of a variational fit are
    independent draws of an approximation, not a chain: R-hat and effective sample sizes say nothing about it. A sampled
    fit's functions, observations and log-likelihoods are all its draws, a chain a member, and there they speak.
    """
    try:
        from arviz_base import from_dict
    except ImportError:
        raise ImportError("to_arviz needs the arviz-base package: pip install 'pritchel[arviz]'.") from None
    groups: dict[str, dict[str, np.ndarray]] = {
        "posterior": {name: values[None] for name, values in _first_member(posterior).items()}
    }
    if inputs is not None:
        is_sampled = posterior.members[0].draws is not None
        stream = None if is_sampled else 0
        if is_sampled and posterior.num_draws < len(posterior.members):
            raise ValueError(
                f"to_arviz needs a draw of every chain; num_draws={posterior.num_draws} is fewer than that."
            )
        num_draws = posterior.num_draws if is_sampled else num_draws
        chains = len(posterior.members) if is_sampled else 1
        functions = np.moveaxis(posterior.sample_functions(inputs, num_draws, stream), -1, 0)
        observations = np.moveaxis(posterior.sample_targets(inputs, num_draws, stream), -1, 0)
        groups["posterior_predictive"] = {"f": _in_chains(functions, chains), "y": _in_chains(observations, chains)}
        if targets is not None:
            densities = posterior.draw_log_densities(inputs, targets, num_draws, stream)
            groups["log_likelihood"] = {"y": _in_chains(densities, chains)}
            groups["observed_data"] = {"y": targets}
    return from_dict(groups, dims={"f": ["row", "target"], "y": ["row", "target"]})


def _in_chains(values: np.ndarray, num_chains: int) -> np.ndarray:
    """Draws that members took turns at as (chains, draws, ...), each chain's in its own order."""
    length = len(values) // num_chains
    return np.stack([values[chain::num_chains][:length] for chain in range(num_chains)])


def _first_member(posterior: Posterior) -> dict[str, np.ndarray]:
    """Stacked weights of the first member: one array a layer."""
    blocks = [block.weights for member, block in posterior.weight_draws() if member == 0]
    arrays = {
        f"hidden{layer + 1}_weights": np.concatenate([block.hidden[layer] for block in blocks])
        for layer in range(len(blocks[0].hidden))
    }
    arrays["output_weights"] = np.concatenate([block.output for block in blocks])
    if blocks[0].linear is not None:
        arrays["linear_weights"] = np.concatenate([block.linear for block in blocks])
    return arrays
