"""How long one warm verdict takes: the same good kernel of a small task, judged again and again by one judge.

    PYTHONPATH=src python benchmarks/warm_verdict.py --repeats 10 --out results.json

Without a GPU this is the interpreter and the compiler; with one, add --no-timing for values alone.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

from judge_throughput import commit  # noqa: E402

from tilesmith.config import CheckConfig  # noqa: E402
from tilesmith.judge import Judge  # noqa: E402

FIXTURES = ROOT / "tests" / "fixtures"


def measure(task: str, kernel: str, repeats: int, timing: bool) -> dict[str, object]:
    paths = FIXTURES / "tasks" / f"{task}.py", FIXTURES / "kernels" / f"{kernel}.py"
    samples = []
    with Judge(CheckConfig(timing=timing)) as judge:
        began = time.monotonic()
        first = judge.check(*paths)
        cold_s = time.monotonic() - began
        for _ in range(repeats):
            began = time.monotonic()
            evaluation = judge.check(*paths)
            seconds = round(time.monotonic() - began, 3)
            samples.append({"seconds": seconds, "verdict": str(evaluation.verdict)})
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "task": task,
        "kernel": kernel,
        "environment": first.environment,
        "cold_s": round(cold_s, 3),
        "median_s": statistics.median(sample["seconds"] for sample in samples),
        "samples": samples,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--task", default="silu_add")
    parser.add_argument("--kernel", default="silu_add_plain")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--no-timing", action="store_true")
    parser.add_argument("--commit", default=None, help="where there is no git to ask")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    result = measure(options.task, options.kernel, options.repeats, not options.no_timing)
    result["commit"] = options.commit or commit()
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    print(f"cold {result['cold_s']} s, warm median {result['median_s']} s")
