"""Does the candidate do its work, in its own kernels, each time it is asked?"""

from __future__ import annotations

from tilesmith.lint.rules.cheating.cached_output import cached_output
from tilesmith.lint.rules.cheating.decoy_kernel import decoy_kernel
from tilesmith.lint.rules.cheating.environment_sniffing import environment_sniffing
from tilesmith.lint.rules.cheating.flags_flipped import flags_flipped
from tilesmith.lint.rules.cheating.no_triton_launch import no_triton_launch
from tilesmith.lint.rules.cheating.patched_runtime import patched_runtime
from tilesmith.lint.rules.cheating.reference_imported import reference_imported
from tilesmith.lint.rules.cheating.side_stream import side_stream
from tilesmith.lint.rules.cheating.torch_does_the_work import torch_does_the_work
from tilesmith.lint.rules.cheating.try_except_fallback import try_except_fallback
from tilesmith.lint.rules.findings import Rule

RULES: tuple[Rule, ...] = (
    no_triton_launch,
    torch_does_the_work,
    decoy_kernel,
    cached_output,
    try_except_fallback,
    flags_flipped,
    side_stream,
    patched_runtime,
    reference_imported,
    environment_sniffing,
)
