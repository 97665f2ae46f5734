"""What honesty costs: the same verdicts by this judge and by the judge of an older commit, in turns.

    git worktree add ../before 2b87a2a
    PYTHONPATH=src python benchmarks/honesty_cost.py --before ../before/src --repeats 5 --out results.json

2b87a2a is the last commit without certificates, tripwires, ghost replay, first touch, digests and this sandbox.
Each judge lives in a process of its own and is asked for one verdict after the other, this one and the older one in
turns, so that a busy machine slows both. The first verdict of each task is left out: it pays for the reference, its
baselines and the certificate, which are made once per task.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "tests" / "fixtures"
PAIRS = {
    "silu_add_plain": "silu_add",
    "softmax_rows": "softmax",
    "layernorm_plain": "layernorm",
    "matmul_ieee": "matmul",
    "linear_gelu_epilogue": "linear_gelu",
    "row_sum_atomic": "row_sum",
    "conv_bias_relu_hybrid": "conv_bias_relu",
    "mean_var_two_pass": "mean_var",
}

SERVE = """
import json, sys, time
from pathlib import Path
from tilesmith.config import CheckConfig
from tilesmith.judge import Judge
timing = sys.argv[1] == "timing"
with Judge(CheckConfig(timing=timing)) as judge:
    for line in sys.stdin:
        task, kernel = line.split()
        began = time.monotonic()
        found = judge.check(Path(task), Path(kernel))
        told = {"seconds": time.monotonic() - began, "verdict": str(found.verdict)}
        told |= {"environment": found.environment, "gates": {gate.gate: gate.seconds for gate in found.gates}}
        print(json.dumps(told), flush=True)
"""


class Contestant:
    """A judge of one source tree in a process of its own."""

    def __init__(self, source: Path, timing: bool) -> None:
        environment = {**os.environ, "PYTHONPATH": str(source)}
        command = [sys.executable, "-c", SERVE, "timing" if timing else "untimed"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def verdict(self, task: Path, kernel: Path) -> dict[str, object]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(task, kernel, file=self._process.stdin, flush=True)
        return dict(json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)


def measure(before: Path, repeats: int, timing: bool) -> dict[str, object]:
    contestants = {"before": Contestant(before, timing), "now": Contestant(ROOT / "src", timing)}
    samples: dict[str, dict[str, list[dict[str, object]]]] = {}
    for kernel, task in PAIRS.items():
        paths = FIXTURES / "tasks" / f"{task}.py", FIXTURES / "kernels" / f"{kernel}.py"
        samples[kernel] = {name: [] for name in contestants}
        for turn in range(repeats + 1):
            for name, judge in contestants.items():
                found = judge.verdict(*paths)
                if turn:
                    samples[kernel][name].append(found)
    for judge in contestants.values():
        judge.close()
    rows = {kernel: _row(both) for kernel, both in samples.items()}
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "timing": timing,
        "rows": rows,
        "total_ratio": round(sum(r["now_s"] for r in rows.values()) / sum(r["before_s"] for r in rows.values()), 3),
        "samples": samples,
    }


def _row(both: dict[str, list[dict[str, object]]]) -> dict[str, float]:
    before, now = (
        statistics.median(float(str(one["seconds"])) for one in both[name]) for name in ("before", "now")
    )
    return {"before_s": round(before, 3), "now_s": round(now, 3), "ratio": round(now / before, 3)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--before", type=Path, required=True, help="the src folder of the older commit")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--timing", action="store_true", help="with timing, where there is a GPU")
    parser.add_argument("--commit", default="", help="what was measured")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    began = time.monotonic()
    result = measure(options.before.resolve(), options.repeats, options.timing) | {"commit": options.commit}
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    for kernel, row in result["rows"].items():  # type: ignore[attr-defined]
        print(f"{kernel:24} {row['before_s']:7.2f} s  {row['now_s']:7.2f} s  {row['ratio']:5.2f}x")
    print(f"all together {result['total_ratio']}x ({time.monotonic() - began:.0f} s)")
