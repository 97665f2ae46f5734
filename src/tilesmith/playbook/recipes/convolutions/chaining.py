"""A convolution among others as text: images come, and go on, as halves that lie channels-last; pools end it.

What passes from one convolution to the next is a tuple: the halves, what undoes the scale of each image, and the
largest number of each image. The scale of a result must be chosen before it is known: no number is larger than the
largest of the image times the sum of a filter's numbers, with what the operators behind it make of that. Such a
bound is a few hundred times too large at most, and a half has digits enough for that. It is never carried further:
the next one starts from the largest number that was found.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from tilesmith.playbook.graph.steps import LEAF, PRODUCT, KernelStep
from tilesmith.playbook.graph.sums.convolutions import Convolution
from tilesmith.playbook.recipe import KernelParts
from tilesmith.playbook.recipes.convolutions import filter_sources, image_sources, sources
from tilesmith.playbook.recipes.convolutions.pooling import Pool
from tilesmith.playbook.recipes.convolutions.reach import Reach
from tilesmith.playbook.recipes.convolutions.writing import list_windows
from tilesmith.playbook.recipes.products.sources import FIND_TILE
from tilesmith.playbook.recipes.products.tiles import BLOCKS
from tilesmith.playbook.recipes.products.writing import TILE
from tilesmith.playbook.writing.fused_kernel import FusedKernel
from tilesmith.playbook.writing.kernel_body import COMBINERS, write_store, write_value

_IN, _OUT = ("IN_D", "IN_H", "IN_W"), ("OUT_D", "OUT_H", "OUT_W")
_PLACE = ("place_d", "place_h", "place_w")
LARGER = "@triton.jit\ndef {}(a, b):\n    return {}".format(*COMBINERS["amax"])


@dataclass(frozen=True)
class ChainedWriter:
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

    @property
    def _takes_images(self) -> bool:
        return self.convolution.images in self.takes

    @property
    def _skips(self) -> list[KernelStep]:
        """Images that are added to the result."""
        return [one for one in self.fused.loaded if one in self.takes]

    @cached_property
    def _reach(self) -> tuple[str, dict[str, str]]:
        """How large a number may get, and what of parameters that takes."""
        fused = self.fused
        owned = [fused.low.step(one.name).name for one in fused.graph.parameters]
        reach = Reach(owned, [one.name for one in self._skips])
        return reach.of(fused.outputs[0].value), reach.measured

    @property
    def _factors(self) -> list[str]:
        """Tensors that the kernel takes before those that its tile reads."""
        found = ["pixels", "filters", "pixels_scale", "filters_scale"]
        if self.gives:
            found += [*(["pixels_largest"] if self._takes_images else []), "filters_sum", *self._reach[1]]
        for one in self._skips:
            found += [f"{one.name}_unscale", *([f"{one.name}_largest"] if self.gives else [])]
        return found

    @property
    def _results(self) -> list[str]:
        name = self.fused.outputs[0].name
        return [name, f"{name}_unscale", f"{name}_largest"] if self.gives else [name]

    @property
    def _columns(self) -> str:
        """How many columns all tiles have."""
        return "COLUMNS" if self.pool else "N"

    @property
    def _window(self) -> tuple[int, ...]:
        """Of the pool, along all three dimensions."""
        window = self.pool.window if self.pool else (1,) * len(self.convolution.windows)
        return (1,) * (3 - len(window)) + window

    @property
    def _places(self) -> str:
        """How many the result has in an image."""
        pairs = zip(_OUT, self._window, strict=True)
        return " * ".join(one if by == 1 else f"({one} // {by})" for one, by in pairs)

    def write(self, prefix: str) -> KernelParts:
        fused = self.fused
        loaded = [f"{step.name}_ptr" for step in fused.loaded]
        constants = (*_OUT, "CHANNELS", *(["IN_C"] if self._takes_images else []))
        return KernelParts(
            name=fused.name,
            pointers=(
                *(f"{name}_ptr" for name in self._factors),
                *loaded,
                *(f"{one}_ptr" for one in self._results),
            ),
            sizes=(
                *("M", "N", *(["COLUMNS"] if self.pool else []), "PADDED", *_IN),
                *(f"{name}: tl.constexpr" for name in constants),
                *fused.index_sizes,
            ),
            scalars=tuple(number.name for number in fused.scalars),
            meta=tuple(f"{name}: tl.constexpr" for name in BLOCKS),
            body=tuple(self._body()),
            helpers=tuple(self._helpers()),
            launcher=tuple(self._launcher(prefix)),
        )

    def _helpers(self) -> list[str]:
        return [
            FIND_TILE,
            *([] if self._takes_images else [image_sources.PAD_IMAGES]),
            filter_sources.MAKE_FILTERS,
            *([filter_sources.KEPT_FILTERS] if self.keeps_filters or self.gives else []),
            *([filter_sources.MEASURE_FILTERS] if self.gives else []),
            sources.FIND_PLACES,
            sources.LOAD_PLACES if self._takes_images else sources.LOAD_WINDOWS,
            image_sources.UNDO_SCALES,
            *([image_sources.CHOOSE_SCALES, image_sources.KEEP_IMAGES] if self.gives else []),
            *([LARGER] if self.pool and self.pool.kind == "max" else []),
        ]

    def _listed(self, *names: str) -> str:
        return list_windows(self.convolution, *names)

    def _body(self) -> list[str]:
        product = next(one.name for one in self.fused.placer.values if one.step is self.convolution.step)
        return [
            f"rows, columns = find_tile(tl.program_id(0), M, {self._columns}, BLOCK_M, BLOCK_N, GROUP)",
            f"{', '.join(('number', *_PLACE))} = find_places(",
            f"    columns, {self._columns}, {', '.join(_OUT)}, {', '.join(map(str, self._window))}",
            ")",
            "cols = ((number.to(tl.int64) * OUT_D + place_d) * OUT_H + place_h) * OUT_W + place_w",
            *self._begin(),
            "row = tl.minimum(rows, M - 1)  # beyond the last row, the last will do",
            "filters_offs = row[:, None] * PADDED + tl.arange(0, BLOCK_K)[None, :]",
            f"{product} = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)",
            "tl.assume(PADDED % BLOCK_K == 0)  # rows of filters end in zeros",
            "for start in range(0, PADDED, BLOCK_K):",
            *(f"    {line}" for line in self._load()),
            "    filters = tl.load(filters_ptr + filters_offs + start)",
            f'    {product} = tl.dot(filters, pixels, {product}, input_precision="ieee")  # exact: of halves',
            f"{product} = undo_scales({product}, pixels_scale_ptr, filters_scale_ptr, number, row)",
            f"mask_m, mask_n = (rows < M)[:, None], (columns < {self._columns})[None, :]",
            "mask = mask_m & mask_n",
            "rows, cols = rows[:, None], cols[None, :]",
            *self._epilogue(),
        ]

    def _begin(self) -> list[str]:
        """Where windows begin."""
        pairs = zip(_PLACE, self._listed("stride").split(", "), self._listed("before").split(", "), strict=True)
        if not self._takes_images:
            d, h, w = (_moved(one, int(stride)) for one, stride, _ in pairs)
            return [f"begin = (((number.to(tl.int64) * IN_D + {d}) * IN_H + {h}) * IN_W + {w}) * CHANNELS"]
        moved = [_moved(one, int(stride), int(before)) for one, stride, before in pairs]
        return [
            f"{', '.join(_PLACE)} = {', '.join(moved)}",
            "begin = (((number.to(tl.int64) * IN_D + place_d) * IN_H + place_h) * IN_W + place_w) * IN_C",
        ]

    def _load(self) -> list[str]:
        windows = f"{self._listed('size', 'dilation')}, BLOCK_K"
        if self._takes_images:
            places = f"begin, {', '.join(_PLACE)}, start, IN_D, IN_H, IN_W, IN_C, CHANNELS"
            return ["pixels = load_places(", f"    pixels_ptr, {places},", f"    {windows},", ")"]
        return [
            "pixels = load_windows(",
            f"    pixels_ptr, begin, start, IN_H, IN_W, CHANNELS, {windows},",
            ")",
        ]

    def _epilogue(self) -> list[str]:
        fused, output, lines = self.fused, self.fused.outputs[0], []
        for value in fused.placer.values:
            name = value.step.name
            if value.step in self.takes:
                lines += [
                    f"{value.name} = tl.load({name}_ptr + cols * M + rows, mask=mask).to(tl.float32)",
                    f"{value.name} *= tl.load({name}_unscale_ptr + number)[None, :]",
                ]
            elif value.step.op != PRODUCT:
                lines.append(write_value(TILE, value, {}))
        result, columns, count = output.value.name, "columns", "N"
        if self.gives:
            largest = "tl.load(pixels_largest_ptr + number)"
            if not self._takes_images:
                largest = "8192.0 * tl.load(pixels_scale_ptr + number)"  # the largest number is scaled to less
            lines.append(f"reach = {largest} * tl.load(filters_sum_ptr)  # no number is further from zero")
            bound = textwrap.wrap(self._reach[0], 96, break_long_words=False, break_on_hyphens=False)
            lines += ["reach = (", *(f"    {line}" for line in bound), ")"] if self._reach[0] != "reach" else []
        if self.pool:
            lines += self._pooled(result)
            columns, count = "windows", f"COLUMNS // {self.pool.size}"
        places = self._places
        if self.gives:
            pointers = ", ".join(f"{one}_ptr" for one in self._results)
            return [
                *lines,
                "rows = tl.reshape(rows, (BLOCK_M,))",
                "keep_images(",
                f"    {pointers}, {result}, reach, rows, {columns}, number, M, {count}, {places}",
                ")",
            ]
        if not self.pool:
            return [*lines, write_store(TILE, output)]
        return [
            *lines,
            f"windows, PLACES = windows[None, :], {places}",
            f"window_ptrs = {output.pointer} + (windows // PLACES * M + rows) * PLACES + windows % PLACES",
            f"tl.store(window_ptrs, {result}, mask=mask_m & (windows < {count}))",
        ]

    def _pooled(self, result: str) -> list[str]:
        """The tile, its columns and their images with a number for each window."""
        assert self.pool is not None
        size = self.pool.size
        parts = f"tl.reshape({result}, (BLOCK_M, BLOCK_N // {size}, {size}))"
        value = f"tl.reduce({parts}, 2, larger)" if self.pool.kind == "max" else f"tl.sum({parts}, axis=2) / {size}"
        names = {"windows": f"columns // {size}", "number": "number", **({"reach": "reach"} if self.gives else {})}
        return [
            f"{result} = {value}",
            *(
                f"{name} = tl.max(tl.reshape({given}, (BLOCK_N // {size}, {size})), axis=1)"
                for name, given in names.items()
            ),
        ]

    def _launcher(self, prefix: str) -> list[str]:
        fused, images, filters = self.fused, self.convolution.images.name, self.convolution.filters.name
        rank = len(self.convolution.windows)
        written = f"{filters}.shape[2:] == {tuple(window.size for window in self.convolution.windows)}"
        made = f"make_filters, {filters}, CHANNELS, {prefix}BLOCK_K, 1"
        made = f"kept_filters({made})" if self.keeps_filters else made.replace(", ", "(", 1) + ")"
        sizes = [fused.product(dim) for dim in self.convolution.step.form.dims]
        places = ["1"] * (3 - rank) + sizes[2:]
        lines = [*self._signature(), f'    assert {written}, "written for {written}"']
        lines += fused.preparation(left={one.name for one in self.takes})
        lines.append(f"    CHANNELS = triton.cdiv({images}.shape[1], {self.unit}) * {self.unit}")
        if self._takes_images:
            lines += [
                f"    pixels, pixels_scale, pixels_largest = {images}, {images}_unscale, {images}_largest",
                f"    inside = [{'1, ' * (3 - rank)}*{images}.shape[2:]]",
            ]
        else:
            lines += [
                f"    before, after = ({self._listed('before')}), ({self._listed('after')})",
                f"    pixels, _, pixels_scale = pad_images({images}, before, after, CHANNELS, 1)",
            ]
        return [
            *lines,
            f"    filters, _, filters_scale = {made}",
            *self._measures(),
            f"    OUT_D, OUT_H, OUT_W = {', '.join(places)}",
            f"    M, BATCH = {sizes[0]}, {sizes[1]}",
            "    N = BATCH * OUT_D * OUT_H * OUT_W",
            '    assert N < 2**31, "written for fewer than 2**31 places"',
            *self._allocations(rank),
            *self._launch(prefix),
        ]

    def _signature(self) -> list[str]:
        fused, several = self.fused, "tuple[torch.Tensor, ...]"
        given = [f"{one.name}: {several if one in self.takes else 'torch.Tensor'}" for one in fused.leaves]
        given += [f"{number.name}: float" for number in fused.scalars]
        lines = [
            f"def {fused.name}(",
            f"    {', '.join(given)}",
            f") -> {several if self.gives else 'torch.Tensor'}:",
        ]
        for one in self.takes:
            lines.append(f"    {one.name}, {one.name}_unscale, {one.name}_largest = {one.name}")
        return lines

    def _measures(self) -> list[str]:
        if not self.gives:
            return []
        filters = self.convolution.filters.name
        wanted = {"filters_sum": f"add_filters, {filters}"} | self._reach[1]
        return [f"    {name} = kept_filters({how})" for name, how in wanted.items()]

    def _allocations(self, rank: int) -> list[str]:
        name = self.fused.outputs[0].name
        sizes = _OUT[3 - rank :]
        lines = []
        if self.pool:
            sizes = tuple(f"{one} // {by}" for one, by in zip(sizes, self.pool.window, strict=True))
            lines.append(f"    COLUMNS = {self.pool.size} * BATCH * {self._places}")
        if not self.gives:
            shape = ", ".join(("BATCH", "M", *sizes))
            return [*lines, f"    {name} = torch.empty(({shape}), dtype=torch.float32, device=filters.device)"]
        shape = ", ".join(("BATCH", *sizes, "M"))
        return [
            *lines,
            f"    {name} = torch.empty(({shape}), dtype=torch.float16, device=filters.device).movedim(-1, 1)",
            f"    {name}_unscale, {name}_largest = filters_scale.new_zeros((2, BATCH))",
        ]

    def _launch(self, prefix: str) -> list[str]:
        sides = f"triton.cdiv(M, {prefix}BLOCK_M)", f"triton.cdiv({self._columns}, {prefix}BLOCK_N)"
        constants = [*_OUT, "CHANNELS"]
        inside = "*inside" if self._takes_images else "*pixels.shape[1:4]"
        return [
            f"    tiles = {' * '.join(sides)}",
            *self.fused.call(
                f"{self.fused.name}_kernel[(tiles,)]",
                [*self._factors, *(step.name for step in self.fused.loaded)],
                self._results,
                [
                    *("M", "N", *(["COLUMNS"] if self.pool else []), "filters.shape[1]", inside),
                    *(f"{name}={name}" for name in constants),
                    *([f"IN_C={self.convolution.images.name}.shape[1]"] if self._takes_images else []),
                ],
                [
                    *(f"{name}={prefix}{name}" for name in BLOCKS),
                    f"num_warps={prefix}NUM_WARPS",
                    f"num_stages={prefix}NUM_STAGES",
                ],
            ),
            f"    return {', '.join(self._results)}",
        ]


def _moved(place: str, stride: int, before: int = 0) -> str:
    """Where the window of a place begins."""
    times = place if stride == 1 else f"{place} * {stride}"
    return f"{times} - {before}" if before else times


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
