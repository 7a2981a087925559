"""JAX, imported when something of it is first used: to read a model and predict from it takes none.

Every room takes it from here, `from pritchel.lazy import jax, jnp`, and writes as if it were there.
"""

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any


class _OnUse(ModuleType):
    """A module that is imported when it is first asked for a name."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self.__name__), name)


if TYPE_CHECKING:
    import jax
    import jax.numpy as jnp
else:
    jax, jnp = _OnUse("jax"), _OnUse("jax.numpy")

__all__ = ["jax", "jnp"]
