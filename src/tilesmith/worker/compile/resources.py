"""Read from the machine code what a kernel needs: registers, spills, shared memory, tensor cores."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from tilesmith.records import KernelResources
from tilesmith.worker.compile.targets import Target

_NVIDIA_MATRIX = re.compile(r"^\s*(?:@\S+\s+)?(?:wgmma\.mma_async|tcgen05\.mma|w?mma\.)", re.MULTILINE)
_AMD_MATRIX = re.compile(r"^\s*v_(?:s?mfmac?|wmma)_", re.MULTILINE)


class RegisterUse(NamedTuple):
    registers: int | None
    spilled_bytes: int | None
    """Local memory per thread: triton puts nothing there of its own, so it is spilled registers
    (or the argument buffer of a device_print)."""


def measure(compiled: Any, kernel: str, target: Target) -> KernelResources:
    if target.backend == "cuda":
        use, matrix = _nvidia_use(compiled), _NVIDIA_MATRIX.search(compiled.asm.get("ptx", ""))
    else:
        text = compiled.asm.get("amdgcn", "")
        use, matrix = _amd_use(text), _AMD_MATRIX.search(text)
    return KernelResources(
        kernel=kernel,
        target=target.name,
        registers=use.registers,
        spills=use.spilled_bytes,
        shared_bytes=compiled.metadata.shared,
        tensor_core=matrix is not None,
        num_warps=compiled.metadata.num_warps,
        num_stages=compiled.metadata.num_stages,
    )


def _nvidia_use(compiled: Any) -> RegisterUse:
    """cuobjdump comes with triton; without it the numbers are unknown, not zero."""
    tool = _cuobjdump()
    cubin = next((path for name, path in compiled.metadata_group.items() if name.endswith(".cubin")), None)
    if tool is None or cubin is None:
        return RegisterUse(None, None)
    reply = subprocess.run([tool, "-res-usage", cubin], capture_output=True, text=True, check=False)
    usage = {key: int(value) for key, value in re.findall(r"\b(REG|STACK|LOCAL):(\d+)", reply.stdout)}
    if "REG" not in usage:
        return RegisterUse(None, None)
    return RegisterUse(usage["REG"], usage.get("STACK", 0) + usage.get("LOCAL", 0))


def _cuobjdump() -> Path | None:
    import triton

    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    return tool if tool.exists() else None


def _amd_use(text: str) -> RegisterUse:
    """The assembler's own notes at the end of the listing."""
    registers = re.search(r"\.vgpr_count:\s*(\d+)", text)
    scratch = re.search(r"\.private_segment_fixed_size:\s*(\d+)", text)
    return RegisterUse(int(registers[1]) if registers else None, int(scratch[1]) if scratch else None)
