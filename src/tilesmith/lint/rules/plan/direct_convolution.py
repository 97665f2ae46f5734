"""Convolutions by loops over channels and taps."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.rules.findings import first_on_each_line, warning
from tilesmith.lint.structure.kernel_kinds.kernel_type import kernel_type
from tilesmith.lint.structure.reductions.summed_products import SummedProduct, summed_products
from tilesmith.lint.vocabulary import DOTS
from tilesmith.records import Finding


@first_on_each_line
def direct_convolution(source: KernelSource) -> Iterator[Finding]:
    """A convolution whose products are added up one channel and one tap at a time."""
    for product in summed_products(source):
        dots = any(part.calls_of(*DOTS) for part in source.with_callees(product.frame.kernel))
        if (not dots and kernel_type(product.frame.kernel, source) == "convolution") and _mixes_channels(product):
            line = product.loops[0][1].node.lineno if product.loops else getattr(product.node, "lineno", 0)
            message = (
                "this convolution adds up single products over channels and taps: make it an implicit GEMM "
                "(tiles of positions x channels, tl.dot for each tap), or leave it to PyTorch"
            )
            yield warning("direct-convolution", line, message)


def _mixes_channels(product: SummedProduct) -> bool:
    """Weights that many positions share, and inputs that many filters share: not so in a depthwise one."""
    return any(product.is_reused(one, other, by_outputs=True) for one, other in combinations(product.factors, 2))
