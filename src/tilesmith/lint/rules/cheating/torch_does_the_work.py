"""The kernels, not PyTorch, must do the heavy work."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.rules.findings import warning
from tilesmith.lint.structure.host_code.torch_work import first_torch_work
from tilesmith.lint.structure.kernel_kinds.copying_kernels import does_little
from tilesmith.lint.structure.launches.decoys import decoys
from tilesmith.records import Finding


def torch_does_the_work(source: KernelSource) -> Iterator[Finding]:
    """Heavy PyTorch beside kernels that add a bias or apply an activation, or whose result is dropped."""
    if not source.live_launches or not _launches_do_little(source):
        return
    work = first_torch_work(source)
    if work is not None:
        message = (
            f"PyTorch does the heavy work ({_name(work)}), the kernels do no more than copy, add or activate: "
            "compute this in a Triton kernel, or fuse several of the steps after it into one"
        )
        yield warning("torch-does-the-work", work.lineno, message)


def _launches_do_little(source: KernelSource) -> bool:
    """Those that are no decoys start kernels that do too little, and these are all in sight."""
    real = [launch for launch in source.live_launches if launch not in decoys(source)]
    kernels = {kernel for launch in real for kernel in source.kernels_of(launch)}
    return all(launch.kernels for launch in real) and all(does_little(kernel, source) for kernel in kernels)


def _name(work: ast.expr) -> str:
    if isinstance(work, ast.BinOp):
        return "@"
    return ast.unparse(work.func if isinstance(work, ast.Call) else work)
