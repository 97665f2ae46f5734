"""How long one warm verdict takes: the same good kernel of a small task, judged again and again by one judge.

    PYTHONPATH=src python benchmarks/warm_verdict.py --repeats 10 --out results.json
    PYTHONPATH=src python benchmarks/warm_verdict.py --before ../before/src --rounds 3 --out results.json

Without a GPU this is the interpreter and the compiler; with one, add --no-timing for values alone. With `--before`
the sources of an earlier state take turns with these, so that a busy machine slows both; what counts is the ratio.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [os.environ.get("WARM_VERDICT_SOURCE", str(ROOT / "src")), str(ROOT / "benchmarks")]

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


def compare(before: Path, rounds: int, options: list[str]) -> dict[str, object]:
    """Both states in turn, each time in processes of their own."""
    sources = {"before": str(before.resolve()), "after": str(ROOT / "src")}
    runs: dict[str, list[dict[str, object]]] = {name: [] for name in sources}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for name, source in sources.items():
                out = Path(folder) / "one.json"
                environment = os.environ | {"WARM_VERDICT_SOURCE": source, "PYTHONPATH": source}
                command = [sys.executable, __file__, *options, "--out", str(out)]
                subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
                runs[name].append(json.loads(out.read_text()))
    medians = {
        name: statistics.median(sample["seconds"] for one in some for sample in one["samples"])  # type: ignore[attr-defined]
        for name, some in runs.items()
    }
    return {"ratio": round(medians["after"] / medians["before"], 3), "median_s": medians, "runs": runs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--task", default="silu_add")
    parser.add_argument("--kernel", default="silu_add_plain")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--no-timing", action="store_true")
    parser.add_argument("--before", type=Path, default=None, help="the sources to compare with")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each, with --before")
    parser.add_argument("--commit", default=None, help="where there is no git to ask")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    known = options.commit or commit()
    if options.before is not None:
        passed_on = ["--task", options.task, "--kernel", options.kernel, "--repeats", str(options.repeats)]
        passed_on += ["--commit", known, *(["--no-timing"] if options.no_timing else [])]
        result = compare(options.before, options.rounds, passed_on)
        line = f"after / before {result['ratio']} ({result['median_s']})"
    else:
        result = measure(options.task, options.kernel, options.repeats, not options.no_timing)
        line = f"cold {result['cold_s']} s, warm median {result['median_s']} s"
    options.out.write_text(json.dumps(result | {"commit": known}, indent=1) + "\n")
    print(line)


if __name__ == "__main__":
    main()
