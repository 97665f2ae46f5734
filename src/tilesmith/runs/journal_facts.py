"""What a journal says at a glance, and whether part of it is lost.

A journal holds whole evaluations, raw times and replies, of which no records are made here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tilesmith.errors import RunError
from tilesmith.records import EVENTS, FinishedEvent, from_json
from tilesmith.runs.journal import decode_event, whole_lines
from tilesmith.runs.manifest import Manifest, Status


@dataclass(frozen=True)
class JournalFacts:
    verdicts: int
    """Kernels that were judged, each source once."""
    best: int | None
    score: float | None
    faster: bool | None
    judged: frozenset[str]


def read_journal_facts(folder: Path, manifest: Manifest) -> JournalFacts:
    """Raises RunError where the journal shows that it is not all that was recorded."""
    path = folder / "events.jsonl"
    replies, has_best = len(list((folder / "llm").glob("*.reply.md"))), (folder / "best.py").exists()
    if not path.exists():
        raise RunError(f"{path}: is missing")
    events: dict[str, list[dict[str, Any]]] = {name: [] for name in EVENTS}
    for number, line in enumerate(whole_lines(path), 1):  # read last: a run may be going on
        try:
            event = json.loads(line)
            events[event["event"]].append(event)
        except (ValueError, KeyError, TypeError, RecursionError):
            decode_event(path, number, line)  # says what is wrong with it
    lost = ""
    if manifest.status is Status.FINISHED and not events["finished"]:
        lost = "how the run ended"
    elif replies > len(events["call"]):
        lost = "calls whose replies are in llm"
    elif has_best and not any(one["attempt"]["kept"] for one in events["attempt"]):
        lost = "the verdict on best.py"
    if lost:
        raise RunError(f"{path}: part of it is lost: {lost}")
    return _facts(events)


def _facts(events: dict[str, list[dict[str, Any]]]) -> JournalFacts:
    attempts = [one["attempt"] for one in events["attempt"]]
    verdicts = sum(one.get("same_as") is None for one in attempts)
    facts = JournalFacts(verdicts, None, None, None, frozenset(one["evaluation"]["verdict"] for one in attempts))
    if events["finished"]:
        end = from_json(FinishedEvent, events["finished"][-1])
        return replace(facts, best=end.best, score=end.score, faster=end.faster)
    failed = {one["candidate"] for one in events["confirmed"] if one["evaluation"]["verdict"] != "passed"}
    for attempt in reversed(attempts):
        if attempt["kept"] and attempt["candidate"]["number"] not in failed:
            score = attempt["score"]
            number = int(attempt["candidate"]["number"])
            return replace(facts, best=number, score=None if score is None else float(score))
    return facts
