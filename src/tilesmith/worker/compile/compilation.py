"""Compile a recorded launch for a target and say what it costs there."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from typing import IO, Any

import triton

from tilesmith.records import KernelResources
from tilesmith.worker.compat.triton_names import ASTSource
from tilesmith.worker.compile.failure import CompileFailure, explain
from tilesmith.worker.compile.jit_functions import forget_failed_hashes
from tilesmith.worker.compile.recorded_launch import RecordedLaunch
from tilesmith.worker.compile.resources import measure
from tilesmith.worker.compile.targets import Target, target_named
from tilesmith.worker.fake_cuda.driver import fake_driver

MAX_TENSOR_MEMORY_COLUMNS = 512


def compile_launch(launch: RecordedLaunch, target: str = "sm_90") -> KernelResources:
    """Through triton's whole pipeline (and its cache), to machine code. Raises CompileFailure."""
    gpu = target_named(target)
    compiled = _compile(launch, gpu)
    resources = measure(compiled, launch.kernel, gpu)
    _refuse_overflow(launch.kernel, "shared memory", compiled.metadata.shared, gpu.max_shared_bytes)
    columns = getattr(compiled.metadata, "tmem_size", None)
    _refuse_overflow(launch.kernel, "tensor memory", columns, MAX_TENSOR_MEMORY_COLUMNS)
    told = [f"{name}: {value}" for name, value in (launch.arguments or {}).items() if name in launch.signature]
    return replace(resources, arguments=", ".join(told) or None)


def _compile(launch: RecordedLaunch, gpu: Target) -> Any:
    source_class = getattr(launch.fn, "ASTSource", ASTSource)
    with fake_driver(gpu.name), _captured_output() as log:
        try:
            source = source_class(launch.fn, launch.signature, launch.constexprs, launch.attrs)
            return triton.compile(source, target=gpu.gpu_target(), options=dict(launch.options))
        except Exception as error:
            forget_failed_hashes([launch.fn, *launch.constexprs.values()])
            raise CompileFailure(explain(error, launch, _text(log))) from error


def _refuse_overflow(kernel: str, what: str, required: int | None, limit: int) -> None:
    """Compilers accept it; the launch on a GPU is what fails, in these words."""
    if required is not None and required > limit:
        raise CompileFailure(
            f"{kernel}: out of resource: {what}, Required: {required}, Hardware limit: {limit}. "
            "Reducing block sizes or `num_stages` may help."
        )


@contextmanager
def _captured_output() -> Iterator[IO[bytes]]:
    """MLIR and ptxas write their reasons, and then pages of IR, straight to the file descriptors; triton
    prints those pages once more."""
    with tempfile.TemporaryFile() as log, redirect_stdout(io.StringIO()):
        saved = {fd: os.dup(fd) for fd in (1, 2)}
        try:
            for fd in saved:
                os.dup2(log.fileno(), fd)
            yield log
        finally:
            for fd, copy in saved.items():
                os.dup2(copy, fd)
                os.close(copy)


def _text(log: IO[bytes]) -> str:
    log.seek(0)
    return log.read().decode(errors="replace")
