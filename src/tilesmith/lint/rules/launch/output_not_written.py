"""Tensors made by `torch.empty` that nobody fills before they are read."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.source import HostCode, KernelSource, LaunchSite
from tilesmith.lint.rules.findings import warning
from tilesmith.lint.structure.addresses.written_parameters import ACCUMULATING, UNKNOWN_WRITE, writes_of
from tilesmith.lint.vocabulary import words
from tilesmith.records import Finding

UNFILLED_FUNCTIONS = frozenset({"torch.empty", "torch.empty_like", "torch.empty_strided"})
UNFILLED_METHODS = frozenset({"new_empty", "new_empty_strided"})
DESCRIBING = words("shape dtype device stride size numel dim ndim is_cuda is_contiguous element_size")
"""What looks at a tensor without touching its data."""
CLEARING = frozenset({"reset_to_zero", "pre_hook", "restore_value"})


def output_not_written(source: KernelSource) -> Iterator[Finding]:
    """Each local name that stands for unfilled memory only, followed to all its uses."""
    launches = {launch.node: launch for launch in source.launches}
    starting = {launch.function for launch in source.launches}
    for host in source.live_hosts:
        if host.node in starting:
            reader = _OutputUses(host, source, launches)
            for name in reader.unfilled():
                if message := reader.fault(name):
                    yield warning("output-not-written", host.flow.by_name[name][0].line, message)


def _is_unfilled(value: ast.AST, source: KernelSource) -> bool:
    if not isinstance(value, ast.Call):
        return False
    method = value.func.attr if isinstance(value.func, ast.Attribute) else ""
    dotted = source.dotted(value.func)
    return dotted in UNFILLED_FUNCTIONS or (dotted is None and method in UNFILLED_METHODS)


class _OutputUses:
    """What happens to the names of one function."""

    def __init__(self, host: HostCode, source: KernelSource, launches: dict[ast.Call, LaunchSite]) -> None:
        self.host, self.source, self.launches = host, source, launches
        self.uses: dict[str, list[ast.Name]] = {}
        for node in source.syntax.inside(*host.node.body):
            if type(node) is ast.Name and isinstance(node.ctx, ast.Load):
                self.uses.setdefault(node.id, []).append(node)
        own = [call for call, launch in launches.items() if launch.function is host.node]
        self.first_launch = min(map(source.syntax.position, own))

    def unfilled(self) -> list[str]:
        """Names that are nothing but `torch.empty`."""
        bound = self.host.flow.by_name.items()
        found = [
            name for name, all_of in bound if all(b.whole and _is_unfilled(b.value, self.source) for b in all_of)
        ]
        return [name for name in found if name not in self.host.params]

    def fault(self, name: str) -> str | None:
        """A message, where every use is understood and none fills the memory before it is read."""
        operations: set[str] = set()
        read = False
        for use in self.uses.get(name, ()):
            found = self._operations(use)
            if found is None:
                return None
            # after a launch: what is returned before one is an early way out
            read = read or (self._is_read(use) and self.source.syntax.position(use) > self.first_launch)
            operations |= found
        if read and not operations:
            return f"{name} is read as torch.empty left it: no kernel stores to it; store it or drop it"
        if operations and operations <= ACCUMULATING:
            return f"{name} is only added to by atomics and starts as garbage: allocate it with torch.zeros"
        return None

    def _operations(self, use: ast.Name) -> frozenset[str] | None:
        """What writes to it here; None when that cannot be told."""
        syntax = self.source.syntax
        parent = syntax.parents[use]
        if isinstance(parent, ast.Attribute) and parent.attr in DESCRIBING:
            return frozenset()
        above = self.source.syntax.ancestors(use)
        inner = (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef)
        if next((node for node in above if isinstance(node, inner)), None) is not self.host.node:
            return None
        call = self.source.syntax.parents[parent] if isinstance(parent, ast.keyword) else parent
        launch = self.launches.get(call) if isinstance(call, ast.Call) else None
        if launch is not None:
            return self._written_by(launch, use)
        return frozenset() if self._is_read(use) else None

    def _written_by(self, launch: LaunchSite, use: ast.Name) -> frozenset[str] | None:
        kernels = self.source.kernels_of(launch)
        found: frozenset[str] = frozenset()
        for kernel in kernels:
            bound = launch.bound_to(kernel)
            names = [param for param, value in (bound or {}).items() if value is use]
            tuner = kernel.autotune
            clears = tuner is not None and any(k.arg in CLEARING for k in tuner.decorator.keywords)
            if not names or clears or any("pre_hook" in config.options for config in getattr(tuner, "configs", ())):
                return None
            found |= writes_of(kernel, self.source).get(names[0], frozenset())
        return None if not kernels or UNKNOWN_WRITE in found else found

    def _is_read(self, use: ast.Name) -> bool:
        """In arithmetic, or in a `return`: itself, in a tuple, or through methods such as `view`."""
        node: ast.AST = use
        listed = False
        for above in self.source.syntax.ancestors(use):
            if isinstance(above, ast.Return):
                return True
            if isinstance(above, (ast.BinOp, ast.UnaryOp, ast.Compare)):
                return not listed
            listed = listed or isinstance(above, (ast.Tuple, ast.List))
            viewed = isinstance(above, ast.Attribute) and not above.attr.endswith("_")
            if not viewed and not listed and not (isinstance(above, ast.Call) and above.func is node):
                return False
            node = above
        return False
