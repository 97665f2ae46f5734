"""Modules inside a model whose own forward pass stays as it is, written as classes derived from theirs.

Such a module may be given other things at other times, which nobody could foresee. So it looks at what it is given,
and whatever it was not planned for goes the way of its own class.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from tilesmith.playbook.graph.operators import operator_name
from tilesmith.playbook.plan.forward import PlannedForward, Texts
from tilesmith.playbook.plan.pytorch_calls import SIZED
from tilesmith.playbook.writing.task_code import NEW_NAME, TaskCode
from tilesmith.syntax import parse
from tilesmith.tasks.graph import Graph, ModulePart, Node

IS_LIKE = "is_like"
_LONGEST = 100
_IS_LIKE = '''def is_like(value, shape, dtype):
    """Whether an argument is what a module was planned for; None is any size."""
    if not isinstance(value, torch.Tensor) or value.dtype != dtype or value.dim() != len(shape):
        return False
    return all(size in (None, own) for size, own in zip(shape, value.shape)) and value.numel() > 0'''


def can_be_written(part: ModulePart, code: TaskCode) -> bool:
    """Whether the file knows its class, and what it is given can be looked at without surprises."""
    is_known = part.module.startswith("nn.") or part.module in code.names
    variadic = {one.arg for one in (_arguments(part).vararg, _arguments(part).kwarg) if one is not None}
    return is_known and all(not one.path or one.argument in variadic for one in part.graph.inputs)


def write_parts(code: TaskCode, forwards: Sequence[PlannedForward], texts: Texts) -> tuple[str, ...]:
    """A class for every part that has a kernel, and ModelNew, which puts them in their places."""
    taken = set(code.names)
    classes: list[str] = [_IS_LIKE]
    lines = [
        f"class {NEW_NAME}({code.bases}):",
        '    """The module of the task, with modules inside that have kernels."""',
        "",
        "    def __init__(self, *args, **kwargs):",
        "        super().__init__(*args, **kwargs)",
    ]
    for forward in forwards:
        if forward.part is not None and any(region.match.name in texts for region in forward.regions):
            name = _free_name(f"Planned{forward.part.module.removeprefix('nn.')}", taken)
            classes.append(_write_part(forward, forward.part, name, texts, code.names | {IS_LIKE}))
            for path in forward.part.paths:
                lines.append(f"        self.get_submodule({path!r}).__class__ = {name}")
    return (*classes, "\n".join(lines))


def _free_name(wanted: str, taken: set[str]) -> str:
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}{number}", number + 1
    taken.add(name)
    return name


def _write_part(forward: PlannedForward, part: ModulePart, name: str, texts: Texts, taken: frozenset[str]) -> str:
    given = [one for one in forward.graph.inputs if one.shape is not None]
    conditions = [*forward.conditions(texts), f"self.training is not {forward.graph.training}"]
    for one in given:
        shape = (None, *one.shape[1:]) if one.shape and _may_vary(forward.graph) else one.shape
        conditions.append(f"not {IS_LIKE}({one.expression}, {shape}, torch.{one.dtype})")
    where = ", ".join(part.paths)
    lines = [
        f"class {name}({part.module}):",
        f'    """For {where}; what it was not planned for goes the way of {part.module}."""',
        "",
        f"    def forward({part.signature}):",
        *(f"        {line}" for line in _unless(conditions)),
        f"            return {_own_way(part)}",
        *(f"        {line}" for line in forward.lines(texts, taken)),
    ]
    return "\n".join(lines)


def _unless(conditions: Sequence[str]) -> list[str]:
    line = f"if {' or '.join(conditions)}:"
    return (
        [line]
        if len(line) <= _LONGEST
        else ["if (", f"    {conditions[0]}", *(f"    or {one}" for one in conditions[1:]), "):"]
    )


def _may_vary(graph: Graph) -> bool:
    """Whether the first size of the one tensor that is given could be another: no operator has it as a number."""
    given = [one for one in graph.inputs if one.shape is not None]
    if len(given) != 1 or not given[0].shape:
        return False
    size = given[0].shape[0]
    told = {size, 1 / max(size, 1), size**0.5, max(size, 1) ** -0.5}
    return not any(told & set(_numbers(_without_own_size(node, size))) for node in graph.nodes)


def _without_own_size(node: Node, size: int) -> list[Any]:
    """The arguments, less the size of a result that is written as that of the operand."""
    args = list(node.args)
    is_sized = operator_name(node) in SIZED and len(args) > 1 and isinstance(args[1], list)
    if is_sized and args[1][:1] == [size] and (node.shape or (None,))[0] == size:
        args[1] = args[1][1:]
    return [args, node.kwargs]


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from _numbers(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value


def _own_way(part: ModulePart) -> str:
    arguments = _arguments(part)
    given = [one.arg for one in (*arguments.posonlyargs, *arguments.args)][1:]
    given += [f"*{arguments.vararg.arg}"] if arguments.vararg else []
    given += [f"{one.arg}={one.arg}" for one in arguments.kwonlyargs]
    given += [f"**{arguments.kwarg.arg}"] if arguments.kwarg else []
    return f"super().forward({', '.join(given)})"


def _arguments(part: ModulePart) -> ast.arguments:
    function = parse(f"def forward({part.signature}): pass").body[0]
    assert isinstance(function, ast.FunctionDef)
    return function.args
