"""What the playbook reaches offline on benchmarks/playbook_tasks: by default operators and chains.

    PYTHONPATH=src python3 benchmarks/playbook_tasks.py --seconds 480 --suite suite --out results.json
    PYTHONPATH=src python3 benchmarks/playbook_tasks.py --seconds 470 --page docs/suite-sample.html --out F
    PYTHONPATH=src python3 benchmarks/playbook_tasks.py --only '*norm*' mlp_gelu --confirm --out results.json
    PYTHONPATH=src python3 benchmarks/playbook_tasks.py --folders convolutions attention networks --out results.json
    PYTHONPATH=src python3 benchmarks/playbook_tasks.py --device cpu --jobs 1 --only hinge_loss --out results.json

All tasks are one suite of the real command line, and each of them is a run of `tilesmith forge` in it:

    tilesmith suite TASK... --author playbook --effort quick --rounds ROUNDS --tuning-s SECONDS --no-confirm

Quick effort has one seed and no stages. The confirmation is left out unless `--confirm` is given, because fresh
processes compile the baseline again; the numbers are then those of the full verdict on the best attempt. One task
at a time is timed, whatever `--jobs` is. The same command with the same `--suite` goes on where it stopped.
Meanwhile nvidia-smi says twice a second whether some kernel runs. GB are 10^9 bytes. `--page` writes the page of
this same suite to another place, too, where it links only to what lies beside it.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from fnmatch import fnmatch
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

from judge_throughput import commit  # noqa: E402
from suite_throughput import GpuUse  # noqa: E402

from tilesmith.records import (  # noqa: E402
    AttemptEvent,
    ConfirmationEvent,
    Evaluation,
    Event,
    FinishedEvent,
    SurveyEvent,
    to_json,
)
from tilesmith.runs.journal import read_events  # noqa: E402
from tilesmith.suite.document import DOCUMENT_NAME, read_suite  # noqa: E402
from tilesmith.suite.page import write_suite_page  # noqa: E402
from tilesmith.suite.records import Row as SuiteRow  # noqa: E402

FOLDER = ROOT / "benchmarks" / "playbook_tasks"
NAMES = tuple(f"{path.parent.name}/{path.stem}" for path in sorted(FOLDER.glob("*/*.py")))
FOLDERS = tuple(sorted({name.split("/")[0] for name in NAMES}))
LARGE_PRODUCT_FLOPS = 1e9
LEAST_SPEEDUP, LEAST_COPY_SHARE, LONGEST_S = 0.97, 0.85, 120.0
COPY_BYTES, COPIES = 2**30, 30


@dataclass(frozen=True)
class Copying:
    """How fast the GPU copies: bytes read and written over the median time."""

    gpu: str
    gb_per_s: float
    samples_ms: tuple[float, ...]


@dataclass(frozen=True)
class Row:
    """What became of one task."""

    task: str
    outcome: str
    """passed, kept (for PyTorch), failed, error or not run."""
    reason: str
    seconds: float = 0.0
    """From the task to the answer, with other tasks beside it."""
    bytes_moved: int | None = None
    """At least: inputs, parameters and outputs once."""
    flops: int | None = None
    bound: str | None = None
    """memory or compute, by the roofline."""
    has_large_product: bool = False
    """In float32, of a GFLOP or more."""
    kernel_ms: float | None = None
    speedups: dict[str, float] = field(default_factory=dict)
    """Over eager, graph, compile, and the best of them."""
    copy_share: float | None = None
    """Of the bandwidth of a copy; null for a task that memory does not bound."""
    scores: dict[int, float | None] = field(default_factory=dict)
    """Of every attempt."""
    evaluation: dict[str, Any] | None = None
    """The judge's whole answer about the best attempt, or about the last where none passed."""


@dataclass(frozen=True)
class Results:
    """Everything that was found so far."""

    date: str
    commit: str
    cores: int | None
    options: dict[str, Any]
    copying: Copying | None
    seconds: float = 0.0
    gpu_share: float | None = None
    """Of the time, in which some kernel ran; null without a GPU."""
    rows: tuple[Row, ...] = ()


def measure_copying() -> Copying | None:
    """In a process of its own, whose memory is free again afterwards; null without a GPU."""
    import torch

    if not torch.cuda.is_available():
        return None
    source = torch.rand(COPY_BYTES // 4, device="cuda")
    target = torch.empty_like(source)
    samples = []
    for _ in range(COPIES):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        target.copy_(source)
        end.record()
        end.synchronize()
        samples.append(begin.elapsed_time(end))
    rate = 2 * COPY_BYTES / statistics.median(samples) / 1e6
    return Copying(torch.cuda.get_device_name(), round(rate, 1), tuple(round(one, 5) for one in samples))


def run_suite(results: Results, names: Sequence[str], options: argparse.Namespace, suite: Path) -> Results:
    """The command line does all of them, and its folder says what came of each."""
    command = [sys.executable, "-m", "tilesmith", "suite", *(str(FOLDER / f"{name}.py") for name in names)]
    command += ["--out", str(suite), "--author", "playbook", "--effort", "quick", "--device", options.device]
    command += ["--rounds", str(options.rounds), "--tuning-s", str(options.tuning_s)]
    command += [
        "--confirm" if options.confirm else "--no-confirm",
        *(["--jobs", options.jobs] * bool(options.jobs)),
    ]
    began = time.monotonic()
    with GpuUse() as use, subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(ROOT / "src")}) as process:
        try:
            process.wait(options.seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
    seconds = round(time.monotonic() - began, 1)
    found: tuple[SuiteRow, ...] = ()
    if (suite / DOCUMENT_NAME).exists():
        ended = read_suite(suite)
        found = ended.rows
        if options.page:
            write_suite_page(replace(ended, rows=tuple(map(without_paths, found))), options.page)
    answers = {row.task.rpartition("/")[2]: row for row in found}
    rows = tuple(read_row(name, answers.get(name.rpartition("/")[2]), suite, results.copying) for name in names)
    return replace(results, seconds=seconds, gpu_share=use.share, rows=rows)


def without_paths(row: SuiteRow) -> SuiteRow:
    """For a page that others see: files by their place in this repository."""
    return replace(row, why=row.why.replace(f"{ROOT}/", ""))


def read_row(name: str, answer: SuiteRow | None, suite: Path, copying: Copying | None) -> Row:
    if answer is None:
        return Row(name, "not run", "the time was up")
    row = Row(name, answer.outcome, answer.why, answer.seconds)
    return row if answer.run is None else with_findings(row, suite / "runs" / answer.run, copying)


def with_findings(row: Row, run: Path, copying: Copying | None) -> Row:
    """What the run's folder tells about the task and its best kernel."""
    events = list(read_events(run / "events.jsonl"))
    survey = next(one.survey for one in events if isinstance(one, SurveyEvent))
    attempts = [one.attempt for one in events if isinstance(one, AttemptEvent)]
    profile, roofline = survey.profile, survey.roofline
    row = replace(
        row,
        bytes_moved=profile.bytes_moved,
        flops=profile.flops,
        bound=roofline.bound if roofline else None,
        has_large_product=profile.dtype == "float32" and (profile.tensor_flops or 0) >= LARGE_PRODUCT_FLOPS,
        scores={one.candidate.number: one.score for one in attempts},
    )
    evaluation = find_evaluation(events, next(one.best for one in events if isinstance(one, FinishedEvent)))
    if evaluation is None:
        return row
    row = replace(row, evaluation=to_json(evaluation))
    if row.outcome != "passed":
        return replace(row, reason=f"{row.reason}; the last: {evaluation.verdict}: {evaluation.reason}")
    if evaluation.timing is None:
        return row
    speedups = {kind: one.value for kind, one in evaluation.timing.speedup.items()}
    kernel_ms = evaluation.timing.candidate_ms.p50
    share = None
    if copying is not None and row.bound == "memory" and row.bytes_moved:
        share = round(row.bytes_moved / kernel_ms / 1e6 / copying.gb_per_s, 3)
    return replace(row, kernel_ms=kernel_ms, speedups=speedups | {"best": min(speedups.values())}, copy_share=share)


def find_evaluation(events: Sequence[Event], best: int | None) -> Evaluation | None:
    """Of the best kernel, by its confirmation where there is one; of the last attempt where none passed."""
    found = {
        one.attempt.candidate.number: one.attempt.evaluation for one in events if isinstance(one, AttemptEvent)
    }
    found |= {one.candidate: one.evaluation for one in events if isinstance(one, ConfirmationEvent)}
    return found[best] if best is not None else found[max(found)] if found else None


def format_row(row: Row) -> str:
    cells = [f"{row.task:<40} {row.outcome:<8}{row.seconds:>6.1f} s"]
    if row.kernel_ms is not None:
        cells += [f"{row.kernel_ms:>9.4f} ms"]
        cells += [
            f"{kind} {row.speedups.get(kind, math.nan):>6.2f}" for kind in ("eager", "graph", "compile", "best")
        ]
        cells += ["" if row.copy_share is None else f"copy {row.copy_share:.0%}"]
    else:
        cells += [row.reason.splitlines()[0][:150]]
    return "  ".join(cells)


def format_summary(results: Results) -> str:
    rows = results.rows
    counts = {
        kind: sum(row.outcome == kind for row in rows) for kind in ("passed", "kept", "failed", "error", "not run")
    }
    lines = [", ".join(f"{count} {kind}" for kind, count in counts.items()) + f" in {results.seconds:.0f} s"]
    if results.gpu_share is not None:
        lines.append(f"the GPU was busy for {results.gpu_share:.0%} of the time")
    elif results.copying is not None:
        lines.append("how busy the GPU was is not known: nvidia-smi is not here")
    if results.copying is not None:
        lines.append(f"a copy on {results.copying.gpu}: {results.copying.gb_per_s:.0f} GB/s")
    groups = {folder: [row for row in rows if row.task.startswith(f"{folder}/")] for folder in FOLDERS}
    groups["float32 product of a GFLOP or more"] = [row for row in rows if row.has_large_product]
    groups["others"] = [row for row in rows if not row.has_large_product]
    lines += [f"{what}: {format_means(group)}" for what, group in groups.items() if group]
    found = {
        f"slower than {LEAST_SPEEDUP}x": [r.task for r in rows if r.speedups.get("best", 1.0) < LEAST_SPEEDUP],
        f"memory-bound below {LEAST_COPY_SHARE:.0%} of a copy": [
            r.task for r in rows if r.copy_share is not None and r.copy_share < LEAST_COPY_SHARE
        ],
        f"longer than {LONGEST_S:.0f} s": [r.task for r in rows if r.seconds > LONGEST_S],
    }
    lines += [f"{what}: {', '.join(sorted(tasks)) or 'none'}" for what, tasks in found.items()]
    return "\n".join(lines)


def format_means(rows: Sequence[Row]) -> str:
    """What failed or was not run has no speedup and is counted, so that nobody takes it for a success."""
    written = [row.speedups["best"] for row in rows if row.outcome == "passed" and row.speedups]
    kept = [1.0 for row in rows if row.outcome == "kept"]
    missing = sum(row.outcome in ("failed", "error", "not run") for row in rows)
    left_out = f", {missing} without an answer left out" if missing else ""
    if not written:
        return f"none written and timed, {len(kept)} kept{left_out}"
    mean, of_all = statistics.geometric_mean(written), statistics.geometric_mean(written + kept)
    return (
        f"geometric mean over the best baseline {mean:.3f} ({len(written)} written), "
        f"{of_all:.3f} with {len(kept)} kept as 1{left_out}"
    )


def chosen(patterns: Sequence[str], folders: Sequence[str]) -> list[str]:
    """The tasks that match a pattern; one with a slash names its folder itself."""
    for pattern in patterns:
        if not any(matches(name, pattern, folders) for name in NAMES):
            known = ", ".join(name for name in NAMES if name.split("/")[0] in folders)
            others = ", ".join(folder for folder in FOLDERS if folder not in folders)
            more = f"; --folders takes {others} too" if others else ""
            sys.exit(f"--only {pattern}: no such task in {', '.join(folders)}; the tasks are {known}{more}")
    return [name for name in NAMES if any(matches(name, pattern, folders) for pattern in patterns)]


def matches(name: str, pattern: str, folders: Sequence[str]) -> bool:
    folder, stem = name.split("/")
    return (folder in folders or "/" in pattern) and (fnmatch(name, pattern) or fnmatch(stem, pattern))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", nargs="+", default=["*"], metavar="PATTERN", help="such as softmax_long, chains/*"
    )
    parser.add_argument(
        "--folders", nargs="+", default=["operators", "chains"], choices=FOLDERS, help="where --only looks"
    )
    parser.add_argument("--jobs", help="tasks at once; as the suite decides")
    parser.add_argument("--seconds", type=float, default=3600.0, help="for all tasks together")
    parser.add_argument("--rounds", type=int, default=1, help="further attempts per task")
    parser.add_argument("--tuning-s", type=float, default=20.0, help="seconds of measuring tunings per task")
    parser.add_argument("--confirm", action="store_true", help="judge every winner again in fresh processes")
    parser.add_argument("--device", default="auto", help="auto, cpu (small shapes, not timed) or cuda")
    parser.add_argument("--suite", type=Path, help="keep the suite here, or go on with it; a temporary folder")
    parser.add_argument("--page", type=Path, help="write the suite's page here, too")
    parser.add_argument("--commit", default=None, help="where there is no git to ask")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    names = chosen(options.only, options.folders)
    copying = None
    if options.device != "cpu":
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            copying = pool.submit(measure_copying).result()
    results = Results(
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        commit=options.commit or commit(),
        cores=os.cpu_count(),
        options={name: value.name if isinstance(value, Path) else value for name, value in vars(options).items()},
        copying=copying,
    )
    with tempfile.TemporaryDirectory() as folder:
        results = run_suite(results, names, options, options.suite or Path(folder) / "suite")
    options.out.write_text(json.dumps(asdict(results), indent=1) + "\n")
    print("\n".join(format_row(row) for row in sorted(results.rows, key=lambda row: row.task)))
    print(format_summary(results))


if __name__ == "__main__":
    main()
