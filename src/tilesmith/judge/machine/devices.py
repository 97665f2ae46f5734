"""Which GPUs are there? Asked without importing torch, so that the answer is instant where there is none."""

from __future__ import annotations

import os
import re
from importlib import metadata
from pathlib import Path

from tilesmith.errors import MachineError, UsageError

INTERPRETER_SINCE = (3, 6)


def gpu_present() -> bool:
    return Path("/dev/nvidiactl").exists() or Path("/dev/kfd").exists()


def visible_gpus() -> tuple[str, ...]:
    """The names by which CUDA_VISIBLE_DEVICES chooses among them; none where there is no GPU."""
    chosen = [one.strip() for one in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if one.strip()]
    if not gpu_present():
        return ()
    count = sum(path.name.removeprefix("nvidia").isdecimal() for path in Path("/dev").glob("nvidia*"))
    return tuple(chosen or map(str, range(max(count, 1))))


def require_interpreter() -> None:
    """Older releases have another interpreter inside, and would get kernels blamed for it."""
    installed = metadata.version("triton")
    if tuple(int(part) for part in re.findall(r"\d+", installed)[:2]) < INTERPRETER_SINCE:
        needed = ".".join(map(str, INTERPRETER_SINCE))
        raise MachineError(
            f"checking without a GPU needs Triton {needed} or newer and this is {installed}: pip install -U triton"
        )


def choose_device(wanted: str) -> str:
    if wanted not in ("auto", "cpu", "cuda"):
        raise UsageError(f"unknown device '{wanted}': use auto, cpu or cuda")
    if wanted == "cuda" and not gpu_present():
        raise UsageError("no GPU on this machine: use --device cpu, or run on a machine with one")
    if wanted == "auto":
        return "cuda" if gpu_present() else "cpu"
    return wanted
