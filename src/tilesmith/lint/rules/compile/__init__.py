"""What Triton's compiler and its launches refuse, said before they are asked."""

from __future__ import annotations

from tilesmith.lint.rules.compile.arange_not_power_of_two import arange_not_power_of_two
from tilesmith.lint.rules.compile.arange_runtime_bound import arange_runtime_bound
from tilesmith.lint.rules.compile.break_in_kernel import break_in_kernel
from tilesmith.lint.rules.compile.constexpr_misuse import constexpr_misuse
from tilesmith.lint.rules.compile.dot_tile_too_small import dot_tile_too_small
from tilesmith.lint.rules.compile.global_in_kernel import global_in_kernel
from tilesmith.lint.rules.compile.grid_axis import grid_axis
from tilesmith.lint.rules.compile.launch_arguments import launch_arguments
from tilesmith.lint.rules.compile.python_in_kernel import python_in_kernel
from tilesmith.lint.rules.compile.return_in_loop import return_in_loop
from tilesmith.lint.rules.compile.tensor_indexing import tensor_indexing
from tilesmith.lint.rules.compile.tensor_truth import tensor_truth
from tilesmith.lint.rules.compile.undefined_name import undefined_name
from tilesmith.lint.rules.compile.unknown_language_function import unknown_language_function
from tilesmith.lint.rules.findings import Rule

RULES: tuple[Rule, ...] = (
    arange_not_power_of_two,
    arange_runtime_bound,
    tensor_indexing,
    grid_axis,
    break_in_kernel,
    return_in_loop,
    tensor_truth,
    unknown_language_function,
    undefined_name,
    constexpr_misuse,
    dot_tile_too_small,
    global_in_kernel,
    python_in_kernel,
    launch_arguments,
)
