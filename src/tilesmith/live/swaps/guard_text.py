"""The guard of a live kernel as Python text: the tests of its call, and those of the module around it.

The text is a function with the signature of the module's own `forward`; a miss calls the original and counts why.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tilesmith.live.calls.call_records import CallSpec, TensorSpec
from tilesmith.live.calls.nests import BareText
from tilesmith.tasks.calls.call_tests import (
    CallTest,
    argument_tests,
    bindings,
    gradient_test,
    mode_test,
    write_tests,
)


@dataclass(frozen=True)
class GuardText:
    source: str
    reasons: tuple[str, ...]
    """Why a call missed, by the number that the text counts."""


def default_name(parameter: str) -> str:
    return f"_default_of_{parameter}"


def write_guard(spec: CallSpec, signature: inspect.Signature, flat: bool, recompute: bool) -> GuardText:
    """`flat`: the kernel takes the tensors one by one; `recompute`: gradients come from the original."""
    call, owners = _call(signature), owners_of(spec)
    parameters = [table_entry(one, owners) for one in spec.tensors if not one.is_buffer]
    gradients = gradient_test(spec, [f"{one}.requires_grad" for one in parameters])
    tests = [*argument_tests(spec), *_module_tests(spec), *([] if recompute else [gradients])]
    kernel_call = ", ".join(one.expression for one in spec.inputs) if flat else call
    recomputed = [f"    if {gradients.fails_if}:", f"        return _with_gradients({call})"]
    head = [
        *bindings([*(one.dtype for one in spec.inputs), *(one.dtype for one in spec.tensors)]),
        "_is_compiling, _is_autocast_enabled = _torch.compiler.is_compiling, _torch.is_autocast_enabled",
        f"def forward({_parameters(signature)}):",
    ]
    body = [
        *write_tests(tests, lambda number, _: f"_missed = {number}"),
        "else:",
        "    if not _is_compiling():",
        "        _hits[0] += 1",
        *(recomputed if recompute else []),
        f"    return _kernel({kernel_call})",
        "if not _is_compiling():",
        "    _misses[_missed] += 1",
        f"return _original({call})",
    ]
    text = "\n".join([*head, *(f"    {line}" for line in body), ""])
    return GuardText(text, tuple(test.reason for test in tests))


def _parameters(signature: inspect.Signature) -> str:
    defaults = [
        one if one.default is one.empty else one.replace(default=BareText(default_name(one.name)))
        for one in signature.parameters.values()
    ]
    return str(signature.replace(parameters=defaults))[1:-1]


def _call(signature: inspect.Signature) -> str:
    """Hands everything on to the original as it came."""
    written: dict[Any, str] = {
        inspect.Parameter.VAR_POSITIONAL: "*{0}",
        inspect.Parameter.VAR_KEYWORD: "**{0}",
        inspect.Parameter.KEYWORD_ONLY: "{0}={0}",
    }
    return ", ".join(written.get(one.kind, "{0}").format(one.name) for one in signature.parameters.values())


def _module_tests(spec: CallSpec) -> Iterator[CallTest]:
    """Tables are the module's own dictionaries: `parameters[owner]`, bound under a number each."""
    owners = owners_of(spec)
    for one in spec.tensors:
        kind = "_Tensor" if one.is_buffer else "_Parameter"
        yield CallTest(
            f"type(_owned := {table_entry(one, owners)}) is not {kind} or _owned.dtype is not _{one.dtype} "
            f"or _owned.shape != {one.shape!r} or _owned.device != _at",
            f"{one.name}: not as it was",
        )
    for name, value in spec.settings.items():
        owner, _, key = name.rpartition(".")
        yield CallTest(f"_attributes_{owners[owner]}.get({key!r}) != {value!r}", f"{name}: not {value!r}")
    for owner, number in owners.items():
        parent, _, key = owner.rpartition(".")
        if owner:
            yield CallTest(
                f"_children_{owners[parent]}.get({key!r}) is not _module_{number} or _has_hooks(_module_{number}) "
                f"or 'forward' in _attributes_{number}",
                f"{owner}: replaced, or with hooks that a kernel would leave out",
            )
    if spec.training is not None:
        yield mode_test(spec.training, [f"_module_{number}" for number in owners.values()])
    yield CallTest(f"_is_autocast_enabled({spec.device!r})", "autocast is on")
    yield CallTest(
        "not _is_compiling() and _functorch_interpreter() is not None",
        "inside a transform of torch.func",
    )


def owners_of(spec: CallSpec) -> dict[str, int]:
    """The module itself and every module inside it, numbered."""
    return {name: number for number, name in enumerate(["", *spec.inner])}


def table_entry(one: TensorSpec, owners: dict[str, int]) -> str:
    owner, _, key = one.name.rpartition(".")
    return f"_{'buffers' if one.is_buffer else 'parameters'}_{owners[owner]}.get({key!r})"
