"""Sums and means over everything, with all pointwise work before them: one pass, and a short sum of partial sums.

Every program adds up one block; PyTorch adds up what they found. So the result does not depend on who was first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from tilesmith.playbook.graph.lowering import Lowering
from tilesmith.playbook.graph.operators import is_known, operator_name
from tilesmith.playbook.graph.placement import Placer, TilePosition
from tilesmith.playbook.graph.reductions import find_argument
from tilesmith.playbook.graph.steps import REDUCTIONS, KernelStep
from tilesmith.playbook.recipe import Declined, KernelParts, Region, RegionText, Tuning
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.fused_kernel import FusedKernel, fuse
from tilesmith.playbook.writing.kernel_body import Tile, write_on_one_tile
from tilesmith.tasks.graph import Graph, Node, reference, references

_TOTALS = ("sum", "mean")
_SIZES = ((4096, 8), (8192, 8), (2048, 4), (16384, 16))
"""Elements and warps per program."""


class TotalsRecipe:
    name = "totals"

    def knows(self, node: Node) -> bool:
        return is_known(node)

    def match(self, region: Region) -> TotalsMatch | Declined:
        try:
            last = region.graph.nodes[-1] if len(region.graph.nodes) > 1 else None
            if last is None or operator_name(last) not in _TOTALS or not _is_over_everything(region.graph, last):
                return Declined("the task does not end in the sum of everything")
            if last.dtype != "float32" or set(references(region.graph.outputs)) != {last.name}:
                return Declined("the task needs more than the sum of everything in float32")
            match = TotalsMatch(region, last)
            match.write(match.tunings[0])
        except Unmatched as reason:
            return Declined(f"the task {reason}")
        return match


def _is_over_everything(graph: Graph, node: Node) -> bool:
    source = next((one for one in graph.nodes if one.name == reference(node.args[0])), None)
    dims = find_argument(node, 1, "dim")
    if source is None or source.shape is None or find_argument(node, 2, "keepdim", False):
        return False
    return not dims or len(dims) == len(source.shape)


@dataclass(frozen=True)
class TotalsMatch:
    region: Region
    last: Node
    kernel_type = "reduction"
    is_worth_it = True

    @cached_property
    def _fused(self) -> FusedKernel:
        summed = str(reference(self.last.args[0]))
        graph = replace(self.region.graph, nodes=self.region.graph.nodes[:-1], outputs={"node": summed})
        low = Lowering(graph)
        steps = [step for step in low.values.values() if isinstance(step, KernelStep)]
        if any(step.op in REDUCTIONS or step.row_lengths for step in steps):
            raise Unmatched("reduces before it sums everything")
        columns = low.step(summed).form.dims
        placer = Placer(low.symbols, TilePosition(None, "offs", len(columns)), (), columns)
        return fuse(low, placer, self.region, ending=operator_name(self.last))

    @property
    def name(self) -> str:
        return self._fused.name

    @property
    def tunings(self) -> tuple[Tuning, ...]:
        return tuple(Tuning((("BLOCK", block), ("NUM_WARPS", warps))) for block, warps in _SIZES)

    def variations(self, tuning: Tuning, stage: str) -> tuple[Tuning, ...]:
        if stage == "memory":
            return tuple(tuning.changed("NUM_WARPS", n) for n in (4, 8, 16) if n != tuning["NUM_WARPS"])
        return tuple(tuning.changed("BLOCK", n) for n in (2048, 4096, 8192) if n != tuning["BLOCK"])

    @property
    def advice(self) -> tuple[str, str]:
        return self.strategy(self.tunings[0]), "smaller blocks"

    def strategy(self, tuning: Tuning) -> str:
        return (
            f"One program per {tuning['BLOCK']} elements adds them up; PyTorch adds up the partial sums. Every "
            "input is read once, every intermediate stays in registers."
        )

    def write(self, tuning: Tuning, prefix: str = "") -> RegionText:
        fused = self._fused
        (output,) = fused.outputs
        value = output.value.name
        body = write_on_one_tile(fused.placer, Tile(None, "offs", False), fused.outputs)[:-1]
        store = f"tl.store({output.pointer} + tl.program_id(0), tl.sum(tl.where(mask, {value}, 0.0), axis=0))"
        wide = prod(output.step.form.shape) >= 2**31 - 2**15
        first = "tl.program_id(0).to(tl.int64)" if wide else "tl.program_id(0)"
        kernel = KernelParts(
            name=fused.name,
            pointers=fused.pointers,
            sizes=("numel", *(f"{name}: tl.constexpr" for name in fused.placer.sizes)),
            scalars=tuple(number.name for number in fused.scalars),
            meta=("BLOCK: tl.constexpr",),
            body=(f"offs = {first} * BLOCK + tl.arange(0, BLOCK)", "mask = offs < numel", *body, store),
            helpers=(),
            launcher=tuple(self._launcher(fused, prefix)),
        )
        kind = operator_name(self.last)
        text = fused.text(
            f"{fused.title}, {kind} in one kernel.", self.strategy(tuning), tuning.prefixed(prefix), kernel
        )
        formula = text.formulas[0].replace(f"    {output.name} = ", f"    {output.name} = {kind}(") + ")"
        return replace(text, formulas=(formula,))

    def _launcher(self, fused: FusedKernel, prefix: str) -> list[str]:
        (output,) = fused.outputs
        near, result = fused.leaves[0].name, output.name
        dims = " * ".join(fused.product(dim) for dim in output.step.form.dims if dim) or "1"
        lines = fused.signature()
        lines += [*fused.preparation(), f"    numel = {dims}"]
        lines.append(
            f"    {result} = torch.empty((triton.cdiv(numel, {prefix}BLOCK),), dtype=torch.float32, "
            f"device={near}.device)"
        )
        constants = [f"BLOCK={prefix}BLOCK", f"num_warps={prefix}NUM_WARPS"]
        launch = fused.launch(f"({result}.numel(),)", ["numel"], constants)
        total = f"{result}.sum()" + (" / numel" if operator_name(self.last) == "mean" else "")
        return [*lines, *launch[:-1], f"    return {total}"]
