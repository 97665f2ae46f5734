"""What depends on what inside one function of host code, in any order of execution."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tilesmith.lint.model.source import HostCode, KernelSource
from tilesmith.lint.structure.host_code.aliases import aliases_of, target_aliases, words_in
from tilesmith.lint.structure.host_code.host_calls import host_calls

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
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            if reached:
                words = {word for argument in given for word in words_in(argument, source)}
                yield DependenceLink(node, frozenset(words), frozenset(reached - {"self", "cls"}), written=True)


def _link(node: ast.AST, value: ast.expr, targets: list[ast.expr], source: KernelSource) -> DependenceLink:
    changed = {place for target in targets for place in target_aliases(target, source)}
    written = any(isinstance(target, ast.Subscript) for target in targets)
    return DependenceLink(node, frozenset(words_in(value, source)), frozenset(changed), written)


def _reached(call: ast.Call, source: KernelSource, host: HostCode, written: Written) -> list[ast.expr]:
    """What a call may put its arguments into: whatever else it gets, and the object it is a method of."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if call in written:
        return written[call] or given
    dotted = source.dotted(call.func)
    if dotted is not None and dotted.startswith(PURE) and not dotted.startswith(WRITING):
        return [keyword.value for keyword in call.keywords if keyword.arg == "out"]
    if dotted is not None or host_calls(source).callees(call, host):
        return given
    return [call.func.value] if isinstance(call.func, ast.Attribute) else given
