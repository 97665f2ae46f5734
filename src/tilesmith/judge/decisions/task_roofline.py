"""The task's roofline on the GPU at hand, or on the one compiled for."""

from __future__ import annotations

from dataclasses import replace

from tilesmith.process.protocol.reference import Environment
from tilesmith.tasks.gpus import GPUS, Gpu, find_gpu, gpu_from_properties
from tilesmith.tasks.roofline import Roofline, TaskProfile, roofline

_TYPICAL = {"sm_80": "A100 80GB", "sm_86": "RTX 3090", "sm_89": "RTX 4090", "sm_90": "H200", "gfx942": "MI300X"}
"""Which GPU a target stands for when there is none here."""


def gpu_for_target(target: str) -> Gpu | None:
    return next((gpu for gpu in GPUS if gpu.name == _TYPICAL.get(target)), None)


def gpu_at_hand(environment: Environment) -> Gpu | None:
    """From the table, else from what the driver told the reference child."""
    known, driver = find_gpu(environment.device), environment.driver
    if known is not None or driver is None or not driver.memory_clock_khz:
        return known
    return gpu_from_properties(driver)


def floor_on(profile: TaskProfile, gpu: Gpu | None) -> Roofline | None:
    found = roofline(profile, gpu) if gpu is not None else None
    if gpu is None or found is None:
        return None
    return replace(found, gpu=gpu.name, bytes_moved=profile.bytes_moved, flops=profile.flops)
