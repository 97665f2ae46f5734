"""The forge as a tool: a run in the runs folder, told as progress, summed up in one document."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tilesmith.authors.author_choice import AuthorChoice, choose_author, make_author
from tilesmith.config import CheckConfig
from tilesmith.errors import TilesmithError, UsageError
from tilesmith.forge.judge_evaluator import JudgeEvaluator
from tilesmith.forge.recorded_effects import Activity
from tilesmith.forge.run_specification import RunSpecification, begin_run
from tilesmith.forge.runner import run_forge
from tilesmith.forge.settings import DEFAULT_EFFORT, settings_for
from tilesmith.llm.endpoint_choice import LlmOptions
from tilesmith.mcp.tool import ToolCall
from tilesmith.playbook.task_plan import plan_task
from tilesmith.records import Event, FinishedEvent, to_json
from tilesmith.runs.event_text import describe_event
from tilesmith.runs.folder import RunFolder
from tilesmith.runs.summary import RunSummary, summarize


@dataclass(frozen=True)
class _NotifyingObserver:
    """Tells the client every event and every gate; a cancelled call stops the run, which can be resumed."""

    call: ToolCall

    def activity_changed(self, activity: Activity) -> None:
        if activity.characters:  # a reply comes in, piece by piece
            return
        kernel = f" kernel {activity.number}" if activity.what in ("judge", "confirm") else ""
        detail = f": {activity.detail}" if activity.detail else ""
        self.call.progress(f"{activity.what}{kernel}{detail}")

    def event_recorded(self, event: Event) -> None:
        self.call.progress(describe_event(event))


def forge(call: ToolCall, config: CheckConfig, environment: Mapping[str, str]) -> dict[str, Any]:
    arguments = call.arguments
    chosen = {name: arguments.get(name) for name in ("max_tokens", "playbook")}
    settings = settings_for(arguments.get("effort", DEFAULT_EFFORT), **chosen)
    specification = RunSpecification(call.task(), _author(arguments, environment), config, settings)
    call.progress("survey")
    with contextlib.closing(begin_run(specification, call.workspace.runs)) as run:
        try:
            with call.judges.use(config) as judge:
                evaluator = JudgeEvaluator(specification.task, config, settings.sanitize, shared=judge)
                author = make_author(specification.author, call.progress, evaluator.tuner(settings.tuning_s))
                finished = run_forge(run, author, evaluator, settings, _NotifyingObserver(call))
        except TilesmithError:
            if not list(run.journal):  # nothing has happened in it yet
                shutil.rmtree(run.path, ignore_errors=True)
            raise
        return _document(call, run, finished)


def _author(arguments: dict[str, Any], environment: Mapping[str, str]) -> AuthorChoice:
    """The address of a model comes from the server's environment alone: an agent must not send a key elsewhere."""
    if "model" not in arguments:
        if "max_tokens" in arguments:
            raise UsageError("max_tokens limits an LLM: name one with `model`, or leave it out")
        if not arguments.get("playbook", True):
            raise UsageError("playbook is the author here: name an LLM with `model`, or leave it out")
        return choose_author("playbook", LlmOptions(), environment)
    return choose_author("llm", LlmOptions(arguments["model"]), environment)


def _document(call: ToolCall, run: RunFolder, finished: FinishedEvent) -> dict[str, Any]:
    summary = summarize(run.journal)
    best = summary.attempt(finished.best)
    confirmed = [one.evaluation for one in summary.confirmations if one.candidate == finished.best]
    evaluation = confirmed[-1] if confirmed else best.evaluation if best else None
    timing = evaluation.timing if evaluation else None
    plan = plan_task(summary.survey) if finished.keeps_pytorch and summary.survey else None
    return {
        "best_path": call.workspace.shown(run.path / "best.py") if best else None,
        "verdict": evaluation.verdict if evaluation else None,
        "faster": finished.faster,
        "score": finished.score,
        "speedups": {name: one.value for name, one in timing.speedup.items()} if timing else None,
        "why": finished.why,
        "stopped_by": finished.stopped_by,
        "keeps_pytorch": finished.keeps_pytorch,
        "plan": to_json(plan) if plan else None,
        "run": run.path.name,
        "attempts": summarize_attempts(summary),
        "tokens": summary.usage.tokens,
    }


def summarize_attempts(summary: RunSummary) -> list[dict[str, Any]]:
    return [
        {
            "kernel": one.candidate.number,
            "author": one.candidate.author or None,
            "phase": str(one.candidate.phase),
            "verdict": str(one.evaluation.verdict),
            "score": one.score,
            "kept": one.kept,
            "why": one.why,
        }
        for one in summary.attempts
    ]
