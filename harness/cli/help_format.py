"""The format of options in `--help`: a flag has no type, an argument only its name."""

from __future__ import annotations

from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

# Panels of `rackspan --help`, in this order.
CLUSTERS = "Clusters"
NODES = "Nodes and faults"
EXPERIMENTS = "Experiments and reports"
MAINTAINERS = "For maintainers"


class Command(TyperCommand):
    """A verb."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _shown(super().get_params(ctx))


class Group(TyperGroup):
    """A verb with verbs of its own."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _shown(super().get_params(ctx))


def _shown(parameters: list[Any]) -> list[Any]:
    """Typer prints the name of a Python type, such as <bool> or <list[str]>, where nothing else is set."""
    for parameter in parameters:
        if isinstance(parameter, TyperOption) and parameter.is_flag:
            parameter.metavar = ""
        elif isinstance(parameter, TyperArgument):
            parameter.display_type_rich = lambda ctx: None  # type: ignore[method-assign]
    return parameters
