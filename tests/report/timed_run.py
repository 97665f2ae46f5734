"""The sample run with measured times, sources that differ, and as many attempts as wanted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sample_run import EVENTS, SURVEY, attempted, evaluation, make_run

from tilesmith.records import (
    Attempt,
    AttemptEvent,
    Evaluation,
    Event,
    FinishedEvent,
    KernelResources,
    OutputErrors,
    Phase,
    Quantiles,
    Roofline,
    Speedup,
    SurveyEvent,
    TaskProfile,
    Timing,
)
from tilesmith.runs import Status

ROOFLINE = Roofline(0.5, 0.1, 0.5, "memory", "H200", 2_000_000_000, 40_000_000_000)
KERNEL = "import triton\n\n\nclass ModelNew:\n    block = 64\n"


def measured(candidate_ms: float) -> Evaluation:
    """Passed: eager takes 4 ms, a CUDA graph 2 ms."""
    middle = {"candidate": candidate_ms, "eager": 4.0, "graph": 2.0}
    times = {name: Quantiles(0.9 * ms, ms, 1.1 * ms) for name, ms in middle.items()}
    gains = {
        name: Speedup(ms / candidate_ms, 0.9 * ms / candidate_ms, 1.1 * ms / candidate_ms)
        for name, ms in middle.items()
    }
    del gains["candidate"]
    samples = {name: ((0.9 * ms, ms), (ms, 1.1 * ms)) for name, ms in middle.items()}
    timing = Timing(
        "NVIDIA H200", times["candidate"], times["eager"], times["graph"], None, times, gains, gains, 2, (), samples
    )
    return replace(
        evaluation(),
        timing=timing,
        errors=OutputErrors(3e-6, 2e-7, 4e-7, 2e-7, 2.0),
        resources=(KernelResources("gru_kernel", "sm_90", 128, 0, 32768, True, 8, 3),),
    )


def with_source(event: AttemptEvent, source: str) -> AttemptEvent:
    attempt = event.attempt
    return AttemptEvent(replace(attempt, candidate=replace(attempt.candidate, source=source)))


def timed_events(attempts: int = 3, source: str = KERNEL) -> tuple[Event, ...]:
    """A chain of attempts, each a little faster than its parent."""
    survey = replace(
        SURVEY,
        profile=TaskProfile(bytes_moved=2_000_000_000, flops=40_000_000_000),
        roofline=ROOFLINE,
    )
    events: list[Event] = [SurveyEvent(survey)]
    for number in range(1, attempts + 1):
        phase, parent = (Phase.OPTIMIZE, number - 1) if number > 1 else (Phase.SEED, None)
        judged = measured(3.0 - 2.0 * number / attempts)
        event = attempted(number, phase, parent, judged, True, "faster than the best so far")
        score = judged.timing.speedup["graph"].value if judged.timing else None
        event = AttemptEvent(replace(event.attempt, score=score))
        events.append(with_source(event, source + f"    step = {number}\n"))
    events.append(FinishedEvent(attempts, True, 2.0, f"kernel {attempts} is right, and 2.00x as fast"))
    return tuple(events)


def finished_run(parent: Path, events: tuple[Event, ...] = EVENTS) -> Path:
    run = make_run(parent, events)
    run.set_status(Status.FINISHED, "done")
    run.close()
    return run.path


def attempts_of(events: tuple[Event, ...]) -> list[Attempt]:
    return [event.attempt for event in events if isinstance(event, AttemptEvent)]
