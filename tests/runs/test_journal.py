"""The journal survives whatever a kill leaves behind, and nobody writes over anybody."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilesmith.errors import RunError
from tilesmith.records import CallEvent, DecisionEvent, Phase, Reply, Usage
from tilesmith.runs import Manifest, RunFolder, create_run
from tilesmith.runs.atomic_files import replacing, write_atomically
from tilesmith.runs.folder import is_locked
from tilesmith.runs.journal import Journal, read_events, salvage_events
from tilesmith.runs.manifest import read_manifest

MANIFEST = Manifest("relu", "/relu.py", "0" * 64, "playbook", "2026-01-02T03:04:05+00:00", {})


def test_half_a_character_is_kept(tmp_path: Path) -> None:
    """As a file's name or an escape in a reply may have it: it must not end the run."""
    journal = Journal(tmp_path / "events.jsonl")
    journal.append(DecisionEvent("stop", "\ud800 bad\udcff.py"))
    assert read_events(tmp_path / "events.jsonl") == list(journal)


def test_an_event_is_written_once(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "events.jsonl")
    assert journal.append(DecisionEvent("stop", "enough")) is True
    assert journal.append(DecisionEvent("stop", "something else")) is False
    assert read_events(tmp_path / "events.jsonl") == [DecisionEvent("stop", "enough")]


@settings(deadline=None)
@given(text=st.text(alphabet=st.characters(exclude_categories=["Cs"])), cut=st.integers(1, 200))
def test_a_torn_last_line_is_dropped(tmp_path_factory: pytest.TempPathFactory, text: str, cut: int) -> None:
    path = tmp_path_factory.mktemp("torn") / "events.jsonl"
    journal = Journal(path)
    journal.append(DecisionEvent("one", text))
    whole = path.read_bytes()
    journal.append(CallEvent(1, Phase.SEED, "0", Reply(text, "model", usage=Usage(1, 2, dollars=None))))
    journal.close()
    torn = path.read_bytes()
    path.write_bytes(torn[: max(len(whole), len(torn) - cut)])
    again = Journal(path)
    assert list(again) == [DecisionEvent("one", text)]
    again.append(DecisionEvent("two", "after"))
    assert read_events(path) == [DecisionEvent("one", text), DecisionEvent("two", "after")]


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text('{"event": "decision", "about": "a", "why": "b"}\nnot JSON\n')
    with pytest.raises(RunError, match=r"events.jsonl:2: not an event"):
        Journal(path)


_CALL = {"event": "call", "number": 1, "phase": "seed", "prompt_sha256": "0"}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ({"event": "decision", "about": {}, "why": "b"}, "about: expected str"),
        (
            {**_CALL, "reply": {"text": "", "author": "m", "usage": {"input_tokens": "1"}}},
            "reply: usage: input_tokens",
        ),
        (
            {**_CALL, "reply": {"text": "", "author": "m", "seconds": float("nan")}},
            "reply: seconds: expected a number",
        ),
        ({"event": "survey", "survey": 5}, "survey: expected the fields of Survey"),
    ],
)
def test_a_field_of_another_type_is_damage(tmp_path: Path, line: object, told: str) -> None:
    """Such a line must not reach whoever adds up tokens or cuts texts."""
    path = tmp_path / "events.jsonl"
    path.write_text(json.dumps(line) + "\n")
    events, (problem,) = salvage_events(path)
    assert events == []
    assert told in problem


def test_a_newer_field_is_no_problem(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text('{"event": "decision", "about": "a", "why": "b", "mood": "good"}\n')
    assert list(Journal(path)) == [DecisionEvent("a", "b")]


def test_two_who_write_one_file_are_not_in_each_others_way(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    with replacing(path) as mine, ThreadPoolExecutor() as pool:
        mine.write_text("half of it")
        pool.submit(write_atomically, path, "another's").result()
        assert path.read_text() == "another's"
        mine.write_text("all of it")
    assert path.read_text() == "all of it"
    assert list(tmp_path.iterdir()) == [path]


def test_two_runs_of_one_day_get_two_folders(tmp_path: Path) -> None:
    runs = [create_run(tmp_path, MANIFEST, "x = 1\n") for _ in range(3)]
    assert [run.path.name for run in runs] == [f"2026-01-02-relu-{number}" for number in (1, 2, 3)]


HOLD = """
import sys
from pathlib import Path
from tilesmith.runs import RunFolder
run = RunFolder(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_one_process_writes_at_a_time(tmp_path: Path) -> None:
    with contextlib.closing(create_run(tmp_path, MANIFEST, "x = 1\n")) as run:
        path = run.path
    assert not is_locked(path)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", HOLD, str(path)], **pipes) as other:
        assert other.stdout.readline() == b"held\n"
        assert is_locked(path)
        with pytest.raises(RunError, match="another tilesmith"):
            RunFolder(path)
        other.communicate(b"")
    assert not is_locked(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "not a run"),
        ("{", "cannot be read"),
        ('{"format_version": 99}', "newer tilesmith"),
        ('{"format_version": 1, "task": "relu"}', "is damaged"),
        ("[]", "cannot be read"),
    ],
)
def test_what_is_no_run_is_said_in_one_line(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    with pytest.raises(RunError, match=message) as raised:
        read_manifest(tmp_path)
    assert "\n" not in str(raised.value)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"cannot make the run's folder: .*; name another folder for runs"):
        create_run(tmp_path / "file", MANIFEST, "x = 1\n")
