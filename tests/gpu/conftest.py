"""For the tests on a GPU: kernels are judged as many at a time as cores allow; each test waits for its verdict."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import cache
from typing import Any

import pytest

from tilesmith.config import CheckConfig
from tilesmith.judge import Judge
from tilesmith.records import Evaluation

OpenJudge = Callable[[CheckConfig], Judge]
AtOnce = Callable[[str, Callable[[Any], Any]], dict[Any, Future[Any]]]
JudgeAll = Callable[[str, CheckConfig], dict[Any, Future[Evaluation]]]


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


@pytest.fixture(scope="module")
def at_once(request: pytest.FixtureRequest, open_judge: OpenJudge) -> Iterator[AtOnce]:
    """Works on the chosen values of a parameter of this module's tests, many at a time and in their order."""
    pool = ThreadPoolExecutor(max(2, (os.cpu_count() or 2) - 3))

    def start(parameter: str, work: Callable[[Any], Any]) -> dict[Any, Future[Any]]:
        tests = [item for item in request.session.items if item.path == request.path and hasattr(item, "callspec")]
        chosen = [test.callspec.params[parameter] for test in tests if parameter in test.callspec.params]
        return {one: pool.submit(work, one) for one in chosen}

    yield start
    pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="module")
def judge_all(open_judge: OpenJudge, at_once: AtOnce) -> JudgeAll:
    """Judges the chosen fixture kernels of this module."""

    def start(parameter: str, config: CheckConfig) -> dict[Any, Future[Evaluation]]:
        judge = open_judge(config)
        return at_once(parameter, lambda one: judge.check(one.task_path, one.kernel_path))

    return start
