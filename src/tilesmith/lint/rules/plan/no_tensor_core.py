"""Matrix products that leave the tensor cores idle."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.rules.findings import first_on_each_line, warning
from tilesmith.lint.structure.kernel_kinds.kernel_type import kernel_type
from tilesmith.lint.structure.reductions.matrix_products import factor_shape
from tilesmith.lint.structure.reductions.summed_products import SummedProduct, summed_products
from tilesmith.records import Finding

Axes = frozenset[int]


@first_on_each_line
def no_tensor_core(source: KernelSource) -> Iterator[Finding]:
    """Outer products added up turn by turn, or a three-dimensional product summed over one axis."""
    for product in summed_products(source):
        if _is_matrix_product(product):
            message = (
                "a matrix product is written out with broadcasts, so no tensor core takes part: multiply the "
                "tiles with tl.dot(a, b, acc)"
            )
            yield warning("no-tensor-core", getattr(product.node, "lineno", 0), message)


def _is_matrix_product(product: SummedProduct) -> bool:
    wanted = 3 if product.kind == "sum" else 2
    axes = [_own_axes(factor, product, wanted) for factor in product.factors]
    known = [own for own in axes if own is not None]
    if len(known) < len(axes) or not _are_rows_and_columns([own for own in known if own], shared=wanted - 2):
        return False
    if product.is_short or product.has_dot or not product.adds_only or (wanted == 2 and not product.loops):
        return False
    return kernel_type(product.frame.kernel, product.source) != "convolution"


def _are_rows_and_columns(axes: list[Axes], shared: int) -> bool:
    """Two factors, each with an axis of its own, and no third that needs both axes at once."""
    if len(axes) != 2:
        return False
    one, other = axes
    return bool(one - other and other - one) and len(one & other) == shared


def _own_axes(factor: ast.expr, product: SummedProduct, wanted: int) -> Axes | None:
    """Axes along which it changes, of a block of at least so many dimensions; none for a smaller one."""
    shape = factor_shape(factor, product.frame.function, product.source)
    if shape is None:
        return None
    if len(shape) < wanted:
        return frozenset()
    return frozenset(axis for axis, size in enumerate(shape) if size != 1)
