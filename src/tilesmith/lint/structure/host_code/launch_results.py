"""Where the result of a launch goes: does anything the file returns depend on it?

Generous by design: a tensor counts as used once a returned value, a branch or another function may depend on it.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property

from tilesmith.lint.model.source import MODEL_CLASS, HostCode, KernelSource, LaunchSite, cached_per_source
from tilesmith.lint.structure.addresses.buffers import stores_to
from tilesmith.lint.structure.host_code.host_calls import HostCalls, host_calls
from tilesmith.lint.structure.host_code.host_dependence import (
    DependenceLinks,
    aliases_of,
    call_word,
    has_own_memory,
    read_dependence_links,
)

FARTHEST = 8
"""Functions a result is followed through."""


@dataclass(frozen=True)
class ResultTrace:
    """What depends on a result inside one function."""

    host: HostCode
    words: frozenset[str]
    start: ast.Call
    """The launch or call it comes from."""


@cached_per_source
def launch_results(source: KernelSource) -> LaunchResults:
    return LaunchResults(source)


class LaunchResults:
    """Asked of one file, launch by launch."""

    def __init__(self, source: KernelSource) -> None:
        self.source = source
        self.calls: HostCalls = host_calls(source)
        self._links: dict[ast.AST, DependenceLinks] = {}
        self._known_outside: dict[ast.AST, frozenset[str]] = {}

    def are_used(self, launch: LaunchSite) -> bool:
        """Also true wherever that cannot be told."""
        host = self.source.host_of(launch)
        written = self.written(launch)
        if host is None or host.name == "__init__" or not written:
            return True
        shared = [aliases_of(argument, self.source) for argument in written]
        if any(not p and not has_own_memory(a, self.source) for a, p in zip(written, shared, strict=True)):
            return True
        words = frozenset[str]().union(*shared)
        return self._is_handed_out(host, words) or self._spreads(ResultTrace(host, words, launch.node), FARTHEST)

    def written(self, launch: LaunchSite) -> list[ast.expr]:
        """The arguments this launch may write through; none when some cannot be told."""
        found: list[ast.expr] = []
        for kernel in self.source.kernels_of(launch):
            bound = launch.bound_to(kernel)
            params = stores_to(self.source, kernel)
            if bound is None or not params or not params <= bound.keys():
                return []
            found += [bound[param] for param in params]
        return found

    def _is_handed_out(self, host: HostCode, words: frozenset[str]) -> bool:
        """The plain case: an entry that returns the tensor, or got it from its caller."""
        if host.node not in self._known_outside:
            returns = self.source.syntax.of_type(ast.Return, host.node) if self._is_entry(host) else []
            names = self.source.syntax.names(*(node.value for node in returns if node.value is not None))
            given = host.params if self._is_entry(host) else []
            self._known_outside[host.node] = frozenset({*names, *given})
        return bool(words & self._known_outside[host.node])

    def _spreads(self, trace: ResultTrace, depth: int) -> bool:
        if depth == 0:
            return True
        links = self._links_of(trace.host)
        words = links.follow(trace.words, trace.start)
        written = words & set(trace.host.params)
        if words & links.tested or self._is_kept(words, trace.host):
            return True
        if not words & links.returned and not written:
            return not links.returned and self._is_entry(trace.host)
        return self._leaves(trace.host, written, returned=bool(words & links.returned), depth=depth)

    def _links_of(self, host: HostCode) -> DependenceLinks:
        if host.node not in self._links:
            launches: dict[ast.AST, list[ast.expr]] = {
                launch.node: self.written(launch) for launch in self.source.launches if launch.function is host.node
            }
            self._links[host.node] = read_dependence_links(self.source, host, launches)
        return self._links[host.node]

    def _is_kept(self, words: frozenset[str], host: HostCode) -> bool:
        """On an object or in a global that another function reads."""
        known = {*host.flow.by_name, *host.params}
        if any(word.isidentifier() and word not in known for word in words):
            return True
        attributes = {word[1:] for word in words if word.startswith(".")}
        contains = self.source.syntax.contains
        return any(not contains(host.node, node) for name in attributes for node in self._reads.get(name, ()))

    @cached_property
    def _reads(self) -> dict[str, list[ast.Attribute]]:
        found: dict[str, list[ast.Attribute]] = {}
        for node in self.source.syntax.of_type(ast.Attribute):
            if isinstance(node.ctx, ast.Load):
                found.setdefault(node.attr, []).append(node)
        return found

    def _leaves(self, host: HostCode, written: frozenset[str], *, returned: bool, depth: int) -> bool:
        """Through `return`, or through an argument that was written to: does a caller use it?"""
        callers = self.calls.callers(host)
        if self._is_entry(host) or not callers:
            return True
        for site in callers:
            passed = self.calls.passed(site.call, host)
            if passed is None or not written <= passed.keys():
                return True
            words = {place for name in written for place in aliases_of(passed[name], self.source)}
            words |= {call_word(site.call, self.source)} if returned else set()
            if self._spreads(ResultTrace(site.host, frozenset(words), site.call), depth - 1):
                return True
        return False

    def _is_entry(self, host: HostCode) -> bool:
        if not any(node.name == MODEL_CLASS for node in self.source.classes):
            return True
        return host.owner is not None and host.owner.name == MODEL_CLASS and host.name in ("forward", "__call__")
