from __future__ import annotations

import contextlib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from sample_run import EVENTS, attempted, evaluation, make_run, manifest

from tilesmith.errors import RunError, UsageError
from tilesmith.records import AttemptEvent, ConfirmationEvent, Event, FinishedEvent, Phase, Verdict
from tilesmith.runs import Status
from tilesmith.runs.listing import ListedRun, find_run, list_runs, read_run
from tilesmith.runs.manifest import read_manifest, write_manifest
from tilesmith.runs.run_filter import RunFilter
from tilesmith.runs.summary import summarize


def made(parent: Path, events: tuple[Event, ...] = EVENTS, status: Status | None = None, **head: str) -> Path:
    run = make_run(parent, events, manifest(**head))
    has_ended = any(isinstance(one, FinishedEvent) for one in events)
    run.set_status(status or (Status.FINISHED if has_ended else Status.STOPPED))
    run.close()
    return run.path


def names(runs: list[ListedRun]) -> list[str]:
    return [run.folder.name for run in runs]


def test_no_folder_no_runs(tmp_path: Path) -> None:
    assert list_runs(tmp_path / "nothing") == []
    assert list_runs(tmp_path) == []


def test_newest_first_and_ten_after_nine(tmp_path: Path) -> None:
    for _ in range(10):
        made(tmp_path, ())
    made(tmp_path, (), created="2026-04-01T10:00:00+00:00")
    found = names(list_runs(tmp_path))
    assert found == [f"2026-05-01-39_GRU-{number}" for number in range(10, 0, -1)] + ["2026-04-01-39_GRU-1"]


def test_a_finished_run(tmp_path: Path) -> None:
    (run,) = [read_run(made(tmp_path))]
    assert (run.status, run.verdicts, run.score, run.faster, run.problem) == ("finished", 5, 1.36, True, "")
    assert run.manifest == read_manifest(run.folder)


@pytest.mark.parametrize("count", range(len(EVENTS) + 1))
def test_a_listing_agrees_with_the_summary(tmp_path: Path, count: int) -> None:
    events = EVENTS[:count]
    run, summary = read_run(made(tmp_path, events)), summarize(events)
    assert (run.verdicts, run.score) == (len(summary.attempts), summary.score)
    assert run.judged == {one.evaluation.verdict for one in summary.attempts}


def test_a_kernel_that_failed_its_confirmation_does_not_count(tmp_path: Path) -> None:
    failed = ConfirmationEvent(4, evaluation(Verdict.INACCURATE), None, 7.0)
    assert read_run(made(tmp_path, (*EVENTS[:-2], failed))).score == 0.1157


def test_a_source_tried_twice_is_one_verdict(tmp_path: Path) -> None:
    again = attempted(6, Phase.STAGE, 4, evaluation(), False, "the same source", same_as=4)
    assert read_run(made(tmp_path, (*EVENTS[:20], again))).verdicts == 5


def test_texts_that_look_like_fields_do_not_mislead(tmp_path: Path) -> None:
    sly = attempted(1, Phase.SEED, None, evaluation(Verdict.CRASHED), False, '"kept": true, "event": "finished"}')
    assert isinstance(sly, AttemptEvent)
    source = '"evaluation": {"verdict": "passed"'
    sly = AttemptEvent(replace(sly.attempt, candidate=replace(sly.attempt.candidate, source=source)))
    run = read_run(made(tmp_path, (sly,)))
    assert (run.verdicts, run.score, run.judged) == (1, None, {"crashed"})


def test_a_torn_last_line_is_not_there(tmp_path: Path) -> None:
    path = made(tmp_path, EVENTS[:-1])
    with (path / "events.jsonl").open("a") as file:
        file.write('{"best": 4, "score": 9.9, "event": "finished"}')
    assert read_run(path).score == 1.37


def test_a_run_nobody_holds_was_interrupted(tmp_path: Path) -> None:
    with contextlib.closing(make_run(tmp_path)) as run:
        assert read_run(run.path).status == "running"
    assert read_run(run.path).status == "interrupted"
    made(tmp_path, status=Status.STOPPED)
    assert [run.status for run in list_runs(tmp_path)] == ["stopped", "interrupted"]


def test_a_run_that_ends_while_it_is_read_was_not_interrupted(tmp_path: Path) -> None:
    path = made(tmp_path)
    ended = read_manifest(path)
    write_manifest(path, replace(ended, status=Status.RUNNING))
    journal, kept = path / "events.jsonl", (path / "events.jsonl").rename(tmp_path / "kept.jsonl")
    os.mkfifo(journal)
    with ThreadPoolExecutor() as pool:
        reading = pool.submit(read_run, path)
        with journal.open("wb") as pipe:  # opens once the reader is past run.json
            pipe.write(kept.read_bytes())
            write_manifest(path, ended)
            kept.replace(journal)
    assert reading.result().status == "finished"


def _cut(path: Path) -> None:
    text = (path / "run.json").read_text()
    (path / "run.json").write_text(text[: len(text) // 2])


def _unlink(path: Path) -> None:
    (path / "run.json").unlink()


def _rewrite(**fields: object) -> object:
    def change(path: Path) -> None:
        data = json.loads((path / "run.json").read_text())
        (path / "run.json").write_text(json.dumps(data | fields))

    return change


def _spoil(path: Path) -> None:
    (path / "events.jsonl").write_bytes(b'\xff{"event": "finished"}\n')


def _replace_by_folder(path: Path) -> None:
    (path / "events.jsonl").unlink()
    (path / "events.jsonl").mkdir()


@pytest.mark.parametrize(
    "damage",
    [
        _cut,
        _unlink,
        _spoil,
        _replace_by_folder,
        _rewrite(format_version=99),
        _rewrite(format_version="one"),
        _rewrite(format_version=float("inf")),
        _rewrite(created=5),
        _rewrite(configuration=5),
        _rewrite(status="lost"),
        lambda path: (path / "run.json").write_text("[]"),
    ],
    ids=[
        "cut",
        "no head",
        "bytes",
        "folder",
        "newer",
        "version",
        "endless",
        "date",
        "configuration",
        "status",
        "list",
    ],
)
def test_a_damaged_run_hides_no_other(tmp_path: Path, damage: object) -> None:
    broken = made(tmp_path)
    made(tmp_path)
    damage(broken)  # type: ignore[operator]
    whole, damaged = list_runs(tmp_path)
    assert (whole.status, damaged.status, damaged.folder) == ("finished", "damaged", broken)
    assert damaged.problem
    assert "\n" not in damaged.problem
    assert find_run(tmp_path, "last") == whole.folder


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_run_of_somebody_else_hides_no_other(tmp_path: Path) -> None:
    broken = made(tmp_path)
    made(tmp_path)
    broken.chmod(0)
    try:
        assert [run.status for run in list_runs(tmp_path)] == ["finished", "damaged"]
    finally:
        broken.chmod(0o700)


def test_files_and_other_folders_are_no_runs(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("")
    (tmp_path / "figures").mkdir()
    assert list_runs(tmp_path) == []


@pytest.fixture
def several(tmp_path: Path) -> Path:
    made(tmp_path, task="39_GRU", created="2026-05-01T10:00:00+00:00")
    made(tmp_path, task="41_GRUBidirectional", created="2026-05-02T10:00:00+00:00", author="claude at https://x")
    slow = (*EVENTS[:-1], FinishedEvent(4, False, 0.9, "not faster"))
    made(tmp_path, slow, task="VGG16", created="2026-05-03T10:00:00+00:00", author="playbook")
    made(tmp_path, EVENTS[:9], Status.STOPPED, task="softmax", created="2026-05-04T10:00:00+00:00")
    damaged = made(tmp_path, task="relu", created="2026-05-05T10:00:00+00:00")
    (damaged / "run.json").write_text("{")
    return tmp_path


@pytest.mark.parametrize(
    ("wanted", "tasks"),
    [
        (RunFilter(), ["relu", "softmax", "VGG16", "41_GRUBidirectional", "39_GRU"]),
        (RunFilter(task="gru"), ["41_GRUBidirectional", "39_GRU"]),
        (RunFilter(task="3?_gru*"), ["39_GRU"]),
        (RunFilter(task="?GRU"), []),
        (RunFilter(task="relu"), ["relu"]),
        (RunFilter(status="stopped"), ["softmax"]),
        (RunFilter(status="damaged"), ["relu"]),
        (RunFilter(author="CLAUDE"), ["41_GRUBidirectional"]),
        (RunFilter(since="2026-05-03"), ["relu", "softmax", "VGG16"]),
        (RunFilter(faster=True), ["41_GRUBidirectional", "39_GRU"]),
        (RunFilter(faster=True, since="2026-05-02", status="finished"), ["41_GRUBidirectional"]),
        (RunFilter(verdict="wrong_values"), ["VGG16", "41_GRUBidirectional", "39_GRU"]),
        (RunFilter(verdict="compile_error", status="stopped"), ["softmax"]),
        (RunFilter(verdict="cheating"), []),
        (RunFilter(min_speedup=1.36), ["41_GRUBidirectional", "39_GRU"]),
        (RunFilter(min_speedup=0.1), ["softmax", "VGG16", "41_GRUBidirectional", "39_GRU"]),
        (RunFilter(words="HTTPS gru"), ["41_GRUBidirectional"]),
        (RunFilter(words="stopped wrong_values"), []),
        (RunFilter(words="run.json damaged"), ["relu"]),
    ],
    ids=str,
)
def test_filters(several: Path, wanted: RunFilter, tasks: list[str]) -> None:
    assert [name.split("-")[3] for name in names(list_runs(several, wanted))] == tasks


@pytest.mark.parametrize(("model", "found"), [("gpt-5", 2), ("gpt-[5]", 1), ("GPT-5-*", 1), ("playbook", 0)])
def test_runs_are_found_by_their_model(tmp_path: Path, model: str, found: int) -> None:
    for author in ({"endpoint": {"model": "gpt-5"}}, {"endpoint": {"model": "gpt-5-mini"}}, {"endpoint": None}, 5):
        head = manifest(author="playbook")
        make_run(tmp_path, (), replace(head, configuration={**head.configuration, "author": author})).close()
    assert len(list_runs(tmp_path, RunFilter(model=model))) == found


@pytest.mark.parametrize("since", ["yesterday", "2026-5-1", "2026-02-30", "20260501"])
def test_a_day_must_be_one(since: str) -> None:
    with pytest.raises(UsageError, match="YYYY-MM-DD"):
        RunFilter(since=since)


def test_an_unknown_status_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="running, stopped, finished, interrupted, damaged"):
        RunFilter(status="done")


def test_an_unknown_verdict_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="unknown verdict 'fine': use passed, syntax_error"):
        RunFilter(verdict="fine")


@pytest.mark.parametrize("name", ["last", "2026-05-03-VGG16-1", "2026-05-03", "2026-05-03-V"])
def test_finding_a_run_by_name(several: Path, name: str) -> None:
    write_manifest(several / "2026-05-03-VGG16-1", manifest("VGG16", "2026-12-31T00:00:00+00:00"))
    assert find_run(several, name) == several / "2026-05-03-VGG16-1"


def test_finding_a_run_by_path(several: Path, tmp_path: Path) -> None:
    path = several / "2026-05-03-VGG16-1"
    assert find_run(tmp_path / "elsewhere", str(path)) == path
    assert find_run(tmp_path / "elsewhere", f"{path}/") == path


def test_a_whole_name_is_not_a_prefix(tmp_path: Path) -> None:
    for _ in range(10):
        made(tmp_path, ())
    (tmp_path / "2026-05-01-39_GRU-1" / "run.json").unlink()
    assert find_run(tmp_path, "2026-05-01-39_GRU-1").name == "2026-05-01-39_GRU-1"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("2026-05-0", "could be 2026-05-01-39_GRU-1 or .* or one of 1 more; write more of the name"),
        ("VGG16", "did you mean 2026-05-03-VGG16-1?"),
        ("2026-05-03-VGG17-1", "did you mean 2026-05-03-VGG16-1"),
        ("", "no run ''"),
        ("..", "not a run"),
        ("qqq", "no run 'qqq' in .*: `tilesmith runs` lists them"),
    ],
)
def test_no_such_run_is_one_line_with_near_names(several: Path, name: str, message: str) -> None:
    with pytest.raises(RunError, match=message) as raised:
        find_run(several, name)
    assert "\n" not in str(raised.value)


def test_last_of_none(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no runs in"):
        find_run(tmp_path, "last")
    (made(tmp_path) / "run.json").write_text("{")
    with pytest.raises(RunError, match=r"every run in .* is damaged"):
        find_run(tmp_path, "last")
