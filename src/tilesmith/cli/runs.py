"""`tilesmith runs`: what was forged here, and how each run went."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tilesmith.cli.output_options import VARIABLE, OutputOptions, command_help, runs_folder
from tilesmith.errors import RunError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from tilesmith.runs.listing import ListedRun
    from tilesmith.runs.summary import RunSummary

HELP = """List the runs of `tilesmith forge`, newest first.

Examples:

    tilesmith runs

    tilesmith runs --task softmax --status finished --faster

    tilesmith runs --since 2026-05-01 --json

    tilesmith runs show last

Exit code 0, also when there is none; 2: wrong use, or the folder cannot be read.
"""
SHOW_HELP = """Show one run: the tree of its attempts, why each was kept or dropped, and what it cost.

Examples:

    tilesmith runs show last

    tilesmith runs show 2026-05-01-softmax-1 --kernel 3

    tilesmith runs show last --reply 2

RUN is a folder, the name of one in the runs folder, the start of such a name, or `last`.

Exit code 0; 2: there is no such run, kernel, prompt or reply.
"""
_FOLDER = typer.Option(None, "--runs", metavar="DIR", help="Folder of runs; TILESMITH_RUNS, else ./runs.")
_JSON = typer.Option(False, "--json", help="One JSON document on stdout, all else on stderr.")
_WIDTH_OF_A_PIPE = 1000
"""Columns where nobody looks: a program that reads a pipe wants whole lines."""
_WIDTH_OF_A_PANEL = 100
"""Columns of what has a frame as wide as the console, for `less` and files."""


def register(app: typer.Typer) -> None:
    group = typer.Typer(help=command_help(HELP), rich_markup_mode="rich")
    group.callback(invoke_without_command=True)(runs)
    group.command("show", help=command_help(SHOW_HELP))(show)
    app.add_typer(group, name="runs", help=command_help(HELP))


def runs(
    context: typer.Context,
    task: str | None = typer.Option(None, help="Part of the task's name, or a pattern such as '3?_GRU*'."),
    status: str | None = typer.Option(None, help="running, interrupted, stopped, finished or damaged."),
    author: str | None = typer.Option(None, help="Part of the author's name."),
    since: str | None = typer.Option(None, metavar="YYYY-MM-DD", help="Begun on this day (UTC) or later."),
    faster: bool = typer.Option(False, "--faster", help="Only those whose kernel beats every baseline."),
    folder: Path | None = _FOLDER,
    as_json: bool = _JSON,
) -> None:
    if context.invoked_subcommand is not None:
        if faster or any(given is not None for given in (task, status, author, since)):
            raise UsageError(
                "--task, --status, --author, --since and --faster choose what is listed; leave them out"
            )
        context.obj = OutputOptions(_existing_folder(folder), as_json)
        return
    from tilesmith.runs.listing import RunFilter, list_runs, listed_document

    parent = _existing_folder(folder)
    found = list_runs(parent, RunFilter(task, status, author, since, faster))
    if as_json:
        print(json.dumps([listed_document(run) for run in found], indent=2))
    elif found:
        from tilesmith.cli.display.run_display import show_runs

        show_runs(found, _console())
    else:
        print(f"no such runs in {parent}; `tilesmith forge TASK` makes one")


def show(
    context: typer.Context,
    run: str = typer.Argument(metavar="RUN", help="Folder, name, start of a name, or last."),
    kernel: int | None = typer.Option(None, metavar="N", help="Print the source of kernel N."),
    prompt: int | None = typer.Option(None, metavar="N", help="Print the prompt of call N."),
    reply: int | None = typer.Option(None, metavar="N", help="Print the reply to call N."),
    verdict: int | None = typer.Option(None, metavar="N", help="Print the whole verdict on kernel N."),
    folder: Path | None = _FOLDER,
    as_json: bool = _JSON,
) -> None:
    from tilesmith.runs.listing import find_run

    asked: OutputOptions = context.obj
    as_json = as_json or asked.as_json
    path = find_run(_existing_folder(folder) if folder else asked.runs, run)
    texts = {"kernel": kernel, "prompt": prompt, "reply": reply, "verdict": verdict}
    wanted = {what: number for what, number in texts.items() if number is not None}
    if len(wanted) > 1:
        raise UsageError("--kernel, --prompt, --reply and --verdict each print one thing; choose one")
    for what, number in wanted.items():
        (_print_verdict if what == "verdict" else _print_text)(path, what, number, as_json)
        return
    _print_run(path, as_json)


def _existing_folder(given: Path | None) -> Path:
    """The folder of runs; one that was named must be there."""
    folder = runs_folder(given)
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder}: not a folder of runs; see --runs")
    if given is not None and not folder.exists():
        raise RunError(f"{folder}: no such folder; see --runs")
    if os.environ.get(VARIABLE) and not folder.exists():
        raise RunError(f"{folder}: no such folder; {VARIABLE} names it: make it, or name another")
    return folder


def _console(width_of_a_pipe: int = _WIDTH_OF_A_PIPE) -> Console:
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = width_of_a_pipe
    return console


def _print_run(path: Path, as_json: bool) -> None:
    from tilesmith.cli.display.run_display import show_run
    from tilesmith.runs.journal import read_events
    from tilesmith.runs.listing import read_run
    from tilesmith.runs.summary import summarize

    run = read_run(path)
    if run.manifest is None:
        raise RunError(run.problem)
    summary = summarize(read_events(path / "events.jsonl"))
    if as_json:
        print(json.dumps(_document(run, summary), indent=2))
    else:
        show_run(run, summary, _console())


def _print_text(path: Path, what: str, number: int, as_json: bool) -> None:
    """Word for word, as it lies in the run's folder."""
    place = Path("kernels", f"{number:04}.py") if what == "kernel" else Path("llm", f"{number:04}.{what}.md")
    try:
        text = (path / place).read_text(encoding="utf-8")
    except OSError:
        raise RunError(
            f"{path / place}: the run has no {what} {number}; {_available_numbers(path / place)}"
        ) from None
    if as_json:
        print(json.dumps({what: number, "path": str(path / place), "text": text}, indent=2))
    else:
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def _print_verdict(path: Path, what: str, number: int, as_json: bool) -> None:
    from tilesmith.cli.display.evaluation_display import show_evaluation
    from tilesmith.records import to_json
    from tilesmith.runs.journal import read_events
    from tilesmith.runs.manifest import read_manifest
    from tilesmith.runs.summary import summarize

    attempt = summarize(read_events(path / "events.jsonl")).attempt(number)
    if attempt is None:
        raise RunError(f"{path}: has no {what} on kernel {number}; `tilesmith runs show` lists its kernels")
    if as_json:
        print(json.dumps(to_json(attempt.evaluation), indent=2))
    else:
        task, kernel = Path(read_manifest(path).task_path), Path(f"{number:04}.py")
        show_evaluation(attempt.evaluation, task, kernel, _console(_WIDTH_OF_A_PANEL))


def _available_numbers(missing: Path) -> str:
    ending = missing.name.partition(".")[2]
    numbers = sorted(int(one.name[:4]) for one in missing.parent.glob(f"[0-9][0-9][0-9][0-9].{ending}"))
    return f"it has {numbers[0]} to {numbers[-1]}" if numbers else "it has none yet"


def _document(run: ListedRun, summary: RunSummary) -> dict[str, Any]:
    from tilesmith.records import to_json
    from tilesmith.runs.listing import listed_document

    spent = {phase.json_key: to_json(one) for phase, one in summary.costs_by_phase.items()}
    return listed_document(run) | {
        "configuration": run.manifest.configuration if run.manifest else None,
        "survey": to_json(summary.survey) if summary.survey else None,
        "steps": [to_json(step.event) | {"under": step.under} for step in summary.steps],
        "finished": to_json(summary.finished) if summary.finished else None,
        "spent": to_json(summary.spent),
        "spent_by_phase": spent,
        "verdict_seconds": summary.verdict_seconds,
    }
