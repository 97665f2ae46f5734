"""What `tilesmith forge` does once its options are read: begin or resume a run, show it, print how it ended."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
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
from tilesmith.errors import RunError, TilesmithError, UsageError
from tilesmith.forge.commission import Commission, begin, recommission
from tilesmith.forge.dials import dials_for
from tilesmith.forge.judging import JudgeEvaluator
from tilesmith.forge.running import run_forge
from tilesmith.judge.machine.devices import choose_device
from tilesmith.llm.choosing import LlmOptions
from tilesmith.llm.prices import dollars, parse_price, price_source
from tilesmith.llm.providers import Endpoint
from tilesmith.records import Attempted, Called, Finished, Usage, to_json
from tilesmith.runs import RunFolder, Status
from tilesmith.runs.lines import money_text
from tilesmith.runs.listing import find_run
from tilesmith.runs.story import Story, tell

Options = Mapping[str, Any]


def forge_new(task: Path, options: Options, faces: Faces) -> int:
    author = _author(options)
    check = CheckConfig(**{one.name: options[one.name] for one in fields(CheckConfig) if one.name in options})
    check = replace(check, timeout_s=options["timeout"])
    dials = dials_for(options["effort"], **{key: value for key, value in options.items() if key != "effort"})
    commission = Commission(task, author, check, dials)
    if choose_device(check.device) == "cpu" and dials.target_speedup is not None:
        raise UsageError("--target-speedup: nothing is timed without a GPU, so it could never be met")
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


def resume_run(name: str, options: Options, faces: Faces) -> int:
    """Goes on; with another model or more patience, if that is what it takes."""
    with contextlib.closing(RunFolder(find_run(faces.runs, name))) as run:
        finished = run.journal.find("finished")
        if isinstance(finished, Finished) and run.manifest.status is Status.FINISHED:
            console = Console(stderr=faces.as_json)
            put(f"run     {run.path} is finished: {finished.why}; more is a new run", console)
            return _show_end(run, finished, console, faces)
        commission = recommission(run.path)
        commission = replace(commission, author=_author_again(commission.author, options))
        run.hand_over(commission.author.name, to_json(commission.author))
        return _forge(run, commission, faces)


def replay_run(name: str, task: Path | None, faces: Faces) -> int:
    """The same commission in a new folder, answered from the old one."""
    recorded = find_run(faces.runs, name)
    commission = recommission(recorded)
    if task is not None and task.resolve() != commission.task.resolve():
        raise UsageError(f"{recorded.name} is a run of {commission.task}, not of {task}; leave out the task")
    commission = replace(commission, author=replayed(commission.author, recorded))
    with contextlib.closing(begin(commission, faces.runs)) as run:
        return _forge(run, commission, faces)


def _author_again(author: AuthorChoice, options: Options) -> AuthorChoice:
    if any(name in options for name in ("model", "provider", "base_url")):
        return _author({**options, "author": "llm"})
    return _with_limits(author, options)


def _author(options: Options) -> AuthorChoice:
    llm = LlmOptions(options.get("model"), options.get("provider"), options.get("base_url"))
    if options["author"] == "playbook" and llm != LlmOptions():
        raise UsageError("--author playbook asks no model: leave out --model, --provider and --base-url")
    return _with_limits(choose_author(options["author"], llm, os.environ), options)


def _with_limits(author: AuthorChoice, options: Options) -> AuthorChoice:
    named = {"retries": "retries", "call_timeout": "call_timeout_s", "idle_timeout": "idle_timeout_s"}
    limits = {field: options[option] for option, field in named.items() if option in options}
    price = parse_price(options["price"]) if "price" in options else author.price
    return replace(author, price=price, **limits)


def _forge(run: RunFolder, commission: Commission, faces: Faces) -> int:
    console = Console(stderr=faces.as_json)
    for line in _opening(run, commission):
        _say(line, run, console)
    try:
        finished = _run_to_its_end(run, commission, console, faces)
    except KeyboardInterrupt:
        raise RunError(f"interrupted{_way_on(run)}") from None
    except TilesmithError as error:
        raise type(error)(f"{error}{_way_on(run)}") from None
    return _show_end(run, finished, console, faces)


def _run_to_its_end(run: RunFolder, commission: Commission, console: Console, faces: Faces) -> Finished:
    plain = faces.as_json or not console.is_terminal
    evaluator = JudgeEvaluator(commission.task, commission.check, commission.dials.sanitize)
    try:
        with watcher(console, plain, commission.dials) as shown:
            author = make_author(commission.author, lambda line: _say(line, run, console))
            return run_forge(run, author, evaluator, commission.dials, shown)
    except KeyboardInterrupt:
        put("stopping", console)
        raise
    finally:
        with contextlib.suppress(KeyboardInterrupt):  # the second Ctrl-C of an impatient user
            evaluator.close()


def _way_on(run: RunFolder) -> str:
    """A run in which nothing has happened yet is not worth keeping."""
    if not list(run.journal):
        shutil.rmtree(run.path, ignore_errors=True)
        return ""
    return f"; the run is kept, go on with  tilesmith forge --resume {run.path}"


def _opening(run: RunFolder, commission: Commission) -> list[str]:
    lines = [f"run     {run.path}", f"author  {commission.author.name}: {commission.author.why}"]
    events = list(run.journal)
    if events:
        calls = sum(isinstance(event, Called) for event in events)
        verdicts = sum(isinstance(event, Attempted) for event in events)
        lines.append(f"resumed after {calls} calls and {verdicts} verdicts, which are told first")
    endpoint = commission.author.endpoint
    if endpoint is not None and commission.author.price is None:
        lines.append(f"prices  {_prices(endpoint)}")
    return lines


def _prices(endpoint: Endpoint) -> str:
    if endpoint.served_by is not None and endpoint.served_by.local:
        return "none: the model is served on hardware of your own"
    known = dollars(endpoint, Usage(1000, 1000)) is not None
    return price_source() if known else f"unknown for {endpoint.model} (--price IN,OUT)"


def _say(line: str, run: RunFolder, console: Console) -> None:
    run.log(line)
    put(line, console)


def _show_end(run: RunFolder, finished: Finished, console: Console, faces: Faces) -> int:
    """What came out, and the exit code that says so."""
    best = run.path / "best.py" if finished.best is not None else None
    story = tell(run.journal)
    if faces.as_json:
        put(json.dumps(_document(run, finished, story), indent=2), Console())
    else:
        if story.usage.tokens:
            cost = money_text(story.usage.dollars, story.spent.known_dollars)
            put(f"cost    {story.usage.tokens:,} tokens in {story.calls} calls, {cost}", console)
        if best is not None:
            put(f"best    {best}", console)
    return 0 if best is not None else 1


def _document(run: RunFolder, finished: Finished, story: Story) -> dict[str, Any]:
    return {
        "best": finished.best,
        "faster": finished.faster,
        "score": finished.score,
        "why": finished.why,
        "stopped_by": finished.stopped_by,
        "run": str(run.path),
        "author": run.manifest.author,
        "best_path": str(run.path / "best.py") if finished.best is not None else None,
        "attempts": len(story.attempts),
        "calls": story.calls,
        "usage": to_json(story.usage),
        "usage_by_phase": {phase: to_json(usage) for phase, usage in story.usage_by_phase.items()},
    }
