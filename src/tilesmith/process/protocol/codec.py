"""Records to JSON and back, across the border between processes: what does not fit its type is not believed.

A request is a frozen record whose base names the record that answers it: `class WriteInputs(Request[FileWritten])`.
A candidate's process could forge any reply, so `decode` checks every field, and refuses fields that are too many.
"""

from __future__ import annotations

import types
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from tilesmith.records.numbers import Range

R = TypeVar("R")


class Malformed(Exception):
    """A message that no code of ours would send."""


class Request(Generic[R]):
    """A question to a child; R is the record that answers it."""


@dataclass(frozen=True)
class Done:
    """The answer to a request that asks for nothing."""


@dataclass(frozen=True)
class RequestFailure:
    """Why a request has no answer."""

    kind: Literal["task", "machine", "memory", "unsupported", "kernel", "unreadable", "internal"]
    """Whose fault it is; `memory` is the GPU's, `unreadable` are a candidate's outputs, and what is `unsupported`
    can be judged elsewhere."""
    message: str
    verdict: str | None = None
    """Of a kernel's fault."""


class RequestFailed(Exception):
    """Raised in the parent where a child answered with a failure."""

    def __init__(self, failure: RequestFailure) -> None:
        super().__init__((failure.message.strip().splitlines() or ["no message"])[-1][:300])
        self.failure = failure


def encode(value: Any) -> Any:
    """A record, or a container of records, as what JSON can hold."""
    if is_dataclass(value):
        return {one.name: encode(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, dict):
        return {key: encode(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [encode(one) for one in value]
    return str(value) if isinstance(value, Path) else value


def decode(kind: type[R], data: Any) -> R:
    """The record of type `kind` that `data` was made from; raises Malformed."""
    return _decoded(kind, data)  # type: ignore[no-any-return]


def reply_type(request: type[Request[R]]) -> type[R]:
    return get_args(request.__orig_bases__[0])[0]  # type: ignore[attr-defined, no-any-return]


@cache
def _field_types(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {one.name: hints[one.name] for one in fields(kind)}


def _decoded(kind: Any, data: Any) -> Any:
    origin = get_origin(kind)
    if kind is Any:
        return data
    if origin is Annotated:
        return _in_range(_decoded(get_args(kind)[0], data), get_args(kind)[1])
    if origin in (Union, types.UnionType):
        return _one_of(get_args(kind), data)
    if origin is Literal and isinstance(data, str) and data in get_args(kind):
        return data
    if origin is tuple and isinstance(data, list):
        return _tuple(get_args(kind), data)
    if origin is dict and isinstance(data, dict):
        return {key: _decoded(get_args(kind)[1], value) for key, value in data.items()}
    if isinstance(kind, type) and origin is None:
        return _plain(kind, data)
    raise Malformed(f"expected {kind}")


def _plain(kind: type, data: Any) -> Any:
    if is_dataclass(kind):
        return _record(kind, data)
    if issubclass(kind, Enum) and isinstance(data, str) and data in {one.value for one in kind}:
        return kind(data)
    if kind is float and isinstance(data, int | float) and not isinstance(data, bool):
        try:
            return float(data)
        except OverflowError:
            raise Malformed("expected a float") from None
    if issubclass(kind, Path) and isinstance(data, str):
        return Path(data)
    if type(data) is kind:
        return data
    raise Malformed(f"expected {kind.__name__}")


def _record(kind: type, data: Any) -> Any:
    expected = _field_types(kind)
    if not isinstance(data, dict) or data.keys() != expected.keys():
        raise Malformed(f"expected the fields of {kind.__name__}")
    return kind(**{name: _decoded(one, data[name]) for name, one in expected.items()})


def _one_of(kinds: tuple[Any, ...], data: Any) -> Any:
    for kind in kinds:
        try:
            return _decoded(kind, data)
        except Malformed:
            continue
    raise Malformed("fits none of several types")


def _tuple(kinds: tuple[Any, ...], data: list[Any]) -> tuple[Any, ...]:
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return tuple(_decoded(kinds[0], one) for one in data)
    if len(kinds) != len(data):
        raise Malformed(f"expected {len(kinds)} elements")
    return tuple(_decoded(kind, one) for kind, one in zip(kinds, data, strict=True))


def _in_range(value: float, bounds: Range) -> float:
    if not bounds.low <= value <= bounds.high:
        raise Malformed(f"expected a number from {bounds.low} to {bounds.high}")
    return value
