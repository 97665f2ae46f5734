"""The floor under a task's time."""

from __future__ import annotations

import pytest

from tilesmith.tasks.gpus import find_gpu
from tilesmith.tasks.roofline import TaskProfile, compute_roofline

H200 = find_gpu("NVIDIA H200")
assert H200 is not None


def test_a_copy_is_bound_by_memory():
    floor = compute_roofline(
        TaskProfile(bytes_moved=4_800_000_000, flops=1000, tensor_flops=0, dtype="float32"), H200
    )
    assert floor is not None
    assert floor.bound == "memory"
    assert floor.floor_ms == pytest.approx(1.0)


def test_a_large_product_is_bound_by_arithmetic_at_the_fastest_path():
    flops = 2 * 4096**3
    profile = TaskProfile(bytes_moved=3 * 4 * 4096**2, flops=flops, tensor_flops=flops, dtype="float32")
    floor = compute_roofline(profile, H200)
    assert floor is not None
    assert floor.bound == "compute"
    # split-bf16 kernels reach 1.17 ms, cuBLAS fp32 2.77 ms: the floor must lie below both
    assert floor.floor_ms == pytest.approx(flops / 494.7e12 * 1e3)


def test_half_precision_has_a_lower_floor():
    def floor(dtype):
        profile = TaskProfile(bytes_moved=1, flops=10**15, tensor_flops=10**15, dtype=dtype)
        return compute_roofline(profile, H200).compute_ms

    assert floor("float16") < floor("float32") < floor("float64")


def test_an_unknown_profile_has_no_floor():
    assert compute_roofline(TaskProfile(reason="unknown"), H200) is None
