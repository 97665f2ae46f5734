"""Convolutions of every channel by itself, with all pointwise work behind them in one kernel.

There is no product of matrices in them: a window has few numbers, and memory is what they wait for. A program has
some places of some channels, and reads all places of its windows where they lie; neighbors find them on chip.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from tilesmith.playbook.graph.steps import KernelStep
from tilesmith.playbook.graph.sums.convolutions import Convolution
from tilesmith.playbook.recipe import PLAIN, KernelParts, Layout, Region, RegionText, Tuning
from tilesmith.playbook.recipes.convolutions.chains.chaining import ChainedWriter
from tilesmith.playbook.recipes.convolutions.chains.link import WHOLE_CHANNELS, Link, gives_images, may_be_taken
from tilesmith.playbook.recipes.convolutions.sources import SUM_WINDOWS
from tilesmith.playbook.recipes.convolutions.writing import fuse_convolution, list_windows
from tilesmith.playbook.recipes.products.writing import MASKS, TILE
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.fused_kernel import FusedKernel
from tilesmith.playbook.writing.kernel_body import write_on_one_tile

_LEAST_NUMBERS = 1 << 20
"""Fewer are convolved before a second kernel could start."""
_TILES = ((1024, 8), (512, 4), (1024, 4), (2048, 8), (512, 2), (256, 4))
"""Numbers of a tile, and warps."""
_BLOCKS = ("BLOCK_M", "BLOCK_N")
_SIZES = ("CHANNELS", "IN_D", "IN_H", "IN_W")


_CHAINED_TILES = ((64, 64, 8), (64, 16, 4), (64, 64, 4), (64, 32, 4), (32, 32, 4), (128, 32, 4))
"""BLOCK_M channels, which are neighbors in memory, BLOCK_N places, warps."""


@dataclass(frozen=True)
class DepthwiseMatch:
    region: Region
    layout: Layout = PLAIN
    kernel_type = "convolution"
    is_worth_it = True

    @cached_property
    def _fused(self) -> FusedKernel:
        return fuse_convolution(self.region)

    @property
    def _convolution(self) -> Convolution:
        return self._fused.low.convolutions[0]

    @property
    def name(self) -> str:
        return self._fused.name

    @cached_property
    def _turned(self) -> FusedKernel:
        """The same with channels first, for images that are channels-last."""
        return fuse_convolution(self.region, channels_first=True)

    @cached_property
    def widest(self) -> Layout:
        fused, precision = self._turned, self.region.survey.environment.get("precision")
        (one,) = fused.low.convolutions
        if one.images.dtype != "float32" or precision == "ieee" or not gives_images(fused, one):
            return PLAIN
        takes = {name for name in self._images if may_be_taken(fused, fused.low.step(name), one.images)}
        gives = one.step.form.shape[0] % WHOLE_CHANNELS == 0
        try:
            if gives:
                self._chained(Layout(frozenset(takes), gives)).write("")
        except Unmatched:
            gives = False
        return Layout(frozenset(takes), gives) if self._source in takes else PLAIN

    @property
    def _images(self) -> list[str]:
        values = self._turned.low.values
        return [one.name for one in self.region.graph.inputs if isinstance(values.get(one.name), KernelStep)]

    @property
    def _source(self) -> str:
        """The images that are convolved."""
        low = self._turned.low
        return next((name for name in self._images if low.step(name) is low.convolutions[0].images), "")

    @property
    def needs(self) -> frozenset[str]:
        """All images: none are copied for a convolution of so few numbers."""
        known = {*self._turned.loaded}
        return frozenset(name for name in self._images if self._turned.low.step(name) in known) | {self._source}

    @property
    def copies(self) -> frozenset[str]:
        return frozenset([self._source])

    def gains(self, layout: Layout) -> bool:
        return (
            self._source in layout.takes or self._source not in self.region.convolved or not self._why_not_alone()
        )

    def shared(self, given: Mapping[str, int]) -> int:
        return 0

    def laid_out(self, layout: Layout, taken: Collection[str] = ()) -> DepthwiseMatch:
        if layout == self.layout and not taken:
            return self
        region = replace(self.region, taken=self.region.taken | set(taken)) if taken else self.region
        return replace(self, region=region, layout=layout)

    def _chained(self, layout: Layout) -> ChainedWriter:
        fused = self._turned
        takes = [fused.low.step(name) for name in sorted(layout.takes)]
        joined = {fused.low.step(name): shared for name, shared in layout.joined}
        link = Link(fused, fused.low.convolutions[0], 1, False, takes, layout.gives, None, joined)
        return ChainedWriter(link)

    def why_not(self) -> str:
        """What the library does as well; empty where a kernel gains."""
        is_given = self._source in self.region.convolved & self.widest.takes
        return "" if is_given else self._why_not_alone()

    def _why_not_alone(self) -> str:
        numbers = prod(self._convolution.step.form.shape)
        return f"{numbers} numbers, which the library does as well" if numbers < _LEAST_NUMBERS else ""

    @cached_property
    def tunings(self) -> tuple[Tuning, ...]:
        if self.layout != PLAIN:
            return tuple(Tuning(tuple(zip((*_BLOCKS, "NUM_WARPS"), one, strict=True))) for one in _CHAINED_TILES)
        places = prod(self._convolution.step.form.shape[2:])
        widest = 1 << (places - 1).bit_length()
        sizes = [(size // min(size, widest), min(size, widest), warps) for size, warps in _TILES]
        return tuple(Tuning(tuple(zip((*_BLOCKS, "NUM_WARPS"), one, strict=True))) for one in sizes)

    def variations(self, tuning: Tuning, stage: str) -> tuple[Tuning, ...]:
        name = {"grid": "BLOCK_M", "block": "BLOCK_N"}.get(stage, "NUM_WARPS")
        return tuple(tuning.changed(name, one) for one in (2 * tuning[name], tuning[name] // 2) if one)

    @property
    def advice(self) -> tuple[str, str]:
        return self.strategy(self.tunings[0]), "smaller tiles, then the library's own convolution"

    def strategy(self, tuning: Tuning) -> str:
        return (
            f"Tiles of {tuning['BLOCK_M']} channels x {tuning['BLOCK_N']} places, {tuning['NUM_WARPS']} warps. "
            f"{'Images come as halves, channels-last. ' if self.layout != PLAIN else ''}"
            "Every channel is convolved by itself, in float32; what follows is computed before anything is stored."
        )

    def write(self, tuning: Tuning, prefix: str = "") -> RegionText:
        if self.layout != PLAIN:
            fused, own = self._turned, tuning.prefixed(prefix)
            title, text = f"{fused.title} in one kernel, on halves.", self.strategy(tuning)
            return fused.text(
                title, text, own, self._chained(self.layout).write(prefix), has_room=self.layout.gives
            )
        fused = self._fused
        kernel = KernelParts(
            name=fused.name,
            pointers=("pixels_ptr", "filters_ptr", *fused.pointers),
            sizes=("M", "N", *_SIZES, "OUT_H: tl.constexpr", "OUT_W: tl.constexpr", *fused.index_sizes),
            scalars=tuple(number.name for number in fused.scalars),
            meta=tuple(f"{name}: tl.constexpr" for name in _BLOCKS),
            body=tuple(self._body()),
            helpers=(SUM_WINDOWS,),
            launcher=tuple(self._launcher(prefix)),
        )
        return fused.text(f"{fused.title} in one kernel.", self.strategy(tuning), tuning.prefixed(prefix), kernel)

    def _body(self) -> list[str]:
        convolution = self._convolution
        name = next(one.name for one in self._fused.placer.values if one.step is convolution.step)
        return [
            "tiles = tl.cdiv(N, BLOCK_N)",
            "rows = (tl.program_id(0) // tiles).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)",
            "cols = (tl.program_id(0) % tiles).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)",
            f"{name} = sum_windows(",
            "    pixels_ptr, filters_ptr, rows, cols, M, N, CHANNELS, IN_D, IN_H, IN_W, OUT_H, OUT_W,",
            f"    {list_windows(convolution, 'size', 'stride', 'dilation', 'before')}, BLOCK_M, BLOCK_N,",
            ")",
            *MASKS,
            "rows, cols = rows[:, None], cols[None, :]",
            *write_on_one_tile(self._fused.placer, TILE, self._fused.outputs),
        ]

    def _launcher(self, prefix: str) -> list[str]:
        fused, convolution = self._fused, self._convolution
        images, filters = convolution.images.name, convolution.filters.name
        rank = len(convolution.windows)
        written = f"{filters}.shape[1:] == {(1, *(window.size for window in convolution.windows))}"
        batch, channels, *places = (fused.product(dim) for dim in convolution.step.form.dims)
        height = places[-2] if rank > 1 else "1"
        sizes = ["1"] * (3 - rank) + [f"{images}.shape[{i}]" for i in range(2, 2 + rank)]
        return [
            *fused.signature(),
            f'    assert {written}, "written for {written}"',
            *fused.preparation([convolution.images, convolution.filters]),
            f"    {', '.join(_SIZES)} = {', '.join([channels, *sizes])}",
            f"    M, N = {batch} * CHANNELS, {' * '.join(f'({one})' for one in places)}",
            *fused.allocations(),
            *fused.launch(
                f"(triton.cdiv(M, {prefix}BLOCK_M) * triton.cdiv(N, {prefix}BLOCK_N),)",
                ["M", "N", *_SIZES, f"OUT_H={height}", f"OUT_W={places[-1]}"],
                [*(f"{name}={prefix}{name}" for name in _BLOCKS), f"num_warps={prefix}NUM_WARPS"],
                [images, filters],
            ),
        ]
