"""The arguments of one call of `forward`: the one form in which inputs travel through all processes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import torch


class ForwardArguments(NamedTuple):
    """A named tuple, so whatever goes through nests of tensors goes through it too."""

    args: list[Any]
    kwargs: dict[str, Any]

    def labeled(self) -> Iterator[tuple[str, Any]]:
        """Every argument and how a message names it."""
        yield from ((f"input {position}", value) for position, value in enumerate(self.args))
        yield from ((f"input '{name}'", value) for name, value in self.kwargs.items())


def call(model: Any, arguments: ForwardArguments) -> Any:
    return model(*arguments.args, **arguments.kwargs)


def read_arguments(returned: Any) -> ForwardArguments | None:
    """What an input function returned: a list or tuple, one tensor, a dict, or (args, kwargs). None for anything
    else."""
    if isinstance(returned, torch.Tensor):
        return ForwardArguments([returned], {})
    if isinstance(returned, Mapping):
        named = all(isinstance(name, str) for name in returned)
        return ForwardArguments([], dict(returned)) if named else None
    if not isinstance(returned, list | tuple):
        return None
    if type(returned) is tuple and len(returned) == 2:
        args, kwargs = returned
        if isinstance(args, list | tuple) and isinstance(kwargs, dict) and all(isinstance(k, str) for k in kwargs):
            return ForwardArguments(list(args), dict(kwargs))
    return ForwardArguments(list(returned), {})
