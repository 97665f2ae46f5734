"""The floor that a check reports: the GPU at hand, or the one compiled for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tilesmith.config import TARGETS
from tilesmith.judge.decisions.task_roofline import gpu_at_hand, roofline_on
from tilesmith.process.protocol.reference import Environment
from tilesmith.tasks.gpu_estimate import DriverProperties
from tilesmith.tasks.gpus import REPRESENTATIVES
from tilesmith.tasks.roofline import TaskProfile

DRIVER = DriverProperties("NVIDIA Mystery", (9, 0), 100, 1_000_000, 1_000_000, 4096, 2**25, 232_448)
COPY = TaskProfile(bytes_moved=4_800_000_000, flops=0, tensor_flops=0, dtype="float32")


def environment(device: str, driver: DriverProperties | None = DRIVER) -> Environment:
    return Environment("0", "3.12", "2.11", "3.6", device, driver=driver)


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_has_a_floor(target: str) -> None:
    floor = roofline_on(COPY, REPRESENTATIVES[target])
    assert floor is not None
    assert floor.floor_ms > 0


def test_without_a_gpu_there_is_no_floor() -> None:
    assert roofline_on(COPY, None) is None


def test_the_gpu_at_hand_is_found_by_name_before_its_clocks_are_believed() -> None:
    known = gpu_at_hand(environment("NVIDIA H200"))
    assert known is not None
    assert known.name == "H200"


def test_a_gpu_outside_the_table_is_estimated_from_its_driver() -> None:
    gpu = gpu_at_hand(environment("NVIDIA Mystery"))
    assert gpu is not None
    assert gpu.target == "sm_90"
    assert gpu.memory_gb_per_s == pytest.approx(1024)


@pytest.mark.parametrize("driver", [None, replace(DRIVER, memory_clock_khz=0)])
def test_nothing_is_made_up_without_clocks(driver: DriverProperties | None) -> None:
    assert gpu_at_hand(environment("NVIDIA Mystery", driver)) is None


def test_a_copy_on_an_h200_takes_its_bytes_over_its_bandwidth() -> None:
    floor = roofline_on(COPY, REPRESENTATIVES["sm_90"])
    assert floor is not None
    assert floor.floor_ms == pytest.approx(1.0)
    assert (floor.bound, floor.gpu, floor.bytes_moved) == ("memory", "H200", 4_800_000_000)


def test_an_unknown_profile_has_no_floor() -> None:
    assert roofline_on(TaskProfile(reason="cannot count"), REPRESENTATIVES["sm_90"]) is None
