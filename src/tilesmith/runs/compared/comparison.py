"""Two runs side by side: what they were asked, what came of them, and whether the difference is more than noise."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilesmith.records import Speedup
from tilesmith.runs.compared.facts import RunFacts, read_facts
from tilesmith.runs.manifest import read_manifest


@dataclass(frozen=True)
class SettingDifference:
    """A setting that two runs do not share; null where a run has none."""

    setting: str
    first: Any
    second: Any


@dataclass(frozen=True)
class SpeedupComparison:
    """The speedups of two best kernels over one baseline."""

    baseline: str
    first: Speedup | None
    second: Speedup | None
    overlap: bool | None
    """Whether the intervals meet, so that neither is known to be faster; null where one was not measured."""


@dataclass(frozen=True)
class RunComparison:
    first: RunFacts
    second: RunFacts
    settings: tuple[SettingDifference, ...]
    baselines: tuple[SpeedupComparison, ...]
    notes: tuple[str, ...]
    """Why the numbers may not be comparable, a sentence each."""


def compare_runs(first: Path, second: Path) -> RunComparison:
    """Raises RunError where one of them is damaged."""
    facts = read_facts(first), read_facts(second)
    heads = [read_manifest(folder) for folder in (first, second)]
    settings = setting_differences(*({**head.settings, **head.check} for head in heads))
    return RunComparison(*facts, settings, compare_speedups(*facts), tuple(_notes(*facts)))


def compare_speedups(first: RunFacts, second: RunFacts) -> tuple[SpeedupComparison, ...]:
    baselines = dict.fromkeys([*first.speedup, *second.speedup])
    pairs = ((name, first.speedup.get(name), second.speedup.get(name)) for name in baselines)
    return tuple(SpeedupComparison(name, one, other, _overlap(one, other)) for name, one, other in pairs)


def _overlap(one: Speedup | None, other: Speedup | None) -> bool | None:
    return None if one is None or other is None else one.low <= other.high and other.low <= one.high


def setting_differences(first: dict[str, Any], second: dict[str, Any]) -> tuple[SettingDifference, ...]:
    names = dict.fromkeys([*first, *second])
    pairs = (SettingDifference(name, first.get(name), second.get(name)) for name in names)
    return tuple(one for one in pairs if one.first != one.second)


def _notes(first: RunFacts, second: RunFacts) -> list[str]:
    notes = []
    if first.task != second.task:
        notes.append(f"different tasks: {first.task} and {second.task}")
    elif first.task_sha256 != second.task_sha256:
        notes.append(f"two texts of a task named {first.task}: what it computes may differ")
    if first.device != second.device:
        notes.append(f"different machines: {first.device or 'unknown'} and {second.device or 'unknown'}")
    return notes
