"""Convolutions of every channel by itself, with all pointwise work behind them in one kernel.

There is no product of matrices in them: a window has few numbers, and memory is what they wait for. A program has
some places of some channels, and reads all places of its windows where they lie; neighbors find them on chip.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

from tilesmith.playbook.graph.sums.convolutions import Convolution
from tilesmith.playbook.recipe import KernelParts, Region, RegionText, Tuning
from tilesmith.playbook.recipes.convolutions.sources import SUM_WINDOWS
from tilesmith.playbook.recipes.convolutions.writing import fuse_convolution, list_windows
from tilesmith.playbook.recipes.products.writing import MASKS, TILE
from tilesmith.playbook.writing.fused_kernel import FusedKernel
from tilesmith.playbook.writing.kernel_body import write_on_one_tile

_LEAST_NUMBERS = 1 << 20
"""Fewer are convolved before a second kernel could start."""
_TILES = ((1024, 8), (512, 4), (1024, 4), (2048, 8), (512, 2), (256, 4))
"""Numbers of a tile, and warps."""
_BLOCKS = ("BLOCK_M", "BLOCK_N")
_SIZES = ("CHANNELS", "IN_D", "IN_H", "IN_W")


@dataclass(frozen=True)
class DepthwiseMatch:
    region: Region
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

    def why_not(self) -> str:
        """What the library does as well; empty where a kernel gains."""
        numbers = prod(self._convolution.step.form.shape)
        return f"{numbers} numbers, which the library does as well" if numbers < _LEAST_NUMBERS else ""

    @cached_property
    def tunings(self) -> tuple[Tuning, ...]:
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
            "Every channel is convolved by itself, in float32; what follows is computed before anything is stored."
        )

    def write(self, tuning: Tuning, prefix: str = "") -> RegionText:
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
