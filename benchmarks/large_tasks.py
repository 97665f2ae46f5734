"""How long verdicts on large tasks take: right kernels for ten tasks of 2 to 13 GB, judged by one open judge.

    PYTHONPATH=src python benchmarks/large_tasks.py --out results.json
    PYTHONPATH=src python benchmarks/large_tasks.py --at-once 4 --no-timing --only swish softmax --out results.json
    PYTHONPATH=src python benchmarks/large_tasks.py --ballast-to-gb 24 --out results.json
    PYTHONPATH=src python benchmarks/large_tasks.py --kernelbench ../KernelBench --out results.json

The first verdict on a task is cold, the others are warm; certificates of earlier runs are left aside. With
`--ballast-to-gb` another process holds the rest of the GPU's memory. With `--kernelbench` that project evaluates
the same pairs afterwards, in a fresh process per kernel. GB are 10^9 bytes. `--out` is written after every verdict.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import runpy
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

from judge_throughput import commit  # noqa: E402

from tilesmith.config import CheckConfig  # noqa: E402
from tilesmith.errors import TilesmithError  # noqa: E402
from tilesmith.judge import Judge  # noqa: E402
from tilesmith.records import Evaluation, GateTiming, Speedup  # noqa: E402

FOLDER = ROOT / "benchmarks" / "large_tasks"
NAMES = tuple(sorted(path.stem for path in (FOLDER / "tasks").glob("*.py")))
REASON_LENGTH = 500
KERNELBENCH_LIMIT_S = 1200.0


@dataclass(frozen=True)
class Pair:
    """A task and the kernel for it."""

    name: str
    gigabytes: float

    @property
    def task(self) -> Path:
        return FOLDER / "tasks" / f"{self.name}.py"

    @property
    def kernel(self) -> Path:
        return FOLDER / "kernels" / f"{self.name}.py"


@dataclass(frozen=True)
class Job:
    """One verdict to be asked for; turn 0 of a pair is the cold one."""

    pair: Pair
    turn: int


@dataclass(frozen=True)
class Row:
    """What one verdict was and how long it took."""

    task: str
    gigabytes: float
    turn: int
    verdict: str
    reason: str
    seconds: float
    began_s: float
    """Since the first job began."""
    gates: tuple[GateTiming, ...] = ()
    candidate_ms: float | None = None
    speedups: dict[str, Speedup] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def timing_s(self) -> list[float]:
        """The seconds of the timing gate, where the kernel came so far."""
        return [gate.seconds for gate in self.gates if gate.gate == "timing"]


@dataclass(frozen=True)
class KernelBenchRow:
    """What KernelBench said of one pair; `seconds` is its whole process, `answer` what the child wrote."""

    task: str
    seconds: float
    answer: dict[str, Any]


@dataclass(frozen=True)
class Results:
    """Everything one run of this script found, so far."""

    date: str
    commit: str
    cores: int | None
    options: dict[str, Any]
    order: str
    ballast: dict[str, float] | None = None
    environment: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    """From the first job to the last verdict."""
    rows: tuple[Row, ...] = ()
    kernelbench: tuple[KernelBenchRow, ...] = ()

    @property
    def verdicts_per_minute(self) -> float:
        verdicts = sum(row.verdict != "error" for row in self.rows)
        return round(verdicts / self.seconds * 60, 2) if self.seconds else 0.0


Save = Callable[[Results], None]


def find_pairs(names: Sequence[str]) -> list[Pair]:
    return sorted((Pair(name, measure_gigabytes(name)) for name in names), key=lambda pair: pair.gigabytes)


def measure_gigabytes(name: str) -> float:
    """Inputs, parameters and outputs of a task together, found on the meta device, which holds no numbers."""
    import torch

    with torch.device("meta"), torch.no_grad():
        task = runpy.run_path(str(FOLDER / "tasks" / f"{name}.py"))
        model, inputs = task["Model"](*task["get_init_inputs"]()), task["get_inputs"]()
        tensors = [*inputs, *model.parameters(), model(*inputs)]
    return round(float(sum(tensor.nbytes for tensor in tensors)) / 1e9, 2)


def plan_jobs(pairs: Sequence[Pair], repeat: int, at_once: int) -> list[Job]:
    if at_once == 1:
        return [Job(pair, turn) for pair in pairs for turn in range(repeat)]
    return [Job(pair, turn) for turn in range(repeat) for pair in pairs]


def describe_order(at_once: int) -> str:
    return "each task is repeated directly" if at_once == 1 else "all tasks once, then all again"


def judge_all(results: Results, config: CheckConfig, jobs: Sequence[Job], at_once: int, save: Save) -> Results:
    """Threads take the jobs from one list, in order."""
    with Judge(config) as judge, ThreadPoolExecutor(at_once) as pool:
        start = time.monotonic()
        futures = [pool.submit(judge_one, judge, job, start) for job in jobs]
        try:
            for future in as_completed(futures):
                row, environment = future.result()
                results = replace(
                    results,
                    environment=results.environment or environment,
                    seconds=round(time.monotonic() - start, 2),
                    rows=(*results.rows, row),
                )
                save(results)
                print(f"{row.task} turn {row.turn}: {row.verdict}, {row.seconds} s, {row.reason}", flush=True)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return results


def judge_one(judge: Judge, job: Job, start: float) -> tuple[Row, dict[str, Any]]:
    """The row of one job and the environment that the judge reports; a failed check is a row, too."""
    pair, began = job.pair, time.monotonic()
    verdict, evaluation = "error", None
    try:
        evaluation = judge.check(pair.task, pair.kernel)
        verdict, reason = str(evaluation.verdict), evaluation.reason
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
    seconds = round(time.monotonic() - began, 3)
    shown = reason[:REASON_LENGTH]
    row = Row(pair.name, pair.gigabytes, job.turn, verdict, shown, seconds, round(began - start, 3))
    return (row, {}) if evaluation is None else (with_details(row, evaluation), evaluation.environment)


def with_details(row: Row, evaluation: Evaluation) -> Row:
    row, timing = replace(row, gates=evaluation.gates, notes=evaluation.notes), evaluation.timing
    return row if timing is None else replace(row, candidate_ms=timing.candidate_ms.p50, speedups=timing.speedup)


@contextlib.contextmanager
def holding_memory(left_free_gb: float | None) -> Iterator[dict[str, float] | None]:
    """A child holds all GPU memory but this; it ends with the block, or when this process ends."""
    if left_free_gb is None:
        yield None
        return
    command = [sys.executable, str(FOLDER / "hold_memory.py"), str(left_free_gb)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    try:
        line = child.stdout.readline()
        if not line:
            sys.exit("the child that should hold GPU memory failed: --ballast-to-gb needs torch with a free GPU")
        yield json.loads(line)
    finally:
        child.terminate()
        child.wait()


@contextlib.contextmanager
def fresh_cache() -> Iterator[None]:
    """Certificates of earlier runs would make a cold verdict warmer."""
    before = os.environ.get("XDG_CACHE_HOME")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        try:
            yield
        finally:
            os.environ.pop("XDG_CACHE_HOME")
            if before is not None:
                os.environ["XDG_CACHE_HOME"] = before


def ask_kernelbench(results: Results, checkout: Path, pairs: Sequence[Pair], timing: bool, save: Save) -> Results:
    """One pair after another; nothing more is asked where KernelBench cannot be imported."""
    for pair in pairs:
        row = ask_kernelbench_once(checkout, pair, timing)
        results = replace(results, kernelbench=(*results.kernelbench, row))
        save(results)
        missing = row.answer.get("not_importable")
        if missing is not None:
            print(f"KernelBench cannot be imported ({missing}): give its checkout, and install its requirements")
            break
        said = {name: row.answer[name] for name in ("correctness", "error") if name in row.answer}
        print(f"KernelBench {row.task}: {row.seconds} s, {said}", flush=True)
    return results


def ask_kernelbench_once(checkout: Path, pair: Pair, timing: bool) -> KernelBenchRow:
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "answer.json"
        files = [str(path) for path in (FOLDER / "kernelbench_check.py", checkout, pair.task, pair.kernel)]
        command = [sys.executable, *files, str(int(timing)), str(out)]
        try:
            child = subprocess.run(command, capture_output=True, text=True, timeout=KERNELBENCH_LIMIT_S)
            answer = json.loads(out.read_text()) if out.exists() else {"error": child.stderr[-REASON_LENGTH:]}
        except subprocess.TimeoutExpired:
            answer = {"error": f"took longer than {KERNELBENCH_LIMIT_S:.0f} s"}
    return KernelBenchRow(pair.name, round(time.monotonic() - began, 3), answer)


def save_to(path: Path, results: Results) -> None:
    """The file is whole at every moment."""
    document = asdict(results) | {"verdicts_per_minute": results.verdicts_per_minute}
    temporary = path.with_name(f"{path.name}.tmp")
    temporary.write_text(json.dumps(document, indent=1, default=str) + "\n")
    temporary.replace(path)


def format_table(results: Results, pairs: Sequence[Pair]) -> str:
    lines = [
        f"{'task':<22}{'GB':>7}  {'verdict':<16}{'cold s':>8}{'warm s':>8}{'timing s':>10}{'KernelBench s':>15}"
    ]
    for pair in pairs:
        rows = [row for row in results.rows if row.task == pair.name]
        cold = [row for row in rows if row.turn == 0]
        warm = [row for row in rows if row.turn > 0]
        theirs = [r.seconds for r in results.kernelbench if r.task == pair.name and "call_s" in r.answer]
        verdict = "/".join(sorted({row.verdict for row in rows}))
        times = [
            median([row.seconds for row in cold]),
            median([row.seconds for row in warm]),
            median([seconds for row in warm or cold for seconds in row.timing_s]),
            median(theirs),
        ]
        cells = "".join(f"{time:>{width}}" for time, width in zip(times, (8, 8, 10, 15), strict=True))
        lines.append(f"{pair.name:<22}{pair.gigabytes:>7.2f}  {verdict:<16}{cells}")
    return "\n".join([*lines, f"{results.verdicts_per_minute} verdicts per minute ({results.order})"])


def median(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds):.1f}" if seconds else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--at-once", type=int, default=1, help="verdicts in flight")
    parser.add_argument("--no-timing", action="store_true")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--repeat", type=int, default=2, help="verdicts per task, the cold one included")
    parser.add_argument("--device", default="auto", help="auto, cpu (small shapes, not timed) or cuda")
    parser.add_argument("--ballast-to-gb", type=float, default=None, help="GPU memory left free")
    parser.add_argument("--kernelbench", type=Path, default=None, help="a checkout of KernelBench")
    parser.add_argument("--commit", default=None, help="where there is no git to ask")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    pairs = find_pairs(options.only)
    results = Results(
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        commit=options.commit or commit(),
        cores=os.cpu_count(),
        options={name: value.name if isinstance(value, Path) else value for name, value in vars(options).items()},
        order=describe_order(options.at_once),
    )

    def save(so_far: Results) -> None:
        save_to(options.out, so_far)

    config = CheckConfig(device=options.device, timing=not options.no_timing)
    jobs = plan_jobs(pairs, options.repeat, options.at_once)
    with holding_memory(options.ballast_to_gb) as ballast:
        if ballast is not None:
            print(f"GPU memory left free: {ballast['free_gb']} of {ballast['total_gb']} GB", flush=True)
        results = replace(results, ballast=ballast)
        try:
            with fresh_cache():
                results = judge_all(results, config, jobs, options.at_once, save)
        except TilesmithError as error:
            sys.exit(f"error: {error}")
        if options.kernelbench is not None:
            results = ask_kernelbench(results, options.kernelbench, pairs, not options.no_timing, save)
    print(format_table(results, pairs))


if __name__ == "__main__":
    main()
