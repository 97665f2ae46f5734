"""Convolutions with little to be multiplied for each number that is read: images are read where they lie.

Such are windows of one place, few channels (those of colors), and small groups. Of these, several are side by side
in one tile, whose filters are zero where a row and a channel are of different groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilesmith.playbook.graph.sums.convolutions import Convolution
from tilesmith.playbook.recipes.convolutions.direct_sources import ADD_PLACES, MULTIPLY_PLACES, ROUND_TO_TF32
from tilesmith.playbook.recipes.convolutions.writing import ConvolutionText, check_filters, list_windows
from tilesmith.playbook.recipes.products.sources import FIND_TILE
from tilesmith.playbook.recipes.products.tiles import BLOCKS
from tilesmith.playbook.recipes.products.writing import MASKS
from tilesmith.playbook.writing.fused_kernel import FusedKernel

_PRECISIONS = {0: "ieee", 1: "tf32", 2: "bf16x6"}
"""By how many halves a float32 number would be: halves are not rounded, float32 numbers are rounded to TF32 as
PyTorch does it, and six products of bfloat16 are exact to float32."""
_IN, _OUT = ("IN_D", "IN_H", "IN_W"), ("OUT_D", "OUT_H", "OUT_W")
_STRIDES = ("stride_b", "stride_c", "stride_d", "stride_h", "stride_w")


def is_pointwise(convolution: Convolution) -> bool:
    places = (window.size == 1 and not window.before + window.after for window in convolution.windows)
    return all(places) and not convolution.is_transposed


@dataclass(frozen=True)
class DirectWriter:
    fused: FusedKernel
    convolution: Convolution
    halves: int

    @property
    def _has_groups(self) -> bool:
        return self.convolution.groups > 1

    @property
    def _is_flat(self) -> bool:
        """Whether places are in a row, however many dimensions an image has."""
        return is_pointwise(self.convolution) and all(window.stride == 1 for window in self.convolution.windows)

    def _opening(self) -> list[str]:
        name = next(one.name for one in self.fused.placer.values if one.step is self.convolution.step)
        whole = replace(self.convolution, windows=()) if self._is_flat else self.convolution
        windows = list_windows(whole, "size", "stride", "dilation", "before", "has_border")
        tile = ["rows, cols = find_tile(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, GROUP)"]
        group, packed, rows = "tl.program_id(1).to(tl.int64)", "1", "rows"
        if self._has_groups:
            tile.append(f"group = {group}")
            group, packed, rows = "group", "PACKED", "(group * M + rows)"
        return [
            *tile,
            f"{name} = multiply_places(",
            f"    pixels_ptr, filters_ptr, rows, cols, {group}, M, N, CHANNELS, {', '.join(_IN)},",
            f"    {', '.join((*_STRIDES, *_OUT))},",
            f"    {windows},",
            f'    {packed}, "{_PRECISIONS[self.halves]}", BLOCK_M, BLOCK_N, BLOCK_K,',
            ")",
            *MASKS,
            f"rows, cols = {rows}[:, None], cols[None, :]",
        ]

    def write(self, prefix: str) -> ConvolutionText:
        fused, convolution, groups = self.fused, self.convolution, self.convolution.groups
        images, filters = convolution.images.name, convolution.filters.name
        sizes = [fused.product(dim) for dim in convolution.step.form.dims]
        places = ["1"] * (5 - len(sizes)) + sizes[2:]
        missing = ", ".join([":", ":", *["None"] * (5 - len(sizes))])
        pixels = images if len(sizes) == 5 else f"{images}[{missing}]"
        if self._is_flat:
            pixels = f"{images}.flatten(2)[:, :, None, None]"
            places = ["1", "1", " * ".join(f"({one})" for one in sizes[2:])]
        rows, packed = [f"    M = {sizes[0]}"], []
        if self._has_groups:
            most = f"{prefix}BLOCK_M * {groups} // filters.shape[0]"
            packed = ["PACKED=PACKED"]
            rows = [
                f"    PACKED = max(n for n in range(1, {groups + 1}) if {groups} % n == 0 and n <= max(1, {most}))",
                f"    M = filters.shape[0] * PACKED // {groups}  # several groups may be side by side in a tile",
            ]
        return ConvolutionText(
            opening=tuple(self._opening()),
            pointers=("pixels_ptr", "filters_ptr"),
            sizes=("M", "N", "CHANNELS", *_IN, *(f"{name}: tl.constexpr" for name in (*_STRIDES, *_OUT))),
            meta=tuple(f"{name}: tl.constexpr" for name in (*(["PACKED"] if packed else []), *BLOCKS)),
            helpers=(FIND_TILE, ROUND_TO_TF32, ADD_PLACES, MULTIPLY_PLACES),
            head=(
                *check_filters(convolution),
                *fused.preparation(),
                f"    pixels, filters = {pixels}, {filters}.flatten(1).contiguous()",
                f"    OUT_D, OUT_H, OUT_W = {', '.join(places)}",
                *rows,
                f"    N = {sizes[1]} * OUT_D * OUT_H * OUT_W",
                '    assert N < 2**31, "written for fewer than 2**31 places"',
            ),
            grid=f"(triton.cdiv(M, {prefix}BLOCK_M) * triton.cdiv(N, {prefix}BLOCK_N), filters.shape[0] // M)",
            factors=("pixels", "filters"),
            given=(
                *("M", "N", f"{filters}.shape[1]", "*pixels.shape[2:]", "*pixels.stride()"),
                *(f"{name}={name}" for name in _OUT),
            ),
            constants=(
                *packed,
                *(f"{name}={prefix}{name}" for name in BLOCKS),
                f"num_warps={prefix}NUM_WARPS",
                f"num_stages={prefix}NUM_STAGES",
            ),
        )
