"""Calls of `triton.language` that no release would accept."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.inference import LANGUAGE
from tilesmith.lint.model.operations import literal_int
from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.rules.findings import argument, compile_fault
from tilesmith.lint.vocabulary import LANGUAGE_NAMES, MATH_NAMES
from tilesmith.records import Finding

WRITTEN_OUT = {
    "tanh": "write it as 2 * tl.sigmoid(2 * x) - 1, or use triton.language.extra.libdevice.tanh",
    "relu": "write it as tl.maximum(x, 0.0)",
    "pow": "use exp2(y * log2(x)), or triton.language.extra.libdevice.pow",
    "mean": "use tl.sum(x, axis) / n",
    "any": "use tl.max over the condition as an integer",
    "all": "use tl.min over the condition as an integer",
}
OTHERWISE = "write it out with the functions Triton has, or look in triton.language.extra.libdevice"


def grid_axis(source: KernelSource) -> Iterator[Finding]:
    """A grid has the axes 0, 1 and 2."""
    for function in source.jit_functions:
        for call in function.calls:
            axis = literal_int(argument(call.node, 0, "axis"))
            if call.name in ("program_id", "num_programs") and axis is not None and axis not in (0, 1, 2):
                message = (
                    f"a grid has axes 0, 1 and 2, not {axis}: fold several dimensions into one axis and take "
                    "them apart with // and %"
                )
                yield compile_fault(source, "grid-axis", call.node, message)


def unknown_language_function(source: KernelSource) -> Iterator[Finding]:
    """A name that no release of Triton has had in `triton.language`."""
    if _adapts_to_release(source):
        return
    for function in source.jit_functions:
        for node in function.nodes:
            name = (source.dotted(node) or "") if isinstance(node, (ast.Attribute, ast.Name)) else ""
            if isinstance(node, (ast.Attribute, ast.Name)) and _is_invented(name):
                short = name.removeprefix(LANGUAGE)
                cure = WRITTEN_OUT.get(short.rpartition(".")[2], OTHERWISE)
                message = f"Triton has no tl.{short}: {cure}"
                yield compile_fault(source, "unknown-language-function", node, message)


def _is_invented(dotted: str) -> bool:
    name = dotted.removeprefix(LANGUAGE)
    if name == dotted or name.rpartition(".")[2].startswith("_"):
        return False
    if name.startswith("math."):
        rest = name.removeprefix("math.")
        return "." not in rest and rest not in MATH_NAMES
    return "." not in name and name not in LANGUAGE_NAMES


def _adapts_to_release(source: KernelSource) -> bool:
    """The author asks what this Triton has, or adds to it: then nothing is certain."""
    for node in source.syntax.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            asks = node.func.id in ("hasattr", "getattr", "setattr") and bool(node.args)
            if asks and (source.dotted(node.args[0]) or "").startswith("triton"):
                return True
        stored = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        if stored and (source.dotted(node) or "").startswith("triton"):
            return True
    return False
