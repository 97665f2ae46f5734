"""Was the plan carried out: the loop through time on the device, the work spread out, the tensor cores used?"""

from __future__ import annotations

from collections.abc import Mapping

from tilesmith.lint.rules.findings import Rule
from tilesmith.lint.rules.plan.time_loop import time_loop_on_host

RULES: Mapping[str, Rule] = {
    "time-loop-on-host": time_loop_on_host,
}
