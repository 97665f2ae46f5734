"""Loads and stores that can reach past the end because nothing masks them there."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.device.values import ValueKind
from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.rules.findings import warning
from tilesmith.lint.structure.addresses.accesses import KernelAccess, by_kernel, expansion_of
from tilesmith.lint.structure.addresses.expansion import AddressExpansion, AddressLane
from tilesmith.lint.structure.device_flow.call_frames import CallFrame
from tilesmith.lint.structure.launches.launch_arguments import MOST_LAUNCHES, made_of
from tilesmith.lint.structure.tiles.block_pointers import is_block_pointer, unchecked
from tilesmith.lint.structure.tiles.edges import TileEdges
from tilesmith.lint.structure.tiles.tiling import Fit
from tilesmith.records import Finding

ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def missing_mask(source: KernelSource) -> Iterator[Finding]:
    """Blocks at a ragged edge without a mask along the lane that runs over it."""
    expansion = expansion_of(source)
    seen: set[ast.AST] = set()
    for accesses in by_kernel(source):
        edges = TileEdges(source, accesses, expansion)
        for access in accesses:
            if access.call.node not in seen and not _has_way_out(access, source):
                size = _past(access, edges)
                if size is not None:
                    seen.add(access.call.node)
                    yield warning("missing-mask", access.call.line, _message(access, size))


def _past(access: KernelAccess, edges: TileEdges) -> str | None:
    """The size that some unmasked lane can run over."""
    if is_block_pointer(access, edges.expansion):
        return unchecked(access, edges)
    for lane in _unmasked(access, edges.expansion):
        verdict = edges.past(lane)
        if verdict.fit is Fit.RAGGED and not edges.is_made_to_fit(lane, access):
            return verdict.size
    return None


def _unmasked(access: KernelAccess, expansion: AddressExpansion) -> list[AddressLane]:
    """Lanes of the address that the mask says nothing about."""
    lanes = expansion.lanes(access.pointer, access.frame)
    if not lanes or access.mask is None:
        return lanes
    parts = access.masked_parts
    if any(_is_opaque(part.node, part.frame, expansion) for part in parts):
        return []
    masked = {part.node for part in parts if expansion.operation(part.node) == "arange"}
    own = {lane.arange for lane in lanes}
    alike = {ast.dump(node) for node in masked - own}
    return [lane for lane in lanes if lane.arange not in masked and ast.dump(lane.arange) not in alike]


def _is_opaque(node: ast.AST, frame: CallFrame, expansion: AddressExpansion) -> bool:
    """Something in a mask that may cover any lane: a call of an unknown function, a name from outside."""
    if isinstance(node, ast.Name):
        bindings = frame.bindings(node.id)
        parameter = node.id in frame.function.params and node.id not in frame.function.constexprs
        given = parameter and node.id not in frame.passed and frame.caller is not None
        return given or any(not b.whole and not isinstance(b.value, ast.Call) for b in bindings)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or expansion.operation(node):
        return False
    return node.func.id not in ("min", "max", "range")


def _has_way_out(access: KernelAccess, source: KernelSource) -> bool:
    """A branch around the access, here or where it is called from, that full tiles alone may enter."""
    node: ast.AST = access.call.node
    frame: CallFrame | None = access.frame
    while frame is not None:
        below = node
        for above in source.syntax.ancestors(node):
            if above is frame.function.node:
                break
            if isinstance(above, ast.If) and below is not above.test and _guards(above, below, frame, source):
                return True
            below = above
        if frame.call is None:
            return False
        node, frame = frame.call, frame.caller
    return False


def _guards(branch: ast.If, below: ast.AST, frame: CallFrame, source: KernelSource) -> bool:
    function = frame.function
    if function.value(branch.test).kind is ValueKind.TENSOR:
        return any(isinstance(op, ORDERED) for c in source.syntax.of_type(ast.Compare, branch.test) for op in c.ops)
    names = source.syntax.names(branch.test)
    if function.heuristics is None or names & function.heuristics:
        return True
    other = branch.orelse if below in branch.body else branch.body
    return _masks_something(other, source) or _asks_for_remainder(names, frame, source)


def _masks_something(statements: list[ast.stmt], source: KernelSource) -> bool:
    calls = [node for node in source.syntax.inside(*statements) if isinstance(node, ast.Call)] if statements else []
    return any(keyword.arg in ("mask", "boundary_check") for call in calls for keyword in call.keywords) or any(
        (source.dotted(call.func) or "").endswith(".load") and len(call.args) > 1 for call in calls
    )


def _asks_for_remainder(names: set[str], frame: CallFrame, source: KernelSource) -> bool:
    """The host computed the switch with `%`."""
    for launch in source.launches_of(frame.kernel)[:MOST_LAUNCHES]:
        bound = launch.bound_to(frame.kernel) or {}
        for name in names & bound.keys():
            for node in made_of(source, source.host_of(launch), bound[name]):
                if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
                    return True
    return False


def _message(access: KernelAccess, size: str) -> str:
    what = "load" if access.is_load else "store"
    return (
        f"this {what} can reach past {size} in the last tile: give it a mask on every axis that can run over, "
        "or assert on the host that the tile divides the size"
    )
