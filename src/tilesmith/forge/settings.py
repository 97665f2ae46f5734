"""Every setting of the loop, once. `--effort` sets them all, and each has an option of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

from tilesmith.errors import UsageError
from tilesmith.records import MAX_OUTPUT_TOKENS, STAGES


@dataclass(frozen=True)
class ForgeSettings:
    """How much is tried, and when to stop."""

    seeds: int = 3
    """First versions, asked for at once."""
    playbook: bool = False
    """Whether the first of them is the playbook's, and its plan is in every prompt. Every effort says so; runs that
    were recorded before there was a choice have neither."""
    rounds: int = 3
    """Times the best kernel is analyzed and improved."""
    repairs: int = 3
    """Tries to repair a failing kernel."""
    spare_repairs: int = 1
    """The same where the run can do without it: a failing seed when another has passed, a failing stage."""
    tuning_s: float = 60.0
    """How long the playbook may measure tunings of a kernel that it writes, where there is a GPU; 0 does not."""
    stages: str = "auto"
    """Which tuning stages: auto, all, none, or a list such as grid,memory. auto needs a GPU to measure them."""
    patience: int = 1
    """Rounds without a gain before the rounds end."""
    min_gain: float = 1.01
    """How many times faster a kernel must be to replace the best."""
    target_speedup: float | None = None
    """Stop when this is reached."""
    max_tokens: int | None = None
    max_cost: float | None = None
    """Dollars."""
    max_minutes: float | None = None
    """Spent on calls and verdicts, so that a resumed run is not charged for its sleep."""
    max_output_tokens: int = MAX_OUTPUT_TOKENS
    """Per call."""
    confirm: bool = True
    """Judge the winner again in a fresh process under an unseen seed."""
    sanitize: bool = False
    """That judgment includes compute-sanitizer's memcheck and racecheck, where it is installed."""

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and not least <= value < math.inf:
                raise UsageError(f"--{name.replace('_', '-')} {value:g}: must be at least {least:g}")
        unknown = [stage for stage in self._named_stages if stage not in STAGES]
        if self.stages not in ("auto", "all", "none") and unknown:
            raise UsageError(f"--stages {self.stages}: use auto, all, none or some of {', '.join(STAGES)}")

    @property
    def _named_stages(self) -> tuple[str, ...]:
        return tuple(self.stages.split(","))

    def chosen_stages(self) -> tuple[str, ...]:
        """In their fixed order, whatever order they were named in."""
        if self.stages in ("auto", "all"):
            return STAGES
        return tuple(stage for stage in STAGES if stage in self._named_stages)


_LEAST: dict[str, float] = {
    "seeds": 1,
    "rounds": 0,
    "repairs": 0,
    "spare_repairs": 0,
    "patience": 1,
    "tuning_s": 0,
    "min_gain": 1.0,
    "target_speedup": 0.0,
    "max_tokens": 1,
    "max_cost": 0.0,
    "max_minutes": 0.0,
    "max_output_tokens": 256,
}

EFFORTS = {
    "quick": ForgeSettings(
        playbook=True, seeds=1, rounds=1, repairs=2, spare_repairs=0, tuning_s=20.0, stages="none"
    ),
    "normal": ForgeSettings(playbook=True),
    "thorough": ForgeSettings(
        playbook=True,
        seeds=5,
        rounds=6,
        repairs=5,
        spare_repairs=3,
        patience=2,
        max_output_tokens=2 * MAX_OUTPUT_TOKENS,
        sanitize=True,
    ),
}
DEFAULT_EFFORT = "normal"


def settings_for(effort: str, **chosen: Any) -> ForgeSettings:
    """The settings of `effort`, with those that were chosen (not None) put over them."""
    if effort not in EFFORTS:
        raise UsageError(f"unknown effort '{effort}': use {', '.join(EFFORTS)}")
    known = {one.name for one in fields(ForgeSettings)}
    return replace(
        EFFORTS[effort], **{name: chosen[name] for name in known & chosen.keys() if chosen[name] is not None}
    )
