"""A convolution among others as text: the kernel's body and the function that launches it."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from tilesmith.playbook.graph.steps import PRODUCT
from tilesmith.playbook.recipe import KernelParts
from tilesmith.playbook.recipes.convolutions import filter_sources, image_sources, sources
from tilesmith.playbook.recipes.convolutions.chains import joining_sources, pixel_sources
from tilesmith.playbook.recipes.convolutions.chains.link import IN, OUT, Link
from tilesmith.playbook.recipes.convolutions.chains.link_launcher import wrapped, write_launcher
from tilesmith.playbook.recipes.convolutions.writing import list_windows
from tilesmith.playbook.recipes.products.sources import FIND_TILE
from tilesmith.playbook.recipes.products.writing import TILE
from tilesmith.playbook.writing.kernel_body import COMBINERS, write_store, write_value

_PLACE = ("place_d", "place_h", "place_w")
LARGER = "@triton.jit\ndef {}(a, b):\n    return {}".format(*COMBINERS["amax"])


@dataclass(frozen=True)
class ChainedWriter:
    link: Link

    def write(self, prefix: str) -> KernelParts:
        link, fused = self.link, self.link.fused
        return KernelParts(
            name=fused.name,
            pointers=tuple(
                f"{name}_ptr" for name in (*link.factors, *(one.name for one in link.loaded), *link.results)
            ),
            sizes=(*link.sizes, *(f"{name}: tl.constexpr" for name in link.constants), *fused.index_sizes),
            scalars=tuple(number.name for number in fused.scalars),
            meta=tuple(f"{name}: tl.constexpr" for name in link.blocks),
            body=tuple(self._body()),
            helpers=tuple(self._helpers()),
            launcher=tuple(write_launcher(link, prefix)),
        )

    def _helpers(self) -> list[str]:
        link, images = self.link, image_sources
        keeps = link.gives or (link.reads_halves and not link.takes_images)
        return [
            *([] if link.is_depthwise else [FIND_TILE]),
            *([images.CHOOSE_SCALES] if keeps or link.is_rescaled else []),
            *([images.ROOM_FOR_IMAGES] if keeps else []),
            *([images.MEASURE_IMAGES] if not link.takes_images else []),
            *([images.PAD_IMAGES] if not link.reads_halves else []),
            *([joining_sources.ENTER_IMAGES] if link.reads_halves and not link.takes_images else []),
            *([] if link.is_depthwise else [filter_sources.MAKE_FILTERS]),
            *([filter_sources.KEPT_FILTERS] if link.keeps_filters or link.measured or link.gives else []),
            *([filter_sources.MEASURE_FILTERS] if link.measured or link.gives else []),
            sources.FIND_PLACES,
            *self._reading_helpers(),
            *([images.KEEP_IMAGES] if link.gives else []),
            *([LARGER] if link.pool and link.pool.kind == "max" else []),
            *([link.prologue.helper] if link.prologue else []),
        ]

    def _reading_helpers(self) -> list[str]:
        link, images = self.link, image_sources
        if link.is_depthwise:
            return [pixel_sources.SUM_PIXELS]
        return [
            pixel_sources.FIND_PIXELS if link.reads_halves else sources.LOAD_WINDOWS,
            *([pixel_sources.LOAD_UNSCALE] if link.shared else []),
            images.UNDO_CHOSEN_SCALES if link.is_rescaled else images.UNDO_SCALES,
        ]

    def _listed(self, *names: str) -> str:
        return list_windows(self.link.convolution, *names)

    def _body(self) -> list[str]:
        link = self.link
        tile = [f"rows, columns = find_tile(tl.program_id(0), M, {link.columns}, BLOCK_M, BLOCK_N, GROUP)"]
        if link.is_depthwise:
            tile = [
                "blocks = tl.cdiv(M, BLOCK_M)",
                "rows = tl.program_id(0) % blocks * BLOCK_M + tl.arange(0, BLOCK_M)",
                "columns = (tl.program_id(0) // blocks).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)",
            ]
        return [
            *tile,
            f"{', '.join(('number', *_PLACE))} = find_places(",
            f"    columns, {link.columns}, {', '.join(OUT)}, {', '.join(map(str, link.window))}",
            ")",
            "cols = ((number.to(tl.int64) * OUT_D + place_d) * OUT_H + place_h) * OUT_W + place_w",
            *self._scales(),
            *self._begin(),
            "row = tl.minimum(rows, M - 1)  # beyond the last row, the last will do",
            *(self._summed() if link.is_depthwise else self._multiplied()),
            f"mask_m, mask_n = (rows < M)[:, None], (columns < {link.columns})[None, :]",
            "mask = mask_m & mask_n",
            "rows, cols = rows[:, None], cols[None, :]",
            *self._epilogue(),
        ]

    @property
    def _product(self) -> str:
        link = self.link
        return next(one.name for one in link.fused.placer.values if one.step is link.convolution.step)

    def _multiplied(self) -> list[str]:
        product = self._product
        undone = f"undo_scales({product}, pixels_scale_ptr, filters_scale_ptr, number, row)"
        if self.link.is_rescaled:
            undone = f"undo_chosen_scales({product}, pixels_unscale, filters_scale_ptr, row)"
        return [
            "filters_offs = row[:, None] * PADDED + tl.arange(0, BLOCK_K)[None, :]",
            f"{product} = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)",
            "tl.assume(PADDED % BLOCK_K == 0)  # rows of filters end in zeros",
            "for start in range(0, PADDED, BLOCK_K):",
            *(f"    {line}" for line in self._load()),
            "    filters = tl.load(filters_ptr + filters_offs + start)",
            f'    {product} = tl.dot(filters, pixels, {product}, input_precision="ieee")  # exact: of halves',
            f"{product} = {undone}",
        ]

    def _summed(self) -> list[str]:
        """Every channel by itself."""
        unscale = "pixels_scale_ptr + number)[None, :]"
        if self.link.shared:
            unscale = "pixels_scale_ptr + row[:, None] * BATCH + number[None, :])"
        return [
            f"pixels_unscale = tl.load({unscale}",
            f"{self._product} = sum_pixels(",
            f"    pixels_ptr, filters_ptr, begin, {', '.join(_PLACE)}, row, pixels_unscale,",
            f"    {', '.join(IN)}, IN_PITCH, {self._listed('size', 'dilation')}, BLOCK_M, BLOCK_N,",
            ")",
        ]

    def _scales(self) -> list[str]:
        """The scale of what is convolved, where that is chosen here; what undoes those that images come with."""
        link = self.link
        if not link.is_rescaled:
            return []
        return [
            "pixels_largest = tl.load(pixels_largest_ptr + number)",
            *_bound("pixels_reach", link.image_reach),
            "pixels_scale, pixels_unscale = choose_scales(pixels_reach)",
            *([] if link.shared else ["pixels_undone = tl.load(pixels_scale_ptr + number)[None, :]"]),
        ]

    def _begin(self) -> list[str]:
        """Where windows begin."""
        pairs = zip(_PLACE, self._listed("stride").split(", "), self._listed("before").split(", "), strict=True)
        if not self.link.reads_halves:
            d, h, w = (_moved(one, int(stride)) for one, stride, _ in pairs)
            return [f"begin = (((number.to(tl.int64) * IN_D + {d}) * IN_H + {h}) * IN_W + {w}) * CHANNELS"]
        moved = [_moved(one, int(stride), int(before)) for one, stride, before in pairs]
        return [
            f"{', '.join(_PLACE)} = {', '.join(moved)}",
            "begin = (((number.to(tl.int64) * IN_D + place_d) * IN_H + place_h) * IN_W + place_w) * IN_PITCH",
        ]

    def _load(self) -> list[str]:
        link, windows = self.link, f"{self._listed('size', 'dilation')}, BLOCK_K"
        if not link.reads_halves:
            return [
                "pixels = load_windows(",
                f"    pixels_ptr, begin, start, IN_H, IN_W, CHANNELS, {windows},",
                ")",
            ]
        lines = [
            "offs, inside, pixels_channel = find_pixels(",
            f"    begin, {', '.join(_PLACE)}, start, {', '.join(IN)}, IN_PITCH, IN_C, CHANNELS,",
            f"    {windows},",
            ")",
            "pixels = tl.load(pixels_ptr + offs, mask=inside, other=0.0)",
        ]
        if not link.is_rescaled:
            return lines
        if link.shared:
            lines += [
                "pixels_undone = load_unscale(",
                "    pixels_scale_ptr, start, pixels_channel, number, BATCH, IN_C, CHANNELS, SHARED, BLOCK_K",
                ")",
            ]
        if link.prologue is None:
            return [
                *lines,
                "pixels = (pixels.to(tl.float32) * pixels_undone * pixels_scale[None, :]).to(tl.float16)",
            ]
        return [
            *lines,
            "pixels = pixels.to(tl.float32) * pixels_undone",
            f"pixels = {link.prologue.name}(",
            *wrapped(", ".join(["pixels", *link.prologue.others, "pixels_channel", "IN_C"]), 4),
            ")",
            "pixels = tl.where(inside, pixels * pixels_scale[None, :], 0.0)  # zeros are beyond borders",
            "pixels = pixels.to(tl.float16)",
        ]

    def _epilogue(self) -> list[str]:
        link, fused, output, lines = self.link, self.link.fused, self.link.fused.outputs[0], []
        for value in fused.placer.values:
            name = value.step.name
            if value.step in link.takes:
                unscale = f"{name}_unscale_ptr + number)[None, :]"
                if value.step in link.joined:
                    unscale = f"{name}_unscale_ptr + rows * BATCH + number[None, :], mask=mask)"
                lines += [
                    f"{value.name} = tl.load({name}_ptr + cols * {name.upper()}_PITCH + rows, mask=mask)"
                    ".to(tl.float32)",
                    f"{value.name} *= tl.load({unscale}",
                ]
            elif value.step.op != PRODUCT:
                lines.append(write_value(TILE, value, {}))
        result, columns, count = output.value.name, "columns", "N"
        if link.gives:
            largest = "pixels_reach" if link.is_rescaled else "tl.load(pixels_largest_ptr + number)"
            if not link.reads_halves:
                largest = "8192.0 * tl.load(pixels_scale_ptr + number)"  # the largest number is scaled to less
            lines.append(f"reach = {largest} * tl.load(filters_sum_ptr)  # no number is further from zero")
            lines += _bound("reach", link.reach)
        if link.pool:
            lines += self._pooled(result)
            columns, count = "windows", f"COLUMNS // {link.pool.size}"
        places = link.places
        if link.gives:
            pointers = ", ".join(f"{one}_ptr" for one in link.results)
            return [
                *lines,
                "rows = tl.reshape(rows, (BLOCK_M,))",
                "keep_images(",
                f"    {pointers}, {result}, reach, rows, {columns}, number, M, {count}, {places},",
                "    PITCH, BATCH,",
                ")",
            ]
        if not link.pool:
            return [*lines, write_store(TILE, output)]
        return [
            *lines,
            f"windows, PLACES = windows[None, :], {places}",
            f"window_ptrs = {output.pointer} + (windows // PLACES * M + rows) * PLACES + windows % PLACES",
            f"tl.store(window_ptrs, {result}, mask=mask_m & (windows < {count}))",
        ]

    def _pooled(self, result: str) -> list[str]:
        """The tile, its columns and their images with a number for each window."""
        pool = self.link.pool
        assert pool is not None
        size = pool.size
        parts = f"tl.reshape({result}, (BLOCK_M, BLOCK_N // {size}, {size}))"
        value = f"tl.reduce({parts}, 2, larger)" if pool.kind == "max" else f"tl.sum({parts}, axis=2) / {size}"
        names = {
            "windows": f"columns // {size}",
            "number": "number",
            **({"reach": "reach"} if self.link.gives else {}),
        }
        return [
            f"{result} = {value}",
            *(
                f"{name} = tl.max(tl.reshape({given}, (BLOCK_N // {size}, {size})), axis=1)"
                for name, given in names.items()
            ),
        ]


def _moved(place: str, stride: int, before: int = 0) -> str:
    """Where the window of a place begins."""
    times = place if stride == 1 else f"{place} * {stride}"
    return f"{times} - {before}" if before else times


def _bound(name: str, text: str) -> list[str]:
    """A line, or some, that set a bound."""
    if text == name:
        return []
    if len(text) < 80:
        return [f"{name} = {text}"]
    return [
        f"{name} = (",
        *(f"    {line}" for line in textwrap.wrap(text, 96, break_long_words=False, break_on_hyphens=False)),
        ")",
    ]
