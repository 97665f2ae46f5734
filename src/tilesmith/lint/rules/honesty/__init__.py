"""Does the candidate do its work, in its own kernels, each time it is asked?"""

from __future__ import annotations

from collections.abc import Mapping

from tilesmith.lint.rules.findings import Rule
from tilesmith.lint.rules.honesty.caching import cached_output
from tilesmith.lint.rules.honesty.decoys import decoy_kernel, torch_does_the_work
from tilesmith.lint.rules.honesty.fallback import try_except_fallback
from tilesmith.lint.rules.honesty.flags import flags_flipped
from tilesmith.lint.rules.honesty.patching import patched_runtime
from tilesmith.lint.rules.honesty.presence import no_model_class, no_triton_launch
from tilesmith.lint.rules.honesty.reference import reference_imported
from tilesmith.lint.rules.honesty.sniffing import environment_sniffing
from tilesmith.lint.rules.honesty.streams import side_stream

RULES: Mapping[str, Rule] = {
    "no-model-class": no_model_class,
    "no-triton-launch": no_triton_launch,
    "torch-does-the-work": torch_does_the_work,
    "decoy-kernel": decoy_kernel,
    "cached-output": cached_output,
    "try-except-fallback": try_except_fallback,
    "flags-flipped": flags_flipped,
    "side-stream": side_stream,
    "patched-runtime": patched_runtime,
    "reference-imported": reference_imported,
    "environment-sniffing": environment_sniffing,
}
