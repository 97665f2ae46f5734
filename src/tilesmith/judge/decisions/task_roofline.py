"""The task's roofline on the GPU at hand, or on the one compiled for."""

from __future__ import annotations

from dataclasses import replace

from tilesmith.process.protocol.reference import Environment
from tilesmith.tasks.gpu_estimate import estimate_gpu
from tilesmith.tasks.gpus import Gpu, find_gpu
from tilesmith.tasks.roofline import Roofline, TaskProfile, compute_roofline


def gpu_at_hand(environment: Environment) -> Gpu | None:
    """From the table, else from what the driver told the reference child."""
    known, driver = find_gpu(environment.device), environment.driver
    if known is not None or driver is None or not driver.memory_clock_khz:
        return known
    return estimate_gpu(driver)


def roofline_on(profile: TaskProfile, gpu: Gpu | None) -> Roofline | None:
    found = compute_roofline(profile, gpu) if gpu is not None else None
    if gpu is None or found is None:
        return None
    return replace(found, gpu=gpu.name, bytes_moved=profile.bytes_moved, flops=profile.flops)
