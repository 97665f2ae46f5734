"""The gates without a GPU: values in Triton's interpreter on small shapes, every kernel compiled for the target.

Both go on at once in different children, because one process can either interpret or compile.
"""

from __future__ import annotations

from dataclasses import replace

from tilesmith.errors import MachineError, NotJudgedHere
from tilesmith.judge.decisions.cheat_checks import (
    refuse_different_launches,
    refuse_no_launch,
    refuse_torch_doing_everything,
)
from tilesmith.judge.examination import CheckFindings, Examination
from tilesmith.judge.gate_failed import GateFailed
from tilesmith.judge.gates.compilation import Compilation
from tilesmith.judge.gates.gate import Gate, always, has_failed, is_right_so_far
from tilesmith.judge.gates.interface import examine_interface
from tilesmith.judge.gates.other_shapes import EXACT_ONLY, check_other_shapes
from tilesmith.judge.gates.replay import MANY_CALLS, AnswerWithoutLaunches, answer_without_launches
from tilesmith.judge.gates.shared import refuse_needless_kernels
from tilesmith.process.protocol.reference import CheckExactSteps
from tilesmith.records import Verdict
from tilesmith.tasks.draws import DRAWS, FEW_DRAWS, REPLAY_DRAWS

_INTERPRET_S = 20.0
_SECOND_CHANCE_S = 8.0
_VERY_SLOW_S = 120.0
"""Where one call takes longer, programs run in their own order alone."""
_AFFORDABLE_BYTES = 16_000_000
_AFFORDABLE_PROGRAMS = 6_000
_AT_OWN_SHAPE = "at the task's own shape "
_SHAPE_RELATED = (
    Verdict.COMPILE_ERROR,
    Verdict.RUNTIME_ERROR,
    Verdict.WRONG_SHAPE,
    Verdict.WRONG_VALUES,
    Verdict.UNSAFE_MEMORY,
)


def load_kernel(exam: Examination) -> CheckFindings:
    exam.candidate.ask(exam.load)
    exam.values.construct("shrunk")
    return exam.findings


def replay_without_launches(exam: Examination) -> CheckFindings:
    """Asked before the kernel has a past to remember."""
    return replace(exam.findings, replayed=_replayed(exam, "shrunk"))


def check_values(exam: Examination) -> CheckFindings:
    report = exam.values.check("shrunk", _INTERPRET_S, exam.with_extra(DRAWS), watched=True)
    found = replace(exam.findings, errors=report.errors, launches=len(report.launches), kernels=report.launches)
    return found.noting(*report.notes)


def check_few_values(exam: Examination) -> CheckFindings:
    report = exam.values.check("shrunk", _INTERPRET_S, FEW_DRAWS)
    return replace(exam.findings, errors=report.errors, launches=len(report.launches)).noting(*report.notes)


def check_schedules(exam: Examination) -> CheckFindings:
    if exam.values.seconds > _VERY_SLOW_S:
        took = f"a call takes {exam.values.seconds:.0f} s in the interpreter"
        return exam.findings.noting(f"not run with its programs in another order: {took}")
    exam.values.check_again("shrunk")
    return exam.findings


def take_compilation(exam: Examination) -> CheckFindings:
    compiled = _compilation(exam)
    launches = compiled.launches if compiled.launches is not None else exam.findings.launches
    found = replace(exam.findings, resources=compiled.resources, launches=launches)
    return found.noting(compiled.note) if compiled.note else found


def refuse_compile_failure(exam: Examination) -> CheckFindings:
    failure = _compilation(exam).failure
    if failure is not None:
        raise failure
    return exam.findings


def try_own_shape(exam: Examination) -> CheckFindings:
    """A kernel may be written for the task's exact sizes: try those, or smaller ones that divide alike."""
    failure, compiled, values = exam.findings.failure, _compilation(exam), exam.values
    assert failure is not None
    if failure.verdict not in _SHAPE_RELATED or exam.config.require_general:
        raise failure
    variant = _closer_shape(exam)
    if variant is None:
        raise _unless_compiled(failure, compiled)
    with values.quickly(_SECOND_CHANCE_S):
        try:
            values.construct(variant)
            report = values.check(variant, _INTERPRET_S, exam.with_extra(DRAWS), watched=True)
            values.check_again(variant)
            accusation = _replayed(exam, variant).accusation
            if accusation is not None:
                raise accusation
        except (GateFailed, MachineError) as error:
            if isinstance(error, GateFailed) and error.is_conclusive:
                raise
            raise _unless_compiled(failure, compiled) from None
    shapes = exam.reference.shapes["exact"] if variant == "exact" else exam.reference.aligned()
    found = replace(exam.findings, errors=report.errors, generality=EXACT_ONLY, failure=None, excused=True)
    return found.knowing(shapes=shapes).noting(f"fails on other shapes: {failure.verdict}: {failure.reason}")


def compare_launches(exam: Examination) -> CheckFindings:
    refuse_different_launches(exam.findings.replayed.first_call, _compilation(exam).first_call)
    return exam.findings


def check_longer_shapes(exam: Examination) -> CheckFindings:
    """Small shapes fit one block: a second one, and a grid of several programs, must be right too."""
    found, plans = exam.findings, exam.reference.plans
    for name in (name for name in plans if name.startswith("long")):
        where = f"with {plans[name]}"
        try:
            exam.values.construct(name)
            with exam.values.quickly(_SECOND_CHANCE_S):
                exam.values.check(name, 0.0, draws=("own",))
        except MachineError:
            found = found.noting(f"{where}: too slow for the interpreter")
        except GateFailed as failed:
            if failed.verdict is Verdict.TIMEOUT:
                return replace(found.noting(f"{where}: too slow for the interpreter"), is_slow=True)
            if failed.verdict is not Verdict.COMPILE_ERROR:  # the compiler took it at the exact shape
                raise GateFailed(failed.verdict, f"{where}: {failed.reason}", failed.errors) from None
            found = found.noting(f"{where}: {failed.reason}")
    return found


def check_ragged_shapes(exam: Examination) -> CheckFindings:
    return check_other_shapes(exam, _INTERPRET_S / 4)


def is_fast_enough(exam: Examination) -> bool:
    return is_right_so_far(exam) and not exam.findings.is_slow


def cover_kernels(exam: Examination) -> CheckFindings:
    """The kernels of the task's own shape are the ones that count: all of them must have been seen at work."""
    compiled, values = _compilation(exam), exam.values
    if compiled.kernels is not None:
        refuse_no_launch(tuple(compiled.kernels), _AT_OWN_SHAPE)
        if compiled.torch_steps:
            coverage = exam.reference.ask(CheckExactSteps(compiled.torch_steps))
            refuse_torch_doing_everything(coverage, _AT_OWN_SHAPE)
    missing = (compiled.kernels or frozenset()) - values.kernels
    variant = _closer_shape(exam) if missing else None
    if variant is not None:
        with values.quickly(_SECOND_CHANCE_S):
            values.construct(variant)
            values.check(variant, 0.0, draws=("own",))
    unseen = sorted(missing - values.kernels)
    if unseen:
        raise NotJudgedHere(
            f"at the task's own shape it launches {unseen[0]}, which it does not at any shape small enough for the "
            "interpreter: this kernel can only be checked on a GPU"
        )
    return exam.findings


CPU_GATES = (
    Gate("load", load_kernel),
    Gate("replay", replay_without_launches),
    Gate("values", check_values, excusable=True),
    Gate("values", refuse_needless_kernels, excusable=True),
    Gate("determinism", check_schedules, excusable=True),
    Gate("compile", take_compilation, when=always),
    Gate("compile", refuse_compile_failure, when=always),
    Gate("own shape", try_own_shape, when=has_failed),
    Gate("same launches", compare_launches, when=always),
    Gate("longer shapes", check_longer_shapes),
    Gate("other shapes", check_ragged_shapes, when=is_fast_enough),
    Gate("every kernel", cover_kernels),
    Gate("interface", examine_interface),
)
"""The compiler's child works beside these gates until `compile` waits for it."""
CONFIRMATION_GATES = (Gate("load", load_kernel), Gate("values", check_few_values))
"""For a kernel that has passed all gates, under a seed that it has not seen."""


def _replayed(exam: Examination, variant: str) -> AnswerWithoutLaunches:
    draws = exam.with_extra(REPLAY_DRAWS)
    return answer_without_launches(exam.candidate, exam.reference, variant, draws, calls=MANY_CALLS)


def _compilation(exam: Examination) -> Compilation:
    assert exam.compilation is not None
    return exam.compilation.result()


def _unless_compiled(failure: GateFailed, compiled: Compilation) -> Exception:
    """What the real compiler accepts at the exact shape is no compile error: then the small shape is to blame."""
    if failure.verdict is not Verdict.COMPILE_ERROR or not compiled.resources:
        return failure
    return NotJudgedHere(f"compiles at the task's shape but not at one small enough to interpret: {failure.reason}")


def _closer_shape(exam: Examination) -> str | None:
    """The exact shape where the interpreter can afford it, else the aligned one."""
    reference = exam.reference
    if reference.plans.get("shrunk") == "as is":
        return None
    moved = reference.profile.bytes_moved or 1 << 60
    if moved <= _AFFORDABLE_BYTES and (_compilation(exam).programs or 0) <= _AFFORDABLE_PROGRAMS:
        return "exact"
    return "aligned" if reference.aligned() else None
