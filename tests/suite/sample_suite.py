"""Suites that are made up: rows with every outcome, in any number, the same each time."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

from tilesmith.authors.author_choice import AuthorChoice
from tilesmith.config import CheckConfig
from tilesmith.forge.settings import ForgeSettings
from tilesmith.records import Speedup
from tilesmith.suite.records import JobOutcome, Row, Suite, SuiteSpecification, TaskSelection

SPECIFICATION = SuiteSpecification(
    name="made up",
    places=("level*",),
    path=(),
    selection=TaskSelection(),
    check=CheckConfig(),
    author=AuthorChoice("playbook", "for a test"),
    settings=ForgeSettings(playbook=True),
)
FAILURES = ("wrong_values", "inaccurate", "compile_error", "timeout", "cheating", "nondeterministic", None)


def row(task: str, outcome: JobOutcome = JobOutcome.PASSED, eager: float | None = None, **more: Any) -> Row:
    """A job of `task`; with a speedup over eager it is also twice as slow over compile."""
    known = {"eager": eager, "compile": eager / 2} if eager is not None else {}
    verdict = {JobOutcome.PASSED: "passed", JobOutcome.FAILED: "wrong_values"}.get(outcome)
    facts: dict[str, Any] = {
        "key": task,
        "level": "",
        "sample": None,
        "digest": "",
        "verdict": verdict,
        "why": str(outcome),
        "score": min(known.values(), default=None),
        "speedup": {name: Speedup(gain, 0.9 * gain, 1.1 * gain) for name, gain in known.items()},
    }
    return Row(task=task, outcome=outcome, **{**facts, **more})


def suite_of(*rows: Row, left: tuple[str, ...] = (), **more: Any) -> Suite:
    keys = (*(one.key for one in rows), *left)
    return Suite(**{"created": "2026-11-18T20:00:00", "specification": SPECIFICATION, **more}, keys=keys, rows=rows)


def samples_of(*rows: Row) -> tuple[Row, ...]:
    """Kernels of somebody's for the same tasks, numbered."""
    seen: dict[str, int] = {}
    numbered = []
    for one in rows:
        number = seen[one.task] = seen.get(one.task, -1) + 1
        numbered.append(replace(one, key=f"{one.key} sample {number}", sample=number))
    return tuple(numbered)


def many_rows(count: int, timed: bool = True, dollars: bool = True) -> tuple[Row, ...]:
    """Of three levels, drawn at random from what may happen."""
    chance = random.Random(20)
    return tuple(_drawn(number, count, chance, timed, dollars) for number in range(count))


def _drawn(number: int, count: int, chance: random.Random, timed: bool, dollars: bool) -> Row:
    level = f"level{1 + 3 * number // count}"
    outcome = chance.choices(tuple(JobOutcome), (70, 12, 14, 4))[0]
    task = f"{number + 1}_{chance.choice(('Softmax', 'Matmul_GELU', 'LayerNorm', 'GRU', 'Conv2D_BatchNorm_ReLU'))}"
    gain = math.exp(chance.gauss(0.45, 0.55))
    gains = {"eager": gain, "graph": gain * 0.93, "compile": gain * chance.uniform(0.5, 1.05)}
    passed = outcome is JobOutcome.PASSED
    verdict = "passed" if passed else chance.choice(FAILURES) if outcome is JobOutcome.FAILED else None
    whys = {
        JobOutcome.PASSED: "right",
        JobOutcome.KEPT: "nothing would be faster: cuBLAS takes 0.81 ms of at least 0.78 ms",
        JobOutcome.FAILED: f"{verdict or 'no kernel was written'}: output 0 differs in 412 of 4096 elements",
        JobOutcome.ERROR: f"{level}/{task}.py: has no get_inputs; add it",
    }
    speedup = {name: Speedup(one, one * 0.97, one * 1.04) for name, one in gains.items()}
    return Row(
        key=f"{level}/{task}",
        task=f"{level}/{task}",
        level=level,
        sample=None,
        digest=f"{number:08x}",
        outcome=outcome,
        verdict=verdict,
        why=whys[outcome],
        score=min(gains.values()) if passed and timed else None,
        speedup=speedup if passed and timed else {},
        error_ratio=math.exp(chance.gauss(0, 0.5)) if passed else None,
        device=("NVIDIA H200", "NVIDIA H100 80GB HBM3")[number % 5 == 0] if timed else None,
        attempts=chance.randint(1, 9),
        tokens=chance.randint(4_000, 90_000),
        dollars=round(chance.uniform(0.01, 0.8), 4) if dollars or number % 9 else None,
        seconds=chance.uniform(5, 300),
        run=f"2026-11-18-{task.lower()}-1",
    )
