"""Help that names the type of what is typed after an option, and none after a flag, which takes nothing."""

from typing import Any

from typer.core import TyperCommand, TyperGroup


def _bare_flags(params: list[Any]) -> list[Any]:
    for param in params:
        if getattr(param, "is_flag", False) and param.metavar is None:
            param.metavar = ""
    return params


class Command(TyperCommand):
    """A command."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, flags with nothing behind them."""
        return _bare_flags(super().get_params(ctx))


class Group(TyperGroup):
    """All commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, flags with nothing behind them."""
        return _bare_flags(super().get_params(ctx))
