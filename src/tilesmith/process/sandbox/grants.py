"""Which files a walled-in child may use: its own folders, and what it takes to run Python, a compiler and a GPU."""

from __future__ import annotations

import functools
import glob
import os
import pwd
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/opt", "/nix/store", "/gnu/store")
_SYSTEM_FILES = (
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/alternatives"),
    *("/etc/localtime", "/etc/timezone", "/etc/os-release", "/etc/locale.alias"),
    *("/etc/nsswitch.conf", "/etc/passwd", "/etc/group", "/etc/nvidia", "/etc/OpenCL"),
)
"""No keys and no password hashes: /etc is not granted as a whole."""
_KERNEL = ("/proc", "/sys", "/run/opengl-driver")
READABLE_DEVICES = ("/dev/urandom", "/dev/random")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/nvidia*", "/dev/dri", "/dev/kfd", "/dev/dxg")
_TOOLS = ("cc", "gcc", "g++", "clang", "clang++", "ld", "as", "ptxas", "compute-sanitizer", "ncu")
_TOOL_VARIABLES = ("CC", "CXX")
_FOLDER_VARIABLES = ("CUDA_HOME", "CUDA_PATH", "ROCM_PATH", "HIP_PATH", "LD_LIBRARY_PATH")


@dataclass(frozen=True)
class Grants:
    """What one walled-in child may use beyond what every child needs."""

    readable: tuple[str, ...] = ()
    listable: tuple[str, ...] = ()
    """Folders whose names may be read; imports look there."""
    writable: tuple[str, ...] = ()
    tracing: bool = False
    """It starts a tool that watches another process, so it may trace and connect to what it started."""


NO_GRANTS = Grants()


@functools.cache
def system_paths() -> tuple[str, ...]:
    """Asked once per server, after its imports: what every child may read."""
    wanted = [*_SYSTEM, *_SYSTEM_FILES, *_KERNEL, *_python_folders(), *_tool_folders(), *_named_folders()]
    found: dict[str, None] = {}
    for path in (os.path.realpath(one) for one in (*wanted, *_package_folders())):
        if os.path.exists(path) and not any(path.startswith(f"{known}/") for known in found):
            found[path] = None
    return tuple(found)


def devices() -> list[str]:
    return [path for pattern in _DEVICES for path in glob.glob(pattern)]


def _python_folders() -> Iterator[str]:
    """Where the interpreter and its packages lie; not the folder it was started in, which comes first."""
    yield from (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix)
    yield os.path.dirname(os.path.realpath(sys.executable))
    yield from (entry for entry in sys.path[1:] if os.path.isabs(entry))
    yield str(Path(__file__).resolve().parents[3])


def _package_folders() -> Iterator[str]:
    """Of packages imported so far: those installed for editing lie anywhere, Triton's backends behind links."""
    for module in list(sys.modules.values()):
        places = vars(module).get("__path__") if module is not None else None
        yield from (str(place) for place in places or () if os.path.isabs(str(place)))


def _tool_folders() -> Iterator[str]:
    """Compilers outside the system's folders, with what lies beside them: PREFIX/bin/gcc needs PREFIX."""
    named = [os.environ[name].split()[0] for name in _TOOL_VARIABLES if os.environ.get(name, "").strip()]
    for tool in (*named, *_TOOLS):
        found = shutil.which(tool)
        if found is None:
            continue
        folder = Path(found).resolve().parent
        prefix = folder.parent
        yield str(prefix if folder.name == "bin" and not _holds_a_home(prefix) else folder)


def _named_folders() -> Iterator[str]:
    for name in _FOLDER_VARIABLES:
        for entry in os.environ.get(name, "").split(os.pathsep):
            if os.path.isabs(entry) and not _holds_a_home(Path(entry).resolve()):
                yield entry


def _holds_a_home(folder: Path) -> bool:
    """The user's home and whatever it lies in: too much to grant for one tool."""
    try:
        home = Path(pwd.getpwuid(os.getuid()).pw_dir).resolve()
    except (KeyError, OSError):
        return len(folder.parts) < 3
    return home.is_relative_to(folder)
