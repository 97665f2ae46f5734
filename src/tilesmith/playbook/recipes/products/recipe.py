"""Products of matrices with all pointwise work behind them in one kernel.

In float32 three products of halves replace one: rows are scaled by powers of two, each number is the sum of two
halves, and the tensor core multiplies those. Every block of the sum is added up outside of the tensor core, which
truncates. That is several times as fast as a float32 product, and more accurate. Halves of weights are kept until
the weights change. With few rows the time goes into reading the weights, so they are read once, as they are. A
small result with a long sum is cut along the sum for all multiprocessors to work; chunks are added up in order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, prod

from tilesmith.playbook.graph.lowering import Lowering
from tilesmith.playbook.graph.operators import PRODUCTS, is_free, is_known, operator_name
from tilesmith.playbook.graph.placement import Placer, TilePosition
from tilesmith.playbook.graph.steps import REDUCTIONS
from tilesmith.playbook.graph.sums.factors import Factor, Product, Triangle, find_triangle
from tilesmith.playbook.recipe import Declined, Region, RegionText, SharedHalves, Tuning
from tilesmith.playbook.recipes.products.operands import ComputedOperand, compute_operand
from tilesmith.playbook.recipes.products.reducing import ReducingProductWriter
from tilesmith.playbook.recipes.products.schemes import (
    Scheme,
    Situation,
    multiply_as_halves,
    multiply_as_they_are,
    multiply_described,
    multiply_on_the_way,
)
from tilesmith.playbook.recipes.products.staying import StayingProductWriter
from tilesmith.playbook.recipes.products.tiles import HALF_TYPES, MANY_ROWS, Extent, vary
from tilesmith.playbook.recipes.products.writing import ProductWriter
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.fused_kernel import FusedKernel, fuse
from tilesmith.playbook.writing.row_parts import find_statistics
from tilesmith.tasks.graph import Node

_LEAST_FLOPS = 1e9
"""Smaller products are over before the halves are made."""
_LEAST_WEIGHTS = 1 << 20
"""Fewer numbers are read before a second kernel could start."""


class ProductsRecipe:
    name = "products"

    def __init__(self, keeps_pytorch: bool = True) -> None:
        """`keeps_pytorch`: step aside where the library is as fast: small products, and bare ones of half types."""
        self._keeps_pytorch = keeps_pytorch

    def knows(self, node: Node) -> bool:
        return operator_name(node) in PRODUCTS or is_known(node)

    def match(self, region: Region) -> ProductsMatch | Declined:
        try:
            low = Lowering(region.graph, PRODUCTS)
            if len(low.products) != 1:
                return Declined(f"the task has {len(low.products)} products")
            match = ProductsMatch(region)
            if match.dtype not in ("float32", *HALF_TYPES):
                return Declined(f"the task multiplies {match.dtype}, which the library does as well")
            if match.reduces and match.rows < MANY_ROWS:
                return Declined("the task reduces few rows of a product, which another pass does")
            if match.computed and match.rows >= MANY_ROWS:
                return Declined("the task multiplies many rows of what it computes itself")
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
        low = Lowering(self.region.graph, PRODUCTS)
        (product,) = low.products
        if any(
            one.repeats > 1 or (one.is_computed and one.form.rank != 2) for one in (product.left, product.right)
        ):
            raise Unmatched("multiplies what it computes itself")
        dims = product.step.form.dims
        placer = Placer(low.symbols, TilePosition("rows", "cols", 1), dims[:-1], dims[-1:])
        fused = fuse(low, placer, self.region, (*product.left.leaves, *product.right.leaves))
        if not any(value.step is product.step for value in placer.values):
            raise Unmatched("does not use its product")
        return fused

    @cached_property
    def reduces(self) -> bool:
        """Whether nothing of the product is wanted but what its rows come to."""
        fused = self._fused
        if not any(value.step.op in REDUCTIONS for value in fused.placer.values):
            return False
        wide = any(output.value.is_wide for output in fused.outputs)
        if wide or self._batches > 1 or self.computed or self._has_triangle:
            raise Unmatched("reduces a product and needs more of it, which another pass does")
        find_statistics(fused.placer.values)
        return True

    @cached_property
    def _product(self) -> Product:
        product = self._fused.low.products[0]
        many = prod(product.step.form.shape[:-1]) // prod(product.batch.shape) >= MANY_ROWS
        return product.of_triangles if many and product.left.dtype not in HALF_TYPES else product

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

    def why_not(self) -> str:
        """What the library does as well; empty where a kernel gains."""
        extent = self._extent
        numbers = extent.batches * extent.columns * extent.depth
        flops = 2.0 * extent.rows * numbers
        if extent.is_half and not self._follows:
            return f"{self.dtype} and does nothing with it, which the library does as well"
        if extent.rows < MANY_ROWS and numbers < _LEAST_WEIGHTS:
            return f"{extent.rows} rows with few numbers, which the library does as well"
        if extent.rows >= MANY_ROWS and flops < _LEAST_FLOPS:
            return f"{flops / 1e9:.2g} GFLOP: too few for its halves"
        return ""

    @property
    def _follows(self) -> bool:
        """Whether there is work behind the product that the library would do in a pass of its own."""
        works = [node for node in self.region.graph.nodes if not is_free(node)]
        return any(operator_name(node) not in PRODUCTS for node in works)

    @property
    def is_direct(self) -> bool:
        return self._extent.is_direct

    @cached_property
    def _extent(self) -> Extent:
        gpu = self.region.survey.gpu
        return Extent(
            self._batches,
            self.rows,
            self._product.step.form.shape[-1],
            self._product.depth,
            self.dtype in HALF_TYPES,
            self._batches == 1 and not self.computed and not self._has_triangle and not self.reduces,
            gpu.shared_bytes_per_block if gpu else inf,
            self.rows == 1 and self.dtype == "float32" and not self.computed,
            self._product.right.view.count(".mT") % 2 == 1,
            gpu.multiprocessors if gpu and self._may_be_described else 0,
        )

    @property
    def _may_be_described(self) -> bool:
        """Whether the GPU may copy tiles by itself: one of capability 9 or more does, in pieces of 16 bytes."""
        gpu, product = self.region.survey.gpu, self._product
        copies = gpu is not None and gpu.target.startswith("sm_") and int(gpu.target[3:]) >= 90
        is_plain = self._batches == 1 and not self.computed and not self._has_triangle and not self.reduces
        aligned = all(factor.step.form.shape[-1] % 8 == 0 for factor in (product.left, product.right))
        return copies and is_plain and aligned and self.dtype in HALF_TYPES and self.rows >= MANY_ROWS

    @cached_property
    def tunings(self) -> tuple[Tuning, ...]:
        groups = [one.group for one in self.computed.values() if one.group]
        found = self._extent.tunings()
        return tuple(one for one in found if all(group % one["BLOCK_K"] == 0 for group in groups))

    def variations(self, tuning: Tuning, stage: str) -> tuple[Tuning, ...]:
        return vary(tuning, stage)

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
        if self.reduces:
            told += " Every tile is reduced to a number for each row, which a second kernel puts together."
        if not self.is_direct:
            return (
                f"{told} Every number is the sum of two halves after its row was scaled by a power of two; three "
                "products of halves on the tensor cores, each block added up in float32, are more accurate than "
                "one product in float32."
            )
        if tuning["BLOCK_M"] == 1:
            return f"{told} There is one row: the other factor is read once, and sums need no tensor core."
        if self.dtype == "float32" and self.rows >= MANY_ROWS:
            return f"{told} The result is small, so both factors are read as they are, not made into halves before."
        if self.dtype == "float32":
            return f"{told} There are few rows, so the other factor is read once, at the speed of memory."
        if "PROGRAMS" in tuning:
            told += (
                f" {tuning['PROGRAMS']} programs stay for all tiles, one after the other, and the GPU copies their "
                "operands by itself, as tensor descriptors say."
            )
        return f"{told} Sums are kept in float32, and what follows is computed before anything is stored."

    def write(self, tuning: Tuning, prefix: str = "") -> RegionText:
        left, alone = self._product.left, self._written(tuning, prefix)
        if self.is_direct or left.is_computed or left.view or left.triangle is not None:
            return alone
        call = "split_rows({})"
        if "SPLITS" in tuning:
            flat = ".flatten(0, -2)" if left.form.rank > 2 else ""
            call = f"split_rows({{}}{flat}, chunks={prefix}SPLITS)"
        halves = SharedHalves(self._fused.source(left.step), dict(tuning.values).get("SPLITS", 1), call)
        sharing = self._written(tuning, prefix, f"{left.step.name}_halves")
        return replace(alone, sharing=replace(sharing, halves=halves))

    def _written(self, tuning: Tuning, prefix: str, halves: str = "") -> RegionText:
        split, stays = "SPLITS" in tuning, "PROGRAMS" in tuning
        scheme = self._scheme(prefix, tuning, halves)
        writer = ProductWriter(self._fused, self._product, self.computed, scheme, halves)
        if self.reduces:
            kernel = ReducingProductWriter(writer).write(prefix)
        else:
            kernel = StayingProductWriter(writer).write(prefix) if stays else writer.write(prefix, split)
        way = "" if self.is_direct else ", its float32 product as three products of halves"
        title = f"{self._fused.title} in {'two kernels' if split or self.reduces else 'one kernel'}{way}."
        return self._fused.text(title, self.strategy(tuning), tuning.prefixed(prefix), kernel)

    def _scheme(self, prefix: str, tuning: Tuning, halves: str) -> Scheme:
        left, right = self._product.left, self._product.right
        owned = {parameter.name for parameter in self.region.graph.parameters}
        keeps = any(self._fused.low.values.get(name) is right.step for name in owned)
        batched = self._batches > 1
        situation = Situation(
            self._batch_index(left) if batched else None,
            self._batch_index(right) if batched else None,
            batched,
            keeps,
            prefix,
            "SPLITS" in tuning,
            tuning["BLOCK_M"],
            self._kept_triangle,
            self.computed,
            halves,
        )
        if self.computed:
            return multiply_on_the_way(self._product, situation)
        if "PROGRAMS" in tuning:
            return multiply_described(self._product, situation)
        return (multiply_as_they_are if self.is_direct else multiply_as_halves)(self._product, situation)

    @property
    def _has_triangle(self) -> bool:
        found = (self._product.left.triangle, self._product.right.triangle, self._kept_triangle)
        return any(one is not None for one in found)

    @property
    def _kept_triangle(self) -> Triangle | None:
        """Where nobody uses more of the product than a triangle, that triangle."""
        values = [value.step for value in self._fused.placer.values]
        users = [step for step in values if self._product.step in step.operands]
        found = find_triangle(users[0]) if len(users) == 1 and self._batches == 1 else None
        return found[1] if found is not None and found[0] is self._product.step else None

    @cached_property
    def computed(self) -> dict[str, ComputedOperand]:
        sides = {"left": self._product.left, "right": self._product.right}
        found = {side: factor for side, factor in sides.items() if factor.is_computed}
        low, name = self._fused.low, self._fused.name
        return {side: compute_operand(low, factor, name, side, len(found) == 1) for side, factor in found.items()}

    def _batch_index(self, factor: Factor) -> str | None:
        whole, own = self._product.batch.dims, factor.batch.dims
        return self._fused.placer.index("batch", whole, (*((),) * (len(whole) - len(own)), *own))
