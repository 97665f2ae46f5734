"""Operators in another form: what moves elements as views, cells and samplings as what they compute."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from tilesmith.playbook.graph.reductions import find_argument
from tilesmith.playbook.plan.rewriting.writer import Value, Writer
from tilesmith.tasks.numbers.varying import is_varying, same

_MOST_TIMES = 8
"""Up to which float32 says exactly which element a place is a copy of."""
_LARGE_CELL = 1e9
"""FLOPs of its products."""
_LARGEST = {"float32": 3.4028234663852886e38, "float16": 65504.0, "float64": 1.7976931348623157e308}


def _gated(writer: Writer) -> bool:
    """glu: (x, dim)"""
    x = writer.operand(0)
    value, gate = _parts(x, 2, find_argument(writer.node, 1, "dim", -1) % len(x.shape))
    value * gate.apply("sigmoid.default")
    return True


def _prelu(writer: Writer) -> bool:
    """(x, one slope or one for each channel)"""
    x, slope = writer.operand(0), writer.operand(1)
    if slope.shape != (1,):
        slope = slope.viewed((*slope.shape, *(1 for _ in x.shape[2:])))
    x.compared("gt", 0).where(x, x * slope)
    return True


def _nan_to_num(writer: Writer) -> bool:
    """(x, for NaN, for inf, for -inf)"""
    x = writer.operand(0)
    if x.dtype not in _LARGEST:
        return False
    most = _LARGEST[x.dtype]
    asked = zip((1, 2, 3), ("nan", "posinf", "neginf"), (0.0, most, -most), strict=True)
    nan, above, below = (default if (one := writer.operand(i, name)) is None else one for i, name, default in asked)
    x = x.apply("ne.Tensor", x, dtype="bool").where(_filled(x, nan), x)
    x = x.compared("gt", most).where(_filled(x, above), x)
    x.compared("lt", -most).where(_filled(x, below), x)
    return True


def _filled(x: Value, number: float) -> Value:
    return x.writer.add("full_like.default", (x, number), x.shape, x.dtype)


def _any(writer: Writer) -> bool:
    """(x, dim, keepdim): over one dimension, as the largest number."""
    x, dim = writer.operand(0), find_argument(writer.node, 1, "dim")
    if not isinstance(dim, int) or x.dtype != "bool" or find_argument(writer.node, 2, "keepdim", False):
        return False
    numbers = writer.add("to.dtype", (x, {"dtype": "int32"}), x.shape, "int32")
    numbers.over("amax.default", dim).compared("ne", 0)
    return True


def _scatter(writer: Writer) -> bool:
    """(x, dim, places, a number) with one place in each row"""
    x, places, number = writer.operand(0), writer.operand(2), writer.operand(3)
    dim = writer.node.args[1] % len(x.shape)
    without = (*x.shape[:dim], 1, *x.shape[dim + 1 :])
    is_whole = len(places.shape) == len(without) and all(map(same, places.shape, without))
    if not writer.node.op.endswith(".value") or writer.node.kwargs or not is_whole:
        return False
    along = _counted(writer, x.shape[dim]).viewed((x.shape[dim], *(1 for _ in x.shape[dim + 1 :])))
    places.apply("eq.Tensor", along, dtype="bool").where(_filled(x, number), x)
    return True


def _counted(writer: Writer, size: int) -> Value:
    return writer.add("arange.default", (size,), (size,), "int64")


def _pixel_shuffle(writer: Writer) -> bool:
    x, by = writer.operand(0), writer.node.args[1]
    *lead, channels, height, width = x.shape
    kept = channels // (by * by)
    n = len(lead)
    parted = x.viewed((*lead, kept, by, by, height, width), rest=n)
    _permuted(parted, [*range(n), n, n + 3, n + 1, n + 4, n + 2]).viewed((*lead, kept, height * by, width * by))
    return True


def _pixel_unshuffle(writer: Writer) -> bool:
    x, by = writer.operand(0), writer.node.args[1]
    *lead, channels, height, width = x.shape
    parted = x.viewed((*lead, channels, height // by, by, width // by, by))
    n = len(lead)
    moved = _permuted(parted, [*range(n), n, n + 2, n + 4, n + 1, n + 3])
    moved.viewed((*lead, channels * by * by, height // by, width // by), rest=n)
    return True


def _patches(writer: Writer) -> bool:
    """im2col: (x, window, dilation, padding, stride), of windows side by side."""
    x = writer.operand(0)
    window, dilation, padding, stride = ([int(one) for one in writer.node.args[i]] for i in range(1, 5))
    if len(x.shape) != 4 or window != stride or any(padding) or max(dilation) > 1:
        return False
    count, channels, height, width = x.shape
    rows, columns = height // window[0], width // window[1]
    for dim, (had, used) in enumerate(((height, rows * window[0]), (width, columns * window[1])), 2):
        if not same(had, used):  # the rest is left out
            shape = (*x.shape[:dim], used, *x.shape[dim + 1 :])
            x = writer.add("slice.Tensor", (x, dim, 0, used), shape, x.dtype)
    parted = x.viewed((count, channels, rows, window[0], columns, window[1]))
    moved = _permuted(parted, [0, 1, 3, 5, 2, 4])
    joined = moved.viewed((count, channels * prod(window), rows, columns), rest=1)
    joined.viewed((*joined.shape[:2], rows * columns), rest=2)
    return True


def _permuted(x: Value, order: list[int]) -> Value:
    if order == list(range(len(order))):
        return x
    return x.writer.add("permute.default", (x, order), tuple(x.shape[i] for i in order), x.dtype)


def _parts(x: Value, count: int, dim: int = 1) -> list[Value]:
    size = x.shape[dim] // count
    shape = (*x.shape[:dim], size, *x.shape[dim + 1 :])
    slices = [(x, dim, i * size, (i + 1) * size) for i in range(count)]
    return [x.writer.add("slice.Tensor", one, shape, x.dtype) for one in slices]


def _linear(x: Value, weight: Value, bias: Value | None) -> Value:
    return x.writer.add("linear.default", (x, weight, bias), (*x.shape[:-1], weight.shape[0]), x.dtype)


def _is_large(x: Value, *weights: Value) -> bool:
    """Whether the products of a cell are worth kernels; the rest PyTorch does in one of its own."""
    return len(x.shape) == 2 and 2 * x.shape[0] * sum(prod(one.shape) for one in weights) >= _LARGE_CELL


def _gru_cell(writer: Writer) -> bool:
    """(x, h, weights of x, weights of h, their biases)"""
    x, h, of_x, of_h, first, second = (writer.operand(i) for i in range(6))
    if not _is_large(x, of_x, of_h):
        return False
    reset, update, new = _parts(_linear(x, of_x, first), 3)
    reset_h, update_h, new_h = _parts(_linear(h, of_h, second), 3)
    new = (new + (reset + reset_h).apply("sigmoid.default") * new_h).apply("tanh.default")
    (h - new) * (update + update_h).apply("sigmoid.default") + new
    return True


def _lstm_cell(writer: Writer) -> tuple[Value, ...] | None:
    """(x, [h, c], weights of x, weights of h, their biases)"""
    x, of_x, of_h, first, second = (writer.operand(i) for i in (0, 2, 3, 4, 5))
    h, c = (writer.value(one) for one in writer.node.args[1])
    if not _is_large(x, of_x, of_h):
        return None
    taken, kept, new, shown = _parts(_linear(x, of_x, first) + _linear(h, of_h, second), 4)
    taken, kept, shown = (one.apply("sigmoid.default") for one in (taken, kept, shown))
    c = kept * c + taken * new.apply("tanh.default")
    return shown * c.apply("tanh.default"), c


def _spread_and_mean(writer: Writer) -> tuple[Value, ...] | None:
    """var_mean and std_mean: the variance takes the same arguments as both together."""
    x, node, (spread, mean) = writer.operand(0), writer.node, writer.results
    everything = node.op.endswith(".default")
    dims = None if everything else find_argument(node, 1, "dim")
    dims = list(range(len(x.shape))) if dims in (None, []) else dims
    op = node.op.removeprefix("aten.").replace("_mean", "")
    found = writer.add(op, (x, *node.args[1:]), spread.shape or (), x.dtype, **node.kwargs)
    keep = mean.shape is not None and len(mean.shape) == len(x.shape)
    return found, writer.add("mean.dim", (x, dims, keep), mean.shape or (), x.dtype)


def _nearest(writer: Writer) -> bool:
    """Elements repeated a whole number of times."""
    x, shape = writer.operand(0), writer.node.shape or ()
    for dim in range(2, len(x.shape)):
        times = shape[dim] // x.shape[dim]
        if shape[dim] % x.shape[dim] or is_varying(times) or times > _MOST_TIMES:
            return False
        if times > 1:
            longer = (*x.shape[:dim], shape[dim], *x.shape[dim + 1 :])
            x = writer.add("repeat_interleave.self_int", (x, times, dim), longer, x.dtype)
    return bool(writer.nodes)


def _bilinear(writer: Writer) -> bool:
    """(x, sizes or None, whether corners are aligned, factors or None): four neighbors, by how near they are."""
    x, shape, corners = writer.operand(0), writer.node.shape or (), bool(writer.node.args[2])
    factors = writer.node.args[3] if len(writer.node.args) == 4 else None
    if x.dtype != "float32" or not writer.node.op.endswith(".vec") or min(x.shape[2:]) < 2 or min(shape[2:]) < 2:
        return False
    for dim in (2, 3):
        size, wanted = x.shape[dim], shape[dim]
        place = writer.add("to.dtype", (_counted(writer, wanted), {"dtype": "float32"}), (wanted,), "float32")
        if corners:
            place = place * (size - 1) / (wanted - 1)
        else:
            place = place + 0.5
            place = place * (1.0 / factors[dim - 2]) if factors else place * size / wanted
            place = (place - 0.5).apply("clamp_min.default", 0.0)
        before = place.apply("floor.default").apply("clamp_max.default", size - 1)
        share = (place - before).viewed((wanted, *(1 for _ in x.shape[dim + 1 :])))
        after = (before + 1).apply("clamp_max.default", size - 1)
        first, second = (_picked(x, dim, one) for one in (before, after))
        x = first * (1 - share) + second * share
    return True


def _picked(x: Value, dim: int, places: Value) -> Value:
    places = x.writer.add("to.dtype", (places, {"dtype": "int64"}), places.shape, "int64")
    shape = (*x.shape[:dim], places.shape[0], *x.shape[dim + 1 :])
    return x.writer.add("index_select.default", (x, dim, places), shape, x.dtype)


OTHER_FORMS: dict[str, Callable[[Writer], bool]] = {
    "glu": _gated,
    "prelu": _prelu,
    "nan_to_num": _nan_to_num,
    "any": _any,
    "scatter": _scatter,
    "pixel_shuffle": _pixel_shuffle,
    "pixel_unshuffle": _pixel_unshuffle,
    "im2col": _patches,
    "gru_cell": _gru_cell,
    "upsample_nearest1d": _nearest,
    "upsample_nearest2d": _nearest,
    "upsample_nearest3d": _nearest,
    "upsample_bilinear2d": _bilinear,
}
"""What writes an operator out, and says whether it could."""
SEVERAL: dict[str, Callable[[Writer], tuple[Value, ...] | None]] = {
    "lstm_cell": _lstm_cell,
    "var_mean": _spread_and_mean,
    "std_mean": _spread_and_mean,
}
"""The same of operators with several results: those, in order."""
