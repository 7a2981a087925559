"""Constructor arguments that one estimator has besides, or without, those that all share."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

Estimator = TypeVar("Estimator", bound=type)


def with_arguments(*, without: tuple[str, ...] = (), **extra: Any) -> Callable[[Estimator], Estimator]:
    """A class whose constructor takes the parent's arguments, some fewer, and the given ones with their defaults.

    scikit-learn reads constructors by their signature, so a subclass would else have to repeat three dozen arguments.
    """

    def decorate(cls: Estimator) -> Estimator:
        parent = cls.__init__
        inherited = inspect.signature(parent).parameters.values()
        kept = [parameter for parameter in inherited if parameter.name not in without]
        added = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value) for name, value in extra.items()
        ]
        signature = inspect.Signature([*kept, *added])

        def __init__(self: Any, **arguments: Any) -> None:
            unknown = [name for name in arguments if name not in signature.parameters]
            if unknown:
                known = ", ".join(name for name in signature.parameters if name != "self")
                raise TypeError(f"{cls.__name__} has no argument {', '.join(unknown)}; it has {known}.")
            parent(self, **{name: value for name, value in arguments.items() if name not in extra})
            for name, value in extra.items():
                setattr(self, name, arguments.get(name, value))

        __init__.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess]
        cls.__init__ = __init__  # pyright: ignore[reportAttributeAccessIssue]
        return cls

    return decorate
