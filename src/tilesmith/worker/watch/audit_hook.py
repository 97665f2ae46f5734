"""An audit hook: what no kernel needs and every attack on a judge does is stopped, and told, when it is tried.

Python raises an audit event before it opens a file, starts a process, loads native code or hands out a frame, and
an audit hook cannot be removed. The hook looks at whose code asked: torch and triton may do what they need, the
candidate may not. The first finding ends the process with its reason as the reply; no later code can take it back.

The hook explains; it is not the wall. What it misses runs into the sandbox.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from tilesmith.worker.watch import audit_events as events
from tilesmith.worker.watch.allowed_paths import AllowedPaths
from tilesmith.worker.watch.cheating_detected import CheatingDetected, Report, UnsupportedCode
from tilesmith.worker.watch.code_origin import Origin, frames, library_of, origin_of, responsible

Stack = list[FrameType]
Arguments = tuple[Any, ...]

_FRAME_ATTRIBUTES = ("tb_frame", "gi_frame", "cr_frame", "ag_frame", "f_back", "f_globals", "f_locals")
_CODE_ATTRIBUTES = ("__code__", "__defaults__", "__kwdefaults__")
_STEERING_VARIABLES = (
    *("TRITON_", "TILESMITH", "TORCHINDUCTOR_", "LD_", "PYTHON"),
    *("XDG_", "PATH", "HOME", "TMP", "CC", "CXX"),
)
"""Beginnings of names on which compilers, caches, imports and the judge rely."""
_HARMLESS_VARIABLES = ("TRITON_PRINT_AUTOTUNING", "PYTHONHASHSEED")
_OWN_PACKAGE = __name__.partition(".")[0]
_OTHER_COMPUTERS = (
    *("apex", "bitsandbytes", "cffi", "cuda", "cupy", "cutlass", "deepspeed", "flash_attn", "jax", "mxnet"),
    *("numba", "onnxruntime", "paddle", "pycuda", "scipy", "sgl_kernel", "tensorflow", "tensorrt", "tvm"),
    *("vllm", "xformers"),
)
"""Packages that would do the work in place of Triton."""
_QUIET_FILES = ("/platform.py", "/importlib/metadata/__init__.py", "/linecache.py", "/tokenize.py", "/locale.py")
_REFLECTING_FILES = ("inspect.py", "_pytree.py", "module.py")
"""Through them a candidate asks as if it asked itself: they hand frames on, or call what they are given."""
_REFLECTING_FUNCTIONS = ("walk_tb", "walk_stack")
_EXTENSION = "it builds a C++ extension: only Triton kernels are judged here"
_state = threading.local()


def install_hook(paths: AllowedPaths, report: Report) -> None:
    """From now on, until the process ends. `report` gets the reason and must not return."""

    def hook(event: str, arguments: Arguments) -> None:
        check = _CHECKS.get(event)
        if check is None or getattr(_state, "busy", False):
            return
        _state.busy = True
        try:
            stack = list(frames(1))
            reason = check(event, arguments, stack, paths)
            if reason is not None:
                kind = UnsupportedCode if reason == _EXTENSION else CheatingDetected
                report(kind(_located(reason, stack)))
        finally:
            _state.busy = False

    sys.addaudithook(hook)


def _located(reason: str, stack: Stack) -> str:
    for frame in stack:
        if origin_of(frame.f_code.co_filename) is Origin.CANDIDATE:
            return f"line {frame.f_lineno}: {reason}"
    return reason


def _by_candidate(stack: Stack) -> bool:
    """Python's own modules act for whoever calls them; a callback nobody stands behind is the candidate's too."""
    frame = responsible(stack)
    return frame is None or origin_of(frame.f_code.co_filename) is Origin.CANDIDATE


def _for_candidate(stack: Stack) -> bool:
    """Whether the candidate is nearer than we are: a library works for one of the two."""
    for frame in stack:
        if (origin := origin_of(frame.f_code.co_filename)) in (Origin.CANDIDATE, Origin.OURS):
            return origin is Origin.CANDIDATE
    return True


def _plainly_forbidden(event: str, arguments: Arguments, stack: Stack, _: AllowedPaths) -> str | None:
    """A library that is handed a function and calls it is no excuse."""
    if not _for_candidate(stack) or _imports(stack) or _by_quiet_module(stack):
        return None
    if _by_library(stack, ("triton",) if event in events.PROCESS else ("triton", "torch")):
        return None
    if event in events.FOLDERS and not _by_candidate(stack):
        return None
    return f"it {events.DEEDS[event]} ({_shown(event, arguments)}), which no kernel needs"


def _process(event: str, arguments: Arguments, stack: Stack, paths: AllowedPaths) -> str | None:
    """Triton starts a compiler; a C++ extension does too, and is not Triton."""
    if any("cpp_extension" in frame.f_code.co_filename for frame in stack):
        return _EXTENSION
    return _plainly_forbidden(event, arguments, stack, paths)


def _by_library(stack: Stack, trusted: tuple[str, ...]) -> bool:
    frame = responsible(stack)
    if frame is None or os.path.basename(frame.f_code.co_filename) in _REFLECTING_FILES:
        return False
    return library_of(frame.f_code.co_filename) in trusted


def _by_quiet_module(stack: Stack) -> bool:
    """Modules of Python that read what is installed and tell their caller a fact."""
    for frame in stack:
        if origin_of(frame.f_code.co_filename) is Origin.CANDIDATE:
            return False
        if frame.f_code.co_filename.endswith(_QUIET_FILES):
            return True
    return False


def _signal(event: str, arguments: Arguments, stack: Stack, _: AllowedPaths) -> str | None:
    """Not even by way of a library or a finalizer; only our own code ends its own processes."""
    if stack and origin_of(stack[0].f_code.co_filename) is Origin.OURS:
        return None
    return f"it {events.DEEDS[event]} ({_shown(event, arguments)})"


def _reflection(event: str, arguments: Arguments, stack: Stack, _: AllowedPaths) -> str | None:
    """warnings, logging and namedtuple ask for frames too: a direct question counts, or one through inspect."""
    if not stack or not _asks_directly(stack):
        return None
    return f"it {events.DEEDS[event]} ({_shown(event, arguments)})"


def _asks_directly(stack: Stack) -> bool:
    for frame in stack:
        name = frame.f_code.co_filename
        if origin_of(name) is Origin.CANDIDATE:
            return True
        reflecting = os.path.basename(name) in _REFLECTING_FILES or frame.f_code.co_name in _REFLECTING_FUNCTIONS
        if origin_of(name) is not Origin.NOBODY and not reflecting:
            return False
    return True


def _attribute(event: str, arguments: Arguments, stack: Stack, paths: AllowedPaths) -> str | None:
    name = arguments[1] if len(arguments) > 1 else ""
    writes = event != "object.__getattr__"
    watched = _CODE_ATTRIBUTES if writes else _FRAME_ATTRIBUTES
    if name not in watched or not _asks_directly(stack):
        return None
    deed = "changes running code" if writes else "looks into the process that judges it"
    return f"it {deed} ({name} of a {type(arguments[0]).__name__})"


def _open(event: str, arguments: Arguments, stack: Stack, paths: AllowedPaths) -> str | None:
    path, flags = arguments[0], arguments[2] if len(arguments) > 2 else 0
    if not isinstance(path, str | bytes | os.PathLike):
        strange = _by_candidate(stack) and not _by_quiet_module(stack)
        return "it touches open files of the process that judges it" if strange else None
    name = os.path.realpath(os.fsdecode(path))
    writes = bool((flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND))
    if name == os.devnull:
        return None
    if paths.is_task(name):
        return f"it reads the task ({os.path.basename(name)}): the reference must not do the work"
    if _by_candidate(stack):
        if not writes and _imports(stack) and paths.may_be_imported(name):
            return None
        if not writes and _by_quiet_module(stack) and paths.may_be_read(name):
            return None
        return f"it {'writes' if writes else 'reads'} a file ({name}), which no kernel needs"
    if not _for_candidate(stack):
        return None
    if paths.may_be_written(name) or (not writes and paths.may_be_read(name)):
        return None
    return f"it {'writes' if writes else 'reads'} a file ({name}) by way of a library"


def _imports(stack: Stack) -> bool:
    """Before any frame that decides: Python's import machinery, which is frozen."""
    for frame in stack:
        name = frame.f_code.co_filename
        if name.startswith("<frozen importlib"):
            return True
        if origin_of(name) in (Origin.CANDIDATE, Origin.LIBRARY, Origin.OURS):
            return False
    return False


def _import(event: str, arguments: Arguments, stack: Stack, paths: AllowedPaths) -> str | None:
    name = str(arguments[0])
    if not _by_candidate(stack):
        return None
    top = name.partition(".")[0]
    if top == _OWN_PACKAGE:
        return f"it imports {name}, the judge itself"
    if top in _OTHER_COMPUTERS and paths.is_installed(top):
        return f"it imports {name}: another library must not do the work"
    return None


def _environment(event: str, arguments: Arguments, stack: Stack, _: AllowedPaths) -> str | None:
    name = os.fsdecode(arguments[0])
    if name in _HARMLESS_VARIABLES or not name.startswith(_STEERING_VARIABLES) or not _by_candidate(stack):
        return None
    return f"it changes the environment ({name}), on which compilers and judges rely"


def _compile(event: str, arguments: Arguments, stack: Stack, paths: AllowedPaths) -> str | None:
    """Code compiled under the name of someone else's file would pass as theirs."""
    filename = os.fsdecode(arguments[1]) if len(arguments) > 1 and isinstance(arguments[1], str | bytes) else ""
    if not filename or not _by_candidate(stack) or _imports(stack):
        return None
    if origin_of(filename) in (Origin.CANDIDATE, Origin.NOBODY) and not filename.startswith("<frozen"):
        return None
    return f"it compiles code under a foreign file name ({filename})"


def _shown(event: str, arguments: Arguments) -> str:
    first = next((a for a in arguments if isinstance(a, str | bytes | int | list | tuple)), None)
    text = event if first is None else f"{event} {os.fsdecode(first) if isinstance(first, bytes) else first}"
    return text[:80]


_Check = Callable[[str, Arguments, Stack, AllowedPaths], str | None]
_FORBIDDEN = events.NETWORK + events.NATIVE + events.CODE + events.MAPPING + events.FOLDERS
_CHECKS: dict[str, _Check] = {
    **dict.fromkeys(_FORBIDDEN, _plainly_forbidden),
    **dict.fromkeys(events.PROCESS, _process),
    **dict.fromkeys(events.SIGNAL, _signal),
    **dict.fromkeys(events.REFLECTION, _reflection),
    **dict.fromkeys(events.ATTRIBUTES, _attribute),
    **dict.fromkeys(events.ENVIRONMENT, _environment),
    "open": _open,
    "import": _import,
    "compile": _compile,
}
