"""Runs made of what an H200 has measured; of their kernels only the names of the versions are known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from sample_run import SURVEY, make_run, manifest

from tilesmith.judge.decisions.statistics import quantiles, speedup
from tilesmith.records import (
    Attempt,
    AttemptEvent,
    Candidate,
    Evaluation,
    FinishedEvent,
    Phase,
    SurveyEvent,
    Timing,
    Verdict,
    from_json,
)
from tilesmith.runs import Status

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
VERSIONS = ("playbook-tasks", "playbook-tasks-a3515da", "playbook-tasks-f125221-nine")
"""What three versions of the playbook made of the same tasks."""
KERNEL = "import triton\n\n\nclass ModelNew:\n"


def _results(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / f"2026-11-{name}.json").read_text())


def recorded_run(parent: Path, task: str = "chains/vocabulary_entropy") -> Path:
    """Each version's kernel as an attempt that builds on the one before, with the judge's own answer about it."""
    judged: list[tuple[str, Evaluation]] = []
    for name in VERSIONS:
        found = _results(f"16-h200-{name}")
        row = next(row for row in found["rows"] if row["task"] == task)
        judged.append((f'version = "{found["commit"]}"', from_json(Evaluation, row["evaluation"])))
    return _run_of(parent, task.split("/")[1], found["date"], judged)


def swept_run(parent: Path, task: str = "h256_b10_t512_l6") -> Path:
    """Each tuning of a GRU kernel as an attempt, with every sample. Errors against float64 were not measured."""
    found = _results("15-h200-recurrent-sweep")
    row = next(row for row in found["results"] if row["task"] == task)
    judged = []
    for plan in row["plans"]:
        evaluation = Evaluation(Verdict.PASSED, "within tolerance", "persistent_recurrent", "persistent")
        if "failed" in plan:
            evaluation = replace(evaluation, verdict=Verdict.COMPILE_ERROR, reason=plan["failed"])
        else:
            samples = {name: row[f"{name}_samples_ms"] for name in ("eager", "graph")}
            timing = _timing(found["gpu"], {"candidate": plan["samples_ms"], **samples})
            evaluation = replace(evaluation, timing=timing)
        judged.append((plan["tuning"].replace(", ", "\n    "), evaluation))
    return _run_of(parent, task, found["date"], judged)


def _timing(device: str, samples: dict[str, list[float]]) -> Timing:
    """Lone calls were not timed."""
    times = {name: quantiles(one) for name, one in samples.items()}
    rounds = {name: tuple((ms,) for ms in one) for name, one in samples.items()}
    paired = min(map(len, rounds.values()))
    mine = rounds["candidate"][:paired]
    gains = {name: speedup(one[:paired], mine) for name, one in rounds.items() if name != "candidate"}
    known = (times["candidate"], times["eager"], times["graph"], None)
    return Timing(device, *known, {}, gains, {}, rounds=paired, samples_ms=rounds)


def _run_of(parent: Path, task: str, date: str, judged: list[tuple[str, Evaluation]]) -> Path:
    last = judged[-1][1]
    environment = {"device": last.timing.device if last.timing else "", **last.environment}
    survey = replace(SURVEY, task=task, gpu=None, roofline=last.roofline, environment=environment)
    attempts: list[Attempt] = []
    best, score = 0, 0.0
    for number, (text, evaluation) in enumerate(judged, 1):
        gains = evaluation.timing.speedup.values() if evaluation.timing else ()
        found = min((one.value for one in gains), default=None)
        kept = found is not None and found > score
        candidate = Candidate(
            number,
            f"{KERNEL}    {text}\n",
            number - 1 or None,
            call=number,
            phase=Phase.OPTIMIZE if number > 1 else Phase.SEED,
            author="playbook",
        )
        why = "faster than the best so far" if kept else "slower than the best so far"
        attempts.append(Attempt(candidate, evaluation, found, kept, why, seconds=0.0))
        best, score = (number, found or 0.0) if kept else (best, score)
    told = f"kernel {best} is right, and {score:.2f}x as fast as its best baseline"
    end = FinishedEvent(best, score > 1, score, told)
    run = make_run(
        parent, (SurveyEvent(survey), *map(AttemptEvent, attempts), end), manifest(task, date, "playbook")
    )
    run.write_best(attempts[best - 1], told)
    run.set_status(Status.FINISHED, told)
    run.close()
    return run.path
