"""The guard of a live kernel as Python text: the tests of its call, and those of the module around it.

The text is a function with the signature of the module's own `forward`; a miss calls the original and counts why.
Tensors are examined one by one only until a call has passed: whether others are as those were is one question.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import nn

from tilesmith.live.calls.call_records import CallSpec, TensorSpec
from tilesmith.live.calls.nests import BareText
from tilesmith.live.calls.torch_names import buffer_table, child_table, parameter_table
from tilesmith.tasks.calls.call_tests import (
    CallTest,
    argument_tests,
    bindings,
    gradient_test,
    layout_tests,
    mode_test,
    write_tests,
)

_CONTAINERS = nn.Sequential | nn.ModuleList | nn.ModuleDict | nn.ParameterList | nn.ParameterDict


@dataclass(frozen=True)
class GuardText:
    source: str
    reasons: tuple[str, ...]
    """Why a call missed, by the number that the text counts."""


def default_name(parameter: str) -> str:
    return f"_default_of_{parameter}"


def write_guard(
    module: nn.Module, spec: CallSpec, signature: inspect.Signature, flat: bool, recompute: bool
) -> GuardText:
    """`flat`: the kernel takes the tensors one by one; `recompute`: gradients come from the original."""
    call, names, owners = _call(signature), ", ".join(signature.parameters), owners_of(spec)
    owned = [_table_entry(one, owners) for one in spec.tensors]
    groups = _groups(module, spec, owned)
    gradients = gradient_test(spec, [f"{one}.requires_grad" for one in owned])
    examined = [*argument_tests(spec, only_tensors=True), *_owned_tests(spec), *_context_tests(spec)]
    tests = [
        *argument_tests(spec, only_tensors=False),
        *_module_tests(module, spec),
        CallTest(f"({_is_new(spec, groups)}) and (_missed := _examine({names})) is not None", ""),
        CallTest("_has_dual_tensors()", "forward-mode gradients are needed, and the kernel has none"),
        *([] if recompute else [gradients]),
    ]
    kernel_call = ", ".join(one.expression for one in spec.inputs) if flat else call
    recomputed = [f"    if {gradients.fails_if}:", f"        return _with_gradients({call})"]
    lines = [
        *bindings([*(one.dtype for one in spec.inputs), *(one.dtype for one in spec.tensors)]),
        "_is_compiling, _is_autocast_enabled = _torch.compiler.is_compiling, _torch.is_autocast_enabled",
        f"def _examine({names}):",
        *(f"    {line}" for line in write_tests(examined, lambda number, _: f"return {number + len(tests)}")),
        "    if not _is_compiling():",
        *(
            f"        _known[{place}] = _remember(({', '.join(group)},), {sizes})"
            for place, (group, sizes) in enumerate(groups)
        ),
        f"        _known[-1] = {spec.inputs[0].expression}.device.index",
        f"def forward({_parameters(signature)}):",
        *(f"    {line}" for line in write_tests(tests, _count_miss)),
        "    else:",
        "        if not _traced:",
        "            _hits[0] += 1",
        *(f"    {line}" for line in (recomputed if recompute else [])),
        f"        return _kernel({kernel_call})",
        "    if not _is_compiling():",
        "        _misses[_missed] += 1",
        f"    return _original({call})",
        "",
    ]
    return GuardText("\n".join(lines), tuple(test.reason for test in [*tests, *examined]))


def _count_miss(number: int, test: CallTest) -> str:
    return f"_missed = {number}" if test.reason else "pass"


class _Group(NamedTuple):
    """Tensors that are remembered together, because none of them comes twice."""

    expressions: list[str]
    sizes: list[list[int | None]]


def _groups(module: nn.Module, spec: CallSpec, owned: list[str]) -> list[_Group]:
    """Each input apart, since one tensor may be handed over twice; the module's own with the first, unless tied."""
    groups = [
        _Group([one.expression], [[None if isinstance(size, str) else size for size in one.shape]])
        for one in spec.inputs
    ]
    members: list[set[int]] = [set() for _ in groups]
    for one, expression in zip(spec.tensors, owned, strict=True):
        tensor = module.get_buffer(one.name) if one.is_buffer else module.get_parameter(one.name)
        place = next((place for place, group in enumerate(members) if id(tensor) not in group), len(groups))
        if place == len(groups):
            groups.append(_Group([], []))
            members.append(set())
        members[place].add(id(tensor))
        groups[place].expressions.append(expression)
        groups[place].sizes.append(list(one.shape))
    return groups


def _is_new(spec: CallSpec, groups: list[_Group]) -> str:
    """Whether the tensors are not those of a call that passed, as far as that was remembered."""
    letters: dict[str, str] = {}
    free = [one for one in spec.inputs if any(isinstance(size, str) for size in one.shape)]
    differs = [
        "(_traced := _is_compiling())",
        "_count_modes()",
        *(f"not _known[{place}]({', '.join(group)})" for place, (group, _) in enumerate(groups)),
        *(["_torch.cuda.current_device() != _known[-1]"] if spec.device == "cuda" else []),
        *(test.fails_if for one in free for test in layout_tests(one, letters)),
    ]
    return " or ".join(differs)


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


def _module_tests(module: nn.Module, spec: CallSpec) -> Iterator[CallTest]:
    """What there is to the module beside its tensors. Tables are its own dictionaries, under a number for each
    module inside it: `_children_0`."""
    owners = owners_of(spec)
    yield CallTest("type(_module_0).forward is not _forward_0", "its class has another forward")
    for name, value in spec.settings.items():
        held = _attribute(name, owners)
        differs = f"type(_held := {held}) is not {type(value).__name__} or _held != {value!r}"
        if value is None or isinstance(value, bool):
            differs = f"{held} is not {value}"
        yield CallTest(differs, f"{name}: not {value!r}")
    for number, (name, described) in enumerate((spec.objects or {}).items()):
        kind = {"(": "tuple", "[": "list", "{": "dict"}.get(described[0])
        differs = f"(_held := {_attribute(name, owners)}) is not _object_{number}"
        if " of " in described:  # a list, of which _object is a copy
            differs = f"{_attribute(name, owners)} != _object_{number}"
        if kind is not None:  # it may have changed in place, and an equal one does as well
            differs = f"type(_held := {_attribute(name, owners)}) is not {kind} or _held != {described}"
        yield CallTest(differs, f"{name}: not as it was")
    for owner, number in owners.items():
        parent, _, key = owner.rpartition(".")
        if owner:
            yield CallTest(
                f"_children_{owners[parent]}.get({key!r}) is not _module_{number} or _has_hooks(_module_{number}) "
                f"or 'forward' in _attributes_{number} or type(_module_{number}).forward is not _forward_{number}",
                f"{owner}: replaced, or with hooks that a kernel would leave out",
            )
        yield from _table_tests(module.get_submodule(owner), owner or "the module", number)
    if spec.inner:
        yield CallTest("_has_global_hooks()", "hooks of all modules, which a kernel would leave out")
    if spec.training is not None:
        yield mode_test(spec.training, [f"_module_{number}" for number in owners.values()])


def _table_tests(module: nn.Module, name: str, number: int) -> Iterator[CallTest]:
    """Nothing was added: no bias where there was none, no module to a sequence, nothing that getattr would find."""
    for table, held in (("_parameters", parameter_table(module)), ("_buffers", buffer_table(module))):
        for key, tensor in held.items():
            if tensor is None:
                yield CallTest(f"{table}_{number}.get({key!r}) is not None", f"{name}: {key} was added")
    if isinstance(module, _CONTAINERS):
        count = len(child_table(module)) + len(parameter_table(module))
        yield CallTest(f"len(_children_{number}) + len(_parameters_{number}) != {count}", f"{name}: another length")
    elif not type(module).__module__.startswith("torch.nn."):
        tables = [f"{table}_{number}" for table in ("_attributes", "_children", "_parameters", "_buffers")]
        counts = [len({*vars(module), "forward"} if number == 0 else vars(module)), len(child_table(module))]
        count = sum(counts) + len(parameter_table(module)) + len(buffer_table(module))
        grew = f"{' + '.join(f'len({table})' for table in tables)} != {count}"
        added = " and ".join(f"_absent_{number}.isdisjoint({table})" for table in tables)
        yield CallTest(f"{grew} and not ({added})", f"{name}: has what its code looks for and it had not")


def _owned_tests(spec: CallSpec) -> Iterator[CallTest]:
    owners = owners_of(spec)
    for one in spec.tensors:
        kind = "_Tensor" if one.is_buffer else "_Parameter"
        strided = "not _owned.is_contiguous()" if one.stride is None else f"_owned.stride() != {one.stride!r}"
        yield CallTest(
            f"type(_owned := {_table_entry(one, owners)}) is not {kind} or _owned.dtype is not _{one.dtype} "
            f"or _owned.shape != {one.shape!r} or _owned.device != _at or {strided}",
            f"{one.name}: not as it was",
        )


def _context_tests(spec: CallSpec) -> Iterator[CallTest]:
    negated = " or ".join(f"{one.expression}.is_neg()" for one in spec.inputs)
    yield CallTest(f"not _is_compiling() and ({negated})", "a view that torch negates when it is read")
    yield CallTest(f"_is_autocast_enabled({spec.device!r})", "autocast is on")
    batched = " or ".join(f"_is_batched({one.expression})" for one in spec.inputs)
    transformed = f"({batched} if _is_compiling() else _functorch_interpreter() is not None)"
    yield CallTest(transformed, "inside a transform of torch.func")
    yield CallTest(
        "not _is_compiling() and (_count_modes() or _torch.jit.is_tracing())",
        "inside torch.jit.trace or a TorchDispatchMode",
    )


def owners_of(spec: CallSpec) -> dict[str, int]:
    """The module itself and every module inside it, numbered."""
    return {name: number for number, name in enumerate(["", *spec.inner])}


def _attribute(name: str, owners: dict[str, int]) -> str:
    """`getattr(_module_1, 'eps', None)` for `norm.eps`; objects on the way are no modules."""
    parts = name.split(".")
    depth = max(end for end in range(len(parts)) if ".".join(parts[:end]) in owners)
    text = f"_module_{owners['.'.join(parts[:depth])]}"
    for part in parts[depth:]:
        text = f"getattr({text}, {part!r}, None)"
    return text


def _table_entry(one: TensorSpec, owners: dict[str, int]) -> str:
    owner, _, key = one.name.rpartition(".")
    return f"_{'buffers' if one.is_buffer else 'parameters'}_{owners[owner]}.get({key!r})"
