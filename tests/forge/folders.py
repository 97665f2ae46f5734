"""A run folder without what may differ between two runs of the same script: times and measured seconds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FLEETING = {"at", "seconds", "gates", "created", "retries"}


def snapshot(folder: Path) -> dict[str, Any]:
    """File by file; events without regard to order, because calls made at once end in any order."""
    files = {str(file.relative_to(folder)): file for file in folder.rglob("*") if file.is_file()}
    special = ("log.txt", "events.jsonl", "run.json", "report.html")
    kept = {name: file.read_text() for name, file in files.items() if name not in special}
    if "best.py" in kept:
        kept["best.py"] = kept["best.py"].replace(folder.name, "RUN", 1)
    events = [json.loads(line) for line in files["events.jsonl"].read_text().splitlines()]
    run = without_times(json.loads(files["run.json"].read_text()))
    for place in ("task_path", "task_name", "author"):
        run.pop(place)  # where the task lay and which port the server had
    run["configuration"]["author"].pop("endpoint")
    return kept | {"events": sorted(json.dumps(without_times(one), sort_keys=True) for one in events), "run": run}


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_times(one) for key, one in value.items() if key not in FLEETING}
    if isinstance(value, list):
        return [without_times(one) for one in value]
    return value


def calls_on_disk(folder: Path) -> set[str]:
    """Hashes of the prompts whose replies are on disk; a torn last line is not."""
    journal = folder / "events.jsonl"
    if not journal.exists():
        return set()
    whole, _, _ = journal.read_bytes().rpartition(b"\n")
    events = [json.loads(line) for line in whole.splitlines()]
    return {event["prompt_sha256"] for event in events if event["event"] == "call"}


def verdicts_on_disk(folder: Path) -> set[int]:
    whole, _, _ = (folder / "events.jsonl").read_bytes().rpartition(b"\n")
    events = [json.loads(line) for line in whole.splitlines()]
    return {event["attempt"]["candidate"]["number"] for event in events if event["event"] == "attempt"}


def only_run(runs: Path) -> Path:
    """The one run in a folder; a kill may leave a folder behind that never became one."""
    (folder,) = [one for one in runs.iterdir() if (one / "run.json").exists()]
    return folder
