"""A suite from beginning to end: jobs go out, rows come back, and whatever stops it can be resumed."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from threading import local
from typing import Protocol

from tilesmith.errors import AuthorError, RunError
from tilesmith.judge.machine.devices import choose_device, visible_gpus
from tilesmith.judge.warm_judges import WarmJudges
from tilesmith.records import Usage
from tilesmith.runs.event_text import one_line
from tilesmith.suite.allowance import Allowance, SuiteStopped
from tilesmith.suite.folder import SuiteFolder
from tilesmith.suite.jobs import Evaluator, Work, Workplace, begun_runs, carry_out, evaluator_here, summary_of
from tilesmith.suite.listing import in_order_of_work
from tilesmith.suite.records import Job, Row, SuiteLimits, SuiteSpecification

Notify = Callable[[str], None]
_SILENCES = 3
"""So many tasks in a row whose author does not answer end the suite; it can be resumed."""
_JOBS_PER_GPU, _JOBS_PER_GPU_WITH_MODEL = 12, 48
"""A job that waits for a model uses no GPU; benchmarks/suite_scale.py has what that does."""
_POLL_S = 0.5


class Workers(Protocol):
    """Who carries jobs out, many at once: the threads of this machine, or a cluster."""

    options: str
    """What --resume needs to have the rest done there."""

    def submit(self, job: Job) -> Future[Row]: ...

    def close(self, at_once: bool) -> None:
        """Wait for the jobs under way, or end them where they are."""


@dataclass(frozen=True)
class SuiteEnd:
    """How a session of a suite ended."""

    done: int
    unfinished: int
    why_unfinished: str
    go_on: str
    """What to do about those that are left."""


def default_jobs(specification: SuiteSpecification) -> int:
    """Of this machine."""
    gpus = len(visible_gpus()) if choose_device(specification.check.device) == "cuda" else 0
    return jobs_for(specification, gpus, os.cpu_count() or 2)


def jobs_for(specification: SuiteSpecification, gpus: int, cores: int) -> int:
    """As many as a machine has cores for, and more where a model is waited for."""
    author = specification.author
    if author is not None and author.kind == "llm":
        return min(_JOBS_PER_GPU_WITH_MODEL * gpus, 3 * cores) if gpus else 2 * cores
    return max(1, min(_JOBS_PER_GPU * gpus, cores * 3 // 4) if gpus else cores)


def run_suite(
    folder: SuiteFolder,
    specification: SuiteSpecification,
    limits: SuiteLimits,
    make_workers: Callable[[Allowance], Workers],
    again: Sequence[str],
    notify: Notify,
) -> SuiteEnd:
    """Every job that has no outcome yet, and those whose outcome is one of `again`."""
    todo = in_order_of_work(folder.unfinished(again), specification.selection)
    allowance = Allowance(limits, _spent(folder, todo), folder.seconds_before)
    workers = make_workers(allowance)
    go_on = f"go on with  tilesmith suite --resume {folder.path}{workers.options}"
    failure: AuthorError | None = None
    is_done = False
    try:
        futures = {workers.submit(job): job for job in todo}
        silences, count = 0, len(folder.jobs) - len(todo)
        for future in _as_completed(futures):
            try:
                row = future.result()
            except (SuiteStopped, CancelledError):
                continue
            except AuthorError as error:
                failure, silences = error, silences + 1
                notify(f"{one_line(futures[future].key)}: {error}")
                if silences == _SILENCES:
                    allowance.stop(f"the author does not answer: {error}")
                continue
            silences, count = 0, count + 1
            folder.add(row, allowance.seconds)
            notify(f"{count}/{len(folder.jobs)}  {describe_row(row)}")
        is_done = True
    except KeyboardInterrupt:
        allowance.stop("interrupted")
        raise RunError(f"interrupted; what was done is kept, {go_on}") from None
    finally:
        with contextlib.suppress(KeyboardInterrupt):  # the second Ctrl-C of an impatient user
            workers.close(at_once=not is_done)
        left = len(folder.unfinished())
        why = allowance.why_stopped or (str(failure) if failure else "")
        folder.publish(why if left else "", allowance.seconds)
    if failure is not None and left:
        raise AuthorError(f"{failure}; {left} jobs are left, {go_on}")
    return SuiteEnd(len(folder.jobs) - left, left, why, go_on)


def describe_row(row: Row) -> str:
    score = "" if row.score is None else f" {row.score:.2f}x"
    why = "" if row.passed else f"  {one_line(row.why)}"
    return f"{one_line(row.key)}  {row.outcome}{score}  {row.seconds:.0f} s{why}"


def _as_completed(futures: dict[Future[Row], Job]) -> Iterator[Future[Row]]:
    """Waits in short steps, so that Ctrl-C is heard."""
    left = set(futures)
    while left:
        done, left = wait(left, _POLL_S, return_when="FIRST_COMPLETED")
        yield from done


def _spent(folder: SuiteFolder, todo: Sequence[Job]) -> Usage:
    """By the rows there are, and by all runs that are in none of them. What has no price counts as free."""
    finished = {job.key for job in folder.jobs} - {job.key for job in todo}
    rows = [row for row in folder.suite.rows if row.key in finished]
    counted = {row.run for row in rows}
    runs = (run for some in begun_runs(folder.runs).values() for run in some if run.name not in counted)
    costs = (summary_of(run).spent for run in runs)
    calls = (Usage(one.usage.tokens, dollars=one.known_dollars) for one in costs)
    return sum((*(Usage(row.tokens, dollars=row.dollars or 0.0) for row in rows), *calls), Usage())


class WorkersHere:
    """Threads of this process, shared out among its GPUs, each with a warm judge; or about one judge without."""

    options = ""

    def __init__(
        self,
        folder: SuiteFolder,
        at_once: int,
        notify: Notify,
        allowance: Allowance,
        open_evaluator: Callable[[WarmJudges, Work], AbstractContextManager[Evaluator]] = evaluator_here,
    ) -> None:
        self._specification, begun = folder.suite.specification, begun_runs(folder.runs)
        gpus = visible_gpus() if choose_device(self._specification.check.device) == "cuda" else ()
        self._judges = [WarmJudges(gpu) for gpu in gpus or (None,)]
        evaluators = [partial(open_evaluator, one) for one in self._judges]
        workplaces = [Workplace(folder.runs, allowance, one, notify, begun) for one in evaluators]
        self._mine, self._next = local(), itertools.cycle(workplaces)
        self._threads = ThreadPoolExecutor(at_once, "suite", self._enter)

    def submit(self, job: Job) -> Future[Row]:
        return self._threads.submit(lambda: carry_out(job, self._specification, self._mine.workplace))

    def close(self, at_once: bool) -> None:
        if at_once:
            self._close_judges()  # ends the kernels under way
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._close_judges()

    def _enter(self) -> None:
        self._mine.workplace = next(self._next)

    def _close_judges(self) -> None:
        for judges in self._judges:
            judges.close()
