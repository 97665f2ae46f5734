"""Pointwise operators of any number, fused into one kernel over the flat output.

PyTorch runs a chain of k operators as k kernels that each read and write the whole tensor. One kernel reads the
inputs once and writes the outputs once, so the speedup is about the ratio of bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tilesmith.playbook.graph.lowering import Lowering, list_outputs
from tilesmith.playbook.graph.operators import is_known
from tilesmith.playbook.graph.placement import Placer, TilePosition
from tilesmith.playbook.graph.steps import LEAF, REDUCTIONS, KernelStep
from tilesmith.playbook.recipe import Declined, KernelParts, Region, RegionText, Tuning
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.fused_kernel import FusedKernel, fuse
from tilesmith.playbook.writing.kernel_body import Tile, write_on_one_tile
from tilesmith.tasks.graph import Node

_SIZES = ((1024, 4), (2048, 8), (512, 4), (4096, 8), (2048, 4), (1024, 8), (8192, 16))
"""Elements and warps per program: eight elements a thread keep enough loads in flight."""
_LARGEST_BLOCK, _MOST_WARPS = 16384, 32
_NEAR, _SHORT_ROW, _CACHED = 8, 16, 1 << 18
"""Elements so near are read together; rows so short, and tensors so small, may be scattered."""


class ElementwiseRecipe:
    name = "elementwise"

    def knows(self, node: Node) -> bool:
        return is_known(node)

    def match(self, region: Region) -> ElementwiseMatch | Declined:
        try:
            low = Lowering(region.graph)
            steps = [step for step in low.values.values() if isinstance(step, KernelStep)]
            if any(step.op in REDUCTIONS or step.row_lengths for step in steps):
                return Declined("the task reduces, so its elements are not independent")
            outputs = list_outputs(region.graph)
            columns = low.step(outputs[0]).form.dims if outputs else ()
            placer = Placer(low.symbols, TilePosition(None, "offs", len(columns)), (), columns)
            fused = fuse(low, placer, region)
            if fused.working_operators == 0:
                return Declined("the task only copies, which PyTorch does as well")
            _refuse_scattered_reads(fused)
            body = write_on_one_tile(placer, Tile(None, "offs", False), fused.outputs)
            return ElementwiseMatch(fused, tuple(body))
        except Unmatched as reason:
            return Declined(f"the task {reason}")


@dataclass(frozen=True)
class ElementwiseMatch:
    fused: FusedKernel
    body: tuple[str, ...]
    kernel_type = "elementwise"

    @property
    def name(self) -> str:
        return self.fused.name

    @property
    def tunings(self) -> tuple[Tuning, ...]:
        return tuple(_tuning(block, warps) for block, warps in _SIZES)

    def variations(self, tuning: Tuning, stage: str) -> tuple[Tuning, ...]:
        if stage == "memory":
            return tuple(tuning.changed("NUM_WARPS", n) for n in _near(tuning["NUM_WARPS"], _MOST_WARPS))
        larger, smaller = _near(tuning["BLOCK"], _LARGEST_BLOCK)
        order = (larger, smaller) if stage == "grid" else (smaller, larger)
        return tuple(tuning.changed("BLOCK", block) for block in order)

    def strategy(self, tuning: Tuning) -> str:
        return (
            f"One program per {tuning['BLOCK']} elements of the flat output, {tuning['NUM_WARPS']} warps: "
            "every input is read once, every intermediate stays in registers."
        )

    @property
    def is_worth_it(self) -> bool:
        return self.fused.working_operators > 1

    @property
    def advice(self) -> tuple[str, str]:
        plan = (
            "Compute the whole expression for a block of the flat output: load each input once (a broadcast one by "
            "index arithmetic), keep every intermediate in registers in float32, cast at the store; then try "
            "larger blocks and other numbers of warps."
        )
        return plan, "a smaller block with fewer warps"

    def write(self, tuning: Tuning, prefix: str = "") -> RegionText:
        fused = self.fused
        wide = self._needs_wide_offsets
        first = "tl.program_id(0).to(tl.int64)" if wide else "tl.program_id(0)"
        why = "  # more elements than 32 bits can count" if wide else ""
        kernel = KernelParts(
            name=fused.name,
            pointers=fused.pointers,
            sizes=("numel", *(f"{name}: tl.constexpr" for name in fused.placer.sizes)),
            scalars=tuple(number.name for number in fused.scalars),
            meta=("BLOCK: tl.constexpr",),
            body=(f"offs = {first} * BLOCK + tl.arange(0, BLOCK){why}", "mask = offs < numel", *self.body),
            helpers=(),
            launcher=tuple(self._launcher(wide, prefix)),
        )
        return fused.text(f"{fused.title} in one kernel.", self.strategy(tuning), tuning.prefixed(prefix), kernel)

    def _launcher(self, wide: bool, prefix: str) -> list[str]:
        fused, block = self.fused, f"{prefix}BLOCK"
        result = fused.outputs[0].name
        larger = [
            step.name for step in fused.loaded if prod(step.form.shape) > prod(fused.outputs[0].step.form.shape)
        ]
        most = f"max({', '.join(['numel', *(f'{name}.numel()' for name in larger)])})" if larger else "numel"
        bound = [] if wide else [f'    assert {most} < 2**31 - {block}, "offsets are 32-bit"']
        constants = [f"BLOCK={block}", f"num_warps={prefix}NUM_WARPS"]
        launch = fused.launch(f"(triton.cdiv(numel, {block}),)", ["numel"], constants)
        numel = [f"    numel = {result}.numel()", *bound]
        return [*fused.signature(), *fused.preparation(), *fused.allocations(), *numel, *launch]

    @property
    def _needs_wide_offsets(self) -> bool:
        steps = [*(output.step for output in self.fused.outputs), *self.fused.loaded]
        return any(prod(step.form.shape) >= 2**31 - _LARGEST_BLOCK for step in steps)


def _refuse_scattered_reads(fused: FusedKernel) -> None:
    """Neighbors in the output should be neighbors in memory, unless the caches hold the tensor anyway."""
    placer = fused.placer
    row = placer.symbols.sizes[placer.trail.axes[-1]] if placer.trail.axes else 1
    for value in placer.values:
        if value.step.op != LEAF or row <= _SHORT_ROW or prod(value.step.form.shape) <= _CACHED:
            continue
        parts = [part for index in value.place.indices for part in index]
        stride = placer.indices.stride_of(parts, placer.trail)
        if stride is not None and abs(stride) > _NEAR:
            raise Unmatched(f"reads {value.step.name} across its rows, {stride} elements apart")


def _tuning(block: int, warps: int) -> Tuning:
    return Tuning((("BLOCK", block), ("NUM_WARPS", warps)))


def _near(value: int, most: int) -> tuple[int, int]:
    """Twice and half, within bounds."""
    return min(2 * value, most), max(value // 2, 1)
