"""Products of float32 tiles that silently round to TF32."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.model.syntax.call_arguments import argument
from tilesmith.lint.rules.findings import warning
from tilesmith.lint.structure.device_flow.call_frames import CallFrame, FramedNode, frames_of
from tilesmith.lint.structure.device_flow.element_types import NARROW, element_types
from tilesmith.lint.vocabulary import LANGUAGE
from tilesmith.records import Finding

MESSAGE = (
    'tl.dot of float32 tiles rounds them to TF32 unless told otherwise: say input_precision="ieee" (exact), '
    '"tf32x3" (nearly) or "tf32" (wanted), or cast both tiles to 16 bits'
)
WIDE = frozenset({"float32", ""})
MOST_STEPS = 200


def tf32_implicit(source: KernelSource) -> Iterator[Finding]:
    """A `tl.dot` that says nothing about precision and whose tiles may be float32."""
    seen: set[ast.AST] = set()
    for frame in frames_of(source):
        for call in frame.function.calls_of("dot"):
            if call.node in seen or _says_precision(call.node):
                continue
            if _may_be_float32(call.node, frame, source) and not _stores_narrow(frame):
                seen.add(call.node)
                yield warning("tf32-implicit", call.line, MESSAGE)


def _stores_narrow(frame: CallFrame) -> bool:
    """What is stored in 16 bits was hardly loaded in 32."""
    values = [argument(call.node, 1, "value") for call in frame.function.calls_of("store")]
    return any(value is not None and frame.function.value(value).dtype not in WIDE for value in values)


def _says_precision(call: ast.Call) -> bool:
    named = any(keyword.arg in ("input_precision", "allow_tf32", None) for keyword in call.keywords)
    return named or len(call.args) > 3 or any(isinstance(arg, ast.Starred) for arg in call.args)


def _may_be_float32(call: ast.Call, frame: CallFrame, source: KernelSource) -> bool:
    """Both tiles have one type, so that one known to be narrow settles it."""
    tiles = [argument(call, 0, "input"), argument(call, 1, "other")]
    return not any(tile is not None and _TileTypes(source).is_narrow(FramedNode(tile, frame)) for tile in tiles)


class _TileTypes:
    """Follows a tile to where its type is said."""

    def __init__(self, source: KernelSource) -> None:
        self.source = source
        self.open: set[tuple[ast.AST, CallFrame]] = set()

    def is_narrow(self, place: FramedNode) -> bool:
        """Certainly no float32: cast to 16 bits or fewer, or loaded from a tensor the host made so."""
        node, frame = place
        if (node, frame) in self.open or len(self.open) > MOST_STEPS:
            return False
        self.open.add((node, frame))
        known = frame.function.value(node).dtype
        if known not in WIDE:
            return True
        return self._follow(node, frame) if known == "" else False

    def _follow(self, node: ast.AST, frame: CallFrame) -> bool:
        match node:
            case ast.Name():
                values = frame.values(node)
                return bool(values) and any(self.is_narrow(value) for value in values)
            case ast.Call(func=ast.Attribute(attr="to" | "cast", value=tile), args=[kind, *_]):
                says = isinstance(kind, (ast.Attribute, ast.Name))
                return self._names_narrow(kind, frame) if says else self.is_narrow(FramedNode(tile, frame))
            case ast.Call():
                return self._call(node, frame)
            case ast.Subscript() | ast.Attribute(attr="T"):
                return self.is_narrow(FramedNode(node.value, frame))
            case ast.BinOp():
                return all(self.is_narrow(FramedNode(side, frame)) for side in (node.left, node.right))
        return False

    def _names_narrow(self, kind: ast.expr, frame: CallFrame) -> bool:
        """`tl.bfloat16`, `v.dtype`, `y_ptr.dtype.element_ty`, or a constexpr parameter that the host fills."""
        dotted = self.source.dotted(kind) or ""
        if dotted.startswith(LANGUAGE):
            return dotted.removeprefix(LANGUAGE) not in WIDE
        owner = kind
        while isinstance(owner, ast.Attribute):
            owner = owner.value
        if not isinstance(owner, ast.Name):
            return False
        if owner.id in frame.function.params and not frame.bindings(owner.id):
            return self._is_tensor_narrow(owner.id, frame)
        return self.is_narrow(FramedNode(owner, frame))

    def _call(self, node: ast.Call, frame: CallFrame) -> bool:
        dotted = self.source.dotted(node.func) or ""
        method = node.func.value if isinstance(node.func, ast.Attribute) and not dotted else None
        described = method is not None and isinstance(node.func, ast.Attribute) and node.func.attr == "load"
        if described or (dotted.startswith(LANGUAGE) and dotted.endswith("load")):
            pointers = frame.function.flow.origins(*([method] if method is not None else node.args[:1]))
            return any(self._is_tensor_narrow(name, frame) for name in pointers & set(frame.function.params))
        tiles = [method] if method is not None else node.args[:1]
        given = [FramedNode(tile, frame) for tile in tiles]
        return any(self.is_narrow(place) for place in (*given, *self._returned(node, frame)))

    def _returned(self, node: ast.Call, frame: CallFrame) -> list[FramedNode]:
        """What a jit function of the file hands back to this call."""
        inner = [f for f in frames_of(self.source) if f.call is node and f.caller is frame]
        returns = [(n.value, f) for f in inner for n in f.function.nodes if isinstance(n, ast.Return)]
        return [FramedNode(value, called) for value, called in returns if value is not None]

    def _is_tensor_narrow(self, name: str, frame: CallFrame) -> bool:
        found = element_types(self.source, frame, name)
        return bool(found & NARROW)
