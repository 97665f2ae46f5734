"""A judge whose answers a test makes up: what is asked of it, and what becomes of times."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tilesmith.records import Evaluation, Quantiles, Speedup, Timing, Verdict
from tilesmith.records.task_facts import Roofline

ROOFLINE = Roofline(
    memory_ms=0.5, compute_ms=0.1, floor_ms=0.5, bound="memory", gpu="H200", bytes_moved=10**9, flops=1
)


def timed(speedup: float, verdict: Verdict = Verdict.PASSED) -> Evaluation:
    at = Quantiles(1.0, 1.0, 1.0)
    eager = Quantiles(speedup, speedup, speedup)
    over = {"eager": Speedup(speedup, speedup - 0.1, speedup + 0.1)}
    timing = Timing("H200", at, eager, None, None, {}, over, over, 5)
    return Evaluation(verdict, "a reason", "elementwise", timing=timing, roofline=ROOFLINE)


@dataclass
class MadeUpJudge:
    """Answers in order, and keeps the tasks that it was asked about."""

    answers: list[Evaluation]
    device: str = "cuda"
    tasks: list[str] = field(default_factory=list)

    def check(self, task: Path, kernel: Path, progress: Any) -> Evaluation:
        self.tasks.append(task.read_text())
        return self.answers[len(self.tasks) - 1]
