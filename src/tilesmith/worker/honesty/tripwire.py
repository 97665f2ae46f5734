"""Tripwires: what no kernel needs and every attack on a judge does is stopped, and told, the moment it is tried.

Python raises an audit event before it opens a file, starts a process, loads native code or hands out a frame, and
an audit hook cannot be removed. The hook looks at whose code asked: torch and triton may do what they need, the
candidate may not. The first trip ends the process with its reason as the reply, so no later code can take it back.

A tripwire explains; it is not the wall. What it misses runs into the sandbox.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from tilesmith.worker.honesty.origins import Origin, frames, origin_of, responsible
from tilesmith.worker.honesty.paths import Territory

Report = Callable[[str], None]

_PROCESS = [
    "os.fork",
    "os.forkpty",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "os.system",
    "subprocess.Popen",
    "pty.spawn",
    "os.startfile",
]
_SIGNAL = ["os.kill", "os.killpg", "signal.pthread_kill"]
_NETWORK = [
    "socket.__new__",
    "socket.connect",
    "socket.bind",
    "socket.sendto",
    "socket.sendmsg",
    "socket.getaddrinfo",
    "socket.gethostbyname",
    "urllib.Request",
    "ftplib.connect",
    "smtplib.connect",
    "http.client.connect",
]
_NATIVE = [
    "ctypes.dlopen",
    "ctypes.dlsym",
    "ctypes.dlsym/handle",
    "ctypes.call_function",
    "ctypes.cdata",
    "ctypes.cdata/buffer",
    "ctypes.string_at",
    "ctypes.wstring_at",
    "ctypes.addressof",
    "ctypes.PyObj_FromPtr",
    "ctypes.create_string_buffer",
]
_FOLDERS = [
    "os.listdir",
    "os.scandir",
    "os.walk",
    "os.fwalk",
    "glob.glob",
    "glob.glob/2",
    "os.mkdir",
    "os.rmdir",
    "os.remove",
    "os.rename",
    "os.link",
    "os.symlink",
    "os.truncate",
    "os.chmod",
    "os.chown",
    "os.chdir",
    "os.utime",
    "os.mknod",
    "os.lockf",
    "shutil.copyfile",
    "shutil.copymode",
    "shutil.copystat",
    "shutil.copytree",
    "shutil.move",
    "shutil.rmtree",
    "shutil.chown",
    "tempfile.mkstemp",
    "tempfile.mkdtemp",
    "os.setxattr",
    "os.removexattr",
]
_REFLECTION = [
    "gc.get_objects",
    "gc.get_referrers",
    "gc.get_referents",
    "sys._current_frames",
    "sys._current_exceptions",
    "sys._getframe",
]
_CODE = ["code.__new__", "function.__new__", "marshal.loads", "sys.settrace", "sys.setprofile", "sys.addaudithook"]

_SAYS: dict[str, str] = {
    **dict.fromkeys(_PROCESS, "starts a process"),
    **dict.fromkeys(_SIGNAL, "sends a signal"),
    **dict.fromkeys(_NETWORK, "opens a network connection"),
    **dict.fromkeys(_NATIVE, "calls native code past Triton"),
    **dict.fromkeys(_FOLDERS, "touches files and folders"),
    **dict.fromkeys(_REFLECTION, "looks into the process that judges it"),
    **dict.fromkeys(_CODE, "changes running code"),
    "mmap.__new__": "maps memory of its own",
}
_FRAME_ATTRIBUTES = (
    "tb_frame",
    "gi_frame",
    "cr_frame",
    "ag_frame",
    "f_back",
    "f_globals",
    "f_locals",
    "f_builtins",
)
_CODE_ATTRIBUTES = ("__code__", "__defaults__", "__kwdefaults__")
_HARMLESS_VARIABLES = ("TORCH_CUDA_ARCH_LIST", "TRITON_PRINT_AUTOTUNING", "TOKENIZERS_PARALLELISM")
_ALLOCATOR_VARIABLES = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "CUDA_LAUNCH_BLOCKING", "OMP_NUM_THREADS")
_OWN_PACKAGE = __name__.partition(".")[0]
_NATIVE_BUILDERS = ("torch.utils.cpp_extension", "cffi", "Cython", "numba", "pybind11")
_WELCOME = {"torch", "triton", "numpy", "typing_extensions", "einops", "packaging", "sympy", "mpmath"}
_REFLECTING_FILES = ("inspect.py",)
_REFLECTING_FUNCTIONS = ("walk_tb", "walk_stack")
_state = threading.local()


def arm(territory: Territory, report: Report) -> None:
    """From now on, until the process ends. `report` gets the reason and must not return."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        judge = _JUDGES.get(event)
        if judge is None or getattr(_state, "busy", False):
            return
        _state.busy = True
        try:
            stack = list(frames(1))
            reason = judge(event, arguments, stack, territory)
            if reason is not None:
                report(_located(reason, stack))
        finally:
            _state.busy = False

    sys.addaudithook(hook)


def _located(reason: str, stack: list[FrameType]) -> str:
    for frame in stack:
        if origin_of(frame.f_code.co_filename) is Origin.CANDIDATE:
            return f"line {frame.f_lineno}: {reason}"
    return reason


def _by_candidate(stack: list[FrameType]) -> bool:
    """Python's own modules act for whoever calls them; a callback nobody stands behind is the candidate's too."""
    frame = responsible(stack)
    return frame is None or origin_of(frame.f_code.co_filename) is Origin.CANDIDATE


def _for_candidate(stack: list[FrameType]) -> bool:
    """Whether the candidate is nearer than we are: a library works for one of the two."""
    for frame in stack:
        if (origin := origin_of(frame.f_code.co_filename)) in (Origin.CANDIDATE, Origin.OURS):
            return origin is Origin.CANDIDATE
    return True


def _plainly_forbidden(event: str, arguments: tuple[Any, ...], stack: list[FrameType], _: Territory) -> str | None:
    if not _by_candidate(stack) or _imports(stack):
        return None
    return f"it {_SAYS[event]} ({_shown(event, arguments)}), which no kernel needs"


def _process(event: str, arguments: tuple[Any, ...], stack: list[FrameType], home: Territory) -> str | None:
    """Triton starts a compiler; a C++ extension does too, and is not Triton."""
    if any("cpp_extension" in frame.f_code.co_filename for frame in stack):
        return "it builds a C++ extension: only Triton kernels are judged here"
    return _plainly_forbidden(event, arguments, stack, home)


def _signal(event: str, arguments: tuple[Any, ...], stack: list[FrameType], _: Territory) -> str | None:
    """Not even by way of a library or a finalizer; only our own code ends its own processes."""
    if stack and origin_of(stack[0].f_code.co_filename) is Origin.OURS:
        return None
    return f"it {_SAYS[event]} ({_shown(event, arguments)})"


def _reflection(event: str, arguments: tuple[Any, ...], stack: list[FrameType], _: Territory) -> str | None:
    """warnings, logging and namedtuple ask for frames too: a direct question counts, or one through inspect."""
    if not stack or not _asks_directly(stack):
        return None
    return f"it {_SAYS.get(event, 'looks into the process that judges it')} ({_shown(event, arguments)})"


def _asks_directly(stack: list[FrameType]) -> bool:
    for frame in stack:
        name = frame.f_code.co_filename
        if origin_of(name) is Origin.CANDIDATE:
            return True
        reflecting = os.path.basename(name) in _REFLECTING_FILES or frame.f_code.co_name in _REFLECTING_FUNCTIONS
        if not (origin_of(name) is Origin.NOBODY or (origin_of(name) is Origin.PYTHON and reflecting)):
            return False
    return True


def _attribute(event: str, arguments: tuple[Any, ...], stack: list[FrameType], home: Territory) -> str | None:
    name = arguments[1] if len(arguments) > 1 else ""
    writes = event != "object.__getattr__"
    watched = _CODE_ATTRIBUTES if writes else _FRAME_ATTRIBUTES + _CODE_ATTRIBUTES[:1]
    if name not in watched or not _asks_directly(stack):
        return None
    deed = "changes running code" if writes else "looks into the process that judges it"
    return f"it {deed} ({name} of a {type(arguments[0]).__name__})"


def _folder(event: str, arguments: tuple[Any, ...], stack: list[FrameType], home: Territory) -> str | None:
    if _imports(stack):
        return None
    if _by_candidate(stack):
        return f"it {_SAYS[event]} ({_shown(event, arguments)}), which no kernel needs"
    return None


def _open(event: str, arguments: tuple[Any, ...], stack: list[FrameType], home: Territory) -> str | None:
    path, flags = arguments[0], arguments[2] if len(arguments) > 2 else 0
    if not isinstance(path, str | bytes | os.PathLike):
        return "it touches open files of the process that judges it" if _by_candidate(stack) else None
    name = os.path.realpath(os.fsdecode(path))
    writes = bool((flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND))
    if name == os.devnull:
        return None
    if home.is_task(name):
        return f"it reads the task ({os.path.basename(name)}): the reference must not do the work"
    if _by_candidate(stack):
        if not writes and (_imports(stack) or _asks_for_source(stack)) and home.may_be_imported(name):
            return None
        return f"it {'writes' if writes else 'reads'} a file ({name}), which no kernel needs"
    if not _for_candidate(stack):
        return None
    if home.may_be_written(name) or (not writes and home.may_be_read(name)):
        return None
    return f"it {'writes' if writes else 'reads'} a file ({name}) by way of a library"


def _imports(stack: list[FrameType]) -> bool:
    """Before any frame that decides: Python's import machinery, which is frozen."""
    for frame in stack:
        name = frame.f_code.co_filename
        if name.startswith("<frozen importlib"):
            return True
        if origin_of(name) in (Origin.CANDIDATE, Origin.LIBRARY, Origin.OURS):
            return False
    return False


def _asks_for_source(stack: list[FrameType]) -> bool:
    """Warnings and tracebacks show the line they speak of."""
    return any(os.path.basename(frame.f_code.co_filename) in ("linecache.py", "tokenize.py") for frame in stack[:3])


def _import(event: str, arguments: tuple[Any, ...], stack: list[FrameType], home: Territory) -> str | None:
    name = str(arguments[0])
    if not _by_candidate(stack):
        return None
    top = name.partition(".")[0]
    if top == _OWN_PACKAGE:
        return f"it imports {name}, the judge itself"
    if any(name == builder or name.startswith(f"{builder}.") for builder in _NATIVE_BUILDERS):
        return f"it imports {name}: only Triton kernels are judged here"
    if top in sys.stdlib_module_names or top in _WELCOME or not home.is_installed(top):
        return None
    return f"it imports {name}: another library must not do the work"


def _environment(event: str, arguments: tuple[Any, ...], stack: list[FrameType], _: Territory) -> str | None:
    name = os.fsdecode(arguments[0])
    if name in _HARMLESS_VARIABLES + _ALLOCATOR_VARIABLES or not _by_candidate(stack):
        return None
    return f"it changes the environment ({name}), on which compilers and judges rely"


def _compile(event: str, arguments: tuple[Any, ...], stack: list[FrameType], home: Territory) -> str | None:
    """Code compiled under the name of someone else's file would pass as theirs."""
    filename = os.fsdecode(arguments[1]) if len(arguments) > 1 and isinstance(arguments[1], str | bytes) else ""
    if not filename or not _by_candidate(stack) or _imports(stack):
        return None
    if origin_of(filename) in (Origin.CANDIDATE, Origin.NOBODY):
        return None
    return f"it compiles code under a foreign file name ({filename})"


def _shown(event: str, arguments: tuple[Any, ...]) -> str:
    first = next((a for a in arguments if isinstance(a, str | bytes | int | list | tuple)), None)
    text = event if first is None else f"{event} {os.fsdecode(first) if isinstance(first, bytes) else first}"
    return text[:80]


_Judge = Callable[[str, tuple[Any, ...], list[FrameType], Territory], str | None]
_JUDGES: dict[str, _Judge] = {
    **dict.fromkeys(_NETWORK + _NATIVE + _CODE + ["mmap.__new__"], _plainly_forbidden),
    **dict.fromkeys(_PROCESS, _process),
    **dict.fromkeys(_SIGNAL, _signal),
    **dict.fromkeys(_REFLECTION, _reflection),
    **dict.fromkeys(_FOLDERS, _folder),
    **dict.fromkeys(("object.__getattr__", "object.__setattr__", "object.__delattr__"), _attribute),
    **dict.fromkeys(("os.putenv", "os.unsetenv"), _environment),
    "open": _open,
    "import": _import,
    "compile": _compile,
}
