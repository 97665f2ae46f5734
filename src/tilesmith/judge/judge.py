"""The judge: takes a task and a kernel, gives a verdict one can trust.

    with Judge(CheckConfig()) as judge:
        evaluation = judge.check(task_path, kernel_path)

A judge keeps its fork servers and the references of its tasks warm, and may be asked from several threads.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from tilesmith.config import CheckConfig
from tilesmith.errors import MachineError, OutOfGpuMemory
from tilesmith.judge.candidate_source import CandidateSource, read_candidate, refuse_certain_faults
from tilesmith.judge.certificates.certification import certificate_of
from tilesmith.judge.decisions.tf32 import USUAL_FACTOR, default_factor, tf32_advice
from tilesmith.judge.examination import CheckFindings, Examination, begin, summarize
from tilesmith.judge.gate_failed import GateFailed
from tilesmith.judge.gates.compilation import CompilationJob
from tilesmith.judge.gates.cpu import CONFIRMATION_GATES, CPU_GATES
from tilesmith.judge.gates.gate import Conclusion, GateClock, Progress, go_through
from tilesmith.judge.gates.gpu import GPU_GATES, SPEED_GATES
from tilesmith.judge.gates.values import Values
from tilesmith.judge.machine.child_limits import candidate_limits, reference_limits, roomy_folder
from tilesmith.judge.machine.devices import choose_device, require_interpreter
from tilesmith.judge.machine.gpu_lock import GpuLock
from tilesmith.judge.machine.gpu_memory_room import GpuMemoryRoom, memory_need
from tilesmith.judge.machine.kernel_imports import grants_for, grants_for_types
from tilesmith.judge.reference.references import References, is_large
from tilesmith.judge.reference.survey import survey_of
from tilesmith.judge.sessions import REFERENCE_S, CandidateSession, ReferenceSession
from tilesmith.judge.trials import KernelTrials
from tilesmith.process import folders
from tilesmith.process.fork_server_client import Child, ForkServerClient, Spawn, start_fork_servers
from tilesmith.process.protocol.candidate import LoadKernel
from tilesmith.process.protocol.reference import (
    ArgumentTypes,
    DescribeTask,
    FindArgumentTypes,
    FindTaskForm,
    MakeVariants,
    OpenTask,
)
from tilesmith.process.sandbox import NO_GRANTS, Grants, missing_walls
from tilesmith.records import Certificate, Evaluation, Survey, Verdict
from tilesmith.tasks.source import TaskSource, read_task
from tilesmith.tasks.user_code.task_name import TaskName

AnyTask = Path | TaskName | TaskSource
"""A task's file, its name, or what was read of it."""


class Judge:
    """Owns the processes. Close it, or use it as a context manager."""

    def __init__(self, config: CheckConfig, host: Judge | None = None, gpu: str | None = None) -> None:
        """`host` lends its fork servers, in which nothing but our own code runs; every child is fresh. Close this
        judge before it. `gpu` is one of `visible_gpus()`, the first unless said otherwise."""
        self.config = config
        self._gpu: str | None = host._gpu if host else gpu
        self._gpu_lock = GpuLock(gpu=self._gpu)
        self.device = choose_device(config.device)
        if self.device == "cpu":
            require_interpreter()
        self._fork_servers: dict[str, ForkServerClient] = {}
        self._host = host
        self._folders: list[Path] = []
        self._is_closed = False
        try:
            self._scratch: Path = host._scratch if host else self._make_folder(None)
            self._exchange: Path = self._make_folder(str(host._exchange) if host else roomy_folder())
            self._references = References(self._open, self._exchange, GpuMemoryRoom(gpu=self._gpu))
            if host:
                self._fork_servers = host._fork_servers
            else:
                self._start_servers()
        except BaseException:
            self._close_servers()
            raise

    def _make_folder(self, parent: str | None) -> Path:
        self._folders.append(Path(tempfile.mkdtemp(prefix="tilesmith-", dir=parent)))
        return self._folders[-1]

    def _start_servers(self) -> None:
        flavors = ("native", "interpret") if self.device == "cpu" else ("native",)
        self._fork_servers = start_fork_servers(flavors, self._scratch, self._exchange, self._gpu)
        if self.device == "cuda":
            self._fork_servers["native"].build_stubs(reference_limits())

    def check(self, task: AnyTask, kernel: Path, progress: Progress = lambda _: None) -> Evaluation:
        """One verdict. Raises TilesmithError only for what is not the kernel's fault."""
        source, clock = self._read(task), GateClock(progress)
        found = self._known_before(self.config.seed)
        try:
            with clock.gate("read"):
                read = read_candidate(kernel, source)
                found = found.reading(read.report)
                refuse_certain_faults(read)
        except GateFailed as failed:
            return found.evaluation(failed.verdict, failed.reason, clock.timings)
        with clock.waiting("reference"), self._references.of(source) as reference:
            conclusion = self._conclude(source, read, reference, clock, found)
        return self._evaluation(conclusion, reference, clock)

    def _conclude(
        self,
        source: TaskSource,
        read: CandidateSource,
        reference: ReferenceSession,
        clock: GateClock,
        found: CheckFindings,
    ) -> Conclusion:
        """Where memory runs out, the kernel gets the GPU for itself: only then is it the candidate's fault."""
        gates = CPU_GATES if self.device == "cpu" else SPEED_GATES if self.config.speed_only else GPU_GATES
        for alone in (False, True):
            with self._references.room_for(reference, alone) as frugal:
                try:
                    known = found
                    if gates is not SPEED_GATES:
                        with clock.gate("certificate"):
                            certificate = certificate_of(
                                source, reference, self.config, self.device, self._gpu_lock
                            )
                        known = replace(found, certificate=certificate).noting(*certificate.notes)
                    known = known.knowing(**reference.facts, k=reference.k)
                    with self._examination(source, read, reference, known, frugal=frugal) as exam:
                        conclusion = go_through(gates, exam, clock)
                except OutOfGpuMemory:
                    if frugal:
                        raise
                    continue
            if frugal or not _ran_out_of_memory(conclusion, self.device):
                return conclusion
        raise AssertionError("whoever is alone is frugal")

    def confirm_values(
        self, task: AnyTask, kernel: Path, seed: int, progress: Progress = lambda _: None
    ) -> Evaluation:
        """Without a GPU: the values of a kernel that passed, by fresh processes under another seed."""
        source, clock = self._read(task), GateClock(progress)
        found = self._known_before(seed)
        try:
            read = read_candidate(kernel, source)
        except GateFailed as failed:
            return found.evaluation(failed.verdict, failed.reason, clock.timings)
        with self._references.of(source) as usual:
            strongly = usual.certificate is not None and usual.certificate.strong_parameters
        folder = Path(tempfile.mkdtemp(prefix="confirmation-", dir=self._exchange))
        with clock.waiting("reference"), contextlib.closing(self._open(source, folder, seed)) as reference:
            reference.move_parameters(strongly)
            found = found.reading(read.report).knowing(**reference.facts, k=reference.k)
            with self._examination(source, read, reference, found, compiles=False) as exam:
                conclusion = go_through(CONFIRMATION_GATES, exam, clock)
        return self._evaluation(conclusion, reference, clock, f"right under seed {seed} too")

    def _known_before(self, seed: int) -> CheckFindings:
        k = self.config.k or USUAL_FACTOR
        return CheckFindings().knowing(precision=self.config.precision, k=k, seed=seed)

    def _evaluation(
        self, conclusion: Conclusion, reference: ReferenceSession, clock: GateClock, reason: str = ""
    ) -> Evaluation:
        """`reason`: what is said of a kernel that passed, in place of the usual summary."""
        found, failure = conclusion
        found = found.knowing(**reference.input_facts("exact" if self.device == "cuda" else "shrunk"))
        if failure is None:
            return found.evaluation(
                Verdict.PASSED, reason or summarize(found, self.device, self.config.timing), clock.timings
            )
        found = replace(found, errors=failure.errors or found.errors)
        advice = tf32_advice(failure.verdict, found.lint, reference.profile, self.config.precision)
        return found.evaluation(failure.verdict, f"{failure.reason}{advice}", clock.timings)

    @contextlib.contextmanager
    def _examination(
        self,
        task: TaskSource,
        kernel: CandidateSource,
        reference: ReferenceSession,
        findings: CheckFindings,
        compiles: bool = True,
        frugal: bool = False,
    ) -> Iterator[Examination]:
        """A kernel in its own processes, which end with it."""
        config, device, lock = self.config, self.device, self._gpu_lock
        spawn = self._spawn_for(task, grants_for(kernel.path, kernel.source), reference)
        load = self._load_request(task, kernel.path, kernel.text, reference)
        flavor = "interpret" if device == "cpu" else "native"
        job = CompilationJob(load, reference, spawn, config.timeout_s) if compiles and device == "cpu" else None
        try:
            candidate = CandidateSession(lambda: spawn(flavor, "candidate"), config.timeout_s)
            try:
                findings = begin(findings, reference, config, device).knowing(**candidate.sandbox)
                explains = device == "cpu" or not is_large(reference)
                gpu = lock.shared if device == "cuda" else contextlib.nullcontext
                values = Values(candidate, reference, config, device, gpu, explains and not frugal, frugal)
                if frugal:
                    findings = findings.noting(_cut(reference))
                yield Examination(
                    config, device, task, kernel, load, reference, spawn, candidate, values, lock, findings, job
                )
            finally:
                candidate.close()
        finally:
            if job is not None:
                job.cancel()

    def _load_request(self, task: TaskSource, path: Path, text: str, reference: ReferenceSession) -> LoadKernel:
        return LoadKernel(
            path=str(path.resolve()),
            text=text,
            device=self.device,
            target=reference.environment.capability or self.config.target,
            precision=self.config.precision,
            task=task,
            types=reference.types,
        )

    @contextlib.contextmanager
    def trials(self, task: AnyTask) -> Iterator[KernelTrials]:
        """Rival texts for a task, compiled and timed, but not judged."""
        source = self._read(task)
        folder = Path(tempfile.mkdtemp(prefix="trials-", dir=self._scratch))
        path = folder / "kernel.py"
        with self._references.of(source) as reference, self._references.room_for(reference) as frugal:
            may_time = self.device == "cuda" and self.config.timing and not frugal
            trials = KernelTrials(
                lambda text: self._load_request(source, path, text, reference),
                reference,
                self._spawn_for(source, NO_GRANTS, reference),
                folder,
                self.config.timeout_s,
                may_time,
                self._gpu_lock,
            )
            with contextlib.closing(trials):
                yield trials
            if self._is_closed:
                raise RuntimeError("the judge was closed meanwhile: what was tried says nothing")

    def _read(self, task: AnyTask) -> TaskSource:
        source = task if isinstance(task, TaskSource) else read_task(task)
        return replace(source, mode=self.config.mode)

    def survey(self, task: AnyTask) -> Survey:
        """The task before anything is written for it. Raises TilesmithError where it cannot be used."""
        source = self._read(task)
        with self._references.of(source) as reference:
            return survey_of(source, reference, self.device, self.config)

    def certify(self, task: AnyTask, renew: bool = False) -> Certificate:
        """Which known cheats this judge can tell from the truth on a task; `renew` tries them again."""
        source = self._read(task)
        with self._references.of(source) as reference, self._references.room_for(reference):
            return self._certificate(source, reference, renew)

    def _certificate(self, source: TaskSource, reference: ReferenceSession, renew: bool = False) -> Certificate:
        return certificate_of(source, reference, self.config, self.device, self._gpu_lock, renew)

    def let_references_go(self) -> None:
        """Their memory is free then; they are opened again when they are needed."""
        self._references.close()

    def close(self) -> None:
        self._is_closed = True
        self._references.close()
        self._close_servers()

    def _close_servers(self) -> None:
        for fork_server in self._fork_servers.values() if self._host is None else ():
            fork_server.close()
        for folder in self._folders:
            folders.remove(folder)

    def __enter__(self) -> Judge:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _spawn(self, flavor: str, role: str, grants: Grants = NO_GRANTS) -> Child:
        limits = reference_limits() if role == "reference" else candidate_limits(self.config, self.device)
        return self._fork_servers[flavor].spawn(role, limits, grants)

    def _spawn_for(self, task: TaskSource, beside: Grants, reference: ReferenceSession) -> Spawn:
        """Children that see what is granted, and what the reference hands over: where that is of the user's own
        types, their files too."""
        types = grants_for_types(task) if reference.types != ArgumentTypes() else NO_GRANTS
        grants = replace(
            beside,
            readable=(*beside.readable, str(reference.folder), *types.readable),
            listable=(*beside.listable, *types.listable),
        )
        return lambda flavor, role: self._walled(self._spawn(flavor, role, grants))

    def _walled(self, child: Child) -> Child:
        """Before any candidate code runs in it: are there as many walls as are insisted on?"""
        missing = missing_walls(child.walls)
        if self.config.require_sandbox and missing:
            child.close()
            raise MachineError(
                f"--require-sandbox: this machine gives candidates no wall around {', '.join(missing)}; "
                "run `tilesmith doctor` to see what to do"
            )
        return child

    def _open(self, task: TaskSource, folder: Path, seed: int | None = None) -> ReferenceSession:
        timeout_s = max(REFERENCE_S, self.config.timeout_s)
        session = ReferenceSession(lambda: self._spawn("native", "reference"), task.name, folder, timeout_s)
        try:
            session.environment = session.set_up(
                OpenTask(
                    task=task,
                    device=self.device,
                    precision=self.config.precision,
                    seed=self.config.seed if seed is None else seed,
                    folder=os.getcwd(),
                )
            )
            variants = session.set_up(MakeVariants(odd=1))
            session.plans, session.shapes = variants.plans, variants.shapes
            session.profile = session.ask(DescribeTask())
            session.types = session.ask(FindArgumentTypes())
            session.form = session.ask(FindTaskForm())
            session.k = self.config.k or default_factor(session.profile, self.config.precision)
        except BaseException:
            session.close()
            raise
        return session


def _ran_out_of_memory(conclusion: Conclusion, device: str) -> bool:
    failure = conclusion.failure
    return device == "cuda" and failure is not None and failure.verdict is Verdict.OUT_OF_MEMORY


def _cut(reference: ReferenceSession) -> str:
    """What a check does without when the task hardly fits on the GPU."""
    return (
        f"this task needs about {memory_need(reference.profile) / 1e9:.0f} GB to be judged in full, more than is "
        "free here: no pads around its tensors, and memory is given back after every step"
    )
