"""The example operators, each taken through new, check, tune and every export by the command line.

    PYTHONPATH=src python benchmarks/operator_workshop.py --out results.json
    PYTHONPATH=src python benchmarks/operator_workshop.py --small --only relu softmax --out results.json
    PYTHONPATH=src python benchmarks/operator_workshop.py --folder projects --out results.json

Nothing runs longer than `--limit-s`. Every command is a process of its own; the file is written anew after
each, so that a run that is cut off keeps what it found. On a GPU the test of the torch.library export runs,
too, and at the end, with nothing beside it, every operator's own performance test says how far it is from a
copy. `--small` needs no GPU: two shapes, one dtype. `--folder` keeps the projects; operators that have one
there already, made by `op new` on any machine, are only tuned and exported: tuning begins and ends with a
check.

Writes hardware, versions, commit and the JSON of every command; the times of every shape and dtype are in it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
import triton

from tilesmith.operators.definition import read_definition

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples" / "operators"
NAMES = ("bias_add", "matmul_bias", "cross_entropy", "layer_norm", "rms_norm_residual", "softmax", "rotary")
NAMES += ("add", "gelu", "relu")
"""Those that take longest first."""
EXPORTS = ("flaggems", "torch-library", "module", "kernelgen")
EXPORTING_S = 20.0
"""Kept back for the exports of an operator."""


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
    steps: tuple[Step, ...] = ()

    def found(self, command: str) -> dict[str, Any]:
        """What the last step of that name found."""
        return next((step.found for step in reversed(self.steps) if step.command == command), {})


@dataclass
class Results:
    """Rows by operator, in a file that is written anew whenever a command has ended."""

    path: Path
    facts: dict[str, Any]
    rows: dict[str, Row] = field(default_factory=dict)
    one_at_a_time: threading.Lock = field(default_factory=threading.Lock)

    def add(self, name: str, step: Step) -> None:
        with self.one_at_a_time:
            self.rows[name] = Row(name, (*self.rows.get(name, Row(name)).steps, step))
            rows = [asdict(self.rows[one]) for one in sorted(self.rows)]
            partial = self.path.with_name(f"{self.path.name}.part")
            partial.write_text(json.dumps({**self.facts, "rows": rows}, indent=1) + "\n")
            partial.replace(self.path)
            print(f"{name:<18} {step.command:<20} {step.seconds:>6.1f} s  exit code {step.exit_code}", flush=True)


def ran(command: str, words: Sequence[str], folder: Path, deadline: float) -> Step:
    """The process and its children are ended at the deadline."""
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=max(deadline - began, 0.1))
        exit_code, found = process.returncode, _document(output) or {"error": errors.strip()[-600:]}
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        exit_code, found = 124, {"error": "the time was up"}
    return Step(command, exit_code, round(time.monotonic() - began, 1), found)


def take_through(name: str, folder: Path, options: argparse.Namespace, deadline: float, results: Results) -> None:
    """All steps, until one fails or the time is up; a missed target (exit code 1) stops none. Where the time does
    not suffice for tuning, the operator is exported as it is."""
    device, timing = ("--device", options.device), ("--timing-s", str(options.timing_s))
    definition = small_definition(name, folder) if options.small else EXAMPLES / f"{name}.py"
    by_shape = ["--dispatch"] if torch.cuda.is_available() else []
    tuning = (*by_shape, "--seconds", str(options.tuning_s), *timing)
    exports = [(f"export {to}", "export", ("--to", to, "--out", f"exported-{to}-{name}")) for to in EXPORTS]
    commands = [
        ("new", "new", ("--from", str(definition), *device)),
        ("check", "check", (*timing, *device)),
        ("tune", "tune", (*tuning, *device)),
        *exports,
    ]
    is_made = (folder / name / "operator.toml").exists()
    for command, word, words in commands[2:] if is_made else commands:
        until = deadline if word == "export" else deadline - EXPORTING_S
        line = ("-m", "tilesmith", "op", word, name, *words, "--json")
        step = ran(command, line, folder, until)
        results.add(name, step)
        if command == "tune" and step.exit_code == 2:  # several kernels: no choice by shape can be written
            step = ran(command, tuple(one for one in line if one != "--dispatch"), folder, until)
            results.add(name, step)
        if step.exit_code not in (0, 1) and command != "tune":
            return
    if torch.cuda.is_available():
        test = folder / f"exported-torch-library-{name}" / f"test_{name}_library.py"
        results.add(name, ran("torch-library test", ("-m", "pytest", "-q", str(test)), test.parent, deadline))


def small_definition(name: str, folder: Path) -> Path:
    """The example with two shapes for accuracy, in one dtype."""
    operator = read_definition(EXAMPLES / f"{name}.py", name).operator
    path = folder / f"{name}_small.py"
    sizes = [dict(one) for one in operator.accuracy[:2]]
    settings = f"\nACCURACY = {sizes}\nDTYPES = [{operator.dtypes[1]!r}]\n"
    path.write_text((EXAMPLES / f"{name}.py").read_text() + settings)
    return path


def _document(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except json.JSONDecodeError:
        return {"table": text} if text.strip() else {}
    return document if isinstance(document, dict) else {"all": document}


def format_row(row: Row) -> str:
    failed = [step for step in row.steps if step.exit_code not in (0, 1)]
    took = sum(step.seconds for step in row.steps)
    cells = [f"{row.operator:<18}{took:>6.0f} s"]
    cells += [f"{one.command}: exit code {one.exit_code}: {one.found.get('error', '')[-200:]}" for one in failed]
    right = row.found("tune").get("right")
    cells.append("right" if right else "wrong" if right is False else "?")
    for command in ("check", "tune"):
        performance = row.found(command).get("performance") or {}
        calls = [call for call in performance.get("calls", ()) if call["kernel_ms"] is not None]
        if not calls:
            cells.append(f"{command}: not measured")
            continue
        speedups, shares = [call["speedup"] for call in calls], [call["share_of_peak"] or 0 for call in calls]
        left = sum(call["kept_pytorch"] for call in performance["calls"])
        mean = performance["geometric_mean"]
        cells.append(
            f"{command}: {'wrong at its real size' if mean is None else f'{mean:.2f}x'} "
            f"({min(speedups):.2f} to {max(speedups):.2f}), best {max(shares):.0%} of peak, {left} left to PyTorch"
        )
    exported = sum(step.command.startswith("export") and step.exit_code == 0 for step in row.steps)
    return "  ".join([*cells, f"{exported} of {len(EXPORTS)} exports"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--jobs", type=int, default=8, help="operators at once; timing is always alone")
    parser.add_argument("--tuning-s", type=float, default=12.0, help="for the search of each operator")
    parser.add_argument("--timing-s", type=float, default=0.5, help="at most, for each shape and dtype")
    parser.add_argument("--limit-s", type=float, default=520.0, help="for all operators together")
    parser.add_argument(
        "--by-hand-s", type=float, default=60.0, help="of these, for the operators' own performance tests"
    )
    parser.add_argument("--device", default="auto")
    parser.add_argument("--small", action="store_true", help="two shapes, one dtype: for machines without a GPU")
    parser.add_argument("--folder", type=Path, help="keep the projects here, and go on with those that are there")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    has_gpu = torch.cuda.is_available()
    end = time.monotonic() + options.limit_s
    facts = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "gpu": torch.cuda.get_device_name() if has_gpu else None,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "commit": options.commit,
        **{name: getattr(options, name) for name in ("jobs", "tuning_s", "timing_s", "limit_s", "small")},
    }
    results = Results(options.out, facts)
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(options.jobs) as pool:
        folder, deadline = (options.folder or Path(name)).resolve(), end - options.by_hand_s * has_gpu
        todo = [pool.submit(take_through, one, folder, options, deadline, results) for one in options.only]
        for future in todo:
            future.result()
        for one in options.only if has_gpu else ():
            if (file := folder / one / f"{one}_performance.py").exists() and time.monotonic() < end - 5:
                results.add(one, ran("performance by hand", (str(file),), folder, end))
    print("\n".join(format_row(results.rows[one]) for one in sorted(results.rows)))


if __name__ == "__main__":
    main()
