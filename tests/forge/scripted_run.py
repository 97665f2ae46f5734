"""Runs a script of tests/scripted_runs: the real command line against the scripted server, over real HTTP."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from script import Fault, Script
from scripted_server import Entry, ScriptedServer
from warm_commands import run_warm

from tilesmith.records import Attempt, AttemptEvent, CallEvent, DecisionEvent, Event
from tilesmith.runs.journal import read_events

SCRIPTED_RUNS = Path(__file__).parents[1] / "scripted_runs"
CANARY = "sk-canary-4f1b77c0d3"


@dataclass(frozen=True)
class ScriptedRun:
    """A script that was run: what the command did and what is left of it."""

    code: int
    stdout: str
    stderr: str
    runs: Path
    served: tuple[Entry, ...]

    @property
    def folder(self) -> Path:
        (folder,) = self.runs.iterdir()
        return folder

    @property
    def document(self) -> dict[str, Any]:
        return json.loads(self.stdout)

    @property
    def events(self) -> list[Event]:
        return read_events(self.folder / "events.jsonl")

    @property
    def attempts(self) -> list[Attempt]:
        return [event.attempt for event in self.events if isinstance(event, AttemptEvent)]

    @property
    def decisions(self) -> dict[str, str]:
        return {event.about: event.why for event in self.events if isinstance(event, DecisionEvent)}

    @property
    def replies(self) -> list[str | None]:
        """Names of the replies that were served, in order."""
        return [entry.reply for entry in self.served]

    def attempt_of(self, reply: str) -> Attempt:
        """The attempt that came from the script's file `reply`.md."""
        numbers = {entry.sha256: entry.reply for entry in self.served}
        calls = [event for event in self.events if isinstance(event, CallEvent)]
        named = {called.number: numbers.get(called.prompt_sha256) for called in calls}
        return next(one for one in self.attempts if named[one.candidate.call] == reply)


def forge_command(script: str, base_url: str, runs: Path, *options: str) -> list[str]:
    told = json.loads((SCRIPTED_RUNS / script / "script.json").read_text())["options"]
    task = str(SCRIPTED_RUNS / script / "task.py")
    llm = ["--base-url", base_url, "--model", "scripted", "--price", "1,2"]
    judge = ["--device", "cpu", "--timeout", "60"]
    return ["forge", task, "--runs", str(runs), "--json", *llm, *judge, *told, *options]


def environment() -> dict[str, str]:
    mine = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    return mine | {"TILESMITH_API_KEY": CANARY}


def run_script(script: str, folder: Path, options: Sequence[str] = (), faults: Sequence[Fault] = ()) -> ScriptedRun:
    """Run the script to its end. `faults` are thrown in by the server."""
    cut = json.loads((SCRIPTED_RUNS / script / "script.json").read_text()).get("truncated", ())
    cuts = [Fault("truncated", phase=name.rsplit("-", 1)[0], occurrence=int(name[-1])) for name in cut]
    runs = folder / "runs"
    with ScriptedServer(Script(SCRIPTED_RUNS / script, key=CANARY, faults=(*faults, *cuts))) as server:
        command = forge_command(script, server.base_url, runs, *options)
        done = run_warm(*command, cwd=folder, env=environment())
        return ScriptedRun(done.returncode, done.stdout, done.stderr, runs, tuple(server.log))
