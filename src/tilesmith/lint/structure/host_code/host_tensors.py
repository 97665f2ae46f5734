"""Shape and layout of tensors in host code, as far as constructors and unpacked shapes tell."""

from __future__ import annotations

import ast
from collections import Counter
from typing import NamedTuple

from tilesmith.lint.model.source import HostCode, KernelSource
from tilesmith.lint.vocabulary import words

CONSTRUCTORS = words("empty zeros ones full rand randn new_empty new_zeros new_ones new_full")
ALIKE = words("empty_like zeros_like ones_like full_like rand_like randn_like")
SAME_SHAPE = words("contiguous clone to half float bfloat16 double detach cuda cpu requires_grad_")
TURNED = words("t transpose permute swapaxes movedim T mT")
DEEPEST_LOOK = 8
Dims = tuple[Counter[str], ...]
"""Each size as a product of canonical names."""


class TensorOrigin(NamedTuple):
    """How a tensor came about."""

    root: str
    """The expression whose layout it has."""
    turned: bool
    """A transposed view of the root."""
    fresh: bool
    """Newly made, hence contiguous."""


class HostTensors:
    """Answers for the expressions of one host function."""

    def __init__(self, source: KernelSource, host: HostCode) -> None:
        self.source, self.host = source, host
        self.unpacked = _unpacked_shapes(source, host)

    def made(self, node: ast.expr, depth: int = DEEPEST_LOOK) -> TensorOrigin:
        """Follows copies of layout; a name with several values stands for itself."""
        value = self._value(node)
        if value is None or depth == 0:
            return TensorOrigin(ast.unparse(node), False, False)
        match value:
            case ast.Call(func=ast.Attribute(attr=name)) if name in CONSTRUCTORS:
                return TensorOrigin(ast.unparse(node), False, True)
            case ast.Call(func=ast.Attribute(attr=name), args=[like, *_]) if name in ALIKE:
                return self.made(like, depth - 1)
            case ast.Call(func=ast.Attribute(attr=name, value=inner)) if name in TURNED:
                return self.made(inner, depth - 1)._replace(turned=True, fresh=False)
            case ast.Attribute(attr=name, value=inner) if name in TURNED:
                return self.made(inner, depth - 1)._replace(turned=True, fresh=False)
            case ast.Name() | ast.Attribute():
                return self.made(value, depth - 1)
        return TensorOrigin(ast.unparse(node), False, False)

    def dims(self, node: ast.expr, depth: int = DEEPEST_LOOK) -> Dims | None:
        known = self.unpacked.get(ast.unparse(node))
        if known is not None:
            return tuple(self._factors(ast.Name(id=name)) for name in known)
        value = self._value(node)
        if value is None or depth == 0:
            return None
        match value:
            case ast.Call(func=ast.Attribute(attr=name)) if name in CONSTRUCTORS:
                return self._constructed(value)
            case ast.Call(func=ast.Attribute(attr=name), args=[like, *_]) if name in ALIKE:
                return self.dims(like, depth - 1)
            case ast.Call(func=ast.Attribute(attr=name, value=inner)) if name in SAME_SHAPE:
                return self.dims(inner, depth - 1)
            case ast.Name():
                return self.dims(value, depth - 1)
        return None

    def _value(self, node: ast.expr) -> ast.expr | None:
        """What a name is bound to, once and whole."""
        if not isinstance(node, ast.Name):
            return node
        value = self.host.flow.only_value(node.id)
        return None if value is None or node.id in self.source.syntax.names(value) else value

    def _constructed(self, call: ast.Call) -> Dims | None:
        sizes: list[ast.expr] = list(call.args)
        if len(sizes) >= 1 and isinstance(sizes[0], (ast.Tuple, ast.List)):
            sizes = sizes[0].elts
        elif len(sizes) == 1 and isinstance(sizes[0], ast.Attribute) and sizes[0].attr == "shape":
            return self.dims(sizes[0].value)
        elif any(k.arg == "size" for k in call.keywords):
            return None
        if not sizes or any(isinstance(size, ast.Starred) for size in sizes):
            return None
        return tuple(self._factors(size) for size in sizes)

    def _factors(self, size: ast.expr) -> Counter[str]:
        """`H * W` as its factors; a name taken from a shape under that shape's own name."""
        if isinstance(size, ast.BinOp) and isinstance(size.op, ast.Mult):
            return self._factors(size.left) + self._factors(size.right)
        if isinstance(size, ast.Name):
            value = self.host.flow.only_value(size.id)
            if isinstance(value, ast.Subscript):
                return Counter([ast.unparse(value)])
            owners = [(owner, names.index(size.id)) for owner, names in self.unpacked.items() if size.id in names]
            return Counter([f"{owner}.shape[{number}]" for owner, number in owners[:1]] or [size.id])
        return Counter([ast.unparse(size)])


def _unpacked_shapes(source: KernelSource, host: HostCode) -> dict[str, list[str]]:
    """`B, T, C = x.shape`: names by tensor."""
    found: dict[str, list[str]] = {}
    for node in source.syntax.of_type(ast.Assign, host.node):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=value):
                owner = _shape_owner(value)
                if owner and all(isinstance(name, ast.Name) for name in names):
                    found.setdefault(owner, [name.id for name in names if isinstance(name, ast.Name)])
    return found


def _shape_owner(value: ast.expr) -> str:
    match value:
        case ast.Attribute(attr="shape", value=tensor):
            return ast.unparse(tensor)
        case ast.Call(func=ast.Attribute(attr="size", value=tensor), args=[]):
            return ast.unparse(tensor)
    return ""
