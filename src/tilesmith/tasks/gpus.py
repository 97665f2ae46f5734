"""What GPUs can do at best: published peaks for the usual ones, estimates for the rest.

Peaks are dense (no 2:4 sparsity), at boost clock, the fastest documented path of each type: with
16-bit accumulation for fp16 and fp8 where a GeForce card is faster that way, and on tensor
cores for fp64 where there are any. They bound a kernel's time from below, so they must not be low.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Gpu:
    """One GPU model: bandwidth, arithmetic peaks, and the limits a kernel must respect."""

    name: str
    target: str
    memory_gb_per_s: float
    fp32_tflops: float
    tf32_tflops: float | None
    fp16_tflops: float
    bf16_tflops: float
    fp8_tflops: float | None
    fp64_tflops: float
    multiprocessors: int
    l2_bytes: int
    shared_bytes_per_block: int
    released: str
    source: str

    def tensor_tflops(self, dtype: str) -> float:
        """The peak for contractions of `dtype`; float32 may run as tf32 or as split bf16."""
        peaks = {
            "float64": self.fp64_tflops,
            "float32": max(self.tf32_tflops or 0.0, self.fp32_tflops),
            "float16": self.fp16_tflops,
            "bfloat16": self.bf16_tflops,
        }
        if dtype.startswith("float8"):
            return self.fp8_tflops or self.fp16_tflops
        return peaks.get(dtype, max(peaks.values()))


HOPPER = "NVIDIA H100 Tensor Core GPU Architecture whitepaper v1.04 and H100 datasheet"
AMPERE = "NVIDIA A100 Tensor Core GPU datasheet and architecture whitepaper"

GPUS = (
    Gpu("H100 SXM", "sm_90", 3352, 66.9, 494.7, 989.4, 989.4, 1978.9, 66.9, 132, 50 * MEGABYTE, 232_448,
        "2022-09", HOPPER),
    Gpu("H100 PCIe", "sm_90", 2039, 51.2, 378, 756, 756, 1513, 51.2, 114, 50 * MEGABYTE, 232_448,
        "2022-09", HOPPER),
    Gpu("H200", "sm_90", 4800, 66.9, 494.7, 989.4, 989.4, 1978.9, 66.9, 132, 50 * MEGABYTE, 232_448,
        "2023-11", "NVIDIA H200 Tensor Core GPU datasheet"),
    Gpu("A100 40GB", "sm_80", 1555, 19.5, 156, 312, 312, None, 19.5, 108, 40 * MEGABYTE, 166_912,
        "2020-05", AMPERE),
    Gpu("A100 80GB", "sm_80", 2039, 19.5, 156, 312, 312, None, 19.5, 108, 40 * MEGABYTE, 166_912,
        "2020-11", AMPERE),
    Gpu("L40S", "sm_89", 864, 91.6, 183, 366.4, 366.4, 733, 1.43, 142, 96 * MEGABYTE, 101_376,
        "2023-08", "NVIDIA L40S datasheet"),
    Gpu("RTX 4090", "sm_89", 1008, 82.6, 82.6, 330.3, 165.2, 660.6, 1.29, 128, 72 * MEGABYTE, 101_376,
        "2022-10", "NVIDIA Ada GPU Architecture whitepaper, appendix A"),
    Gpu("RTX 3090", "sm_86", 936, 35.6, 35.6, 142.3, 71.2, None, 0.556, 82, 6 * MEGABYTE, 101_376,
        "2020-09", "NVIDIA Ampere GA102 GPU Architecture whitepaper, appendix A"),
    Gpu("MI300X", "gfx942", 5300, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 163.4, 304, 32 * MEGABYTE, 65_536,
        "2023-12", "AMD Instinct MI300X accelerator data sheet"),
)  # fmt: skip

DRIVER_NAMES = (
    (r"H200", "H200"),
    (r"H100.*PCIE", "H100 PCIe"),
    (r"H100(?!.*NVL)", "H100 SXM"),
    (r"A100.*40GB", "A100 40GB"),
    (r"A100", "A100 80GB"),
    (r"L40S", "L40S"),
    (r"RTX ?4090(?! ?(D\b|LAPTOP|MOBILE))", "RTX 4090"),
    (r"RTX ?3090(?! ?TI)", "RTX 3090"),
    (r"MI300X", "MI300X"),
)
"""Patterns for what drivers call them, first match wins. A100 without a size is taken as 80 GB, the
faster one. Siblings with other peaks (H100 NVL, 4090 D, 3090 Ti) are read from the driver instead."""


def find_gpu(name: str) -> Gpu | None:
    """The table's row for a driver's name such as "NVIDIA H100 80GB HBM3"; None if unknown."""
    for pattern, row in DRIVER_NAMES:
        if re.search(rf"\b{pattern}", name.upper()):
            return next(gpu for gpu in GPUS if gpu.name == row)
    return None


@dataclass(frozen=True)
class DriverProperties:
    """What a driver tells about a GPU (`torch.cuda.get_device_properties`); clocks in kHz."""

    name: str
    capability: tuple[int, int]
    multiprocessors: int
    clock_khz: int
    memory_clock_khz: int
    bus_bits: int
    l2_bytes: int
    shared_bytes_per_block: int


@dataclass(frozen=True)
class _PerClock:
    """Dense floating-point operations of one multiprocessor in one cycle."""

    fp32: int
    fp16: int
    tf32: int
    fp64: int


PER_CLOCK = {
    (7, 0): _PerClock(128, 1024, 0, 64),
    (7, 5): _PerClock(128, 1024, 0, 4),
    (8, 0): _PerClock(128, 2048, 1024, 128),
    (8, 6): _PerClock(256, 1024, 256, 4),
    (8, 7): _PerClock(256, 2048, 1024, 4),
    (8, 9): _PerClock(256, 1024, 512, 4),
    (9, 0): _PerClock(256, 4096, 2048, 256),
    (10, 0): _PerClock(256, 8192, 4096, 128),
    (12, 0): _PerClock(256, 1024, 512, 4),
}


def gpu_from_properties(properties: DriverProperties) -> Gpu:
    """An estimate for a GPU that the table lacks: width per cycle of its generation times clock."""
    known = [capability for capability in PER_CLOCK if capability <= properties.capability]
    width = PER_CLOCK[max(known, default=(7, 0))]
    cycles = properties.multiprocessors * properties.clock_khz * 1e3 / 1e12
    major, minor = properties.capability
    return Gpu(
        name=properties.name,
        target=f"sm_{major}{minor}",
        memory_gb_per_s=2 * properties.memory_clock_khz * 1e3 * properties.bus_bits / 8 / 1e9,
        fp32_tflops=width.fp32 * cycles,
        tf32_tflops=width.tf32 * cycles or None,
        fp16_tflops=width.fp16 * cycles,
        bf16_tflops=width.fp16 * cycles,
        fp8_tflops=2 * width.fp16 * cycles if properties.capability >= (8, 9) else None,
        fp64_tflops=width.fp64 * cycles,
        multiprocessors=properties.multiprocessors,
        l2_bytes=properties.l2_bytes,
        shared_bytes_per_block=properties.shared_bytes_per_block,
        released="unknown",
        source="estimated from the driver's clocks and the multiprocessors of its generation",
    )
