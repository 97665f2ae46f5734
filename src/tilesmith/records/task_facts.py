"""What is known of a task before a kernel is written: what it moves and computes, and how fast that can be."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class TaskProfile:
    """What a task moves and computes at its full shape; null where it could not be found."""

    ops: dict[str, int] = field(default_factory=dict)
    bytes_moved: int | None = None
    """Every input, parameter and output once; of a table that is looked up in, the rows read."""
    input_bytes: int | None = None
    parameter_bytes: int | None = None
    output_bytes: int | None = None
    flops: int | None = None
    tensor_flops: int | None = None
    """The part of `flops` in matrix products and convolutions, which tensor cores can do."""
    dtype: str | None = None
    reason: str | None = None
    """Why fields are null or uncertain."""


@dataclass(frozen=True)
class Roofline:
    """Lower bounds in milliseconds, and which of the two limits the task."""

    memory_ms: float
    compute_ms: float
    floor_ms: float
    bound: str
    """"memory" or "compute"."""
    gpu: str = ""
    """The GPU it was computed for."""
    bytes_moved: int | None = None
    flops: int | None = None


@dataclass(frozen=True)
class GpuPeaks:
    """The fields of `tasks.gpus.Gpu` that matter to whoever writes a kernel."""

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
