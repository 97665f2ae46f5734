"""`tilesmith runs show RUN`: how one run went."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tilesmith.cli.output_options import FolderOption, JsonOption, RunArgument, command_help
from tilesmith.cli.runs.runs_options import chosen_options, open_console
from tilesmith.errors import RunError, UsageError

if TYPE_CHECKING:
    from tilesmith.runs.salvaged_run import SalvagedRun

_HELP = """Show one run: the tree of its attempts, why each was kept or dropped, and what it cost.

Examples:

    tilesmith runs show last

    tilesmith runs show 2026-05-01-softmax-1 --kernel 3

    tilesmith runs show last --reply 2

RUN is a folder, the name of one in the runs folder, the start of such a name, or `last`.

Exit code 0; 2: there is no such run, kernel, prompt or reply.
"""
_WIDTH_OF_A_PANEL = 100
"""Columns of what has a frame as wide as the console, for `less` and files."""


def register(group: typer.Typer) -> None:
    group.command("show", help=command_help(_HELP))(show)


def show(
    context: typer.Context,
    run: RunArgument,
    kernel: int | None = typer.Option(None, metavar="N", help="Print the source of kernel N."),
    prompt: int | None = typer.Option(None, metavar="N", help="Print the prompt of call N."),
    reply: int | None = typer.Option(None, metavar="N", help="Print the reply to call N."),
    verdict: int | None = typer.Option(None, metavar="N", help="Print the whole verdict on kernel N."),
    folder: FolderOption = None,
    as_json: JsonOption = False,
) -> None:
    from tilesmith.runs.listing import find_run

    asked = chosen_options(context, folder, as_json)
    path = find_run(asked.runs, run)
    texts = {"kernel": kernel, "prompt": prompt, "reply": reply, "verdict": verdict}
    wanted = {what: number for what, number in texts.items() if number is not None}
    if len(wanted) > 1:
        raise UsageError("--kernel, --prompt, --reply and --verdict each print one thing; choose one")
    for what, number in wanted.items():
        (_print_verdict if what == "verdict" else _print_text)(path, what, number, asked.as_json)
        return
    _print_run(path, asked.as_json)


def _print_run(path: Path, as_json: bool) -> None:
    from tilesmith.cli.display.run_display import show_run
    from tilesmith.runs.listing import require_whole
    from tilesmith.runs.salvaged_run import salvage_run
    from tilesmith.runs.summary import RunSummary

    found = salvage_run(path)
    if found.run.manifest is None and found.summary == RunSummary():
        require_whole(found.run)
    if as_json:
        print(json.dumps(_document(found), indent=2))
    else:
        show_run(found, open_console())


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
        show_evaluation(attempt.evaluation, task, kernel, open_console(_WIDTH_OF_A_PANEL))


def _available_numbers(missing: Path) -> str:
    ending = missing.name.partition(".")[2]
    numbers = sorted(int(one.name[:4]) for one in missing.parent.glob(f"[0-9][0-9][0-9][0-9].{ending}"))
    return f"it has {numbers[0]} to {numbers[-1]}" if numbers else "it has none yet"


def _document(found: SalvagedRun) -> dict[str, Any]:
    from tilesmith.records import to_json
    from tilesmith.runs.listing import listed_document

    run, summary = found.run, found.summary
    spent = {phase.json_key: to_json(one) for phase, one in summary.costs_by_phase.items()}
    return listed_document(run) | {
        "problems": list(found.problems),
        "configuration": run.manifest.configuration if run.manifest else None,
        "survey": to_json(summary.survey) if summary.survey else None,
        "steps": [to_json(step.event) | {"under": step.under} for step in summary.steps],
        "finished": to_json(summary.finished) if summary.finished else None,
        "spent": to_json(summary.spent),
        "spent_by_phase": spent,
        "verdict_seconds": summary.verdict_seconds,
    }
