"""A convolution among others: what its kernel is given, and what it gives to the next one.

What passes from one convolution to the next is a tuple: the halves, channels-last; what undoes their scales, for
every channel of each image; and the largest number of each image. The scale of a result must be chosen before it
is known: no number is larger than the largest of the image times the sum of a filter's numbers, with what the
operators behind it make of that. Such a bound is a few hundred times too large at most, and a half has digits
enough for that. It is never carried further: the next one starts from the largest number that was found.

Images of several kernels stand side by side in one buffer where they are joined. Whoever reads them gives all of
them one scale on the way, and does to them what is done before they are convolved: a norm, an activation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tilesmith.playbook.graph.placement import PlacedValue, Placer
from tilesmith.playbook.graph.steps import LEAF, PRODUCT, KernelStep
from tilesmith.playbook.graph.sums.convolutions import Convolution
from tilesmith.playbook.recipes.convolutions.chains.prologue import PrologueText, find_source
from tilesmith.playbook.recipes.convolutions.chains.reach import Reach
from tilesmith.playbook.recipes.convolutions.pooling import Pool
from tilesmith.playbook.recipes.products.tiles import BLOCKS
from tilesmith.playbook.writing.fused_kernel import FusedKernel

WHOLE_CHANNELS = 8
"""Halves that are read at once."""
_KEEPING_ORDER = {PRODUCT, "add", "relu", "relu6", "hardtanh", "leaky_relu", "clamp", "clamp_min", "clamp_max"}
IN, OUT = ("IN_D", "IN_H", "IN_W"), ("OUT_D", "OUT_H", "OUT_W")


@dataclass(frozen=True)
class Link:
    fused: FusedKernel
    convolution: Convolution
    unit: int
    """What the number of padded channels is a multiple of."""
    keeps_filters: bool
    takes: Collection[KernelStep]
    """Leaves that are such tuples."""
    gives: bool
    """Whether the result is one."""
    pool: Pool | None
    joined: Mapping[KernelStep, int] = field(default_factory=dict)
    """Those of the leaves that stand side by side, and how many channels in a row have the same scale."""

    @property
    def images(self) -> KernelStep:
        """What is read: the images that are convolved, or what they are computed of."""
        return find_source(self._inner) if self._inner else self.convolution.images

    @property
    def _inner(self) -> Placer | None:
        return self.fused.inner

    @cached_property
    def prologue(self) -> PrologueText | None:
        return PrologueText(self.fused.name, self._inner) if self._inner else None

    @property
    def is_depthwise(self) -> bool:
        return self.convolution.is_depthwise

    @property
    def blocks(self) -> tuple[str, ...]:
        """Constants that the kernel is tuned by."""
        return BLOCKS[:2] if self.is_depthwise else BLOCKS

    @property
    def takes_images(self) -> bool:
        return self.images in self.takes

    @property
    def reads_halves(self) -> bool:
        """Whether images are such a tuple, given or made; else they are padded."""
        return self.takes_images or self._inner is not None or self.is_depthwise

    @property
    def shared(self) -> int:
        """How many channels in a row have the same scale, where images stand side by side; else 0."""
        return self.joined.get(self.images, 0)

    @property
    def is_rescaled(self) -> bool:
        """Whether what is read gets another scale before it is multiplied."""
        return not self.is_depthwise and (self._inner is not None or bool(self.shared))

    @cached_property
    def skips(self) -> list[KernelStep]:
        """Images that are added to the result."""
        placed = {value.step for value in self.fused.placer.values}
        return [one for one in self.fused.loaded if one in self.takes and one in placed]

    @cached_property
    def loaded(self) -> list[KernelStep]:
        """Tensors that the tile reads, and what is done before it is convolved."""
        placed = {value.step for value in self.fused.placer.values}
        before = self.prologue.leaves if self.prologue else []
        return [one for one in self.fused.loaded if one in placed or one in before]

    @cached_property
    def reach(self) -> str:
        """How large a number of the result may get."""
        return self._result_reach.of(self.fused.outputs[0].value)

    def image_reach(self, largest: str) -> str:
        """How large a number may get that is convolved and is no tensor's; `largest` is that of the image."""
        return self._image_reach(largest).of(self.prologue.value) if self.prologue else largest

    @cached_property
    def measured(self) -> dict[str, str]:
        """What of parameters the bounds take, by the name of the pointer to each."""
        bound = self._image_reach("")
        if self.prologue:
            bound.of(self.prologue.value)
        if self.gives:
            assert self.reach
        return bound.measured | (self._result_reach.measured if self.gives else {})

    @cached_property
    def _result_reach(self) -> Reach:
        return Reach(self._owned, {one.name: self.largest(one, one.name, "image") for one in self.skips})

    def largest(self, images: KernelStep, name: str, place: str) -> str:
        """The largest number of an image, whose place is a variable."""
        if images in self.joined:
            return f"load_largest({name}_largest_ptr, {place}, BATCH, {name.upper()}_PARTS)"
        return f"tl.load({name}_largest_ptr + {place})"

    @property
    def parts(self) -> dict[str, str]:
        """Sizes that say how many kernels have made images, and the tensors that have them."""
        joined = [one.name for one in self._joined_skips] if self.gives else []
        found = {f"{name.upper()}_PARTS": f"{name}_largest.numel() // BATCH" for name in joined}
        return found | ({"PIXELS_PARTS": "pixels_largest.numel() // BATCH"} if self.shared else {})

    def _image_reach(self, largest: str) -> Reach:
        return Reach(self._owned, {self.images.name: largest})

    @property
    def _owned(self) -> list[str]:
        return [self.fused.low.step(one.name).name for one in self.fused.graph.parameters]

    @property
    def factors(self) -> list[str]:
        """Tensors that the kernel takes before those that its tile reads."""
        found = ["pixels", "filters", "pixels_scale", *([] if self.is_depthwise else ["filters_scale"])]
        found += ["pixels_largest"] if self.is_rescaled or (self.gives and self.reads_halves) else []
        found += [*(["filters_sum"] if self.gives else []), *self.measured]
        for one in self.skips:
            found += [f"{one.name}_unscale", *([f"{one.name}_largest"] if self.gives else [])]
        return found

    @property
    def results(self) -> list[str]:
        name = self.fused.outputs[0].name
        return [name, f"{name}_unscale", f"{name}_largest"] if self.gives else [name]

    @property
    def windows(self) -> str:
        """How many windows of the pool there are; without one, places."""
        return "WINDOWS" if self.pool else "N"

    @property
    def columns(self) -> str:
        """How many columns all tiles have."""
        return f"{self.pool.size} * WINDOWS" if self.pool else "N"

    @property
    def pools_first(self) -> bool:
        """Whether the largest number of a window stays that, whatever is done with it."""
        values = self.fused.placer.values
        is_largest = self.pool is not None and self.pool.kind == "max" and not self.is_rescaled
        return is_largest and all(map(_keeps_order, values))

    @property
    def has_border(self) -> bool:
        return any(window.has_border for window in self.convolution.windows)

    @property
    def sizes(self) -> tuple[str, ...]:
        """Sizes that the kernel takes as numbers."""
        is_batched = self.gives or self.shared or self._joined_skips
        return ("N", *(["WINDOWS"] if self.pool else []), *(["BATCH"] if is_batched else []), *self.parts)

    @property
    def constants(self) -> tuple[str, ...]:
        """Sizes that it is compiled for."""
        pitches = [f"{one.name.upper()}_PITCH" for one in self.skips] + (["PITCH"] if self.gives else [])
        known = ["M", *IN, *OUT, *pitches]
        if self.is_depthwise:
            return (*known, "IN_PITCH")
        read = ["IN_C", "IN_PITCH"] if self.reads_halves else []
        return (*known, "PADDED", "CHANNELS", *read, *(["SHARED"] if self.shared else []))

    @property
    def _joined_skips(self) -> list[KernelStep]:
        return [one for one in self.skips if one in self.joined]

    @property
    def window(self) -> tuple[int, ...]:
        """Of the pool, along all three dimensions."""
        window = self.pool.window if self.pool else (1,) * len(self.convolution.windows)
        return (1,) * (3 - len(window)) + window

    @property
    def places(self) -> str:
        """How many the result has in an image."""
        pairs = zip(OUT, self.window, strict=True)
        return " * ".join(one if by == 1 else f"({one} // {by})" for one, by in pairs)


def _keeps_order(value: PlacedValue) -> bool:
    """Whether a value does not decrease where its operands grow, or is the same for all places."""
    step = value.step
    if step.op == LEAF:
        return value.place.trail is None
    slopes = value.operands[1:] if step.op == "leaky_relu" else ()
    return step.op in _KEEPING_ORDER and not step.options and all(float(one) >= 0 for one in slopes)


def gives_images(fused: FusedKernel, convolution: Convolution) -> bool:
    """Whether the one result has a float32 number for each that is convolved, in the order of images."""
    (step, *others), canonical = [one.step for one in fused.outputs], fused.low.symbols.canonical
    channels, batch, *places = convolution.step.form.dims
    is_whole = [*map(canonical, step.form.dims)] == [*map(canonical, (batch, channels, *places))]
    return is_whole and step.dtype == "float32" and not others


def may_take(fused: FusedKernel, leaf: KernelStep) -> bool:
    """Whether a leaf is read nowhere but where the same place of the result is written."""
    output = fused.outputs[0]
    placed = [value for value in fused.placer.values if value.step is leaf]
    return all(one.step.op == LEAF and one.text == output.address and not one.place.guards for one in placed)


def may_be_taken(fused: FusedKernel, step: KernelStep, source: KernelStep) -> bool:
    """Whether an input may be such a tuple: `source` is what is convolved, another one is added to the result."""
    channels, *columns = fused.low.convolutions[0].step.form.shape
    is_whole = step.form.rank > 2 and step.form.shape[1] % WHOLE_CHANNELS == 0
    is_used = step is source or step.form.shape == (columns[0], channels, *columns[1:])
    return is_whole and is_used and step.dtype == "float32" and may_take(fused, step)
