"""Records to JSON and back, across the border between processes: what does not fit its type is not believed.

A request is a frozen record whose base names the record that answers it: `class WriteInputs(Request[FileWritten])`.
A candidate's process could forge any reply, so `decode` checks every field, and refuses fields that are too many.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, get_args

from tilesmith.records.json_records import Malformed, read_value

__all__ = ["Done", "Malformed", "Request", "RequestFailed", "RequestFailure", "decode", "encode", "reply_type"]

R = TypeVar("R")


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
    return read_value(kind, data, exact=True)  # type: ignore[no-any-return]


def reply_type(request: type[Request[R]]) -> type[R]:
    return get_args(request.__orig_bases__[0])[0]  # type: ignore[attr-defined, no-any-return]
