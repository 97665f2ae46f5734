"""Private names of triton's interpreter and of the inside of `triton.language`, on which the interpreter builds.

Only a process that interprets imports this. A pair of owner and name is what `patches.Replacement` begins with.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any

import triton.language as tl
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.language import core, standard
from triton.language.semantic import TritonSemantic
from triton.runtime import interpreter
from triton.runtime.interpreter import InterpretedFunction, InterpreterBuilder, InterpreterOptions

__all__ = ["InterpretedFunction", "InterpreterBuilder", "InterpreterOptions", "TritonSemantic"]

TENSOR_HANDLE = (interpreter, "TensorHandle")
NUMPY_DTYPE = (interpreter, "_get_np_dtype")
BUILDER = (interpreter, "interpreter_builder")
SEMANTIC = (interpreter, "interpreter_semantic")

ROUND_TOWARD_ZERO = ir.ROUNDING_MODE.RTZ
NAN_LOSES = ir.PROPAGATE_NAN.NONE
TF32_INPUTS = ir.INPUT_PRECISION.TF32

CHAINED_COMPARISONS = hasattr(interpreter, "_InterpreterComparison")
"""Older compilers refuse `0 <= x < n`; those that accept it brought this class along."""
MIN_AND_MAX_OF_MANY = hasattr(core, "builtin_max")
TUPLES = (tuple, core.tuple) if hasattr(core, "tuple") else (tuple,)
ADDRESSING_HANDLES: tuple[type, ...] = tuple(
    vars(interpreter)[name] for name in ("TensorDescHandle", "BlockPointerHandle") if hasattr(interpreter, name)
)
"""Values that compute addresses themselves."""

_LIBDEVICE, _CUDA_LIBDEVICE = "triton.language.extra.libdevice", "triton.language.extra.cuda.libdevice"
_COMBINE_FUNCTIONS = (
    "_sum_combine",
    "_elementwise_max",
    "_elementwise_min",
    "_argmax_combine_tie_break_left",
    "_argmax_combine_tie_break_fast",
    "_argmin_combine_tie_break_left",
    "_argmin_combine_tie_break_fast",
)


def combine_functions() -> dict[str, Any]:
    """What the language's own reductions combine two values with: `sum_combine` and the like, by name."""
    known = vars(standard)
    return {name.removeprefix("_"): known[name].fn for name in _COMBINE_FUNCTIONS if name in known}


def smallest(*values: Any) -> Any:
    """`min` of several values in a kernel; looked up when it is called, because the language is bound later."""
    return core.builtin_min(*values)


def largest(*values: Any) -> Any:
    """`max` of several values in a kernel."""
    return core.builtin_max(*values)


def context_keyword() -> str:
    """The keyword for a builtin's semantic layer: `_semantic` since Triton 3.4, `_builder` before."""
    return "_semantic" if "_semantic" in inspect.signature(core.load).parameters else "_builder"


def language_builtins() -> Iterator[tuple[Any, str, Callable[..., Any]]]:
    """(owner, name, function) for each builtin of the language, in every module and value class that names it."""
    for owner in [*_language_modules(), *_value_classes()]:
        for name, member in list(vars(owner).items()):
            if core.is_builtin(member):
                yield owner, name, member


def core_functions(names: Iterable[str]) -> Iterator[tuple[ModuleType, str]]:
    """(module, name) wherever a module of the language holds one of the core's functions under its own name."""
    originals = {name: vars(core)[name] for name in names if hasattr(core, name)}
    for module in _language_modules():
        for name, original in originals.items():
            if vars(module).get(name) is original:
                yield module, name


def libdevice_stubs() -> Iterator[tuple[ModuleType, str, Any]]:
    """(module, name, CUDA's function): the portable module holds empty stubs, which the compiler maps."""
    portable, cuda = (importlib.import_module(name) for name in (_LIBDEVICE, _CUDA_LIBDEVICE))
    for name in vars(portable):
        if not name.startswith("_") and hasattr(cuda, name):
            yield portable, name, getattr(cuda, name)


def compiler_options() -> set[str]:
    """The names of all options that the backends' compilers know."""
    found: set[str] = set()
    for backend, options in (("nvidia", "CUDAOptions"), ("amd", "HIPOptions")):
        try:
            cls = getattr(importlib.import_module(f"triton.backends.{backend}.compiler"), options)
        except (ImportError, AttributeError):
            continue
        found |= {item.name for item in dataclasses.fields(cls)}
    return found


def smallest_dot() -> Callable[[Any, Any], tuple[int, int, int]]:
    """The tile sizes below which the CUDA compiler refuses tl.dot."""
    try:
        from triton.backends.nvidia.compiler import min_dot_size
    except ImportError:
        return lambda lhs, rhs: (1, 1, 1)
    return min_dot_size(GPUTarget("cuda", 90, 32))


def _language_modules() -> list[ModuleType]:
    for name in (_LIBDEVICE, _CUDA_LIBDEVICE):
        importlib.import_module(name)
    return [module for name, module in list(sys.modules.items()) if name.split(".")[:2] == ["triton", "language"]]


def _value_classes() -> list[type]:
    base = core.tensor_descriptor_base if hasattr(core, "tensor_descriptor_base") else tl.tensor
    found = [c for c in vars(core).values() if inspect.isclass(c) and issubclass(c, tl.tensor | base)]
    return list(dict.fromkeys(found))
