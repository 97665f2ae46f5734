"""Block pointers (`tl.make_block_ptr`) that are read or written without a check at a ragged edge."""

from __future__ import annotations

import ast
from typing import NamedTuple

from tilesmith.lint.model.syntax.call_arguments import argument
from tilesmith.lint.structure.addresses.accesses import KernelAccess
from tilesmith.lint.structure.addresses.expansion import AddressExpansion
from tilesmith.lint.structure.device_flow.call_frames import CallFrame, FramedNode
from tilesmith.lint.structure.tiles.edges import TileEdges
from tilesmith.lint.structure.tiles.tiling import UNKNOWN, Fit, TileFit, worst


class BlockPointerAxis(NamedTuple):
    """One axis of a block pointer."""

    size: ast.expr
    offset: ast.expr
    tile: ast.expr
    frame: CallFrame


def is_block_pointer(access: KernelAccess, expansion: AddressExpansion) -> bool:
    return _maker(access, expansion) is not None


def _maker(access: KernelAccess, expansion: AddressExpansion) -> FramedNode | None:
    """The `make_block_ptr` this pointer comes from."""
    kernel = access.frame.kernel
    if not kernel.callees and not kernel.calls_of("make_block_ptr"):
        return None
    parts = access.frame.behind(access.pointer)
    makers = [part for part in parts if expansion.operation(part.node) == "make_block_ptr"]
    return makers[0] if makers else None


def unchecked(access: KernelAccess, edges: TileEdges) -> str | None:
    """The size of an axis that no `boundary_check` names and that tiles may run over."""
    maker = _maker(access, edges.expansion)
    checked = _checked_axes(access.call.node)
    if maker is None or checked is None:
        return None
    for number, axis in enumerate(_axes(maker)):
        if number not in checked:
            verdict = _verdict(axis, edges, access)
            if verdict.fit is Fit.RAGGED:
                return verdict.size
    return None


def _checked_axes(call: ast.Call) -> set[int] | None:
    given = next((k.value for k in call.keywords if k.arg == "boundary_check"), None)
    if given is None:
        return set() if not any(k.arg is None for k in call.keywords) else None
    if not isinstance(given, (ast.Tuple, ast.List)):
        return None
    return {part.value for part in given.elts if isinstance(part, ast.Constant) and isinstance(part.value, int)}


def _axes(maker: FramedNode) -> list[BlockPointerAxis]:
    call = maker.node
    if not isinstance(call, ast.Call):
        return []
    parts = [_elements(argument(call, at, name)) for at, name in ((1, "shape"), (3, "offsets"), (4, "block_shape"))]
    if len({len(part) for part in parts}) != 1:
        return []
    return [BlockPointerAxis(size, offset, tile, maker.frame) for size, offset, tile in zip(*parts, strict=True)]


def _elements(node: ast.expr | None) -> list[ast.expr]:
    return node.elts if isinstance(node, (ast.Tuple, ast.List)) else []


def _verdict(axis: BlockPointerAxis, edges: TileEdges, access: KernelAccess) -> TileFit:
    """Ragged where a tile moves over a size that is not the tile itself."""
    if ast.dump(axis.size) == ast.dump(axis.tile):
        return UNKNOWN
    tile = FramedNode(axis.tile, axis.frame)
    verdicts = [edges.tiling.by_tile(tile)] if _mentions(axis.offset, axis.tile, axis.frame) else []
    verdicts += [
        edges.tiling.of_loop(loop, access.frame, tile)
        for loop in access.frame.function.loops_around(access.call.node)
        if _advances(loop.node, axis, access, edges.expansion)
    ]
    return worst(verdicts)


def _mentions(offset: ast.expr, tile: ast.expr, frame: CallFrame) -> bool:
    wanted = ast.dump(tile)
    return any(isinstance(p.node, ast.expr) and ast.dump(p.node) == wanted for p in frame.behind(offset))


def _advances(loop: ast.AST, axis: BlockPointerAxis, access: KernelAccess, expansion: AddressExpansion) -> bool:
    """Some `tl.advance` in the loop moves this pointer by this tile."""
    syntax = access.frame.function.flow.syntax
    wanted = ast.dump(axis.tile)
    names = syntax.names(access.pointer)
    advances = [node for node in syntax.inside(loop) if expansion.operation(node) == "advance"]
    moves = [part for node in advances if names & syntax.names(node) for part in syntax.inside(node)]
    return any(isinstance(part, ast.expr) and ast.dump(part) == wanted for part in moves)
