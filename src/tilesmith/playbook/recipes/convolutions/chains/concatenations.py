"""Images of several convolutions side by side: whoever makes some of them writes into the buffer of all."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd

from tilesmith.playbook.graph.operators import operator_name
from tilesmith.playbook.recipe import PLAIN, Declined, KernelParts, Layout, Region, RegionText, Tuning
from tilesmith.playbook.recipes.convolutions import image_sources
from tilesmith.playbook.recipes.convolutions.chains import joining_sources
from tilesmith.playbook.recipes.convolutions.chains.link import WHOLE_CHANNELS
from tilesmith.tasks.graph import Node, reference


def list_parts(node: Node) -> list[str]:
    """What a node joins along the channels; nothing where it joins something else."""
    is_joining = operator_name(node) in ("cat", "concat", "concatenate") and node.dtype == "float32"
    dim = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim", 0)
    shape = node.shape or ()
    if not is_joining or not 3 <= len(shape) <= 5 or dim % len(shape) != 1:
        return []
    return [str(reference(one)) for one in node.args[0]]


class ConcatenationsRecipe:
    """For a single node that joins what convolutions have made."""

    name = "concatenations"

    def knows(self, node: Node) -> bool:
        return bool(list_parts(node))

    def match(self, region: Region) -> ConcatenationMatch | Declined:
        if not region.is_address:
            return Declined("the task joins no images of convolutions for others")
        node = region.graph.nodes[0]
        inputs = {one.name: one for one in region.graph.inputs}
        parts = list_parts(node) if len(region.graph.nodes) == 1 else []
        if not set(parts) & region.convolved:
            return Declined("the task joins nothing that it has convolved")
        channels = [(inputs[name].shape or (0, 0))[1] for name in parts]
        if any(count % WHOLE_CHANNELS for count in channels):
            return Declined("the task joins images without whole groups of channels")
        return ConcatenationMatch(region, tuple(parts), tuple(channels))


@dataclass(frozen=True)
class ConcatenationMatch:
    """Nothing is computed, and nothing copied but what no kernel of a convolution makes or takes."""

    region: Region
    parts: tuple[str, ...]
    channels: tuple[int, ...]
    layout: Layout = PLAIN
    kernel_type = "concatenation"
    is_worth_it = True

    @cached_property
    def name(self) -> str:
        taken, number = self.region.taken, 1
        while (name := "join_images" if number == 1 else f"join_images_{number}") in taken:
            number += 1
        return name

    @property
    def advice(self) -> tuple[str, str]:
        return self.strategy(self.tunings[0]), "the library's own concatenation"

    @property
    def tunings(self) -> tuple[Tuning, ...]:
        """There is nothing to choose: it is there wherever something is that it joins."""
        return (Tuning(()),)

    def variations(self, tuning: Tuning, stage: str) -> tuple[Tuning, ...]:
        return ()

    @property
    def widest(self) -> Layout:
        return Layout(frozenset(self.parts), True)

    @property
    def needs(self) -> frozenset[str]:
        return frozenset()

    @property
    def copies(self) -> frozenset[str]:
        return frozenset()

    def gains(self, layout: Layout) -> bool:
        return bool(layout.takes)

    def shared(self, given: Mapping[str, int]) -> int:
        return gcd(*(given.get(part, 0) or count for part, count in zip(self.parts, self.channels, strict=True)))

    def laid_out(self, layout: Layout, taken: Collection[str] = ()) -> ConcatenationMatch:
        region = replace(self.region, taken=self.region.taken | set(taken)) if taken else self.region
        return replace(self, region=region, layout=layout)

    def strategy(self, tuning: Tuning) -> str:
        told = f"{sum(self.channels)} channels side by side in one buffer, where the kernels that make them write"
        return f"{told}." if self.layout.gives else f"{told}; what needs float32 gets a copy of all of them."

    def write(self, tuning: Tuning, prefix: str = "") -> RegionText:
        name, helpers = "join_images", [joining_sources.JOIN_IMAGES]
        if not self.layout.gives:
            name, helpers = "join_and_leave", [joining_sources.LEAVE_IMAGES, joining_sources.JOIN_AND_LEAVE]
        elif not self.layout.takes >= set(self.parts):
            entering = (image_sources.CHOOSE_SCALES, image_sources.MEASURE_IMAGES, joining_sources.ENTER_IMAGES)
            name, helpers = "enter_and_join", [*entering, joining_sources.ENTER_AND_JOIN]
        kernel = KernelParts(
            name=name,
            pointers=(),
            sizes=(),
            scalars=(),
            meta=(),
            body=(),
            helpers=(image_sources.ROOM_FOR_IMAGES, joining_sources.SIDE_BY_SIDE, *helpers),
            launcher=(),
        )
        named = list(zip(self.parts, self.channels, strict=True))
        return RegionText(
            title="Images side by side in one buffer.",
            formulas=(f"    y = cat({', '.join(self.parts)}) along the channels",),
            shapes="; ".join(f"{part} ({count} channels)" for part, count in named),
            strategy=self.strategy(tuning),
            tuning=tuning,
            kernel=kernel,
            arguments=self.parts,
            numbers=(),
            results=("y",),
            has_room=True,
        )
