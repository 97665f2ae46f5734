"""Images of several convolutions side by side: whoever makes some of them writes into the buffer of all."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd

from tilesmith.playbook.graph.names import make_identifier
from tilesmith.playbook.graph.operators import operator_name
from tilesmith.playbook.recipe import PLAIN, Declined, KernelParts, Layout, Region, RegionText, Tuning
from tilesmith.playbook.recipes.convolutions import image_sources, joining_sources
from tilesmith.tasks.graph import Node, reference

_WHOLE_CHANNELS = 8
_SEVERAL = "tuple[torch.Tensor, ...]"


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
        if any(count % _WHOLE_CHANNELS for count in channels):
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
        names = dict(zip(dict.fromkeys(self.parts), self._named(), strict=True))
        given = [names[name] for name in self.parts]
        types = {name: _SEVERAL if part in self.layout.takes else "torch.Tensor" for part, name in names.items()}
        enters = [image_sources.MEASURE_IMAGES, joining_sources.ENTER_IMAGES, joining_sources.ENTER_ONCE]
        leaves = [] if self.layout.gives else [joining_sources.LEAVE_IMAGES]
        kernel = KernelParts(
            name=self.name,
            pointers=(),
            sizes=(),
            scalars=(),
            meta=(),
            body=(),
            helpers=(
                *([image_sources.CHOOSE_SCALES] if self._enters else []),
                image_sources.ROOM_FOR_IMAGES,
                joining_sources.SIDE_BY_SIDE,
                *(enters if self._enters else []),
                *leaves,
            ),
            launcher=(
                f"def {self.name}(",
                f"    {', '.join(f'{name}: {types[name]}' for name in names.values())}, into: tuple",
                f") -> {_SEVERAL if self.layout.gives else 'torch.Tensor'}:",
                *self._joined(names),
            ),
        )
        title = "Images side by side in one buffer."
        shapes = "; ".join(f"{name} ({count} channels)" for name, count in zip(given, self.channels, strict=True))
        formula = f"    y = cat({', '.join(given)}) along the channels"
        return RegionText(
            title=title,
            formulas=(formula,),
            shapes=shapes,
            strategy=self.strategy(tuning),
            tuning=tuning.prefixed(prefix),
            kernel=kernel,
            arguments=tuple(names),
            numbers=(),
            results=("y",),
            has_room=True,
        )

    def _named(self) -> list[str]:
        found: list[str] = []
        for part in dict.fromkeys(self.parts):
            name, number = make_identifier(part), 1
            while name in (*found, "y", "into", "torch", "triton", "tl", "nn"):
                name, number = f"{make_identifier(part)}_{number}", number + 1
            found.append(name)
        return found

    @property
    def _enters(self) -> bool:
        """Whether tensors become a part of the buffer."""
        return self.layout.gives and not self.layout.takes >= set(self.parts)

    def _joined(self, names: dict[str, str]) -> list[str]:
        """`into` is the buffer, the number in it of every part, and where they end."""
        plain = [(number, part) for number, part in enumerate(self.parts) if part not in self.layout.takes]
        if self.layout.gives:
            return [
                *(f"    enter_once({names[part]}, (into[0], into[{number + 1}]))" for number, part in plain),
                "    return into[0].take(into[1], into[-1])",
            ]
        copied = [
            line
            for number, part in plain
            for line in (
                f"    first = into[0].ends[into[{number + 1}]] - into[0].ends[into[1]]",
                f"    y[:, first : first + {names[part]}.shape[1]] = {names[part]}",
            )
        ]
        return [
            "    halves, unscale, *_ = into[0].take(into[1], into[-1])",
            "    y = leave_images(halves, unscale)",
            *copied,
            "    return y",
        ]
