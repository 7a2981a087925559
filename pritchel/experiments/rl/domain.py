"""What a domain is: where episodes start, where an action would lead, and the rules that judge where it led."""

from typing import Any, NamedTuple, Protocol

from jaxtyping import Array, Bool, Float, Int

State = Float[Array, " features"]
Action = Int[Array, ""]


class Outcome(NamedTuple):
    """What one step brings."""

    state: State
    reward: Float[Array, ""]
    is_done: Bool[Array, ""]


class Domain(Protocol):
    """A record of settings, hashable so that it can be static, with three pure functions of one state.

    The true step is `judge(state, propose(state, action))`. In a learned world only `propose` is replaced: the rules
    are known, the dynamics are not, and nothing of the true dynamics reaches the learner.
    """

    @property
    def num_features(self) -> int:
        """Numbers in a state."""
        ...

    @property
    def num_actions(self) -> int:
        """Actions are 0, 1, ... below this."""
        ...

    @property
    def horizon(self) -> int:
        """Steps after which an episode is cut off (which is no terminal state)."""
        ...

    @property
    def angles(self) -> tuple[int, ...]:
        """Features that live on a circle."""
        ...

    @property
    def bounds(self) -> tuple[float, ...]:
        """Largest absolute value of each feature."""
        ...

    def reset(self, key: Any) -> State:
        """A start state."""
        ...

    def propose(self, state: State, action: Action) -> State:
        """The state the true dynamics lead to, before the rules are applied."""
        ...

    def judge(self, state: State, proposed: State) -> Outcome:
        """The state an episode goes on from, the reward and whether it ends, from two successive states alone."""
        ...


def true_step(domain: Domain, state: State, action: Action) -> Outcome:
    """One step of the true domain."""
    return domain.judge(state, domain.propose(state, action))
