"""The gates about values: right on every draw, right again later, the same every time, inside its own memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from tilesmith.config import CheckConfig
from tilesmith.errors import OutOfGpuMemory
from tilesmith.judge.decisions.cheat_checks import (
    looks_like_a_decoy,
    refuse_changed_launches,
    refuse_copied_answers,
    refuse_decoy,
    refuse_no_launch,
    refuse_torch_doing_everything,
    refuse_unjoined_streams,
)
from tilesmith.judge.decisions.error_budget import Judgment, judge_outputs
from tilesmith.judge.gate_failed import GateFailed
from tilesmith.judge.sessions import CandidateSession, ReferenceSession, UnreadableOutputs
from tilesmith.process.protocol.candidate import (
    MOST_CONFIGS,
    ConstructModel,
    ForwardReport,
    InspectKernels,
    RunForward,
)
from tilesmith.process.protocol.comparison import Comparison
from tilesmith.process.protocol.interface import ProbeDescription
from tilesmith.process.protocol.reference import CompareOutputs, CompareRuns, MeasureTorchShare, TorchStep
from tilesmith.process.protocol.tensors import ReleaseMemory, TensorFile
from tilesmith.records import OutputErrors, Verdict
from tilesmith.tasks.draws import CORNERS_DRAW, DRAWS, FARTHER_DRAWS, WATCHED_DRAWS

_HEAVY, _FEW_ELEMENTS = 0.1, 64
_LEAST_CONFIGS, _CONFIGS_S = 4, 1.5
"""Of an autotuner so many are tried at least, and as many more as that time allows."""
_SLOW_S = 3.0
"""Where one run takes longer, one other order of programs must do."""
_LONGEST = 5.0
"""A call may take so many times the usual limit in the interpreter, as long as its programs come to their ends."""


@dataclass(frozen=True)
class CheckedRun:
    """One forward of the candidate: where its outputs are, and what was seen on the way."""

    output: TensorFile
    report: ForwardReport
    seconds: float
    torch_output: TensorFile | None = None
    """What torch had made without a kernel, where that was asked for."""


@dataclass(frozen=True)
class ValuesReport:
    errors: OutputErrors | None
    launches: tuple[str, ...]
    draws: tuple[str, ...]
    notes: tuple[str, ...]


class Values:
    """The candidate and the reference side by side on one shape of the task."""

    def __init__(
        self,
        candidate: CandidateSession,
        reference: ReferenceSession,
        config: CheckConfig,
        device: str,
        gpu: Callable[[], AbstractContextManager[None]],
        explains: bool = True,
        frugal: bool = False,
    ) -> None:
        self._candidate, self._reference, self._config = candidate, reference, config
        self._device, self.gpu = device, gpu
        self._pads = "nan" if device == "cuda" and not frugal else None
        self.frugal = frugal
        """Memory is short: what is not used is given back at once."""
        self._stale: tuple[str, ...] = ()
        self._truth_note: str | None = None
        self.kernels: set[str] = set()
        """Every kernel that was launched in a run so far."""
        self._first_grids: dict[str, frozenset[str]] = {}
        """What the first call on each shape's own inputs launched on a GPU."""
        self._time_limit_s = 0.9 * config.timeout_s
        self._longest_s = _LONGEST * config.timeout_s if device == "cpu" else None
        self.seconds = 0.0
        """What the first run of the last check took."""
        self._explains = explains
        """Whether a wrong result is run again to find its nature; too dear for the largest tasks."""

    @contextmanager
    def quickly(self, time_limit_s: float) -> Iterator[None]:
        """For a second opinion: runs are cut short, and a failure is not looked into."""
        usual = self._time_limit_s, self._longest_s, self._explains
        self._time_limit_s, self._explains = min(time_limit_s, self._time_limit_s), False
        self._longest_s = None
        try:
            yield
        finally:
            self._time_limit_s, self._longest_s, self._explains = usual

    def release(self) -> None:
        """Where memory is short, both give back what they hold without need."""
        if self.frugal:
            self._reference.ask(ReleaseMemory())
            self._candidate.ask(ReleaseMemory())

    def construct(self, variant: str) -> None:
        path = self._reference.construction(variant)
        with self.gpu():
            self._stale = self._candidate.ask(ConstructModel(variant, path)).stale

    def check(
        self, variant: str, budget_s: float, draws: tuple[str, ...] = DRAWS, watched: bool = False
    ) -> ValuesReport:
        """Every draw within the error budget; fewer draws, and a note, when the time for them runs out.

        `watched`: on some of them it is looked at what torch had made without a kernel.
        """
        started = time.monotonic()
        errors: OutputErrors | None = None
        used: list[str] = []
        notes: list[str] = []
        launches: tuple[str, ...] = ()
        shares: list[float] = []
        kept: tuple[str, ...] = ()
        configs = 0
        for draw in draws:
            if used and time.monotonic() - started > budget_s:
                notes.append(f"checked on {len(used)} of {len(draws)} kinds of inputs: interpreting is slow here")
                break
            watching = watched and draw in WATCHED_DRAWS
            try:
                if not self._accepts(variant, draw):
                    if lost := self._reference.lost_draws.get((variant, draw)):
                        notes.append(f"not checked on {draw} inputs: {lost}")
                    continue
                run, judgment = self._judged_run(variant, draw, in_place=len(used) == 1, watched=watching)
            except OutOfGpuMemory as error:
                if not self.frugal or draw == "own":
                    raise
                notes.append(f"not checked on {draw} inputs: {error}")
                continue
            if launches:
                refuse_no_launch(run.report.launches, f"on the {draw} inputs, unlike on others, ")
            self.seconds = self.seconds if used else run.seconds
            kept = kept or _heavy_steps(run.report.torch_steps)
            if run.torch_output:
                shares.append(self._torch_share(variant, draw, run))
            used.append(draw)
            configs = max(configs, run.report.autotuned)
            launches = launches or run.report.launches
            if draw == "own":
                self._first_grids.setdefault(variant, frozenset(run.report.grids))
            errors = judgment.errors if draw == "own" else errors
        if self._device == "cuda" and configs > MOST_CONFIGS:
            notes.append(f"its autotuner has {configs} configs: {MOST_CONFIGS} of them were tried")
        if kept:
            notes.append(f"a hybrid: PyTorch computes {', '.join(kept)}")
        if looks_like_a_decoy(shares):
            refuse_decoy([*shares, *self._shares_elsewhere(variant)])
        if self._truth_note:
            notes.append(self._truth_note)
        return ValuesReport(errors, launches, tuple(used), tuple(notes))

    def takes(self, variant: str, probe: ProbeDescription) -> bool:
        """Whether a call beside the task's own is answered as Model answers it; raises where the kernel fails."""
        run = self._run(variant, probe.draw, training=probe.training, gradients=probe.kind == "gradients")
        if probe.kind == "gradients":
            return run.report.differentiable
        draw = "own" if probe.is_random else probe.draw
        compared = self._compared(variant, draw, run)
        is_alike = (
            compared.layout_problem is None
            and judge_outputs(compared.outputs, self._reference.k, draw).verdict is Verdict.PASSED
        )
        return is_alike is not probe.is_random

    def _shares_elsewhere(self, variant: str) -> list[float]:
        """On inputs beyond the usual, where a clamp or a small correction has something to do."""
        draws = [draw for draw in FARTHER_DRAWS if self._accepts(variant, draw)]
        runs = [(draw, self._judged_run(variant, draw, watched=True)[0]) for draw in draws]
        return [self._torch_share(variant, draw, run) for draw, run in runs]

    def check_again(self, variant: str) -> tuple[str, ...]:
        """The same inputs once more: the launches of a call after autotuning has settled."""
        if self._device == "cpu":
            launches = self._check_schedules(variant)
        else:
            self._pads = "large" if self._pads else None
            self._judged_run(variant, "own", when="on a repeated call")
            again = self._run(variant, "own").report
            refuse_changed_launches(self._first_grids.get(variant), again.grids)
            launches = again.launches
            if self._accepts(variant, CORNERS_DRAW):
                self._judged_run(variant, CORNERS_DRAW, in_place=True)
        refuse_no_launch(launches, "on inputs that it has seen before, ")
        return launches

    def _check_schedules(self, variant: str) -> tuple[str, ...]:
        """In the interpreter: other orders of the programs, and every autotune config."""
        when = "with the programs in another order"
        first, _ = self._judged_run(variant, "own", schedule=1, when=when)
        if first.seconds > _SLOW_S:
            return first.report.launches
        began = time.monotonic()
        for choice in range(1, first.report.autotuned):
            if choice >= _LEAST_CONFIGS and time.monotonic() - began > _CONFIGS_S:
                break
            self._judged_run(variant, "own", choice=choice, when=f"with autotune config {choice}")
        self._judged_run(variant, "own", schedule=2, when=when)
        return first.report.launches

    def _judged_run(
        self,
        variant: str,
        draw: str,
        schedule: int = 0,
        choice: int = 0,
        when: str = "",
        in_place: bool = False,
        watched: bool = False,
    ) -> tuple[CheckedRun, Judgment]:
        run = self._run(variant, draw, schedule, choice, in_place=in_place, watched=watched)
        compared = self._compared(variant, draw, run)
        self._truth_note = compared.truth_note
        judgment = judge_comparison(compared, self._reference.k, draw)
        if judgment.verdict is not Verdict.PASSED:
            if compared.copied_from:
                self._refuse_remembered(variant, draw)
                cause = f"this answers the earlier {compared.copied_from} inputs: kept, or never overwritten"
                raise GateFailed(judgment.verdict, f"{cause}; {judgment.message}", judgment.errors)
            raise self._explained(variant, draw, judgment, when, choice)
        return run, judgment

    def _refuse_remembered(self, variant: str, draw: str) -> None:
        """Memory that is given out again still holds earlier answers: it counts only where that was wiped."""
        self._refuse_stray_streams(variant, draw)
        compared = self._compared(variant, draw, self._run(variant, draw, watched=True))
        refuse_copied_answers(draw, compared.copied_from)

    def _compared(self, variant: str, draw: str, run: CheckedRun) -> Comparison:
        """Once for each run: its outputs are gone then."""
        with self._reference.on_gpu(self.gpu):
            compared = self._reference.ask(CompareOutputs(variant, draw, run.output.sent_once()))
            if self.frugal:
                self._reference.ask(ReleaseMemory())
        return compared

    def _run(
        self,
        variant: str,
        draw: str,
        schedule: int = 0,
        choice: int = 0,
        pads: str | None = None,
        in_place: bool = False,
        watched: bool = False,
        training: bool | None = None,
        gradients: bool = False,
    ) -> CheckedRun:
        output = self._candidate.output_file()
        torch_output = self._candidate.output_file() if watched else None
        began = time.monotonic()
        with self._reference.on_gpu(self.gpu):
            inputs = self._reference.inputs(variant, draw)
            if self.frugal:
                self._reference.ask(ReleaseMemory())
            request = RunForward(
                variant=variant,
                inputs=inputs,
                output=output,
                pads=pads or self._pads,
                schedule=schedule,
                choice=choice,
                limit_s=self._time_limit_s,
                longest_s=self._longest_s,
                in_place=in_place,
                torch_output=torch_output,
                training=training,
                gradients=gradients,
            )
            report = self._candidate.ask(request, self._longest_s and self._longest_s + self._config.timeout_s)
        self._refuse_side_effects(report)
        refuse_unjoined_streams(report.unjoined)
        self.kernels.update(report.launches)
        if self.frugal:
            self._candidate.ask(ReleaseMemory())
        made = TensorFile(torch_output, report.torch_memory) if torch_output else None
        return CheckedRun(TensorFile(output, report.memory), report, time.monotonic() - began, made)

    def _accepts(self, variant: str, draw: str) -> bool:
        with self._reference.on_gpu(self.gpu):
            return self._reference.accepts(variant, draw)

    def _torch_share(self, variant: str, draw: str, run: CheckedRun) -> float:
        assert run.torch_output is not None
        refuse_no_launch(run.report.launches)
        with self._reference.on_gpu(self.gpu):
            made = run.torch_output.sent_once()
            seen = self._reference.ask(MeasureTorchShare(variant, draw, made, run.report.torch_steps))
        refuse_torch_doing_everything(seen.coverage)
        return seen.share

    def _refuse_side_effects(self, report: ForwardReport) -> None:
        if report.damage:
            raise GateFailed(Verdict.UNSAFE_MEMORY, f"{report.damage}: mask the store or fix its offsets")
        if report.changed_inputs:
            which = ", ".join(report.changed_inputs)
            raise GateFailed(
                Verdict.WRONG_VALUES, f"forward changed {which} in place; write to a tensor of its own"
            )
        elsewhere = [d for d in report.devices if d != self._device]
        if elsewhere:
            raise GateFailed(Verdict.WRONG_SHAPE, f"an output is on {elsewhere[0]}, expected {self._device}")

    def _explained(self, variant: str, draw: str, judgment: Judgment, when: str, choice: int) -> GateFailed:
        """A wrong result has three possible natures: it is wrong, it is random, or it depends on foreign memory."""
        if not self._explains:
            return GateFailed(judgment.verdict, judgment.message, judgment.errors)
        try:
            return self._looked_into(variant, draw, judgment, when, choice)
        except GateFailed as failed:
            return (
                failed if failed.is_conclusive else GateFailed(judgment.verdict, judgment.message, judgment.errors)
            )

    def _looked_into(self, variant: str, draw: str, judgment: Judgment, when: str, choice: int) -> GateFailed:
        self._refuse_stray_streams(variant, draw)
        runs = [self._run(variant, draw, schedule, choice).output for schedule in (0, 3)]
        if not self._agree(*runs):
            cause = "two runs on the same inputs disagree: a race, or random numbers without the given seed"
            return GateFailed(Verdict.NONDETERMINISTIC, f"{cause}; {judgment.message}", judgment.errors)
        if self._device == "cuda":
            other = self._run(variant, draw, choice=choice, pads="zero").output
            if not self._agree(runs[0], other):
                cause = "the result depends on memory outside its tensors (a load without a mask?)"
                return GateFailed(Verdict.UNSAFE_MEMORY, f"{cause}; {judgment.message}", judgment.errors)
        reason = f"{when}, {judgment.message}" if when else judgment.message
        if self._stale:
            reason += f"\n{self._stale[0]}, made in the constructor: it does not follow when weights are loaded"
        return GateFailed(judgment.verdict, reason, judgment.errors)

    def _refuse_stray_streams(self, variant: str, draw: str) -> None:
        """The usual reason why results are not there yet, on a GPU."""
        if self._device == "cuda":
            with self._reference.on_gpu(self.gpu):
                seen = self._candidate.ask(InspectKernels(variant, self._reference.inputs(variant, draw)))
            refuse_unjoined_streams(seen.unjoined)

    def _agree(self, first: TensorFile, second: TensorFile) -> bool:
        with self._reference.on_gpu(self.gpu):
            try:
                return self._reference.ask(CompareRuns(first, second)).agree
            except UnreadableOutputs:
                return False


def _heavy_steps(steps: tuple[TorchStep, ...]) -> tuple[str, ...]:
    """The kinds of operators that work on much data, in the order in which they come."""
    most = max((size for _, size in steps), default=0)
    return tuple(dict.fromkeys(kind for kind, size in steps if size >= max(_HEAVY * most, _FEW_ELEMENTS)))[:4]


def judge_comparison(compared: Comparison, k: float, draw: str) -> Judgment:
    """What the reference's comparison of one file of outputs means."""
    if compared.layout_problem is not None:
        raise GateFailed(Verdict.WRONG_SHAPE, compared.layout_problem)
    return judge_outputs(compared.outputs, k, draw, compared.names)
