"""Pointwise operators of any number, fused into one kernel over the flat output, or over its rows.

PyTorch runs a chain of k operators as k kernels that each read and write the whole tensor. One kernel reads the
inputs once and writes the outputs once, so the speedup is about the ratio of bytes.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import dataclass
from math import prod

from tilesmith.playbook.graph.lowering import Lowering, list_outputs
from tilesmith.playbook.graph.operators import ACTIVATIONS, ARITHMETIC, is_known
from tilesmith.playbook.graph.placement import PlacedValue, Placer, TilePosition
from tilesmith.playbook.graph.steps import LEAF, REDUCTIONS, VIEW, KernelStep
from tilesmith.playbook.recipe import Declined, KernelParts, Region, RegionText, Tuning
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.fused_kernel import FusedKernel, fuse
from tilesmith.playbook.writing.kernel_body import Tile, write_on_one_tile
from tilesmith.tasks.graph import Node

_SIZES = ((1024, 4), (2048, 8), (512, 4), (4096, 8), (2048, 4), (1024, 8), (8192, 16))
"""Elements and warps per program: eight elements a thread keep enough loads in flight."""
_APART = ((256, 8), (128, 4), (512, 8), (512, 16), (256, 4))
"""The same where neighbors are read apart: one element a thread, or the loads of a warp are spread over as many
times the cache lines as a thread has elements side by side."""
_LARGEST_BLOCK, _MOST_WARPS = 16384, 32
_LONG_ROW = 1024
"""Rows so long are worth programs of their own where a number belongs to all of one."""
_NEAR, _SHORT_ROW, _CACHED = 8, 16, 1 << 18
"""Elements so near are read together; rows so short, and tensors so small, may be scattered."""
_CHEAP = {"add", "sub", "rsub", "mul", "neg", "abs", "maximum", "minimum", "clamp", "clamp_min", "clamp_max"} | {
    "where", "masked_fill", "relu", "relu6", "leaky_relu", "hardtanh", "hardsigmoid", "hardswish", "threshold"
}  # fmt: skip
_MOST_REPEATED, _MOST_PLACES = 3, 27
"""How often an element may be computed anew by windows that overlap, unless that is cheap; elements of one tensor
that are read for one result: those of the largest window of a pool."""


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
            if _count_row_dims(low):
                with contextlib.suppress(Unmatched):
                    return _matched(region, low, has_rows=True)
                low = Lowering(region.graph)
            return _matched(region, low, has_rows=False)
        except Unmatched as reason:
            return Declined(f"the task {reason}")


def _matched(region: Region, low: Lowering, has_rows: bool) -> ElementwiseMatch:
    outputs = list_outputs(region.graph)
    dims = low.step(outputs[0]).form.dims if outputs else ()
    split = len(dims) - _count_row_dims(low) if has_rows else 0
    lead, trail = ("row", "cols") if has_rows else (None, "offs")
    placer = Placer(low.symbols, TilePosition(lead, trail, len(dims) - split), dims[:split], dims[split:])
    fused = fuse(low, placer, region)
    if fused.working_operators == 0:
        raise Unmatched("only copies, which PyTorch does as well")
    _refuse_scattered_reads(fused)
    _refuse_repeated_work(fused)
    return ElementwiseMatch(
        fused, tuple(write_on_one_tile(placer, Tile(lead, trail, False), fused.outputs)), has_rows
    )


def _count_row_dims(low: Lowering) -> int:
    """Along how many last dimensions some tensor is repeated, where that is a long row of every output."""
    forms = [low.step(name).form for name in list_outputs(low.graph)]
    if not forms or any(form.dims != forms[0].dims for form in forms):
        return 0
    for step in low.values.values():
        if isinstance(step, KernelStep) and step.op in (LEAF, VIEW) and any(step.form.dims):
            repeated = len(step.form.dims) - max(i + 1 for i, dim in enumerate(step.form.dims) if dim)
            if 0 < repeated < forms[0].rank and prod(forms[0].shape[-repeated:]) >= _LONG_ROW:
                return repeated
    return 0


@dataclass(frozen=True)
class ElementwiseMatch:
    fused: FusedKernel
    body: tuple[str, ...]
    has_rows: bool
    """A program stays within one row, for which it reads one number where others are repeated along it."""
    kernel_type = "elementwise"

    @property
    def name(self) -> str:
        return self.fused.name

    @property
    def tunings(self) -> tuple[Tuning, ...]:
        sizes = (*_APART, *_SIZES) if _reads_apart(self.fused) else _SIZES
        return tuple(_tuning(block, warps) for block, warps in sizes)

    def variations(self, tuning: Tuning, stage: str) -> tuple[Tuning, ...]:
        if stage == "memory":
            return tuple(tuning.changed("NUM_WARPS", n) for n in _near(tuning["NUM_WARPS"], _MOST_WARPS))
        larger, smaller = _near(tuning["BLOCK"], _LARGEST_BLOCK)
        order = (larger, smaller) if stage == "grid" else (smaller, larger)
        return tuple(tuning.changed("BLOCK", block) for block in order)

    def strategy(self, tuning: Tuning) -> str:
        where = "a row" if self.has_rows else "the flat output"
        return (
            f"One program per {tuning['BLOCK']} elements of {where}, {tuning['NUM_WARPS']} warps: "
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
        head = [f"offs = {first} * BLOCK + tl.arange(0, BLOCK){why}", "mask = offs < numel"]
        if self.has_rows:
            head = [
                "blocks = tl.cdiv(N, BLOCK)",
                f"row = {first} // blocks{why}",
                "cols = tl.program_id(0) % blocks * BLOCK + tl.arange(0, BLOCK)",
                "mask = cols < N",
            ]
        kernel = KernelParts(
            name=fused.name,
            pointers=fused.pointers,
            sizes=("N" if self.has_rows else "numel", *(f"{name}: tl.constexpr" for name in fused.placer.sizes)),
            scalars=tuple(number.name for number in fused.scalars),
            meta=("BLOCK: tl.constexpr",),
            body=(*head, *self.body),
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
        if self.has_rows:
            columns = fused.product(tuple(axis for dim in fused.placer.columns for axis in dim))
            bound.append(f"    N = {columns}")
            launch = fused.launch(f"(numel // N * triton.cdiv(N, {block}),)", ["N"], constants)
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
    for value in placer.values if row > _SHORT_ROW else ():
        if value.step.op == LEAF and prod(value.step.form.shape) > _CACHED:
            stride = _stride(placer, value)
            if stride is not None and abs(stride) > _NEAR:
                raise Unmatched(f"reads {value.step.name} across its rows, {stride} elements apart")


def _reads_apart(fused: FusedKernel) -> bool:
    """Whether no thread can read what it needs of a tensor for several neighbors at once."""
    leaves = [value for value in fused.placer.values if value.step.op == LEAF]
    return any(_stride(fused.placer, value) not in (None, 0, 1) for value in leaves)


def _stride(placer: Placer, value: PlacedValue) -> int | None:
    return placer.indices.stride_of([part for index in value.place.indices for part in index], placer.trail)


def _refuse_repeated_work(fused: FusedKernel) -> None:
    """What overlapping windows need is better computed once, and read; so is what a window of windows needs."""
    results = prod(fused.outputs[0].step.form.shape)
    for step, times in Counter(value.step for value in fused.placer.values).items():
        if step.op == LEAF and times > _MOST_PLACES:
            raise Unmatched(f"reads {step.name} at {times} places for one element")
        repeated = times * results / prod(step.form.shape)
        if times > 1 and step.op in (ARITHMETIC | ACTIVATIONS) - _CHEAP and repeated > _MOST_REPEATED:
            raise Unmatched(f"computes {step.name} {repeated:.3g} times for each of its elements")


def _tuning(block: int, warps: int) -> Tuning:
    return Tuning((("BLOCK", block), ("NUM_WARPS", warps)))


def _near(value: int, most: int) -> tuple[int, int]:
    """Twice and half, within bounds."""
    return min(2 * value, most), max(value // 2, 1)
