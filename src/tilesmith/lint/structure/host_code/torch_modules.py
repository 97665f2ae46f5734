"""Members of a model that are PyTorch modules with real work in them, such as `self.conv = nn.Conv2d(...)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.source import KernelSource

HEAVY_WORDS = (
    "Conv",
    "Linear",
    "Norm",
    "Pool",
    "Softm",
    "LSTM",
    "GRU",
    "RNN",
    "Attention",
    "Transformer",
    "CrossEntropy",
)
"""What the name of a class in `torch.nn` tells."""
CONTAINERS = frozenset({"torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ModuleDict"})
MODEL_LIBRARIES = ("torchvision.models.", "transformers.", "timm.")


def heavy_members(source: KernelSource) -> frozenset[str]:
    """Names of attributes that hold a heavy module, or a container of such."""
    constructors = {node for node in source.names.dotted if is_heavy_module(source.names.dotted[node])}
    if not constructors:
        return frozenset()
    made = _calls_of(source, constructors)
    found = {name for name, value in _member_values(source) if _holds(source, value, made)}
    return frozenset(found)


def is_heavy_module(dotted: str) -> bool:
    if dotted.startswith(MODEL_LIBRARIES):
        return True
    head, _, tail = dotted.rpartition(".")
    return head in ("torch.nn", "torch.nn.modules") and any(word in tail for word in HEAVY_WORDS)


def _calls_of(source: KernelSource, constructors: set[ast.AST]) -> list[ast.Call]:
    above = [source.syntax.parents[node] for node in constructors]
    return [node for node in above if isinstance(node, ast.Call) and node.func in constructors]


def _member_values(source: KernelSource) -> Iterator[tuple[str, ast.expr]]:
    """`self.a = v`, `self.a, self.b = v, w`, `self.layers.append(v)`, `self.add_module("a", v)`."""
    for node in source.syntax.nodes:
        match node:
            case ast.Assign(targets=[target], value=value):
                yield from _pairs(target, value)
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr=name), attr="append"), args=[value]):
                yield name, value
            case ast.Call(func=ast.Attribute(attr="add_module"), args=[ast.Constant(value=str() as name), value]):
                yield name, value


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match target, value:
        case ast.Attribute(attr=name), _:
            yield name, value
        case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
            for part, piece in zip(targets, values, strict=True):
                yield from _pairs(part, piece)


def _holds(source: KernelSource, value: ast.expr, made: list[ast.Call]) -> bool:
    """The value is built from a heavy module right there, or gathers a list filled nearby."""
    syntax = source.syntax
    if any(syntax.contains(value, call) for call in made):
        return True
    if not (isinstance(value, ast.Call) and source.dotted(value.func) in CONTAINERS and value.args):
        return False
    around = next((above for above in syntax.ancestors(value) if isinstance(above, ast.FunctionDef)), None)
    return around is not None and any(syntax.contains(around, call) for call in made)
