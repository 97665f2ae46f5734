"""The GPUs we can compile for, and the few numbers user code asks a GPU about itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilesmith.worker.compat.triton_names import GPUTarget

KIB = 1024


@dataclass(frozen=True)
class Target:
    """One architecture, described by a typical card of it."""

    name: str
    card: str
    backend: str
    arch: int | str
    warp_size: int
    max_shared_bytes: int
    """Per block, after opting in; compilers do not check it, launches do."""
    sms: int
    sm_clock_khz: int
    mem_clock_khz: int
    mem_bus_bits: int
    max_threads_per_sm: int
    registers_per_sm: int = 65536

    @property
    def capability(self) -> tuple[int, int]:
        """What torch.cuda.get_device_capability() answers on this card."""
        digits = int(self.arch) if self.backend == "cuda" else int(str(self.arch).removeprefix("gfx")[:-1])
        return divmod(digits, 10)

    def gpu_target(self) -> Any:
        return GPUTarget(self.backend, self.arch, self.warp_size)

    def device_properties(self) -> dict[str, Any]:
        """The dictionary of triton's `driver.active.utils.get_device_properties`."""
        properties = {
            "max_shared_mem": self.max_shared_bytes,
            "max_num_regs": self.registers_per_sm,
            "multiprocessor_count": self.sms,
            "warpSize": self.warp_size,
            "sm_clock_rate": self.sm_clock_khz,
            "mem_clock_rate": self.mem_clock_khz,
            "mem_bus_width": self.mem_bus_bits,
        }
        return properties if self.backend == "cuda" else {**properties, "arch": self.arch}


_CARDS = (
    Target("sm_80", "NVIDIA A100", "cuda", 80, 32, 163 * KIB, 108, 1410000, 1593000, 5120, 2048),
    Target("sm_86", "NVIDIA A10", "cuda", 86, 32, 99 * KIB, 72, 1695000, 6251000, 384, 1536),
    Target("sm_89", "NVIDIA L40S", "cuda", 89, 32, 99 * KIB, 142, 2520000, 9001000, 384, 1536),
    Target("sm_90", "NVIDIA H200", "cuda", 90, 32, 227 * KIB, 132, 1980000, 3201000, 6144, 2048),
    Target("sm_100", "NVIDIA B200", "cuda", 100, 32, 227 * KIB, 148, 1965000, 3996000, 8192, 2048),
    Target("sm_120", "NVIDIA RTX 5090", "cuda", 120, 32, 99 * KIB, 170, 2407000, 14001000, 512, 1536),
    Target("gfx942", "AMD MI300X", "hip", "gfx942", 64, 64 * KIB, 304, 2100000, 1300000, 8192, 2048),
    Target("gfx1100", "AMD RX 7900 XTX", "hip", "gfx1100", 32, 64 * KIB, 96, 2500000, 1249000, 384, 2048),
)

TARGETS = {card.name: card for card in _CARDS}


def target_named(name: str) -> Target:
    if name not in TARGETS:
        raise ValueError(f"unknown target {name!r}: choose one of {', '.join(TARGETS)}")
    return TARGETS[name]
