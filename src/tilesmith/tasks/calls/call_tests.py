"""The tests of a call as flat Python text: they ask whether it is the one a kernel was verified for.

Written once per kernel, without loops, because a generic walk over arguments costs more than small kernels take.
What becomes of a call that fails one is for whoever writes the guard: best.py raises, a swapped forward calls the
original. Names that the text adds begin with an underscore, because parameters of `forward` may have any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from tilesmith.records import ArgumentSpec, Interface

MOST_ELEMENTS = 2**31
"""What offsets of 32 bits can reach: a kernel that was right at one size is so at another below this."""
_TO_NAME = {ord(character): "_" for character in "[]'\"."}


class CallTest(NamedTuple):
    fails_if: str
    reason: str
    """Why a call failed, to be counted."""
    told: str = ""
    """The same for whoever made the call, where that is more."""
    found: tuple[str, ...] = ()
    """The tensor that came instead."""


def write_tests(tests: Iterable[CallTest], react: Callable[[int, CallTest], str]) -> Iterator[str]:
    """One chain, in which the first test that fails reacts."""
    for number, test in enumerate(tests):
        yield f"{'elif' if number else 'if'} {test.fails_if}:"
        yield f"    {react(number, test)}"


def bindings(dtypes: Iterable[str | None]) -> list[str]:
    """Stand before the tests, so that less of torch is looked up at each call."""
    return [
        "import torch as _torch",
        "",
        "_Tensor, _Parameter = _torch.Tensor, _torch.nn.Parameter",
        *(f"_{dtype} = _torch.{dtype}" for dtype in dict.fromkeys(dtypes)),
    ]


def argument_tests(call: Interface, only_tensors: bool | None = None) -> Iterator[CallTest]:
    """`only_tensors`: those of tensors, or (False) all others."""
    letters: dict[str, str] = {}
    for one in call.arguments:
        name, value = one.expression, one.value
        if only_tensors is not None and only_tensors != (one.kind == "tensor"):
            continue
        if one.kind == "value":
            differs = f"type({name}) is not {type(value).__name__} or {name} != {value!r}"
            if value is None or isinstance(value, bool):
                differs = f"{name} is not {value}"
            yield CallTest(differs, f"{name}: not {value!r}", f"{name} must be {value!r}")
        elif one.kind == "dict":
            yield CallTest(f"type({name}) is not dict or list({name}) != {value!r}", f"{name}: other keys")
        elif one.kind in ("tuple", "list"):
            yield CallTest(f"type({name}) is not {one.kind} or len({name}) != {value}", f"{name}: another length")
        elif one.kind == "tensor":
            yield from _tensor_tests(one, call, letters)


def _tensor_tests(one: ArgumentSpec, call: Interface, letters: dict[str, str]) -> Iterator[CallTest]:
    name, wanted = one.expression, f"{one.describe()} is wanted"
    other_type = f"type({name}) is not _Tensor and type({name}) is not _Parameter"
    yield CallTest(other_type, f"{name}: not a plain tensor")
    yield CallTest(f"{name}.dtype is not _{one.dtype}", f"{name}: not {one.dtype}", wanted, (name,))
    yield from layout_tests(one, letters)
    first = call.inputs[0].expression
    if name != first:
        yield CallTest(f"{name}.device != _at", f"{name}: on another device than {first}")
        return
    differs = f"(_at := {name}.device).type != {call.device or 'cuda'!r}"
    if not call.device:
        differs += " and not (_interpreted and _at.type == 'cpu')"
    if call.device != "cpu":  # Triton launches on the current one
        differs += " or _at.type == 'cuda' and _at.index != _torch.cuda.current_device()"
    told = f"{name} must be on a GPU, the current one (TRITON_INTERPRET=1 before the import takes CPU tensors)"
    yield CallTest(differs, f"{name}: on another device", told)


def layout_tests(one: ArgumentSpec, letters: dict[str, str]) -> Iterator[CallTest]:
    """`letters` remembers where each size that may be any stands first."""
    name = one.expression
    shown = ", ".join("any" if isinstance(size, str) else str(size) for size in one.shape)
    wanted = f"{one.describe()} is wanted"
    yield CallTest(_shape_differs(one, letters), f"{name}: not of shape [{shown}]", wanted, (name,))
    if "any" in shown:
        reason = f"{name}: empty, or more than 2**31 elements"
        yield CallTest(f"not 0 < {name}.numel() < {MOST_ELEMENTS}", reason)
    if one.stride is None:
        yield CallTest(f"not {name}.is_contiguous()", f"{name}: not contiguous")
    elif one.stride:
        yield CallTest(f"{name}.stride() != {one.stride!r}", f"{name}: other strides")


def _shape_differs(one: ArgumentSpec, letters: dict[str, str]) -> str:
    if all(isinstance(size, int) for size in one.shape):
        return f"{one.expression}.shape != {one.shape!r}"
    sizes = f"_shape_of_{one.expression.translate(_TO_NAME)}"
    tests = [f"len({sizes} := {one.expression}.shape) != {len(one.shape)}"]
    for place, size in enumerate(one.shape):
        here = f"{sizes}[{place}]"
        there = str(size) if isinstance(size, int) else letters.setdefault(size, here)
        if there != here:
            tests.append(f"{here} != {there}")
    return " or ".join(tests)


def gradient_test(call: Interface, of_parameters: Iterable[str]) -> CallTest:
    needed = [*(f"{one.expression}.requires_grad" for one in call.inputs), *of_parameters]
    return CallTest(
        f"_torch.is_grad_enabled() and ({' or '.join(needed)})",
        "gradients are needed, and the kernel has none",
        "forward only: call it under torch.no_grad()",
    )


def mode_test(training: bool, modules: Iterable[str]) -> CallTest:
    differs = " or ".join(f"{one}.training is not {training}" for one in modules)
    if training:
        return CallTest(differs, "not in training mode", "training mode only")
    return CallTest(differs, "not in evaluation mode", "eval mode only")
