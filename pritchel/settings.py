"""Settings that belong together: frozen dataclasses, known by a name, changed by making another."""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Self, TypeVar

Kind = TypeVar("Kind", bound="Settings")


@dataclasses.dataclass(frozen=True)
class Settings:
    """Values that are stored as they are given, and checked, with sentences, where they are used."""

    __no_type_check__: ClassVar[bool] = True  # annotations are for readers, also where tests turn them into checks

    def __init_subclass__(cls) -> None:
        cls.__repr__ = Settings.__repr__  # before the dataclass decorator would add its own

    def __repr__(self) -> str:
        """As it could be typed: only what differs from the defaults."""
        fields = [(field, getattr(self, field.name)) for field in dataclasses.fields(self)]
        shown = ", ".join(f"{field.name}={value!r}" for field, value in fields if repr(value) != repr(field.default))
        return f"{type(self).__name__}({shown})"

    def changed(self, **changes: Any) -> Self:
        """The same with some values changed; an unknown name is refused with those there are."""
        known = [field.name for field in dataclasses.fields(self)]
        unknown = [name for name in changes if name not in known]
        if unknown:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise ValueError(f"{type(self).__name__} has no setting {', '.join(unknown)}; {has}.")
        return dataclasses.replace(self, **changes)

    def values(self) -> dict[str, Any]:
        """The settings by name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}


def of_kind(registry: Mapping[str, type[Kind]], value: Any, argument: str) -> Kind:
    """Settings of a registered kind: as given, or those that a name alone stands for."""
    if isinstance(value, str) and value in registry:
        return registry[value]()
    if isinstance(value, Settings) and type(value) in registry.values():
        return value  # pyright: ignore[reportReturnType] - of a registered kind, as just seen
    names = ", ".join(map(repr, sorted(registry)))
    kinds = ", ".join(registry[name].__name__ for name in sorted(registry))
    raise ValueError(f"{argument} must be one of {names}, or one of {kinds}; got {value!r}.")


def name_of(registry: Mapping[str, type[Kind]], value: Kind) -> str:
    """The name that settings of this kind are registered under."""
    return next(name for name, kind in registry.items() if kind is type(value))
