"""Record the launches of a candidate and compile them for a GPU that need not be here.

    with recording() as launches:
        model(*inputs)
    for launch in distinct(launches):
        resources = compile_launch(launch, target="sm_90")

Only for a process that imported triton without TRITON_INTERPRET; `install_fake_driver`
alone also serves the process that interprets.
"""

from __future__ import annotations

from tilesmith.worker.compile.compiling import compile_launch
from tilesmith.worker.compile.failure import CompileFailure, explain_on_gpu
from tilesmith.worker.compile.fake_driver import fake_driver, install_fake_driver
from tilesmith.worker.compile.launches import Launch, distinct
from tilesmith.worker.compile.recording import recording
from tilesmith.worker.compile.targets import TARGETS, Target, target_named

__all__ = [
    "TARGETS",
    "CompileFailure",
    "Launch",
    "Target",
    "compile_launch",
    "distinct",
    "explain_on_gpu",
    "fake_driver",
    "install_fake_driver",
    "recording",
    "target_named",
]
