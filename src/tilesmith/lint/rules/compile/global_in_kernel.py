"""Plain Python values of the surrounding code, read inside a kernel."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.rules.findings import compile_fault, warning
from tilesmith.lint.vocabulary import TORCH_TYPES, words
from tilesmith.records import Finding

RULE = "global-in-kernel"
ALLOWING = "TRITON_ALLOW_NON_CONSTEXPR_GLOBALS"
MATH_CONSTANTS = words("math.pi math.e math.tau math.inf math.nan")
MAKERS = words("int float bool str len list tuple dict set range sorted")
CHOOSERS = words("round sum abs min max")
"""Of plain values they make plain ones; of a `tl.constexpr` they make another."""
KNOWN_BUILTINS = words("len list range float int isinstance getattr print min max hasattr")
LONGEST_CHAIN = 5


@dataclass
class OuterBindings:
    """Every way a scope binds one name."""

    values: list[ast.expr] = field(default_factory=list)
    annotated: bool = False
    """As `X: tl.constexpr = 3`, which releases up to 3.2 took."""
    opaque: bool = False
    """Also bound by something whose value is not written down."""


def global_in_kernel(source: KernelSource) -> Iterator[Finding]:
    """A number, string, list or torch type that is no `tl.constexpr`."""
    if ALLOWING in source.text or "globals()[" in source.text:
        return
    reader = _OuterValues(source)
    for function in source.jit_functions:
        own = function.flow.by_name.keys() | set(function.params)
        for node in function.nodes:
            if type(node) is ast.Name and node.id not in own and reader.is_outer(node, function.node):
                yield from reader.complaint(node)


class _OuterValues:
    def __init__(self, source: KernelSource) -> None:
        self.source = source
        self._scopes: dict[int, Mapping[str, OuterBindings]] = {}

    def is_outer(self, node: ast.Name, function: ast.FunctionDef) -> bool:
        """Bound outside of the kernel; its own defaults and annotations apart."""
        names = self.source.names
        own = names.scope_of[function.body[0]]
        scope = names.scope_binding(node) if isinstance(node.ctx, ast.Load) else None
        return scope is not None and scope is not own and node.id not in KNOWN_BUILTINS

    def complaint(self, node: ast.Name) -> Iterator[Finding]:
        dotted = self.source.dotted(node) or ""
        bound = self.bindings(node)
        if dotted in MATH_CONSTANTS or _is_torch_type(dotted):
            yield compile_fault(self.source, RULE, node, _message(node.id, dotted))
        elif bound is None or bound.opaque or not bound.values:
            return
        elif all(self.is_plain(value) for value in bound.values):
            message = _message(node.id, ast.unparse(bound.values[-1])[:40])
            if bound.annotated:
                older = f"only releases up to 3.2 take an annotated global: {message}"
                yield warning(RULE, node.lineno, older)
            else:
                yield compile_fault(self.source, RULE, node, message)

    def bindings(self, node: ast.Name) -> OuterBindings | None:
        scope = self.source.names.scope_binding(node)
        if scope is None:
            return None
        if id(scope) not in self._scopes:
            self._scopes[id(scope)] = self._read(scope)
        return self._scopes[id(scope)].get(node.id)

    def _read(self, scope: object) -> Mapping[str, OuterBindings]:
        found: dict[str, OuterBindings] = {}
        scope_of = self.source.names.scope_of
        for node in self.source.syntax.nodes:
            if type(node) in BINDERS and (scope_of.get(node) is scope or type(node) is ast.Global):
                _note(node, found, self.source)
        return found

    def is_plain(self, value: ast.expr, depth: int = LONGEST_CHAIN) -> bool:
        """Certainly a plain Python value, whatever it is."""
        match value:
            case ast.Constant():
                return value.value is not None and value.value is not Ellipsis
            case ast.List() | ast.Tuple() | ast.Dict() | ast.Set() | ast.JoinedStr():
                return True
            case ast.Compare():
                return all(self.is_plain(side, depth) for side in (value.left, *value.comparators))
            case ast.UnaryOp():
                return self.is_plain(value.operand, depth)
            case ast.BinOp():
                return self.is_plain(value.left, depth) and self.is_plain(value.right, depth)
            case ast.IfExp():
                return self.is_plain(value.body, depth) and self.is_plain(value.orelse, depth)
            case ast.Call(func=ast.Name() as maker) if maker.id in MAKERS | CHOOSERS:
                plain = maker.id in MAKERS or all(self.is_plain(a, depth) and not _holds(a) for a in value.args)
                return plain and self.source.names.scope_binding(maker) is None
            case ast.Call():
                return (self.source.dotted(value.func) or "").startswith("math.")
            case ast.Attribute() | ast.Name():
                return self._leads_to_plain(value, depth)
        return False

    def _leads_to_plain(self, value: ast.Attribute | ast.Name, depth: int) -> bool:
        dotted = self.source.dotted(value) or ""
        if dotted in MATH_CONSTANTS or _is_torch_type(dotted):
            return True
        bound = self.bindings(value) if isinstance(value, ast.Name) and depth else None
        if bound is None or bound.opaque or not bound.values:
            return False
        return all(self.is_plain(inner, depth - 1) for inner in bound.values)


BINDERS = frozenset({ast.Assign, ast.AnnAssign, ast.Name, ast.FunctionDef, ast.ClassDef, ast.Global, ast.arg})


def _note(node: ast.AST, found: dict[str, OuterBindings], source: KernelSource) -> None:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]):
            found.setdefault(name, OuterBindings()).values.append(node.value)
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            bound = found.setdefault(name, OuterBindings())
            bound.values.append(value)
            bound.annotated = bound.annotated or (source.dotted(node.annotation) or "").endswith("constexpr")
        case ast.Name(id=name) if not isinstance(node.ctx, ast.Load):
            parent = source.syntax.parents[node]
            single = isinstance(parent, ast.Assign) and parent.targets == [node]
            if not single and not isinstance(parent, ast.AnnAssign):
                found.setdefault(name, OuterBindings()).opaque = True
        case ast.ClassDef(name=name) if not node.decorator_list and _is_plain_class(node, source):
            found.setdefault(name, OuterBindings()).values.append(ast.copy_location(ast.List([], ast.Load()), node))
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
            found.setdefault(name, OuterBindings()).opaque = True
        case ast.Global():
            for name in node.names:
                found.setdefault(name, OuterBindings()).opaque = True


def _is_plain_class(node: ast.ClassDef, source: KernelSource) -> bool:
    """A bag of constants; a NamedTuple may be used in kernels."""
    bases = {source.dotted(base) or getattr(base, "id", "") for base in node.bases}
    return not node.keywords and bases <= {"object", "enum.Enum", "enum.IntEnum"}


def _holds(value: ast.expr) -> bool:
    """A collection, whose elements may be anything."""
    return isinstance(value, (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Name, ast.Call))


def _is_torch_type(dotted: str) -> bool:
    return dotted.startswith("torch.") and dotted.removeprefix("torch.") in TORCH_TYPES


def _message(name: str, value: str) -> str:
    return (
        f"a kernel cannot read {name} = {value} from outside: wrap it as `{name} = tl.constexpr(...)` where it is "
        "defined, or pass it as a tl.constexpr parameter"
    )
