"""What `tilesmith forge` does once its options are read: begin or resume a run, show it, print how it ended."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from tilesmith.authors.choosing import AuthorChoice, choose_author, make_author, replayed
from tilesmith.cli.live import watcher
from tilesmith.cli.printing import put
from tilesmith.cli.runs_folder import Faces
from tilesmith.config import CheckConfig
from tilesmith.errors import UsageError
from tilesmith.forge.commission import Commission, begin, recommission
from tilesmith.forge.dials import dials_for
from tilesmith.forge.judging import JudgeEvaluator
from tilesmith.forge.running import run_forge
from tilesmith.judge.devices import choose_device
from tilesmith.llm.choosing import LlmOptions
from tilesmith.llm.prices import dollars, parse_price, price_source
from tilesmith.records import Finished, Usage, to_json
from tilesmith.runs import RunFolder, Status
from tilesmith.runs.listing import find_run
from tilesmith.runs.story import tell

Options = Mapping[str, Any]


def forge_new(task: Path, options: Options, faces: Faces) -> int:
    author = _author(options)
    check = CheckConfig(**{one.name: options[one.name] for one in fields(CheckConfig) if one.name in options})
    check = replace(check, timeout_s=options["timeout"])
    dials = dials_for(options["effort"], **{key: value for key, value in options.items() if key != "effort"})
    commission = Commission(task, author, check, dials)
    choose_device(check.device)  # before there is a folder
    _demand_price(commission)
    with contextlib.closing(begin(commission, faces.runs)) as run:
        return _forge(run, commission, faces)


def _demand_price(commission: Commission) -> None:
    endpoint = commission.author.endpoint
    if commission.dials.max_cost is None or endpoint is None:
        return
    if dollars(endpoint, Usage(1000, 1000), commission.author.price) is None:
        raise UsageError(
            f"--max-cost: the price of {endpoint.model} is unknown; add --price IN,OUT, or use --max-tokens"
        )


def resume_run(name: str, faces: Faces) -> int:
    with contextlib.closing(RunFolder(find_run(faces.runs, name))) as run:
        return _forge(run, recommission(run.path), faces)


def replay_run(name: str, task: Path | None, faces: Faces) -> int:
    """The same commission in a new folder, answered from the old one."""
    recorded = find_run(faces.runs, name)
    commission = recommission(recorded)
    if task is not None and task.resolve() != commission.task.resolve():
        raise UsageError(f"{recorded.name} is a run of {commission.task}, not of {task}; leave out the task")
    commission = replace(commission, author=replayed(commission.author, recorded))
    with contextlib.closing(begin(commission, faces.runs)) as run:
        return _forge(run, commission, faces)


def _author(options: Options) -> AuthorChoice:
    llm = LlmOptions(options.get("model"), options.get("provider"), options.get("base_url"))
    chosen = choose_author(options["author"], llm, os.environ)
    named = {"retries": "retries", "call_timeout": "call_timeout_s", "idle_timeout": "idle_timeout_s"}
    limits = {field: options[option] for option, field in named.items() if option in options}
    return replace(chosen, price=parse_price(options["price"]) if "price" in options else None, **limits)


def _forge(run: RunFolder, commission: Commission, faces: Faces) -> int:
    console = Console(stderr=faces.as_json)
    plain = faces.as_json or not console.is_terminal
    for line in _opening(run, commission):
        _say(line, run, console)
    evaluator = JudgeEvaluator(commission.task, commission.check)
    try:
        with watcher(console, plain, commission.dials) as shown:
            author = make_author(commission.author, lambda line: _say(line, run, console))
            finished = run_forge(run, author, evaluator, commission.dials, shown)
    finally:
        evaluator.close()
        if run.manifest.status is Status.STOPPED:
            print(f"tilesmith: the run is kept; go on with  tilesmith forge --resume {run.path}", file=sys.stderr)
    _show_end(run, finished, console, faces)
    return 0 if finished.best is not None else 1


def _opening(run: RunFolder, commission: Commission) -> list[str]:
    lines = [f"run     {run.path}", f"author  {commission.author.name}: {commission.author.why}"]
    endpoint, own = commission.author.endpoint, commission.author.price
    if endpoint is not None and own is None:
        known = dollars(endpoint, Usage(1000, 1000)) is not None
        lines.append(
            f"prices  {price_source()}" if known else f"prices  unknown for {endpoint.model} (--price IN,OUT)"
        )
    return lines


def _say(line: str, run: RunFolder, console: Console) -> None:
    run.log(line)
    put(line, console)


def _show_end(run: RunFolder, finished: Finished, console: Console, faces: Faces) -> None:
    best = str(run.path / "best.py") if finished.best is not None else None
    if faces.as_json:
        story = tell(run.journal)
        document = to_json(finished) | {
            "run": str(run.path),
            "author": run.manifest.author,
            "best_path": best,
            "attempts": len(story.attempts),
            "calls": story.spent.calls,
            "usage": to_json(story.spent.usage),
            "usage_by_phase": {phase: to_json(spent.usage) for phase, spent in story.spent_by_phase.items()},
        }
        del document["event"]
        put(json.dumps(document, indent=2), Console())
    elif best is not None:
        put(f"best    {best}", console)
