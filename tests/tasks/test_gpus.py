"""The table of GPUs, found by what drivers call them."""

from __future__ import annotations

import pytest

from tilesmith.config import TARGETS
from tilesmith.tasks.gpus import ARCHITECTURES, GPUS, REPRESENTATIVES, find_gpu


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
        ("NVIDIA B200", "B200"),
        ("NVIDIA GeForce RTX 5090", "RTX 5090"),
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
     "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA GeForce RTX 5090 D", "NVIDIA GB200", ""],
)  # fmt: skip
def test_siblings_with_other_peaks_are_not_mistaken(name):
    assert find_gpu(name) is None


def test_every_target_has_one_representative():
    assert set(TARGETS) == set(ARCHITECTURES) == set(REPRESENTATIVES)
    assert [gpu.target for gpu in REPRESENTATIVES.values()] == list(REPRESENTATIVES)
    assert REPRESENTATIVES["sm_90"].name == "H200"


@pytest.mark.parametrize("gpu", GPUS, ids=lambda gpu: gpu.name)
def test_rows_are_plausible(gpu):
    assert gpu.bf16_tflops <= gpu.fp16_tflops
    assert gpu.fp8_tflops is None or gpu.fp8_tflops == pytest.approx(2 * gpu.fp16_tflops, rel=0.01)
    assert gpu.tensor_tflops("float32") >= gpu.fp32_tflops
    assert gpu.tensor_tflops("float16") == gpu.fp16_tflops
    assert find_gpu(gpu.driver_name) is gpu
    assert gpu.target in ARCHITECTURES
    assert gpu.source
    assert gpu.released[:2] == "20"
