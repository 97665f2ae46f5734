"""GPUs that the table lacks."""

from __future__ import annotations

import pytest

from tilesmith.tasks.gpu_estimate import DriverProperties, estimate_gpu
from tilesmith.tasks.gpus import GPUS


@pytest.mark.parametrize(
    ("row", "properties"),
    [
        ("RTX 4090", DriverProperties("x", (8, 9), 128, 2_520_000, 10_501_000, 384, 1, 1)),
        ("RTX 3090", DriverProperties("x", (8, 6), 82, 1_695_000, 9_751_000, 384, 1, 1)),
        ("A100 40GB", DriverProperties("x", (8, 0), 108, 1_410_000, 1_215_000, 5120, 1, 1)),
        ("H100 SXM", DriverProperties("x", (9, 0), 132, 1_830_000, 2_619_000, 5120, 1, 1)),
    ],
)
def test_estimates_from_the_driver_reproduce_the_datasheet(row, properties):
    known = next(gpu for gpu in GPUS if gpu.name == row)
    estimate = estimate_gpu(properties)
    assert estimate.target == known.target
    assert estimate.memory_gb_per_s == pytest.approx(known.memory_gb_per_s, rel=0.01)
    assert estimate.fp16_tflops == pytest.approx(known.fp16_tflops, rel=0.01)
    assert estimate.fp32_tflops == pytest.approx(known.fp32_tflops, rel=0.1)
    assert estimate.tensor_tflops("float32") >= known.tensor_tflops("float32") * 0.99


def test_a_generation_newer_than_the_table_is_taken_as_the_newest_known():
    estimate = estimate_gpu(DriverProperties("B999", (13, 0), 100, 2_000_000, 1_000_000, 4096, 1, 1))
    assert estimate.fp32_tflops > 0
    assert estimate.target == "sm_130"
