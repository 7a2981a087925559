"""Both domains as gymnasium environments; needs the extra: pip install 'pritchel[rl]'."""

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pritchel.experiments.rl.domain import Domain, true_step
from pritchel.programs import compiled

_reset = compiled(static_argnums=0)(lambda domain, key: domain.reset(key))
_step = compiled(static_argnums=0)(true_step)


def require_gymnasium() -> Any:
    """The gymnasium package, or an error that says how to get it."""
    try:
        import gymnasium
    except ImportError:
        raise ImportError("This needs gymnasium: pip install 'pritchel[rl]'.") from None
    return gymnasium


@cache
def _environment_class() -> type:
    gymnasium = require_gymnasium()

    class DomainEnvironment(gymnasium.Env):
        """A domain behind gymnasium's interface; episodes are truncated at its horizon."""

        metadata = {"render_modes": []}  # noqa: RUF012 - gymnasium's own convention

        def __init__(self, domain: Domain):
            self.domain = domain
            high = np.asarray(domain.bounds, np.float32)
            self.observation_space = gymnasium.spaces.Box(-high, high, dtype=np.float32)
            self.action_space = gymnasium.spaces.Discrete(domain.num_actions)

        def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict]:
            """A start state."""
            super().reset(seed=seed, options=options)
            self._state = _reset(self.domain, jax.random.key(int(self.np_random.integers(2**31))))
            self._elapsed = 0
            return self._observation(), {}

        def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
            """One step of the true domain."""
            outcome = _step(self.domain, self._state, jnp.asarray(int(action)))
            self._state, self._elapsed = outcome.state, self._elapsed + 1
            is_done = bool(outcome.is_done)
            is_cut = not is_done and self._elapsed >= self.domain.horizon
            return self._observation(), float(outcome.reward), is_done, is_cut, {}

        def _observation(self) -> np.ndarray:
            return np.asarray(self._state, np.float32)

    return DomainEnvironment


def make_environment(domain: Domain) -> Any:
    """A gymnasium environment of the domain."""
    return _environment_class()(domain)
