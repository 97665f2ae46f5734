"""Which lessons and which exemplar go into a prompt.

What was found wrong is taught always and in full. Beyond that a few lessons that fit the task, most telling first:
a prompt that teaches everything teaches nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from tilesmith.lint.lessons import Lesson, lessons
from tilesmith.llm.prompts.kernel_kinds import KINDS, kind_of_op, kinds_of, ops_of
from tilesmith.playbook.exemplars import Exemplar, exemplars
from tilesmith.playbook.lessons import playbook_lessons
from tilesmith.records import AuthorRequest, Phase, Severity, Survey, Verdict

MOST_IN_FULL = 8
"""Lessons about findings that are printed whole; further ones by their title."""
BEYOND_FINDINGS = {Phase.SEED: 4, Phase.STAGE: 0}
OTHERWISE = 2
TELLING: Mapping[str, tuple[str, ...]] = {
    "persistent_recurrent": ("weights-on-chip", "grid-batch-only", "input-gates-outside", "round-before-tf32"),
    "attention": ("float32-on-tensor-cores", "unsafe-exp", "missing-other"),
    "convolution": ("direct-convolution", "epilogue-in-gemm", "round-before-tf32"),
    "gemm": ("epilogue-in-gemm", "float32-on-tensor-cores", "split-k-for-small-grids", "tf32-implicit"),
    "scan": ("small-launch-count",),
    "normalization": ("one-pass-rows", "missing-other", "unsafe-exp", "low-precision-accumulator"),
    "reduction": ("one-pass-rows", "missing-other", "split-k-for-small-grids"),
    "elementwise": ("fuse-the-chain", "missing-mask", "contiguity-assumed"),
}
"""What an expert would say first about a kind of kernel."""
BY_VERDICT: Mapping[Verdict, tuple[str, ...]] = {
    Verdict.COMPILE_ERROR: ("tensor-indexing", "arange-runtime-bound"),
    Verdict.UNSAFE_MEMORY: ("missing-mask", "contiguity-assumed"),
    Verdict.WRONG_VALUES: ("stride-reuse", "grid-coverage"),
    Verdict.INACCURATE: ("tf32-implicit", "low-precision-accumulator"),
    Verdict.NONDETERMINISTIC: ("atomic-order",),
    Verdict.CHEATING: ("torch-does-the-work", "cached-output"),
}
"""The usual cause, where no finding names one."""
FLOAT32_ONLY = frozenset({"float32-on-tensor-cores", "tf32-implicit", "round-before-tf32"})
UNTRUE_UNDER: Mapping[str, frozenset[str]] = {
    "ieee": frozenset({"round-before-tf32"}),
    "tf32": frozenset({"float32-on-tensor-cores", "tf32-implicit"}),
}
"""Lessons that rest on where PyTorch uses TF32 by default."""


@dataclass(frozen=True)
class ChosenLessons:
    """What a prompt teaches."""

    lessons: tuple[Lesson, ...]
    further: tuple[Lesson, ...]
    """Apply too, but are only named."""


def precision_of(survey: Survey) -> str:
    """Where PyTorch may use TF32 in the judge's baseline: `default`, `ieee` (nowhere) or `tf32` (everywhere)."""
    return str(survey.environment.get("precision", "default"))


@cache
def all_lessons() -> Mapping[str, Lesson]:
    return {**lessons(), **playbook_lessons()}


def choose_lessons(request: AuthorRequest) -> ChosenLessons:
    known = all_lessons()
    wanted = list(dict.fromkeys(name for name in _about_findings(request) if name in known))
    room = BEYOND_FINDINGS.get(request.phase, OTHERWISE)
    fitting = [name for name in _about_task(request) if name in known and name not in wanted][:room]
    full = [*wanted[:MOST_IN_FULL], *fitting]
    return ChosenLessons(tuple(known[name] for name in full), tuple(known[name] for name in wanted[MOST_IN_FULL:]))


def _about_findings(request: AuthorRequest) -> Iterator[str]:
    """What was asked for, then errors, then warnings. Remarks are no mistakes."""
    yield from request.lessons
    findings = request.base.evaluation.findings if request.base else ()
    for severity in (Severity.ERROR, Severity.WARNING):
        yield from (finding.id for finding in findings if finding.severity is severity)


def _about_task(request: AuthorRequest) -> Iterator[str]:
    wrong = request.base.evaluation.verdict if request.base and request.phase is Phase.REPAIR else None
    untrue = UNTRUE_UNDER.get(precision_of(request.survey), frozenset())
    if wrong is not None:
        yield from (name for name in dict.fromkeys(BY_VERDICT.get(wrong, ())) if name not in untrue)
        return
    is_float32 = request.survey.profile.dtype in (None, "float32")
    kinds = _kinds_in_mind(request)
    telling = [name for kind in kinds for name in TELLING[kind]]
    fitting = [lesson.id for kind in kinds for lesson in all_lessons().values() if kind in lesson.applies_to]
    for name in dict.fromkeys([*telling, *fitting]):
        if name not in untrue and (is_float32 or name not in FLOAT32_ONLY):
            yield name


def _kinds_in_mind(request: AuthorRequest) -> tuple[str, ...]:
    """The plan's kind of kernel before the task's own."""
    planned = request.analysis.kernel_type if request.analysis and not request.use_fallback else ""
    kinds = kinds_of(request.survey)
    return tuple(dict.fromkeys([planned, *kinds])) if planned in TELLING else kinds


def choose_exemplar(request: AuthorRequest) -> Exemplar:
    """The one that shares the task's most telling operators; elementwise when none does."""
    known = exemplars()
    planned = _kinds_in_mind(request)[0]
    shown = max(known.values(), key=lambda exemplar: _nearness(exemplar, request.survey, planned))
    return shown if any(_nearness(shown, request.survey, planned)) else known["elementwise"]


def _nearness(exemplar: Exemplar, survey: Survey, planned: str) -> tuple[int, ...]:
    """Shared operators by kind, the most telling kind first, so that one convolution outweighs ten additions."""
    shared = [kind_of_op(op) for op in ops_of(survey) if op in exemplar.ops]
    is_planned = any(kind_of_op(op) == planned for op in exemplar.ops)
    return (int(is_planned), *(shared.count(kind) for kind in KINDS))
