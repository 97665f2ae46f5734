"""A convolution among others as text: the kernel's body and the function that launches it."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from tilesmith.playbook.graph.placement import PlacedValue
from tilesmith.playbook.graph.steps import LEAF, PRODUCT
from tilesmith.playbook.recipe import KernelParts
from tilesmith.playbook.recipes.convolutions import filter_sources, image_sources, sources
from tilesmith.playbook.recipes.convolutions.chains import joining_sources, pixel_sources
from tilesmith.playbook.recipes.convolutions.chains.link import IN, OUT, Link
from tilesmith.playbook.recipes.convolutions.chains.link_launcher import wrapped, write_launcher
from tilesmith.playbook.recipes.convolutions.writing import list_windows
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
        keeps_filters = link.keeps_filters or link.is_depthwise
        return [
            pixel_sources.FIND_IMAGE_TILE,
            *([images.CHOOSE_SCALES] if keeps or link.is_rescaled else []),
            *([images.ROOM_FOR_IMAGES] if keeps else []),
            *([images.MEASURE_IMAGES] if not link.takes_images else []),
            *([images.PAD_IMAGES] if not link.reads_halves else []),
            *([joining_sources.ENTER_IMAGES] if link.reads_halves and not link.takes_images else []),
            filter_sources.TURN_FILTERS if link.is_depthwise else filter_sources.MAKE_FILTERS,
            *([filter_sources.KEPT_FILTERS] if keeps_filters or link.measured or link.gives else []),
            *([filter_sources.MEASURE_FILTERS] if link.measured or link.gives else []),
            sources.FIND_PLACES,
            *self._reading_helpers(),
            *([images.LOAD_LARGEST] if link.joined else []),
            *([images.KEEP_LARGEST] if link.gives else []),
            *([LARGER] if link.pool and link.pool.kind == "max" else []),
            *([link.prologue.helper] if link.prologue else []),
        ]

    def _reading_helpers(self) -> list[str]:
        link, images = self.link, image_sources
        if link.is_depthwise:
            return [pixel_sources.SUM_PIXELS]
        return [
            pixel_sources.FIND_PIXELS if link.reads_halves else sources.LOAD_WINDOWS,
            *([pixel_sources.FIND_BORDERS] if link.reads_halves and link.has_border else []),
            *([pixel_sources.LOAD_UNSCALE] if link.shared else []),
            images.UNDO_SCALES,
        ]

    def _listed(self, *names: str) -> str:
        return list_windows(self.link.convolution, *names)

    def _body(self) -> list[str]:
        link = self.link
        tile = f"find_image_tile(M, {link.columns}, BLOCK_M, BLOCK_N, {'1' if link.is_depthwise else 'GROUP'})"
        windows = "columns" if link.pool is None else "windows"
        return [
            f"tile_m, tile_n = {tile}",
            "rows, columns = tile_m * BLOCK_M + tl.arange(0, BLOCK_M), tile_n * BLOCK_N + tl.arange(0, BLOCK_N)",
            f"{', '.join((windows, 'number', *_PLACE))} = find_places(",
            f"    columns, {link.windows}, {', '.join(OUT)}, {', '.join(map(str, link.window))}",
            ")",
            "cols = ((number.to(tl.int64) * OUT_D + place_d) * OUT_H + place_h) * OUT_W + place_w",
            *self._scales(),
            *self._begin(),
            "row = tl.minimum(rows, M - 1)  # beyond the last row, the last will do",
            *(self._summed() if link.is_depthwise else self._multiplied()),
            *self._epilogue(windows),
        ]

    @property
    def _product(self) -> str:
        link = self.link
        return next(one.name for one in link.fused.placer.values if one.step is link.convolution.step)

    def _multiplied(self) -> list[str]:
        product = self._product
        unscale = "tl.load(pixels_scale_ptr + number)"
        if self.link.is_rescaled:
            unscale = "pixels_unscale"
        return [
            "filters_offs = row[None, :] * PADDED + tl.arange(0, BLOCK_K)[:, None]",
            f"{product} = tl.zeros((BLOCK_N, BLOCK_M), tl.float32)",
            "for start in range(0, PADDED, BLOCK_K):  # rows of filters end in zeros",
            *(f"    {line}" for line in self._load()),
            "    filters = tl.load(filters_ptr + filters_offs + start)",
            f'    {product} = tl.dot(tl.trans(pixels), filters, {product}, input_precision="ieee")',
            *(self._pooled(product) if self.link.pools_first else ()),
            "filters_scale = tl.load(filters_scale_ptr + rows, mask=rows < M, other=0.0)[None, :]",
            f"{product} = undo_scales({product}, {unscale}[:, None], filters_scale)",
        ]

    def _summed(self) -> list[str]:
        """Every channel by itself."""
        unscale = "pixels_scale_ptr + number)[:, None]"
        if self.link.shared:
            unscale = "pixels_scale_ptr + row[None, :] * BATCH + number[:, None])"
        return [
            f"pixels_unscale = tl.load({unscale}",
            f"{self._product} = sum_pixels(",
            f"    pixels_ptr, filters_ptr, begin, {', '.join(_PLACE)}, rows, pixels_unscale,",
            f"    M, {', '.join(IN)}, IN_PITCH, {self._listed('size', 'dilation')}, BLOCK_M, BLOCK_N,",
            ")",
        ]

    def _scales(self) -> list[str]:
        """The scale of what is convolved, where that is chosen here; what undoes those that images come with."""
        link = self.link
        if not link.is_rescaled:
            return []
        return [
            f"pixels_largest = {link.largest(link.images, 'pixels', 'number')}",
            *_bound("pixels_reach", link.image_reach("pixels_largest")),
            "pixels_scale, pixels_unscale = choose_scales(pixels_reach)",
            *([] if link.shared else ["pixels_undone = tl.load(pixels_scale_ptr + number)[None, :]"]),
        ]

    def _begin(self) -> list[str]:
        """Where windows begin."""
        pairs = zip(_PLACE, self._listed("stride").split(", "), self._listed("before").split(", "), strict=True)
        borders = f"find_borders({', '.join(_PLACE)}, {', '.join(IN)}, {self._listed('size', 'dilation')})"
        has_bits = self.link.has_border and not self.link.is_depthwise
        if not self.link.reads_halves:
            d, h, w = (_moved(one, int(stride)) for one, stride, _ in pairs)
            return [f"begin = (((number.to(tl.int64) * IN_D + {d}) * IN_H + {h}) * IN_W + {w}) * CHANNELS"]
        moved = [_moved(one, int(stride), int(before)) for one, stride, before in pairs]
        return [
            f"{', '.join(_PLACE)} = {', '.join(moved)}",
            "begin = (((number.to(tl.int64) * IN_D + place_d) * IN_H + place_h) * IN_W + place_w) * IN_PITCH",
            *([f"borders = {borders}"] if has_bits else []),
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
            f"    begin, {'borders' if link.has_border else 'None'}, start, IN_H, IN_W, IN_PITCH, IN_C, CHANNELS,",
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

    def _epilogue(self, windows: str) -> list[str]:
        link, fused, output = self.link, self.link.fused, self.link.fused.outputs[0]
        result, of_channels = output.value.name, [one for one in fused.placer.values if _is_of_channels(one)]
        lines = [
            "rows, mask_m = rows.to(tl.int64), rows < M",
            *(f"{write_value(TILE, one, {})}[None, :]" for one in of_channels),
            "channels, rows, cols, mask_m = rows, rows[None, :], cols[:, None], mask_m[None, :]",
            f"mask_n = ({windows} < {link.windows})[:, None]",
            "mask = mask_m & mask_n",
        ]
        for value in fused.placer.values:
            name = value.step.name
            if value.step in link.takes:
                unscale = f"{name}_unscale_ptr + number)[:, None]"
                if value.step in link.joined:
                    unscale = f"{name}_unscale_ptr + rows * BATCH + number[:, None], mask=mask)"
                lines += [
                    f"{value.name} = tl.load({name}_ptr + cols * {name.upper()}_PITCH + rows, mask=mask)"
                    ".to(tl.float32)",
                    f"{value.name} *= tl.load({unscale}",
                ]
            elif value not in of_channels and value.step.op != PRODUCT:
                lines.append(write_value(TILE, value, {}))
        if link.pool and not link.pools_first:
            lines += [*self._pooled(result), "mask = mask_m & (windows < WINDOWS)[:, None]"]
        if link.gives:
            return [*lines, *self._kept(result, windows)]
        if not link.pool:
            return [*lines, write_store(TILE, output)]
        return [
            *lines,
            f"windows, PLACES = windows.to(tl.int64)[:, None], {link.places}",
            f"window_ptrs = {output.pointer} + (windows // PLACES * M + rows) * PLACES + windows % PLACES",
            f"tl.store(window_ptrs, {result}, mask=mask)",
        ]

    def _kept(self, result: str, windows: str) -> list[str]:
        """The result as halves, each image with a scale of its own, and what the next convolution needs."""
        link = self.link
        y, unscale, largest = (f"{one}_ptr" for one in link.results)
        reach = link.largest(link.images, "pixels", "image")
        if link.is_rescaled:
            reach = link.image_reach(reach)
        elif not link.reads_halves:
            reach = "8192.0 * tl.load(pixels_scale_ptr + image)"  # the largest number is scaled to less
        width = f"BLOCK_N // {link.pool.size}" if link.pool else "BLOCK_N"
        return [
            f"largest, PLACES = find_largest_numbers({result}, mask), {link.places}",
            f"scale, first = tl.full(largest.shape, 1.0, tl.float32), tile_n * ({width})",
            f"last = tl.minimum(first + {width}, {link.windows}) - 1",
            "for image in range(first // PLACES, last // PLACES + 1):",
            *(f"    {line}" for line in _bound("reach", reach)),
            "    reach *= tl.load(filters_sum_ptr)  # no number is further from zero",
            *(f"    {line}" for line in _bound("reach", link.reach)),
            "    chosen, undone = choose_scales(reach)",
            "    scale = tl.where(number == image, chosen, scale)",
            "    keep_largest(",
            f"        {unscale}, {largest}, largest, number, image, undone, image * PLACES >= first,",
            "        channels, M, BATCH,",
            "    )",
            f"y_ptrs = {y} + {windows}.to(tl.int64)[:, None] * PITCH + rows",
            f"tl.store(y_ptrs, ({result} * scale[:, None]).to(tl.float16), mask=mask)",
        ]

    def _pooled(self, result: str) -> list[str]:
        """A tile, and where it is, with a number for each window."""
        pool = self.link.pool
        assert pool is not None
        size, each = pool.size, 16 // pool.size
        parts = f"tl.reshape({result}, (BLOCK_N // 16, {size}, {each}, BLOCK_M))"
        value = f"tl.reduce({parts}, 1, larger)" if pool.kind == "max" else f"tl.sum({parts}, axis=1) / {size}"
        count = f"BLOCK_N // {size}"
        return [
            f"{result} = {value}",
            f"{result} = tl.reshape({result}, ({count}, BLOCK_M))",
            f"windows = tile_n * ({count}) + tl.arange(0, {count})",
            f"number = tl.minimum(windows, WINDOWS - 1) // ({self.link.places})",
        ]


def _is_of_channels(value: PlacedValue) -> bool:
    """Whether it is a tensor with a number for each channel. It is read before there is a tile: so small a load
    should not choose the layout in which the tile is computed."""
    is_known = value.step.op == LEAF and not value.operands
    return is_known and value.place.lead is not None and value.place.trail is None


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
