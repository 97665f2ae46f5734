"""What 8, 64 and 512 GPUs would do with 250 tasks of 20 attempts, and where more of them stop helping.

    python benchmarks/suite_scale.py --out benchmarks/results/DATE-suite-scale.json

A simulation by discrete events, not a measurement. Each number and where it is from:

| number | value | from |
| --- | --- | --- |
| tasks, attempts of each | 250, 20 | KernelBench's size; three seeds at once, then one after another |
| verdicts at once on one GPU | 12 | the number that the samples were measured at |
| a verdict with timing | 39 samples, median 8.6 s | measured, H200, 12 at once; ASSUMED the same beside fewer |
| the first verdict of a task on a GPU (references start, baselines compile) | 15 samples, 15.5 s | the same run |
| tasks at once on one GPU | 12 | the default for an author that answers at once; up to 48 with a model |
| a model's call | 45 s in the median, log-normal with sigma 0.5 | ASSUMED: 4,000 tokens at 90 a second |
| calls at once | 400 | ASSUMED: what a provider lets one customer do |
| the driver for each attempt | 0.03 s, one at a time | measured, shared CPU: 0.22 s for 3 attempts and page |
| the driver for the page of a run | 0.15 s, one at a time | the same |
| lost to the cluster for each verdict | 0.01 s | ASSUMED: above the 0.7 ms that Ray takes for an empty task |
| a task stays on one GPU, the one with the fewest | always | so the suite works: references stay warm |

The driver forges all tasks in the threads of one Python, which take turns (docs/decisions/0018-ray.md).
Left out: tuning by measurement, confirmations, lost nodes, tasks that take longer than small ones. They make every
row longer and none of them shorter. Scaling stops where twice the GPUs save less than a tenth of the time.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import random
import statistics
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import simpy

VERDICTS = Path(__file__).parent / "results" / "2026-11-16-h200-judge-throughput-f37b60e.json"
SEEDS = 3
GPUS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


@dataclass(frozen=True)
class Setting:
    """One row of the table."""

    gpus: int
    jobs_per_gpu: int = 12
    """Tasks in work for each GPU."""
    call_s: float = 45.0
    """Median time of a model's call; 0 for an author that answers at once."""
    calls_at_once: int = 400
    tasks: int = 250
    attempts: int = 20
    verdicts_at_once: int = 12
    """On one GPU."""
    transport_s: float = 0.01
    driver_s: float = 0.03
    """Of the driver's one interpreter, for each attempt."""
    page_s: float = 0.15
    """The same, at the end of each task."""


@dataclass(frozen=True)
class Result:
    setting: Setting
    minutes: float
    verdicts_per_minute: float
    gpu_share: float
    """Of the places for verdicts on all GPUs, how many were taken on average."""
    calls_share: float
    """Of the calls that may be made at once."""
    driver_share: float
    """Of the time of the driver's interpreter."""
    first_tenth_minutes: float
    """When a tenth of the tasks had ended."""


@dataclass(frozen=True)
class Durations:
    """What was measured, to draw from."""

    warm: tuple[float, ...]
    first: tuple[float, ...]


def read_durations(file: Path) -> Durations:
    found = json.loads(file.read_text())
    return Durations(*(tuple(one["seconds"] for one in found[name]) for name in ("samples", "warm_up")))


def simulate(setting: Setting, durations: Durations, seed: int = 0) -> Result:
    world, dice = simpy.Environment(), random.Random(seed)
    calls, driver = simpy.Resource(world, setting.calls_at_once), simpy.Resource(world)
    jobs = simpy.Store(world)
    jobs.items = list(range(setting.tasks))
    ended: list[float] = []
    busy = {"gpu": 0.0, "calls": 0.0, "driver": 0.0}

    def held(resource: simpy.Resource, name: str, seconds: float) -> Iterator[simpy.Event]:
        with resource.request() as place:
            yield place
            busy[name] += seconds
            yield world.timeout(seconds)

    def attempt(gpu: simpy.Resource, is_first: bool) -> Iterator[simpy.Event]:
        if setting.call_s:
            yield from held(calls, "calls", dice.lognormvariate(math.log(setting.call_s), 0.5))
        yield from held(driver, "driver", setting.driver_s)
        verdict_s = dice.choice(durations.first if is_first else durations.warm)
        yield from held(gpu, "gpu", verdict_s + setting.transport_s)

    def worker(gpu: simpy.Resource) -> Iterator[simpy.Event]:
        while jobs.items:
            yield jobs.get()
            seeds = [world.process(attempt(gpu, number == 0)) for number in range(min(SEEDS, setting.attempts))]
            yield simpy.AllOf(world, seeds)
            for _ in range(setting.attempts - len(seeds)):
                yield from attempt(gpu, False)
            yield from held(driver, "driver", setting.page_s)
            ended.append(world.now)

    gpus = [simpy.Resource(world, setting.verdicts_at_once) for _ in range(setting.gpus)]
    for gpu in gpus * setting.jobs_per_gpu:
        world.process(worker(gpu))
    world.run()
    assert len(ended) == setting.tasks
    whole = max(ended)
    return Result(
        setting,
        minutes=round(whole / 60, 1),
        verdicts_per_minute=round(setting.tasks * setting.attempts / whole * 60, 1),
        gpu_share=round(busy["gpu"] / (whole * setting.gpus * setting.verdicts_at_once), 3),
        calls_share=round(busy["calls"] / (whole * setting.calls_at_once), 3),
        driver_share=round(busy["driver"] / whole, 3),
        first_tenth_minutes=round(sorted(ended)[setting.tasks // 10 - 1] / 60, 1),
    )


def settings() -> list[Setting]:
    """The question as it was asked, then one thing changed at a time."""
    asked = [Setting(gpus) for gpus in GPUS]
    at_once = [Setting(gpus, call_s=0.0) for gpus in GPUS]
    crowded = [Setting(gpus, jobs_per_gpu=jobs) for gpus, jobs in ((1, 48), (4, 48), (8, 32), (8, 6))]
    slow = [replace(Setting(gpus), call_s=120.0) for gpus in (8, 64)]
    limited = [replace(Setting(gpus), calls_at_once=50) for gpus in (8, 64)]
    return [*asked, *at_once, *crowded, *slow, *limited]


def stops_scaling(results: list[Result]) -> Iterator[str]:
    """Of rows that differ in nothing but the number of GPUs, each with twice as many as the one before."""
    for call_s in dict.fromkeys(one.setting.call_s for one in results):
        rows = [one for one in results if one.setting in [Setting(gpus, call_s=call_s) for gpus in GPUS]]
        steps = itertools.pairwise(rows)
        last = next((one for one, more in steps if more.minutes > 0.9 * one.minutes), None)
        if len(rows) == len(GPUS) and last is not None:
            yield f"calls of {call_s:g} s: more than {last.setting.gpus} GPUs do not help ({last.minutes} minutes)"


def table(results: list[Result]) -> Iterator[str]:
    columns = (
        "GPUs",
        "tasks a GPU",
        "call s",
        "calls at once",
        "minutes",
        "verdicts/min",
        "GPUs busy",
        "calls busy",
        "driver busy",
    )
    yield f"| {' | '.join((*columns, 'first tenth'))} |"
    yield f"|{' ---: |' * (len(columns) + 1)}"
    for one in results:
        asked = one.setting
        yield (
            f"| {asked.gpus} | {asked.jobs_per_gpu} | {asked.call_s:g} | {asked.calls_at_once} | {one.minutes} "
            f"| {one.verdicts_per_minute} | {one.gpu_share:.0%} | {one.calls_share:.0%} "
            f"| {one.driver_share:.0%} "
            f"| {one.first_tenth_minutes} min |"
        )


def document(results: list[Result], durations: Durations) -> dict[str, Any]:
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "simulated": True,
        "durations_from": VERDICTS.name,
        "warm_median_s": statistics.median(durations.warm),
        "first_median_s": statistics.median(durations.first),
        "stops_scaling": list(stops_scaling(results)),
        "results": [asdict(one) for one in results],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    durations = read_durations(VERDICTS)
    results = [simulate(one, durations) for one in settings()]
    if options.out:
        options.out.write_text(json.dumps(document(results, durations), indent=1) + "\n")
    print("\n".join([*table(results), "", *stops_scaling(results)]))


if __name__ == "__main__":
    main()
