"""Record the launches of a candidate and compile them for a GPU that need not be here.

    with recording() as launches:
        model(*inputs)
    for launch in distinct(launches):
        resources = compile_launch(launch, target="sm_90")

Only for a process that imported triton without TRITON_INTERPRET; `install_fake_driver`
alone also serves the process that interprets.
"""

from __future__ import annotations

from tilesmith.worker.compile.compilation import compile_launch
from tilesmith.worker.compile.failure import CompileFailure, explain_on_gpu
from tilesmith.worker.compile.recorded_launch import RecordedLaunch, distinct
from tilesmith.worker.compile.targets import TARGETS, Target, target_named
from tilesmith.worker.fake_cuda.driver import fake_driver, install_fake_driver

__all__ = [
    "TARGETS",
    "CompileFailure",
    "RecordedLaunch",
    "Target",
    "compile_launch",
    "distinct",
    "explain_on_gpu",
    "fake_driver",
    "install_fake_driver",
    "target_named",
]
