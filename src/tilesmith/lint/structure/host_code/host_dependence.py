"""What depends on what inside one function of host code, in any order of execution.

A word stands for variables that share memory: a name, `.name` for what is kept on an object, or `@n` for the value
of the call at node n.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tilesmith.lint.model.source import HostCode, KernelSource
from tilesmith.lint.model.syntax.call_arguments import all_arguments
from tilesmith.lint.model.syntax.tree import SyntaxTree
from tilesmith.lint.structure.host_code.host_calls import host_calls
from tilesmith.lint.vocabulary import words

ATTRIBUTES = words(
    """
    shape dtype device ndim is_cuda is_cpu requires_grad layout itemsize nbytes is_sparse _version training
    """
)
METHODS = words(
    """
    size numel nelement dim stride data_ptr element_size get_device is_contiguous storage_offset is_floating_point
    new_empty new_zeros new_ones new_full untyped_storage
    """
)
FUNCTIONS = words(
    """
    len id type isinstance hash print repr empty_like zeros_like ones_like full_like rand_like randn_like
    TensorDescriptor from_tensor
    """
)


def is_metadata_use(name: ast.AST, syntax: SyntaxTree) -> bool:
    """`x` in `x.shape[0]`, `x.size(1)`, `len(x)`, `torch.empty_like(x)`, `x is None`."""
    parent = syntax.parents.get(name)
    match parent:
        case ast.Attribute(attr=attribute):
            return attribute in ATTRIBUTES or (attribute in METHODS and _is_called(parent, syntax))
        case ast.Call(func=ast.Name(id=function) | ast.Attribute(attr=function), args=[first, *_]) if first is name:
            return function in FUNCTIONS
        case ast.Compare(ops=[ast.Is() | ast.IsNot()]):
            return True
    return False


def _is_called(function: ast.AST, syntax: SyntaxTree) -> bool:
    above = syntax.parents.get(function)
    return isinstance(above, ast.Call) and above.func is function


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
    given = [*receiver, *all_arguments(call)]
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


PURE = ("torch.", "triton.", "math.", "numpy.")
"""Functions from there write only to `out=`."""
WRITING = ("torch.distributed.", "torch.ops.")
CHOICES = (ast.If, ast.While, ast.IfExp)
Written = Mapping[ast.AST, list[ast.expr]]
"""Of each launch in the function, the arguments it writes through; none where that cannot be told."""


@dataclass(frozen=True)
class DependenceLink:
    """Where one of `words` goes in, `targets` change."""

    node: ast.AST
    words: frozenset[str]
    targets: frozenset[str]
    written: bool
    """Memory is written to, and not only a name bound."""


@dataclass(frozen=True)
class DependenceLinks:
    links: tuple[DependenceLink, ...]
    aliases: Mapping[str, frozenset[str]]
    """Variables that may be views of others: who writes to the one writes to the others."""
    returned: frozenset[str]
    tested: frozenset[str]

    def follow(self, start: frozenset[str], skipped: ast.AST) -> frozenset[str]:
        """Everything that depends on these words, leaving out the call they come from."""
        words = self._with_views(start)
        size = 0
        while size != len(words):
            size = len(words)
            for link in self.links:
                if link.node is not skipped and not link.targets <= words and link.words & words:
                    words |= self._with_views(link.targets) if link.written else link.targets
        return frozenset(words)

    def _with_views(self, words: frozenset[str]) -> set[str]:
        found: set[str] = set()
        waiting = list(words)
        while waiting:
            word = waiting.pop()
            if word not in found:
                found.add(word)
                waiting += self.aliases.get(word, ())
        return found


def read_dependence_links(source: KernelSource, host: HostCode, written: Written) -> DependenceLinks:
    nodes = source.syntax.inside(host.node)
    links = [link for node in nodes for link in _links_at(node, source, host, written)]
    leaving = [n.value for n in nodes if isinstance(n, (ast.Return, ast.Yield)) and n.value is not None]
    tests = [n.test for n in nodes if isinstance(n, CHOICES)]
    return DependenceLinks(
        links=tuple(links),
        aliases={name: _views(name, source, host) for name in host.flow.by_name},
        returned=frozenset(word for value in leaving for word in words_in(value, source)),
        tested=frozenset(word for value in tests for word in words_in(value, source)),
    )


def _views(name: str, source: KernelSource, host: HostCode) -> frozenset[str]:
    return frozenset(place for value in host.flow.values_of(name) for place in aliases_of(value, source))


def _links_at(node: ast.AST, source: KernelSource, host: HostCode, written: Written) -> Iterator[DependenceLink]:
    match node:
        case ast.Assign(targets=targets, value=value):
            yield _link(node, value, targets, source)
        case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.AugAssign(target=target, value=value):
            yield _link(node, value, [target], source)
        case ast.NamedExpr(target=target, value=value):
            yield _link(node, value, [target], source)
        case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
            yield _link(node, value, [target], source)
        case ast.withitem(optional_vars=ast.expr() as target, context_expr=value):
            yield _link(node, value, [target], source)
        case ast.Call():
            reached = {
                place for part in _reached(node, source, host, written) for place in aliases_of(part, source)
            }
            given = all_arguments(node)
            if reached:
                words = {word for argument in given for word in words_in(argument, source)}
                yield DependenceLink(node, frozenset(words), frozenset(reached - {"self", "cls"}), written=True)


def _link(node: ast.AST, value: ast.expr, targets: list[ast.expr], source: KernelSource) -> DependenceLink:
    changed = {place for target in targets for place in target_aliases(target, source)}
    written = any(isinstance(target, ast.Subscript) for target in targets)
    return DependenceLink(node, frozenset(words_in(value, source)), frozenset(changed), written)


def _reached(call: ast.Call, source: KernelSource, host: HostCode, written: Written) -> list[ast.expr]:
    """What a call may put its arguments into: whatever else it gets, and the object it is a method of."""
    given = all_arguments(call)
    if call in written:
        return written[call] or given
    dotted = source.dotted(call.func)
    if dotted is not None and dotted.startswith(PURE) and not dotted.startswith(WRITING):
        return [keyword.value for keyword in call.keywords if keyword.arg == "out"]
    if dotted is not None or host_calls(source).callees(call, host):
        return given
    return [call.func.value] if isinstance(call.func, ast.Attribute) else given
