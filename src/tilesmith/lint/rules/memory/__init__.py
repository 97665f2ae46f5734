"""Values that are wrong at an edge, overflow, or lose precision."""

from __future__ import annotations

from collections.abc import Mapping

from tilesmith.lint.rules.findings import Rule
from tilesmith.lint.rules.memory.accumulators import low_precision_accumulator
from tilesmith.lint.rules.memory.atomics import atomic_order
from tilesmith.lint.rules.memory.contiguity import contiguity_assumed
from tilesmith.lint.rules.memory.dot_precision import tf32_implicit
from tilesmith.lint.rules.memory.exponentials import unsafe_exp
from tilesmith.lint.rules.memory.missing_mask import missing_mask
from tilesmith.lint.rules.memory.missing_other import missing_other
from tilesmith.lint.rules.memory.overflow import int32_overflow
from tilesmith.lint.rules.memory.strides import stride_reuse

RULES: Mapping[str, Rule] = {
    "missing-mask": missing_mask,
    "missing-other": missing_other,
    "unsafe-exp": unsafe_exp,
    "low-precision-accumulator": low_precision_accumulator,
    "int32-overflow": int32_overflow,
    "stride-reuse": stride_reuse,
    "contiguity-assumed": contiguity_assumed,
    "tf32-implicit": tf32_implicit,
    "atomic-order": atomic_order,
}
