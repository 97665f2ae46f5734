"""The scripted server itself: which reply a prompt gets, and the log."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from calling import Caller
from script import COMPLAINT, Fault, ReplyChooser, Script
from scripted_server import ScriptedServer

from tilesmith.errors import AuthorError
from tilesmith.records import Prompt

FILES = ("seed-1", "seed-2", "seed-1-again", "analyze-1", "analyze-2", "stage-grid-1", "stage-block-1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in FILES:
        (tmp_path / f"{name}.md").write_text(f"this is {name}")
    return tmp_path


@pytest.mark.parametrize(
    ("prompts", "replies"),
    [
        (["seed 2 of 2", "seed 1 of 2"], ["seed-2", "seed-1"]),
        (["analyze\na", "analyze\nb", "analyze\na"], ["analyze-1", "analyze-2", "analyze-1"]),
        (["stage block", "stage grid"], ["stage-block-1", "stage-grid-1"]),
        (["seed 1 of 2", f"seed 1 of 2\n{COMPLAINT}"], ["seed-1", "seed-1-again"]),
    ],
    ids=["seeds by number", "others by order", "stages", "again"],
)
def test_replies_come_in_their_order(folder: Path, prompts: list[str], replies: list[str]) -> None:
    chooser = ReplyChooser(Script(folder))
    chosen = [chooser.choose("", f"# Request: {prompt}") for prompt in prompts]
    assert [one.text for one in chosen] == [f"this is {name}" for name in replies]


def test_what_a_fault_took_away_is_given_when_asked_again(folder: Path) -> None:
    script = Script(folder, faults=(Fault("empty", phase="analyze", occurrence=2),))
    with ScriptedServer(script) as server:
        caller = Caller(server)
        asked = ("analyze\na", "analyze\nb", f"analyze\nb\n{COMPLAINT}")
        said = [caller.call(Prompt("s", f"# Request: {one}")).text for one in asked]
    assert said == ["this is analyze-1", "", "this is analyze-2"]


def test_a_script_that_ends_too_early_says_what_is_missing(folder: Path) -> None:
    with ScriptedServer(Script(folder)) as server:
        with pytest.raises(AuthorError, match=r"HTTP 400: the script has no seed-3\.md for this prompt"):
            Caller(server).call(Prompt("s", "# Request: seed 3 of 3"))
        with pytest.raises(AuthorError, match=r"no seed-2-again\.md"):
            Caller(server).call(Prompt("s", f"# Request: seed 2 of 3\n{COMPLAINT}"))


def test_an_unknown_fault_is_told() -> None:
    with pytest.raises(ValueError, match="unknown fault"):
        Fault("flood")


def test_it_serves_by_hand_and_keeps_its_log(folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    fault = '{"kind": "status", "status": 503, "call": 1}'
    program = [sys.executable, str(Path(__file__).with_name("scripted_server.py"))]
    options = ["--script", str(folder), "--log", str(log), "--fault", fault]
    with subprocess.Popen([*program, *options], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            body = {"model": "m", "messages": [{"role": "user", "content": "# Request: seed 1 of 1"}]}
            request = urllib.request.Request(f"{url}/chat/completions", json.dumps(body).encode())
            with pytest.raises(urllib.error.HTTPError, match="503"):
                urllib.request.urlopen(request)
            answer = json.load(urllib.request.urlopen(request))
            while log.read_text().count("\n") < 2:  # it notes a request after it has answered
                time.sleep(0.01)
        finally:
            process.terminate()
    assert answer["choices"][0]["message"]["content"] == "this is seed-1"
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    assert {(one["phase"], one["status"], one["fault"]) for one in entries} == {
        ("seed", 503, "status"),
        ("seed", 200, None),
    }
