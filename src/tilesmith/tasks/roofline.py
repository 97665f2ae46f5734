"""The time no kernel can beat on a given GPU: data moved once, arithmetic at peak.

The bytes are those of inputs, parameters and outputs, each once, so intermediate results are free:
that is what fusion can reach. The FLOPs are those of the reference as written; a better algorithm
(Winograd, skipping a triangle of zeros) may honestly need fewer, as may one that reads only the part
of an input that the result depends on. And what fits in L2 may be
faster than memory when it is not flushed. A time below the floor asks for an explanation.
"""

from __future__ import annotations

from tilesmith.records import Roofline, TaskProfile
from tilesmith.tasks.gpus import Gpu

__all__ = ["Roofline", "TaskProfile", "compute_roofline"]


def compute_roofline(profile: TaskProfile, gpu: Gpu) -> Roofline | None:
    """The task's floor on `gpu`; None when the profile does not know its bytes or FLOPs."""
    if profile.bytes_moved is None or profile.flops is None:
        return None
    memory_ms = profile.bytes_moved / (gpu.memory_gb_per_s * 1e9) * 1e3
    contractions = profile.tensor_flops or 0
    tensor_ms = contractions / (gpu.tensor_tflops(profile.dtype or "float32") * 1e12) * 1e3
    vector_ms = (profile.flops - contractions) / (_vector_tflops(profile.dtype, gpu) * 1e12) * 1e3
    compute_ms = max(tensor_ms, vector_ms)  # the two kinds of unit work at the same time
    bound = "memory" if memory_ms >= compute_ms else "compute"
    return Roofline(memory_ms, compute_ms, max(memory_ms, compute_ms), bound)


def _vector_tflops(dtype: str | None, gpu: Gpu) -> float:
    """Half types may run twice as fast as fp32 on the vector units (packed arithmetic)."""
    if dtype == "float64":
        return gpu.fp64_tflops
    return gpu.fp32_tflops if dtype in (None, "float32") else 2 * gpu.fp32_tflops
