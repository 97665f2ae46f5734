"""Records to JSON and back."""

from __future__ import annotations

import types
from collections.abc import Hashable, Mapping
from dataclasses import asdict, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def to_json(record: Any) -> dict[str, Any]:
    """A record as the plain dictionary that `--json` prints."""
    return asdict(record)


def from_json(kind: type[T], data: Mapping[str, Any]) -> T:
    """The record of type `kind` that `data` was made from. Fields this version does not know are left out,
    so that an older reader still understands a newer run."""
    known = _hints(kind)  # type: ignore[arg-type]
    values = {name: _value(known[name], data[name]) for name in known if name in data}
    return kind(**values)


@cache
def _hints(kind: Hashable) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {one.name: hints[one.name] for one in fields(kind)}  # type: ignore[arg-type]


def _value(hint: Any, value: Any) -> Any:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return None if value is None else _value(_present(hint), value)
    if origin is tuple:
        return tuple(_value(get_args(hint)[0], one) for one in value)
    if origin is dict:
        return {key: _value(get_args(hint)[1], one) for key, one in value.items()}
    if isinstance(hint, type) and is_dataclass(hint):
        return from_json(hint, value)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(value)
    return value


def _present(union: Any) -> Any:
    """The one type of an optional field that is not None."""
    return next(one for one in get_args(union) if one is not type(None))
