"""Every knob of a check, once, with its default."""

from __future__ import annotations

from dataclasses import dataclass

from tilesmith.errors import UsageError

PRECISIONS = ("default", "ieee", "tf32")
MODES = ("auto", "eval", "train")
TARGETS = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120", "gfx942", "gfx1100")


@dataclass(frozen=True)
class CheckConfig:
    """How strict, how long and where. The command line sets these fields and no others."""

    device: str = "auto"
    """auto takes the GPU when there is one; cpu uses Triton's interpreter; cuda insists on a GPU."""
    target: str = "sm_90"
    """The GPU to compile for when there is none here."""
    precision: str = "default"
    """Whether float32 products may use TF32: default (as PyTorch), ieee (nowhere), tf32 (everywhere)."""
    k: float | None = None
    """A candidate may err at most this many times as much as PyTorch does on the same inputs; null takes 2, or 4
    where PyTorch itself works in TF32."""
    seed: int = 0
    """Seeds weights, inputs and schedules: the same seed gives the same verdict."""
    timeout_s: float = 60.0
    """The longest any single step of a candidate may take before it is killed; one of the task has at least 300."""
    timing: bool = True
    """Measure speed where there is a GPU."""
    timing_s: float = 2.0
    """How long the timing rounds may take, unless the confidence interval is tight before."""
    speed_only: bool = False
    """On a GPU: values on few draws and the time against eager alone, for a kernel that was judged before."""
    mode: str = "auto"
    """Judge the module in eval or in train mode; auto takes the mode the task builds unless it is random there."""
    require_general: bool = False
    """Fail a candidate that is right only for the task's exact shapes."""
    sanitize: bool = False
    """Run compute-sanitizer's memcheck and racecheck too, where it is installed."""
    require_sandbox: bool = False
    """Judge nothing unless every wall of the sandbox stands."""
    memory_bytes: int = 16 * 2**30
    """Host memory a candidate may hold."""

    def __post_init__(self) -> None:
        if self.precision not in PRECISIONS:
            raise UsageError(f"unknown precision '{self.precision}': use default, ieee or tf32")
        if self.target not in TARGETS:
            raise UsageError(f"unknown target '{self.target}': use one of {', '.join(TARGETS)}")
        if self.mode not in MODES:
            raise UsageError(f"unknown mode '{self.mode}': use auto, eval or train")
        for name in ("k", "timeout_s", "timing_s"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UsageError(f"--{name.removesuffix('_s')} must be greater than zero")
