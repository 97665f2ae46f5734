"""Questions about triton's JITFunction objects that triton itself does not answer."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterable
from typing import Any

from tilesmith.worker.compat.triton_names import JITFunction


def def_line(fn: Any) -> int:
    """Where `def` stands in the file: triton's starting line is that of the first decorator."""
    before_def = itertools.takewhile(lambda line: not line.strip().startswith("def "), fn.raw_src)
    return int(fn.starting_line_number) + sum(1 for _ in before_def)


def reachable(roots: Iterable[Any]) -> list[Any]:
    """The jit functions among the roots and those they can name, outside triton itself."""
    found: dict[int, Any] = {}
    waiting = list(roots)
    while waiting:
        fn = waiting.pop()
        if not isinstance(fn, JITFunction) or id(fn) in found or fn.__module__.startswith("triton."):
            continue
        found[id(fn)] = fn
        waiting += [*fn.__globals__.values(), *inspect.getclosurevars(fn.fn).nonlocals.values()]
    return list(found.values())


def source_key(fn: Any) -> str:
    """Equal for equal source, so that a kernel defined anew on every call counts once."""
    try:
        return str(fn.cache_key)
    except Exception:
        # It refers to something triton refuses; compiling it will say what.
        forget_failed_hashes([fn])
        return f"{fn.__module__}.{fn.__qualname__}@{id(fn)}"


def forget_failed_hashes(roots: Iterable[Any]) -> None:
    """A hash that fails leaves a placeholder behind, under which the next try would hide
    the fault and put its binary into the shared cache."""
    for fn in reachable(roots):
        if str(fn.hash).startswith("recursion:"):
            fn.hash = None
