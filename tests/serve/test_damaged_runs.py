"""A run whose files were damaged: every command and page says the same of it, and nothing false."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sample_run import EVENTS
from starlette.testclient import TestClient
from timed_run import finished_run
from typer.testing import CliRunner

from tilesmith.cli.main import app
from tilesmith.errors import RunError
from tilesmith.runs import RunFolder, Status
from tilesmith.runs.bundling.bundles import make_bundle
from tilesmith.runs.listing import read_run
from tilesmith.serve.app import guarded_app

Damage = Callable[[Path], object]


def keep_lines(count: int) -> Damage:
    def cut(journal: Path) -> None:
        journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:count]))

    return cut


def replace_line(number: int, text: bytes) -> Damage:
    def spoil(journal: Path) -> None:
        lines = journal.read_bytes().splitlines()
        lines[number] = text
        journal.write_bytes(b"\n".join(lines) + b"\n")

    return spoil


def spoil_a_byte(journal: Path) -> None:
    """In the middle of an attempt, whose line looks whole."""
    data = journal.read_bytes()
    place = data.index(b'"complexity"', data.index(b'"attempt"'))
    journal.write_bytes(data[:place] + b"\x00" + data[place + 1 :])


DAMAGES: dict[str, Damage] = {
    "empty": lambda journal: journal.write_bytes(b""),
    "half": keep_lines(8),
    "torn end": lambda journal: journal.write_bytes(journal.read_bytes()[:-20]),
    "garbage": lambda journal: journal.write_bytes(b"\x00\xff garbage\n" * 3),
    "a line": replace_line(4, b"{}"),
    "a byte": spoil_a_byte,
    "missing": lambda journal: journal.unlink(),
    "too deep": replace_line(4, b'{"event": "call", "x": ' + b"[" * 100_000),
    "a folder": lambda journal: (journal.unlink(), journal.mkdir()),
}


@pytest.fixture(params=DAMAGES)
def damaged(request: pytest.FixtureRequest, runs: Path) -> Path:
    folder = finished_run(runs, EVENTS)
    (folder / "best.py").write_text("# the kernel\n")
    DAMAGES[request.param](folder / "events.jsonl")
    return folder


def answer(runs: Path, *words: str) -> Any:
    done = CliRunner().invoke(app, [*words, "--runs", str(runs), "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_every_command_and_page_says_the_same(damaged: Path, runs: Path) -> None:
    (listed,) = answer(runs, "runs")
    (exported,) = answer(runs, "runs", "export")
    shown = answer(runs, "runs", "show", damaged.name)
    reported = answer(runs, "report", damaged.name)
    assert {listed["status"], exported["status"], shown["status"]} == {"damaged"}
    problem = listed["why"]
    assert "events.jsonl" in problem
    assert (shown["why"], reported["problems"][0]) == (problem, problem)
    assert exported["why"].startswith(problem)
    for one in (listed, exported):
        assert (one["task"], one["best"], one["score"], one["faster"]) == ("39_GRU", None, None, None)
    assert (exported["attempts"], exported["passed"], exported["calls"]) == (None, None, None)
    assert "no kernel has passed" not in reported["told"]

    site = TestClient(guarded_app(runs, 8000, "token", lambda: True), base_url="http://localhost:8000")
    site.get("/", params={"token": "token"})
    rows, page = site.get("/").text, site.get(f"/runs/{damaged.name}/").text
    assert ">damaged<" in rows
    assert "(damaged)" in page
    assert "no kernel has passed" not in page
    assert damaged.name in (damaged / "report.html").read_text()


def test_a_value_that_no_record_takes_is_damage_where_every_record_is_read(runs: Path) -> None:
    folder = finished_run(runs, EVENTS)
    journal = folder / "events.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"phase": "repair"', b'"phase": "unheard of"'))
    (exported,) = answer(runs, "runs", "export")
    shown = answer(runs, "runs", "show", folder.name)
    assert (exported["status"], shown["status"], shown["best"]) == ("damaged", "damaged", None)
    assert "unheard of" in exported["why"]
    assert shown["why"] == shown["problems"][0] == exported["why"]


def test_a_run_without_its_head_is_shown_as_far_as_it_can_be_read(runs: Path) -> None:
    folder = finished_run(runs, EVENTS)
    (folder / "run.json").unlink()
    assert answer(runs, "runs", "show", folder.name)["finished"]["best"] == 4
    done = CliRunner().invoke(app, ["runs", "--runs", str(runs), "show", folder.name])
    assert "has no run.json" in done.output
    assert "1.36x" in done.output


def test_nothing_goes_on_or_is_handed_on_from_it(damaged: Path, runs: Path) -> None:
    for words in (("forge", "--resume", damaged.name), ("bundle", damaged.name), ("study", "story", damaged.name)):
        done = CliRunner().invoke(app, [*words, "--runs", str(runs)])
        assert isinstance(done.exception, RunError), words
        assert f"`tilesmith report {damaged}` shows what is left" in str(done.exception)
    assert (damaged / "best.py").read_text() == "# the kernel\n"


def test_a_run_that_was_stopped_early_is_not_damaged_until_a_file_says_so(runs: Path) -> None:
    folder = finished_run(runs, EVENTS)
    with_end = (folder / "events.jsonl").read_bytes().splitlines(keepends=True)
    run = RunFolder(folder)
    run.set_status(Status.STOPPED, "interrupted")
    run.close()
    replies = len(list((folder / "llm").glob("*.reply.md")))
    for count in (0, 1, 5, len(with_end)):
        (folder / "events.jsonl").write_bytes(b"".join(with_end[:count]))
        calls = sum(b'"event": "call"' in line for line in with_end[:count])
        assert (read_run(folder).status == "damaged") is (calls < replies), count
    shutil.rmtree(folder / "llm")
    (folder / "events.jsonl").write_bytes(b"")
    (folder / "run.json").touch()
    assert read_run(folder).status == "stopped"
    assert read_run(folder).problem == ""


def test_a_bundle_is_not_made_of_half_a_run(damaged: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"events\.jsonl"):
        make_bundle(damaged, tmp_path / "half.tilesmith.zip")
    assert not (tmp_path / "half.tilesmith.zip").exists()
