"""The gates without a GPU: values in Triton's interpreter on small shapes, every kernel compiled for the target.

Both go on at once in different children, because one process can either interpret or compile.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from tilesmith.errors import MachineError, NotJudgedHere
from tilesmith.judge.decisions.cheat_checks import (
    FIRST_FILL,
    MANY_CALLS,
    REPLAY_DRAWS,
    AnswerWithoutLaunches,
    answer_without_launches,
    refuse_different_launches,
    refuse_idle,
    refuse_torch_doing_everything,
)
from tilesmith.judge.decisions.task_roofline import floor_on, gpu_for_target
from tilesmith.judge.draws import DRAWS
from tilesmith.judge.examination import Examination
from tilesmith.judge.gates.other_shapes import EXACT_ONLY, generality
from tilesmith.judge.gates.values import Values
from tilesmith.judge.reference.references import LARGE_BYTES
from tilesmith.judge.sessions import CandidateSession, Failed, ReferenceSession
from tilesmith.process.fork_server_client import Spawn
from tilesmith.records import KernelResources, Verdict
from tilesmith.worker.candidate.launch_fingerprint import FirstCall

_INTERPRET_S = 20.0
_SECOND_CHANCE_S = 8.0
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


@dataclass(frozen=True)
class Compilation:
    """What the compiler child learned: launches and programs of one exact call, and each kernel's resources."""

    resources: tuple[KernelResources, ...]
    launches: int | None
    programs: int | None
    note: str | None
    failure: Failed | None
    kernels: frozenset[str] | None = None
    """Those launched at the task's exact shape; null where only a smaller one could be recorded."""
    torchs_steps: tuple[Any, ...] = ()
    """What torch computes itself at the exact shape."""
    first_call: FirstCall | None = None
    """At the small shape; null where it cannot be compared."""


def examine_on_cpu(exam: Examination, reference: ReferenceSession, spawn: Spawn) -> None:
    exam.notes.append("not timed: there is no GPU here")
    if exam.config.sanitize:
        exam.notes.append("not sanitized: compute-sanitizer needs a GPU; the interpreter checked every address")
    exam.environment |= {"target": exam.config.target, "shapes": _shapes(reference)}
    exam.roofline = floor_on(reference.profile, gpu_for_target(exam.config.target))
    with ThreadPoolExecutor(1) as pool:
        compilation = pool.submit(_compile, exam, reference, spawn)
        candidate = CandidateSession(spawn("interpret", "candidate"), exam.config.timeout_s)
        try:
            _examine_values(exam, reference, candidate, compilation)
        finally:
            candidate.close()


def _shapes(reference: ReferenceSession) -> str:
    small, exact = reference.shapes["shrunk"], reference.shapes["exact"]
    return exact if small == exact else f"{small} instead of {exact}"


def _examine_values(
    exam: Examination,
    reference: ReferenceSession,
    candidate: CandidateSession,
    compilation: Future[Compilation],
) -> None:
    exam.environment |= candidate.sandbox
    values = Values(candidate, reference, exam.config, "cpu", nullcontext)
    with exam.gate("load"):
        candidate.ask("load", **exam.load_request())
        values.construct("shrunk")
    failure: Failed | None = None
    with exam.gate("ghost"):
        ghost = _ghost(exam, reference, candidate, "shrunk")
    try:
        with exam.gate("values"):
            report = values.check("shrunk", _INTERPRET_S, exam.with_extra(DRAWS), watched=True)
            exam.errors = report.errors
            exam.notes += report.notes
            exam.launches = len(report.launches)
            refuse_idle(report.launches)
            if ghost.accusation is not None:
                raise ghost.accusation
        with exam.gate("determinism"):
            values.check_again("shrunk")
    except Failed as failed:
        if failed.verdict is Verdict.CHEATING:
            raise
        failure = failed
    with exam.gate("compile"):
        _accept(exam, compilation.result())
    if failure is not None:
        _second_chance(exam, reference, candidate, values, compilation.result(), failure)
    refuse_different_launches(ghost.first_call, compilation.result().first_call)
    if failure is not None:
        return
    with exam.gate("longer shapes"):
        survived = _survives_longer(exam, reference, values)
    if survived:
        with exam.gate("other shapes"):
            exam.generality = generality(exam, reference, values, _INTERPRET_S / 4)
    _cover_kernels(exam, reference, values, compilation.result())


def _ghost(
    exam: Examination, reference: ReferenceSession, candidate: CandidateSession, variant: str
) -> AnswerWithoutLaunches:
    """Asked before the kernel has a past to remember."""
    draws = exam.with_extra(REPLAY_DRAWS)
    return answer_without_launches(candidate, reference, exam.config, variant, draws, calls=MANY_CALLS)


def _cover_kernels(
    exam: Examination, reference: ReferenceSession, values: Values, compilation: Compilation
) -> None:
    """The kernels of the task's own shape are the ones that count: all of them must have been seen at work."""
    if compilation.kernels is not None:
        refuse_idle(tuple(compilation.kernels), _AT_OWN_SHAPE)
        seen = reference.ask("torchs_exact_steps", steps=compilation.torchs_steps)
        refuse_torch_doing_everything(seen["does_all"], seen["steps"], _AT_OWN_SHAPE)
    missing = (compilation.kernels or frozenset()) - values.kernels
    if not missing:
        return
    variant = _closer_shape(reference, compilation)
    if variant is not None:
        with exam.gate(f"{variant} shape"), values.quickly(_SECOND_CHANCE_S):
            values.construct(variant)
            values.check(variant, 0.0, draws=("own",))
    unseen = sorted(missing - values.kernels)
    if unseen:
        raise NotJudgedHere(
            f"at the task's own shape it launches {unseen[0]}, which it does not at any shape small enough for the "
            "interpreter: this kernel can only be checked on a GPU"
        )


def _survives_longer(exam: Examination, reference: ReferenceSession, values: Values) -> bool:
    """Small shapes fit one block: a second one, and a grid of several programs, must be right too."""
    for name in (name for name in reference.plans if name.startswith("long")):
        try:
            values.construct(name)
            with values.quickly(_SECOND_CHANCE_S):
                values.check(name, 0.0, draws=("own",))
        except MachineError:
            exam.notes.append(f"with {reference.plans[name]}: too slow for the interpreter")
        except Failed as failed:
            where = f"with {reference.plans[name]}"
            if failed.verdict is Verdict.TIMEOUT:
                exam.notes.append(f"{where}: too slow for the interpreter")
                return False
            if failed.verdict is Verdict.COMPILE_ERROR:  # the compiler took it at the exact shape
                exam.notes.append(f"{where}: {failed.reason}")
                continue
            raise Failed(failed.verdict, f"{where}: {failed.reason}", failed.errors) from None
    return True


def _accept(exam: Examination, compilation: Compilation) -> None:
    exam.resources = compilation.resources
    exam.launches = compilation.launches if compilation.launches is not None else exam.launches
    if compilation.note:
        exam.notes.append(compilation.note)
    if compilation.failure is not None:
        raise compilation.failure


def _second_chance(
    exam: Examination,
    reference: ReferenceSession,
    candidate: CandidateSession,
    values: Values,
    compilation: Compilation,
    failure: Failed,
) -> None:
    """A kernel may be written for the task's exact sizes: try those, or smaller ones that divide alike."""
    if failure.verdict not in _SHAPE_RELATED or exam.config.require_general:
        raise failure
    variant = _closer_shape(reference, compilation)
    if variant is None:
        raise _unless_compiled(failure, compilation)
    with exam.gate(f"{variant} shape"), values.quickly(_SECOND_CHANCE_S):
        try:
            values.construct(variant)
            report = values.check(variant, _INTERPRET_S, exam.with_extra(DRAWS), watched=True)
            values.check_again(variant)
            ghost = _ghost(exam, reference, candidate, variant)
            if ghost.accusation is not None:
                raise ghost.accusation
        except (Failed, MachineError) as error:
            if isinstance(error, Failed) and error.verdict is Verdict.CHEATING:
                raise
            raise _unless_compiled(failure, compilation) from None
    exam.errors, exam.generality = report.errors, EXACT_ONLY
    exam.environment["shapes"] = reference.shapes["exact"] if variant == "exact" else reference.aligned()
    exam.notes.append(f"fails on other shapes: {failure.verdict}: {failure.reason}")


def _unless_compiled(failure: Failed, compilation: Compilation) -> Exception:
    """What the real compiler accepts at the exact shape is no compile error: then the small shape is to blame."""
    if failure.verdict is not Verdict.COMPILE_ERROR or not compilation.resources:
        return failure
    return NotJudgedHere(f"compiles at the task's shape but not at one small enough to interpret: {failure.reason}")


def _closer_shape(reference: ReferenceSession, compilation: Compilation) -> str | None:
    """The exact shape where the interpreter can afford it, else the aligned one."""
    if reference.plans.get("shrunk") == "as is":
        return None
    moved = reference.profile.get("bytes_moved") or 1 << 60
    if moved <= _AFFORDABLE_BYTES and (compilation.programs or 0) <= _AFFORDABLE_PROGRAMS:
        return "exact"
    return "aligned" if reference.aligned() else None


def _compile(exam: Examination, reference: ReferenceSession, spawn: Spawn) -> Compilation:
    """Runs in a thread beside the interpreter; its findings are read when the values are known."""
    compiler = CandidateSession(spawn("native", "compiler"), exam.config.timeout_s)
    try:
        compiler.ask("load", **exam.load_request())
        first_call = _first_call(compiler, reference)
        recorded, exact = _record(compiler, reference)
        compiled = compiler.ask("compile")
    except Failed as failed:
        if failed.verdict in (Verdict.COMPILE_ERROR, Verdict.CHEATING):
            return Compilation((), None, None, None, failed)
        late = f"not within {exam.config.timeout_s:.0f} s; raise --timeout"
        why = late if failed.verdict is Verdict.TIMEOUT else failed.reason
        return Compilation((), None, None, f"not compiled for the target: {why}", None)
    except MachineError as error:
        return Compilation((), None, None, f"not compiled for the target: {error}", None)
    finally:
        compiler.close()
    resources = tuple(KernelResources(**one) for one in compiled["resources"])
    kernels = frozenset(recorded["launches"]) if exact else None
    steps = tuple(recorded.get("torchs_steps", ()))
    launches, programs = len(recorded["launches"]), recorded["programs"]
    return Compilation(resources, launches, programs, None, None, kernels, steps, first_call)


def _first_call(compiler: CandidateSession, reference: ReferenceSession) -> FirstCall | None:
    inputs = reference.inputs("shrunk", REPLAY_DRAWS[0])
    if inputs is None:
        return None
    construction, fill = reference.construction("shrunk"), float(FIRST_FILL)
    call: FirstCall | None = compiler.ask("first_call", construction=construction, inputs=inputs, fill=fill)[
        "first_call"
    ]
    return call


def _record(compiler: CandidateSession, reference: ReferenceSession) -> tuple[dict[str, Any], bool]:
    """Launches at the exact shape on fake tensors; where host code needs real values, at the small shape.

    The second value says whether it is the exact one. Custom operators have another body for fake tensors, so where
    those launch nothing, real ones decide.
    """
    blueprint = reference.blueprint()
    if blueprint is not None:
        try:
            recorded = compiler.ask("record_exact", blueprint=blueprint)
            if recorded["launches"]:
                return recorded, True
        except Failed as failed:
            if failed.verdict in (Verdict.COMPILE_ERROR, Verdict.CHEATING):
                raise
        else:
            if (reference.profile.get("bytes_moved") or 1 << 60) <= LARGE_BYTES:
                return _recorded_at(compiler, reference, "exact"), True
    return _recorded_at(compiler, reference, "shrunk"), False


def _recorded_at(compiler: CandidateSession, reference: ReferenceSession, variant: str) -> dict[str, Any]:
    construction, inputs = reference.construction(variant), reference.inputs(variant, "own")
    return compiler.ask("record", construction=construction, inputs=inputs)
