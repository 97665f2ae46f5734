"""Convolutions among the steps: for every output channel and place, a sum over a window of all channels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilesmith.playbook.graph.composites import by_channel
from tilesmith.playbook.graph.moves import permuted
from tilesmith.playbook.graph.reductions import find_argument
from tilesmith.playbook.graph.steps import LEAF, PRODUCT, KernelStep
from tilesmith.playbook.graph.symbols import Dim, SizeRule, SymbolicShape
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.tasks.graph import Node
from tilesmith.tasks.numbers.varying import is_varying

if TYPE_CHECKING:
    from tilesmith.playbook.graph.lowering import Lowering


@dataclass(frozen=True)
class Window:
    """What is summed along one dimension of an image."""

    size: int
    stride: int = 1
    dilation: int = 1
    before: int = 0
    """Zeros before the first number of the image."""
    after: int = 0


@dataclass(frozen=True)
class Convolution:
    step: KernelStep
    """Output channels, images, places: channels first, whatever the result looks like; or the result itself, where
    every channel is convolved by itself."""
    images: KernelStep
    filters: KernelStep
    windows: tuple[Window, ...]
    """One for each dimension of an image."""
    is_depthwise: bool = False
    """Whether every channel is convolved by itself, with a filter of its own."""


def lower_convolution(low: Lowering, node: Node) -> KernelStep:
    """(x, weight, bias, stride, padding, dilation, groups)"""
    images, filters = low.operand(node.args[0]), low.operand(node.args[1])
    if images.op != LEAF or filters.op != LEAF:
        raise Unmatched("convolves what it computes itself")
    if images.form.rank != filters.form.rank:
        raise Unmatched("convolves an image without a batch")
    groups, channels = find_argument(node, 6, "groups", 1), images.form.shape[1]
    is_depthwise = groups == channels == filters.form.shape[0] and channels > 1
    if groups != 1 and not is_depthwise:
        raise Unmatched("convolves groups of channels")
    windows = _find_windows(node, filters.form.shape[2:])
    summed = (images, 1), (filters, 0 if is_depthwise else 1)
    low.symbols.broadcast([SymbolicShape((one.form.shape[i],), (one.form.dims[i],)) for one, i in summed])
    shape = node.shape or ()
    places = [
        _count_places(low, images.form.dims[i], window, shape[i], (node.name, i))
        for i, window in enumerate(windows, 2)
    ]
    dims = (images.form.dims[0], filters.form.dims[0], *places)
    order = [*range(len(shape))] if is_depthwise else [1, 0, *range(2, len(shape))]
    form = SymbolicShape(tuple(shape[i] for i in order), tuple(dims[i] for i in order))
    step = KernelStep(low.free_name(node.name), PRODUCT, (), form, str(node.dtype))
    low.convolutions.append(Convolution(step, images, filters, windows, is_depthwise))
    result = step if is_depthwise else permuted(low, step, order, node.name)
    bias = by_channel(low, find_argument(node, 2, "bias"), result)
    return result if bias is None else low.pointwise("add", (result, bias), f"{node.name}_biased", str(node.dtype))


def _find_windows(node: Node, sizes: Sequence[int]) -> tuple[Window, ...]:
    stride = _each(find_argument(node, 3, "stride", 1), len(sizes))
    dilation = _each(find_argument(node, 5, "dilation", 1), len(sizes))
    padding = find_argument(node, 4, "padding", 0)
    if padding == "same":
        wide = [apart * (size - 1) for apart, size in zip(dilation, sizes, strict=True)]
        around = [(one // 2, one - one // 2) for one in wide]
    else:
        around = [(one, one) for one in _each(0 if padding == "valid" else padding, len(sizes))]
    if any(is_varying(one) for one in (*stride, *dilation, *(one for pair in around for one in pair), *sizes)):
        raise Unmatched("convolves with windows that depend on sizes")
    pairs = zip(sizes, stride, dilation, around, strict=True)
    return tuple(Window(size, step, apart, *pair) for size, step, apart, pair in pairs)


def _each(value: Any, dims: int) -> list[int]:
    given = list(value) if isinstance(value, Sequence) else [value]
    return given * dims if len(given) == 1 else given


def _count_places(low: Lowering, source: Dim, window: Window, size: int, name: tuple[str, int]) -> Dim:
    """How many windows there are along a dimension of the images."""
    more = window.before + window.after - window.dilation * (window.size - 1)
    if window.stride == 1 and more == 0:
        return source
    if window.stride == 1:
        return low.symbols.make(name, size, SizeRule(f"{{0}} {'+' if more > 0 else '-'} {abs(more)}", source))
    rest = f"({{0}} {'-' if more < 1 else '+'} {abs(more - 1)})" if more != 1 else "{0}"
    return low.symbols.make(name, size, SizeRule(f"{rest} // {window.stride} + 1", source, may_round=True))
