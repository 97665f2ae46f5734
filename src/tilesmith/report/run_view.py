"""A run, or one verdict, as the view of its page. Pure but for the two that read files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tilesmith.errors import RunError
from tilesmith.playbook.task_plan import TaskPlan, plan_task
from tilesmith.records import Attempt, Candidate, Evaluation, Phase, Survey
from tilesmith.report.attempt_view import attempt_views, story_lines
from tilesmith.report.measurements import contestant_times, gains_of, phase_costs, roofline_view
from tilesmith.report.source_text import shown_source
from tilesmith.report.view import Headline, KernelView, ReportView
from tilesmith.runs.event_text import machine_text, mode_text
from tilesmith.runs.journal import salvage_events
from tilesmith.runs.listing import current_status
from tilesmith.runs.manifest import Manifest, read_manifest
from tilesmith.runs.summary import RunSummary, summarize

RUN_FILES = ("best.py", "task.py", "log.txt", "events.jsonl", "run.json")
_NOT_TIMED = "not timed: "


@dataclass(frozen=True)
class ReportSource:
    """What a page is made of."""

    name: str
    summary: RunSummary
    manifest: Manifest | None = None
    status: str = ""
    created: str = ""
    problems: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=dict)
    """Links to the files there are, by their path in the run's folder."""


def read_report_run(folder: Path, page_folder: Path | None = None) -> ReportSource:
    """A run's folder with whatever is whole in it; links lead there from `page_folder`."""
    events, problems = salvage_events(folder / "events.jsonl")
    manifest, status = None, "damaged"
    try:
        manifest = read_manifest(folder)
        status = current_status(folder, manifest)
    except RunError as error:
        problems = [str(error), *problems]
    if manifest is None and not events:
        raise RunError(problems[0])
    found = [*RUN_FILES, *(f"kernels/{path.name}" for path in sorted((folder / "kernels").glob("*.py")))]
    base = os.path.relpath(folder, page_folder or folder)
    files = {name: quote(os.path.normpath(f"{base}/{name}")) for name in found if (folder / name).is_file()}
    created = manifest.created if manifest else ""
    return ReportSource(folder.resolve().name, summarize(events), manifest, status, created, tuple(problems), files)


def verdict_source(task: str, kernel: Path, evaluation: Evaluation, created: str) -> ReportSource:
    """The same page for a single verdict of `tilesmith check`."""
    try:
        source = kernel.read_text(encoding="utf-8", errors="replace")
    except OSError:
        source = ""
    seconds = sum(gate.seconds for gate in evaluation.gates)
    speedups = evaluation.timing.speedup.values() if evaluation.timing else ()
    score = min((one.value for one in speedups), default=None)
    candidate = Candidate(1, source, None, 1, Phase.SEED)
    attempt = Attempt(candidate, evaluation, score, evaluation.passed, evaluation.reason, seconds)
    return ReportSource(f"{kernel.name} for {task}", RunSummary(attempts=(attempt,)), None, "checked", created)


def report_view(source: ReportSource) -> ReportView:
    summary = source.summary
    best = summary.best
    judged = _last_evaluation(summary)
    roofline = (judged.roofline if judged else None) or (summary.survey.roofline if summary.survey else None)
    return ReportView(
        headline=_headline(source, judged),
        problems=source.problems,
        kernel=_kernel(source, best) if best else None,
        attempts=attempt_views(summary, source.files),
        story=story_lines(summary),
        plan=_plan(summary.survey),
        roofline=roofline_view(roofline, summary.survey, summary.attempts, best, judged),
        times=contestant_times(judged.timing if judged else None),
        costs=phase_costs(summary),
        evaluation=judged,
        environment=tuple(_environment(source, judged)),
        settings=tuple(_told_facts(source.manifest.configuration.get("dials", {}) if source.manifest else {})),
        files=tuple((name, link) for name, link in source.files.items() if name in RUN_FILES),
    )


def _last_evaluation(summary: RunSummary) -> Evaluation | None:
    """Of the best kernel: its confirmation where there is one; of a lone verdict, that."""
    best = summary.best or (summary.attempts[0] if len(summary.attempts) == 1 else None)
    if best is None:
        return None
    confirmed = [one for one in summary.confirmations if one.candidate == best.candidate.number]
    return confirmed[-1].evaluation if confirmed else best.evaluation


def _headline(source: ReportSource, judged: Evaluation | None) -> Headline:
    manifest, survey, ended = source.manifest, source.summary.survey, source.summary.finished
    title = survey.task if survey else manifest.task if manifest else source.name
    gains = gains_of(judged.timing) if judged else ()
    won = source.summary.best is not None
    slow = (ended is not None and ended.faster is False) or any(one.tone == "bad" for one in gains)
    return Headline(
        title=source.name if source.status == "checked" else title,
        told=_told(source, judged),
        tone="bad" if not won and not (ended and ended.keeps_pytorch) else "even" if not won or slow else "good",
        gains=gains,
        errors=judged.errors if judged else None,
        not_timed="" if gains or judged is None else _why_not_timed(judged),
        facts=tuple(_facts(source, judged)),
    )


def _told(source: ReportSource, judged: Evaluation | None) -> str:
    summary = source.summary
    if summary.finished is not None:
        return summary.finished.why
    if source.status == "checked" and judged is not None:
        return f"{str(judged.verdict).replace('_', ' ')}: {judged.reason}"
    best = f"the best so far is kernel {summary.best.candidate.number}" if summary.best else "no kernel has passed"
    return f"The run is {source.status}; {best}."


def _why_not_timed(judged: Evaluation) -> str:
    if not judged.passed:
        return "Only kernels that pass are timed."
    told = next((note for note in judged.notes if note.startswith(_NOT_TIMED)), "")
    told = told.removeprefix(_NOT_TIMED) or "nobody asked for it"
    return f"{told[:1].upper()}{told[1:]}, so nothing is said about speed."


def _facts(source: ReportSource, judged: Evaluation | None) -> Iterator[tuple[str, str]]:
    manifest, survey = source.manifest, source.summary.survey
    where = judged.environment if judged else {}
    device = machine_text(survey) if survey else str(where.get("device", ""))
    if device:
        yield "device", device
    if source.created:
        yield "date", source.created.replace("T", " ")[:16] + " UTC"
    if manifest:
        yield "author", manifest.author
    if source.status != "checked":
        yield "run", f"{source.name} ({source.status})"
    precision = where.get("precision") or (survey.environment.get("precision") if survey else None)
    if precision:
        yield "precision", str(precision)
    if survey and mode_text(survey):
        yield "mode", mode_text(survey)


def _kernel(source: ReportSource, best: Attempt) -> KernelView:
    number = best.candidate.number
    file = source.files.get(f"kernels/{number:04}.py")
    first = best.evaluation  # a confirmation does not look again for what the kernel takes
    terms = tuple(_terms(first))
    use = "from best import ModelNew  # best.py of this run\n\nmodel = ModelNew(*arguments)  # those of Model"
    use += "\nmodel.load_state_dict(reference.state_dict())\nmodel.cuda()"
    use = use if "best.py" in source.files else ""
    return KernelView(number, shown_source(best.candidate.source), file, use, terms, first.resources)


def _terms(judged: Evaluation) -> Iterator[tuple[str, str]]:
    if judged.interface is not None:
        arguments = ", ".join(
            one.describe()
            for one in judged.interface.arguments
            if one.kind not in ("tuple", "list", "dict") and one.path[0] not in judged.interface.left_out
        )
        yield "verified for", f"forward({arguments})"
    if judged.generality:
        yield "shapes", judged.generality
    if "shapes" in judged.environment:
        yield "judged at", str(judged.environment["shapes"])
    if judged.limits:
        yield "limits", "; ".join(judged.limits)
    if judged.launches is not None:
        share = judged.triton_time_share
        yield "launches", f"{judged.launches}" + (f", {share:.0%} of the device time" if share else "")
    if judged.certificate is not None:
        blind = judged.certificate.blind_to
        told = f"{judged.certificate.killed} known cheats were made for this task and caught"
        yield "certificate", f"{told}; cannot tell: {', '.join(blind)}" if blind else told
    for note in judged.notes:
        if not note.startswith(_NOT_TIMED):
            yield "note", note


def _plan(survey: Survey | None) -> TaskPlan | None:
    """What the task consists of. A recorded survey may be one that today's playbook cannot read."""
    if survey is None:
        return None
    try:
        return plan_task(survey)
    except Exception:
        return None


def _environment(source: ReportSource, judged: Evaluation | None) -> Iterator[tuple[str, str]]:
    facts: dict[str, Any] = dict(source.manifest.environment) if source.manifest else {}
    facts |= source.summary.survey.environment if source.summary.survey else {}
    facts |= judged.environment if judged else {}
    yield from _told_facts(facts)


def _told_facts(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in facts.items():
        if value not in (None, "", [], {}):
            told = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            yield name.replace("_", " "), told
