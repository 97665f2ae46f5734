"""A small GRU run with everything that can happen in one: refusals, repairs, a plan, a stage, a confirmation."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

from tilesmith.records import (
    Analysis,
    AnalysisEvent,
    Attempt,
    AttemptEvent,
    CallEvent,
    Candidate,
    ConfirmationEvent,
    DecisionEvent,
    Evaluation,
    Event,
    Finding,
    FinishedEvent,
    GpuPeaks,
    Phase,
    Prompt,
    Quantiles,
    RefusalEvent,
    Reply,
    Roofline,
    Severity,
    Speedup,
    StopReason,
    Survey,
    SurveyEvent,
    TaskProfile,
    Timing,
    Usage,
    Verdict,
    from_json,
)
from tilesmith.runs import Manifest, RunFolder, create_run
from tilesmith.tasks.gpus import GPUS

TASK = "39_GRU"
SURVEY = Survey(
    task=TASK,
    source="class Model: ...\n",
    device="cuda",
    profile=TaskProfile(),
    gpu=replace(from_json(GpuPeaks, asdict(GPUS[0])), name="NVIDIA GeForce RTX 4090"),
    roofline=Roofline(0.5, 0.1, 0.5, "memory"),
    graph=None,
    environment={"torch": "2.6.0", "triton": "3.3.0"},
)
ANALYSIS = Analysis(
    bottleneck="6150 launches, one per time step",
    method="one persistent kernel",
    plan="move the time loop into the kernel",
    expected_speedup=2.5,
    complexity="persistent",
    kernel_type="persistent_recurrent",
    fallback="precompute the input gates",
)


def called(number: int, phase: Phase, tokens: tuple[int, int] = (1000, 200), **more: object) -> CallEvent:
    usage = Usage(*tokens, dollars=more.pop("dollars", 0.01))  # type: ignore[arg-type]
    reply = Reply(f"reply {number}", "gpt-x", usage=usage, **({"seconds": 2.0} | more))  # type: ignore[arg-type]
    return CallEvent(number, phase, "0" * 64, reply)


def evaluation(verdict: Verdict = Verdict.PASSED, score: float | None = None, *findings: str) -> Evaluation:
    warned = tuple(Finding(one, Severity.WARNING, 3, f"about {one}") for one in findings)
    timing = None
    if score is not None:
        times = Quantiles(9.0, 10.0, 11.0)
        gain = {"eager": Speedup(score, score * 0.99, score * 1.01)}
        timing = Timing("cuda", times, times, None, None, {"candidate": times, "eager": times}, gain, gain, 9)
    reason = "as accurate as PyTorch" if verdict is Verdict.PASSED else "'h_prev[k_ids]':\nuse tl.load"
    return Evaluation(verdict, reason, "recurrent", "low", warned, timing=timing, launches=6)


def attempted(
    number: int, phase: Phase, parent: int | None, judged: Evaluation, kept: bool, why: str = "", **more: object
) -> AttemptEvent:
    candidate = Candidate(
        number, f"# kernel {number}\n", parent, call=number, phase=phase, stage=more.pop("stage", None)
    )  # type: ignore[arg-type]
    score = judged.timing.speedup["eager"].value if judged.timing else None
    told = why or f"{judged.verdict}: {judged.reason}"
    return AttemptEvent(Attempt(candidate, judged, score, kept, told, seconds=5.0, **more))  # type: ignore[arg-type]


BROKEN = evaluation(Verdict.COMPILE_ERROR)
EVENTS: tuple[Event, ...] = (
    SurveyEvent(SURVEY),
    called(1, Phase.SEED, (14_000, 34)),
    called(2, Phase.SEED, (12_000, 24), seconds=4.0),
    called(3, Phase.SEED, (100, 10), stop=StopReason.LENGTH),
    attempted(1, Phase.SEED, None, BROKEN, kept=False),
    attempted(
        2, Phase.SEED, None, evaluation(Verdict.PASSED, 0.1157, "time-loop-on-host"), True, "first to pass: 0.12x"
    ),
    RefusalEvent(3, Phase.SEED, "cut off by the token limit"),
    called(4, Phase.REPAIR),
    RefusalEvent(4, Phase.REPAIR, "no python code block in the reply", 1),
    called(5, Phase.ANALYZE, (4_886, 0)),
    AnalysisEvent(5, 2, None, "not a JSON object"),
    called(6, Phase.ANALYZE, (4_345, 0), retries=2),
    AnalysisEvent(6, 2, ANALYSIS),
    called(7, Phase.OPTIMIZE, (22_542, 0), dollars=None),
    attempted(3, Phase.OPTIMIZE, 2, evaluation(Verdict.WRONG_VALUES), False, expected_speedup=2.5),
    called(8, Phase.REPAIR),
    attempted(
        4, Phase.REPAIR, 3, evaluation(Verdict.PASSED, 1.37), True, "faster than the best so far: 1.37x after 0.12x"
    ),
    DecisionEvent("stage grid", "skipped: persistent_recurrent, complexity persistent"),
    called(9, Phase.STAGE),
    attempted(
        5, Phase.STAGE, 4, evaluation(Verdict.PASSED, 0.09), False, "slower than the best so far", stage="block"
    ),
    DecisionEvent("stop", "the target is met"),
    ConfirmationEvent(4, evaluation(Verdict.PASSED, 1.36), 1.36, seconds=7.0),
    FinishedEvent(4, True, 1.36, "kernel 4 is right, and 1.36x as fast as its best baseline"),
)


def manifest(task: str = TASK, created: str = "2026-05-01T10:00:00+00:00", author: str = "gpt-x") -> Manifest:
    settings = {"seeds": 3, "rounds": 3, "max_cost": None}
    return Manifest(task, f"tasks/{task}.py", "0" * 64, author, created, {"dials": settings}, {"python": "3.11"})


def make_run(parent: Path, events: tuple[Event, ...] = EVENTS, head: Manifest | None = None) -> RunFolder:
    """A real run folder with these events on record. The caller closes it."""
    run = create_run(parent, head or manifest(), SURVEY.source)
    for event in events:
        run.journal.append(event)
        if isinstance(event, CallEvent):
            run.write_prompt(event.number, Prompt("You write kernels.", f"prompt {event.number}"))
            run.write_reply(event)
        elif isinstance(event, AttemptEvent):
            run.kernel_path(event.attempt.candidate)
    return run
