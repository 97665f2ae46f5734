"""A recorded run told again: no network, the same folder bit for bit."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from folders import snapshot
from marked_kernels import MarkedEvaluator, RecordingObserver, analysis, forged, kernel, new_run

from tilesmith.authors.replay import ReplayAuthor
from tilesmith.errors import AuthorError, RunError
from tilesmith.forge.runner import run_forge
from tilesmith.forge.settings import ForgeSettings
from tilesmith.runs import RunFolder

SETTINGS = ForgeSettings(seeds=2, rounds=1, repairs=1)
REPLIES = {
    "seed": [kernel("passed 0.4", "a"), kernel("passed 0.6", "b")],
    "analyze": [analysis("high")],
    "optimize": [kernel("wrong_values", "c"), kernel("passed 1.4", "d")],
    "repair": [kernel("wrong_values", "e")],
    "stage grid": [kernel("passed 1.6", "f")],
    "stage block": ["no kernel", "nor here"],
    "stage memory": [kernel("passed 1.2", "g")],
}


def replaying(recorded: Path, told: list[str] | None = None) -> ReplayAuthor:
    return ReplayAuthor(recorded, lambda usage: 0.0, (told if told is not None else []).append)


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    return forged(tmp_path, REPLIES, SETTINGS).run.path


def as_replay(recorded: Path, folder: Path, evaluator: MarkedEvaluator) -> Path:
    folder.mkdir()
    with new_run(folder, SETTINGS) as run:
        run_forge(run, replaying(recorded), evaluator, SETTINGS, RecordingObserver())
    return run.path


def test_the_replayed_folder_is_the_recorded_one(recorded: Path, tmp_path: Path) -> None:
    assert snapshot(as_replay(recorded, tmp_path / "again", MarkedEvaluator())) == snapshot(recorded)
    for name in ("kernels", "llm"):
        for file in (recorded / name).iterdir():
            twin = next((tmp_path / "again").rglob(f"{name}/{file.name}"))
            assert twin.read_bytes() == file.read_bytes()


def test_a_replay_whose_verdicts_differ_says_so(recorded: Path, tmp_path: Path) -> None:
    class Strict(MarkedEvaluator):
        def _evaluation(self, marks: str):  # type: ignore[no-untyped-def]
            return super()._evaluation("wrong_values")

    with pytest.raises(AuthorError, match=r"has no answer to request 3 \(repair\)"):
        as_replay(recorded, tmp_path / "again", Strict())


def test_a_prompt_that_is_worded_otherwise_is_told(recorded: Path, tmp_path: Path) -> None:
    class Slower(MarkedEvaluator):
        def _evaluation(self, marks: str):  # type: ignore[no-untyped-def]
            return super()._evaluation(marks.replace("0.6", "0.5"))

    told: list[str] = []
    (tmp_path / "again").mkdir()
    with new_run(tmp_path / "again", SETTINGS) as run:
        run_forge(run, replaying(recorded, told), Slower(), SETTINGS, RecordingObserver())
    assert told[0] == f"request 3 is worded differently than in {recorded.name}"


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="not a run"):
        replaying(tmp_path)


def test_resuming_a_finished_run_asks_and_judges_nothing(recorded: Path) -> None:
    before = snapshot(recorded)
    evaluator = MarkedEvaluator()
    with contextlib.closing(RunFolder(recorded)) as run:
        finished = run_forge(run, replaying(recorded), evaluator, SETTINGS, RecordingObserver())
    assert evaluator.judged == []
    assert finished.score == 1.6
    assert snapshot(recorded) == before


def test_events_are_appended_never_rewritten(recorded: Path) -> None:
    journal = recorded / "events.jsonl"
    before = journal.read_bytes()
    with contextlib.closing(RunFolder(recorded)) as run:
        run_forge(run, replaying(recorded), MarkedEvaluator(), SETTINGS, RecordingObserver())
    assert journal.read_bytes() == before
    assert [json.loads(line)["event"] for line in before.splitlines()][-1] == "finished"
