"""Private names of triton with which kernels are launched and compiled, for a GPU that is here or not."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any

from triton._utils import find_paths_if, get_iterable_path
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, CompiledKernel
from triton.compiler.errors import CompilationError
from triton.runtime.autotuner import Autotuner
from triton.runtime.driver import driver
from triton.runtime.errors import OutOfResources
from triton.runtime.jit import JITFunction, TensorWrapper, mangle_type

__all__ = [
    "ASTSource",
    "Autotuner",
    "CompilationError",
    "CompiledKernel",
    "GPUTarget",
    "JITFunction",
    "OutOfResources",
    "TensorWrapper",
    "find_paths_if",
    "get_iterable_path",
    "mangle_type",
]


def active_driver() -> Any:
    """That of the GPU; asking for it fails without one."""
    return driver.active


def set_driver(new: Any) -> None:
    """For the rest of this process; also under TRITON_INTERPRET=1."""
    driver.set_active(new)


@contextlib.contextmanager
def driver_replaced(new: Any) -> Iterator[None]:
    """For the block only. What was active before is kept by value: reading it could fail without a GPU."""
    before = dict(vars(driver))
    set_driver(new)
    try:
        yield
    finally:
        vars(driver).clear()
        vars(driver).update(before)


def warm_up(compiles: bool) -> None:
    """What triton does at its first launch and its first compilation, and remembers: half a second for each child.

    Releases differ, and nothing depends on it.
    """
    with contextlib.suppress(Exception):
        importlib.import_module("triton.experimental.gluon")
    if compiles:
        with contextlib.suppress(Exception):
            importlib.import_module("triton.runtime.cache").triton_key()
