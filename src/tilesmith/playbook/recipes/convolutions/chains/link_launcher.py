"""The function that launches the kernel of a convolution among others, as text."""

from __future__ import annotations

import textwrap

from tilesmith.playbook.recipes.convolutions.chains.link import IN, OUT, Link
from tilesmith.playbook.recipes.convolutions.writing import list_windows

_LONGEST = 110
_SEVERAL = "tuple[torch.Tensor, ...]"


def wrapped(text: str, indent: int) -> list[str]:
    """Arguments on as many lines as they need."""
    lines = textwrap.wrap(text, _LONGEST - indent, break_long_words=False, break_on_hyphens=False)
    return [f"{' ' * indent}{line}" for line in lines]


def write_launcher(link: Link, prefix: str) -> list[str]:
    fused, images, filters = link.fused, link.images.name, link.convolution.filters.name
    rank = len(link.convolution.windows)
    written = f"{filters}.shape[2:] == {tuple(window.size for window in link.convolution.windows)}"
    if link.is_depthwise:
        written = f"{filters}.shape[1:] == {(1, *(window.size for window in link.convolution.windows))}"
    made = f"make_filters, {filters}, CHANNELS, {prefix}BLOCK_K, 1"
    made = f"kept_filters({made})" if link.keeps_filters else made.replace(", ", "(", 1) + ")"
    made = f"filters, _, filters_scale = {made}"
    if link.is_depthwise:
        made = f"filters = kept_filters(turn_filters, {filters})"
    sizes = [fused.product(dim) for dim in link.convolution.step.form.dims]
    places = ["1"] * (3 - rank) + sizes[2:]
    return [
        *_signature(link),
        f'    assert {written}, "written for {written}"',
        *fused.preparation(left={one.name for one in link.takes}),
        *_pixels(link, images, rank),
        f"    {made}",
        *_measures(link),
        f"    OUT_D, OUT_H, OUT_W = {', '.join(places)}",
        f"    M, BATCH = {sizes[0]}, {sizes[1]}",
        "    N = BATCH * OUT_D * OUT_H * OUT_W",
        '    assert N < 2**30, "written for fewer than 2**30 places"',
        *_allocations(link, rank),
        *_launch(link, prefix),
    ]


def _signature(link: Link) -> list[str]:
    fused = link.fused
    given = [f"{one.name}: {_SEVERAL if one in link.takes else 'torch.Tensor'}" for one in fused.leaves]
    given += [f"{number.name}: float" for number in fused.scalars]
    given += ["into=None"] if link.gives else []
    lines = [
        f"def {fused.name}(",
        *wrapped(", ".join(given), 4),
        f") -> {_SEVERAL if link.gives else 'torch.Tensor'}:",
    ]
    for one in link.takes:
        more = f", {one.name}_shared" if one in link.joined else ""
        lines.append(f"    {one.name}, {one.name}_unscale, {one.name}_largest{more} = {one.name}")
    return lines


def _pixels(link: Link, images: str, rank: int) -> list[str]:
    """What is convolved: as it came, entered or padded."""
    lines = [f"    CHANNELS = triton.cdiv({images}.shape[1], {link.unit}) * {link.unit}"]
    lines = [] if link.is_depthwise else lines
    if link.reads_halves:
        taken = f"{images}, {images}_unscale, {images}_largest" if link.takes_images else f"enter_images({images})"
        return [
            *lines,
            f"    pixels, pixels_scale, pixels_largest = {taken}",
            f"    inside = [{'1, ' * (3 - rank)}*{images}.shape[2:]]",
        ]
    before, after = (list_windows(link.convolution, name) for name in ("before", "after"))
    return [
        *lines,
        f"    before, after = ({before}), ({after})",
        f"    pixels, _, pixels_scale = pad_images({images}, before, after, CHANNELS, 1)",
    ]


def _measures(link: Link) -> list[str]:
    wanted = dict(link.measured)
    if link.gives:
        wanted = {"filters_sum": f"add_filters, {link.convolution.filters.name}"} | wanted
    return [f"    {name} = kept_filters({how})" for name, how in wanted.items()]


def _allocations(link: Link, rank: int) -> list[str]:
    name = link.fused.outputs[0].name
    sizes = OUT[3 - rank :]
    lines = []
    if link.pool:
        sizes = tuple(f"{one} // {by}" for one, by in zip(sizes, link.pool.window, strict=True))
        lines.append(f"    WINDOWS = BATCH * {link.places}")
    if not link.gives:
        shape = ", ".join(("BATCH", "M", *sizes))
        return [*lines, f"    {name} = torch.empty(({shape}), dtype=torch.float32, device=filters.device)"]
    places = f"({', '.join(sizes)}{',' if rank == 1 else ''})"
    room = f"room_for_images(BATCH, M, {places}, filters, into)"
    return [*lines, f"    {', '.join(link.results)} = {room}"]


def _launch(link: Link, prefix: str) -> list[str]:
    sides = f"triton.cdiv(M, {prefix}BLOCK_M)", f"triton.cdiv({link.columns}, {prefix}BLOCK_N)"
    values = {name: name for name in (*link.sizes, *link.constants)}
    values |= {
        "PADDED": "filters.shape[1]",
        "IN_C": f"{link.images.name}.shape[1]",
        "IN_PITCH": "pixels.stride(-1)",
    }
    values |= link.parts | {"SHARED": f"{link.images.name}_shared"}
    values |= {"PITCH": f"{link.results[0]}.stride(-1)"}
    values |= {f"{one.name.upper()}_PITCH": f"{one.name}.stride(-1)" for one in link.skips}
    values |= {name: f"inside[{i}]" if link.reads_halves else f"pixels.shape[{i + 1}]" for i, name in enumerate(IN)}
    return [
        f"    tiles = {' * '.join(sides)}",
        *link.fused.call(
            f"{link.fused.name}_kernel[(tiles,)]",
            [*link.factors, *(step.name for step in link.loaded)],
            link.results,
            [
                *(values[name] for name in link.sizes),
                *(f"{name}={values[name]}" for name in link.constants),
            ],
            [
                *(f"{name}={prefix}{name}" for name in link.blocks),
                f"num_warps={prefix}NUM_WARPS",
                *([] if link.is_depthwise else [f"num_stages={prefix}NUM_STAGES"]),
            ],
        ),
        f"    return {', '.join(link.results)}",
    ]
