"""Conversations with the two children of a check, in the judge's own terms.

The reference's failures are exceptions: the task or the machine is at fault. The candidate's failures are
`GateFailed`, which carries the verdict.
"""

from __future__ import annotations

import contextlib
import itertools
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from tilesmith.errors import MachineError, NotJudgedHere, OutOfGpuMemory, ReferenceTooSlow, TaskError
from tilesmith.judge.decisions.tf32 import USUAL_FACTOR
from tilesmith.judge.gate_failed import GateFailed
from tilesmith.process import folders
from tilesmith.process.fork_server_client import Child, ChildGone
from tilesmith.process.protocol.codec import Malformed, R, Request, RequestFailed, RequestFailure
from tilesmith.process.protocol.reference import (
    AlignShape,
    ArgumentTypes,
    Environment,
    InputsWritten,
    MoveParameters,
    ShareInputs,
    TaskForm,
    WriteBlueprint,
    WriteConstruction,
    WriteInputs,
)
from tilesmith.process.protocol.tensors import TensorFile
from tilesmith.process.sandbox import sandbox_level
from tilesmith.records import Certificate, Verdict
from tilesmith.tasks.roofline import TaskProfile

REFERENCE_S = 300.0
"""What one step of the task itself may take, unless a candidate's may take longer."""
MANY_KERNELS = 5.0
"""All kernels of a network may take so many times as long to compile as any other step."""
_MOST_CHARACTERS = 2000
FORGED_REPLY = "the candidate's process answered in place of the judge's code"


class UnreadableOutputs(GateFailed):
    """A candidate's process left no outputs, or none that can be read."""

    def __init__(self, problem: str) -> None:
        super().__init__(Verdict.CHEATING, f"the candidate's process did not leave its outputs: {problem}")


class ReferenceSession:
    """The reference child of one task. Safe to share between checks: one request at a time."""

    def __init__(
        self, start: Callable[[], Child], task_name: str, folder: Path, timeout_s: float = REFERENCE_S
    ) -> None:
        self._start, self._task_name, self._folder = start, task_name, folder
        self._timeout_s = timeout_s
        self.folder = folder
        """Where it leaves what candidates are given."""
        self._child = start()
        self._lock = threading.RLock()
        self._files: dict[tuple[str, str], str | None] = {}
        self._draws: dict[tuple[str, str], InputsWritten] = {}
        """What was written of the inputs of each variant and draw."""
        self.lost_draws: dict[tuple[str, str], str] = {}
        """The variants and draws that cannot be used because the reference failed to draw them, and how."""
        self._setup: list[Request[Any]] = []
        self._aligned: list[str | None] = []
        self.broken = False
        """Its process is gone: do not use it again."""
        self.environment: Environment
        self.plans: dict[str, str] = {}
        self.shapes: dict[str, str] = {}
        self.profile = TaskProfile()
        self.types = ArgumentTypes()
        self.form = TaskForm(is_function=False, training=True, fell_back=False)
        self.k = USUAL_FACTOR
        """How many times PyTorch's own error is allowed on this task."""
        self.certificate: Certificate | None = None
        self.certifying = threading.Lock()
        """Held by whoever makes the certificate: checks of one task wait for it instead of making their own."""
        self.compiling = threading.Lock()
        """Held by whoever has it build a baseline, which may take minutes."""
        self._strong_parameters = False
        folder.mkdir(parents=True, exist_ok=True)

    @contextlib.contextmanager
    def on_gpu(self, gpu: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
        """For questions to it under the GPU's lock. Whoever waited for its compiler with that lock in hand would
        keep every timer waiting."""
        with self.compiling:
            pass
        with gpu():
            yield

    def set_up(self, request: Request[R]) -> R:
        """A request that a restarted reference must hear again."""
        reply = self.ask(request)
        self._setup.append(request)
        return reply

    def ask(self, request: Request[R], timeout_s: float | None = None) -> R:
        """Raises TaskError or MachineError, and UnreadableOutputs where a candidate left none."""
        name, limit_s = type(request).__name__, timeout_s or self._timeout_s
        with self._lock:
            try:
                return self._child.ask(request, limit_s)
            except ChildGone as gone:
                self.broken = True
                kind = ReferenceTooSlow if gone.how == "timeout" else MachineError
                raise kind(self._blame(gone, name, limit_s)) from None
            except RequestFailed as failed:
                raise self._as_error(failed.failure, name) from None
            except Malformed as error:
                raise MachineError(
                    f"the reference of {self._task_name} gave no answer to {name}: {error}"
                ) from None

    def _as_error(self, failure: RequestFailure, request: str) -> Exception:
        if failure.kind == "task":
            return TaskError(failure.message)
        if failure.kind == "unreadable":
            return UnreadableOutputs(failure.message)
        if failure.kind == "memory":
            return OutOfGpuMemory(failure.message)
        if failure.kind == "internal":
            last = (failure.message.strip().splitlines() or ["no message"])[-1][:300]
            return MachineError(f"the reference of {self._task_name} failed during {request}: {last}")
        return MachineError(failure.message)

    @property
    def facts(self) -> dict[str, Any]:
        """The environment as JSON, for the record."""
        return {name: value for name, value in asdict(self.environment).items() if value is not None}

    def construction(self, variant: str) -> str:
        """A file with all a candidate needs to be built like the reference."""

        def write(path: str) -> bool:
            self.ask(WriteConstruction(variant, path))
            return True

        with self._lock:
            return str(self._once(variant, "construction", write))

    def blueprint(self) -> str | None:
        """A file with the exact shapes and no data, or None where they cannot be had without the data."""
        with self._lock:
            return self._once("exact", "blueprint", lambda path: self.ask(WriteBlueprint(path)).usable)

    def aligned(self) -> str | None:
        """How the shape that divides as the task's own does was made; None where there is none."""
        with self._lock:
            if not self._aligned:
                self._aligned.append(self.set_up(AlignShape()).plan)
            return self._aligned[0]

    def accepts(self, variant: str, draw: str) -> bool:
        """Whether the reference itself can take the inputs of a draw."""
        return self._written(variant, draw).usable

    def inputs(self, variant: str, draw: str) -> TensorFile:
        """The inputs of one draw that the reference accepts, for one request."""
        with self._lock:
            written = self._written(variant, draw)
            if not written.usable:
                raise MachineError(f"PyTorch does not take the {draw} inputs of the {variant} shape any more")
            memory = written.memory
            if written.shared and memory is None:
                memory = self.ask(ShareInputs(variant, draw)).memory
            return TensorFile(self._path(variant, draw), memory).sent_once()

    def input_facts(self, variant: str) -> dict[str, Any]:
        """Digests of the task's own inputs, once they were made, by which another machine knows them again."""
        written = self._draws.get((variant, "own"))
        return {"input_digests": [list(one) for one in written.digests]} if written and written.digests else {}

    def inputs_file(self, variant: str, draw: str) -> TensorFile:
        """The same with all numbers in the file, for a process that no message reaches."""
        path = self._path(variant, f"{draw} in full")
        self.ask(WriteInputs(variant, draw, path, may_share=False))
        return TensorFile(path)

    def _written(self, variant: str, draw: str) -> InputsWritten:
        """With their memory for who is the first to ask."""
        with self._lock:
            if (variant, draw) not in self._draws:
                try:
                    written = self.ask(WriteInputs(variant, draw, self._path(variant, draw)))
                except OutOfGpuMemory:
                    raise
                except MachineError as error:
                    if draw == "own":
                        raise
                    self.restart()
                    self.lost_draws[variant, draw] = str(error)
                    written = InputsWritten(usable=False, shared=False)
                self._draws[variant, draw] = replace(written, memory=None)
                return written
            return self._draws[variant, draw]

    def move_parameters(self, strongly: bool) -> None:
        """Perturb the parameters more than usual, or as usual again: what was written for candidates is void."""
        with self._lock:
            if self._strong_parameters != strongly:
                self.set_up(MoveParameters(strongly))
                self._strong_parameters = strongly
                self._files.clear()
                self._draws.clear()

    def restart(self) -> None:
        """A fresh reference, for when a draw killed the old one (a failed device assertion does)."""
        with self._lock:
            self._child.close()
            self._child = self._start()
            self.broken = False
            for request in self._setup:
                self.ask(request)

    def close(self) -> None:
        self._child.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _once(self, variant: str, name: str, make: Callable[[str], bool]) -> str | None:
        key = (variant, name)
        if key not in self._files:
            path = self._path(variant, name)
            self._files[key] = path if make(path) else None
        return self._files[key]

    def _path(self, variant: str, name: str) -> str:
        return str(self._folder / f"{variant}-{name}.data".replace(" ", "_"))

    def _blame(self, gone: ChildGone, request: str, limit_s: float) -> str:
        how = {
            "timeout": f"did not answer within {limit_s:g} s",
            "memory": "ran out of memory",
            "signal:9": "was killed (out of memory?)",
        }.get(gone.how, f"ended ({gone.how})")
        is_exit = gone.how.startswith("exit:")
        less = "its code may not end the process" if is_exit else "make the task smaller or free memory"
        usual = f"make the task smaller, or --timeout longer than {limit_s:g}" if gone.how == "timeout" else less
        cure = _last_words(gone.log) or f": {usual}"
        return f"the reference of {self._task_name} {how} during {request}{cure}"


class CandidateSession:
    """The child that runs one candidate."""

    def __init__(self, start: Callable[[], Child], timeout_s: float) -> None:
        self._start, self._timeout_s = start, timeout_s
        self._child = start()
        self._numbers = itertools.count()
        walls = self._child.walls
        self.sandbox = {"sandbox": list(walls), "sandbox_level": sandbox_level(walls)}
        """For the record of a verdict."""

    def ask(self, request: Request[R], timeout_s: float | None = None) -> R:
        limit = timeout_s or self._timeout_s
        try:
            return self._child.ask(request, limit)
        except ChildGone as gone:
            raise _as_verdict(gone, limit) from None
        except RequestFailed as failed:
            raise _as_error(failed.failure) from None
        except Malformed:
            raise GateFailed(Verdict.CHEATING, FORGED_REPLY) from None

    def output_file(self) -> str:
        return str(self._child.outbox / f"output-{next(self._numbers)}.tensors")

    def kill(self) -> None:
        """Stop it while another thread waits for its answer."""
        self._child.kill()

    def restart(self) -> None:
        """A fresh child, with what the old one compiled."""
        old = self._child
        old.end()
        self._child = self._start()
        folders.copy_plain_files(old.folder / "triton", self._child.folder / "triton")
        old.close()

    def close(self) -> None:
        self._child.close()


def _as_error(failure: RequestFailure) -> Exception:
    """A kernel's fault is never a pass, whoever wrote it onto the channel."""
    message = _printable(failure.message)
    if failure.kind == "machine":
        return MachineError(message)
    if failure.kind == "unsupported":
        return NotJudgedHere(f"{message}: this kernel can only be checked on a GPU")
    if failure.kind != "kernel" or failure.verdict not in set(Verdict) - {Verdict.PASSED}:
        return GateFailed(Verdict.CHEATING, FORGED_REPLY)
    return GateFailed(Verdict(failure.verdict), message)


def _as_verdict(gone: ChildGone, limit_s: float) -> GateFailed:
    """What the end of a candidate's process says about the candidate."""
    tail = _last_words(gone.log)
    if gone.how == "timeout":
        return GateFailed(
            Verdict.TIMEOUT,
            f"no answer within {limit_s:.0f} s: an endless loop or programs that wait for one another",
        )
    if gone.how == "memory":
        return GateFailed(Verdict.OUT_OF_MEMORY, "the candidate's process used more memory than it may")
    if gone.how == "processes":
        return GateFailed(Verdict.CRASHED, "the candidate started too many processes and was stopped")
    if gone.how == "disk":
        return GateFailed(Verdict.CRASHED, "the candidate filled its disk space (in many files) and was stopped")
    if gone.how == "garbled":
        return GateFailed(Verdict.CHEATING, "the candidate wrote to the judge's private channel")
    kind, _, number = gone.how.partition(":")
    if kind == "exit":
        return GateFailed(Verdict.CRASHED, f"the candidate ended its process with exit code {number}{tail}")
    if number == "24":
        return GateFailed(Verdict.TIMEOUT, "the candidate used up its CPU time")
    return GateFailed(
        Verdict.CRASHED, f"the candidate's process died of signal {number}{_signal_name(number)}{tail}"
    )


def _signal_name(number: str) -> str:
    try:
        return f" ({signal.Signals(int(number)).name})"
    except ValueError:
        return ""


def _printable(text: Any) -> str:
    """Whatever a candidate's process sent as text, in a form that every terminal and file takes."""
    return str(text)[:_MOST_CHARACTERS].encode("utf-8", "replace").decode()


def _last_words(log: str) -> str:
    lines = [line for line in _printable(log.strip()[-_MOST_CHARACTERS:]).splitlines() if line.strip()]
    return f"; it last printed: {lines[-1][:200]}" if lines else ""
