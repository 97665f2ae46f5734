"""What Triton's compiler and its launches refuse, said before they are asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.rules.compile.arange import arange_not_power_of_two, arange_runtime_bound
from tilesmith.lint.rules.compile.constructs import python_in_kernel
from tilesmith.lint.rules.compile.control_flow import break_in_kernel, return_in_loop
from tilesmith.lint.rules.compile.dots import dot_tile_too_small
from tilesmith.lint.rules.compile.fits import misfit
from tilesmith.lint.rules.compile.foreign import foreign_in_kernel
from tilesmith.lint.rules.compile.forgotten import forgotten_name
from tilesmith.lint.rules.compile.grid import grid_axis
from tilesmith.lint.rules.compile.indexing import tensor_indexing
from tilesmith.lint.rules.compile.language import unknown_language_function
from tilesmith.lint.rules.compile.launch_arguments import launch_arguments
from tilesmith.lint.rules.compile.members import unknown_member
from tilesmith.lint.rules.compile.module_values import global_in_kernel
from tilesmith.lint.rules.compile.shapes import constexpr_misuse
from tilesmith.lint.rules.compile.truth import tensor_truth
from tilesmith.lint.rules.compile.types import changing_type
from tilesmith.lint.rules.compile.unbound import undefined_name
from tilesmith.lint.rules.findings import Rule
from tilesmith.records import Finding


def together(*ideas: Rule) -> Rule:
    """One rule made of several ideas."""

    def rule(source: KernelSource) -> Iterator[Finding]:
        for idea in ideas:
            yield from idea(source)

    return rule


RULES: Mapping[str, Rule] = {
    "arange-not-power-of-two": arange_not_power_of_two,
    "arange-runtime-bound": arange_runtime_bound,
    "tensor-indexing": tensor_indexing,
    "grid-axis": grid_axis,
    "break-in-kernel": break_in_kernel,
    "return-in-loop": return_in_loop,
    "tensor-truth": tensor_truth,
    "unknown-language-function": together(unknown_language_function, unknown_member),
    "undefined-name": together(undefined_name, forgotten_name),
    "constexpr-misuse": together(constexpr_misuse, misfit),
    "dot-tile-too-small": dot_tile_too_small,
    "global-in-kernel": global_in_kernel,
    "python-in-kernel": together(python_in_kernel, foreign_in_kernel, changing_type),
    "launch-arguments": launch_arguments,
}
