"""How long one reading of a source takes: corpus files as they are, and joined into sources of 1,000 lines.

    PYTHONPATH=src python benchmarks/lint_speed.py --out results.json

A source is read and linted in a warm process, best of several readings; the command line's start-up is beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

from judge_throughput import commit  # noqa: E402

from tilesmith.lint import lint, read_kernel  # noqa: E402

CORPUS = ROOT / "tests" / "lint" / "corpus"
LINES = 1_000


def milliseconds(text: str, repeats: int = 5) -> float:
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        lint(read_kernel(text))
        times.append(time.perf_counter() - began)
    return round(1e3 * min(times), 2)


def joined(texts: list[str], lines: int) -> list[str]:
    """Sources of about so many lines, each several corpus files one after another."""
    sources, current = [], ""
    for text in texts:
        current += text.replace("from __future__ import annotations\n", "") + "\n"
        if current.count("\n") >= lines:
            sources.append("\n".join(current.splitlines()[:lines]))
            current = ""
    return [source for source in sources if _parses(source)]


def _parses(source: str) -> bool:
    try:
        compile(source, "joined", "exec")
    except SyntaxError:
        return False
    return True


def command_line_seconds(repeats: int = 5) -> float:
    command = [sys.executable, "-m", "tilesmith", "lint", str(ROOT / "examples" / "kernels" / "softmax.py")]
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        subprocess.run(
            command, check=True, capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT / "src")}
        )
        times.append(time.perf_counter() - began)
    return round(min(times), 3)


def measure() -> dict[str, object]:
    texts = [path.read_text(encoding="utf-8") for path in sorted(CORPUS.rglob("*.py"))]
    single = [milliseconds(text) for text in texts]
    long = [milliseconds(source) for source in joined(texts, LINES)]
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "corpus_files": len(texts),
        "corpus_lines": sum(text.count("\n") for text in texts),
        "file_ms": {"median": statistics.median(single), "max": max(single)},
        "thousand_lines_ms": {"median": statistics.median(long), "max": max(long), "samples": long},
        "command_line_s": command_line_seconds(),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--commit", default=None, help="where there is no git to ask")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    results = {"commit": arguments.commit or commit(), **measure()}
    arguments.out.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    print(
        json.dumps({key: results[key] for key in ("file_ms", "thousand_lines_ms", "command_line_s")}, indent=1)[
            :600
        ]
    )
