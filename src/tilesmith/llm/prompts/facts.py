"""What a template is told: names it can print, cut to sizes that a prompt can bear."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tilesmith.lint.lessons import Lesson
from tilesmith.llm.prompts.formatting import clip, one_line
from tilesmith.llm.prompts.kernel_kinds import kinds_of
from tilesmith.llm.prompts.lesson_choice import choose_exemplar, choose_lessons, precision_of
from tilesmith.llm.prompts.measurements import KernelMeasurements, measure_kernel
from tilesmith.playbook.exemplars import Exemplar
from tilesmith.records import Analysis, Attempt, AuthorRequest, Evaluation, Phase, Survey
from tilesmith.records.graph import Input

LONGEST_TASK = 24_000
LONGEST_IMPORT = 12_000
LONGEST_KERNEL = 48_000
LONGEST_REASON = 3_000
LONGEST_PROSE = 3_000
MOST_FINDINGS = 16
MOST_TRIES = 5
MOST_OPS = 24
MOST_INPUTS = 16
IDEAS = (Phase.OPTIMIZE, Phase.REVISE, Phase.STAGE)
WITH_EXEMPLAR = (Phase.SEED, Phase.OPTIMIZE, Phase.REVISE)
_LINE = re.compile(r"\bline (\d{1,6})\b")


@dataclass(frozen=True)
class LineRemark:
    """A line of the source that something was said about."""

    line: int
    code: str
    said: str


@dataclass(frozen=True)
class BaseKernel:
    """The attempt a request is about."""

    source: str
    evaluation: Evaluation
    reason: str
    marks: tuple[LineRemark, ...]
    remarks: tuple[str, ...]
    """Findings that point at no line."""
    found: frozenset[str]
    """Ids of all findings."""
    measurements: KernelMeasurements


@dataclass(frozen=True)
class EarlierAttempt:
    """An earlier attempt in one line."""

    what: str
    outcome: str


@dataclass(frozen=True)
class PromptFacts:
    """Everything any template may name; StrictUndefined catches the rest."""

    request: AuthorRequest
    survey: Survey
    task_source: str
    imports: dict[str, str]
    inputs: tuple[Input, ...]
    ops: list[tuple[str, int]]
    kinds: tuple[str, ...]
    precision: str
    peak_tflops: float | None
    base: BaseKernel | None
    history: list[EarlierAttempt]
    analysis: Analysis | None
    lessons: tuple[Lesson, ...]
    further: tuple[Lesson, ...]
    exemplar: Exemplar | None
    prose: int = LONGEST_PROSE


def gather_facts(request: AuthorRequest) -> PromptFacts:
    taught = choose_lessons(request)
    return PromptFacts(
        request=request,
        survey=request.survey,
        task_source=clip(request.survey.source, LONGEST_TASK),
        imports={name: clip(text, LONGEST_IMPORT) for name, text in request.survey.imports.items()},
        inputs=request.survey.graph.inputs[:MOST_INPUTS] if request.survey.graph else (),
        ops=_ops(request.survey),
        kinds=kinds_of(request.survey),
        precision=precision_of(request.survey),
        peak_tflops=_peak(request.survey),
        base=_base(request.base, request.survey) if request.base else None,
        history=[_tried(attempt) for attempt in _worth_telling(request)[-MOST_TRIES:]],
        analysis=request.analysis,
        lessons=taught.lessons,
        further=taught.further,
        exemplar=choose_exemplar(request) if request.phase in WITH_EXEMPLAR else None,
    )


def _ops(survey: Survey) -> list[tuple[str, int]]:
    counted = survey.profile.ops.items()
    return [(name.removeprefix("aten."), number) for name, number in counted][:MOST_OPS]


def _peak(survey: Survey) -> float | None:
    """The GPU's peak for the task's dtype; float32 products may run on tensor cores as tf32 or split bf16."""
    if survey.gpu is None:
        return None
    peaks = {
        "float32": survey.gpu.tf32_tflops,
        "float16": survey.gpu.fp16_tflops,
        "bfloat16": survey.gpu.bf16_tflops,
        "float64": survey.gpu.fp64_tflops,
    }
    return peaks.get(survey.profile.dtype or "float32") or survey.gpu.fp32_tflops


def _base(attempt: Attempt, survey: Survey) -> BaseKernel:
    source, evaluation = attempt.candidate.source, attempt.evaluation
    lines = source.splitlines()
    findings = evaluation.findings[:MOST_FINDINGS]
    marks = [
        LineRemark(f.line, _code(lines, f.line), f"{f.severity.value} {f.id}: {one_line(f.message, 400)}")
        for f in findings
        if f.line and f.line <= len(lines)
    ]
    return BaseKernel(
        source=clip(source, LONGEST_KERNEL),
        evaluation=evaluation,
        reason=clip(evaluation.reason, LONGEST_REASON, tail=LONGEST_REASON // 3),
        marks=(*marks, *_named_in(evaluation.reason, lines, {mark.line for mark in marks})),
        remarks=tuple(f"{f.severity.value} {f.id}: {one_line(f.message, 400)}" for f in findings if not f.line),
        found=frozenset(f.id for f in evaluation.findings),
        measurements=measure_kernel(evaluation, survey),
    )


def _named_in(reason: str, lines: list[str], known: set[int]) -> list[LineRemark]:
    """Lines that the error text itself points at."""
    if len(lines) < 2:
        return []
    named = dict.fromkeys(int(number) for number in _LINE.findall(reason[: 2 * LONGEST_REASON]))
    fresh = [line for line in named if 0 < line <= len(lines) and line not in known and lines[line - 1].strip()]
    return [LineRemark(line, _code(lines, line), "named in the error") for line in fresh[:6]]


def _code(lines: list[str], line: int) -> str:
    return one_line(lines[line - 1].replace("`", "'"), 160)


def _worth_telling(request: AuthorRequest) -> list[Attempt]:
    """To repair: every try. To find ideas: those that were had and brought nothing."""
    if request.phase is Phase.REPAIR:
        return list(request.history)
    return [one for one in request.history if one.candidate.phase in IDEAS and not one.kept]


def _tried(attempt: Attempt) -> EarlierAttempt:
    """What failed how, or what was gained by it."""
    evaluation, candidate = attempt.evaluation, attempt.candidate
    what = f"attempt {candidate.number} ({candidate.stage or candidate.phase.value}, {evaluation.kernel_type})"
    score = "" if attempt.score is None else f" at {attempt.score:.3g}x the best baseline"
    why = one_line(evaluation.reason if not evaluation.passed else attempt.why, 300)
    return EarlierAttempt(what, f"{evaluation.verdict.value}{score}: {why}")
