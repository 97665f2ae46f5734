"""What `tilesmith forge` does once its options are read: begin or resume a run, show it, print how it ended."""

from __future__ import annotations

import contextlib
import json
import shutil
from dataclasses import replace
from typing import Any

from rich.console import Console

from tilesmith.authors.author_choice import AuthorChoice, as_replay, make_author
from tilesmith.cli.display.run_progress import open_progress
from tilesmith.cli.forging.forge_options import Options, author_of, forge_choice, require_price, with_call_limits
from tilesmith.cli.output_options import OutputOptions, print_line
from tilesmith.errors import RunError, TilesmithError, UsageError
from tilesmith.forge.judge_evaluator import JudgeEvaluator
from tilesmith.forge.run_specification import RunSpecification, begin_run, read_specification
from tilesmith.forge.runner import run_forge, write_report
from tilesmith.llm.prices import dollars, price_source
from tilesmith.llm.providers import Endpoint
from tilesmith.playbook.task_plan import plan_task
from tilesmith.records import AttemptEvent, CallEvent, FinishedEvent, StopReason, Usage, to_json
from tilesmith.runs import RunFolder, Status
from tilesmith.runs.event_text import money_text
from tilesmith.runs.listing import find_run, read_run, require_whole
from tilesmith.runs.summary import RunSummary, summarize
from tilesmith.tasks.user_code.task_name import TaskName

PYTORCH_IS_KEPT = 3
"""The exit code for a task whose author would write no kernel: not the same as kernels that failed."""


def start_run(task: TaskName, options: Options, output: OutputOptions) -> int:
    chosen = forge_choice(options)
    require_price(chosen.settings.max_cost, chosen.author)
    specification = RunSpecification(task, chosen.author, chosen.check, chosen.settings)
    with contextlib.closing(begin_run(specification, output.runs)) as run:
        return _forge(run, specification, output)


def resume_run(name: str, options: Options, output: OutputOptions) -> int:
    """Goes on; with another model or more retries, if that is what it takes."""
    folder = find_run(output.runs, name)
    require_whole(read_run(folder))
    with contextlib.closing(RunFolder(folder)) as run:
        finished = run.journal.find("finished")
        if isinstance(finished, FinishedEvent) and run.manifest.status is Status.FINISHED:
            console = Console(stderr=output.as_json)
            print_line(f"run     {run.path} is finished: {finished.why}; more is a new run", console)
            write_report(run)
            return _print_result(run, finished, console, output)
        specification = read_specification(run.path)
        specification = replace(specification, author=_author_for_resume(specification.author, options))
        run.change_author(specification.author.name, to_json(specification.author))
        return _forge(run, specification, output)


def replay_run(name: str, task: TaskName | None, output: OutputOptions) -> int:
    """The same specification in a new folder, answered from the old one."""
    recorded = find_run(output.runs, name)
    specification = read_specification(recorded)
    if task is not None and task.absolute().target != specification.task.absolute().target:
        raise UsageError(f"{recorded.name} is a run of {specification.task}, not of {task}; leave out the task")
    specification = replace(specification, author=as_replay(specification.author, recorded))
    with contextlib.closing(begin_run(specification, output.runs)) as run:
        return _forge(run, specification, output)


def _author_for_resume(author: AuthorChoice, options: Options) -> AuthorChoice:
    if any(name in options for name in ("model", "provider", "base_url")):
        return author_of({**options, "author": "llm"})
    return with_call_limits(author, options)


def _forge(run: RunFolder, specification: RunSpecification, output: OutputOptions) -> int:
    console = Console(stderr=output.as_json)
    try:
        for line in _opening_lines(run, specification):
            _log_and_print(line, run, console)
        finished = _run_with_progress(run, specification, console, output)
    except KeyboardInterrupt:
        raise RunError(f"interrupted{_resume_hint(run)}") from None
    except TilesmithError as error:
        raise type(error)(f"{error}{_resume_hint(run)}") from None
    return _print_result(run, finished, console, output)


def _run_with_progress(
    run: RunFolder, specification: RunSpecification, console: Console, output: OutputOptions
) -> FinishedEvent:
    plain = output.as_json or not console.is_terminal
    evaluator = JudgeEvaluator(specification.task, specification.check, specification.settings.sanitize)
    try:
        with open_progress(console, plain, specification.settings) as shown:
            tuner = evaluator.tuner(specification.settings.tuning_s)
            author = make_author(specification.author, lambda line: _log_and_print(line, run, console), tuner)
            return run_forge(run, author, evaluator, specification.settings, shown)
    except KeyboardInterrupt:
        print_line("stopping", console)
        raise
    finally:
        with contextlib.suppress(KeyboardInterrupt):  # the second Ctrl-C of an impatient user
            evaluator.close()


def _resume_hint(run: RunFolder) -> str:
    """A run in which nothing has happened yet is not worth keeping, and its folder, which was named, is gone."""
    if not list(run.journal):
        shutil.rmtree(run.path, ignore_errors=True)
        return "; nothing had been done yet, so no run is kept"
    return f"; the run is kept, go on with  tilesmith forge --resume {run.path}"


def _opening_lines(run: RunFolder, specification: RunSpecification) -> list[str]:
    lines = [f"run     {run.path}", f"author  {specification.author.name}: {specification.author.why}"]
    events = list(run.journal)
    if events:
        calls = sum(isinstance(event, CallEvent) for event in events)
        verdicts = sum(isinstance(event, AttemptEvent) for event in events)
        lines.append(f"resumed after {calls} calls and {verdicts} verdicts, which are told first")
    endpoint = specification.author.endpoint
    if endpoint is not None and specification.author.price is None:
        lines.append(f"prices  {_prices(endpoint)}")
    return lines


def _prices(endpoint: Endpoint) -> str:
    if endpoint.served_by is not None and endpoint.served_by.local:
        return "none: the model is served on hardware of your own"
    known = dollars(endpoint, Usage(1000, 1000)) is not None
    return price_source() if known else f"unknown for {endpoint.model} (--price IN,OUT)"


def _log_and_print(line: str, run: RunFolder, console: Console) -> None:
    run.log(line)
    print_line(line, console)


def _print_result(run: RunFolder, finished: FinishedEvent, console: Console, output: OutputOptions) -> int:
    """What came out, and the exit code that says so."""
    best = run.path / "best.py" if finished.best is not None else None
    report = run.path / "report.html"
    summary = summarize(run.journal)
    if output.as_json:
        print_line(json.dumps(_document(run, finished, summary), indent=2), Console())
    else:
        if summary.usage.tokens:
            cost = money_text(summary.usage.dollars, summary.spent.known_dollars)
            print_line(f"cost    {summary.usage.tokens:,} tokens in {summary.calls} calls, {cost}", console)
        if best is not None:
            print_line(f"best    {best}", console)
        if report.exists():
            print_line(f"report  {report}", console)
    if finished.keeps_pytorch:
        for line in _plan_lines(summary):
            print_line(f"        {line}", console)
        return PYTORCH_IS_KEPT
    return 0 if best is not None else 1


def _plan_lines(summary: RunSummary) -> list[str]:
    """What the author said after its first line, which is told as the end of the run."""
    said = [call.reply.text for call in summary.calls_made if call.reply.stop is StopReason.KEEPS_PYTORCH]
    return said[0].splitlines()[1:] if said else []


def _document(run: RunFolder, finished: FinishedEvent, summary: RunSummary) -> dict[str, Any]:
    return {
        "best": finished.best,
        "faster": finished.faster,
        "score": finished.score,
        "why": finished.why,
        "stopped_by": finished.stopped_by,
        "keeps_pytorch": finished.keeps_pytorch,
        "plan": to_json(plan_task(summary.survey)) if finished.keeps_pytorch and summary.survey else None,
        "run": str(run.path),
        "author": run.manifest.author,
        "best_path": str(run.path / "best.py") if finished.best is not None else None,
        "report": str(run.path / "report.html"),
        "attempts": len(summary.attempts),
        "calls": summary.calls,
        "usage": to_json(summary.usage),
        "usage_by_phase": {phase.json_key: to_json(usage) for phase, usage in summary.usage_by_phase.items()},
    }
