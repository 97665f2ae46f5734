"""For the tests on a GPU: kernels are judged as many at a time as cores allow; each test waits for its verdict."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from tilesmith.config import CheckConfig
from tilesmith.judge import Judge
from tilesmith.records import Evaluation

OpenJudge = Callable[[CheckConfig], Judge]
TIMED = CheckConfig(device="cuda", timeout_s=20, timing_s=1.0)
UNTIMED = replace(TIMED, timing=False)
CONFIGS = {"fixture": UNTIMED, "honest": TIMED, "clock_cheat": TIMED, "cheat": UNTIMED}
"""By the parameter of a test, how the kernels in it are judged."""


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Tell what failed at once: time on a GPU may be over before pytest says so."""
    if report.failed:
        reasons = [line for line in report.longreprtext.splitlines() if line.startswith("E ")]
        print(f"\n{report.nodeid}: {' '.join(reasons[:1])}", flush=True)


@pytest.fixture(scope="session")
def open_judge() -> Iterator[OpenJudge]:
    """Opens one judge for each configuration, so that modules share references; all are closed at the end."""
    with ExitStack() as opened:
        yield cache(lambda config: opened.enter_context(Judge(config)))


@pytest.fixture(scope="session")
def pool() -> Iterator[ThreadPoolExecutor]:
    pool = ThreadPoolExecutor(max(2, (os.cpu_count() or 2) - 3))
    yield pool
    pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="session")
def verdicts(
    request: pytest.FixtureRequest, open_judge: OpenJudge, pool: ThreadPoolExecutor
) -> dict[Any, Future[Evaluation]]:
    """Of all chosen fixture kernels, in the order of their tests: no module waits for the last one of another."""
    started: dict[Any, Future[Evaluation]] = {}
    for test in request.session.items:
        for parameter, one in test.callspec.params.items() if hasattr(test, "callspec") else ():
            if parameter in CONFIGS:
                judge = open_judge(CONFIGS[parameter])
                started[one] = pool.submit(judge.check, one.task_path, one.kernel_path)
    return started
