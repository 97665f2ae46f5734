"""What the host says about the element type of a tensor it passes to a kernel."""

from __future__ import annotations

import ast

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.structure.device_flow.call_frames import CallFrame
from tilesmith.lint.structure.launches.launch_arguments import LaunchArgument, arguments, made_of_anywhere
from tilesmith.lint.vocabulary import words

METHODS = {"half": "float16", "bfloat16": "bfloat16", "float": "float32", "double": "float64", "long": "int64"}
"""`x.half()`."""
ALIASES = {"half": "float16", "float": "float32", "double": "float64", "long": "int64", "int": "int32"}
"""`torch.half`."""
TYPES = words("float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8 bool") | {
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
}
NARROW = TYPES - {"float32", "float64"}


def element_types(source: KernelSource, frame: CallFrame, name: str) -> set[str]:
    """Types mentioned where the tensor behind a pointer parameter is made or checked; empty when none is."""
    if name in frame.passed:
        place = frame.passed[name]
        inner = place.frame.function.flow.origins(place.node) & set(place.frame.function.params)
        return set().union(*(element_types(source, place.frame, other) for other in inner))
    if frame.caller is not None:
        return set()
    return set().union(*(_mentioned(source, argument) for argument in arguments(source, frame.kernel, name)))


def _mentioned(source: KernelSource, argument: LaunchArgument) -> set[str]:
    nodes = made_of_anywhere(source, argument.host, argument.node)
    found = {_type(source, node) for node in nodes}
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    asserts = source.syntax.of_type(ast.Assert, argument.host.node) if argument.host is not None else []
    for test in (node.test for node in asserts if names & source.syntax.names(node.test)):
        parts = source.syntax.inside(test)
        if any(isinstance(part, ast.Attribute) and part.attr == "dtype" for part in parts):
            found |= {_type(source, part) for part in parts}
    return found - {""}


def _type(source: KernelSource, node: ast.AST) -> str:
    match node:
        case ast.Call(func=ast.Attribute(attr=method), args=[]) if method in METHODS:
            return METHODS[method]
        case ast.Attribute() | ast.Name():
            dotted = source.dotted(node) or ""
            tail = dotted.rpartition(".")[2]
            return ALIASES.get(tail, tail if tail in TYPES else "") if dotted == f"torch.{tail}" else ""
    return ""
