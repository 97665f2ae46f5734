"""Tasks a minute of `tilesmith suite` by how many are worked at once, and how busy the GPU was meanwhile.

    PYTHONPATH=src python3 benchmarks/suite_throughput.py --tasks examples --jobs 1 2 4 --out results.json
    PYTHONPATH=src python3 benchmarks/suite_throughput.py --tasks benchmarks/playbook_tasks/operators --jobs 8 \\
        --out results.json
    PYTHONPATH=src python3 benchmarks/suite_throughput.py --made 12 --jobs 2 --on here ray --out results.json

Each row is a new suite by the playbook at quick effort without rounds, tuning and confirmation, in a process of its
own, in the order given, and then in the reverse order, as often as `--repeat` says, so that a machine that slows
down shows. With `--on here ray` each row is also run on a Ray cluster of this machine, of one node, that is
started before and ended after it and not counted. What Ray costs is given by the whole time, which has the seconds
of connecting and of starting a judge in it; by the time of a task alone; and by the CPU time of all processes,
which others on the machine change least. On a GPU, its use is what nvidia-smi reports each half second: the share
of time in which some kernel ran. `--made N` takes N small elementwise tasks made here. On shared
CPUs compare rows of one run only, or of two started together, one with `--on here` and one with `--on ray`: then
others slow both down alike.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

from judge_throughput import commit  # noqa: E402

TASK = """import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.{}(x) * {}


def get_inputs():
    return [torch.rand(256, 384)]
"""
FUNCTIONS = ("relu", "tanh", "sigmoid", "sin", "cos", "exp", "sqrt", "abs", "neg", "square")
SAMPLE_S = 0.5
LOOPBACK = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Ray tells nobody, and uses 127.0.0.1 as it stands."""


@dataclass(frozen=True)
class Row:
    """One suite from beginning to end."""

    jobs: int
    on: str
    """here or ray."""
    tasks: int
    outcomes: dict[str, int]
    seconds: float
    """Starting and the page included."""
    cpu_seconds: float | None
    """Of all processes together, those of a running Ray cluster too; null where there is no control group."""
    tasks_per_minute: float
    gpu_share: float | None
    """Of the time, by nvidia-smi; null without a GPU."""
    task_seconds: tuple[float, ...]
    """Of each task, with others beside it."""
    load: float
    """Of the machine in the last minute; on two cores above 2 means that others were at work."""


class CpuUse:
    """The CPU time of this process and all that come from it, by a control group of their own (version 1)."""

    def __init__(self) -> None:
        self._group = Path("/sys/fs/cgroup/cpuacct") / f"suite-throughput-{os.getpid()}"
        try:
            self._group.mkdir()
            (self._group / "cgroup.procs").write_text(str(os.getpid()))
        except OSError:
            self._group = Path()

    @property
    def seconds(self) -> float | None:
        file = self._group / "cpuacct.usage"
        return int(file.read_text()) / 1e9 if file.exists() else None


class GpuUse:
    """Asks nvidia-smi while a suite runs."""

    def __init__(self) -> None:
        self._samples: list[float] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._ask, daemon=True)

    def __enter__(self) -> GpuUse:
        if shutil.which("nvidia-smi"):
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()

    @property
    def share(self) -> float | None:
        return round(statistics.fmean(self._samples) / 100, 3) if self._samples else None

    def _ask(self) -> None:
        command = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"]
        while not self._ended.wait(SAMPLE_S):
            done = subprocess.run(command, capture_output=True, text=True)
            self._samples += [float(line) for line in done.stdout.split() if line.isdecimal()]


@contextlib.contextmanager
def cluster_of_one(cores: int) -> Iterator[str]:
    """The address of a Ray cluster that lasts as long as this."""
    from ray.cluster_utils import Cluster

    node = {"num_cpus": cores, "object_store_memory": 80 * 2**20, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "node_ip_address": "127.0.0.1"})
    try:
        yield cluster.address
    finally:
        cluster.shutdown()


def run(places: list[str], jobs: int, on: str, device: str, folder: Path, cpu: CpuUse) -> Row:
    out = folder / f"{on}-{jobs}-{time.monotonic_ns()}"
    command = [
        sys.executable,
        "-m",
        "tilesmith",
        "suite",
        *places,
        "--out",
        str(out),
        "--jobs",
        str(jobs),
        "--on",
        on,
    ]
    command += ["--author", "playbook", "--effort", "quick", "--rounds", "0", "--tuning-s", "0", "--no-confirm"]
    with contextlib.ExitStack() as stack:
        cluster = {"RAY_ADDRESS": stack.enter_context(cluster_of_one(os.cpu_count() or 2))} if on == "ray" else {}
        use = stack.enter_context(GpuUse())
        began, cpu_began = time.monotonic(), cpu.seconds
        done = subprocess.run(
            [*command, "--device", device, "--json"], env=os.environ | cluster, capture_output=True, text=True
        )
        seconds, cpu_ended = time.monotonic() - began, cpu.seconds
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr[-500:]}")
    rows = json.loads(done.stdout)["rows"]
    names = [row["outcome"] for row in rows]
    outcomes = {name: names.count(name) for name in dict.fromkeys(names)}
    return Row(
        jobs=jobs,
        on=on,
        tasks=len(rows),
        outcomes=outcomes,
        seconds=round(seconds, 1),
        cpu_seconds=None if cpu_began is None or cpu_ended is None else round(cpu_ended - cpu_began, 1),
        tasks_per_minute=round(60 * len(rows) / seconds, 2),
        gpu_share=use.share,
        task_seconds=tuple(row["seconds"] for row in rows),
        load=round(os.getloadavg()[0], 1),
    )


def lost_to_ray(rows: list[Row], jobs: int) -> dict[str, float] | None:
    """How many times as long it takes on Ray as without, in the median over rows of one number of jobs."""
    here, ray = ([row for row in rows if (row.on, row.jobs) == (on, jobs)] for on in ("here", "ray"))
    if not here or not ray:
        return None

    def ratio(measure: Callable[[Row], float]) -> float:
        return round(statistics.median(map(measure, ray)) / statistics.median(map(measure, here)), 3)

    found = {"whole": ratio(lambda row: row.seconds), "task": ratio(lambda row: statistics.fmean(row.task_seconds))}
    return found | ({"cpu": ratio(lambda row: row.cpu_seconds or 0.0)} if here[0].cpu_seconds else {})


def make_tasks(count: int, folder: Path) -> str:
    folder.mkdir()
    for number in range(count):
        name, factor = FUNCTIONS[number % len(FUNCTIONS)], 1 + number // len(FUNCTIONS)
        (folder / f"{number}_{name}.py").write_text(TASK.format(name, factor))
    return str(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", default=[str(ROOT / "examples")])
    parser.add_argument("--made", type=int, help="so many small tasks made here, in place of --tasks")
    parser.add_argument("--jobs", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument("--on", nargs="+", default=["here"], choices=["here", "ray"])
    parser.add_argument("--repeat", type=int, default=2, help="how often; every second time in reverse")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    os.environ |= {"PYTHONPATH": str(ROOT / "src"), **LOOPBACK}
    plan = [(jobs, on) for jobs in options.jobs for on in options.on]
    rows: list[Row] = []
    cpu = CpuUse()
    with tempfile.TemporaryDirectory() as folder:
        places = [make_tasks(options.made, Path(folder) / "tasks")] if options.made else options.tasks
        turns = [plan if turn % 2 == 0 else plan[::-1] for turn in range(options.repeat)]
        for jobs, on in itertools.chain.from_iterable(turns):
            rows.append(run(places, jobs, on, options.device, Path(folder), cpu))
            found = {
                "date": datetime.now(UTC).isoformat(timespec="seconds"),
                "commit": commit(),
                "cores": os.cpu_count(),
                "options": {name: str(value) for name, value in vars(options).items() if name != "out"},
                "times_as_long_on_ray": {jobs: lost_to_ray(rows, jobs) for jobs in options.jobs},
                "rows": [asdict(row) for row in rows],
            }
            options.out.write_text(json.dumps(found, indent=1) + "\n")
            last = rows[-1]
            share = "" if last.gpu_share is None else f"  GPU {last.gpu_share:.0%}"
            used = "" if last.cpu_seconds is None else f"  {last.cpu_seconds} s of CPU"
            print(
                f"{on} --jobs {jobs}: {last.tasks_per_minute} tasks a minute{share}{used}  {last.outcomes}",
                flush=True,
            )
    print(found["times_as_long_on_ray"])


if __name__ == "__main__":
    main()
