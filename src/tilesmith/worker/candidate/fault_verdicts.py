"""What an exception in a candidate means: a verdict, and a message short and exact enough to repair from."""

from __future__ import annotations

import traceback

import torch

from tilesmith.errors import MachineError
from tilesmith.process.protocol.codec import RequestFailure
from tilesmith.records import Verdict
from tilesmith.worker.compat.triton_names import OutOfResources
from tilesmith.worker.compile import CompileFailure, explain_on_gpu
from tilesmith.worker.engines.interpreter import KernelFault, NotInterpretable, explain
from tilesmith.worker.fake_cuda.pretend_cuda import NotOnThisMachine
from tilesmith.worker.tensors.tensor_file import NoRoom
from tilesmith.worker.watch.cheating_detected import CheatingDetected

_MOST_CHARACTERS = 1500
_OUT_OF_MEMORY = ("can't allocate memory", "out of memory", "Cannot allocate memory", "not enough memory")
_BAD_ADDRESS = ("illegal memory access", "misaligned address", "invalid address space")


def explain_fault(error: BaseException, path: str) -> RequestFailure:
    """A verdict and a message, unless it is this machine that cannot."""
    if isinstance(error, CheatingDetected):
        return RequestFailure("kernel", str(error)[:_MOST_CHARACTERS], error.verdict)
    for cause in _causes(error):
        if isinstance(cause, NoRoom | MachineError):
            return RequestFailure("machine", str(cause))
        if isinstance(cause, NotInterpretable | NotOnThisMachine):
            return RequestFailure("unsupported", str(cause))
    verdict, message = _read(error, path)
    return RequestFailure("kernel", message[:_MOST_CHARACTERS], verdict)


def _read(error: BaseException, path: str) -> tuple[Verdict, str]:
    for cause in _causes(error):
        if isinstance(cause, KernelFault):
            return Verdict(cause.verdict), shown(cause)
        if isinstance(cause, CompileFailure):
            return Verdict.COMPILE_ERROR, str(cause)
        launched = cause.__dict__.get("tilesmith_launched")
        if launched is not None and _in_compiler(cause):
            return Verdict.COMPILE_ERROR, explain_on_gpu(cause, launched)
        if isinstance(cause, OutOfResources):
            return Verdict.COMPILE_ERROR, str(cause)
        if isinstance(cause, MemoryError | torch.OutOfMemoryError):
            return Verdict.OUT_OF_MEMORY, _one_line(cause)
    text = shown(error)
    if isinstance(error, RuntimeError) and any(mark in text for mark in _OUT_OF_MEMORY):
        return Verdict.OUT_OF_MEMORY, _one_line(error)
    if isinstance(error, RuntimeError) and any(mark in text for mark in _BAD_ADDRESS):
        return Verdict.UNSAFE_MEMORY, f"{_one_line(error)}; check masks and strides of every load and store"
    if isinstance(error, SyntaxError):
        return Verdict.SYNTAX_ERROR, f"line {error.lineno}: {error.msg}"
    return Verdict.RUNTIME_ERROR, explain(error) if _in_kernel(error) else _with_line(error, path)


def _causes(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and len(chain) < 20:
        chain.append(current)
        current = current.__cause__ or current.__context__
    return chain


def _in_compiler(error: BaseException) -> bool:
    """Raised while Triton turned source into machine code, whatever its type."""
    frames = traceback.extract_tb(error.__traceback__)
    return any(frame.name == "compile" and "triton" in frame.filename for frame in frames)


def _in_kernel(error: BaseException) -> bool:
    return type(error).__name__ == "InterpreterError"


def _with_line(error: BaseException, path: str) -> str:
    """The exception and the last line of the candidate that led to it."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    where = f"line {own[-1].lineno}: {own[-1].line}\n" if own else ""
    return f"{where}{type(error).__name__}: {_first_lines(shown(error))}"


def _one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {_first_lines(shown(error), 1)}"


def shown(error: BaseException) -> str:
    """An exception's own text, unless even that fails."""
    try:
        return str(error)
    except Exception:
        return "(an exception whose message cannot be shown)"


def _first_lines(text: str, count: int = 6) -> str:
    return "\n".join(text.strip().splitlines()[:count])
