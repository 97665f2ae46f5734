"""What Triton's compiler refuses, said before it is asked."""

from __future__ import annotations

from collections.abc import Mapping

from tilesmith.lint.rules.compile.arange import arange_not_power_of_two, arange_runtime_bound
from tilesmith.lint.rules.compile.control_flow import break_in_kernel
from tilesmith.lint.rules.compile.indexing import tensor_indexing
from tilesmith.lint.rules.compile.language import grid_axis, unknown_language_function
from tilesmith.lint.rules.findings import Rule

RULES: Mapping[str, Rule] = {
    "arange-not-power-of-two": arange_not_power_of_two,
    "arange-runtime-bound": arange_runtime_bound,
    "tensor-indexing": tensor_indexing,
    "grid-axis": grid_axis,
    "unknown-language-function": unknown_language_function,
    "break-in-kernel": break_in_kernel,
}
