"""Pools between convolutions: maxima of scaled halves, channels-last, which keep their scale."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from tilesmith.playbook.graph.operators import is_known
from tilesmith.playbook.recipe import PLAIN, Declined, KernelParts, Layout, Region, RegionText, Tuning
from tilesmith.playbook.recipes.convolutions.chains.chaining import LARGER
from tilesmith.playbook.recipes.convolutions.chains.link import WHOLE_CHANNELS
from tilesmith.playbook.recipes.convolutions.image_sources import ROOM_FOR_IMAGES
from tilesmith.playbook.recipes.convolutions.pooling import PooledWindows, find_windows
from tilesmith.playbook.recipes.elementwise import ElementwiseMatch, ElementwiseRecipe
from tilesmith.tasks.graph import Node

_IN, _OUT = ("IN_D", "IN_H", "IN_W"), ("OUT_D", "OUT_H", "OUT_W")
_SIZES = ("numel", *_IN, "BATCH", "PARTS", "IN_PITCH", "PITCH")


class PoolsRecipe:
    """For maxima over windows of what a convolution's kernel has made."""

    name = "pools"

    def knows(self, node: Node) -> bool:
        return is_known(node)

    def match(self, region: Region) -> PoolMatch | Declined:
        windows = find_windows(region.graph) if region.convolved else None
        if windows is None or windows.kind != "max" or windows.source not in region.convolved:
            return Declined("the task pools nothing that it has convolved")
        plain = ElementwiseRecipe().match(region)
        return plain if isinstance(plain, Declined) else PoolMatch(region, plain, windows)


@dataclass(frozen=True)
class PoolMatch:
    """Computed like any other pool where its images are no halves."""

    region: Region
    plain: ElementwiseMatch
    windows: PooledWindows
    layout: Layout = PLAIN
    kernel_type = "pooling"
    is_worth_it = True

    @property
    def name(self) -> str:
        return self.plain.name

    @property
    def advice(self) -> tuple[str, str]:
        return self.plain.advice

    @property
    def tunings(self) -> tuple[Tuning, ...]:
        return self.plain.tunings

    def variations(self, tuning: Tuning, stage: str) -> tuple[Tuning, ...]:
        return self.plain.variations(tuning, stage)

    @property
    def widest(self) -> Layout:
        """Maxima alone: what only adds up to a pool's source is not its images."""
        (leaf,) = self.plain.fused.leaves
        may = leaf.dtype == "float32" and leaf.form.shape[1] % WHOLE_CHANNELS == 0 and not self.plain.has_rows
        return Layout(self.needs, True) if may else PLAIN

    @property
    def needs(self) -> frozenset[str]:
        return frozenset([self.windows.source])

    @property
    def copies(self) -> frozenset[str]:
        return frozenset()

    def gains(self, layout: Layout) -> bool:
        return True

    def shared(self, given: Mapping[str, int]) -> int:
        return given.get(self.windows.source, 0)

    def laid_out(self, layout: Layout, taken: Collection[str] = ()) -> PoolMatch:
        fused = self.plain.fused
        plain = replace(self.plain, fused=replace(fused, taken=fused.taken | set(taken))) if taken else self.plain
        return replace(self, plain=plain, layout=layout)

    def write(self, tuning: Tuning, prefix: str = "") -> RegionText:
        if self.layout == PLAIN:
            return self.plain.write(tuning, prefix)
        fused = self.plain.fused
        kernel = KernelParts(
            name=fused.name,
            pointers=tuple(f"{name}_ptr" for name in (*self._read, *self._written)),
            sizes=(*_SIZES, *(f"{name}: tl.constexpr" for name in (*_OUT, "IN_C"))),
            scalars=(),
            meta=("BLOCK: tl.constexpr",),
            body=tuple(self._body()),
            helpers=(LARGER, *([ROOM_FOR_IMAGES] if self.layout.gives else [])),
            launcher=tuple(self._launcher(prefix)),
        )
        strategy = f"Halves, channels-last, {tuning['BLOCK']} in a program; their scale stays what it is."
        title = f"{fused.title} of windows in one kernel."
        return fused.text(title, strategy, tuning.prefixed(prefix), kernel, has_room=self.layout.gives)

    @property
    def _read(self) -> list[str]:
        return ["x", "unscale", *(["largest"] if self.layout.gives else [])]

    @property
    def _written(self) -> list[str]:
        return ["y", *(["y_unscale", "y_largest"] if self.layout.gives else [])]

    def _each(self, name: str, missing: int) -> list[int]:
        """What the windows have along all three dimensions."""
        given: tuple[int, ...] = getattr(self.windows, name)
        return [missing] * (3 - len(given)) + [*given]

    def _body(self) -> list[str]:
        (_, size_h, size_w), taps = self._each("size", 1), 1
        for size in self.windows.size:
            taps *= size
        stride, before = self._each("stride", 1), self._each("before", 0)
        lines = [
            "offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)",
            "mask = offs < numel",
            "channel, place = offs % IN_C, offs // IN_C",
            "number = place // (OUT_D * OUT_H * OUT_W)",
            f"first_d = place // (OUT_H * OUT_W) % OUT_D * {stride[0]} - {before[0]}",
            f"first_h = place // OUT_W % OUT_H * {stride[1]} - {before[1]}",
            f"first_w = place % OUT_W * {stride[2]} - {before[2]}",
            'y = tl.full((BLOCK,), float("-inf"), tl.float32)',
            f"for tap in tl.static_range({taps}):",
            f"    d, h = first_d + tap // {size_h * size_w}, first_h + tap // {size_w} % {size_h}",
            f"    w = first_w + tap % {size_w}",
            "    inside = mask & (d >= 0) & (d < IN_D) & (h >= 0) & (h < IN_H) & (w >= 0) & (w < IN_W)",
            "    x_ptrs = x_ptr + (((number * IN_D + d) * IN_H + h) * IN_W + w) * IN_PITCH + channel",
            '    y = larger(y, tl.load(x_ptrs, mask=inside, other=float("-inf")).to(tl.float32))',
        ]
        unscale = "tl.load(unscale_ptr + channel * BATCH + number, mask={})"
        lines.append("PLACES = OUT_D * OUT_H * OUT_W")
        if self.layout.gives:
            return [
                *lines,
                "tl.store(y_ptr + place * PITCH + channel, y.to(tl.float16), mask=mask)",
                "once = mask & (place % PLACES == 0)  # scales and the largest numbers stay",
                f"unscale = {unscale.format('once')}",
                "tl.store(y_unscale_ptr + channel * BATCH + number, unscale, mask=once)",
                "once = once & (channel == 0)",
                "largest = tl.load(largest_ptr + number, mask=once, other=0.0)",
                "for part in range(1, PARTS):",
                "    part_ptrs = largest_ptr + part * BATCH + number",
                "    largest = tl.maximum(largest, tl.load(part_ptrs, mask=once, other=0.0))",
                "tl.store(y_largest_ptr + number, largest, mask=once)",
            ]
        return [
            *lines,
            f"y *= {unscale.format('mask')}",
            "tl.store(y_ptr + (number * IN_C + channel) * PLACES + place % PLACES, y, mask=mask)",
        ]

    def _launcher(self, prefix: str) -> list[str]:
        fused, windows, rank = self.plain.fused, self.windows, len(self.windows.size)
        several, gives = "tuple[torch.Tensor, ...]", self.layout.gives
        (leaf,) = fused.leaves
        name, missing = leaf.name, "1, " * (3 - rank)
        sides = zip(windows.size, windows.stride, windows.before, windows.after, strict=True)
        counts = [
            f"({name}.shape[{i}] + {before + after - size}) // {stride} + 1"
            for i, (size, stride, before, after) in enumerate(sides, 2)
        ]
        sizes = ", ".join(_OUT[3 - rank :])
        room = f"torch.empty((BATCH, IN_C, {sizes}), dtype=torch.float32, device={name}.device)"
        if gives:
            room = f"room_for_images(BATCH, IN_C, ({sizes}{',' if rank == 1 else ''}), {name}, into)"
        into = ", into=None" if gives else ""
        return [
            f"def {fused.name}({name}: {several}{into}) -> {several if gives else 'torch.Tensor'}:",
            f"    {name}, unscale, largest{', shared' if self.layout.joined else ''} = {name}",
            f'    assert {name}.dim() == {rank + 2}, "written for {name}.dim() == {rank + 2}"',
            f"    (BATCH, IN_C), inside = {name}.shape[:2], [{missing}*{name}.shape[2:]]",
            f"    OUT_D, OUT_H, OUT_W = {missing}{', '.join(counts)}",
            f"    {', '.join(self._written)} = {room}",
            *fused.call(
                f"{fused.name}_kernel[(triton.cdiv(y.numel(), {prefix}BLOCK),)]",
                [name, *self._read[1:]],
                self._written,
                [
                    *(
                        "y.numel()",
                        "*inside",
                        "BATCH",
                        "largest.numel() // BATCH",
                        f"{name}.stride(-1)",
                        "y.stride(-1)",
                    ),
                    *(f"{one}={one}" for one in (*_OUT, "IN_C")),
                ],
                [f"BLOCK={prefix}BLOCK", f"num_warps={prefix}NUM_WARPS"],
                body=["y"],
            ),
            f"    return {', '.join(self._written)}{', shared' if self.layout.joined and gives else ''}",
        ]
