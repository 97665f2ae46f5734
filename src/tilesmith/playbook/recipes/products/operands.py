"""Factors that a kernel computes on the way, tile by tile: weights of few bits and their scales, activations."""

from __future__ import annotations

from dataclasses import dataclass

from tilesmith.playbook.graph.factors import Factor
from tilesmith.playbook.graph.lowering import Lowering
from tilesmith.playbook.graph.placement import Placer, TilePosition
from tilesmith.playbook.graph.scalars import NamedNumber
from tilesmith.playbook.graph.steps import PRODUCT, REDUCTIONS, KernelStep
from tilesmith.playbook.graph.symbols import Dim
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.kernel_body import Tile, write_on_one_tile

_HELPER = '''@triton.jit
def {name}({parameters}):
    """A tile of the {side} factor; `rows` and `cols` are numbers of its own rows and columns."""
    mask_m, mask_n = rows < M, cols < N
    mask = mask_m & mask_n
{lines}
    return tl.where(mask, {value}, 0.0).to({dtype})'''


@dataclass(frozen=True)
class ComputedOperand:
    helper: str
    """A function that gives a tile."""
    leaves: tuple[KernelStep, ...]
    """Tensors that it reads, contiguous ones."""
    sizes: dict[str, Dim]
    """What index arithmetic needs."""
    call: str
    """The tile for `k` and the rows of a kernel's tile."""


def compute_operand(low: Lowering, factor: Factor, kernel: str, side: str) -> ComputedOperand:
    dims = factor.step.form.dims
    placer = Placer(low.symbols, TilePosition("rows", "cols", 1), dims[:-1], dims[-1:])
    value = placer.output(factor.step).value
    if any(one.step.op in (*REDUCTIONS, PRODUCT) for one in placer.values):
        raise Unmatched("multiplies what it reduces")
    numbers = [given for one in placer.values for given in (*one.operands, *one.step.options.values())]
    if any(isinstance(number, NamedNumber) and number.host for number in numbers):
        raise Unmatched("computes a factor with a number of its own")
    lines = write_on_one_tile(placer, Tile("rows", "cols", False), ())
    pointers = [f"{leaf.name}_ptr" for leaf in factor.leaves]
    name = f"{kernel}_{side}"
    parameters = [*pointers, "rows", "cols", "M", "N", *(f"{size}: tl.constexpr" for size in placer.sizes)]
    helper = _HELPER.format(
        name=name,
        parameters=", ".join(parameters),
        side=side,
        lines="\n".join(f"    {line}" for line in lines),
        value=value.name,
        dtype=f"tl.{factor.step.dtype}",
    )
    return ComputedOperand(
        helper,
        factor.leaves,
        dict(placer.sizes),
        f"{name}({', '.join([*pointers, *_indices(factor, side), *placer.sizes])})",
    )


def _indices(factor: Factor, side: str) -> list[str]:
    """Rows and columns of the factor as it was computed, which may lie across."""
    own, size, depth = (
        ("rows[:, None]", "M", "k[None, :]") if side == "left" else ("cols[None, :]", "N", "k[:, None]")
    )
    return [depth, own, "K", size] if factor.view else [own, depth, size, "K"]
