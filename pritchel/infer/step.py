"""The compiled step: Adam on the bound, many steps in one call, all parameters in one vector."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pritchel.guide.network import NetworkGuide
from pritchel.infer.elbo import Batch, Elbo, elbo
from pritchel.infer.outputs import Objective
from pritchel.lazy import jax, jnp
from pritchel.model.network import Model
from pritchel.programs import compiled


class State(NamedTuple):
    """All parameters in one vector: one optimizer update instead of one a leaf, and half the compile time."""

    params: Any
    optimizer: Any
    average: Any  # of the parameters; None: not kept
    num_skipped: Any


class Steps(NamedTuple):
    """The inputs of a chunk, one leading entry a step."""

    batch: Batch
    noise: Any
    learning_rate: Any
    kl_weight: Any
    progress: Any  # from 0 to 1
    average_decay: Any
    num_present: Any = None  # rows of a batch that are no padding; None: those of the batch at hand


def ravel(guide: NetworkGuide) -> np.ndarray:
    """All parameters of a guide in one vector."""
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(guide)])


def unravel(template: Any, params: Any) -> Any:
    """The guide, or other tree, of the template's shapes with the given parameters, numpy or JAX."""
    leaves, structure = jax.tree.flatten(template)
    sizes = [leaf.size for leaf in leaves]
    is_numpy = isinstance(params, np.ndarray)
    parts = np.split(params, np.cumsum(sizes)[:-1]) if is_numpy else jax.lax.split(params, sizes)
    return jax.tree.unflatten(structure, [part.reshape(leaf.shape) for part, leaf in zip(parts, leaves, strict=True)])


def start_adam(params: np.ndarray) -> Any:
    """The state that Adam starts from, made on the host so that nothing is compiled for it."""
    return adam_state(np.zeros((), np.int32), np.zeros_like(params), np.zeros_like(params))


def adam_state(count: Any, mean: Any, square: Any) -> Any:
    """Optax's state of Adam: steps, and running means of gradients and of their squares."""
    from optax import ScaleByAdamState

    return ScaleByAdamState(count, mean, square)


@compiled(
    donate_argnames=("state",),
    static_argnames=("objective",),
    compiler_options={"xla_disable_hlo_passes": "tree_reduction_rewriter"},
)
def run_chunk(
    state: State,
    template: NetworkGuide,
    model: Model,
    steps: Steps,
    trainable: Any,
    num_steps: Any,
    num_rows: Any,
    objective: Objective,
    summed: Callable[[Any, Elbo], tuple[Any, Elbo]] | None = None,
) -> Any:
    """Up to a chunk of optimizer steps. A step whose gradient is not finite changes nothing and is counted.

    Where rows are shared out, `summed` makes of a share's gradient and bound those of the whole batch.
    """
    from optax import scale_by_adam

    adam = scale_by_adam()

    def loss(params, step):
        guide = unravel(template, params)
        parts = elbo(model, guide, step.batch, step.noise, num_rows, objective, step.progress, step.num_present)
        prior_side = parts.weights + parts.scales + parts.noise
        return -(parts.likelihood + step.kl_weight * prior_side) / num_rows, parts

    def body(index, carry):
        state, history = carry
        step = jax.tree.map(lambda leaf: leaf[index], steps)
        grads, parts = jax.grad(loss, has_aux=True)(state.params, step)
        if summed is not None:
            grads, parts = summed(grads, parts)
        updates, optimizer = adam.update(grads, state.optimizer)
        params = state.params - step.learning_rate * trainable * updates
        average = None
        if state.average is not None:
            average = params + step.average_decay * (state.average - params)
        is_finite = jnp.isfinite(grads @ grads)
        kept = jax.tree.map(lambda new, old: jnp.where(is_finite, new, old), (params, optimizer, average), state[:3])
        history = jax.lax.dynamic_update_index_in_dim(history, jnp.stack(parts), index, 0)
        return State(kept[0], kept[1], kept[2], state.num_skipped + ~is_finite), history

    empty = jnp.zeros((*steps.kl_weight.shape, len(Elbo._fields)))
    return jax.lax.fori_loop(0, num_steps, body, (state, empty))


@compiled(static_argnames=("objective",))
def held_out_score(model: Model, guide: NetworkGuide, batch: Batch, noise: Any, objective: Objective) -> Any:
    """Expected log-likelihood of a row that training does not see."""
    parts = elbo(model, guide, batch, noise, (batch.weights > 0).sum().astype(float), objective)
    return parts.likelihood / batch.weights.sum()
