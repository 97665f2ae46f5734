"""Does the candidate do its work, in its own kernels, each time it is asked?"""

from __future__ import annotations

from collections.abc import Mapping

from tilesmith.lint.rules.findings import Rule
from tilesmith.lint.rules.honesty.presence import no_model_class, no_triton_launch, try_except_fallback

RULES: Mapping[str, Rule] = {
    "no-model-class": no_model_class,
    "no-triton-launch": no_triton_launch,
    "try-except-fallback": try_except_fallback,
}
