"""Names in a written file: whatever a task calls its tensors, a kernel needs valid and unused identifiers."""

from __future__ import annotations

import keyword
import re

RESERVED = {
    "row", "rows", "cols", "offs", "mask", "mask_m", "mask_n", "start", "numel", "M", "N", "BLOCK", "BLOCK_N",
    "ROWS", "NUM_WARPS", "torch", "triton", "tl", "nn", "libdevice", "self", "larger", "smaller", "product",
    "BLOCK_M", "BLOCK_K", "GROUP", "NUM_STAGES", "K", "total", "part", "depth", "left_high", "left_low",
    "PADDED", "SPLITS", "CHUNK", "left", "right", "parts", "batch", "tiles", "chunk", "left_ptrs", "right_ptrs",
    "left_scale", "right_high", "right_low", "right_scale", "tile_m", "tile_n", "tiles_m", "tiles_n", "split_rows",
    "kept_halves", "range", "float", "max", "min", "sum", "tuple", "num_warps", "num_stages", "num_ctas", "grid",
    "warmup", "program", "PARTS", "PART_N", "HELD_N", "arrived", "most",
    "SPAN", "BLOCK_PARTS", "in_row", "places", "first", "last", "done", "count", "count_part",
    "QUEUE_N", "LEAD", "AHEAD", "ticket", "reduced", "reduces", "outer", "OUTER", "block", "blocks", "is_better",
    "number", "first_row", "first_col", "PROGRAMS", "near", "far", "pairs", "pair_mask",
    "pixels", "pixels_low", "pixels_scale", "filters", "filters_low", "filters_scale", "filters_offs", "begin",
    "plain", "CHANNELS", "IN_D", "IN_H", "IN_W", "OUT_D", "OUT_H", "OUT_W", "PLACES", "phase",
    "before", "after", "size_d", "size_h", "size_w", "place_d", "place_h", "place_w", "columns", "windows", "reach",
    "COLUMNS", "BATCH", "IN_C", "IN_PITCH", "PITCH", "step", "STEPS", "inside", "filters_sum", "pixels_largest",
    "window_ptrs", "into", "pixels_unscale", "pixels_undone", "pixels_reach", "pixels_channel",
}  # fmt: skip
"""What the written files call things of their own, and what a launch takes by name."""
_OURS = re.compile(
    r"(_ptr|_acc|_part|_peak|_best|_halves|_tiles|_turned|_carry|_shift|_kernel|_unscale|_largest|_least|_PITCH"
    r"|(^|_)D\d+)$"
)
"""How we name pointers, accumulators, kernels and sizes."""


def make_identifier(text: str) -> str:
    """A name close to `text` that Python takes and that is not of a form we use ourselves."""
    name = re.sub(r"[^0-9A-Za-z_]", "_", text)
    if not name.strip("_") or name[0].isdigit():
        name = f"t_{name}"
    return f"{name}_in" if keyword.iskeyword(name) or _OURS.search(name) else name
