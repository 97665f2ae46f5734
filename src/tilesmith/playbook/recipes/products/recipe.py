"""Products of matrices with all pointwise work behind them in one kernel.

In float32 three products of halves replace one: rows are scaled by powers of two, each number is the sum of two
halves, and the tensor core multiplies those. Every block of the sum is added up outside of the tensor core, which
truncates. That is several times as fast as a float32 product, and more accurate. Halves of weights are kept until
the weights change. With few rows the time goes into reading the weights, so they are read once, as they are. A
small result with a long sum is cut along the sum for all multiprocessors to work; chunks are added up in order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

from tilesmith.playbook.graph.factors import Factor, Product
from tilesmith.playbook.graph.lowering import Lowering
from tilesmith.playbook.graph.operators import PRODUCTS, is_free, is_known, operator_name
from tilesmith.playbook.graph.placement import Placer, TilePosition
from tilesmith.playbook.graph.steps import REDUCTIONS
from tilesmith.playbook.recipe import Declined, KernelParts, Region, RegionText, Tuning
from tilesmith.playbook.recipes.products.schemes import (
    BLOCKS,
    Scheme,
    Situation,
    Size,
    multiply_as_halves,
    multiply_as_they_are,
)
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.fused_kernel import FusedKernel, fuse
from tilesmith.playbook.writing.kernel_body import Tile, write_on_one_tile
from tilesmith.tasks.graph import Node

_NAMES = (*BLOCKS, "NUM_WARPS", "NUM_STAGES")
_LARGE: tuple[Size, ...] = (
    (128, 128, 64, 8, 8, 3),
    (128, 128, 32, 8, 8, 4),
    (128, 64, 64, 8, 8, 3),
    (64, 128, 64, 8, 8, 3),
    (64, 64, 64, 8, 4, 4),
    (128, 128, 32, 8, 8, 3),
    (64, 64, 64, 8, 4, 2),
    (64, 64, 32, 8, 4, 2),
)
_SMALL: tuple[Size, ...] = (
    (64, 64, 64, 8, 4, 3),
    (32, 64, 64, 8, 4, 4),
    (64, 32, 64, 8, 4, 4),
    (16, 64, 128, 8, 4, 3),
)
_FEW_ROWS: tuple[Size, ...] = (
    (16, 64, 32, 1, 4, 6),
    (16, 64, 64, 1, 8, 5),
    (16, 128, 32, 1, 8, 5),
    (16, 32, 32, 1, 4, 6),
    (16, 64, 32, 1, 4, 3),
)
"""BLOCK_M is as many rows as there are."""
_MULTIPROCESSORS = 132
"""With fewer tiles than this a GPU is not full."""
_LEAST_FLOPS = 1e9
"""Smaller products are over before the halves are made."""
_LEAST_WEIGHTS = 1 << 20
"""Fewer numbers are read before a second kernel could start."""
_MANY_ROWS = 64
"""With fewer rows the time goes into reading the weights."""
_LEAST_CHUNK = 512
_COMBINED = (8, 128)
"""The tile of a program that adds up chunks."""
_TILE = Tile("rows", "cols", False)
_HALF_TYPES = ("float16", "bfloat16")


class ProductsRecipe:
    name = "products"

    def __init__(self, keeps_pytorch: bool = True) -> None:
        """`keeps_pytorch`: step aside where the library is as fast: small products, and bare ones of half types."""
        self._keeps_pytorch = keeps_pytorch

    def knows(self, node: Node) -> bool:
        return operator_name(node) in PRODUCTS or is_known(node)

    def match(self, region: Region) -> ProductsMatch | Declined:
        try:
            low = Lowering(region.graph, may_multiply=True)
            if len(low.products) != 1:
                return Declined(f"the task has {len(low.products)} products")
            match = ProductsMatch(region)
            if match.dtype not in ("float32", *_HALF_TYPES):
                return Declined(f"the task multiplies {match.dtype}, which the library does as well")
            if self._keeps_pytorch and (reason := match.why_not()):
                return Declined(f"the task multiplies {reason}")
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
        fused = fuse(low, placer, self.region, (product.left.leaf, product.right.leaf))
        if any(value.step.op in REDUCTIONS for value in placer.values):
            raise Unmatched("reduces a product, which another pass does")
        if not any(value.step is product.step for value in placer.values):
            raise Unmatched("does not use its product")
        return fused

    @cached_property
    def _product(self) -> Product:
        return self._fused.low.products[0]

    @property
    def dtype(self) -> str:
        return self._product.left.dtype

    @property
    def name(self) -> str:
        return self._fused.name

    @property
    def _batches(self) -> int:
        return prod(self._product.batch.shape)

    @property
    def rows(self) -> int:
        """In one matrix."""
        return prod(self._product.step.form.shape[:-1]) // self._batches

    @property
    def _columns(self) -> int:
        return self._product.step.form.shape[-1]

    def why_not(self) -> str:
        """What the library does as well; empty where a kernel gains."""
        flops = 2.0 * prod(self._product.step.form.shape) * self._product.depth
        if self.dtype in _HALF_TYPES and not self._follows:
            return f"{self.dtype} and does nothing with it, which the library does as well"
        if self.rows < _MANY_ROWS and self._batches * self._columns * self._product.depth < _LEAST_WEIGHTS:
            return f"{self.rows} rows with few numbers, which the library does as well"
        if self.rows >= _MANY_ROWS and flops < _LEAST_FLOPS:
            return f"{flops / 1e9:.2g} GFLOP: too few for its halves"
        return ""

    @property
    def _follows(self) -> bool:
        """Whether there is work behind the product that the library would do in a pass of its own."""
        works = [node for node in self.region.graph.nodes if not is_free(node)]
        return any(operator_name(node) not in PRODUCTS for node in works)

    @property
    def _is_direct(self) -> bool:
        return self.dtype in _HALF_TYPES or self.rows < _MANY_ROWS

    @cached_property
    def tunings(self) -> tuple[Tuning, ...]:
        sizes: tuple[Size, ...] = _LARGE
        if self.rows < _MANY_ROWS:
            height = max(16, 1 << (self.rows - 1).bit_length())
            sizes = tuple((height, *rest) for _, *rest in _FEW_ROWS)  # type: ignore[misc]
        elif self._tiles(128, 128) < _MULTIPROCESSORS:
            sizes = (*_SMALL, *_LARGE)
        fitting = [size for size in sizes if self._shared_bytes(size) <= self._shared_limit] or [sizes[-1]]
        found = [Tuning(tuple(zip(_NAMES, size, strict=True))) for size in fitting]
        split = [tuning for tuning in map(self._split, found) if tuning is not None]
        return tuple(dict.fromkeys((*split, *found)))

    def _split(self, tuning: Tuning) -> Tuning | None:
        """Cut along the sum until every multiprocessor has enough programs, where the result has few tiles."""
        programs, wanted = self._tiles(tuning["BLOCK_M"], tuning["BLOCK_N"]), 4 if self._is_direct else 2
        most = min(wanted * _MULTIPROCESSORS // programs, self._product.depth // _LEAST_CHUNK)
        if self._batches > 1 or most < 2:
            return None
        return Tuning((*tuning.values, ("SPLITS", most)))

    def _tiles(self, height: int, width: int) -> int:
        return self._batches * -(-self.rows // height) * -(-self._columns // width)

    def _shared_bytes(self, size: Size) -> int:
        height, width, depth, _, _, stages = size
        bytes_each = 2 if self.dtype in _HALF_TYPES else 4  # or two halves
        return stages * (height + width) * depth * bytes_each

    @property
    def _shared_limit(self) -> float:
        return self.region.survey.gpu.shared_bytes_per_block if self.region.survey.gpu else float("inf")

    def variations(self, tuning: Tuning, stage: str) -> tuple[Tuning, ...]:
        name, choices = {
            "memory": ("NUM_STAGES", (tuning["NUM_STAGES"] + 1, tuning["NUM_STAGES"] - 1)),
            "grid": ("SPLITS", (tuning["SPLITS"] * 2, tuning["SPLITS"] // 2))
            if "SPLITS" in tuning
            else ("GROUP", (4, 16)),
        }.get(stage, ("NUM_WARPS", (4, 8)))
        return tuple(tuning.changed(name, n) for n in choices if n != tuning[name] and (n >= 2 or name == "GROUP"))

    @property
    def advice(self) -> tuple[str, str]:
        return self.strategy(self.tunings[0]), "smaller tiles, then the library's own product"

    def strategy(self, tuning: Tuning) -> str:
        told = (
            f"Tiles of {tuning['BLOCK_M']} x {tuning['BLOCK_N']}, {tuning['NUM_WARPS']} warps, "
            f"{tuning['NUM_STAGES']} stages."
        )
        if "SPLITS" in tuning:
            told += f" The sum is cut into {tuning['SPLITS']} chunks, which a second kernel adds up in their order."
        if not self._is_direct:
            return (
                f"{told} Every number is the sum of two halves after its row was scaled by a power of two; three "
                "products of halves on the tensor cores, each block added up in float32, are more accurate than "
                "one product in float32."
            )
        if self.dtype == "float32":
            return f"{told} There are few rows, so the other factor is read once, at the speed of memory."
        return f"{told} Sums are kept in float32, and what follows is computed before anything is stored."

    def write(self, tuning: Tuning, prefix: str = "") -> RegionText:
        fused, split = self._fused, "SPLITS" in tuning
        scheme = self._scheme(prefix, split)
        kernel = KernelParts(
            name=fused.name,
            pointers=(*(("parts_ptr",) if split else scheme.pointers), *fused.pointers),
            sizes=("M", "N", *(() if split else scheme.sizes), *(f"{n}: tl.constexpr" for n in fused.placer.sizes)),
            scalars=tuple(number.name for number in fused.scalars),
            meta=tuple(f"{name}: tl.constexpr" for name in ((*BLOCKS[:2], "SPLITS") if split else BLOCKS)),
            body=tuple(self._body(scheme, split)),
            helpers=scheme.helpers,
            launcher=tuple(self._launcher(scheme, prefix, split)),
        )
        halves = "" if self._is_direct else ", its float32 product as three products of halves"
        title = f"{fused.title} in {'two kernels' if split else 'one kernel'}{halves}."
        return fused.text(title, self.strategy(tuning), tuning.prefixed(prefix), kernel)

    def _scheme(self, prefix: str, split: bool) -> Scheme:
        left, right = self._product.left, self._product.right
        owned = {parameter.name for parameter in self.region.graph.parameters}
        keeps = any(self._fused.low.values.get(name) is right.leaf for name in owned)
        batched = self._batches > 1
        situation = Situation(
            self._batch_index(left) if batched else None,
            self._batch_index(right) if batched else None,
            batched,
            keeps,
            prefix,
            split,
        )
        return (multiply_as_they_are if self._is_direct else multiply_as_halves)(self._product, situation)

    def _batch_index(self, factor: Factor) -> str | None:
        whole, own = self._product.batch.dims, factor.batch.dims
        return self._fused.placer.index("batch", whole, (*((),) * (len(whole) - len(own)), *own))

    def _body(self, scheme: Scheme, split: bool) -> list[str]:
        fused, batched = self._fused, self._batches > 1
        (value,) = (value for value in fused.placer.values if value.step is self._product.step)
        epilogue = write_on_one_tile(fused.placer, _TILE, fused.outputs)
        group = "1" if split else "GROUP"
        number = "tl.program_id(0) % tiles" if batched else "tl.program_id(0)"
        masks = ["mask_m, mask_n = (rows < M)[:, None], (cols < N)[None, :]", "mask = mask_m & mask_n"]
        lines = [f"rows, cols = find_tile({number}, M, N, BLOCK_M, BLOCK_N, {group})"]
        if batched:
            lines[:0] = [
                "tiles = tl.cdiv(M, BLOCK_M) * tl.cdiv(N, BLOCK_N)",
                "batch = (tl.program_id(0) // tiles).to(tl.int64)",
            ]
        if split:
            return [
                *lines,
                *masks,
                "rows, cols = rows[:, None], cols[None, :]",
                f"{value.name} = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)",
                "for chunk in range(SPLITS):",
                f"    {value.name} += tl.load(parts_ptr + (chunk * M + rows) * N + cols, mask=mask, other=0.0)",
                *epilogue,
            ]
        multiply = [line.replace("RESULT", value.name) for line in scheme.multiply]
        rows = "(batch * M + rows)[:, None]" if batched else "rows[:, None]"
        return [*lines, *multiply, *masks, f"rows, cols = {rows}, cols[None, :]", *epilogue]

    def _launcher(self, scheme: Scheme, prefix: str, split: bool) -> list[str]:
        fused, product, batch = self._fused, self._product, self._product.batch.dims
        left, right = product.left, product.right
        rows = "left.shape[-2]" if batch or left.form.rank == 2 else "left.numel() // left.shape[-1]"
        sizes = [
            f"    left, right = {left.source}, {right.source}",
            f"    M, N, K = {rows}, right.shape[-2], left.shape[-1]",
            *(f"    {line}" for line in scheme.host),
        ]
        blocks = [f"{name}={prefix}{name}" for name in BLOCKS]
        options = [f"num_warps={prefix}NUM_WARPS", f"num_stages={prefix}NUM_STAGES"]
        tiles = f"triton.cdiv(M, {prefix}BLOCK_M) * triton.cdiv(N, {prefix}BLOCK_N)"
        batches = " * ".join(fused.product(dim) for dim in batch if dim)
        head = [*fused.signature(), *fused.preparation(), *sizes, *fused.allocations()]
        if not split:
            grid = f"({tiles}{f' * {batches}' if batches else ''},)"
            return [
                *head,
                *fused.launch(grid, ["M", "N", *scheme.given_sizes], [*blocks, *options], scheme.factors),
            ]
        height, width = _COMBINED
        splits = f"{prefix}SPLITS"
        return [
            *head,
            f"    parts = torch.empty(({splits}, M, N), dtype=torch.float32, device={fused.leaves[0].name}.device)",
            f"    {scheme.parts_kernel}[({tiles} * {splits},)](",
            f"        {', '.join([*scheme.factors, 'parts', 'M', 'N', *scheme.given_sizes])},",
            f"        {', '.join([*blocks, *options])},",
            "    )",
            *fused.launch(
                f"(triton.cdiv(M, {height}) * triton.cdiv(N, {width}),)",
                ["M", "N"],
                [f"BLOCK_M={height}", f"BLOCK_N={width}", f"SPLITS={splits}", "num_warps=4"],
                ["parts"],
            ),
        ]
