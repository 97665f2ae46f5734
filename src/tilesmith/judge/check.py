"""The judge: takes a task and a kernel, gives a verdict one can trust.

    with Judge(CheckConfig()) as judge:
        evaluation = judge.check(task_path, kernel_path)

A judge keeps its fork servers and the references of its tasks warm, and may be asked from several threads.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from tilesmith.config import CheckConfig
from tilesmith.errors import MachineError
from tilesmith.judge.certificates.certification import certificate_of
from tilesmith.judge.examination import Examination, Progress
from tilesmith.judge.gates.cpu import examine_on_cpu
from tilesmith.judge.gates.gpu import examine_on_gpu
from tilesmith.judge.machine.devices import choose_device, require_interpreter
from tilesmith.judge.machine.kernel_imports import grants_for
from tilesmith.judge.machine.limits import candidate_limits, reference_limits, roomy_folder
from tilesmith.judge.reference.references import References
from tilesmith.judge.reference.survey import survey_of
from tilesmith.judge.sessions import Failed, ReferenceSession
from tilesmith.process import folders
from tilesmith.process.fork_server_client import Child, ForkServerClient, Spawn
from tilesmith.process.sandbox import NO_GRANTS, Grants, lacking
from tilesmith.records import Certificate, Evaluation, Survey
from tilesmith.tasks.source import TaskSource, read_task


class Judge:
    """Owns the processes. Close it, or use it as a context manager."""

    def __init__(self, config: CheckConfig) -> None:
        self.config = config
        self.device = choose_device(config.device)
        if self.device == "cpu":
            require_interpreter()
        self._scratch = Path(tempfile.mkdtemp(prefix="tilesmith-"))
        self._exchange = Path(tempfile.mkdtemp(prefix="tilesmith-", dir=roomy_folder()))
        self._references = References(self._open, self._exchange)
        self._fork_servers: dict[str, ForkServerClient] = {}
        try:
            self._start_servers()
        except BaseException:
            self.close()
            raise

    def _start_servers(self) -> None:
        flavors = ("native", "interpret") if self.device == "cpu" else ("native",)
        for flavor in flavors:
            self._fork_servers[flavor] = ForkServerClient(flavor, self._scratch, self._exchange)
        if self.device == "cuda":
            self._fork_servers["native"].build_stubs(reference_limits())

    def check(self, task: Path, kernel: Path, progress: Progress = lambda _: None) -> Evaluation:
        """One verdict. Raises TilesmithError only for what is not the kernel's fault."""
        exam = Examination(self.config, self.device, read_task(task), kernel, progress)
        try:
            with exam.gate("read"):
                exam.read_kernel()
            with exam.waiting("reference"), self._references.of(exam.task) as reference:
                exam.environment |= reference.environment
                with exam.gate("certificate"):
                    exam.certificate = certificate_of(exam.task, reference, self.config, self.device)
                    exam.notes += exam.certificate.notes
                examine = examine_on_cpu if self.device == "cpu" else examine_on_gpu
                examine(exam, reference, self._spawn_for(exam, reference))
        except Failed as failed:
            return exam.failed(failed)
        return exam.passed()

    def survey(self, task: Path | TaskSource) -> Survey:
        """The task before anything is written for it. Raises TilesmithError where it cannot be used."""
        source = read_task(task) if isinstance(task, Path) else task
        with self._references.of(source) as reference:
            return survey_of(source, reference, self.device, self.config)

    def certify(self, task: Path | TaskSource, renew: bool = False) -> Certificate:
        """Which known cheats this judge can tell from the truth on a task; `renew` tries them again."""
        source = read_task(task) if isinstance(task, Path) else task
        with self._references.of(source) as reference:
            return certificate_of(source, reference, self.config, self.device, renew)

    def close(self) -> None:
        self._references.close()
        for fork_server in self._fork_servers.values():
            fork_server.close()
        folders.remove(self._scratch)
        folders.remove(self._exchange)

    def __enter__(self) -> Judge:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _spawn(self, flavor: str, role: str, grants: Grants = NO_GRANTS) -> Child:
        limits = reference_limits() if role == "reference" else candidate_limits(self.config, self.device)
        return self._fork_servers[flavor].spawn(role, limits, grants)

    def _spawn_for(self, exam: Examination, reference: ReferenceSession) -> Spawn:
        """Children that see one kernel, what it imports from its folder, and what the reference hands over."""
        beside = grants_for(exam.kernel, exam.text)
        grants = replace(beside, readable=(*beside.readable, str(reference.folder)))
        return lambda flavor, role: self._walled(self._spawn(flavor, role, grants))

    def _walled(self, child: Child) -> Child:
        """Before any candidate code runs in it: are there as many walls as are insisted on?"""
        missing = lacking(child.walls)
        if self.config.require_sandbox and missing:
            child.close()
            raise MachineError(
                f"--require-sandbox: this machine gives candidates no wall around {', '.join(missing)}; "
                "run `tilesmith doctor` to see what to do"
            )
        return child

    def _open(self, task: TaskSource, folder: Path) -> ReferenceSession:
        session = ReferenceSession(lambda: self._spawn("native", "reference"), task.name, folder)
        try:
            opened = session.set_up(
                "open",
                path=str(task.path),
                text=task.text,
                device=self.device,
                precision=self.config.precision,
                seed=self.config.seed,
                folder=os.getcwd(),
            )
            session.environment = opened["environment"]
            variants = session.set_up("variants", odd=1)
            session.plans, session.shapes = variants["plans"], variants["shapes"]
            session.profile = session.ask("describe")
        except BaseException:
            session.close()
            raise
        return session
