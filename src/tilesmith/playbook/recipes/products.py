"""Products of matrices with all pointwise work behind them in one kernel.

In float32 three products of halves replace one: rows are scaled by powers of two, each number is the sum of two
halves, and the tensor core multiplies those. Every block of the sum is added up outside of the tensor core, which
truncates. That is several times as fast as a float32 product, and more accurate. Halves of weights are kept until
the weights change.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

from tilesmith.playbook.graph.lowering import Lowering, Product
from tilesmith.playbook.graph.operators import PRODUCTS, is_known, operator_name
from tilesmith.playbook.graph.placement import Placer, TilePosition
from tilesmith.playbook.graph.steps import REDUCTIONS, KernelStep
from tilesmith.playbook.recipe import Declined, KernelParts, Region, RegionText, Tuning
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.fused_kernel import FusedKernel, fuse
from tilesmith.playbook.writing.kernel_body import Tile, write_on_one_tile
from tilesmith.tasks.graph import Node

_NAMES = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "GROUP", "NUM_WARPS", "NUM_STAGES")
_SIZES = (
    (128, 128, 64, 8, 8, 3),
    (128, 64, 64, 8, 4, 3),
    (64, 128, 64, 8, 4, 3),
    (64, 64, 64, 8, 4, 4),
    (128, 128, 32, 8, 8, 4),
)
_SMALL_SIZES = ((64, 64, 64, 8, 4, 3), (32, 64, 64, 8, 4, 4), (64, 32, 64, 8, 4, 4), (16, 64, 128, 8, 4, 3))
_FEW_TILES = 132
"""With fewer tiles than this a GPU is not full."""
_LEAST_FLOPS = 1e9
"""Smaller products are over before the halves are made."""
_LEAST_ROWS = 64
"""With fewer rows the time goes into reading the weights."""
_TILE = Tile("rows", "cols", False)

SPLIT_ROWS = '''@triton.jit
def split_rows_kernel(
    # pointers
    x_ptr,
    high_ptr,
    low_ptr,
    scale_ptr,
    # sizes
    M,
    K,
    K_PADDED,
    stride_m,
    stride_k,
    # meta-parameters
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Scale each row by a power of two, its largest to about 2**12; then x * scale = high + low in halves."""
    rows = (tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS))[:, None]
    largest = tl.zeros((ROWS, BLOCK), tl.float32)
    for start in range(0, K, BLOCK):
        cols = start + tl.arange(0, BLOCK)[None, :]
        x = tl.load(x_ptr + rows * stride_m + cols * stride_k, mask=(rows < M) & (cols < K), other=0.0)
        largest = tl.maximum(largest, tl.abs(x))
    exponent = (tl.max(largest, axis=1, keep_dims=True).to(tl.int32, bitcast=True) >> 23) - 127
    shift = tl.minimum(tl.maximum(12 - exponent, -110), 110)  # a row of zeros has no exponent
    scale = ((shift + 127) << 23).to(tl.float32, bitcast=True)
    for start in range(0, K_PADDED, BLOCK):
        cols = start + tl.arange(0, BLOCK)[None, :]
        x = tl.load(x_ptr + rows * stride_m + cols * stride_k, mask=(rows < M) & (cols < K), other=0.0) * scale
        high = x.to(tl.float16)
        inside = (rows < M) & (cols < K_PADDED)
        tl.store(high_ptr + rows * K_PADDED + cols, high, mask=inside)
        tl.store(low_ptr + rows * K_PADDED + cols, (x - high.to(tl.float32)).to(tl.float16), mask=inside)
    tl.store(scale_ptr + rows, ((127 - shift) << 23).to(tl.float32, bitcast=True), mask=rows < M)


def split_rows(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Two halves for every number, rows padded with zeros to whole blocks, and what undoes each row's scale."""
    M, K = x.shape
    K_PADDED = triton.cdiv(K, 128) * 128
    high = torch.empty((M, K_PADDED), dtype=torch.float16, device=x.device)
    low = torch.empty_like(high)
    scale = torch.empty((M,), dtype=torch.float32, device=x.device)
    BLOCK = min(1024, triton.next_power_of_2(K_PADDED))
    ROWS = 2048 // BLOCK if x.stride(1) == 1 else 32
    BLOCK = BLOCK if x.stride(1) == 1 else 64
    split_rows_kernel[(triton.cdiv(M, ROWS),)](
        # inputs
        x,
        # outputs
        high, low, scale,
        # sizes
        M, K, K_PADDED, x.stride(0), x.stride(1),
        # constants
        ROWS=ROWS, BLOCK=BLOCK, num_warps=8,
    )
    return high, low, scale'''

KEPT_HALVES = '''_halves = {}


def kept_halves(weight: torch.Tensor, transposed: bool) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The halves of a weight, made again when it changes, and let go with it."""
    rows = weight if transposed else weight.t()
    if weight.is_inference():
        return split_rows(rows)  # such a tensor does not count its changes
    name, state = id(weight), (weight._version, weight.data_ptr())
    owner, known, halves = _halves.get(name, (lambda: None, None, None))
    if owner() is not weight or known != state:
        halves = split_rows(rows)
        _halves[name] = (weakref.ref(weight, lambda _: _halves.pop(name, None)), state, halves)
    return halves'''


class ProductsRecipe:
    name = "products"

    def __init__(self, keeps_pytorch: bool = True) -> None:
        """`keeps_pytorch`: step aside where the library is as fast: small products, and those of half types."""
        self._keeps_pytorch = keeps_pytorch

    def knows(self, node: Node) -> bool:
        return operator_name(node) in PRODUCTS or is_known(node)

    def match(self, region: Region) -> ProductsMatch | Declined:
        try:
            low = Lowering(region.graph, may_multiply=True)
            if len(low.products) != 1:
                return Declined(f"the task has {len(low.products)} products")
            match = ProductsMatch(region)
            if match.left.dtype != "float32" or match.right.dtype != "float32":
                return Declined(f"the task multiplies {match.left.dtype}, which the library does as well")
            if self._keeps_pytorch and match.rows < _LEAST_ROWS:
                return Declined(f"the task multiplies {match.rows} rows, which the library does as well")
            if self._keeps_pytorch and match.flops < _LEAST_FLOPS:
                return Declined(f"the task multiplies {match.flops / 1e9:.2g} GFLOP: too few for its halves")
            match.write(match.tunings[0])
        except Unmatched as reason:
            return Declined(f"the task {reason}")
        return match


@dataclass(frozen=True)
class ProductsMatch:
    region: Region
    kernel_type = "gemm"
    is_worth_it = True

    @cached_property
    def _fused(self) -> FusedKernel:
        low = Lowering(self.region.graph, may_multiply=True)
        (product,) = low.products
        dims = product.step.form.dims
        placer = Placer(low.symbols, TilePosition("rows", "cols", 1), dims[:-1], dims[-1:])
        fused = fuse(low, placer, self.region, (product.left, product.right))
        if any(value.step.op in REDUCTIONS for value in placer.values):
            raise Unmatched("reduces a product, which another pass does")
        if not any(value.step is product.step for value in placer.values):
            raise Unmatched("does not use its product")
        return fused

    @cached_property
    def _product(self) -> Product:
        return self._fused.low.products[0]

    @property
    def left(self) -> KernelStep:
        return self._product.left

    @property
    def right(self) -> KernelStep:
        return self._product.right

    @property
    def flops(self) -> float:
        return 2.0 * prod(self._product.step.form.shape) * self.left.form.shape[-1]

    @property
    def rows(self) -> int:
        return prod(self._product.step.form.shape[:-1])

    @property
    def name(self) -> str:
        return self._fused.name

    @cached_property
    def tunings(self) -> tuple[Tuning, ...]:
        *rows, columns = self._product.step.form.shape
        tiles = -(-prod(rows) // 128) * -(-columns // 128)
        sizes = _SIZES if tiles >= _FEW_TILES else (*_SMALL_SIZES, *_SIZES)
        return tuple(Tuning(tuple(zip(_NAMES, size, strict=True))) for size in sizes)

    def variations(self, tuning: Tuning, stage: str) -> tuple[Tuning, ...]:
        if stage == "memory":
            stages = tuning["NUM_STAGES"]
            return tuple(tuning.changed("NUM_STAGES", n) for n in (stages + 1, stages - 1) if 2 <= n <= 5)
        if stage == "grid":
            return tuple(tuning.changed("GROUP", n) for n in (4, 16) if n != tuning["GROUP"])
        return tuple(tuning.changed("NUM_WARPS", n) for n in (4, 8) if n != tuning["NUM_WARPS"])

    @property
    def advice(self) -> tuple[str, str]:
        return self.strategy(self.tunings[0]), "smaller tiles, then the library's own product"

    def strategy(self, tuning: Tuning) -> str:
        return (
            f"Tiles of {tuning['BLOCK_M']} x {tuning['BLOCK_N']}, {tuning['NUM_WARPS']} warps, "
            f"{tuning['NUM_STAGES']} stages. Every number is the sum of two halves after its row was scaled by a "
            "power of two; three products of halves on the tensor cores, each block added up in float32, are more "
            "accurate than one product in float32."
        )

    def write(self, tuning: Tuning, prefix: str = "") -> RegionText:
        fused = self._fused
        kernel = KernelParts(
            name=fused.name,
            pointers=(
                *(f"{side}_{part}_ptr" for side in ("left", "right") for part in ("high", "low", "scale")),
                *fused.pointers,
            ),
            sizes=("M", "N", "K_PADDED", *(f"{name}: tl.constexpr" for name in fused.placer.sizes)),
            scalars=tuple(number.name for number in fused.scalars),
            meta=tuple(f"{name}: tl.constexpr" for name in _NAMES[:4]),
            body=tuple(self._body()),
            helpers=(SPLIT_ROWS, *((KEPT_HALVES,) if self._keeps_halves else ())),
            launcher=tuple(self._launcher(prefix)),
        )
        title = f"{fused.title} in one kernel, its float32 product as three products of halves."
        return fused.text(title, self.strategy(tuning), tuning.prefixed(prefix), kernel)

    @property
    def _keeps_halves(self) -> bool:
        """Weights stay what they are from call to call; inputs do not."""
        names = {owned.name for owned in self.region.graph.parameters}
        return any(self._fused.low.values.get(name) is self.right for name in names)

    def _body(self) -> list[str]:
        fused, product = self._fused, self._product
        (value,) = (value for value in fused.placer.values if value.step is product.step)
        epilogue = write_on_one_tile(fused.placer, _TILE, fused.outputs)
        return [
            "tiles_m, tiles_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)",
            "group = tl.program_id(0) // (GROUP * tiles_n)  # neighbors in time share rows and columns in L2",
            "height = tl.minimum(tiles_m - group * GROUP, GROUP)",
            "tile_m = group * GROUP + tl.program_id(0) % (GROUP * tiles_n) % height",
            "tile_n = tl.program_id(0) % (GROUP * tiles_n) // height",
            "rows = tile_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)",
            "cols = tile_n.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)",
            "depth = tl.arange(0, BLOCK_K)",
            "left = (rows % M)[:, None] * K_PADDED + depth[None, :]  # beyond the last row, any row will do",
            "right = (cols % N)[None, :] * K_PADDED + depth[:, None]",
            "total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)",
            "for start in range(0, K_PADDED, BLOCK_K):",
            "    left_high = tl.load(left_high_ptr + left + start)",
            "    left_low = tl.load(left_low_ptr + left + start)",
            "    right_high = tl.load(right_high_ptr + right + start)",
            "    right_low = tl.load(right_low_ptr + right + start)",
            '    part = tl.dot(left_high, right_low, input_precision="ieee")  # halves: nothing is rounded',
            '    part = tl.dot(left_low, right_high, part, input_precision="ieee")',
            '    part = tl.dot(left_high, right_high, part, input_precision="ieee")',
            "    total += part  # the tensor core truncates its running sum: it is kept short",
            "left_scale = tl.load(left_scale_ptr + rows % M)[:, None]",
            "right_scale = tl.load(right_scale_ptr + cols % N)[None, :]",
            f"{value.name} = total * left_scale * right_scale",
            "rows, cols = rows[:, None], cols[None, :]",
            "mask_m, mask_n = rows < M, cols < N",
            "mask = mask_m & mask_n",
            *epilogue,
        ]

    def _launcher(self, prefix: str) -> list[str]:
        fused, left, right = self._fused, self.left.name, self.right.name
        transposed = self._product.transposed
        rows = right if transposed else f"{right}.t()"
        kept = f"kept_halves({right}, transposed={transposed})" if self._keeps_halves else f"split_rows({rows})"
        parts = [f"{side}_{part}" for side in ("left", "right") for part in ("high", "low", "scale")]
        sizes = [
            f"    K, N = {left}.shape[-1], {right}.shape[{0 if transposed else 1}]",
            f"    M = {left}.numel() // K",
            f"    left_high, left_low, left_scale = split_rows({left}.reshape(M, K))",
            f"    right_high, right_low, right_scale = {kept}",
        ]
        grid = f"(triton.cdiv(M, {prefix}BLOCK_M) * triton.cdiv(N, {prefix}BLOCK_N),)"
        constants = [
            *(f"{name}={prefix}{name}" for name in _NAMES[:4]),
            f"num_warps={prefix}NUM_WARPS",
            f"num_stages={prefix}NUM_STAGES",
        ]
        launch = fused.launch(grid, ["M", "N", "left_high.shape[1]"], constants, parts)
        return [*fused.signature(), *fused.preparation(), *sizes, *fused.allocations(), *launch]
