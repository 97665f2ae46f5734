"""The one table of GPUs: what each can do at best, what a kernel must respect, and which one a target stands for.

Peaks are dense (no 2:4 sparsity), at boost clock, the fastest documented path of each type: with
16-bit accumulation for fp16 and fp8 where a GeForce card is faster that way, and on tensor
cores for fp64 where there are any. They bound a kernel's time from below, so they must not be low.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

KIB, MIB, GIB = 2**10, 2**20, 2**30


@dataclass(frozen=True)
class Architecture:
    """What all GPUs of one target have in common."""

    target: str
    """As `--target` names it: sm_90, gfx942."""
    backend: str
    """Triton's name for the family: cuda or hip."""
    capability: tuple[int, int]
    """What `torch.cuda.get_device_capability()` answers."""
    warp_size: int
    shared_bytes_per_block: int
    """After opting in. Compilers do not check it, launches do."""
    shared_bytes_per_multiprocessor: int
    threads_per_multiprocessor: int
    registers_per_multiprocessor: int = 65536


ARCHITECTURES = {
    one.target: one
    for one in (
        Architecture("sm_80", "cuda", (8, 0), 32, 163 * KIB, 164 * KIB, 2048),
        Architecture("sm_86", "cuda", (8, 6), 32, 99 * KIB, 100 * KIB, 1536),
        Architecture("sm_89", "cuda", (8, 9), 32, 99 * KIB, 100 * KIB, 1536),
        Architecture("sm_90", "cuda", (9, 0), 32, 227 * KIB, 228 * KIB, 2048),
        Architecture("sm_100", "cuda", (10, 0), 32, 227 * KIB, 228 * KIB, 2048),
        Architecture("sm_120", "cuda", (12, 0), 32, 99 * KIB, 100 * KIB, 1536),
        Architecture("gfx942", "hip", (9, 4), 64, 64 * KIB, 64 * KIB, 2048),
        Architecture("gfx1100", "hip", (11, 0), 32, 64 * KIB, 64 * KIB, 2048),
    )
}
"""Every target that kernels can be compiled for. Numbers are from the vendors' programming guides."""


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
    clock_khz: int
    memory_clock_khz: int
    bus_bits: int
    memory_bytes: int | None
    driver_name: str
    """As `torch.cuda.get_device_name()` spells it."""
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


@dataclass(frozen=True)
class _Peaks:
    """TFLOP/s; None where the type has no unit of its own."""

    fp32: float
    tf32: float | None
    fp16: float
    bf16: float
    fp8: float | None
    fp64: float


@dataclass(frozen=True)
class _Memory:
    gb_per_s: float
    gib: int
    clock_khz: int
    bus_bits: int
    l2_mib: int


def _gpu(
    names: tuple[str, str], target: str, units: tuple[int, int], memory: _Memory, peaks: _Peaks, released: str
) -> Gpu:
    """`names`: ours and the driver's; `units`: multiprocessors and their boost clock in MHz."""
    return Gpu(
        name=names[0],
        target=target,
        memory_gb_per_s=memory.gb_per_s,
        fp32_tflops=peaks.fp32,
        tf32_tflops=peaks.tf32,
        fp16_tflops=peaks.fp16,
        bf16_tflops=peaks.bf16,
        fp8_tflops=peaks.fp8,
        fp64_tflops=peaks.fp64,
        multiprocessors=units[0],
        l2_bytes=memory.l2_mib * MIB,
        shared_bytes_per_block=ARCHITECTURES[target].shared_bytes_per_block,
        clock_khz=units[1] * 1000,
        memory_clock_khz=memory.clock_khz,
        bus_bits=memory.bus_bits,
        memory_bytes=memory.gib * GIB,
        driver_name=names[1],
        released=released,
        source="published specifications",
    )


_HOPPER = _Peaks(66.9, 494.7, 989.4, 989.4, 1978.9, 66.9)
_AMPERE = _Peaks(19.5, 156, 312, 312, None, 19.5)

GPUS = (
    _gpu(("H100 SXM", "NVIDIA H100 80GB HBM3"), "sm_90", (132, 1980),
         _Memory(3352, 80, 2_619_000, 5120, 50), _HOPPER, "2022-09"),
    _gpu(("H100 PCIe", "NVIDIA H100 PCIe"), "sm_90", (114, 1755),
         _Memory(2039, 80, 1_593_000, 5120, 50), _Peaks(51.2, 378, 756, 756, 1513, 51.2), "2022-09"),
    _gpu(("H200", "NVIDIA H200"), "sm_90", (132, 1980),
         _Memory(4800, 140, 3_201_000, 6144, 50), _HOPPER, "2023-11"),
    _gpu(("B200", "NVIDIA B200"), "sm_100", (148, 1965),
         _Memory(8000, 180, 3_996_000, 8192, 126), _Peaks(80, 1125, 2250, 2250, 4500, 40), "2024-11"),
    _gpu(("A100 40GB", "NVIDIA A100-SXM4-40GB"), "sm_80", (108, 1410),
         _Memory(1555, 40, 1_215_000, 5120, 40), _AMPERE, "2020-05"),
    _gpu(("A100 80GB", "NVIDIA A100-SXM4-80GB"), "sm_80", (108, 1410),
         _Memory(2039, 80, 1_593_000, 5120, 40), _AMPERE, "2020-11"),
    _gpu(("L40S", "NVIDIA L40S"), "sm_89", (142, 2520),
         _Memory(864, 48, 9_001_000, 384, 96), _Peaks(91.6, 183, 366.4, 366.4, 733, 1.43), "2023-08"),
    _gpu(("RTX 4090", "NVIDIA GeForce RTX 4090"), "sm_89", (128, 2520),
         _Memory(1008, 24, 10_501_000, 384, 72), _Peaks(82.6, 82.6, 330.3, 165.2, 660.6, 1.29), "2022-10"),
    _gpu(("RTX 3090", "NVIDIA GeForce RTX 3090"), "sm_86", (82, 1695),
         _Memory(936, 24, 9_751_000, 384, 6), _Peaks(35.6, 35.6, 142.3, 71.2, None, 0.556), "2020-09"),
    _gpu(("RTX 5090", "NVIDIA GeForce RTX 5090"), "sm_120", (170, 2407),
         _Memory(1792, 32, 14_001_000, 512, 96), _Peaks(104.8, 104.8, 419.2, 209.5, 838.4, 1.64), "2025-01"),
    _gpu(("MI300X", "AMD Instinct MI300X"), "gfx942", (304, 2100),
         _Memory(5300, 192, 1_300_000, 8192, 32), _Peaks(163.4, 653.7, 1307.4, 1307.4, 2614.9, 163.4), "2023-12"),
    _gpu(("RX 7900 XTX", "AMD Radeon RX 7900 XTX"), "gfx1100", (96, 2500),
         _Memory(960, 24, 1_249_000, 384, 6), _Peaks(61.4, None, 122.8, 122.8, None, 1.92), "2022-12"),
)  # fmt: skip

_STAND_FOR_THEIR_TARGET = (
    "A100 80GB", "RTX 3090", "RTX 4090", "H200", "B200", "RTX 5090", "MI300X", "RX 7900 XTX",
)  # fmt: skip
REPRESENTATIVES = {gpu.target: gpu for gpu in GPUS if gpu.name in _STAND_FOR_THEIR_TARGET}
"""Which GPU a target stands for where there is none: the fastest, because its peaks bound times from below."""

DRIVER_NAMES = (
    (r"H200", "H200"),
    (r"H100.*PCIE", "H100 PCIe"),
    (r"H100(?!.*NVL)", "H100 SXM"),
    (r"B200", "B200"),
    (r"A100.*40GB", "A100 40GB"),
    (r"A100", "A100 80GB"),
    (r"L40S", "L40S"),
    (r"RTX ?5090(?! ?(D\b|LAPTOP|MOBILE))", "RTX 5090"),
    (r"RTX ?4090(?! ?(D\b|LAPTOP|MOBILE))", "RTX 4090"),
    (r"RTX ?3090(?! ?TI)", "RTX 3090"),
    (r"MI300X", "MI300X"),
    (r"RX ?7900 ?XTX", "RX 7900 XTX"),
)
"""Patterns for what drivers call them, first match wins. A100 without a size is taken as 80 GB, the
faster one. Siblings with other peaks (H100 NVL, 4090 D, 3090 Ti) are read from the driver instead."""


def find_gpu(name: str) -> Gpu | None:
    """The table's row for a driver's name such as "NVIDIA H100 80GB HBM3"; None if unknown."""
    for pattern, row in DRIVER_NAMES:
        if re.search(rf"\b{pattern}", name.upper()):
            return next(gpu for gpu in GPUS if gpu.name == row)
    return None
