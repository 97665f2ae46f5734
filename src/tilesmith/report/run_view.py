"""A run, or one verdict, as the view of its page. Pure but for the two that read files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tilesmith.errors import RunError
from tilesmith.playbook import LLM_ADVICE
from tilesmith.playbook.task_plan import TaskPlan, plan_task
from tilesmith.records import Attempt, Candidate, Evaluation, Interface, Phase, Survey
from tilesmith.report.attempt_view import attempt_views, kernel_file, story_lines
from tilesmith.report.measurements import contestant_times, gains_of, phase_costs, roofline_view
from tilesmith.report.number_text import precision_text, told_facts
from tilesmith.report.source_text import LONGEST_SOURCE, shown_source
from tilesmith.report.view import Headline, KernelView, ReportView
from tilesmith.runs.compared.facts import best_evaluation
from tilesmith.runs.event_text import machine_text, mode_text
from tilesmith.runs.manifest import Manifest, Status
from tilesmith.runs.run_filter import DAMAGED
from tilesmith.runs.salvaged_run import salvage_run
from tilesmith.runs.summary import RunSummary

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
    told: str = ""
    """How it stands, in a sentence."""
    problems: tuple[str, ...] = ()
    files: frozenset[str] = frozenset()
    """Those there are, by their path in the run's folder."""
    best_file: str = ""
    """The text of best.py."""
    kernel: str = "best.py"
    """The file that is imported to use the kernel."""


def read_report_run(folder: Path) -> ReportSource:
    """A run's folder with whatever is whole in it."""
    found = salvage_run(folder)
    run, summary, problems = found
    if run.manifest is None and summary == RunSummary():
        raise RunError(problems[0])
    names = [*RUN_FILES, *(f"kernels/{path.name}" for path in (folder / "kernels").glob("*.py"))]
    files = frozenset(name for name in names if (folder / name).is_file())
    stands = "goes on" if run.status == Status.RUNNING else f"is {run.status}"
    told = summary.finished.why if summary.finished else f"The run {stands}; {found.told_best}."
    if run.status == DAMAGED and summary.finished is None and run.manifest and run.manifest.why:
        told += f" It had ended with: {run.manifest.why}"
    created = run.manifest.created if run.manifest else ""
    name = folder.resolve().name
    return ReportSource(name, summary, run.manifest, run.status, created, told, problems, files, _best_file(folder))


def _best_file(folder: Path) -> str:
    try:
        text = (folder / "best.py").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
    return text if len(text) <= LONGEST_SOURCE else ""


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
    told = f"{str(evaluation.verdict).replace('_', ' ')}: {evaluation.reason}"
    return ReportSource(
        *(f"{kernel.name} for {task}", RunSummary(attempts=(attempt,)), None, "checked", created, told),
        kernel=kernel.name,
    )


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
        plan=_plan(summary.survey, source.manifest),
        roofline=roofline_view(roofline, summary.survey, summary.attempts, best, judged),
        times=contestant_times(judged.timing if judged else None),
        costs=phase_costs(summary),
        evaluation=judged,
        environment=tuple(_environment(source, judged)),
        settings=tuple(told_facts(source.manifest.settings if source.manifest else {})),
        files=tuple(name for name in RUN_FILES if name in source.files),
    )


def _last_evaluation(summary: RunSummary) -> Evaluation | None:
    """Of the best kernel; of a lone verdict, that."""
    lone = summary.attempts[0].evaluation if len(summary.attempts) == 1 else None
    return best_evaluation(summary) or lone


def _headline(source: ReportSource, judged: Evaluation | None) -> Headline:
    manifest, survey, ended = source.manifest, source.summary.survey, source.summary.finished
    title = survey.task if survey else manifest.task if manifest else source.name
    gains = gains_of(judged.timing) if judged else ()
    won = source.summary.best is not None
    slow = (ended is not None and ended.faster is False) or any(one.tone == "bad" for one in gains)
    return Headline(
        title=source.name if source.status == "checked" else title,
        told=source.told,
        tone=_tone(source, won, slow),
        gains=gains,
        errors=judged.errors if judged else None,
        not_timed="" if gains or judged is None else _why_not_timed(judged),
        facts=tuple(_facts(source, judged)),
    )


def _tone(source: ReportSource, won: bool, slow: bool) -> str:
    if won:
        return "even" if slow else "good"
    ended = source.summary.finished
    is_open = source.status == Status.RUNNING or (ended is not None and ended.keeps_pytorch)
    return "even" if is_open else "bad"


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
    if judged is not None and judged.timing is not None:
        device = judged.timing.device
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
        yield "precision", precision_text(str(precision))
    if survey and mode_text(survey):
        yield "mode", mode_text(survey)


def _kernel(source: ReportSource, best: Attempt) -> KernelView:
    number = best.candidate.number
    file = kernel_file(number, source.files)
    first = best.evaluation  # a confirmation does not look again for what the kernel takes
    terms = tuple(_terms(first))
    is_run = source.status != "checked"
    use = _use(source.kernel, first) if not is_run or source.kernel in source.files else ""
    name, shown = f"kernel {number}" if is_run else source.kernel, shown_source(best.candidate.source)
    return KernelView(name, number, shown, file, source.best_file, use, terms, first.resources)


def _use(file: str, judged: Evaluation) -> str:
    """Lines of Python for whoever wants to call the kernel."""
    inputs = _inputs(judged.interface) if judged.interface else ""
    module = Path(file).stem
    told = file if module.isidentifier() else f"{file}, renamed"
    module = module if module.isidentifier() else "kernel"
    lines = (
        f"from {module} import ModelNew  # {told}",
        "",
        "model = ModelNew(*arguments)  # those of Model, in whose place it stands",
        "model.load_state_dict(reference.state_dict())  # the weights of a Model",
        "model.cuda()",
        *([f"y = model({inputs})"] if inputs else []),
    )
    return "\n".join(lines)


def _inputs(call: Interface) -> str:
    """The arguments of the call that was judged; empty where they have no names."""
    names = dict.fromkeys(str(one.path[0]) for one in call.arguments if one.path[0] not in call.left_out)
    told = (f"{name}={name}" if name in call.keyword_only else name for name in names)
    return ", ".join(told) if all(map(str.isidentifier, names)) else ""


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


def _plan(survey: Survey | None, manifest: Manifest | None) -> TaskPlan | None:
    """What the task consists of. A recorded survey may be one that today's playbook cannot read."""
    if survey is None:
        return None
    try:
        plan = plan_task(survey)
    except Exception:
        return None
    if manifest is None or manifest.model is None:
        return plan
    return replace(plan, told=plan.told.replace(f"; {LLM_ADVICE}", ""))  # an LLM has tried it


def _environment(source: ReportSource, judged: Evaluation | None) -> Iterator[tuple[str, str]]:
    facts: dict[str, Any] = dict(source.manifest.environment) if source.manifest else {}
    facts |= source.summary.survey.environment if source.summary.survey else {}
    facts |= judged.environment if judged else {}
    yield from told_facts(facts)
