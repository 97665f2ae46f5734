"""Which host code certainly runs when a file is imported, its model constructed and called once on a GPU.

Only what no condition, no early return and no caught exception can skip is in; a loop counts as entered.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping

from tilesmith.lint.model.outcomes import certain_parts, leaves, outcome
from tilesmith.lint.model.reach import FUNCTIONS, is_main_guard
from tilesmith.lint.model.syntax import Syntax

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
LEAVES = (ast.Return, ast.Break, ast.Continue)


def surely_run(syntax: Syntax, model_class: str, device_code: frozenset[ast.AST]) -> frozenset[ast.AST]:
    """All host nodes that are met. A file without the model class is a collection of operators: each is run."""
    walk = _Walk(syntax, device_code)
    walk.block(syntax.tree.body)
    models = [node for node in syntax.tree.body if isinstance(node, ast.ClassDef) and node.name == model_class]
    if len(models) == 1:
        walk.model = models[0]
        walk.call_method(models[0], "__init__")
        walk.call_method(models[0], "forward")
    elif not models:
        for node in syntax.tree.body:
            if isinstance(node, FUNCTIONS) and node not in device_code:
                walk.enter(node)
    return frozenset(walk.met)


class _Walk:
    def __init__(self, syntax: Syntax, device_code: frozenset[ast.AST]) -> None:
        self.met: set[ast.AST] = set()
        self.model: ast.ClassDef | None = None
        self._entered: set[ast.AST] = set(device_code)
        self._defined: Mapping[str, list[ast.AST]] = _module_definitions(syntax)
        self._members = _member_classes(syntax)
        self._annotated = not _postpones_annotations(syntax)
        self._depth = 0

    def enter(self, function: ast.AST) -> None:
        if function in self._entered or not isinstance(function, FUNCTIONS) or self._depth > 50:
            return
        self._entered.add(function)
        self._depth += 1
        self.block(function.body)
        self._depth -= 1

    def call_method(self, owner: ast.ClassDef, name: str) -> None:
        methods = [node for node in owner.body if isinstance(node, FUNCTIONS) and node.name == name]
        if len(methods) == 1:
            self.enter(methods[0])

    def block(self, statements: list[ast.stmt]) -> bool:
        """Whether what follows the block is certain too."""
        return all(self.statement(statement) for statement in statements)

    def statement(self, statement: ast.stmt) -> bool:
        self.met.add(statement)
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.AnnAssign():
                self.definition(statement)
            case ast.If():
                return self.choice(statement)
            case ast.For() | ast.AsyncFor() | ast.While():
                self.expressions([statement.test if isinstance(statement, ast.While) else statement.iter])
                self.block(statement.body)
                return not leaves(statement, (ast.Return,))
            case ast.Try():
                sure = not statement.handlers and self.block(statement.body)
                self.block(statement.finalbody)
                return sure or not leaves(statement, LEAVES)
            case ast.With() | ast.AsyncWith():
                self.expressions([item.context_expr for item in statement.items])
                return self.block(statement.body)
            case ast.Match():
                self.expressions([statement.subject])
                return not leaves(statement, LEAVES)
            case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
                self.expressions(list(ast.iter_child_nodes(statement)))
                return False
            case _:
                self.expressions(list(ast.iter_child_nodes(statement)))
        return True

    def definition(self, statement: FunctionNode | ast.ClassDef | ast.AnnAssign) -> None:
        """Annotations are evaluated unless the file postpones them; those of local variables never are."""
        match statement:
            case ast.ClassDef():
                self.expressions([*statement.decorator_list, *statement.bases])
                self.block(statement.body)
            case ast.AnnAssign():
                evaluated = self._annotated and self._depth == 0
                parts = [statement.annotation if evaluated else None, statement.target, statement.value]
                self.expressions([part for part in parts if part is not None])
            case _:
                self.expressions([*statement.decorator_list, *statement.args.defaults])
                self.expressions(_annotations(statement) if self._annotated else [])

    def choice(self, statement: ast.If) -> bool:
        if is_main_guard(statement):
            return True
        self.expressions([statement.test])
        known = outcome(statement.test)
        if known is None:
            return not leaves(statement, LEAVES)
        return self.block(statement.body if known else statement.orelse)

    def expressions(self, roots: list[ast.AST]) -> None:
        waiting: list[ast.AST] = list(roots)
        while waiting:
            node = waiting.pop()
            self.met.add(node)
            waiting += certain_parts(node)
            if isinstance(node, ast.Call):
                self.called(node.func)

    def called(self, function: ast.expr) -> None:
        match function:
            case ast.Name(id=name):
                found = self._defined.get(name, [])
                if len(found) == 1 and isinstance(found[0], ast.ClassDef):
                    self.call_method(found[0], "__init__")
                elif len(found) == 1:
                    self.enter(found[0])
            case ast.Attribute(value=ast.Name(id=owner), attr="apply"):
                found = self._defined.get(owner, [])
                if len(found) == 1 and isinstance(found[0], ast.ClassDef):
                    self.call_method(found[0], "forward")
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if self.model is not None:
                self.call_method(self.model, name)
                for owner_class in self._defined.get(self._members.get(name, ""), []):
                    if isinstance(owner_class, ast.ClassDef) and name not in _methods(self.model):
                        self.call_method(owner_class, "forward")


def _annotations(function: FunctionNode) -> list[ast.AST]:
    given = function.args
    arguments = [*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg]
    annotations = [argument.annotation for argument in arguments if argument is not None]
    return [annotation for annotation in (*annotations, function.returns) if annotation is not None]


def _postpones_annotations(syntax: Syntax) -> bool:
    """`from __future__ import annotations`: they are never evaluated."""
    imports = [
        node for node in syntax.tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__"
    ]
    return any(alias.name == "annotations" for node in imports for alias in node.names)


def _module_definitions(syntax: Syntax) -> Mapping[str, list[ast.AST]]:
    defined: defaultdict[str, list[ast.AST]] = defaultdict(list)
    for node in syntax.nodes:
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            defined[node.name].append(node)
    return defined


def _member_classes(syntax: Syntax) -> Mapping[str, str]:
    """`self.layer = Layer(...)`: the class behind a member, where there is but one."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for node in syntax.nodes:
        if isinstance(node, ast.Assign):
            value = node.value
            made = value.func.id if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else ""
            for target in node.targets:
                if isinstance(target, ast.Attribute):
                    found[target.attr].add(made)
    return {name: next(iter(made)) for name, made in found.items() if len(made) == 1}


def _methods(owner: ast.ClassDef) -> set[str]:
    return {node.name for node in owner.body if isinstance(node, FUNCTIONS)}
