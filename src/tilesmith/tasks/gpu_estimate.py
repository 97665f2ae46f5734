"""What a GPU outside the table can do at best, from its driver's clocks and the width of its generation."""

from __future__ import annotations

from dataclasses import dataclass

from tilesmith.tasks.gpus import Gpu


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
class _OperationsPerCycle:
    """Dense floating-point operations of one multiprocessor in one cycle."""

    fp32: int
    fp16: int
    tf32: int
    fp64: int


OPERATIONS_PER_CYCLE = {
    (7, 0): _OperationsPerCycle(128, 1024, 0, 64),
    (7, 5): _OperationsPerCycle(128, 1024, 0, 4),
    (8, 0): _OperationsPerCycle(128, 2048, 1024, 128),
    (8, 6): _OperationsPerCycle(256, 1024, 256, 4),
    (8, 7): _OperationsPerCycle(256, 2048, 1024, 4),
    (8, 9): _OperationsPerCycle(256, 1024, 512, 4),
    (9, 0): _OperationsPerCycle(256, 4096, 2048, 256),
    (10, 0): _OperationsPerCycle(256, 8192, 4096, 128),
    (12, 0): _OperationsPerCycle(256, 1024, 512, 4),
}


def estimate_gpu(properties: DriverProperties) -> Gpu:
    """An estimate for a GPU that the table lacks: width per cycle of its generation times clock."""
    known = [capability for capability in OPERATIONS_PER_CYCLE if capability <= properties.capability]
    width = OPERATIONS_PER_CYCLE[max(known, default=(7, 0))]
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
        clock_khz=properties.clock_khz,
        memory_clock_khz=properties.memory_clock_khz,
        bus_bits=properties.bus_bits,
        memory_bytes=None,
        driver_name=properties.name,
        released="unknown",
        source="estimated from the driver's clocks and the multiprocessors of its generation",
    )
