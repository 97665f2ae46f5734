"""What `tilesmith forge TASK` reaches offline: the playbook's kernels, tuned, judged and timed on the GPU here.

    PYTHONPATH=src python benchmarks/forge_playbook.py --out results.json [TASK ...]

Each task is one real run of the command line; the numbers are those of the confirmation in fresh processes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

from judge_throughput import commit  # noqa: E402

from tilesmith.records import AttemptEvent, ConfirmationEvent, to_json  # noqa: E402
from tilesmith.runs.journal import read_events  # noqa: E402

TASKS = ("softmax", "layernorm", "rmsnorm", "swiglu")


def forge(task: Path, folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "tilesmith", "forge", str(task), "--author", "playbook", "--json"]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    began = time.monotonic()
    done = subprocess.run(
        [*command, "--runs", str(folder / task.stem)], capture_output=True, text=True, env=environment
    )
    if done.returncode:
        return {"task": task.stem, "failed": done.stderr.strip().splitlines()[-1]}
    document = json.loads(done.stdout)
    events = read_events(Path(document["run"]) / "events.jsonl")
    scores = {one.attempt.candidate.number: one.attempt.score for one in events if isinstance(one, AttemptEvent)}
    confirmed = next(one for one in events if isinstance(one, ConfirmationEvent))
    return {
        "task": task.stem,
        "seconds": round(time.monotonic() - began, 1),
        "faster": document["faster"],
        "score": document["score"],
        "best": document["best"],
        "scores": scores,
        "confirmation": to_json(confirmed.evaluation),
    }


def shown(result: dict[str, Any]) -> str:
    if "failed" in result:
        return f"{result['task']:<12} failed: {result['failed']}"
    timing = result["confirmation"]["timing"]
    times = {name: timing[f"{name}_ms"] for name in ("candidate", "eager", "graph", "compile")}
    parts = [f"{name} {one['p50']:.4f}" for name, one in times.items() if one]
    floor = (result["confirmation"]["roofline"] or {}).get("floor_ms")
    parts += [f"floor {floor:.4f} ms"] if floor else []
    return f"{result['task']:<12} {result['score']:.3f}x  {'  '.join(parts)}  {result['seconds']} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", type=Path)
    parser.add_argument("--commit", default=None, help="where there is no git to ask")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    tasks = given.tasks or [ROOT / "examples" / f"{name}.py" for name in TASKS]
    with tempfile.TemporaryDirectory() as folder:
        results = [forge(task, Path(folder)) for task in tasks]
    head = {"commit": given.commit or commit(), "date": datetime.now(UTC).isoformat(timespec="seconds")}
    given.out.write_text(json.dumps(head | {"results": results}, indent=2) + "\n")
    print("\n".join(map(shown, results)))


if __name__ == "__main__":
    main()
