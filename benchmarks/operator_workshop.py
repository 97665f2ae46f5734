"""The example operators, each taken through new, check, tune and every export, all in one call of nine minutes.

    PYTHONPATH=src python benchmarks/operator_workshop.py --out results.json
    PYTHONPATH=src python benchmarks/operator_workshop.py --small --jobs 1 --only relu softmax --out results.json

The functions behind the commands are called, in one process and with one judge: torch and triton are imported once
for all operators, and tuning begins with what the check has just found. Those that matter most come first. When
`--limit-s` is nearly over, the judge is closed and what was made by then is exported. On a GPU every operator's own
performance test comes last, with nothing beside it: it tells the share of a copy's speed. Each has a process of its
own, which waits with torch imported, so that none takes the others along; what it printed when its time was up is
kept.

The file is written anew after every step and every measured call, so that a run that is cut off keeps what it
found: hardware, versions, commit, of every step its seconds and all that it found, times of every shape and dtype
included, and of one that was cut off what it had told by then. A table ends it. `--small` takes two shapes and one
dtype, for machines without a GPU. `--folder` keeps the projects, their kernels and histories; one that is there
already is not made again.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from tilesmith.authors.author_choice import AuthorChoice
from tilesmith.config import CheckConfig
from tilesmith.errors import ProjectError
from tilesmith.forge.settings import settings_for
from tilesmith.judge import Judge
from tilesmith.operators.checking import OperatorCheck, check_project
from tilesmith.operators.definition import Definition, read_definition
from tilesmith.operators.exchange.exporting import export_project
from tilesmith.operators.exchange.homes import HOMES
from tilesmith.operators.forging import Workshop
from tilesmith.operators.making import make_project
from tilesmith.operators.project import TOML
from tilesmith.operators.tuning.tuner import TunedOperator, TuneOptions, tune_project

EXAMPLES = Path(__file__).resolve().parent.parent / "examples" / "operators"
NAMES = ("bias_add", "matmul_bias", "softmax", "layer_norm", "cross_entropy", "rms_norm_residual", "rotary", "gelu")
NAMES += ("add", "relu")
"""The documents' example first, then those that take longest."""
Found = TypeVar("Found")
CLOSING_S = 15.0
"""For steps that end when the judge is closed, and for the exports after them."""


BY_HAND_S = 25.0
"""At most, for the performance test of one operator."""
WAITING = """import runpy, sys, pytest, torch, triton
path = sys.stdin.readline().strip()
if path:
    runpy.run_path(path, run_name="__main__")
"""


@dataclass(frozen=True)
class Step:
    """What one step found; an error in place of that where it found nothing."""

    name: str
    seconds: float
    found: dict[str, Any]
    error: str = ""
    told: Sequence[str] = ()
    """What was measured in a step that was cut off."""


@dataclass
class Results:
    """Steps by operator, in a file that is written anew whenever one has ended."""

    path: Path
    facts: dict[str, Any]
    steps: dict[str, list[Step]] = field(default_factory=dict)
    told: dict[str, list[str]] = field(default_factory=dict)
    """By operator, of the step that goes on."""
    one_at_a_time: threading.Lock = field(default_factory=threading.Lock)

    def add(self, operator: str, step: Step) -> None:
        with self.one_at_a_time:
            told = tuple(self.told.pop(operator, ()))
            step = replace(step, told=told if step.error else ())
            self.steps.setdefault(operator, []).append(step)
            self._write()
            line = f"{operator:<18} {step.name:<20} {step.seconds:>6.1f} s  {step.error}"
            print(line, file=sys.stderr, flush=True)

    def tell(self, operator: str, line: str) -> None:
        if " against " in line:  # what a call takes
            with self.one_at_a_time:
                self.told.setdefault(operator, []).append(line)
                self._write()

    def _write(self) -> None:
        rows = [{"operator": name, "steps": list(map(asdict, steps))} for name, steps in self.steps.items()]
        text = json.dumps({**self.facts, "rows": rows, "going_on": self.told}, indent=1, default=str)
        part = self.path.with_name(f"{self.path.name}.part")
        part.write_text(f"{text}\n")
        part.replace(self.path)

    def found(self, operator: str, step: str) -> dict[str, Any]:
        return next((one.found for one in self.steps.get(operator, ()) if one.name == step and one.found), {})


@dataclass(frozen=True)
class Bench:
    """What all operators share."""

    judge: Judge
    config: CheckConfig
    folder: Path
    results: Results
    options: argparse.Namespace
    has_gpu: bool
    end: float

    def step(self, operator: str, name: str, action: Callable[[], Found], least_s: float = 0.0) -> Found | None:
        """Not begun where so many seconds are not left; whatever goes wrong is kept, and the next step comes."""
        began, found, error = time.monotonic(), None, ""
        if began + least_s > self.end:
            self.results.add(operator, Step(name, 0.0, {}, "no time was left"))
            return None
        try:
            found = action()
        except Exception as problem:
            is_late = time.monotonic() > self.end
            error = "the time was up" if is_late else f"{type(problem).__name__}: {problem}"
        seconds = round(time.monotonic() - began, 1)
        self.results.add(operator, Step(name, seconds, {} if found is None else asdict(found), error))
        return found

    def take_through(self, name: str) -> None:
        folder, began = self.folder / name, time.monotonic()
        if not (folder / TOML).exists():
            made = self.step(name, "new", lambda: make_project(self.definition(name), folder, self.workshop()))
            if made is None:
                return
        tell = partial(self.results.tell, name)
        checked = self.step(name, "check", lambda: check_project(folder, self.config, tell, self.judge))
        if checked is not None and checked.accuracy.passed:
            least_s = time.monotonic() - began  # it ends with a second check
            self.step(name, "tune", lambda: self.tune(folder, checked, tell), min(least_s, 60.0))
        for target in HOMES:
            out = self.folder / f"exported-{name}" / target
            export = partial(export_project, folder, target, out, force=True)
            self.step(name, f"export {target}", export, -math.inf)  # however late it is

    def definition(self, name: str) -> Definition:
        found = read_definition(EXAMPLES / f"{name}.py", name)
        few = replace(found.operator, accuracy=found.operator.accuracy[:2], dtypes=found.operator.dtypes[1:2])
        return replace(found, operator=few) if self.options.small else found

    def workshop(self) -> Workshop:
        author, settings = AuthorChoice("playbook", "as asked"), settings_for("quick")
        return Workshop(author, settings, self.config, self.folder / "runs", host=self.judge)

    def tune(self, folder: Path, checked: OperatorCheck, tell: Callable[[str], None]) -> TunedOperator:
        """By shape, where one kernel serves all; `checked` is what lies there."""
        tuning = TuneOptions(self.options.tuning_s, dispatch=self.has_gpu, before=checked)
        try:
            return tune_project(folder, self.config, tuning, tell, self.judge)
        except ProjectError:
            if not self.has_gpu:
                raise
            return tune_project(folder, self.config, replace(tuning, dispatch=False), tell, self.judge)


def take_all_through(bench: Bench, names: Sequence[str]) -> None:
    """Several at once, in this order; at the end of the time the judge's children are ended, and with them what
    still waits for one."""
    waiting = deque(names)

    def work() -> None:
        with contextlib.suppress(IndexError):
            while True:
                bench.take_through(waiting.popleft())

    threads = [threading.Thread(target=work, daemon=True) for _ in range(bench.options.jobs)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(max(0.0, bench.end - time.monotonic()))
    closing = threading.Thread(target=bench.judge.close, daemon=True)  # it may wait for who waits for a child
    closing.start()
    until = time.monotonic() + CLOSING_S
    for one in (closing, *threads):
        one.join(max(0.0, until - time.monotonic()))


@dataclass(frozen=True)
class Measured:
    """What an operator's own performance test printed."""

    table: str


def start_waiting() -> subprocess.Popen[str]:
    """A process that imports torch and then waits to be told which performance test to run."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.Popen([sys.executable, "-u", "-c", WAITING], text=True, **pipes)  # type: ignore[call-overload]


def measure_by_hand(process: subprocess.Popen[str], file: Path, limit_s: float) -> Measured:
    """What was printed is kept, however it ends."""
    try:
        table, _ = process.communicate(f"{file}\n", limit_s)
    except subprocess.TimeoutExpired:
        process.kill()
        table, _ = process.communicate()
        table += f"cut off after {limit_s:.0f} s\n"
    return Measured(table)


def measure_all_by_hand(bench: Bench, processes: dict[str, subprocess.Popen[str]], end: float) -> None:
    for name, process in processes.items():
        file = bench.folder / name / f"{name}_performance.py"
        if file.exists():
            limit_s = min(BY_HAND_S, end - time.monotonic())
            replace(bench, end=end).step(name, "by hand", partial(measure_by_hand, process, file, limit_s), 5.0)


def format_row(results: Results, name: str) -> str:
    """One line of the table: what `check` and `tune` found, and the share of a copy."""
    seconds = sum(one.seconds for one in results.steps.get(name, ()))
    accuracy = results.found(name, "check").get("accuracy") or {}
    cells = [f"{name:<18}{seconds:>6.0f} s  {accuracy.get('verdict', 'not checked'):<14}"]
    cells += [_speeds(results.found(name, step).get("performance")) for step in ("check", "tune")]
    shares = [int(one) for one in re.findall(r"(\d+)%", results.found(name, "by hand").get("table", ""))]
    cells.append(f"{min(shares)} / {statistics.median(shares):.0f} / {max(shares)} %" if shares else "not measured")
    cells[1:] = [f"{one:<34}" for one in cells[1:]]
    exported = [target for target in HOMES if results.found(name, f"export {target}")]
    errors = [f"{one.name}: {one.error.splitlines()[0][:80]}" for one in results.steps.get(name, ()) if one.error]
    return "".join([*cells, f"{len(exported)} of {len(HOMES)}  ", "; ".join(errors)]).rstrip()


def _speeds(performance: dict[str, Any] | None) -> str:
    calls = performance["calls"] if performance else ()
    speedups = [one["speedup"] for one in calls if one["kernel_ms"] is not None]
    if performance is None or not speedups:
        return "not measured"
    left, mean = len(calls) - len(speedups), performance["geometric_mean"]
    told = "wrong at its size" if mean is None else f"{mean:.2f}x ({min(speedups):.2f} to {max(speedups):.2f})"
    return told + (f", {left} PyTorch's" if left else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--jobs", type=int, default=5, help="operators at once; timing is always alone")
    parser.add_argument("--tuning-s", type=float, default=12.0, help="for the search of each operator")
    parser.add_argument("--timing-s", type=float, default=0.5, help="at most, for each shape and dtype")
    parser.add_argument("--limit-s", type=float, default=520.0, help="for everything")
    parser.add_argument("--by-hand-s", type=float, default=75.0, help="of these, for the operators' own tests")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--small", action="store_true", help="two shapes, one dtype: for machines without a GPU")
    parser.add_argument("--folder", type=Path, help="keep the projects here, and go on with those that are there")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    end = time.monotonic() + options.limit_s
    config = CheckConfig(device=options.device, timing_s=options.timing_s)
    judge = Judge(replace(config, timing=False))
    has_gpu = judge.device == "cuda"
    facts = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "device": judge.device,  # which one, every check says in its environment
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "torch": version("torch"),
        "triton": version("triton"),
        "commit": options.commit,
        **{name: getattr(options, name) for name in ("jobs", "tuning_s", "timing_s", "limit_s", "small")},
    }
    results = Results(options.out, facts)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder, deadline = (options.folder or Path(name)).resolve(), end - CLOSING_S - options.by_hand_s * has_gpu
        bench = Bench(judge, config, folder, results, options, has_gpu, deadline)
        waiting = {one: start_waiting() for one in options.only if has_gpu}
        try:
            take_all_through(bench, options.only)
            measure_all_by_hand(bench, waiting, end)
        finally:
            for process in waiting.values():
                process.kill()
    for one in options.only if has_gpu else ():
        print(f"{one}\n{results.found(one, 'by hand').get('table', 'not measured')}")
    print(f"{'operator':<28}{'accuracy':<14}{'check':<34}{'tune':<34}{'of a copy: least, median, most':<34}exports")
    print("\n".join(format_row(results, one) for one in options.only), flush=True)
    os._exit(0)  # a thread may still wait for what was ended


if __name__ == "__main__":
    main()
