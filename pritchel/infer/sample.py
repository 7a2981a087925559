"""From fitted, pruned networks to draws of their exact posterior: one chain a member, from where its fit ended."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from pritchel.crew import Crew
from pritchel.data.dataset import Dataset
from pritchel.guide.member import Member
from pritchel.infer.chain import Iterations, Trace, run_chunk, schedule, start_state
from pritchel.infer.checkpoint import Checkpoint, CheckpointElsewhere, Kept, fingerprint, packed, unpacked
from pritchel.infer.coordinates import Start, start_chain
from pritchel.infer.plan import SamplingPlan, chain_widths
from pritchel.infer.row_blocks import Columns
from pritchel.infer.trial import Execution, Progress, Status
from pritchel.infer.turns import Turns, num_under_way
from pritchel.jobs import answers, is_elsewhere
from pritchel.lazy import jax
from pritchel.model.joint import Unknowns, take_units
from pritchel.processes import together
from pritchel.programs import keep_few_programs
from pritchel.serial import stored

CHUNK_ITERATIONS = 10
LEAST_DRAWS = 10  # fewer are no sample


class ChainResult(NamedTuple):
    """What a chain came to. Traces have an entry an iteration, those of the warm-up first."""

    log_density: np.ndarray
    acceptance: np.ndarray
    is_divergent: np.ndarray
    num_warmup: int
    num_gradients: int
    step_size: float
    status: Status


@stored
class ChainState(NamedTuple):
    """All that changes from chunk to chunk: what a checkpoint holds, and what a chain goes on from."""

    leaves: tuple[np.ndarray, ...]  # of the sampler's state
    positions: np.ndarray  # kept so far
    trace: np.ndarray  # log density, acceptance, divergence: (iterations, 3)


class Chain:
    """A chain under way."""

    def __init__(self, start: Start, table: Columns, plan: SamplingPlan, seed: Sequence[int]):
        self.coordinates, self.table, self.plan = start.coordinates, table, plan
        rng = np.random.default_rng(np.random.SeedSequence(list(seed)))
        self.key_data = rng.integers(0, 2**32, 2, dtype=np.uint32)
        self.iterations = schedule(plan.num_warmup, plan.num_samples, plan.num_leapfrogs, rng)
        kept = np.linspace(0, plan.num_samples, plan.num_kept, endpoint=False).astype(int)
        self.is_kept = np.isin(np.arange(self.num_iterations), plan.num_warmup + kept)
        self.state: Any = start_state(start.position, start.deviations)
        self.positions: list[np.ndarray] = [np.zeros((0, len(start.position)), np.float32)]
        self.trace: list[np.ndarray] = [np.zeros((0, 3), np.float32)]
        self.done = 0
        self.status: Status = "finished"

    @property
    def num_iterations(self) -> int:
        """Of the warm-up and of the draws."""
        return self.plan.num_warmup + self.plan.num_samples

    def snapshot(self) -> ChainState:
        """What a chain that goes on from here begins from."""
        leaves = tuple(np.asarray(leaf) for leaf in jax.tree.leaves(self.state))
        return ChainState(leaves, np.concatenate(self.positions), np.concatenate(self.trace))

    def go_on_from(self, saved: ChainState) -> None:
        """Take up what a snapshot left."""
        self.state = jax.tree.unflatten(jax.tree.structure(self.state), saved.leaves)
        self.positions, self.trace, self.done = [saved.positions], [saved.trace], len(saved.trace)

    def compile(self) -> None:
        """Have the program made before many chains ask for it at once."""
        keep_few_programs(run_chunk, self.state, self.table)
        self._iterate(0)

    def run_chunk(self) -> None:
        """Some iterations more."""
        count = min(CHUNK_ITERATIONS, self.num_iterations - self.done)
        self.state, told = self._iterate(count)
        told = Trace(*(np.asarray(part)[:count] for part in told))
        self.positions.append(told.position[self.is_kept[self.done : self.done + count]])
        self.trace.append(np.stack([told.log_density, told.acceptance, told.is_divergent], 1).astype(np.float32))
        self.done += count

    def _iterate(self, count: int) -> tuple[Any, Trace]:
        index = np.minimum(self.done + np.arange(CHUNK_ITERATIONS), self.num_iterations - 1)
        some = Iterations(*(part[index] for part in self.iterations))
        target = np.float32(self.plan.target_acceptance)
        with jax.enable_x64(False):  # the same draws, whatever else the process computes
            return run_chunk(self.state, self.coordinates, self.table, some, count, self.key_data, target)

    def result(self) -> ChainResult:
        """How it went."""
        trace = np.concatenate(self.trace)
        num_gradients = int(self.iterations.num_leapfrogs[: self.done].sum())
        step_size = float(np.exp(np.asarray(self.state[1].log_step_size_avg)))
        return ChainResult(
            trace[:, 0], trace[:, 1], trace[:, 2] > 0, self.plan.num_warmup, num_gradients, step_size, self.status
        )

    def draws(self, sizes: tuple[int, ...]) -> Unknowns:
        """The draws so far, of the units that do not only fill, stacked; their layer scales with them."""
        draws = [self.coordinates.unknowns(position)[0] for position in np.concatenate(self.positions)]
        stacked = jax.tree.map(lambda *values: np.stack(values), *draws)
        return take_units(stacked, [np.arange(size) for size in sizes])


def sample_members(
    members: Sequence[Member],
    data: Dataset,
    plan: SamplingPlan,
    seed: int,
    execution: Execution = Execution(),  # noqa: B008 - an immutable value
    is_fitted: Sequence[np.ndarray] | None = None,
) -> list[tuple[Member, ChainResult]]:
    """The members with draws of their posteriors, given the table that they were fitted to.

    `is_fitted` tells of each member which rows those were, if not all. An interrupt keeps the draws so far, where a
    chain has a few; else the member stays as it was fitted.
    """
    table, chains = Columns.of(data), []
    for index, (member, widths) in enumerate(zip(members, chain_widths(members, table.num_rows, plan), strict=True)):
        own = table
        if is_fitted is not None:  # rows of no weight: all chains share a program
            own = table.weighted(np.where(is_fitted[index], data.weights, 0).astype(np.float32))
        chains.append(Chain(start_chain(member, widths, float(own.weights.sum())), own, plan, (seed, index, 4)))
    checkpoints = _checkpoints(execution, chains, seed)
    with together(execution.checkpoints) as crew:
        if is_elsewhere():
            _run_elsewhere(chains, checkpoints, execution)
        elif crew is None:
            _run_here(chains, checkpoints, execution, range(len(chains)), threading.Event())
        else:
            _run_together(chains, checkpoints, execution, crew)
    return [_outcome(member, chain) for member, chain in zip(members, chains, strict=True)]


def _run_here(
    chains: list[Chain],
    checkpoints: list[Checkpoint | None],
    execution: Execution,
    numbers: Sequence[int],
    stop: threading.Event,
) -> None:
    """Some of them, in threads; those of the same widths share a program, which is made first."""
    turns = Turns(execution.n_jobs)

    def run(index: int) -> None:
        _run(chains[index], index, execution.on_progress, stop, checkpoints[index], turns)

    one_of_each = {tuple(map(len, chains[index].coordinates.is_alive)): chains[index] for index in numbers}
    if execution.n_jobs == 1 or len(numbers) == 1:
        for chain in one_of_each.values():
            chain.compile()
        for index in numbers:
            run(index)
            if chains[index].status == "interrupted":
                stop.set()
    else:
        with ThreadPoolExecutor(num_under_way(len(numbers), execution.n_jobs)) as pool:
            list(pool.map(Chain.compile, one_of_each.values()))
            futures = [pool.submit(run, index) for index in numbers]
            try:
                for future in futures:
                    future.result()
            except KeyboardInterrupt:
                stop.set()
            except BaseException:
                stop.set()
                raise


def _run_together(chains: list[Chain], checkpoints: list[Checkpoint | None], execution: Execution, crew: Crew) -> None:
    """Shared out among processes, one after another in turn; then each has what all have drawn."""
    own = range(crew.index, len(chains), crew.count)
    if own:
        _run_here(chains, checkpoints, execution, own, crew.asked)
    for index, chain in enumerate(chains):
        source = index % crew.count
        mine = packed((chain.snapshot(), chain.status)) if source == crew.index else None
        state, chain.status = unpacked(crew.from_process(mine, source))
        if source != crew.index:
            chain.go_on_from(state)


def _run_elsewhere(chains: list[Chain], checkpoints: list[Checkpoint | None], execution: Execution) -> None:
    """On the workers that joblib is told of; an interrupt keeps the chains that have ended."""
    sent = [None if own is None else CheckpointElsewhere.of(own) for own in checkpoints]
    is_under_way = set(range(len(chains)))
    try:
        for index, (state, status, progress) in answers(run_one, [*zip(chains, sent, strict=True)], execution.n_jobs):
            chain, checkpoint = chains[index], checkpoints[index]
            chain.go_on_from(state)
            chain.status = status
            is_under_way.discard(index)
            if checkpoint is not None and chain.done == chain.num_iterations:
                checkpoint.save(state)
            if execution.on_progress is not None and progress is not None:
                execution.on_progress(progress._replace(trial=index))
            if status == "interrupted":
                break
    except KeyboardInterrupt:
        if len(is_under_way) == len(chains):
            raise
    for index in is_under_way:
        chains[index].status = "interrupted"


def run_one(chain: Chain, sent: CheckpointElsewhere | None) -> tuple[ChainState, Status, Progress | None]:
    """On a worker: a chain from its start to its end."""
    told: deque[Progress] = deque(maxlen=1)
    checkpoint = None if sent is None else sent.opened()
    chain.compile()
    _run(chain, 0, told.append, threading.Event(), checkpoint, Turns(1))
    return chain.snapshot(), chain.status, told[0] if told else None


def _outcome(member: Member, chain: Chain) -> tuple[Member, ChainResult]:
    num_kept = sum(map(len, chain.positions))
    if num_kept < min(LEAST_DRAWS, chain.plan.num_kept):
        return member, chain.result()._replace(status="interrupted")
    return member._replace(draws=chain.draws(member.guide.widths[1:-1])), chain.result()


def _run(
    chain: Chain,
    index: int,
    on_progress: Callable[[Progress], None] | None,
    stop: threading.Event,
    checkpoint: Checkpoint | Kept | None,
    turns: Turns,
) -> None:
    saved: Any = None if checkpoint is None else checkpoint.load()
    if saved is not None:
        chain.go_on_from(saved)
    try:
        while chain.done < chain.num_iterations:
            if stop.is_set():
                chain.status = "interrupted"
                return
            with turns:
                chain.run_chunk()
            if checkpoint is not None and (checkpoint.is_due() or chain.done == chain.num_iterations):
                checkpoint.save(chain.snapshot())
            if on_progress is not None:
                bound = float(chain.trace[-1][-1, 0]) / max(float(chain.table.weights.sum()), 1.0)
                on_progress(Progress(index, chain.done, chain.num_iterations, bound, None, "sampling"))
    except KeyboardInterrupt:
        chain.status = "interrupted"


def _checkpoints(execution: Execution, chains: list[Chain], seed: int) -> list[Checkpoint | None]:
    """A file a chain, marked with a digest of all that it depends on."""
    if execution.checkpoints is None:
        return [None] * len(chains)
    made: list[Checkpoint | None] = []
    for index, chain in enumerate(chains):
        parts = [chain.coordinates.model, chain.coordinates.start, tuple(chain.table)]
        mark = fingerprint(parts, chain.plan, seed, len(chains))
        made.append(Checkpoint(execution.checkpoints / f"chain-{index + 1}.safetensors", mark))
    return made
