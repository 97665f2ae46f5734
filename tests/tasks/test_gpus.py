"""The table of GPUs, found by what drivers call them."""

from __future__ import annotations

import pytest

from tilesmith.tasks.gpus import GPUS, DriverProperties, find_gpu, gpu_from_properties


@pytest.mark.parametrize(
    ("driver_name", "row"),
    [
        ("NVIDIA H100 80GB HBM3", "H100 SXM"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA H200", "H200"),
        ("NVIDIA A100-SXM4-80GB", "A100 80GB"),
        ("NVIDIA A100-SXM4-40GB", "A100 40GB"),
        ("NVIDIA A100-PCIE-40GB", "A100 40GB"),
        ("NVIDIA L40S", "L40S"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("NVIDIA GeForce RTX 3090", "RTX 3090"),
        ("AMD Instinct MI300X", "MI300X"),
    ],
)
def test_driver_names_are_recognized(driver_name, row):
    gpu = find_gpu(driver_name)
    assert gpu is not None
    assert gpu.name == row


@pytest.mark.parametrize(
    "name",
    ["NVIDIA GeForce RTX 3090 Ti", "NVIDIA GeForce RTX 4090 D", "NVIDIA L40", "NVIDIA H100 NVL", "Tesla T4",
     "NVIDIA GeForce RTX 4090 Laptop GPU", ""],
)  # fmt: skip
def test_siblings_with_other_peaks_are_not_mistaken(name):
    assert find_gpu(name) is None


@pytest.mark.parametrize("gpu", GPUS, ids=lambda gpu: gpu.name)
def test_rows_are_plausible(gpu):
    assert gpu.bf16_tflops <= gpu.fp16_tflops
    assert gpu.fp8_tflops is None or gpu.fp8_tflops == pytest.approx(2 * gpu.fp16_tflops, rel=0.01)
    assert gpu.tensor_tflops("float32") >= gpu.fp32_tflops
    assert gpu.tensor_tflops("float16") == gpu.fp16_tflops
    assert gpu.source
    assert gpu.released[:2] == "20"


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
    estimate = gpu_from_properties(properties)
    assert estimate.target == known.target
    assert estimate.memory_gb_per_s == pytest.approx(known.memory_gb_per_s, rel=0.01)
    assert estimate.fp16_tflops == pytest.approx(known.fp16_tflops, rel=0.01)
    assert estimate.fp32_tflops == pytest.approx(known.fp32_tflops, rel=0.1)
    assert estimate.tensor_tflops("float32") >= known.tensor_tflops("float32") * 0.99


def test_a_generation_newer_than_the_table_is_taken_as_the_newest_known():
    estimate = gpu_from_properties(DriverProperties("B999", (13, 0), 100, 2_000_000, 1_000_000, 4096, 1, 1))
    assert estimate.fp32_tflops > 0
    assert estimate.target == "sm_130"
