"""A run as a person wants to read it: what was asked, the tree of attempts, how it ended, what it cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from tilesmith.records import (
    Analysis,
    AnalysisEvent,
    Attempt,
    AttemptEvent,
    ConfirmationEvent,
    DecisionEvent,
    Phase,
    RefusalEvent,
    Severity,
)
from tilesmith.runs.event_text import (
    LONGEST_ENDING,
    clock_text,
    confirmation_text,
    floor_text,
    machine_text,
    money_text,
    one_line,
    outcome_text,
    phase_text,
    plan_text,
    score_text,
)
from tilesmith.runs.listing import ListedRun
from tilesmith.runs.manifest import Manifest, Status
from tilesmith.runs.run_filter import INTERRUPTED
from tilesmith.runs.salvaged_run import SalvagedRun
from tilesmith.runs.summary import CallCosts, RunSummary, TreeEvent

STATUS_STYLES = {"finished": "green", "running": "cyan", "stopped": "yellow", "interrupted": "yellow"}


def show_runs(runs: list[ListedRun], console: Console) -> None:
    """A row each; what is wrong with a damaged one stands below, where there is room for it."""
    table = Table(box=None, header_style="dim", pad_edge=False)
    table.add_column("run", no_wrap=True, min_width=max(len(run.folder.name) for run in runs))
    for name in ("task", "author"):
        table.add_column(name)  # these give way where it is narrow
    table.add_column("status", no_wrap=True)
    for name in ("verdicts", "best"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for run in runs:
        table.add_row(*_row(run))
    console.print(table)
    for run in runs:
        if run.problem:
            console.print(Text(one_line(run.problem), style="red"), soft_wrap=True)


def _row(run: ListedRun) -> tuple[RenderableType, ...]:
    status = Text(run.status, style=STATUS_STYLES.get(run.status, "red"))
    if run.manifest is None:
        return Text(run.folder.name), "", "", status
    verdicts = "" if run.verdicts is None else str(run.verdicts)
    faster = {True: Text("faster", style="green"), False: Text("not faster"), None: Text()}[run.faster]
    told = (
        Text(one_line(text), no_wrap=True, overflow="ellipsis") for text in (run.manifest.task, run.manifest.author)
    )
    return Text(run.folder.name), *told, status, verdicts, _best(run), faster


def _best(run: ListedRun) -> str:
    if run.best is None:
        return "none" if run.status == Status.FINISHED else ""
    return f"kernel {run.best}, {score_text(run.score) or 'not timed'}"


def show_run(found: SalvagedRun, console: Console) -> None:
    """Everything, in the order a reader asks for it."""
    run, summary = found.run, found.summary
    parts: list[RenderableType] = [_header(run, summary)]
    parts += [Text(one_line(problem, LONGEST_ENDING), style="red") for problem in found.problems[:5]]
    parts += [Text(), _tree(found), Text(), _end(found)]
    if summary.calls:
        parts += [Text(), _costs(summary)]
    console.print(Group(*parts))


def _header(run: ListedRun, summary: RunSummary) -> Table:
    grid = Table.grid(padding=(0, 2))
    for label, value in _labeled_facts(run, summary):
        grid.add_row(Text(label, style="dim"), Text(one_line(value, limit=400)))
    return grid


def _labeled_facts(run: ListedRun, summary: RunSummary) -> Iterator[tuple[str, str]]:
    manifest, survey = run.manifest, summary.survey
    yield "run", str(run.folder)
    if manifest is not None:
        yield "task", f"{manifest.task}, {manifest.task_path}"
        yield "author", manifest.author
        yield "begun", manifest.created
    why = manifest.why if manifest is not None and summary.finished is None else ""
    yield "status", f"{run.status}: {why}" if why else run.status
    if survey is not None:
        yield (
            "machine",
            _machine(survey.environment | (manifest.environment if manifest else {}), machine_text(survey)),
        )
        if floor_text(survey):
            yield "roofline", floor_text(survey)
    if manifest is not None and _settings_text(manifest):
        yield "settings", _settings_text(manifest)


def _machine(environment: dict[str, Any], gpu: str) -> str:
    versions = [f"{name} {environment[name]}" for name in ("torch", "triton", "python") if name in environment]
    return ", ".join([gpu, *versions])


def _settings_text(manifest: Manifest) -> str:
    settings = manifest.settings.items()
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in settings if value is not None)


def _tree(found: SalvagedRun) -> Tree:
    nothing = "no attempt can be read" if found.problems else "nothing was tried yet"
    root = Tree(Text("attempts" if found.summary.steps else nothing, style="dim"), guide_style="dim")
    _add_children(root, found.summary, None)
    return root


def _add_children(branch: Tree, summary: RunSummary, number: int | None) -> None:
    """A candidate's number is larger than its parent's, so this ends."""
    for step in summary.children(number):
        twig = branch.add(_label(step, summary))
        if isinstance(step.event, AttemptEvent):
            _add_children(twig, summary, step.event.attempt.candidate.number)


def _label(step: TreeEvent, summary: RunSummary) -> RenderableType:
    match step.event:
        case AttemptEvent(attempt=attempt):
            return _attempt(attempt, is_best=attempt is summary.best)
        case AnalysisEvent(analysis=None, problem=problem, call=call):
            return Text(f"analysis (call {call}) of no use: {one_line(problem or '')}", style="yellow")
        case AnalysisEvent(analysis=Analysis() as analysis, call=call):
            return _analysis(analysis, call)
        case RefusalEvent(call=call, phase=phase, problem=problem):
            return Text(f"{phase} (call {call}) refused: {one_line(problem)}", style="yellow")
        case DecisionEvent(about=about, why=why):
            return Text(one_line(f"{about}: {why}"), style="magenta")
        case ConfirmationEvent() as confirmed:
            style = "green" if confirmed.evaluation.passed else "red"
            return Text(f"confirmation: {one_line(confirmation_text(confirmed))}", style=style)
    return Text(step.event.event)


def _attempt(attempt: Attempt, is_best: bool) -> Text:
    text = Text(f"kernel {attempt.candidate.number}", style="bold")
    text.append(f"  {phase_text(attempt.candidate)}  ", style="not bold")
    text.append(attempt.evaluation.verdict, style="not bold green" if attempt.evaluation.passed else "not bold red")
    score = score_text(attempt.score)
    text.append(f"  {score}" if score else "")
    text.append(f"  {one_line(outcome_text(attempt))}", style="not bold" if attempt.kept else "not bold dim")
    text.append("  best" if is_best else "", style="bold green")
    for fact in _facts(attempt):
        text.append(f"\n{one_line(fact)}", style="not bold dim")
    return text


def _facts(attempt: Attempt) -> Iterator[str]:
    """What a reader would ask next, a line at most each."""
    evaluation = attempt.evaluation
    if attempt.expected_speedup is not None:
        yield f"the analysis expected {attempt.expected_speedup:g}x"
    read = [evaluation.kernel_type] if evaluation.kernel_type != "unknown" else []
    if evaluation.launches is not None:
        read.append(f"{evaluation.launches} {'launch' if evaluation.launches == 1 else 'launches'}")
    if evaluation.errors is not None:
        read.append(f"error at most {evaluation.errors.max_abs:.2g}, {evaluation.errors.mean_abs:.2g} on average")
    if evaluation.timing is not None:
        read.append(f"{evaluation.timing.candidate_ms.p50:.4g} ms")
    spills = sum(one.spills or 0 for one in evaluation.resources)
    yield ", ".join([*read, f"{spills} spills"] if spills else read)
    found = dict.fromkeys(f.id for f in evaluation.findings if f.severity is not Severity.INFO)
    if found:
        yield f"findings: {', '.join(found)}"


def _analysis(analysis: Analysis, call: int) -> Text:
    text = Text(f"analysis (call {call}): {one_line(analysis.bottleneck)}", style="cyan")
    text.append(f"\n{one_line(plan_text(analysis))}")
    return text


def _end(found: SalvagedRun) -> Text:
    run, summary = found.run, found.summary
    if summary.finished is not None:
        won = summary.finished.best is not None
        told = won or summary.finished.keeps_pytorch
        style = "bold green" if summary.finished.faster else "bold" if told else "bold red"
        return Text(one_line(summary.finished.why, LONGEST_ENDING), style=style)
    score = f", {score_text(summary.score)}" if summary.score is not None else ""
    can_go_on = run.status in (Status.STOPPED, INTERRUPTED) and not found.problems
    more = f"; go on with  tilesmith forge --resume {run.folder}" if can_go_on else ""
    return Text(f"{found.told_best}{score}{more}")


def _costs(summary: RunSummary) -> RenderableType:
    columns = ("phase", "calls", "input", "output", "reasoning", "tokens", "cost", "seconds")
    table = Table(*columns, box=None, header_style="dim")
    for column in table.columns[1:]:
        column.justify = "right"
    for phase in Phase:
        if phase in summary.costs_by_phase:
            table.add_row(str(phase), *_cost(summary.costs_by_phase[phase]))
    table.add_row("total", *_cost(summary.spent), style="bold")
    times = f"calls took {clock_text(summary.spent.seconds)}, verdicts {clock_text(summary.verdict_seconds)}"
    return Group(table, Text(times, style="dim"))


def _cost(spent: CallCosts) -> tuple[str, ...]:
    usage = spent.usage
    numbers = (spent.calls, usage.input_tokens, usage.output_tokens, usage.reasoning_tokens, usage.tokens)
    return (
        *(f"{number:,}" for number in numbers),
        money_text(usage.dollars, spent.known_dollars),
        f"{spent.seconds:.1f}",
    )
