"""Matrix products taken one scalar at a time."""

from __future__ import annotations

from collections.abc import Iterator

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.rules.findings import first_on_each_line, warning
from tilesmith.lint.structure.kernel_kinds.kernel_type import kernel_type
from tilesmith.lint.structure.reductions.summed_products import SummedProduct, summed_products
from tilesmith.records import Finding


@first_on_each_line
def scalar_vector_loop(source: KernelSource) -> Iterator[Finding]:
    """A loop that multiplies one loaded scalar with a loaded vector and adds up."""
    for product in summed_products(source):
        if _is_scalar_times_vector(product):
            message = (
                "this loop multiplies one loaded scalar with a vector in each turn: load tiles of both "
                "matrices and multiply them with tl.dot"
            )
            yield warning("scalar-vector-loop", product.loops[-1][1].node.lineno, message)


def _is_scalar_times_vector(product: SummedProduct) -> bool:
    value = product.frame.function.value
    scalars = [factor for factor in product.factors if value(factor).is_scalar]
    blocks = [factor for factor in product.factors if value(factor).is_block]
    if not scalars or not blocks or product.kind != "turns" or not product.loops:
        return False
    if product.is_short or product.has_dot or not product.adds_only:
        return False
    if kernel_type(product.frame.kernel, product.source) == "convolution":
        return False
    single = [s for s in scalars if any(value(load).is_scalar for load in product.loads_each_turn(s))]
    whole = [b for b in blocks if any(value(load).is_block for load in product.loads_each_turn(b))]
    return any(product.is_reused(scalar, block) for scalar in single for block in whole)
