"""The guard of a kernel as flat Python text: it tests what the kernel was judged for, and nothing is looped over.

Generated once and executed once, because a generic walk over arguments costs more than small kernels take. The text
is a function with the signature of the module's own `forward`; a miss calls the original and counts its reason.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from tilesmith.live.calls.call_records import ArgumentSpec, CallSpec, TensorSpec

_MOST_ELEMENTS = 2**31
"""What offsets of 32 bits can reach: a kernel that was right at one size is so at another below this."""


@dataclass(frozen=True)
class GuardText:
    source: str
    reasons: tuple[str, ...]
    """Why a call missed, by the number that the text counts."""


class _Test(NamedTuple):
    fails_if: str
    reason: str


def default_name(parameter: str) -> str:
    return f"default_of_{parameter}"


def write_guard(spec: CallSpec, signature: inspect.Signature, flat: bool, recompute: bool) -> GuardText:
    """`flat`: the kernel takes the tensors one by one; `recompute`: gradients come from the original."""
    tests = [*_argument_tests(spec), *_module_tests(spec)]
    needs_gradients = _needs_gradients(spec)
    if not recompute:
        tests.append(_Test(needs_gradients, "gradients are needed, and the kernel has none"))
    call = _call(signature)
    kernel_call = ", ".join(one.expression for one in spec.inputs) if flat else call
    lines = [f"def forward({_parameters(signature)}):"]
    for number, test in enumerate(tests):
        lines += [f"    {'elif' if number else 'if'} {test.fails_if}:", f"        missed = {number}"]
    lines += ["    else:", "        if not is_compiling():", "            hits[0] += 1"]
    if recompute:
        lines += [f"        if {needs_gradients}:", f"            return with_gradients({call})"]
    lines += [f"        return kernel({kernel_call})"]
    lines += ["    if not is_compiling():", "        misses[missed] += 1", f"    return original({call})"]
    return GuardText("\n".join(lines) + "\n", tuple(test.reason for test in tests))


def _parameters(signature: inspect.Signature) -> str:
    defaults = [
        one if one.default is one.empty else one.replace(default=_Expression(default_name(one.name)))
        for one in signature.parameters.values()
    ]
    return str(signature.replace(parameters=defaults))[1:-1]


class _Expression(str):
    """Text that a signature prints without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _call(signature: inspect.Signature) -> str:
    """Hands everything on to the original as it came."""
    written: dict[Any, str] = {
        inspect.Parameter.VAR_POSITIONAL: "*{0}",
        inspect.Parameter.VAR_KEYWORD: "**{0}",
        inspect.Parameter.KEYWORD_ONLY: "{0}={0}",
    }
    return ", ".join(written.get(one.kind, "{0}").format(one.name) for one in signature.parameters.values())


def _argument_tests(spec: CallSpec) -> Iterator[_Test]:
    first = spec.inputs[0].expression
    free: dict[int, str] = {}
    for one in spec.arguments:
        name = one.expression
        if one.kind == "value":
            yield _value_test(one)
        elif one.kind == "dict":
            yield _Test(f"type({name}) is not dict or list({name}) != {one.value!r}", f"{name}: other keys")
        elif one.kind != "tensor":
            yield _Test(f"type({name}) is not {one.kind} or len({name}) != {one.value}", f"{name}: another length")
        else:
            yield _Test(
                f"type({name}) is not Tensor and type({name}) is not Parameter", f"{name}: not a plain tensor"
            )
            yield _Test(f"{name}.dtype is not {one.dtype}", f"{name}: not {one.dtype}")
            yield from _shape_tests(one, free)
            if one.stride is None:
                yield _Test(f"not {name}.is_contiguous()", f"{name}: not contiguous")
            else:
                yield _Test(f"{name}.stride() != {one.stride!r}", f"{name}: other strides")
            if name == first:
                current = " or at.index != current_device()" if spec.device == "cuda" else ""
                yield _Test(f"(at := {name}.device).type != {spec.device!r}{current}", f"{name}: on another device")
            else:
                yield _Test(f"{name}.device != at", f"{name}: on another device than {first}")


def _value_test(one: ArgumentSpec) -> _Test:
    name, value = one.expression, one.value
    if value is None or isinstance(value, bool):
        return _Test(f"{name} is not {value!r}", f"{name}: not {value!r}")
    return _Test(f"type({name}) is not {type(value).__name__} or {name} != {value!r}", f"{name}: not {value!r}")


def _shape_tests(one: ArgumentSpec, free: dict[int, str]) -> Iterator[_Test]:
    """`free` remembers which dimensions must be alike, because they were when the kernel was judged."""
    name, shape = one.expression, one.shape or ()
    if not one.free:
        yield _Test(f"{name}.shape != {shape!r}", f"{name}: not of shape {list(shape)}")
        return
    size = f"shape_of_{name.translate(_TO_NAME)}"
    fixed = [f"{size}[{place}] != {length}" for place, length in enumerate(shape) if place not in one.free]
    alike = []
    for place in one.free:
        here = f"{size}[{place}]"
        if (there := free.setdefault(shape[place], here)) != here:
            alike.append(f"{here} != {there}")
    known = [f"len({size} := {name}.shape) != {len(shape)}", *fixed, *alike]
    shown = ["any" if place in one.free else length for place, length in enumerate(shape)]
    yield _Test(" or ".join(known), f"{name}: not of shape [{', '.join(map(str, shown))}]")
    yield _Test(f"not 0 < {name}.numel() < {_MOST_ELEMENTS}", f"{name}: empty, or more than 2**31 elements")


_TO_NAME = {ord(character): "_" for character in "[]'\"."}


def _module_tests(spec: CallSpec) -> Iterator[_Test]:
    """Tables are the module's own dictionaries: `parameters[owner]`, bound under a number each."""
    owners = owners_of(spec)
    for one in spec.tensors:
        place = table_entry(one, owners)
        yield _Test(
            f"(tensor := {place}) is None or tensor.dtype is not {one.dtype} or tensor.shape != {one.shape!r} "
            f"or tensor.device != at or type(tensor) is not {'Tensor' if one.is_buffer else 'Parameter'}",
            f"{one.name}: not as it was",
        )
    for name, value in spec.settings.items():
        owner, _, key = name.rpartition(".")
        yield _Test(f"attributes_{owners[owner]}.get({key!r}) != {value!r}", f"{name}: not {value!r}")
    for owner, number in owners.items():
        parent, _, key = owner.rpartition(".")
        if owner:
            yield _Test(
                f"children_{owners[parent]}.get({key!r}) is not module_{number} or has_hooks(module_{number}) "
                f"or 'forward' in attributes_{number}",
                f"{owner}: replaced, or with hooks that a kernel would leave out",
            )
    if spec.training is not None:
        modes = " or ".join(f"module_{number}.training is not {spec.training}" for number in owners.values())
        yield _Test(modes, f"not in {'training' if spec.training else 'evaluation'} mode")
    yield _Test(f"is_autocast_enabled({spec.device!r})", "autocast is on")
    yield _Test("not is_compiling() and functorch_interpreter() is not None", "inside a transform of torch.func")


def owners_of(spec: CallSpec) -> dict[str, int]:
    """The module itself and every module inside it, numbered."""
    return {name: number for number, name in enumerate(["", *spec.inner])}


def table_entry(one: TensorSpec, owners: dict[str, int]) -> str:
    owner, _, key = one.name.rpartition(".")
    return f"{'buffers' if one.is_buffer else 'parameters'}_{owners[owner]}.get({key!r})"


def _needs_gradients(spec: CallSpec) -> str:
    owners = owners_of(spec)
    asked = [f"{one.expression}.requires_grad" for one in spec.inputs]
    asked += [f"{table_entry(one, owners)}.requires_grad" for one in spec.tensors if not one.is_buffer]
    return f"is_grad_enabled() and ({' or '.join(asked)})"
