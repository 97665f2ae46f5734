"""Drives the loop: every event to disk, the best kernel to best.py, and a true ending whatever happens."""

from __future__ import annotations

from tilesmith.authors.protocol import Author
from tilesmith.errors import TilesmithError
from tilesmith.forge.loop import forge
from tilesmith.forge.recorded_effects import KernelEvaluator, RecordedEffects, RunObserver
from tilesmith.forge.settings import ForgeSettings
from tilesmith.records import Attempt, AttemptEvent, Event, FinishedEvent
from tilesmith.runs import RunFolder, Status


def run_forge(
    run: RunFolder, author: Author, evaluator: KernelEvaluator, settings: ForgeSettings, observer: RunObserver
) -> FinishedEvent:
    """To its end. An author or machine that fails stops the run, which can then be resumed."""
    effects = RecordedEffects(run, author, evaluator, observer)
    run.set_status(Status.RUNNING)
    kept: dict[int, Attempt] = {}
    finished: FinishedEvent | None = None
    try:
        for event in forge(effects, settings):
            is_new = effects.record(event)
            _keep_best(run, event, kept, is_new)
            finished = event if isinstance(event, FinishedEvent) else finished
    except BaseException as error:
        if not isinstance(error, KeyboardInterrupt):
            effects.wait_for_calls()
        run.set_status(Status.STOPPED, _describe_error(error))
        if isinstance(error, TilesmithError | KeyboardInterrupt):
            write_report(run)
        raise
    assert finished is not None, "the loop always tells how it ended"
    run.set_status(Status.FINISHED, finished.why)
    write_report(run)
    return finished


def write_report(run: RunFolder) -> None:
    """The page of the run. One that cannot be made is no reason to lose a run: then the log says why."""
    try:
        from tilesmith.report import write_run_report

        write_run_report(run.path)
    except Exception as error:
        run.log(f"report  not written: {type(error).__name__}: {error}")


def _describe_error(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    return str(error) if isinstance(error, TilesmithError) else f"our own failure: {type(error).__name__}: {error}"


def _keep_best(run: RunFolder, event: Event, kept: dict[int, Attempt], is_new: bool) -> None:
    """Old events of a resumed run do not turn best.py back; its end is written anew, lest a kill prevented it."""
    if isinstance(event, AttemptEvent) and event.attempt.kept:
        kept[event.attempt.candidate.number] = event.attempt
        if is_new:
            run.write_best(event.attempt, f"best so far: {event.attempt.why}; not yet confirmed")
    if isinstance(event, FinishedEvent) and event.best is not None:
        run.write_best(kept[event.best], event.why)
    elif isinstance(event, FinishedEvent) and kept:
        run.write_best([*kept.values()][-1], f"passed once, but {event.why}")
