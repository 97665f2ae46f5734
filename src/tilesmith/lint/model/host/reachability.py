"""Which functions of a file can run at all when it is imported and `ModelNew` is called.

Names decide: a function counts as reached once reached code mentions its name. That is generous, but it
leaves out what authors leave behind (an older kernel, a `backward` nobody asks for), and a mistake in code
that never runs is no reason to call the candidate broken.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from tilesmith.lint.model.syntax.tree import SyntaxTree

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = (*FUNCTIONS, ast.ClassDef)
RUN_WITH_THE_CLASS = frozenset({"__init__", "__new__", "__call__", "forward", "apply", "setup_context"})


def live_functions(syntax: SyntaxTree, model_class: str) -> frozenset[ast.AST]:
    """Functions reached from the module's own statements and from the model class.

    A file without that class is a collection of operators: then all its functions and classes are entries.
    """
    defined = _definitions(syntax)
    entries = defined.get(model_class) or [node for same_name in defined.values() for node in same_name]
    mentioned: set[str] = set()
    live: set[ast.AST] = set()
    waiting: list[ast.AST] = [syntax.tree, *entries]
    while waiting:
        node = waiting.pop()
        if node in live:
            continue
        live.add(node)
        if isinstance(node, ast.ClassDef):
            waiting += _run_with(node) + _inherited(node, defined)
        for name in _mentions(node, syntax):
            if name not in mentioned:
                mentioned.add(name)
                waiting += defined.get(name, ())
    return frozenset(node for node in live if isinstance(node, FUNCTIONS))


def is_live(node: ast.AST, syntax: SyntaxTree, live: frozenset[ast.AST]) -> bool:
    """Whether this code can run: in a reached function, or outside of any and not in the author's trial."""
    for above in syntax.ancestors(node):
        if isinstance(above, FUNCTIONS):
            return above in live
        if is_main_guard(above):
            return False
    return True


def _run_with(owner: ast.ClassDef) -> list[ast.AST]:
    return [m for m in owner.body if isinstance(m, FUNCTIONS) and m.name in RUN_WITH_THE_CLASS]


def _inherited(owner: ast.ClassDef, defined: dict[str, list[ast.AST]]) -> list[ast.AST]:
    """What runs with a class because its bases define it and itself does not."""
    found: list[ast.AST] = []
    taken = {method.name for method in owner.body if isinstance(method, FUNCTIONS)}
    waiting = [owner]
    seen: set[ast.AST] = {owner}
    while waiting:
        names = [base.id for base in waiting.pop().bases if isinstance(base, ast.Name)]
        for base in (node for name in names for node in defined.get(name, ())):
            if isinstance(base, ast.ClassDef) and base not in seen:
                seen.add(base)
                waiting.append(base)
                found += [m for m in _run_with(base) if isinstance(m, FUNCTIONS) and m.name not in taken]
    return found


def _definitions(syntax: SyntaxTree) -> dict[str, list[ast.AST]]:
    defined: defaultdict[str, list[ast.AST]] = defaultdict(list)
    for node in syntax.nodes:
        if isinstance(node, DEFINITIONS):
            defined[node.name].append(node)
    return dict(defined)


def _mentions(node: ast.AST, syntax: SyntaxTree) -> Iterator[str]:
    """Names used by this piece of code, without the functions and classes defined inside it."""
    waiting = _class_code(node) if isinstance(node, ast.ClassDef) else list(ast.iter_child_nodes(node))
    while waiting:
        parts = syntax.inside(waiting.pop())
        place = 0
        while place < len(parts):
            part = parts[place]
            if type(part) is ast.Name:
                if type(part.ctx) is ast.Load:
                    yield part.id
            elif type(part) is ast.Attribute:
                yield part.attr
            elif isinstance(part, DEFINITIONS) or is_main_guard(part):
                waiting += _at_definition(part)
                place += len(syntax.inside(part)) - 1
            place += 1


def _at_definition(part: ast.AST) -> list[ast.AST]:
    """What a definition evaluates where it stands; nothing of the author's trial."""
    if isinstance(part, ast.ClassDef):
        return _class_code(part)
    return [*part.decorator_list, *part.args.defaults] if isinstance(part, FUNCTIONS) else []


def _class_code(owner: ast.ClassDef) -> list[ast.AST]:
    """A base named by a plain name is no use of it: `_inherited` says what it lends."""
    return [*owner.body, *owner.decorator_list, *(base for base in owner.bases if not isinstance(base, ast.Name))]


def is_main_guard(node: ast.AST) -> bool:
    """`if __name__ == "__main__":` holds the author's own trial, which nobody runs."""
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Compare)
        and isinstance(node.test.left, ast.Name)
        and node.test.left.id == "__name__"
    )
