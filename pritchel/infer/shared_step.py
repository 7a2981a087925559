"""The compiled step where processes share every batch: each has some rows, and gradients are summed once a step."""

from typing import Any

import numpy as np

from pritchel.crew import ROWS, Crew
from pritchel.infer.elbo import Elbo
from pritchel.infer.outputs import Objective, PassNoise
from pritchel.infer.step import State, Steps, run_chunk
from pritchel.lazy import jax, jnp
from pritchel.programs import compiled, keep_few_programs


def run_together(crew: Crew, *arguments: Any) -> tuple[State, Any, Any]:
    """As `run_chunk`, in all processes, of which each gives its own rows; also how many were asked to stop."""
    placed = shared_arguments(crew, *arguments)
    keep_few_programs(run_shared_chunk, *placed[:-2])
    return run_shared_chunk(*placed)


def shared_arguments(crew: Crew, *arguments: Any) -> tuple[Any, ...]:
    """The arguments of `run_chunk` as arrays of all processes, for `run_shared_chunk`."""
    state, template, model, steps, trainable, num_steps, num_rows, objective = arguments
    whole = jax.tree.map(crew.same, (state, template, model, trainable, np.int32(num_steps), np.float32(num_rows)))
    state, template, model, trainable, num_steps, num_rows = whole
    by_rows = _by_rows()
    steps = Steps(*(_placed(crew, part, spec) for part, spec in zip(steps, by_rows, strict=True)))
    is_asked = crew.spread(np.full(crew.num_local, crew.asked.is_set(), np.int32), 0)
    return state, template, model, steps, trainable, num_steps, num_rows, is_asked, objective, crew.mesh


def _by_rows() -> Steps:
    """How the inputs of a chunk lie on the devices: what has an entry a row is shared out."""
    rows: Any = jax.sharding.PartitionSpec(None, ROWS)
    whole: Any = jax.sharding.PartitionSpec()
    return Steps(rows, PassNoise(rows, rows, whole, whole, whole), whole, whole, whole, whole, whole)


def _placed(crew: Crew, part: Any, spec: Any) -> Any:
    if isinstance(spec, PassNoise):
        return PassNoise(*(_placed(crew, own, its) for own, its in zip(part, spec, strict=True)))
    return jax.tree.map(crew.same if spec == jax.sharding.PartitionSpec() else lambda own: crew.spread(own, 1), part)


@compiled(
    donate_argnames=("state",),
    static_argnames=("objective", "mesh"),
    compiler_options={"xla_disable_hlo_passes": "tree_reduction_rewriter"},
)
def run_shared_chunk(
    state: State,
    template: Any,
    model: Any,
    steps: Steps,
    trainable: Any,
    num_steps: Any,
    num_rows: Any,
    is_asked: Any,
    objective: Objective,
    mesh: Any,
) -> Any:
    """One sum a step, of the gradient and the likelihood; what is decided upon afterwards is the first device's."""
    rows, whole = jax.sharding.PartitionSpec(ROWS), jax.sharding.PartitionSpec()

    def on_a_device(state, template, model, steps, trainable, num_steps, num_rows, is_asked):
        steps = steps._replace(
            num_present=jax.lax.psum((steps.batch.weights > 0).sum(-1), ROWS),
            kl_weight=steps.kl_weight / mesh.size,  # every device adds its share of the prior's side
        )
        state, trace = run_chunk.function(
            state, template, model, steps, trainable, num_steps, num_rows, objective, _summed
        )
        average = None if state.average is None else _of_first(state.average)
        state = state._replace(
            params=_of_first(state.params), average=average, num_skipped=_of_first(state.num_skipped)
        )
        return state, _of_first(trace), jax.lax.psum(is_asked[0], ROWS)

    lie = (whole, whole, whole, _by_rows(), whole, whole, whole, rows)
    run = jax.shard_map(on_a_device, mesh=mesh, in_specs=lie, out_specs=whole, check_vma=False)
    return run(state, template, model, steps, trainable, num_steps, num_rows, is_asked)


def _summed(grads: Any, parts: Elbo) -> tuple[Any, Elbo]:
    """The gradient and the likelihood of the whole batch, from those of each device's rows."""
    told = jax.lax.psum(jnp.append(grads, parts.likelihood), ROWS)
    return told[:-1], parts._replace(likelihood=told[-1])


def _of_first(leaf: Any) -> Any:
    """As the first device has it: two kinds of processors may round in two ways."""
    return jax.lax.psum(jnp.where(jax.lax.axis_index(ROWS) == 0, leaf, jnp.zeros_like(leaf)), ROWS)
