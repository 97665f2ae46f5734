"""Every name is bound where it is read: nothing forgotten or misspelt, and nothing gone out of scope.

Triton turns loops and run-time branches into regions. A name survives one only if it was bound before, or if both
arms of a branch bind it. Unrolled loops and branches on constants leave their names behind as Python does.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from tilesmith.lint.model.device.inference import DEVICE_RANGES
from tilesmith.lint.model.device.values import ValueKind
from tilesmith.lint.model.source import JitFunction, KernelSource
from tilesmith.lint.model.syntax.flow import target_names
from tilesmith.lint.model.syntax.names import NameScope
from tilesmith.lint.rules.findings import compile_fault, run_fault, warning
from tilesmith.lint.structure.device_flow.compile_time import is_device_code, is_runtime
from tilesmith.records import Finding

RULE = "undefined-name"
BUILTINS = frozenset(dir(builtins))
NAME_MAKERS = frozenset({"exec", "eval", "globals", "vars", "locals", "get_ipython"})
NAME_TABLES = frozenset({"builtins", "sys.modules", "importlib.import_module"})
USUAL_IMPORTS = {
    "torch": "import torch",
    "nn": "import torch.nn as nn",
    "F": "import torch.nn.functional as F",
    "triton": "import triton",
    "tl": "import triton.language as tl",
    "np": "import numpy as np",
    "math": "import math",
    "os": "import os",
    "time": "import time",
    "functools": "import functools",
    "itertools": "import itertools",
    "partial": "from functools import partial",
    "libdevice": "from triton.language.extra import libdevice",
    "Optional": "from typing import Optional",
    "Tuple": "from typing import Tuple",
    "List": "from typing import List",
    "Dict": "from typing import Dict",
    "Any": "from typing import Any",
    "Union": "from typing import Union",
    "Callable": "from typing import Callable",
    "Tensor": "from torch import Tensor",
}


def never_bound_names(source: KernelSource) -> Iterator[Finding]:
    """Silent where names may come from elsewhere: star imports, exec, globals()."""
    names = [node for node in source.syntax.nodes if type(node) is ast.Name]
    if source.names.stars or any(node.id in NAME_MAKERS for node in names):
        return
    if NAME_TABLES.intersection(source.names.dotted.values()):
        return
    for node in _unbound(source, names):
        if is_device_code(source, node):
            yield compile_fault(source, RULE, node, _message(source, node))
        elif not _is_annotation(source, node):
            yield run_fault(source, RULE, node, _message(source, node))
        elif node in source.surely_run:
            yield warning(RULE, node.lineno, f"{_message(source, node)} (Python before 3.14 evaluates it)")


def _unbound(source: KernelSource, names: list[ast.Name]) -> Iterator[ast.Name]:
    known: dict[tuple[int, str], bool] = {}
    scope_of = source.names.scope_of
    for node in names:
        key = (id(scope_of[node]), node.id)
        if key not in known:
            special = node.id in BUILTINS or node.id.startswith("__")
            known[key] = special or source.names.scope_binding(node) is not None
        if not known[key] and isinstance(node.ctx, ast.Load):
            yield node


def _is_annotation(source: KernelSource, node: ast.Name) -> bool:
    below: ast.AST = node
    for parent in source.syntax.ancestors(node):
        if isinstance(parent, (ast.arg, ast.AnnAssign)) and parent.annotation is below:
            return True
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)) and parent.returns is below:
            return True
        below = parent
    return False


def _message(source: KernelSource, node: ast.Name) -> str:
    if node.id in USUAL_IMPORTS:
        return f"nothing binds {node.id}: add `{USUAL_IMPORTS[node.id]}`"
    near = get_close_matches(node.id, _visible(source, node), n=1, cutoff=0.7)
    cure = f"did you mean {near[0]}?" if near else "define it, or pass it as a parameter"
    return f"nothing binds {node.id}: {cure}"


def _visible(source: KernelSource, node: ast.Name) -> list[str]:
    found: list[str] = []
    scope: NameScope | None = source.names.scope_of[node]
    while scope is not None:
        found += scope.bindings
        scope = scope.parent
    return found


ONE_ARM = "one arm of a run-time `if`"
DOUBT = "?"
"""Before a name: bound in one arm of a branch on a parameter, which is a constant in launches that pass 1."""
Bound = frozenset[str]


def out_of_scope_names(source: KernelSource) -> Iterator[Finding]:
    """Read where they no longer are."""
    for function in source.jit_functions:
        yield from _BoundNames(source, function).findings()


class _BoundNames:
    """Follows which names can be bound at each place; in doubt a name is."""

    def __init__(self, source: KernelSource, function: JitFunction) -> None:
        self.source, self.function = source, function
        self.local = frozenset(function.flow.by_name) - source.names.module.bindings.keys()
        self.regions: dict[str, str] = {}
        self.lost: dict[str, tuple[ast.Name, bool]] = {}
        """The first place where each name is missing, and whether that is certain."""

    def findings(self) -> Iterator[Finding]:
        given = self.function.node.args
        others = [argument.arg for argument in (given.vararg, given.kwarg) if argument is not None]
        self.block(self.function.node.body, frozenset([*self.function.params, *others]))
        for name, (node, certain) in self.lost.items():
            region = self.regions.get(name)
            message = f"{name} is bound only inside {region}, and Triton forgets it there: bind it before"
            if region is None:
                message = f"{name} is read before anything binds it: bind it first"
            yield (
                compile_fault(self.source, RULE, node, message) if certain else warning(RULE, node.lineno, message)
            )

    def block(self, statements: Sequence[ast.stmt], bound: Bound) -> Bound:
        for statement in statements:
            bound = self.statement(statement, bound)
        return bound

    def statement(self, statement: ast.stmt, bound: Bound) -> Bound:
        match statement:
            case ast.If():
                return self.branch(statement, self.expression(statement.test, bound))
            case ast.For():
                return self.loop(statement, self.expression(statement.iter, bound))
            case ast.While():
                self.region(
                    self.block(statement.body, self.expression(statement.test, bound)) - bound, "a `while` loop"
                )
                return self.block(statement.orelse, bound)
            case ast.With():
                inside = [name for part in statement.body for name in self.targets(part)]
                return self.block(statement.body, _with(bound, inside))
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.Expr() | ast.Return():
                return self.expression(statement, bound)
        return _with(bound, self.targets(statement))

    def branch(self, statement: ast.If, bound: Bound) -> Bound:
        one, other = (self.block(body, bound) for body in (statement.body, statement.orelse))
        single = (one ^ other) - bound
        if self.function.value(statement.test).kind is ValueKind.TENSOR:
            self.region(single, ONE_ARM)
            return one & other
        if single and self.asks_parameter(statement.test):
            self.region(single, ONE_ARM)
            return one | other | {DOUBT + name for name in single}
        return one | other

    def asks_parameter(self, test: ast.expr) -> bool:
        """`n > 0`, and not `bias is not None`, which the compiler knows."""
        if self.function.value(test).kind is ValueKind.STATIC:
            return False
        sides = [test.left, *test.comparators] if isinstance(test, ast.Compare) else [test]
        return any(is_runtime(self.source, self.function, side) for side in sides)

    def loop(self, statement: ast.For, bound: Bound) -> Bound:
        bound = _with(bound, target_names(statement.target))
        called = statement.iter.func if isinstance(statement.iter, ast.Call) else None
        name = self.source.dotted(called) or (called.id if isinstance(called, ast.Name) else "") if called else ""
        if name in DEVICE_RANGES:
            self.region(self.block(statement.body, bound) - bound, "a `for` loop")
            return bound
        return self.block(statement.body, _with(bound, [n for part in statement.body for n in self.targets(part)]))

    def region(self, names: Bound, text: str) -> None:
        self.regions.update(dict.fromkeys(names, text))

    def expression(self, root: ast.AST, bound: Bound) -> Bound:
        """Note what is read before it is bound; then bind what it binds."""
        nodes = [
            node for node in self.source.syntax.inside(root) if type(node) is ast.Name and node.id in self.local
        ]
        stored = [node.id for node in nodes if not isinstance(node.ctx, ast.Load)]
        own = stored if not isinstance(root, (ast.Assign, ast.AnnAssign)) else self.inner(root)
        for node in nodes:
            augments = isinstance(root, ast.AugAssign) and node is root.target
            missing = node.id not in bound or DOUBT + node.id in bound
            if missing and (augments or (isinstance(node.ctx, ast.Load) and node.id not in own)):
                self.lost.setdefault(node.id, (node, node.id not in bound))
        return _with(bound, stored)

    def inner(self, root: ast.AST) -> list[str]:
        """Names that a comprehension or a walrus in the expression binds for itself."""
        binders = [n for n in self.source.syntax.inside(root) if isinstance(n, (ast.comprehension, ast.NamedExpr))]
        return [name for binder in binders for name in target_names(binder.target)]

    def targets(self, statement: ast.stmt) -> list[str]:
        nodes = self.source.syntax.inside(statement)
        return [n.id for n in nodes if type(n) is ast.Name and isinstance(n.ctx, ast.Store)]


def _with(bound: Bound, names: list[str]) -> Bound:
    """Binding a name also ends every doubt about it."""
    return (bound | frozenset(names)) - {DOUBT + name for name in names} if names else bound


def undefined_name(source: KernelSource) -> Iterator[Finding]:
    """Names that nothing binds, and names that are read outside the loop or branch that binds them."""
    yield from never_bound_names(source)
    yield from out_of_scope_names(source)
