"""Which functions of the file a call in host code leads to, and whether a kernel is started on the way."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tilesmith.lint.model.source import HostCode, KernelSource, cached_per_source
from tilesmith.lint.model.syntax.call_arguments import FunctionNode, arguments_by_name, hides_arguments

MOST_CALLEES = 4
"""Methods of one name that are all taken for the one meant; with more of them a name says nothing."""
RUN_BY_CALLING = ("forward", "__call__")


@dataclass(frozen=True)
class CallSite:
    call: ast.Call
    host: HostCode


class HostCalls:
    """The calls between the functions of one file."""

    def __init__(self, source: KernelSource) -> None:
        self.source = source
        self.launches = {launch.node: launch for launch in source.launches}
        self.buffers: dict[FunctionNode, tuple[frozenset[str], frozenset[str]]] = {}
        """Parameters that a function's launches read and fill, once somebody has asked for them."""
        self._starting: dict[ast.Call, bool] = {}

    def callees(self, call: ast.Call, host: HostCode) -> tuple[HostCode, ...]:
        """The functions of this file that the call may run; none for a launch and for what is imported."""
        match call.func:
            case ast.Name(id=name):
                found = self._functions.get(name) or self._behind_loop_variable(name, host)
            case ast.Attribute(value=ast.Name(id=owner), attr="apply") if owner in self._classes:
                found = self._run_by_calling(owner)
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                found = self._method(name, host.owner) or self._member(name)
            case ast.Attribute(attr=name):
                found = self._methods.get(name, []) or self._member(name)
            case ast.Subscript(value=ast.Attribute(attr=name)):
                found = self._member(name)
            case ast.Call(func=ast.Name(id=name)):
                found = self._run_by_calling(name)
            case _:
                found = []
        return tuple(found) if len(found) <= MOST_CALLEES else ()

    def starts_kernel(self, call: ast.Call, host: HostCode) -> bool:
        if call not in self._starting:
            led = any(callee.node in self.launching for callee in self.callees(call, host))
            self._starting[call] = call in self.launches or led
        return self._starting[call]

    def launching_calls(self, host: HostCode, *roots: ast.AST) -> list[ast.Call]:
        """The calls in these statements that start a kernel, now or in what they call."""
        return [call for call in self.source.syntax.of_type(ast.Call, *roots) if self.starts_kernel(call, host)]

    def callers(self, host: HostCode) -> list[CallSite]:
        return self._sites.get(host.node, [])

    def passed(self, call: ast.Call, callee: HostCode) -> Mapping[str, ast.expr] | None:
        """Arguments by the callee's parameter names; None when some hide behind a star."""
        if hides_arguments(call):
            return None
        given = callee.node.args
        names = [argument.arg for argument in [*given.posonlyargs, *given.args]]
        applied = isinstance(call.func, ast.Attribute) and call.func.attr == "apply"
        if callee.owner is not None and (applied or not is_static(callee.node)):
            names = names[1:]
        return arguments_by_name(names, call)

    @cached_property
    def launching(self) -> frozenset[FunctionNode]:
        """Functions that start a kernel, directly or through others."""
        found = {launch.function for launch in self.source.launches if launch.function is not None}
        waiting = list(found)
        while waiting:
            for site in self._sites.get(waiting.pop(), []):
                if site.host.node not in found:
                    found.add(site.host.node)
                    waiting.append(site.host.node)
        return frozenset(found)

    @cached_property
    def _sites(self) -> Mapping[FunctionNode, list[CallSite]]:
        found: defaultdict[FunctionNode, list[CallSite]] = defaultdict(list)
        for host in self.source.hosts:
            for call in self.source.syntax.of_type(ast.Call, *host.node.body):
                for callee in self.callees(call, host):
                    found[callee.node].append(CallSite(call, host))
        return found

    @cached_property
    def _functions(self) -> Mapping[str, list[HostCode]]:
        return _by_name([host for host in self.source.hosts if host.owner is None])

    @cached_property
    def _methods(self) -> Mapping[str, list[HostCode]]:
        return _by_name([host for host in self.source.hosts if host.owner is not None])

    @cached_property
    def _classes(self) -> frozenset[str]:
        return frozenset(node.name for node in self.source.classes)

    def _method(self, name: str, owner: ast.ClassDef | None) -> list[HostCode]:
        """Of the class itself, else of any class: it may be inherited."""
        found = self._methods.get(name, [])
        return [host for host in found if host.owner is owner] or found

    def _run_by_calling(self, class_name: str) -> list[HostCode]:
        candidates = [host for name in RUN_BY_CALLING for host in self._methods.get(name, [])]
        return [host for host in candidates if host.owner is not None and host.owner.name == class_name]

    def _member(self, name: str) -> list[HostCode]:
        return [host for made in self._made_members.get(name, ()) for host in self._run_by_calling(made)]

    @cached_property
    def _made_members(self) -> Mapping[str, set[str]]:
        """`self.cell = Cell(...)`, `self.cells = nn.ModuleList([Cell(...) ...])`: member and class."""
        found: defaultdict[str, set[str]] = defaultdict(set)
        for node in self.source.syntax.of_type(ast.Assign):
            members = [target.attr for target in node.targets if isinstance(target, ast.Attribute)]
            for member in members:
                found[member] |= self.source.syntax.names(node.value) & self._classes
        return found

    def _behind_loop_variable(self, name: str, host: HostCode) -> list[HostCode]:
        """`for cell in self.cells: cell(x)`, `cell = self.cell`."""
        values = host.flow.values_of(name)
        members = [n.attr for n in self.source.syntax.inside(*values) if isinstance(n, ast.Attribute)]
        return [host for member in dict.fromkeys(members) for host in self._member(member)]


@cached_per_source
def host_calls(source: KernelSource) -> HostCalls:
    return HostCalls(source)


def _by_name(hosts: list[HostCode]) -> Mapping[str, list[HostCode]]:
    found: defaultdict[str, list[HostCode]] = defaultdict(list)
    for host in hosts:
        found[host.name].append(host)
    return found


def is_static(node: FunctionNode) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list)
