"""Functions that no kernel needs and that raise no audit event: blocked while candidate code runs."""

from __future__ import annotations

import _thread
import atexit
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from tilesmith.worker.compat.patches import Replacement, replaced
from tilesmith.worker.compat.torch_names import COMPILE_KERNEL
from tilesmith.worker.watch.cheating_detected import CheatingDetected, Report, UnsupportedCode
from tilesmith.worker.watch.code_origin import Origin, frames, origin_of, responsible

_COMPILER = "it lets {name} write the kernels: Triton kernels of its own are asked for"
_THREAD = "it starts a thread ({name}): what runs beside forward is not seen by its clock"
_LATER = "it puts work off until the process ends ({name})"
_SIGNALS = "it takes over signals of the process that judges it ({name})"
_FILES = "it reads a file past Python ({name})"
_ALLOCATOR = "it replaces torch's allocator ({name})"
_CHANNEL = "it touches open files of the process that judges it ({name})"
_DESCRIPTOR_FUNCTIONS = ("write", "writev", "read", "dup", "dup2", "readlink", "close", "closerange")

_WANTED: tuple[tuple[Any, str, str], ...] = (
    (torch, "compile", _COMPILER),
    (torch.nn.Module, "compile", _COMPILER),
    (torch.jit, "script", _COMPILER),
    (torch.jit, "trace", _COMPILER),
    (_thread, "start_new_thread", _THREAD),
    (_thread, "start_joinable_thread", _THREAD),
    (threading, "_start_new_thread", _THREAD),
    (threading, "_start_joinable_thread", _THREAD),
    (atexit, "register", _LATER),
    (signal, "signal", _SIGNALS),
    (signal, "alarm", _SIGNALS),
    (signal, "setitimer", _SIGNALS),
    (torch, "from_file", _FILES),
    (torch.cuda.memory, "change_current_allocator", _ALLOCATOR),
    (*COMPILE_KERNEL, _COMPILER),
    *((os, name, _CHANNEL) for name in _DESCRIPTOR_FUNCTIONS),
)
"""Owner, name, and what it means that a candidate went through."""
_BLOCKED = tuple(function for function in _WANTED if hasattr(function[0], function[1]))
"""Releases of Python and torch differ."""


@contextmanager
def blocked(report: Report) -> Iterator[dict[tuple[int, str], Any]]:
    """Yields what takes the place of each function, for whoever checks that nothing was replaced."""
    replacements = [Replacement(*function[:2], _guarded(*function, report)) for function in _BLOCKED]
    with replaced(replacements):
        yield {(id(owner), name): value for owner, name, value in replacements}


def _guarded(owner: Any, name: str, meaning: str, report: Report) -> Callable[..., Any]:
    shown = f"{getattr(owner, '__name__', owner)}.{name}"
    block = _refusing_what_it_makes if meaning is _COMPILER else _refusing
    return block(getattr(owner, name), meaning.format(name=shown), report)


def _refusing(original: Callable[..., Any], meaning: str, report: Report) -> Callable[..., Any]:
    def guard(*args: Any, **kwargs: Any) -> Any:
        stack = list(frames(1))
        frame = stack[0] if name_of(original) in _DESCRIPTOR_FUNCTIONS else responsible(stack)
        if frame is not None and origin_of(frame.f_code.co_filename) is Origin.CANDIDATE:
            report(CheatingDetected(f"line {frame.f_lineno}: {meaning}"))
        return original(*args, **kwargs)

    guard.__name__ = name_of(original)  # and no __wrapped__: it would lead past the guard
    return guard


def _refusing_what_it_makes(original: Callable[..., Any], meaning: str, report: Report) -> Callable[..., Any]:
    """Compiling a function that is never called hurts nobody; calling it is what counts."""

    def refused(*_: Any, **__: Any) -> None:
        frame = responsible(list(frames(1)))
        report(UnsupportedCode(f"line {frame.f_lineno}: {meaning}" if frame is not None else meaning))

    def guard(function: Any = None, *args: Any, **kwargs: Any) -> Any:
        frame = responsible(list(frames(1)))
        if frame is None or origin_of(frame.f_code.co_filename) is not Origin.CANDIDATE:
            return original(function, *args, **kwargs)
        return refused if function is not None else lambda _: refused

    guard.__name__ = name_of(original)
    return guard


def name_of(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", "guard"))
