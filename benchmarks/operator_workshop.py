"""The example operators, each taken through new, check, tune and every export by the command line.

    PYTHONPATH=src python benchmarks/operator_workshop.py --jobs 8 --tuning-s 20 --out results.json

Writes hardware, versions, commit and the JSON of every command; the times of every shape and dtype are in it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
import triton

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples" / "operators"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))
EXPORTS = ("flaggems", "torch-library", "module", "kernelgen")


@dataclass(frozen=True)
class Step:
    """One command: how it ended, and the JSON it printed."""

    command: str
    exit_code: int
    seconds: float
    found: dict[str, Any]


@dataclass(frozen=True)
class Row:
    operator: str
    steps: tuple[Step, ...] = field(default=())

    def found(self, command: str) -> dict[str, Any]:
        """What the last step of that name found."""
        return next((step.found for step in reversed(self.steps) if step.command == command), {})


def take_through(name: str, folder: Path, options: argparse.Namespace, deadline: float) -> Row:
    """All steps, until one fails or the time is up; a missed target (exit code 1) stops none."""
    by_shape = ["--dispatch"] if torch.cuda.is_available() else []
    commands: list[tuple[str, list[str]]] = [
        ("new", [name, "--from", str(EXAMPLES / f"{name}.py"), "--device", options.device]),
        ("check", [name, "--device", options.device]),
        ("tune", [name, *by_shape, "--seconds", str(options.tuning_s), "--device", options.device]),
        *((f"export {to}", [name, "--to", to, "--out", f"exported-{to}-{name}"]) for to in EXPORTS),
    ]
    steps: list[Step] = []
    for command, words in commands:
        began = time.monotonic()
        line = [sys.executable, "-m", "tilesmith", "op", command.split()[0], *words, "--json"]
        environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
        try:
            limit_s = max(deadline - began, 1.0)
            done = subprocess.run(
                line, capture_output=True, text=True, cwd=folder, env=environment, timeout=limit_s, check=False
            )
            exit_code, found = done.returncode, _document(done.stdout) or {"error": done.stderr.strip()[-600:]}
        except subprocess.TimeoutExpired:
            exit_code, found = 124, {"error": "the time was up"}
        steps.append(Step(command, exit_code, round(time.monotonic() - began, 1), found))
        if exit_code not in (0, 1):
            break
    return Row(name, tuple(steps))


def _document(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except json.JSONDecodeError:
        return {}
    return document if isinstance(document, dict) else {"all": document}


def format_row(row: Row) -> str:
    first, last = row.steps[0], row.steps[-1]
    took = sum(step.seconds for step in row.steps)
    cells = [f"{row.operator:<18}{took:>6.0f} s"]
    if last.exit_code not in (0, 1):
        error = last.found.get("error", "")[-200:]
        return "  ".join([*cells, f"{last.command}: exit code {last.exit_code}: {error}"])
    right = "right" if row.found("tune").get("right") else "wrong"
    cells.append(f"{right:<6} new {first.seconds:>3.0f} s")
    for command in ("check", "tune"):
        performance = row.found(command).get("performance") or {}
        calls = [call for call in performance.get("calls", ()) if call["kernel_ms"] is not None]
        if not calls:
            cells.append(f"{command}: not measured")
            continue
        speedups, shares = [call["speedup"] for call in calls], [call["share_of_peak"] or 0 for call in calls]
        left = sum(call["kept_pytorch"] for call in performance["calls"])
        cells.append(
            f"{command}: {performance['geometric_mean']:.2f}x ({min(speedups):.2f} to {max(speedups):.2f}), "
            f"best {max(shares):.0%} of peak, {left} left to PyTorch"
        )
    exported = sum(step.command.startswith("export") and step.exit_code == 0 for step in row.steps)
    return "  ".join([*cells, f"{exported} of {len(EXPORTS)} exports"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--jobs", type=int, default=2, help="operators at once; timing is always alone")
    parser.add_argument("--tuning-s", type=float, default=20.0)
    parser.add_argument("--limit-s", type=float, default=1800.0, help="for all operators together")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    deadline = time.monotonic() + options.limit_s
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        todo = [pool.submit(take_through, name, Path(folder), options, deadline) for name in options.only]
        for one in as_completed(todo):
            rows = sorted([*rows, one.result()], key=lambda row: row.operator)
            results = {
                "date": datetime.now(UTC).isoformat(timespec="seconds"),
                "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
                "python": platform.python_version(),
                "torch": torch.__version__,
                "triton": triton.__version__,
                "commit": options.commit,
                "tuning_s": options.tuning_s,
                "rows": [asdict(row) for row in rows],
            }
            options.out.write_text(json.dumps(results, indent=1) + "\n")
            print(format_row(one.result()), flush=True)
    print("\n".join(map(format_row, rows)))


if __name__ == "__main__":
    main()
