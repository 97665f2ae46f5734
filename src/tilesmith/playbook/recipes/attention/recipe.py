"""Attention in one kernel: scores of queries and keys are made weights of the values before anything is stored.

A program has some queries and goes through all keys that they may see. What a softmax needs of a row, its maximum
and its sum, is brought up to date with every tile of keys. Whatever is done with the scores before, a scale, a bias
or masks, is computed for each tile. In float32 every number is two halves, and three products of halves
replace one; the weights are split on the way. Where queries or keys are few, numbers are read as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf, prod

from tilesmith.playbook.graph.lowering import Lowering
from tilesmith.playbook.graph.operators import ATTENTION, PRODUCTS, is_free, is_known, operator_name
from tilesmith.playbook.graph.placement import PlacedValue, Placer, TilePosition
from tilesmith.playbook.graph.steps import REDUCTIONS, SCANS
from tilesmith.playbook.graph.sums.attention import Attention, find_attention
from tilesmith.playbook.recipe import Declined, Region, RegionText, Tuning
from tilesmith.playbook.recipes.attention.tiles import AttentionExtent, vary
from tilesmith.playbook.recipes.attention.writing import AttentionWriter
from tilesmith.playbook.recipes.products.tiles import HALF_TYPES
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.fused_kernel import FusedKernel, fuse
from tilesmith.tasks.graph import Node

_KNOWN = PRODUCTS | ATTENTION
_FEW = 128
"""Queries or keys of a head: with more, each number is read so often that it should be two halves beforehand. With
more columns than this, float32 numbers do not fit on chip."""
_MOST_COLUMNS = 256
_LEAST_FLOPS = {True: 1e8, False: 1e7}
"""Smaller ones are over before PyTorch has launched anything, the more so where halves are made beforehand."""


class AttentionRecipe:
    name = "attention"

    def __init__(self, keeps_pytorch: bool = True) -> None:
        """`keeps_pytorch`: step aside where the library is as fast: its own attention of half types."""
        self._keeps_pytorch = keeps_pytorch

    def knows(self, node: Node) -> bool:
        return operator_name(node) in _KNOWN or is_known(node)

    def match(self, region: Region) -> AttentionMatch | Declined:
        try:
            match = AttentionMatch(region)
            if self._keeps_pytorch and (reason := match.why_not()):
                return Declined(f"the task attends {reason}")
            match.write(match.tunings[0])
        except Unmatched as reason:
            return Declined(f"the task {reason}")
        return match


@dataclass(frozen=True)
class AttentionMatch:
    region: Region
    kernel_type = "attention"
    is_worth_it = True

    @cached_property
    def attention(self) -> Attention:
        return find_attention(self._low)

    @cached_property
    def _low(self) -> Lowering:
        return Lowering(self.region.graph, _KNOWN)

    @cached_property
    def _inner(self) -> tuple[Placer, PlacedValue]:
        """A tile of queries and keys, and what the scores become on it."""
        found = self.attention
        dims = found.scores.step.form.dims
        placer = Placer(self._low.symbols, TilePosition("rows", "cols", 1), dims[:-1], dims[-1:])
        value = placer.output(found.weights).value
        if any(one.step.op in (*REDUCTIONS, *SCANS) for one in placer.values):
            raise Unmatched("reduces scores before they are weights")
        return placer, value

    @cached_property
    def _fused(self) -> FusedKernel:
        low, found = self._low, self.attention
        shape = found.scores.step.form.shape
        if found.mixed.step.form.shape[:-1] != shape[:-1] or len(shape) < 3:
            raise Unmatched("attends without a batch, or to values of another one")
        inner, _ = self._inner
        dims = found.mixed.step.form.dims
        placer = Placer(low.symbols, TilePosition("rows", "cols", 1), dims[:-1], dims[-1:], turns_rows=True)
        placer.sizes = inner.sizes
        operands = (found.scores.left.step, found.scores.right.step, found.mixed.right.step)
        fused = fuse(low, placer, self.region, operands, inner=inner)
        if any(value.step.op in (*REDUCTIONS, *SCANS) for value in placer.values):
            raise Unmatched("reduces what it attends to, which another pass does")
        if sum(value.step is found.mixed.step for value in placer.values) != 1:
            raise Unmatched("does not use its attention")
        if found.scores.step in {value.step for value in placer.values}:
            raise Unmatched("returns its scores")
        return fused

    @property
    def name(self) -> str:
        return self._fused.name

    @property
    def dtype(self) -> str:
        return self.attention.scores.left.dtype

    @cached_property
    def _extent(self) -> AttentionExtent:
        gpu, form = self.region.survey.gpu, self.attention.scores.step.form
        rows, keys = form.shape[-2:]
        depth, width = (max(16, 1 << (one - 1).bit_length()) for one in self._columns)
        is_half = self.dtype in HALF_TYPES
        return AttentionExtent(
            rows,
            keys,
            depth,
            width,
            2 if is_half else 4,
            not is_half and (min(rows, keys) > _FEW or max(depth, width) > _FEW),
            gpu.shared_bytes_per_block if gpu else inf,
        )

    @property
    def _columns(self) -> tuple[int, int]:
        return self.attention.scores.depth, self.attention.mixed.step.form.shape[-1]

    def why_not(self) -> str:
        """What the library does as well; empty where a kernel gains."""
        if self.dtype not in ("float32", *HALF_TYPES):
            return f"in {self.dtype}, which the library does as well"
        if max(self._columns) > _MOST_COLUMNS:
            return f"with heads of {max(self._columns)}, more than fit on chip"
        if self._extent.is_split and not self.attention.has_softmax and max(self._columns) > _FEW:
            return f"without a softmax, with {max(self._columns)} columns: two products in large tiles are faster"
        flops = 2.0 * prod(self.attention.scores.step.form.shape) * sum(self._columns)
        if flops < _LEAST_FLOPS[self._extent.is_split]:
            return f"with {flops / 1e9:.2g} GFLOP: too few"
        works = [node for node in self.region.graph.nodes if not is_free(node)]
        is_bare = len(works) == 1 and operator_name(works[0]) in ATTENTION
        if is_bare and self.dtype in HALF_TYPES and len(self.region.graph.inputs) == 3:
            return f"in {self.dtype} by PyTorch's own function, which is as fast"
        return ""

    @cached_property
    def tunings(self) -> tuple[Tuning, ...]:
        return self._extent.tunings()

    def variations(self, tuning: Tuning, stage: str) -> tuple[Tuning, ...]:
        return vary(tuning, stage)

    @property
    def advice(self) -> tuple[str, str]:
        return self.strategy(self.tunings[0]), "smaller tiles, then the library's own attention"

    def strategy(self, tuning: Tuning) -> str:
        told = (
            f"Tiles of {tuning['BLOCK_M']} queries x {tuning['BLOCK_N']} keys, {tuning['NUM_WARPS']} warps, "
            f"{tuning['NUM_STAGES']} stages. Scores are never stored"
        )
        if self.attention.has_softmax:
            told += ": the maximum and the sum of each row are brought up to date with every tile of keys"
        if self._extent.is_split:
            return (
                f"{told}. Every number is the sum of two halves after its row was scaled by a power of two, and "
                "three products of halves replace one in float32."
            )
        return f"{told}. Queries, keys and values are read where they lie."

    def write(self, tuning: Tuning, prefix: str = "") -> RegionText:
        inner, weights = self._inner
        writer = AttentionWriter(self._fused, self.attention, inner, weights, self._extent.is_split, self.dtype)
        way = ", its float32 products as three products of halves each" if self._extent.is_split else ""
        title = f"{self._fused.title} in one kernel{way}."
        return self._fused.text(title, self.strategy(tuning), tuning.prefixed(prefix), writer.write(prefix))
