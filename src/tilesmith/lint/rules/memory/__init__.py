"""Values that are wrong at an edge, overflow, or lose precision."""

from __future__ import annotations

from tilesmith.lint.rules.findings import Rule
from tilesmith.lint.rules.memory.atomic_order import atomic_order
from tilesmith.lint.rules.memory.contiguity_assumed import contiguity_assumed
from tilesmith.lint.rules.memory.int32_overflow import int32_overflow
from tilesmith.lint.rules.memory.low_precision_accumulator import low_precision_accumulator
from tilesmith.lint.rules.memory.missing_mask import missing_mask
from tilesmith.lint.rules.memory.missing_other import missing_other
from tilesmith.lint.rules.memory.stride_reuse import stride_reuse
from tilesmith.lint.rules.memory.tf32_implicit import tf32_implicit
from tilesmith.lint.rules.memory.unsafe_exp import unsafe_exp

RULES: tuple[Rule, ...] = (
    missing_mask,
    missing_other,
    unsafe_exp,
    low_precision_accumulator,
    int32_overflow,
    stride_reuse,
    contiguity_assumed,
    tf32_implicit,
    atomic_order,
)
