"""A convolution with what follows it as text: the kernel's body and the function that launches it."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tilesmith.playbook.graph.lowering import Lowering
from tilesmith.playbook.graph.operators import CONVOLUTIONS
from tilesmith.playbook.graph.placement import Placer, TilePosition
from tilesmith.playbook.graph.steps import REDUCTIONS, SCANS
from tilesmith.playbook.graph.sums.convolutions import Convolution, Window
from tilesmith.playbook.recipe import KernelParts, Region
from tilesmith.playbook.recipes.convolutions import filter_sources, image_sources, sources
from tilesmith.playbook.recipes.convolutions.chains.prologue import find_prologue, find_source
from tilesmith.playbook.recipes.products.sources import FIND_TILE
from tilesmith.playbook.recipes.products.tiles import BLOCKS, HALF_TYPES
from tilesmith.playbook.recipes.products.writing import MASKS, TILE
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.fused_kernel import FusedKernel, fuse
from tilesmith.playbook.writing.kernel_body import write_on_one_tile

_IN, _OUT = ("IN_D", "IN_H", "IN_W"), ("OUT_D", "OUT_H", "OUT_W")
_POINTERS = {
    0: ("pixels", "filters"),
    1: ("pixels", "filters", "pixels_scale", "filters_scale"),
    2: ("pixels", "pixels_low", "filters", "filters_low", "pixels_scale", "filters_scale"),
}
"""What the kernel is given, by the number of halves that a float32 number is; 0: numbers are halves already."""


def fuse_convolution(region: Region, ending: str = "", channels_first: bool = False) -> FusedKernel:
    """The one convolution of a region with what follows it. Rows are channels, those of every image where they are
    convolved by themselves and not wanted first; columns are places, else those of all images."""
    low = Lowering(region.graph, CONVOLUTIONS, channels_first)
    (convolution,) = low.convolutions
    if convolution.images.dtype not in ("float32", *HALF_TYPES) or convolution.step.form.shape[0] == 1:
        raise Unmatched(f"convolves {convolution.images.dtype} to few channels, which the library does as well")
    dims, rows = convolution.step.form.dims, 2 if convolution.is_depthwise and not channels_first else 1
    placer = Placer(low.symbols, TilePosition("rows", "cols", len(dims) - rows), dims[:rows], dims[rows:])
    prologue = find_prologue(low, convolution)
    images = find_source(prologue) if prologue else convolution.images
    fused = fuse(low, placer, region, (images, convolution.filters), ending, prologue)
    if not any(value.step is convolution.step for value in placer.values):
        raise Unmatched("does not use its convolution")
    refused = (*REDUCTIONS, *SCANS) if convolution.is_depthwise or convolution.is_transposed else tuple(SCANS)
    if any(value.step.op in refused for value in placer.values):
        raise Unmatched("reduces a convolution, which another pass does")
    return fused


def list_windows(convolution: Convolution, *names: str) -> str:
    """What windows are along all three dimensions: all that has the first name, then the next."""
    windows = (*(Window(1) for _ in range(3 - len(convolution.windows))), *convolution.windows)
    return ", ".join(str(getattr(window, name)) for name in names for window in windows)


def check_filters(convolution: Convolution) -> list[str]:
    """What a launcher asserts of filters: the sizes that the kernel has as numbers."""
    images, filters = convolution.images.name, convolution.filters.name
    known = [f"{filters}.shape[2:] == {tuple(window.size for window in convolution.windows)}"]
    if convolution.groups > 1:
        axis = 0 if convolution.is_transposed else 1
        many = 1 if convolution.is_transposed else convolution.groups
        known.append(f"{images}.shape[1] == {filters}.shape[{axis}]{_times(many)}")
    return [f'    assert {one}, "written for {one}"' for one in known]


def _times(number: int) -> str:
    return f" * {number}" if number > 1 else ""


@dataclass(frozen=True)
class ConvolutionText:
    """A convolution as text, whatever is done with it: a tile in a kernel, and what is prepared for it."""

    opening: tuple[str, ...]
    """Of a kernel: the convolution on the tile of a program, and its `rows`, `cols` and masks."""
    pointers: tuple[str, ...]
    """That the opening takes, and so on."""
    sizes: tuple[str, ...]
    meta: tuple[str, ...]
    helpers: tuple[str, ...]
    head: tuple[str, ...]
    """Of the function that launches it."""
    grid: str
    factors: tuple[str, ...]
    """What the pointers are given, and so on."""
    given: tuple[str, ...]
    constants: tuple[str, ...]

    def alone(self, fused: FusedKernel) -> KernelParts:
        """In one kernel with what follows."""
        return KernelParts(
            name=fused.name,
            pointers=(*self.pointers, *fused.pointers),
            sizes=(*self.sizes, *fused.index_sizes),
            scalars=tuple(number.name for number in fused.scalars),
            meta=self.meta,
            body=(*self.opening, *write_on_one_tile(fused.placer, TILE, fused.outputs)),
            helpers=self.helpers,
            launcher=(
                *fused.signature(),
                *self.head,
                *fused.allocations(),
                *fused.launch(self.grid, self.given, self.constants, self.factors),
            ),
        )


@dataclass(frozen=True)
class ConvolutionWriter:
    fused: FusedKernel
    convolution: Convolution
    halves: int
    """How many a float32 number is; 0 where numbers are halves already."""
    unit: int
    """What the number of padded channels is a multiple of."""
    keeps_filters: bool

    def write(self, prefix: str) -> ConvolutionText:
        fused, images, filters = self.fused, self.convolution.images.name, self.convolution.filters.name
        windows, is_transposed = self.convolution.windows, self.convolution.is_transposed
        groups = self.convolution.groups
        make, how = "make_filters", f"{filters}, CHANNELS, {prefix}BLOCK_K, {self.halves}"
        grouped = "grouped" if groups > 1 else images
        if is_transposed:
            make = "make_transposed_filters"
            taps = prod(-(-one.size // one.stride) for one in windows)
            how += f", {taps}, {tuple(one.stride for one in windows)}, {tuple(one.padding for one in windows)}"
            how += f", {groups}" if groups > 1 else ""
        made = f"kept_filters({make}, {how})" if self.keeps_filters else f"{make}({how})"
        lows = ("pixels_low", "filters_low") if self.halves == 2 else ("_", "_")
        scales = ("pixels_scale", "filters_scale") if self.halves else ("_", "_")
        sizes = [fused.product(dim) for dim in self.convolution.step.form.dims]
        rows = f"({sizes[0]}) // {groups}" if groups > 1 else sizes[0]
        places = ["1"] * (5 - len(sizes)) + sizes[2:]
        counts = [
            f"triton.cdiv({name}, {stride})"
            for name, stride in zip(_OUT, self._listed("stride").split(", "), strict=True)
        ]
        tiles = f"triton.cdiv(M, {prefix}BLOCK_M) * triton.cdiv(N, {prefix}BLOCK_N)"
        if is_transposed:
            tiles = f"{prod(one.stride for one in windows)} * {tiles.replace('N,', 'PLACES,')}"
        tiles = f"{groups} * {tiles}" if groups > 1 else tiles
        blocks = [f"{name}={prefix}{name}" for name in BLOCKS]
        return ConvolutionText(
            opening=tuple(self._opening()),
            pointers=tuple(f"{name}_ptr" for name in _POINTERS[self.halves]),
            sizes=("M", "N", *(("PLACES",) if is_transposed else ()), "PADDED", *_IN, *self._constants),
            meta=tuple(f"{name}: tl.constexpr" for name in BLOCKS),
            helpers=self._helpers,
            head=(
                *check_filters(self.convolution),
                *fused.preparation(),
                *([f"    {grouped} = {images}.unflatten(1, ({groups}, -1)).flatten(0, 1)"] if groups > 1 else []),
                f"    CHANNELS = triton.cdiv({grouped}.shape[1], {self.unit}) * {self.unit}",
                f"    before, after = ({self._listed('before')}), ({self._listed('after')})",
                f"    pixels, {lows[0]}, {scales[0]} = pad_images(",
                f"        {grouped}, before, after, CHANNELS, {self.halves}",
                "    )",
                f"    filters, {lows[1]}, {scales[1]} = {made}",
                f"    OUT_D, OUT_H, OUT_W = {', '.join(places)}",
                f"    M, N = {rows}, {sizes[1]} * OUT_D * OUT_H * OUT_W",
                '    assert N < 2**31, "written for fewer than 2**31 places"',
                *([f"    PLACES = {sizes[1]} * {' * '.join(counts)}"] if is_transposed else []),
            ),
            grid=f"({tiles},)",
            factors=_POINTERS[self.halves],
            given=(
                *("M", "N", *(["PLACES"] if is_transposed else []), "filters.shape[1]", "*pixels.shape[1:4]"),
                *(f"{name}={name}" for name in (*_OUT, "CHANNELS")),
            ),
            constants=(*blocks, f"num_warps={prefix}NUM_WARPS", f"num_stages={prefix}NUM_STAGES"),
        )

    @property
    def _helpers(self) -> tuple[str, ...]:
        return (
            FIND_TILE,
            image_sources.MEASURE_IMAGES,
            image_sources.PAD_IMAGES,
            filter_sources.MAKE_FILTERS,
            *((filter_sources.MAKE_TRANSPOSED_FILTERS,) if self.convolution.is_transposed else ()),
            *((filter_sources.KEPT_FILTERS,) if self.keeps_filters else ()),
            sources.FIND_TRANSPOSED if self.convolution.is_transposed else sources.FIND_WINDOWS,
            sources.LOAD_WINDOWS,
            *((image_sources.UNDO_SCALES,) if self.halves else ()),
        )

    @property
    def _constants(self) -> tuple[str, ...]:
        return tuple(f"{name}: tl.constexpr" for name in (*_OUT, "CHANNELS"))

    def _listed(self, *names: str) -> str:
        return list_windows(self.convolution, *names)

    def _opening(self) -> list[str]:
        name = next(one.name for one in self.fused.placer.values if one.step is self.convolution.step)
        lines = [
            *self._places(),
            "filters_offs = row[:, None] * PADDED + tl.arange(0, BLOCK_K)[None, :]",
            f"{name} = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)",
            f"tl.assume({self._last} % BLOCK_K == 0)  # rows of filters end in zeros",
            f"for start in range(0, {self._last}, BLOCK_K):",
            *(f"    {line}" for line in self._summed(name)),
            *(self._after_halves(name) if self.halves == 2 else ()),
        ]
        if self.halves:
            lines.append("filters_scale = tl.load(filters_scale_ptr + row)[:, None]")
            lines.append(
                f"{name} = undo_scales({name}, tl.load(pixels_scale_ptr + number)[None, :], filters_scale)"
            )
        rows = "(group * M + rows)" if self.convolution.groups > 1 else "rows"
        return [*lines, *MASKS, f"rows, cols = {rows}[:, None], cols[None, :]"]

    def _places(self) -> list[str]:
        """Where the tile is, and what it reads."""
        one, groups = self.convolution, self.convolution.groups
        sizes = f"{', '.join((*_IN, *_OUT))}, CHANNELS"
        columns, number, own, group = "N", "tl.program_id(0)", "tl.minimum(rows, M - 1)", ""
        lines = []
        if one.is_transposed or groups > 1:
            columns = "PLACES" if one.is_transposed else "N"
            lines.append(f"tiles = tl.cdiv(M, BLOCK_M) * tl.cdiv({columns}, BLOCK_N)")
            number = "tl.program_id(0) % tiles"
        if groups > 1:
            lines.append(f"group = tl.program_id(0) // tiles % {groups}")
            own, group = f"group * M + {own}", f", group, {groups}"
        if one.is_transposed:
            lines.append(f"phase = tl.program_id(0) // tiles{f' // {groups}' if groups > 1 else ''}")
            own = f"phase * M{_times(groups)} + {own}"
        lines.append(f"rows, cols = find_tile({number}, M, {columns}, BLOCK_M, BLOCK_N, GROUP)")
        row = f"row = {own}  # beyond the last row, the last will do"
        if not one.is_transposed:
            return [
                *lines,
                f"number, begin = find_windows(cols, N, {sizes}, {self._listed('stride')}{group})",
                row,
            ]
        return [
            *lines,
            "number, begin, cols, size_d, size_h, size_w = find_transposed(",
            f"    cols, phase, N, PLACES, {sizes},",
            f"    {self._listed('size', 'stride', 'padding', 'dilation', 'before')}{group},",
            ")",
            row,
            "last = tl.cdiv(size_d * size_h * size_w * CHANNELS, BLOCK_K) * BLOCK_K",
        ]

    @property
    def _last(self) -> str:
        """Where rows of filters end."""
        return "last" if self.convolution.is_transposed else "PADDED"

    def _load(self, name: str) -> tuple[str, ...]:
        size = "size_d, size_h, size_w" if self.convolution.is_transposed else self._listed("size")
        return (
            f"{name} = load_windows(",
            f"    {name}_ptr, begin, start, IN_H, IN_W, CHANNELS, {size}, {self._listed('dilation')}, BLOCK_K",
            ")",
        )

    def _summed(self, name: str) -> list[str]:
        loads = [*self._load("pixels"), "filters = tl.load(filters_ptr + filters_offs + start)"]
        if self.halves < 2:
            dot = f'{name} = tl.dot(filters, pixels, {name}, input_precision="ieee")'
            return [*loads, f"{dot}  # exact: of halves"]
        return [
            *loads,
            *self._load("pixels_low"),
            "filters_low = tl.load(filters_low_ptr + filters_offs + start)",
            'part = tl.dot(filters, pixels_low, input_precision="ieee")  # halves: nothing is rounded',
            'part = tl.dot(filters_low, pixels, part, input_precision="ieee")',
            'part = tl.dot(filters, pixels, part, input_precision="ieee")',
            f"{name} += part  # the tensor core truncates its running sum: it is kept short",
        ]

    def _after_halves(self, name: str) -> list[str]:
        """Where two halves make NaN of an inf, the first of them alone says what it is."""
        return [
            f"if tl.max(tl.max(({name} != {name}).to(tl.int32), axis=1), axis=0) > 0:  # inf or NaN",
            "    plain = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)",
            f"    for start in tl.range(0, {self._last}, BLOCK_K, num_stages=1):  # rare: small rather than fast",
            *(f"        {line}" for line in self._load("pixels")),
            "        filters = tl.load(filters_ptr + filters_offs + start)",
            '        plain = tl.dot(filters, pixels, plain, input_precision="ieee")',
            f"    {name} = tl.where({name} != {name}, plain, {name})",
        ]
