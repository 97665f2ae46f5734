"""The tools themselves, each a function from a call to a small document; `TOOLS` lists them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from difflib import get_close_matches
from typing import Any

from tilesmith.config import CheckConfig
from tilesmith.errors import UsageError
from tilesmith.forge.settings import DEFAULT_EFFORT, EFFORTS
from tilesmith.judge.certificates.conclusion import conclusion
from tilesmith.lint.files import lint_file, read_task_facts
from tilesmith.lint.lessons import lessons
from tilesmith.mcp.forging import forge, summarize_attempts
from tilesmith.mcp.tool import AgentTool, ToolCall
from tilesmith.mcp.verdict_meanings import MEANINGS
from tilesmith.playbook.task_plan import plan_task
from tilesmith.records import Outcome, Verdict, to_json
from tilesmith.runs.listing import list_runs, listed_document
from tilesmith.runs.salvaged_run import salvage_run

_DEFAULTS = CheckConfig()
_TASK: dict[str, Any] = {
    "task": {
        "type": "string",
        "description": "Python file with Model, get_inputs and get_init_inputs; or FILE:CLASS or MODULE:CLASS.",
    },
    "inputs": {"type": "string", "description": "Function that makes the inputs, if it is not get_inputs."},
    "path": {
        "type": "array",
        "items": {"type": "string"},
        "description": "Folders to look for modules in, before the root.",
    },
}
_KERNEL = {"type": "string", "description": "Path of a Python file with ModelNew, relative to the root."}
_JUDGE: dict[str, Any] = {
    "device": {"enum": ["auto", "cpu", "cuda"], "description": "cpu: Triton's interpreter; auto: a GPU if any."},
    "target": {"type": "string", "description": f"GPU to compile for without one; {_DEFAULTS.target}."},
    "precision": {"enum": ["default", "ieee", "tf32"], "description": "TF32 in float32 products."},
    "mode": {"enum": ["auto", "eval", "train"], "description": "Mode of the module; auto: as it is built."},
    "seed": {"type": "integer", "description": "Seed of weights and inputs."},
}


def check_config(arguments: Mapping[str, Any]) -> CheckConfig:
    """The fields of a configuration among the arguments."""
    return CheckConfig(**{one.name: arguments[one.name] for one in fields(CheckConfig) if one.name in arguments})


def _check(call: ToolCall) -> dict[str, Any]:
    task, kernel = call.task(), call.kernel()
    with call.judges.use(check_config(call.arguments)) as judge:
        evaluation = judge.check(task, kernel, lambda gate: call.progress(f"{kernel.name}: {gate}"))
    document: dict[str, Any] = to_json(evaluation)
    if document["timing"]:
        del document["timing"]["samples_ms"]
    return {name: value for name, value in document.items() if name not in ("gates", "format_version")}


def _lint(call: ToolCall) -> dict[str, Any]:
    facts = read_task_facts(call.task() if "task" in call.arguments else None)
    linted = lint_file(call.kernel(), facts)
    return {"kernel": call.workspace.shown(linted.path), **to_json(linted.report)}


def _explain(call: ToolCall) -> dict[str, Any]:
    topic, known = call.arguments.get("topic"), lessons()
    if topic is None:
        return {"verdicts": list(Verdict), "rules": {lesson.id: lesson.title for lesson in known.values()}}
    if topic in known:
        document: dict[str, Any] = to_json(known[topic])
        return document
    if topic in set(Verdict):
        return {"verdict": topic, **MEANINGS[Verdict(topic)]._asdict()}
    near = get_close_matches(topic.lower(), [*known, *Verdict], n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}? " if near else ""
    raise UsageError(f"{topic!r} is neither a rule nor a verdict: {hint}leave out `topic` to list them")


def _certify(call: ToolCall) -> dict[str, Any]:
    call.progress("certificate")
    with call.judges.use(check_config(call.arguments)) as judge:
        certificate = judge.certify(call.task())
    return {
        "task": certificate.task,
        "conclusion": conclusion(certificate),
        "cannot_tell": list(certificate.blind_to),
        "notes": list(certificate.notes),
        "counts": {str(outcome): certificate.count(outcome) for outcome in Outcome},
        "trials": [to_json(trial) for trial in certificate.trials],
    }


def _plan(call: ToolCall) -> dict[str, Any]:
    call.progress("survey")
    with call.judges.use(check_config(call.arguments)) as judge:
        document: dict[str, Any] = to_json(plan_task(judge.survey(call.task())))
    return document


def _forge(call: ToolCall) -> dict[str, Any]:
    return forge(call, check_config(call.arguments), os.environ)


def _runs(call: ToolCall) -> dict[str, Any]:
    if "run" not in call.arguments:
        return {"runs": [listed_document(run) for run in list_runs(call.workspace.runs)]}
    folder = call.workspace.run(call.arguments["run"])
    run, summary, problems = salvage_run(folder)
    best = folder / "best.py"
    return listed_document(run) | {
        "best_path": call.workspace.shown(best) if best.exists() else None,
        "problems": list(problems),
        "finished": summary.finished.why if summary.finished else None,
        "attempts": summarize_attempts(summary),
        "tokens": summary.usage.tokens,
    }


TOOLS = {
    tool.name: tool
    for tool in (
        AgentTool(
            "check",
            "Judge a Triton kernel against the PyTorch module it replaces: values against float64, memory safety, "
            "determinism and, on a GPU, speed. Answers with verdict, reason, findings, errors and timing.",
            {
                **_TASK,
                "kernel": _KERNEL,
                **_JUDGE,
                "timeout_s": {
                    "type": "number",
                    "description": f"Seconds one step may take; {_DEFAULTS.timeout_s:g}.",
                },
                "require_general": {"type": "boolean", "description": "Fail a kernel for the exact shapes only."},
            },
            ("task", "kernel"),
            _check,
        ),
        AgentTool(
            "lint",
            "Read a Triton kernel without running it: findings with rule ids and lines, kernel type, "
            "complexity. With the task it answers, some rules are stricter.",
            {"kernel": _KERNEL, **_TASK},
            ("kernel",),
            _lint,
        ),
        AgentTool(
            "explain",
            "Explain a lint rule (why, wrong code, correct code) or a verdict (what it means, what to do). Without "
            "a topic: all rules and verdicts.",
            {
                "topic": {
                    "type": "string",
                    "description": "Id of a rule, as missing-mask, or a verdict, as inaccurate.",
                }
            },
            (),
            _explain,
        ),
        AgentTool(
            "certify",
            "Show which known cheats the judge can tell from the truth on a task: how much a pass there says.",
            {**_TASK, **_JUDGE},
            ("task",),
            _certify,
        ),
        AgentTool(
            "plan",
            "Say what the playbook would do with a task, before anything is written: operators with bytes and "
            "FLOPs, roofline, what could be fused, whether a recipe fits and, if not, what to do.",
            {**_TASK, **_JUDGE},
            ("task",),
            _plan,
        ),
        AgentTool(
            "forge",
            "Write a Triton kernel for a task, judge it and keep the best; takes from seconds to many minutes. The "
            "playbook writes it offline, unless a model is named. Answers with best_path, verdict and speedups; "
            "keeps_pytorch says that no kernel is worth writing, and plan why.",
            {
                **_TASK,
                "effort": {"enum": [*EFFORTS], "description": f"How much is tried; {DEFAULT_EFFORT}."},
                "model": {
                    "type": "string",
                    "description": "An LLM writes the kernel: costs money, needs a key in the environment.",
                },
                "max_tokens": {"type": "integer", "description": "Stop before the LLM uses more."},
                "playbook": {
                    "type": "boolean",
                    "description": "The LLM starts from the playbook's kernel and plan, which cost nothing; true.",
                },
                **_JUDGE,
            },
            ("task",),
            _forge,
            changes_files=True,
        ),
        AgentTool(
            "runs",
            "List the runs of forge, newest first, or summarize one: its attempts, verdicts and best kernel.",
            {"run": {"type": "string", "description": "Name of a run, the start of it, or last."}},
            (),
            _runs,
        ),
    )
}
