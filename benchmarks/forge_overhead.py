"""What the forge itself costs per attempt: prompts, parsing, decisions, records, with an author and a judge that
answer at once.

    PYTHONPATH=src python benchmarks/forge_overhead.py --out results.json

A run asks for 5 seeds, rounds of analysis and optimization with failing kernels and repairs, and all stages. The
kernels are real sources of the linter's corpus, so that replies and prompts have the usual size. Everything is
written to a real run folder and flushed to disk as always. Overhead = wall time of the run / attempts.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks"), str(ROOT / "tests" / "forge")]

from judge_throughput import commit  # noqa: E402
from marked_kernels import MarkedEvaluator, RecordingObserver, analysis, new_run  # noqa: E402

from tilesmith.forge.runner import run_forge  # noqa: E402
from tilesmith.forge.settings import ForgeSettings  # noqa: E402
from tilesmith.records import AuthorRequest, Evaluation, Phase, Prompt, Reply, Usage  # noqa: E402

SETTINGS = ForgeSettings(seeds=5, rounds=12, repairs=3, spare_repairs=3, patience=12)


class InstantAuthor:
    """Kernels in the order of the corpus; every second one fails, the others are a little faster each time."""

    name = "instant"

    def __init__(self) -> None:
        texts = (path.read_text() for path in sorted((ROOT / "tests" / "lint" / "corpus").rglob("*.py")))
        self._kernels = itertools.cycle([text for text in texts if "class ModelNew" in text])
        self._numbers = itertools.count(1)

    def dollars(self, usage: Usage) -> float | None:
        return 0.01

    def answer(self, request: AuthorRequest, prompt: Prompt, heard: Callable[[int], None]) -> Reply:
        usage = Usage(len(prompt.user) // 4, 500, dollars=0.01)
        if request.phase is Phase.ANALYZE:
            return Reply(analysis("low"), "instant", usage=usage)
        number = next(self._numbers)
        marks = "wrong_values" if number % 2 else f"passed {1 + number / 10:.2f}"
        return Reply(f"```python\n# verdict: {marks}\n{next(self._kernels)}\n```\n", "instant", usage=usage)


class InstantEvaluator(MarkedEvaluator):
    def evaluate(self, kernel: Path, progress: Callable[[str], None]) -> Evaluation:
        return self._evaluation(kernel.read_text().splitlines()[0].removeprefix("# verdict: "))


def one_run() -> tuple[int, float]:
    """Attempts, and seconds of the whole run."""
    with tempfile.TemporaryDirectory() as folder, new_run(Path(folder), SETTINGS) as run:
        observer = RecordingObserver()
        began = time.perf_counter()
        run_forge(run, InstantAuthor(), InstantEvaluator(), SETTINGS, observer)
        seconds = time.perf_counter() - began
    return sum(event.event == "attempt" for event in observer.events), seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    one_run()  # templates and lessons are read once a process
    samples = [one_run() for _ in range(given.runs)]
    per_attempt = [1e3 * seconds / attempts for attempts, seconds in samples]
    results = {
        "benchmark": "forge_overhead",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "hardware": f"{os.cpu_count()} cores, {platform.machine()}",
        "python": platform.python_version(),
        "attempts_per_run": samples[0][0],
        "ms_per_attempt": [round(one, 2) for one in per_attempt],
        "median_ms": round(statistics.median(per_attempt), 2),
    }
    print(f"{samples[0][0]} attempts a run, {results['median_ms']} ms each (max {max(per_attempt):.2f} ms)")
    if given.out:
        given.out.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
