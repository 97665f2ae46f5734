"""Convolutions whose window is one place: products of the filters with the channels at every place of an image.

There is little to be multiplied for each number that is read, so images are read once, where they lie.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilesmith.playbook.graph.sums.convolutions import Convolution
from tilesmith.playbook.recipe import KernelParts
from tilesmith.playbook.recipes.convolutions.sources import MULTIPLY_PLACES, ROUND_TO_TF32
from tilesmith.playbook.recipes.convolutions.writing import list_windows
from tilesmith.playbook.recipes.products.sources import FIND_TILE
from tilesmith.playbook.recipes.products.tiles import BLOCKS
from tilesmith.playbook.recipes.products.writing import MASKS, TILE
from tilesmith.playbook.writing.fused_kernel import FusedKernel
from tilesmith.playbook.writing.kernel_body import write_on_one_tile

_PRECISIONS = {0: "ieee", 1: "tf32", 2: "bf16x6"}
"""By how many halves a float32 number would be: halves are not rounded, float32 numbers are rounded to TF32 as
PyTorch does it, and six products of bfloat16 are exact to float32."""
_STRIDES = ("stride_b", "stride_c", "stride_d", "stride_h", "stride_w")


def is_pointwise(convolution: Convolution) -> bool:
    places = (window.size == 1 and not window.before + window.after for window in convolution.windows)
    return all(places) and not convolution.is_transposed


@dataclass(frozen=True)
class PointwiseWriter:
    fused: FusedKernel
    convolution: Convolution
    halves: int

    def write(self, prefix: str) -> KernelParts:
        fused = self.fused
        return KernelParts(
            name=fused.name,
            pointers=("pixels_ptr", "filters_ptr", *fused.pointers),
            sizes=(
                *("M", "N", "CHANNELS"),
                *(f"{name}: tl.constexpr" for name in (*_STRIDES, "OUT_D", "OUT_H", "OUT_W")),
                *fused.index_sizes,
            ),
            scalars=tuple(number.name for number in fused.scalars),
            meta=tuple(f"{name}: tl.constexpr" for name in BLOCKS),
            body=tuple(self._body()),
            helpers=(FIND_TILE, ROUND_TO_TF32, MULTIPLY_PLACES),
            launcher=tuple(self._launcher(prefix)),
        )

    def _body(self) -> list[str]:
        name = next(one.name for one in self.fused.placer.values if one.step is self.convolution.step)
        return [
            "rows, cols = find_tile(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, GROUP)",
            f"{name} = multiply_places(",
            f"    pixels_ptr, filters_ptr, rows, cols, M, N, CHANNELS, {', '.join(_STRIDES)}, OUT_D, OUT_H, OUT_W,",
            f'    {list_windows(self.convolution, "stride")}, "{_PRECISIONS[self.halves]}", '
            "BLOCK_M, BLOCK_N, BLOCK_K,",
            ")",
            *MASKS,
            "rows, cols = rows[:, None], cols[None, :]",
            *write_on_one_tile(self.fused.placer, TILE, self.fused.outputs),
        ]

    def _launcher(self, prefix: str) -> list[str]:
        fused, convolution = self.fused, self.convolution
        images, filters = convolution.images.name, convolution.filters.name
        kernel = tuple(window.size for window in convolution.windows)
        written = f"{filters}.shape[2:] == {kernel}"
        sizes = [fused.product(dim) for dim in convolution.step.form.dims]
        places = ["1"] * (5 - len(sizes)) + sizes[2:]
        missing = ", ".join([":", ":", *["None"] * (5 - len(sizes))])
        pixels = images if len(sizes) == 5 else f"{images}[{missing}]"
        if all(window.stride == 1 for window in convolution.windows):  # places in a row, however many
            pixels, places = (
                f"{images}.flatten(2)[:, :, None, None]",
                ["1", "1", " * ".join(f"({one})" for one in sizes[2:])],
            )
        return [
            *fused.signature(),
            f'    assert {written}, "written for {written}"',
            *fused.preparation(),
            f"    pixels, filters = {pixels}, {filters}.flatten(1).contiguous()",
            f"    OUT_D, OUT_H, OUT_W = {', '.join(places)}",
            f"    M, N = {sizes[0]}, {sizes[1]} * OUT_D * OUT_H * OUT_W",
            *fused.allocations(),
            *fused.launch(
                f"(triton.cdiv(M, {prefix}BLOCK_M) * triton.cdiv(N, {prefix}BLOCK_N),)",
                ["M", "N", "filters.shape[1]", "*pixels.stride()"]
                + [f"{name}={name}" for name in ("OUT_D", "OUT_H", "OUT_W")],
                [
                    *(f"{name}={prefix}{name}" for name in BLOCKS),
                    f"num_warps={prefix}NUM_WARPS",
                    f"num_stages={prefix}NUM_STAGES",
                ],
                ["pixels", "filters"],
            ),
        ]
