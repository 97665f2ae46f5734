"""`ModelNew` is called exactly as the task calls `Model`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.source import MODEL_CLASS, KernelSource
from tilesmith.records import Finding, Severity

RULE = "interface-mismatch"


def interface_mismatch(source: KernelSource) -> Iterator[Finding]:
    """The constructor or `forward` cannot take as many arguments as the task passes."""
    models = [
        node for node in source.syntax.tree.body if isinstance(node, ast.ClassDef) and node.name == MODEL_CLASS
    ]
    if len(models) != 1 or models[0].decorator_list:
        return
    # nothing but `nn.Module` could define a constructor, and that one takes none
    own = {node.name for node in models[0].body if isinstance(node, ast.FunctionDef)}
    plain = [source.dotted(base) for base in models[0].bases] == ["torch.nn.Module"]
    if (plain and not models[0].keywords and not own & {"__init__", "__new__"}) and source.facts.init_arguments:
        message = f"ModelNew has no __init__, but the task passes {_counted(source.facts.init_arguments)}: add one"
        yield Finding(RULE, Severity.ERROR, models[0].lineno, message)
    for name, count in (("__init__", source.facts.init_arguments), ("forward", source.facts.inputs)):
        methods = [node for node in models[0].body if isinstance(node, ast.FunctionDef) and node.name == name]
        if len(methods) == 1 and not methods[0].decorator_list and count is not None:
            yield from _compare(methods[0], count)


def _counted(count: int) -> str:
    return "1 argument" if count == 1 else f"{count} arguments"


def _compare(method: ast.FunctionDef, count: int) -> Iterator[Finding]:
    arguments = method.args
    most = len(arguments.posonlyargs) + len(arguments.args) - 1
    least = most - len(arguments.defaults)
    named = [a.arg for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is None]
    if named:
        message = f"{method.name} needs the keyword {named[0]}, which the task does not pass: give it a default"
    elif count < least:
        message = f"{method.name} needs {_counted(least)}, but the task passes {count}: take what Model takes"
    elif count > most and arguments.vararg is None:
        message = f"{method.name} takes {_counted(most)}, but the task passes {count}: take what Model takes"
    else:
        return
    yield Finding(RULE, Severity.ERROR, method.lineno, message)
