"""Launches without effect: their result is dropped, or it is what was there before."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from enum import Enum

from tilesmith.lint.model.source import HostCode, JitFunction, KernelSource, LaunchSite, cached_per_source
from tilesmith.lint.structure.addresses.buffers import pointer_params, stores_to
from tilesmith.lint.structure.host_code.host_calls import host_calls
from tilesmith.lint.structure.host_code.launch_results import launch_results
from tilesmith.lint.structure.kernel_kinds.copying_kernels import only_copies
from tilesmith.lint.vocabulary import LOADS, words

SAME_LAYOUT = frozenset({"contiguous", "detach", "clone", "flatten", "ravel", "view", "reshape", "to", "cuda"})
OTHER_VIEWS = words("t transpose permute expand narrow select chunk split unbind flip movedim")
ALLOCATORS = ("torch.empty", "torch.zeros")


MOST_LAUNCHES = 200
"""Looked at in one file; more than that nobody wrote by hand."""


class Decoy(Enum):
    COPIES = "copies"
    UNUSED = "unused"


@cached_per_source
def decoys(source: KernelSource) -> Mapping[LaunchSite, Decoy]:
    found = {launch: _reason(source, launch) for launch in source.live_launches[:MOST_LAUNCHES]}
    return {launch: reason for launch, reason in found.items() if reason is not None}


def _reason(source: KernelSource, launch: LaunchSite) -> Decoy | None:
    kernels = source.kernels_of(launch)
    if not kernels or not isinstance(launch.node.func, ast.Subscript):
        return None
    if all(only_copies(source, k, launch) and _keeps_layout(source, k, launch) for k in kernels):
        return Decoy.COPIES
    return None if launch_results(source).are_used(launch) else Decoy.UNUSED


def _keeps_layout(source: KernelSource, kernel: JitFunction, launch: LaunchSite) -> bool:
    """Not a slice, not another type, and into memory allocated for it or back to where it came from."""
    bound, host = launch.bound_to(kernel), source.host_of(launch)
    if bound is None or host is None:
        return False
    loads = [call.node.args[0] for call in kernel.calls if call.operation in LOADS and call.node.args]
    read = {name for load in loads for name in pointer_params(load, kernel)}
    written = stores_to(source, kernel)
    if not read | written <= bound.keys() or not all(_is_whole(bound[name], host) for name in read | written):
        return False
    if not all(_is_computed(bound[name], host, source) for name in read):
        return False
    sources = {ast.dump(bound[name]) for name in read}
    return all(ast.dump(bound[name]) in sources or _is_allocated(bound[name], host, source) for name in written)


def _is_computed(value: ast.AST, host: HostCode, source: KernelSource, depth: int = 4) -> bool:
    """Somebody made this tensor before; a copy of an input may be just what is asked for."""
    if isinstance(value, ast.Name) and depth:
        bound = [v for v in host.flow.values_of(value.id) if value.id not in source.syntax.names(v)]
        passed = [
            (given[value.id], site.host)
            for site in host_calls(source).callers(host)
            if value.id in (given := host_calls(source).passed(site.call, host) or {})
        ]
        sources = [(v, host) for v in bound] or passed
        return any(_is_computed(v, where, source, depth - 1) for v, where in sources)
    if isinstance(value, ast.Call):
        inner = value.func.value if isinstance(value.func, ast.Attribute) else None
        viewed = isinstance(value.func, ast.Attribute) and value.func.attr in SAME_LAYOUT and inner is not None
        return _is_computed(inner, host, source, depth) if viewed and inner is not None else True
    return isinstance(value, (ast.BinOp, ast.UnaryOp))


def _is_whole(value: ast.AST, host: HostCode) -> bool:
    """A tensor as it is, and no part or other view of one."""
    match value:
        case ast.Name(id=name):
            values = host.flow.values_of(name)
            return not any(isinstance(v, ast.Subscript) or _is_other_view(v) for v in values)
        case ast.Call():
            return not _is_other_view(value)
    return isinstance(value, ast.Attribute)


def _is_other_view(value: ast.AST) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in OTHER_VIEWS


def _is_allocated(value: ast.expr, host: HostCode, source: KernelSource) -> bool:
    """`torch.empty_like(x)`, or `torch.empty(..., dtype=x.dtype)`, bound once in this function."""
    values = host.flow.values_of(value.id) if isinstance(value, ast.Name) else [value]
    return bool(values) and all(_allocates_alike(v, source) for v in values)


def _allocates_alike(value: ast.AST, source: KernelSource) -> bool:
    if not isinstance(value, ast.Call) or not (source.dotted(value.func) or "").startswith(ALLOCATORS):
        return False
    types = [keyword.value for keyword in value.keywords if keyword.arg == "dtype"]
    return all(isinstance(dtype, ast.Attribute) and dtype.attr == "dtype" for dtype in types)
