"""Going on with a run: what is on record counts, and nothing else does."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from marked_kernels import ListAuthor, MarkedEvaluator, RecordingObserver, analysis, forged, kernel, new_run

from tilesmith.errors import MachineError, RunError
from tilesmith.forge.runner import run_forge
from tilesmith.forge.settings import ForgeSettings
from tilesmith.records import AuthorRequest, CallEvent, Evaluation, Prompt, Reply
from tilesmith.runs import RunFolder
from tilesmith.runs.journal import read_events

SETTINGS = ForgeSettings(seeds=2, rounds=1, stages="none", repairs=1)
REPLIES = {
    "seed": [kernel("not judged here", "a"), kernel("passed 0.6", "b")],
    "analyze": [analysis()],
    "optimize": [kernel("passed 1.4", "c")],
}


def resumed(folder: Path, evaluator: MarkedEvaluator | None = None) -> MarkedEvaluator:
    evaluator = evaluator or MarkedEvaluator()
    with contextlib.closing(RunFolder(folder)) as run:
        run_forge(run, ListAuthor({}), evaluator, SETTINGS, RecordingObserver())
    return evaluator


def rewrite(folder: Path, change: Callable[[dict], None]) -> None:
    journal = folder / "events.jsonl"
    events = [json.loads(line) for line in journal.read_text().splitlines()]
    for event in events:
        change(event)
    journal.write_text("".join(json.dumps(event) + "\n" for event in events))


def test_a_kernel_that_could_not_be_judged_is_not_tried_again(tmp_path: Path) -> None:
    told = forged(tmp_path, REPLIES, SETTINGS)

    class CanNow(MarkedEvaluator):
        def _evaluation(self, marks: str) -> Evaluation:
            return super()._evaluation("compile_error" if marks == "not judged here" else marks)

    assert resumed(told.run.path, CanNow()).judged == []


def test_a_verdict_belongs_to_its_source(tmp_path: Path) -> None:
    folder = forged(tmp_path, REPLIES, SETTINGS).run.path

    def change(event: dict) -> None:
        if event["event"] == "call" and event["number"] == 2:
            event["reply"]["text"] = kernel("passed 0.6", "never judged")

    rewrite(folder, change)
    with pytest.raises(RunError, match="does not fit at kernel 2"):
        resumed(folder)


def test_a_reply_belongs_to_its_phase(tmp_path: Path) -> None:
    folder = forged(tmp_path, REPLIES, SETTINGS).run.path

    def change(event: dict) -> None:
        if event["event"] == "call" and event["number"] == 3:
            event["phase"] = "repair"

    rewrite(folder, change)
    with pytest.raises(RunError, match="does not fit at request 3"):
        resumed(folder)


def test_replies_under_way_are_kept_when_the_machine_fails(tmp_path: Path) -> None:
    """Seed 2 is still being written when judging seed 1 breaks down: it is paid for, so it must be on disk."""
    failing = threading.Event()

    class SlowSecond(ListAuthor):
        def answer(self, request: AuthorRequest, prompt: Prompt, heard: Callable[[int], None]) -> Reply:
            if request.seed == 2:
                failing.wait(10)
            return super().answer(request, prompt, heard)

    class Broken(MarkedEvaluator):
        def evaluate(self, kernel: Path, progress: Callable[[str], None]) -> Evaluation:
            failing.set()
            raise MachineError("the GPU fell off the bus")

    author = SlowSecond({"seed": [kernel("passed 1.0", "a"), kernel("passed 2.0", "b")]})
    with new_run(tmp_path, SETTINGS) as run, pytest.raises(MachineError):
        run_forge(run, author, Broken(), SETTINGS, RecordingObserver())
    calls = [event.number for event in read_events(run.path / "events.jsonl") if isinstance(event, CallEvent)]
    assert sorted(calls) == [1, 2]


def test_best_is_not_turned_back(tmp_path: Path) -> None:
    """A resume that breaks down at once leaves best.py as good as it was."""
    replies = {"seed": [kernel("passed 0.5", "a"), kernel("passed 2.0", "b")], "analyze": [MachineError("no")]}
    with new_run(tmp_path, SETTINGS) as run, pytest.raises(MachineError):
        run_forge(run, ListAuthor(replies), MarkedEvaluator(), SETTINGS, RecordingObserver())
    before = (run.path / "best.py").read_text()
    assert "# b" in before

    seen: set[str] = set()

    class Watching(RecordingObserver):
        def event_recorded(self, event: object) -> None:
            seen.add((run.path / "best.py").read_text())

    with contextlib.closing(RunFolder(run.path)) as again, pytest.raises(MachineError):
        run_forge(again, ListAuthor(replies), MarkedEvaluator(), SETTINGS, Watching())
    assert seen == {before}
