"""What a candidate's process may answer. Its code could forge any reply, so every field is checked before use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Check = Callable[[Any], bool]
_LARGEST = 1e15
"""More than any count or time of ours, less than what breaks arithmetic."""


def _is_list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _or_none(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _LARGEST


def _count(value: Any) -> bool:
    return isinstance(value, int) and _number(value)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _share(value: Any) -> bool:
    return _number(value) and value <= 1


def _sample(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_number, value))


def _step(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and _text(value[0]) and _count(value[1])


def _digest(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(one, int | float) for one in value)


def _words(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_text, value.values()))


def _fingerprint(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 3:
        return False
    kernel, grid, arguments = value
    return _text(kernel) and _is_list_of(_count)(grid) and _or_none(_words)(arguments)


def _call(value: Any) -> bool:
    return isinstance(value, dict) and _matches(value, {"launches": _is_list_of(_fingerprint), "complete": _flag})


def _kernel(value: Any) -> bool:
    return isinstance(value, dict) and _matches(value, _KERNEL) and set(value) <= set(_KERNEL)


_KERNEL: dict[str, Check] = {
    "kernel": _text,
    "target": _text,
    "registers": _or_none(_count),
    "spills": _or_none(_count),
    "shared_bytes": _or_none(_count),
    "tensor_core": _or_none(_flag),
    "num_warps": _or_none(_count),
    "num_stages": _or_none(_count),
}
_REPLIES: dict[str, dict[str, Check]] = {
    "run": {
        "launches": _is_list_of(_text),
        "changed_inputs": _is_list_of(_count),
        "devices": _is_list_of(_text),
        "damage": _or_none(_text),
        "autotuned": _count,
        "unjoined": _is_list_of(_text),
        "torchs_steps": _is_list_of(_step),
    },
    "replay": {
        "answered": _is_list_of(_text),
        "stops": _flag,
        "changes": _or_none(_text),
        "first_call": _or_none(_call),
    },
    "first_call": {"first_call": _or_none(_call)},
    "construct": {"stale": _is_list_of(_text)},
    "record": {"launches": _is_list_of(_text), "programs": _count},
    "record_exact": {
        "launches": _is_list_of(_text),
        "programs": _count,
        "torchs_steps": _is_list_of(_step),
    },
    "compile": {"resources": _is_list_of(_kernel)},
    "inspect": {
        "resources": _is_list_of(_kernel),
        "triton_time_share": _or_none(_share),
        "unjoined": _is_list_of(_text),
    },
    "time": {
        "samples": _is_list_of(_sample),
        "digests": _is_list_of(_is_list_of(_digest)),
        "straggling_ms": _is_list_of(_number),
        "launches": _count,
    },
}
"""Per request, the fields that must be there; requests not listed answer nothing that is used."""


def is_genuine(op: str, reply: Any) -> bool:
    return isinstance(reply, dict) and _matches(reply, _REPLIES.get(op, {}))


def _matches(reply: dict[str, Any], wanted: dict[str, Check]) -> bool:
    return all(name in reply and check(reply[name]) for name, check in wanted.items())
