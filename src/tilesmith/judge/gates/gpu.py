"""The gates on a GPU: values at the exact shape between guard pads, then timing alone, then other shapes."""

from __future__ import annotations

from dataclasses import replace

from tilesmith.errors import MachineError, OutOfGpuMemory
from tilesmith.judge.decisions.cheat_checks import refuse_unjoined_streams
from tilesmith.judge.decisions.task_roofline import gpu_at_hand
from tilesmith.judge.examination import CheckFindings, Examination
from tilesmith.judge.gate_failed import GateFailed
from tilesmith.judge.gates.gate import Gate
from tilesmith.judge.gates.interface import examine_interface
from tilesmith.judge.gates.other_shapes import check_other_shapes, other_shapes
from tilesmith.judge.gates.replay import AnswerWithoutLaunches, answer_without_launches
from tilesmith.judge.gates.sanitizer import sanitize
from tilesmith.judge.gates.shared import refuse_needless_kernels
from tilesmith.judge.gates.timing import TimingRounds
from tilesmith.judge.reference.references import is_large
from tilesmith.judge.sessions import MANY_KERNELS
from tilesmith.process.protocol.candidate import CompileAhead, ConstructModel, InspectKernels, WarmUpGpu
from tilesmith.process.protocol.reference import MeasureMinimumTraffic
from tilesmith.process.protocol.tensors import ReleaseMemory
from tilesmith.records import Timing, Verdict
from tilesmith.tasks.draws import DRAWS, FEW_DRAWS

_VALUES_S = 120.0
_BELIEVABLE = 0.7
"""A median below this share of the memory-bound floor is not believed."""


def compile_ahead(exam: Examination) -> CheckFindings:
    """Compile with every launch left out, without the lock. A failure of such a call shows again in the first run.

    The kernel then answers without any launch; an accusation waits until the values are known to be right.
    """
    candidate, found = exam.candidate, exam.findings
    try:
        candidate.ask(WarmUpGpu())
    except (GateFailed, MachineError):  # whatever it was, the kernel was not there yet
        candidate.restart()
    candidate.ask(exam.load)
    candidate.ask(ConstructModel("exact", exam.reference.construction("exact")))
    try:
        _compile(exam, "exact")
        draws = exam.with_extra(FEW_DRAWS)
        replayed = answer_without_launches(
            candidate, exam.reference, "exact", draws, exam.lock.shared, exam.values.release
        )
        found = replace(found, replayed=replayed)
    except (GateFailed, MachineError) as error:
        found = _accused(found, error)
        if found.replayed.accusation is None:
            found = found.noting(f"not replayed without its launches: {error}")
    for variant in () if exam.config.speed_only else other_shapes(exam.reference):
        try:
            candidate.ask(ConstructModel(variant, exam.reference.construction(variant)))
            _compile(exam, variant)
        except (GateFailed, MachineError) as error:
            found = _accused(found, error)
    return found


def _compile(exam: Examination, variant: str) -> None:
    with exam.reference.on_gpu(exam.lock.shared):
        inputs = exam.reference.inputs(variant, "own")
    exam.candidate.ask(CompileAhead(variant, inputs), MANY_KERNELS * exam.config.timeout_s)
    exam.values.release()


def _accused(found: CheckFindings, error: GateFailed | MachineError) -> CheckFindings:
    """With the accusation, if it is one and the first."""
    if not isinstance(error, GateFailed) or not error.is_conclusive or found.replayed.accusation is not None:
        return found
    return replace(found, replayed=AnswerWithoutLaunches(error))


def load_kernel(exam: Examination) -> CheckFindings:
    """Load it anew: what its host code made of kernels that did nothing must not stay."""
    try:
        exam.candidate.ask(exam.load)
    except (GateFailed, MachineError):  # that call may have broken the process
        exam.candidate.restart()
        exam.candidate.ask(exam.load)
    exam.values.construct("exact")
    return exam.findings


def check_values(exam: Examination) -> CheckFindings:
    large = is_large(exam.reference)
    draws = exam.with_extra(FEW_DRAWS if large or exam.config.speed_only else DRAWS)
    report = exam.values.check("exact", _VALUES_S, draws, watched=not large)
    return replace(exam.findings, errors=report.errors, kernels=report.launches).noting(*report.notes)


def check_again(exam: Examination) -> CheckFindings:
    return replace(exam.findings, launches=len(exam.values.check_again("exact")))


def inspect_kernels(exam: Examination) -> CheckFindings:
    with exam.reference.on_gpu(exam.lock.shared):
        seen = exam.candidate.ask(InspectKernels("exact", exam.reference.inputs("exact", "own")))
    return replace(
        exam.findings,
        resources=seen.resources,
        triton_time_share=seen.triton_time_share,
        unjoined=seen.unjoined,
    )


def refuse_side_streams(exam: Examination) -> CheckFindings:
    refuse_unjoined_streams(exam.findings.unjoined)
    return exam.findings


def time_kernel(exam: Examination) -> CheckFindings:
    try:
        timing = _timed(exam)
    except (OutOfGpuMemory, GateFailed) as error:
        if not exam.values.frugal or (isinstance(error, GateFailed) and error.verdict is not Verdict.OUT_OF_MEMORY):
            raise
        try:
            exam.values.release()
        except (GateFailed, MachineError) as gone:  # and its memory with it
            if isinstance(gone, GateFailed) and gone.is_conclusive:
                raise
        return exam.findings.noting(
            f"not timed: the GPU has too little memory for the kernel beside PyTorch: {error}"
        )
    return replace(exam.findings, timing=timing).noting(*timing.notes)


def _timed(exam: Examination) -> Timing:
    rounds = TimingRounds(exam.candidate, exam.reference, exam.config, single_draw=exam.values.frugal)
    exam.values.release()
    rounds.build_baselines()
    with exam.reference.on_gpu(exam.lock.shared):
        rounds.warm_up()
    with exam.lock.alone():
        timing = rounds.run(exam.reference.environment.device)
    with exam.reference.on_gpu(exam.lock.shared):
        if is_large(exam.reference):
            exam.candidate.ask(ReleaseMemory())
        exam.values.release()
        rounds.check_timed_outputs()
        _refuse_impossible(exam, timing.candidate_ms.p50)
    return timing


def check_ragged_shapes(exam: Examination) -> CheckFindings:
    return check_other_shapes(exam, _VALUES_S, watched=is_large(exam.reference))


GPU_GATES = (
    Gate("compile", compile_ahead),
    Gate("load", load_kernel),
    Gate("values", check_values),
    Gate("values", refuse_needless_kernels),
    Gate("determinism", check_again),
    Gate("resources", inspect_kernels),
    Gate("resources", refuse_side_streams),
    Gate("sanitizer", sanitize, when=lambda exam: exam.config.sanitize),
    Gate("timing", time_kernel, when=lambda exam: exam.config.timing),
    Gate("other shapes", check_ragged_shapes),  # late: a crash there must not cost what is known by now
    Gate("interface", examine_interface),
)


SPEED_GATES = tuple(gate for gate in GPU_GATES if gate.name in ("compile", "load", "values", "timing"))


def _refuse_impossible(exam: Examination, median_ms: float) -> None:
    """Nobody reads the inputs and writes the outputs faster than the memory allows."""
    environment = exam.reference.environment
    gpu = gpu_at_hand(environment)
    if gpu is None:
        return
    moved = exam.reference.ask(MeasureMinimumTraffic()).bytes - (environment.l2_bytes or 0)
    floor_ms = moved / (gpu.memory_gb_per_s * 1e9) * 1e3
    if median_ms < _BELIEVABLE * floor_ms:
        raise GateFailed(
            Verdict.CHEATING,
            f"{median_ms:.4f} ms is faster than {gpu.name} can move the {moved / 1e6:.0f} MB this task must move "
            f"({floor_ms:.4f} ms): the work is not done, or not inside the timed call",
        )
