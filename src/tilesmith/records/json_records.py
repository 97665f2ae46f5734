"""Records to JSON and back: what does not fit the type of its field is not believed."""

from __future__ import annotations

import types
from collections.abc import Hashable, Mapping
from dataclasses import asdict, fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


class Malformed(ValueError):
    """Data that no code of ours would write."""


def to_json(record: Any) -> dict[str, Any]:
    """A record as the plain dictionary that `--json` prints."""
    return asdict(record)


def from_json(kind: type[T], data: Mapping[str, Any]) -> T:
    """The record of type `kind` that `data` was made from; raises Malformed.

    Fields this version does not know are left out, so that an older reader still understands a newer run; those
    that are missing have their defaults.
    """
    return read_value(kind, data)  # type: ignore[no-any-return]


def read_value(kind: Any, data: Any, exact: bool = False) -> Any:
    """`data` as what the type `kind` says, all the way down; where it is `exact`, a record has all of its fields
    and no others."""
    origin = get_origin(kind)
    if kind is Any:
        return data
    if origin is Annotated:
        bounds = get_args(kind)[1]
        value = read_value(get_args(kind)[0], data, exact)
        if not bounds.low <= value <= bounds.high:
            raise Malformed(f"expected a number from {bounds.low} to {bounds.high}")
        return value
    if origin in (Union, types.UnionType):
        return _one_of(get_args(kind), data, exact)
    if origin is Literal and isinstance(data, str) and data in get_args(kind):
        return data
    if origin is tuple and isinstance(data, list | tuple):
        return _tuple(get_args(kind), data, exact)
    if origin is dict and isinstance(data, dict):
        return {key: read_value(get_args(kind)[1], value, exact) for key, value in data.items()}
    if isinstance(kind, type) and origin is None:
        return _record(kind, data, exact) if is_dataclass(kind) else _plain(kind, data)
    raise Malformed(f"expected {kind}")


@cache
def _field_types(kind: Hashable) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {one.name: hints[one.name] for one in fields(kind)}  # type: ignore[arg-type]


def _record(kind: type, data: Any, exact: bool) -> Any:
    expected = _field_types(kind)
    if not isinstance(data, Mapping) or (exact and data.keys() != expected.keys()):
        raise Malformed(f"expected the fields of {kind.__name__}")
    values = {}
    for name, field_type in expected.items():
        if name in data:
            try:
                values[name] = read_value(field_type, data[name], exact)
            except Malformed as error:
                raise Malformed(f"{name}: {error}") from None
    try:
        return kind(**values)
    except TypeError as error:
        raise Malformed(str(error)) from None


def _plain(kind: type, data: Any) -> Any:
    if type(data) is kind:
        return data
    if kind is float and type(data) is int:
        try:
            return float(data)
        except OverflowError:
            raise Malformed("expected a float") from None
    if isinstance(data, str) and issubclass(kind, Enum | Path):
        try:
            return kind(data)
        except ValueError as error:
            raise Malformed(str(error)) from None
    raise Malformed(f"expected {kind.__name__}")


def _one_of(kinds: tuple[Any, ...], data: Any, exact: bool) -> Any:
    if data is None and types.NoneType in kinds:
        return None
    faults = []
    for kind in kinds:
        if kind is not types.NoneType:
            try:
                return read_value(kind, data, exact)
            except Malformed as error:
                faults.append(str(error))
    raise Malformed(" or ".join(faults))


def _tuple(kinds: tuple[Any, ...], data: list[Any] | tuple[Any, ...], exact: bool) -> tuple[Any, ...]:
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return tuple(read_value(kinds[0], one, exact) for one in data)
    if len(kinds) != len(data):
        raise Malformed(f"expected {len(kinds)} elements")
    return tuple(read_value(kind, one, exact) for kind, one in zip(kinds, data, strict=True))
