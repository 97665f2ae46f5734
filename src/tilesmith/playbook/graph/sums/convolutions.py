"""Convolutions among the steps: for every output channel and place, a sum over a window of all channels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from tilesmith.playbook.graph.composites import by_channel
from tilesmith.playbook.graph.moves import permuted
from tilesmith.playbook.graph.reductions import find_argument
from tilesmith.playbook.graph.steps import LEAF, PRODUCT, KernelStep
from tilesmith.playbook.graph.symbols import SizeRule, SymbolicShape
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
    padding: int = 0
    """Of a transposed convolution: places of its result that are left out at either end."""

    @property
    def has_border(self) -> bool:
        """Whether a window may reach beyond an image."""
        return self.before + self.after > 0


@dataclass(frozen=True)
class Convolution:
    step: KernelStep
    """Output channels, images, places: channels first, whatever the result looks like; or the result itself, where
    every channel is convolved by itself and nobody wants them first."""
    images: KernelStep
    """A tensor, or what is computed of one before it is convolved."""
    filters: KernelStep
    windows: tuple[Window, ...]
    """One for each dimension of an image."""
    is_depthwise: bool = False
    """Whether every channel is convolved by itself, with a filter of its own."""
    is_transposed: bool = False
    """Whether places of the result that leave the same rest when divided by the stride have windows of stride one,
    side by side, and a part of the filters that is for this rest."""
    groups: int = 1
    """Of channels, each of which is convolved with filters of its own."""

    @property
    def is_plain(self) -> bool:
        """Whether all channels meet, in windows of no more numbers than an integer has bits for."""
        taps = prod(window.size for window in self.windows)
        return not self.is_transposed and self.groups == 1 and taps < 64

    @property
    def channels(self) -> int:
        """That a window sums over."""
        return self.images.form.shape[1] // self.groups

    @property
    def rows(self) -> int:
        """Output channels that share a window."""
        return self.step.form.shape[0] // self.groups


def lower_convolution(low: Lowering, node: Node) -> KernelStep:
    """(x, weight, bias, stride, padding, dilation, groups); transposed (..., output padding, groups, dilation)"""
    images, filters = low.operand(node.args[0]), low.operand(node.args[1])
    if filters.op != LEAF:
        raise Unmatched("convolves what it computes itself")
    if images.form.rank != filters.form.rank:
        raise Unmatched("convolves an image without a batch")
    groups, channels = find_argument(node, 6, "groups", 1), images.form.shape[1]
    is_transposed = "transpose" in node.op
    is_depthwise = groups == channels == filters.form.shape[0] and channels > 1 and not is_transposed
    made = filters.form.dims[0]
    if is_transposed:
        made = filters.form.dims[1]
        if groups > 1:
            rule = SizeRule(f"{{0}} * {groups}", made)
            made = low.symbols.make(("out", 1), groups * filters.form.shape[1], rule)
    same = 0 if is_transposed or is_depthwise else 1
    if channels == filters.form.shape[same]:
        pair = (images.form, 1), (filters.form, same)
        low.symbols.broadcast([SymbolicShape((form.shape[i],), (form.dims[i],)) for form, i in pair])
    windows = (_find_transposed if is_transposed else _find_windows)(node, filters.form.shape[2:])
    shape = node.shape or ()
    places = []
    for i, window in enumerate(windows, 2):
        count = _count_transposed(node, window, i - 2) if is_transposed else _count_places(window)
        source = images.form.dims[i]
        rule = SizeRule(count, source, may_round=True)
        places.append(source if count == "{0}" else low.symbols.make(("out", i), shape[i], rule))
    dims = (images.form.dims[0], made, *places)
    keeps_order = is_depthwise and not low.channels_first
    order = [*range(len(shape))] if keeps_order else [1, 0, *range(2, len(shape))]
    form = SymbolicShape(tuple(shape[i] for i in order), tuple(dims[i] for i in order))
    step = KernelStep(low.free_name(node.name), PRODUCT, (), form, str(node.dtype))
    low.convolutions.append(Convolution(step, images, filters, windows, is_depthwise, is_transposed, groups))
    result = step if keeps_order else permuted(low, step, order, node.name)
    bias = by_channel(low, find_argument(node, 2, "bias"), result)
    return result if bias is None else low.pointwise("add", (result, bias), f"{node.name}_biased", str(node.dtype))


def _find_windows(node: Node, sizes: Sequence[int]) -> tuple[Window, ...]:
    stride, dilation = (_each(node, i, name, len(sizes)) for i, name in ((3, "stride"), (5, "dilation")))
    padding = find_argument(node, 4, "padding", 0)
    if padding == "same":
        wide = [apart * (size - 1) for apart, size in zip(dilation, sizes, strict=True)]
        around = [(one // 2, one - one // 2) for one in wide]
    elif padding == "valid":
        around = [(0, 0)] * len(sizes)
    else:
        around = [(one, one) for one in _each(node, 4, "padding", len(sizes), 0)]
    pairs = zip(sizes, stride, dilation, around, strict=True)
    return tuple(Window(size, step, apart, *pair) for size, step, apart, pair in pairs)


def _find_transposed(node: Node, sizes: Sequence[int]) -> tuple[Window, ...]:
    stride, dilation = (_each(node, i, name, len(sizes)) for i, name in ((3, "stride"), (7, "dilation")))
    padding = _each(node, 4, "padding", len(sizes), 0)
    if any(step > 1 and apart > 1 for step, apart in zip(stride, dilation, strict=True)):
        raise Unmatched("convolves dilated windows, transposed, in steps")
    found: list[Window] = []
    for i, (size, step, apart, left_out) in enumerate(zip(sizes, stride, dilation, padding, strict=True)):
        taps = -(-size // step)
        more = _more_transposed(node, size, i)
        before = max(0, apart * (taps - 1) - left_out // step)
        after = max(0, -(-more // step) - 1 + (step - 1 + left_out) // step)
        found.append(Window(size, step, apart, before, after, left_out))
    return tuple(found)


def _more_transposed(node: Node, size: int, dim: int) -> int:
    """How much larger a result is than all but the first number of an image, each times the stride."""
    padding, more, dilation = (
        _each(node, i, name, len(node.shape or ()) - 2, default)[dim]
        for i, name, default in ((4, "padding", 0), (5, "output_padding", 0), (7, "dilation", 1))
    )
    return dilation * (size - 1) + more + 1 - 2 * padding


def _each(node: Node, position: int, name: str, dims: int, default: int = 1) -> list[int]:
    value: Any = find_argument(node, position, name, default)
    given = list(value) if isinstance(value, Sequence) else [value]
    if any(map(is_varying, given)):
        raise Unmatched("convolves with windows that depend on sizes")
    return given * dims if len(given) == 1 else given


def _count_places(window: Window) -> str:
    """How many windows there are along a dimension of the images."""
    more = window.before + window.after - window.dilation * (window.size - 1)
    if window.stride == 1:
        return _sum("{0}", more)
    rest = f"({_sum('{0}', more - 1)})" if more != 1 else "{0}"
    return f"{rest} // {window.stride} + 1"


def _count_transposed(node: Node, window: Window, dim: int) -> str:
    scaled = "{0}" if window.stride == 1 else f"{{0}} * {window.stride}"
    return _sum(scaled, _more_transposed(node, window.size, dim) - window.stride)


def _sum(term: str, more: int) -> str:
    return f"{term} {'+' if more > 0 else '-'} {abs(more)}" if more else term
