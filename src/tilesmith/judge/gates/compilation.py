"""Without a GPU: every kernel of a candidate compiled for the target, in a child beside the interpreter's."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from threading import Thread

from tilesmith.errors import MachineError
from tilesmith.judge.gate_failed import GateFailed
from tilesmith.judge.gates.replay import FIRST_FILL
from tilesmith.judge.reference.references import LARGE_BYTES
from tilesmith.judge.sessions import MANY_KERNELS, CandidateSession, ReferenceSession
from tilesmith.process.fork_server_client import Spawn
from tilesmith.process.protocol.candidate import (
    CompileLaunches,
    FirstCall,
    LaunchRecord,
    LoadKernel,
    RecordExactLaunches,
    RecordFirstCall,
    RecordLaunches,
)
from tilesmith.process.protocol.reference import TorchStep
from tilesmith.records import KernelResources, Verdict
from tilesmith.tasks.draws import REPLAY_DRAWS

_UNKNOWN_BYTES = 1 << 60


@dataclass(frozen=True)
class Compilation:
    """What the compiler's child learned: launches and programs of one call, and each kernel's resources."""

    resources: tuple[KernelResources, ...] = ()
    launches: int | None = None
    programs: int | None = None
    note: str | None = None
    failure: GateFailed | None = None
    kernels: frozenset[str] | None = None
    """Those launched at the task's exact shape; null where only a smaller one could be recorded."""
    torch_steps: tuple[TorchStep, ...] = ()
    """What torch computes itself at the exact shape."""
    first_call: FirstCall | None = None
    """At the small shape; null where it cannot be compared."""


class CompilationJob:
    """Compiles in a thread of its own, until it is done or canceled."""

    def __init__(self, load: LoadKernel, reference: ReferenceSession, spawn: Spawn, timeout_s: float) -> None:
        self._load, self._reference, self._spawn, self._timeout_s = load, reference, spawn, timeout_s
        self._compiler: CandidateSession | None = None
        self._canceled = False
        self._done: Future[Compilation] = Future()
        self._thread = Thread(target=self._work, daemon=True)
        self._thread.start()

    def result(self) -> Compilation:
        return self._done.result()

    def cancel(self) -> None:
        """End the compiler's child at once; nobody asks for the result any more."""
        self._canceled = True
        if self._compiler is not None and self._thread.is_alive():
            self._compiler.kill()
        self._thread.join()

    def _work(self) -> None:
        try:
            self._done.set_result(self._compile())
        except BaseException as error:
            self._done.set_exception(error)

    def _compile(self) -> Compilation:
        compiler = CandidateSession(lambda: self._spawn("native", "compiler"), self._timeout_s)
        self._compiler = compiler
        if self._canceled:
            compiler.kill()
        try:
            compiler.ask(self._load)
            first_call = self._first_call(compiler)
            recorded, exact = self._record(compiler)
            resources = compiler.ask(CompileLaunches(), MANY_KERNELS * self._timeout_s).resources
        except GateFailed as failed:
            if failed.is_conclusive or failed.verdict is Verdict.COMPILE_ERROR:
                return Compilation(failure=failed)
            late = "not in time; raise --timeout"
            why = late if failed.verdict is Verdict.TIMEOUT else failed.reason
            return Compilation(note=f"not compiled for the target: {why}")
        except MachineError as error:
            return Compilation(note=f"not compiled for the target: {error}")
        finally:
            compiler.close()
        return Compilation(
            resources=resources,
            launches=len(recorded.launches),
            programs=recorded.programs,
            kernels=frozenset(recorded.launches) if exact else None,
            torch_steps=recorded.torch_steps,
            first_call=first_call,
        )

    def _first_call(self, compiler: CandidateSession) -> FirstCall | None:
        if not self._reference.accepts("shrunk", REPLAY_DRAWS[0]):
            return None
        inputs = self._reference.inputs("shrunk", REPLAY_DRAWS[0])
        construction = self._reference.construction("shrunk")
        return compiler.ask(RecordFirstCall(construction, inputs, float(FIRST_FILL))).first_call

    def _record(self, compiler: CandidateSession) -> tuple[LaunchRecord, bool]:
        """Launches at the exact shape on fake tensors; where host code needs real values, at the small shape.

        The second value says whether it is the exact one. Custom operators have another body for fake tensors, so
        where those launch nothing, real ones decide.
        """
        blueprint = self._reference.blueprint()
        if blueprint is not None:
            try:
                recorded = compiler.ask(RecordExactLaunches(blueprint))
                if recorded.launches:
                    return recorded, True
            except GateFailed as failed:
                if self._canceled or failed.is_conclusive or failed.verdict is Verdict.COMPILE_ERROR:
                    raise
            else:
                if (self._reference.profile.bytes_moved or _UNKNOWN_BYTES) <= LARGE_BYTES:
                    return self._record_at(compiler, "exact"), True
        return self._record_at(compiler, "shrunk"), False

    def _record_at(self, compiler: CandidateSession, variant: str) -> LaunchRecord:
        inputs = self._reference.inputs(variant, "own")
        return compiler.ask(RecordLaunches(self._reference.construction(variant), inputs))
