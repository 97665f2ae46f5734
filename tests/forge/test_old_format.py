"""A run of an earlier version, whose phases are spelled `analyse` and `optimise`, is still as good as new."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from marked_kernels import ListAuthor, MarkedEvaluator, RecordingObserver

from tilesmith.authors.replay import ReplayAuthor
from tilesmith.forge.run_specification import begin_run, read_specification
from tilesmith.forge.runner import run_forge
from tilesmith.records import AttemptEvent, CallEvent, ConfirmationEvent, Evaluation, Phase, Survey, SurveyEvent
from tilesmith.runs import RunFolder
from tilesmith.runs.journal import read_events
from tilesmith.runs.listing import list_runs

RECORDED = Path(__file__).parent / "run_of_format_1"
PHASES = [Phase.SEED, Phase.ANALYZE, Phase.OPTIMIZE]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy whose task is where its manifest says."""
    copy = tmp_path / "runs" / "2026-11-16-task-1"
    shutil.copytree(RECORDED, copy)
    manifest = json.loads((copy / "run.json").read_text())
    (copy / "run.json").write_text(json.dumps(manifest | {"task_path": str(copy / "task.py")}))
    return copy


def show(folder: Path, *options: str) -> str:
    command = [sys.executable, "-m", "tilesmith", "runs", "--runs", str(folder.parent), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_is_read(folder: Path) -> None:
    events = read_events(folder / "events.jsonl")
    assert [event.phase for event in events if isinstance(event, CallEvent)] == PHASES
    assert [one.attempt.candidate.phase for one in events if isinstance(one, AttemptEvent)] == PHASES[::2]


def test_it_is_listed(folder: Path) -> None:
    (run,) = list_runs(folder.parent)
    assert (run.status, run.verdicts, run.best) == ("finished", 2, 2)


def test_it_is_shown(folder: Path) -> None:
    assert "kernel 2  optimize  passed" in show(folder, "show", "last")
    document = json.loads(show(folder, "--json", "show", "last"))
    assert [step["event"] for step in document["steps"]] == ["attempt", "analysis", "attempt", "confirmed"]
    assert list(document["spent_by_phase"]) == ["seed", "analyse", "optimise"], "scripts know these keys"
    assert document["survey"]["graph"]["nodes"][0]["op"] == "aten.mul.Tensor"


def test_it_is_resumed(folder: Path) -> None:
    """Nobody is asked and nothing is judged for what is on record; only its end is written anew."""
    journal = folder / "events.jsonl"
    *before, _ = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(before))
    settings, evaluator = read_specification(folder).settings, MarkedEvaluator()
    with contextlib.closing(RunFolder(folder)) as run:
        finished = run_forge(run, ListAuthor({}), evaluator, settings, RecordingObserver())
    assert (finished.best, evaluator.judged) == (2, [])
    assert (folder / "best.py").read_text().endswith((folder / "kernels" / "0002.py").read_text())
    assert json.loads((folder / "run.json").read_text())["format_version"] == 2


class RecordedEvaluator:
    """Gives the verdicts that the run has on record."""

    def __init__(self, folder: Path) -> None:
        self._events = read_events(folder / "events.jsonl")

    def survey(self) -> Survey:
        return next(event.survey for event in self._events if isinstance(event, SurveyEvent))

    def evaluate(self, kernel: Path, progress: Callable[[str], None]) -> Evaluation:
        attempts = [event.attempt for event in self._events if isinstance(event, AttemptEvent)]
        return next(one.evaluation for one in attempts if f"{one.candidate.number:04}.py" == kernel.name)

    def confirm(self, kernel: Path, progress: Callable[[str], None]) -> Evaluation:
        return next(event.evaluation for event in self._events if isinstance(event, ConfirmationEvent))


def test_it_is_replayed(folder: Path) -> None:
    specification = read_specification(folder)
    author = ReplayAuthor(folder, lambda usage: 0.0, lambda line: None)
    with contextlib.closing(begin_run(specification, folder.parent)) as run:
        finished = run_forge(run, author, RecordedEvaluator(folder), specification.settings, RecordingObserver())
        phases = [event.phase for event in run.journal if isinstance(event, CallEvent)]
    assert (finished.best, phases) == (2, PHASES)
