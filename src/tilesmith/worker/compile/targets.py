"""The GPUs we can compile for, as triton wants them described."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilesmith.tasks.gpus import ARCHITECTURES, REPRESENTATIVES, Architecture, Gpu
from tilesmith.worker.compat.triton_names import GPUTarget


@dataclass(frozen=True)
class Target:
    """One architecture and the GPU that stands for it."""

    architecture: Architecture
    gpu: Gpu

    @property
    def name(self) -> str:
        return self.architecture.target

    @property
    def backend(self) -> str:
        return self.architecture.backend

    @property
    def capability(self) -> tuple[int, int]:
        return self.architecture.capability

    @property
    def max_shared_bytes(self) -> int:
        return self.architecture.shared_bytes_per_block

    @property
    def _arch(self) -> int | str:
        """As triton names it: 90, or gfx942."""
        return int(self.name.removeprefix("sm_")) if self.backend == "cuda" else self.name

    def gpu_target(self) -> Any:
        return GPUTarget(self.backend, self._arch, self.architecture.warp_size)

    def device_properties(self) -> dict[str, Any]:
        """The dictionary of triton's `driver.active.utils.get_device_properties`."""
        properties = {
            "max_shared_mem": self.max_shared_bytes,
            "max_num_regs": self.architecture.registers_per_multiprocessor,
            "multiprocessor_count": self.gpu.multiprocessors,
            "warpSize": self.architecture.warp_size,
            "sm_clock_rate": self.gpu.clock_khz,
            "mem_clock_rate": self.gpu.memory_clock_khz,
            "mem_bus_width": self.gpu.bus_bits,
        }
        return properties if self.backend == "cuda" else {**properties, "arch": self._arch}


TARGETS = {name: Target(architecture, REPRESENTATIVES[name]) for name, architecture in ARCHITECTURES.items()}


def target_named(name: str) -> Target:
    if name not in TARGETS:
        raise ValueError(f"unknown target {name!r}: choose one of {', '.join(TARGETS)}")
    return TARGETS[name]
