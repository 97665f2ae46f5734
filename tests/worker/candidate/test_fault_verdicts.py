"""What an exception in a candidate means."""

from __future__ import annotations

import pytest
import torch
from triton.runtime.errors import OutOfResources

from tilesmith.process.protocol.codec import RequestFailure
from tilesmith.worker.candidate.fault_verdicts import explain_fault
from tilesmith.worker.candidate.loading import execute
from tilesmith.worker.compile import CompileFailure
from tilesmith.worker.engines.interpreter import NotInterpretable, OutOfBounds
from tilesmith.worker.fake_cuda.pretend_cuda import NotOnThisMachine


def caught(action):
    with pytest.raises(BaseException) as info:
        action()
    return info.value


def fault(error, path="kernel.py"):
    return explain_fault(error, path)


def wrapped(inner, outer):
    def act():
        try:
            raise inner
        except BaseException as error:
            raise outer from error

    return caught(act)


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (ValueError("x"), "runtime_error"),
        (SystemExit(0), "runtime_error"),
        (KeyboardInterrupt(), "runtime_error"),
        (RecursionError("deep"), "runtime_error"),
        (MemoryError(), "out_of_memory"),
        (torch.OutOfMemoryError("CUDA out of memory. Tried"), "out_of_memory"),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), "out_of_memory"),
        (RuntimeError("CUDA error: an illegal memory access was encountered\nmore"), "unsafe_memory"),
        (RuntimeError("CUDA error: misaligned address"), "unsafe_memory"),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), "runtime_error"),
        (OutOfResources(300_000, 232_448, "shared memory"), "compile_error"),
        (CompileFailure("line 3: no"), "compile_error"),
        (OutOfBounds("load past the end"), "unsafe_memory"),
        (SyntaxError("bad", ("kernel.py", 4, 1, "x =")), "syntax_error"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else value,
)
def test_every_kind_has_its_verdict(error, verdict):
    found = fault(error)
    assert found.verdict == verdict
    assert found.message


def test_what_this_machine_cannot_do_is_not_the_candidates_fault():
    assert fault(NotOnThisMachine("needs a GPU")) == RequestFailure("unsupported", "needs a GPU")
    nested = wrapped(NotInterpretable("inline PTX"), RuntimeError("outer"))
    assert fault(nested) == RequestFailure("unsupported", "inline PTX")


def test_the_cause_counts_more_than_its_wrapping():
    assert fault(wrapped(CompileFailure("line 3"), RuntimeError("launch failed"))).verdict == "compile_error"
    assert fault(wrapped(MemoryError("big"), ValueError("outer"))).verdict == "out_of_memory"


def test_the_message_names_the_last_line_of_the_candidate():
    text = "def f(x):\n    return x.nothing\nclass ModelNew: pass\nf(1)\n"
    found = fault(caught(lambda: execute("/some/kernel.py", text)), "/some/kernel.py")
    assert found.message.startswith("line 2: return x.nothing\nAttributeError: 'int' object")


def test_a_syntax_error_names_its_line():
    found = fault(caught(lambda: execute("kernel.py", "x = 1\ny = = 2\n")))
    assert (found.verdict, found.message.split(":")[0]) == ("syntax_error", "line 2")


def test_messages_stay_short():
    assert len(fault(ValueError("x" * 100_000)).message) <= 1500
    assert len(fault(ValueError("\n".join(map(str, range(1000))))).message.splitlines()) < 12


def test_an_endless_chain_of_causes_ends():
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    assert fault(first).verdict == "runtime_error"
