"""What is done to images before they are convolved, by the kernel that reads them: a norm, an activation."""

from __future__ import annotations

from dataclasses import dataclass

from tilesmith.playbook.graph.lowering import Lowering
from tilesmith.playbook.graph.moves import permuted
from tilesmith.playbook.graph.placement import PlacedValue, Placer, TilePosition
from tilesmith.playbook.graph.scalars import NamedNumber
from tilesmith.playbook.graph.steps import INDEX, LEAF, PRODUCT, REDUCTIONS, SCANS, KernelStep
from tilesmith.playbook.graph.sums.convolutions import Convolution
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.kernel_body import Tile, write_value

_TILE = Tile("rows", "cols", False)
_HELPER = '''@triton.jit
def {name}(
    {parameters},
):
    """What is convolved, of a tile of images: `rows` are its channels."""
    mask_m = rows < M
{lines}
    return {value}'''


def find_prologue(low: Lowering, convolution: Convolution) -> Placer | None:
    """The values that a convolution's images are computed of, on a tile of channels and places; the last of them
    are the images. None where they are a tensor."""
    images = convolution.images
    if images.op == LEAF:
        return None
    if convolution.is_depthwise or convolution.is_transposed:
        raise Unmatched("convolves what it computes itself")
    order = [1, 0, *range(2, images.form.rank)]
    channels, *columns = (images.form.dims[i] for i in order)
    placer = Placer(low.symbols, TilePosition("rows", "cols", len(columns)), [channels], columns)
    placer.output(permuted(low, images, order, images.name))
    if any(one.step.op in (*REDUCTIONS, *SCANS, PRODUCT, INDEX) or one.place.guards for one in placer.values):
        raise Unmatched("convolves what it computes of other places")
    wide = [one for one in placer.values if one.step.op == LEAF and one.place.trail is not None]
    if len(wide) != 1 or wide[0].step.form.dims != images.form.dims:
        raise Unmatched("convolves what it computes of several images")
    return placer


def find_source(placer: Placer) -> KernelStep:
    """The images that are read."""
    return next(one.step for one in placer.values if one.step.op == LEAF and one.place.trail is not None)


@dataclass(frozen=True)
class PrologueText:
    kernel: str
    placer: Placer

    @property
    def name(self) -> str:
        return f"{self.kernel}_pixels"

    @property
    def value(self) -> PlacedValue:
        return self.placer.values[-1]

    @property
    def leaves(self) -> list[KernelStep]:
        """Tensors that it reads beside the images."""
        source = find_source(self.placer)
        return list(
            dict.fromkeys(one.step for one in self._computed if one.step.op == LEAF and one.step is not source)
        )

    @property
    def helper(self) -> str:
        lines = [f"    {write_value(_TILE, one, {})}" for one in self._computed]
        return _HELPER.format(
            name=self.name,
            parameters=", ".join([self._given, *self.others, "rows", "M"]),
            lines="\n".join(lines),
            value=self.value.name,
        )

    @property
    def _given(self) -> str:
        source = find_source(self.placer)
        return next(one.name for one in self.placer.values if one.step is source)

    @property
    def _computed(self) -> list[PlacedValue]:
        return [one for one in self.placer.values if one.name != self._given]

    @property
    def others(self) -> list[str]:
        """What it takes beside the images, where they are and how many channels there are."""
        numbers = (one for value in self._computed for one in (*value.operands, *value.step.options.values()))
        named = [one.name for one in numbers if isinstance(one, NamedNumber) and one.host]
        return [*(f"{one.name}_ptr" for one in self.leaves), *dict.fromkeys(named)]
