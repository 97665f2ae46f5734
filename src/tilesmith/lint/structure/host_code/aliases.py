"""The variables of host code that share memory with an expression, as words that can be compared.

A word is a name, `.name` for what is kept on an object, or `@n` for the value of the call at node n.
"""

from __future__ import annotations

import ast

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.structure.host_code.metadata_uses import is_metadata_use

OWN_MEMORY = ("torch.empty", "torch.zeros", "torch.ones", "torch.full", "torch.rand", "torch.clone", "torch.tensor")
OWN_MEMORY_METHODS = frozenset({"clone", "new_empty", "new_zeros", "new_ones", "new_full", "new_tensor"})
FIRST_PARAMETERS = frozenset({"self", "cls"})


def aliases_of(expression: ast.AST, source: KernelSource) -> set[str]:
    """`y` for `y[0].view(-1)`, `.buf` for `self.buf`; what a function returns may be a view of what it gets."""
    match expression:
        case ast.Name(id=name):
            return {name}
        case ast.Attribute(value=ast.Name(id=owner), attr=name) if source.dotted(expression) is None:
            return {f".{name}"} | ({owner} - FIRST_PARAMETERS)
        case ast.Attribute(value=inner) | ast.Subscript(value=inner) | ast.Starred(value=inner):
            return set() if source.dotted(expression) is not None else aliases_of(inner, source)
        case ast.Call():
            return set() if has_own_memory(expression, source) else _places_of_call(expression, source)
        case ast.IfExp():
            return aliases_of(expression.body, source) | aliases_of(expression.orelse, source)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return {place for part in parts for place in aliases_of(part, source)}
        case ast.GeneratorExp(generators=loops) | ast.ListComp(generators=loops):
            return {place for loop in loops for place in aliases_of(loop.iter, source)}
    return set()


def _places_of_call(call: ast.Call, source: KernelSource) -> set[str]:
    receiver = [call.func.value] if isinstance(call.func, ast.Attribute) else []
    given = [*receiver, *call.args, *(keyword.value for keyword in call.keywords)]
    return {place for part in given for place in aliases_of(part, source)}


def has_own_memory(expression: ast.AST, source: KernelSource) -> bool:
    """A fresh tensor that nobody else knows."""
    if not isinstance(expression, ast.Call):
        return False
    if (source.dotted(expression.func) or "").startswith(OWN_MEMORY):
        return True
    return isinstance(expression.func, ast.Attribute) and expression.func.attr in OWN_MEMORY_METHODS


def words_in(value: ast.AST, source: KernelSource) -> set[str]:
    """Every word a value depends on; asking a tensor for its shape is no dependence."""
    found: set[str] = set()
    for node in source.syntax.inside(value):
        kind = type(node)
        if kind is ast.Call:
            found.add(call_word(node, source))
        elif kind is ast.Name or kind is ast.Attribute:
            word = node.id if isinstance(node, ast.Name) else f".{getattr(node, 'attr', '')}"
            if not is_metadata_use(node, source.syntax):
                found.add(word)
    return found


def call_word(call: ast.AST, source: KernelSource) -> str:
    return f"@{source.syntax.position(call)}"


def target_aliases(target: ast.expr, source: KernelSource) -> set[str]:
    """What an assignment changes: the variable, and the object it belongs to."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return {place for part in target.elts for place in target_aliases(part, source)}
    return aliases_of(target, source) - FIRST_PARAMETERS
