"""How the numbers of a product are multiplied: as halves made beforehand, or as they are.

A scheme is text: what a kernel takes, the lines in which it multiplies a tile, the lines in which its launcher
prepares that, and a kernel for one chunk of the summed dimension where that is cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tilesmith.playbook.graph.sums.factors import Factor, Product, Triangle
from tilesmith.playbook.recipes.products import sources
from tilesmith.playbook.recipes.products.operands import ComputedOperand
from tilesmith.playbook.recipes.products.tiles import FEW_ROWS

_POSITIONS = {"b": 0, "m": -2, "n": -2, "k": -1}


@dataclass(frozen=True)
class Situation:
    """What a scheme must know of a product beside its operands."""

    left_batch: str | None
    """The batch of the left factor that belongs to `batch`; None where it has one only."""
    right_batch: str | None
    is_batched: bool
    keeps_right: bool
    """Whether the right factor is a weight, which stays what it is from call to call."""
    prefix: str
    is_split: bool
    """Whether the summed dimension is cut into `SPLITS` chunks."""
    height: int
    """Rows of a tile."""
    result: Triangle | None
    """The part of the result that is used."""
    computed: dict[str, ComputedOperand]
    """Factors that are computed on the way: `left`, `right`."""
    given_halves: str = ""
    """What the launcher calls the halves of the left factor where it is given them."""


@dataclass(frozen=True)
class Scheme:
    pointers: tuple[str, ...]
    sizes: tuple[str, ...]
    """Beside M and N."""
    multiply: tuple[str, ...]
    """Lines that set RESULT, which has another name in the kernel, to the tile at `rows` and `cols`."""
    helpers: tuple[str, ...]
    host: tuple[str, ...]
    """Lines that prepare `factors`."""
    factors: tuple[str, ...]
    given_sizes: tuple[str, ...]
    """What the launcher passes for `sizes`."""
    parts_kernel: str
    """The kernel for one chunk."""


def multiply_as_halves(product: Product, where: Situation) -> Scheme:
    parts = tuple(f"{side}_{part}" for side in ("left", "right") for part in ("high", "low", "scale"))
    chunks = f", chunks={where.prefix}SPLITS" if where.is_split else ""
    how = {side: chunks + _written(factor) for side, factor in (("left", product.left), ("right", product.right))}
    bounds = _bounds(product, where.result)
    rows = "left.reshape(M, K)" if where.is_split and product.left.form.rank > 2 else "left"
    split = f"split_rows({rows}{how['left']})"
    made = f"kept_halves({product.right.step.name}, " if where.keeps_right else "split_rows("
    return Scheme(
        pointers=tuple(f"{part}_ptr" for part in parts),
        sizes=("PADDED",),
        multiply=(
            "tl.assume(PADDED % BLOCK_K == 0)  # rows end in zeros",
            *bounds,
            f"left, right = {_line(where.left_batch, 'rows', 'M')}, {_line(where.right_batch, 'cols', 'N')}"
            "  # beyond the last row, any row will do",
            "RESULT = multiply_halves(",
            f"    {', '.join(f'{part}_ptr' for part in parts)},",
            f"    left, right, PADDED, {'first, last' if bounds else '0, PADDED'}, BLOCK_M, BLOCK_N, BLOCK_K,",
            ")",
        ),
        helpers=(
            sources.LOAD_ROWS,
            sources.SPLIT_ROWS,
            *((sources.KEPT_HALVES,) if where.keeps_right else ()),
            sources.FIND_TILE,
            sources.MULTIPLY_HALVES,
            *((sources.HALVES_PARTS,) if where.is_split else ()),
        ),
        host=(
            f"left_high, left_low, left_scale = {where.given_halves or split}",
            f"right_high, right_low, right_scale = {made}right{how['right']})",
        ),
        factors=parts,
        given_sizes=("left_high.shape[-1]",),
        parts_kernel="halves_parts_kernel",
    )


def multiply_on_the_way(product: Product, where: Situation) -> Scheme:
    """With factors that are computed tile by tile; the others are read as they are."""
    plain = multiply_as_they_are(product, replace(where, computed={}))
    loads = {side: line for side, line in sources.LOADS.items() if side not in where.computed}
    loads |= {side: f"{side} = {one.call}" for side, one in where.computed.items()}
    kept = [side for side in ("left", "right") if side not in where.computed]
    leaves = dict.fromkeys(leaf.name for one in where.computed.values() for leaf in one.leaves)
    strides = [(side, axis) for side, axis in _axes(where) if side in kept]
    return Scheme(
        pointers=(*(f"{side}_ptr" for side in kept), *(f"{leaf}_ptr" for leaf in leaves)),
        sizes=("K", *(f"{side}_stride_{axis}" for side, axis in strides)),
        multiply=(
            *(line for line in plain.multiply if line.startswith(tuple(f"{side}_ptrs" for side in kept) or "-")),
            "depth = tl.arange(0, BLOCK_K).to(tl.int64)",
            "RESULT = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)",
            "for start in range(0, K, BLOCK_K):",
            "    k = start + depth",
            f"    {loads['left']}",
            f"    {loads['right']}",
            f"    {sources.DOTS[_way(product, where)].replace('total', 'RESULT')}",
        ),
        helpers=(sources.FIND_TILE, *(one.helper for one in where.computed.values())),
        host=tuple(line for line in plain.host if line.startswith(tuple(kept) or "-")),
        factors=(*kept, *leaves),
        given_sizes=("K", *(f"{side}.stride({_POSITIONS[axis]})" for side, axis in strides)),
        parts_kernel="",
    )


def _way(product: Product, where: Situation) -> str:
    if product.left.dtype != "float32":
        return "tiles"
    return "row" if where.height == 1 else "few_floats" if where.height <= FEW_ROWS else "floats"


def multiply_as_they_are(product: Product, where: Situation) -> Scheme:
    way = _way(product, where)
    shapes = {"left": "-1, M, K", "right": "-1, N, K"} if where.is_batched else {"left": "M, K"}
    factors = {"left": product.left, "right": product.right}
    flat = {side: shape for side, shape in shapes.items() if factors[side].form.rank > 2 + where.is_batched}
    strides = tuple(f"{side}_stride_{axis}" for side, axis in _axes(where))
    splits, block = f"{where.prefix}SPLITS", f"{where.prefix}BLOCK_K"
    return Scheme(
        pointers=("left_ptr", "right_ptr"),
        sizes=("K", *(("CHUNK",) if where.is_split else ()), *strides),
        multiply=(
            f"left_ptrs = left_ptr + {_place(where.left_batch, 'left', 'rows % M', 'm')}"
            "  # beyond the last row, any row will do",
            f"right_ptrs = right_ptr + {_place(where.right_batch, 'right', 'cols % N', 'n')}",
            f"RESULT = multiply_{way}(",
            "    left_ptrs, right_ptrs, 0, K, K, left_stride_k, right_stride_k, BLOCK_M, BLOCK_N, BLOCK_K",
            ")",
        ),
        helpers=(
            sources.FIND_TILE,
            sources.MULTIPLY[way],
            *((sources.TILES_PARTS.format(way=way),) if where.is_split else ()),
        ),
        host=(
            *(f"{side} = {side}.reshape({shape})" for side, shape in flat.items()),
            *((f"CHUNK = triton.cdiv(triton.cdiv(K, {splits}), {block}) * {block}",) if where.is_split else ()),
        ),
        factors=("left", "right"),
        given_sizes=(
            "K",
            *(("CHUNK",) if where.is_split else ()),
            *(f"{side}.stride({_POSITIONS[axis]})" for side, axis in _axes(where)),
        ),
        parts_kernel=f"{way}_parts_kernel",
    )


def multiply_described(product: Product, where: Situation) -> Scheme:
    """By tensor descriptors: the GPU copies tiles by itself, and programs stay for many tiles of the result."""
    blocks = {"left": "BLOCK_M", "right": "BLOCK_N"}
    made = ((side, f"{where.prefix}{block}, {where.prefix}BLOCK_K") for side, block in blocks.items())
    flat = ("left = left.reshape(M, K)",) if product.left.form.rank > 2 else ()
    return Scheme(
        pointers=("left_tiles", "right_tiles"),
        sizes=("K",),
        multiply=(
            "RESULT = multiply_described(",
            "    left_tiles, right_tiles, first_row, first_col, K, LEFT_TURNED, RIGHT_TURNED, "
            "BLOCK_M, BLOCK_N, BLOCK_K",
            ")",
        ),
        helpers=(sources.FIND_CORNER, sources.DESCRIBE_TILES, sources.MULTIPLY_DESCRIBED, sources.SPLIT_COLUMNS),
        host=(*flat, *(f"{side}_tiles, {side}_turned = describe_tiles({side}, {tile})" for side, tile in made)),
        factors=("left_tiles", "right_tiles"),
        given_sizes=("K",),
        parts_kernel="",
    )


def _written(factor: Factor) -> str:
    """What tells `split_rows` of a triangle."""
    found = factor.triangle
    return f", triangle={1 if found.is_upper else -1}, diagonal={found.diagonal}" if found else ""


def _bounds(product: Product, result: Triangle | None) -> tuple[str, ...]:
    """Which part of the sum is not all zeros, in lines that set `first` and `last`."""
    lines: list[str] = []
    for factor, rows in ((product.left, "rows"), (product.right, "cols")):
        found = factor.triangle
        if found is not None and found.is_upper:
            edge = f"tl.min({rows}, axis=0).to(tl.int32) + {found.diagonal}"
            lines.append(f"first = tl.maximum(first, {edge}) // BLOCK_K * BLOCK_K  # zeros before the diagonal")
        elif found is not None:
            edge = f"tl.max({rows}, axis=0).to(tl.int32) + {found.diagonal + 1}"
            lines.append(f"last = tl.maximum(tl.minimum(last, {edge}), 0)  # zeros behind the diagonal")
    if result is not None:
        near, far = ("max", "min") if result.is_upper else ("min", "max")
        sign = "<" if result.is_upper else ">"
        distance = f"tl.{near}(cols, axis=0) - tl.{far}(rows, axis=0)"
        lines.append(
            f"last = tl.where({distance} {sign} {result.diagonal}, 0, last)  # nothing of this tile is kept"
        )
    return ("first, last = 0, PADDED", *lines) if lines else ()


def _line(batch: str | None, index: str, size: str) -> str:
    line = f"tl.minimum({index}, {size} - 1)"
    return f"({batch}) * {size} + {line}" if batch else line


def _place(batch: str | None, side: str, index: str, axis: str) -> str:
    inside = f"{index} * {side}_stride_{axis}"
    return f"({batch}) * {side}_stride_b + {inside}" if batch else inside


def _axes(where: Situation) -> Sequence[tuple[str, str]]:
    """The strides that a kernel takes."""
    left = ["b"] * (where.left_batch is not None) + ["m", "k"]
    right = ["b"] * (where.right_batch is not None) + ["n", "k"]
    return [*(("left", axis) for axis in left), *(("right", axis) for axis in right)]
