"""What a kernel was verified for, as data: how forward is called, and where it says no."""

from __future__ import annotations

from dataclasses import dataclass

PlainValue = bool | int | float | str | None


@dataclass(frozen=True)
class InputSpec:
    """One argument of forward as the task passes it: a tensor, a plain value, or a nest of either."""

    name: str
    dtype: str | None = None
    """Of a tensor; null for everything else."""
    shape: tuple[int | str, ...] = ()
    """Sizes of a tensor. A letter stands for any size, the same letter for the same size."""
    value: PlainValue = None
    """Of a plain argument."""
    is_plain: bool = False
    keyword_only: bool = False


@dataclass(frozen=True)
class OptionalArgument:
    """One that the task leaves at its default."""

    name: str
    default: PlainValue
    keyword_only: bool = False


@dataclass(frozen=True)
class Interface:
    """One call of forward: the arguments in their order, and the mode of the module."""

    inputs: tuple[InputSpec, ...]
    left_out: tuple[OptionalArgument, ...] = ()
    training: bool = False
