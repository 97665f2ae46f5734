"""The syntax that means one thing to Python and another to Triton.

Each method turns a construct into a call on `control_flow`, under a name that the rewritten
function receives through its closure.
"""

from __future__ import annotations

import ast
import copy

from tilesmith.worker.compat.interpreter_names import CHAINED_COMPARISONS


class UnsupportedSyntax(Exception):
    """A construct that the compiler refuses wherever it stands."""

    def __init__(self, node: ast.expr | ast.stmt, advice: str) -> None:
        super().__init__(advice)
        self.line_number = node.lineno


def kernel_body(node: ast.FunctionDef, plain_globals: frozenset[str]) -> ast.FunctionDef:
    """A rewritten copy of a device function without decorators, defaults and annotations.

    `plain_globals` are the names of the host's variables, which the compiler does not let a kernel read.
    """
    copied = copy.deepcopy(node)
    copied.decorator_list = []
    copied.returns = None
    copied.args.defaults = [ast.Constant(None) for _ in copied.args.defaults]
    copied.args.kw_defaults = [ast.Constant(None) if d else None for d in copied.args.kw_defaults]
    for argument in [*copied.args.posonlyargs, *copied.args.args, *copied.args.kwonlyargs]:
        argument.annotation = None
    transformer = _KernelSyntax(plain_globals)
    copied.body = [transformer.visit(statement) for statement in copied.body]
    return copied


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _later(expression: ast.expr) -> ast.Lambda:
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), expression)


class _KernelSyntax(ast.NodeTransformer):
    def __init__(self, plain_globals: frozenset[str]) -> None:
        self._plain_globals = plain_globals

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id not in self._plain_globals or not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(_call("__tilesmith_global", ast.Constant(node.id)), node)

    def visit_Break(self, node: ast.Break) -> ast.AST:
        return ast.copy_location(ast.Expr(_call("__tilesmith_jump", ast.Constant("break"))), node)

    def visit_Continue(self, node: ast.Continue) -> ast.AST:
        return ast.copy_location(ast.Expr(_call("__tilesmith_jump", ast.Constant("continue"))), node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        if len(node.targets) > 1:
            raise UnsupportedSyntax(node, "Triton does not support a = b = value; write two assignments")
        self.generic_visit(node)
        if isinstance(node.value, ast.Tuple) and isinstance(node.targets[0], ast.Tuple):
            node.value.elts = [_call("__tilesmith_value", item) for item in node.value.elts]
        else:
            node.value = _call("__tilesmith_value", node.value)
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        node.test = _call("__tilesmith_truth", node.test)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        node.test = _call("__tilesmith_truth", node.test)
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        node.test = _call("__tilesmith_while", node.test)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        name = "__tilesmith_and" if isinstance(node.op, ast.And) else "__tilesmith_or"
        return ast.copy_location(_call(name, *map(_later, node.values)), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            return ast.copy_location(_call("__tilesmith_not", node.operand), node)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) == 1:
            return node
        if not CHAINED_COMPARISONS:
            raise UnsupportedSyntax(node, "this Triton has no chained comparisons; write (a < b) & (b < c)")
        operators: list[ast.expr] = [ast.Constant(type(op).__name__) for op in node.ops]
        chain = _call("__tilesmith_compare", ast.List(operators, ast.Load()), node.left, *node.comparators)
        return ast.copy_location(chain, node)
