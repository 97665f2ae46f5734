"""Is there a GPU? Asked without importing torch, so that the answer is instant where there is none."""

from __future__ import annotations

from pathlib import Path

from tilesmith.errors import UsageError


def gpu_present() -> bool:
    return Path("/dev/nvidiactl").exists() or Path("/dev/kfd").exists()


def choose_device(wanted: str) -> str:
    if wanted not in ("auto", "cpu", "cuda"):
        raise UsageError(f"unknown device '{wanted}': use auto, cpu or cuda")
    if wanted == "cuda" and not gpu_present():
        raise UsageError("no GPU on this machine: use --device cpu, or run on a machine with one")
    if wanted == "auto":
        return "cuda" if gpu_present() else "cpu"
    return wanted
