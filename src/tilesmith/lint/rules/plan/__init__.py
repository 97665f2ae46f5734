"""Was the plan carried out: the loop through time on the device, the work spread out, the tensor cores used?"""

from __future__ import annotations

from tilesmith.lint.rules.findings import Rule
from tilesmith.lint.rules.plan.autotune_on_persistent import autotune_on_persistent
from tilesmith.lint.rules.plan.direct_convolution import direct_convolution
from tilesmith.lint.rules.plan.grid_batch_only import grid_batch_only
from tilesmith.lint.rules.plan.no_tensor_core import no_tensor_core
from tilesmith.lint.rules.plan.register_budget import register_budget
from tilesmith.lint.rules.plan.scalar_vector_loop import scalar_vector_loop
from tilesmith.lint.rules.plan.small_launch_count import small_launch_count
from tilesmith.lint.rules.plan.time_loop_on_host import time_loop_on_host

RULES: tuple[Rule, ...] = (
    time_loop_on_host,
    grid_batch_only,
    scalar_vector_loop,
    direct_convolution,
    no_tensor_core,
    register_budget,
    autotune_on_persistent,
    small_launch_count,
)
