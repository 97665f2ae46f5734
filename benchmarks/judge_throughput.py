"""How many verdicts a minute: the good fixture kernels of small tasks, judged over and over with timing.

    PYTHONPATH=src python benchmarks/judge_throughput.py --minutes 1 --workers 8 --out results.json

Writes hardware, versions, commit and every single duration.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "fixtures")]

from manifest import FIXTURES  # noqa: E402

from tilesmith.config import CheckConfig  # noqa: E402
from tilesmith.judge import Judge  # noqa: E402

SMALL = ("silu_add", "relu", "softmax", "layernorm", "row_sum", "cumsum")


def measure(minutes: float, workers: int, timing: bool) -> dict[str, Any]:
    """Verdicts until the time is up; the first round, which warms every reference up, is reported apart."""
    pairs = [(f.task, f.kernel) for f in FIXTURES if f.task in SMALL and f.verdict == "passed"]
    with Judge(CheckConfig(timing=timing)) as judge:
        warm_up = _judge_all(judge, iter(pairs), workers, deadline=None)
        began = time.monotonic()
        done = _judge_all(judge, itertools.cycle(pairs), workers, deadline=began + minutes * 60)
        elapsed = time.monotonic() - began
        environment = judge.check(*_paths(*pairs[0])).environment
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "environment": environment,
        "workers": workers,
        "timing": timing,
        "verdicts": len(done),
        "seconds": round(elapsed, 2),
        "verdicts_per_minute": round(len(done) / elapsed * 60, 1),
        "not_passed": [one for one in done if one["verdict"] != "passed"],
        "warm_up": warm_up,
        "samples": done,
    }


def _judge_all(judge: Judge, pairs: object, workers: int, deadline: float | None) -> list[dict[str, object]]:
    done: list[dict[str, object]] = []
    lock = threading.Lock()

    def work() -> None:
        while deadline is None or time.monotonic() < deadline:
            with lock:
                pair = next(pairs, None)  # type: ignore[call-overload]
            if pair is None:
                return
            began = time.monotonic()
            evaluation = judge.check(*_paths(*pair))
            gates = {gate.gate: gate.seconds for gate in evaluation.gates}
            done.append(
                {
                    "task": pair[0],
                    "kernel": pair[1],
                    "verdict": str(evaluation.verdict),
                    "seconds": round(time.monotonic() - began, 3),
                    "gates": gates,
                    "timing": evaluation.timing
                    and {
                        "rounds": evaluation.timing.rounds,
                        "ms": evaluation.timing.candidate_ms.p50,
                        "speedup": {kind: [s.low, s.high] for kind, s in evaluation.timing.speedup.items()},
                    },
                }
            )

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done


def _paths(task: str, kernel: str) -> tuple[Path, Path]:
    fixtures = ROOT / "tests" / "fixtures"
    return fixtures / "tasks" / f"{task}.py", fixtures / "kernels" / f"{kernel}.py"


def medians(samples: list[dict[str, Any]]) -> dict[str, float]:
    """Of whole verdicts and of each gate."""
    seconds = {"verdict": [one["seconds"] for one in samples]}
    for one in samples:
        for gate, took in one["gates"].items():
            seconds.setdefault(gate, []).append(took)
    return {name: round(statistics.median(some), 2) for name, some in seconds.items() if some}


def commit() -> str:
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--no-timing", action="store_true")
    parser.add_argument("--commit", default=None, help="where there is no git to ask")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    result = measure(options.minutes, options.workers, not options.no_timing)
    result["commit"] = options.commit or commit()
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    print({key: value for key, value in result.items() if key not in ("samples", "warm_up", "environment")})
    print("median seconds:", medians(result["samples"]))
