"""The floor that a check reports: the GPU at hand, or the one compiled for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tilesmith.judge.decisions.task_roofline import floor_on, gpu_at_hand, gpu_for_target
from tilesmith.process.protocol.reference import Environment
from tilesmith.tasks.gpus import GPUS, DriverProperties
from tilesmith.tasks.roofline import TaskProfile

DRIVER = DriverProperties(
    name="NVIDIA Mystery",
    capability=(9, 0),
    multiprocessors=100,
    clock_khz=1_000_000,
    memory_clock_khz=1_000_000,
    bus_bits=4096,
    l2_bytes=2**25,
    shared_bytes_per_block=232_448,
)
COPY = TaskProfile(bytes_moved=4_800_000_000, flops=0, tensor_flops=0, dtype="float32")


def machine(device: str, driver: DriverProperties | None) -> Environment:
    return Environment("0", "3.11", "2", "3", device, driver=driver)


@pytest.mark.parametrize("target", sorted({gpu.target for gpu in GPUS}))
def test_every_target_in_the_table_stands_for_a_gpu_of_that_target(target: str) -> None:
    gpu = gpu_for_target(target)
    assert gpu is not None
    assert gpu.target == target


def test_an_unknown_target_stands_for_none() -> None:
    assert gpu_for_target("sm_52") is None
    assert floor_on(COPY, gpu_for_target("sm_52")) is None


def test_the_gpu_at_hand_is_found_by_name_before_its_clocks_are_believed() -> None:
    known = gpu_at_hand(machine("NVIDIA H200", DRIVER))
    assert known is not None
    assert known.name == "H200"


def test_a_gpu_outside_the_table_is_estimated_from_its_driver() -> None:
    gpu = gpu_at_hand(machine("NVIDIA Mystery", DRIVER))
    assert gpu is not None
    assert gpu.target == "sm_90"
    assert gpu.memory_gb_per_s == pytest.approx(1024)


@pytest.mark.parametrize("driver", [None, replace(DRIVER, memory_clock_khz=0)])
def test_nothing_is_made_up_without_clocks(driver: DriverProperties | None) -> None:
    assert gpu_at_hand(machine("NVIDIA Mystery", driver)) is None


def test_a_copy_on_an_h200_takes_its_bytes_over_its_bandwidth() -> None:
    floor = floor_on(COPY, gpu_for_target("sm_90"))
    assert floor is not None
    assert floor["floor_ms"] == pytest.approx(1.0)
    assert (floor["bound"], floor["gpu"], floor["bytes_moved"]) == ("memory", "H200", 4_800_000_000)


def test_an_unknown_profile_has_no_floor() -> None:
    gpu = gpu_for_target("sm_90")
    assert floor_on(TaskProfile(), gpu) is None
    assert floor_on(TaskProfile(reason="cannot count"), gpu) is None
