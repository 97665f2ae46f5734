"""Was the plan carried out: the loop through time on the device, the work spread out, the tensor cores used?"""

from __future__ import annotations

from collections.abc import Mapping

from tilesmith.lint.rules.findings import Rule
from tilesmith.lint.rules.plan.direct_convolution import direct_convolution
from tilesmith.lint.rules.plan.launch_count import small_launch_count
from tilesmith.lint.rules.plan.recurrent_grid import grid_batch_only
from tilesmith.lint.rules.plan.registers import register_budget
from tilesmith.lint.rules.plan.scalar_products import scalar_vector_loop
from tilesmith.lint.rules.plan.tensor_cores import no_tensor_core
from tilesmith.lint.rules.plan.time_loop import time_loop_on_host
from tilesmith.lint.rules.plan.tuning import autotune_on_persistent

RULES: Mapping[str, Rule] = {
    "time-loop-on-host": time_loop_on_host,
    "grid-batch-only": grid_batch_only,
    "scalar-vector-loop": scalar_vector_loop,
    "direct-convolution": direct_convolution,
    "no-tensor-core": no_tensor_core,
    "register-budget": register_budget,
    "autotune-on-persistent": autotune_on_persistent,
    "small-launch-count": small_launch_count,
}
