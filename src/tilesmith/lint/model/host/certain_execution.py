"""Which host code certainly runs when a file is imported, its model constructed and called once on a GPU.

Only what no condition, no early return and no caught exception can skip is in; a loop counts as entered.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping

from tilesmith.lint.model.host.reachability import FUNCTIONS, is_main_guard
from tilesmith.lint.model.syntax.call_arguments import last_name
from tilesmith.lint.model.syntax.names import Names
from tilesmith.lint.model.syntax.tree import SyntaxTree
from tilesmith.lint.vocabulary import words

HARMLESS = words(
    """
    staticmethod classmethod property no_grad inference_mode enable_grad lru_cache cache cached_property compile
    disable ignore unused export custom_fwd custom_bwd once_differentiable override final overload
    """
)
"""Decorators whose function still does what is written in it when it is called."""
GENERATING = (ast.Yield, ast.YieldFrom)


def runs_as_written(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Not what a decorator of the author's makes of it, and no generator, which waits to be asked."""
    called = [d.func if isinstance(d, ast.Call) else d for d in function.decorator_list]
    if isinstance(function, ast.AsyncFunctionDef) or any(isinstance(n, GENERATING) for n in ast.walk(function)):
        return False
    return all(last_name(decorator) in HARMLESS or _path(decorator) == "torch.fx.wrap" for decorator in called)


def may_suppress_exceptions(context: ast.expr) -> bool:
    """`with suppress(Exception):`, or a context manager that may do the same."""
    return isinstance(context, ast.Call) and last_name(context.func) in ("suppress", "raises", "ExitStack")


def _path(expression: ast.expr) -> str:
    return (
        f"{_path(expression.value)}.{expression.attr}"
        if isinstance(expression, ast.Attribute)
        else last_name(expression)
    )


def certain_parts(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return
        case ast.IfExp():
            yield node.test
        case ast.BoolOp():
            yield node.values[0]
        case ast.Compare():
            yield from (node.left, node.comparators[0])
        case _:
            yield from ast.iter_child_nodes(node)


def leaves(statement: ast.stmt, ways: tuple[type[ast.stmt], ...]) -> bool:
    return any(isinstance(node, ways) for node in ast.walk(statement))


def outcome(test: ast.expr) -> bool | None:
    """The tests whose outcome a GPU decides; None for all others."""
    match test:
        case ast.UnaryOp(op=ast.Not()):
            inner = outcome(test.operand)
            return None if inner is None else not inner
        case ast.Attribute(attr="is_cuda"):
            return True
        case ast.Call(
            func=ast.Attribute(value=ast.Attribute(attr="cuda") | ast.Name(id="cuda"), attr="is_available")
        ):
            return True
        case ast.Compare(ops=[op], comparators=[ast.Constant(value="cuda" | "cpu" as device)]):
            certain = device == "cpu" or (isinstance(test.left, ast.Attribute) and test.left.attr == "type")
            if isinstance(op, (ast.Eq, ast.NotEq)) and certain and "device" in ast.dump(test.left):
                return (device == "cuda") == isinstance(op, ast.Eq)
        case ast.Name(id="TYPE_CHECKING"):
            return False
    return None


FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
LEAVES = (ast.Return, ast.Break, ast.Continue)


def surely_run(
    syntax: SyntaxTree, names: Names, model_class: str, device_code: frozenset[ast.AST]
) -> frozenset[ast.AST]:
    """All host nodes that are met. A file without the model class is a collection of operators: each is run."""
    walk = _CertainWalk(syntax, names, device_code)
    walk.block(syntax.tree.body)
    models = [node for node in syntax.tree.body if isinstance(node, ast.ClassDef) and node.name == model_class]
    if len(models) == 1 and len(names.module.bindings[model_class]) == 1 and not models[0].decorator_list:
        walk.call_method(models[0], "__init__")
        walk.call_method(models[0], "__call__" if "__call__" in _methods(models[0]) else "forward")
    elif not models:
        for node in syntax.tree.body:
            if isinstance(node, FUNCTIONS) and node not in device_code:
                walk.enter(node)
    return frozenset(walk.met)


class _CertainWalk:
    def __init__(self, syntax: SyntaxTree, names: Names, device_code: frozenset[ast.AST]) -> None:
        self.met: set[ast.AST] = set()
        self.owner: ast.ClassDef | None = None
        """The class that `self` belongs to in the function being walked."""
        self._names = names
        self._entered: set[ast.AST] = set(device_code)
        self._defined: Mapping[str, list[ast.AST]] = _definitions(syntax)
        self._members = _member_classes(syntax)
        self._stored = _stored_attributes(syntax)
        # `from __future__ import annotations`: they are never evaluated
        imports = [
            node for node in syntax.tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__"
        ]
        self._annotated = not any(alias.name == "annotations" for node in imports for alias in node.names)
        self._depth = 0

    def enter(self, function: ast.AST) -> None:
        if function in self._entered or not isinstance(function, FUNCTIONS) or self._depth > 50:
            return
        if runs_as_written(function):
            self._entered.add(function)
            self._depth += 1
            self.block(function.body)
            self._depth -= 1

    def call_method(self, owner: ast.ClassDef, name: str) -> None:
        """Unless something else may be stored under the method's name."""
        methods = [node for node in owner.body if isinstance(node, FUNCTIONS) and node.name == name]
        if len(methods) == 1 and name not in self._stored:
            outer, self.owner = self.owner, owner
            self.enter(methods[0])
            self.owner = outer

    def call_member(self, classes: list[ast.AST]) -> None:
        """An instance called like a function, as layers are."""
        owner = classes[0] if len(classes) == 1 else None
        if isinstance(owner, ast.ClassDef) and "__call__" not in _methods(owner):
            self.call_method(owner, "forward")

    def call_function(self, function: ast.AST) -> None:
        """A function of the module knows no `self`; one defined in a method shares the method's."""
        outer = self.owner
        if self._names.scope_of[function] is self._names.module:
            self.owner = None
        self.enter(function)
        self.owner = outer

    def defined(self, name: ast.Name) -> ast.AST | None:
        """The one function or class that this name stands for here."""
        scope = self._names.scope_binding(name)
        found = [node for node in self._defined.get(name.id, ()) if self._names.scope_of[node] is scope]
        once = scope is not None and len(scope.bindings[name.id]) == 1
        return found[0] if once and len(found) == 1 else None

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
            case ast.Try() | ast.TryStar():
                sure = not statement.handlers and self.block(statement.body)
                self.block(statement.finalbody)
                return sure or not leaves(statement, LEAVES)
            case ast.With() | ast.AsyncWith():
                self.expressions([item.context_expr for item in statement.items])
                if any(may_suppress_exceptions(item.context_expr) for item in statement.items):
                    return not leaves(statement, LEAVES)
                return self.block(statement.body)
            case ast.Assert():
                self.expressions([statement.test])
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
            case ast.Name():
                found = self.defined(function)
                if isinstance(found, ast.ClassDef):
                    self.call_method(found, "__init__")
                elif found is not None:
                    self.call_function(found)
            case ast.Attribute(value=ast.Name() as owner, attr="apply"):
                found = self.defined(owner)
                if isinstance(found, ast.ClassDef):
                    self.call_method(found, "forward")
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if self.owner is not None:
                self.call_method(self.owner, name)
                if name not in _methods(self.owner):
                    self.call_member(self._defined.get(self._members.get(name, ""), []))


def _annotations(function: FunctionNode) -> list[ast.AST]:
    given = function.args
    arguments = [*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg]
    annotations = [argument.annotation for argument in arguments if argument is not None]
    return [annotation for annotation in (*annotations, function.returns) if annotation is not None]


def _definitions(syntax: SyntaxTree) -> Mapping[str, list[ast.AST]]:
    defined: defaultdict[str, list[ast.AST]] = defaultdict(list)
    for node in syntax.nodes:
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            defined[node.name].append(node)
    return defined


def _member_classes(syntax: SyntaxTree) -> Mapping[str, str]:
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


def _stored_attributes(syntax: SyntaxTree) -> frozenset[str]:
    """`self.forward = ...`, `ModelNew.forward = ...`, `setattr(ModelNew, "forward", ...)`."""
    stored = [n.attr for n in syntax.nodes if type(n) is ast.Attribute and isinstance(n.ctx, ast.Store)]
    for node in syntax.nodes:
        match node:
            case ast.Call(func=ast.Name(id="setattr"), args=[_, ast.Constant(value=str() as name), _]):
                stored.append(name)
    return frozenset(stored)


def _methods(owner: ast.ClassDef) -> set[str]:
    return {node.name for node in owner.body if isinstance(node, FUNCTIONS)}
