"""The plots of a suite: a mark for each kernel on a logarithmic axis, and the share that is faster than x."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tilesmith.report.plots import Drawing, Plot, bars_height, draw, plain_numbers
from tilesmith.report.svg import COLORS
from tilesmith.suite.records import Row, Suite
from tilesmith.suite.statistics.speeds import BEST, OVER, gain_of, geometric_mean

_COLORS = {"eager": "c1", "graph": "c2", "compile": "c4", BEST: "ink"}
_COLUMNS = 56
"""Places along the axis, in which the marks are stacked."""
_TALLEST = 11
"""Marks on each other before they are drawn closer."""


def plots_of_suite(suite: Suite) -> dict[str, Plot]:
    return draw(_drawings(suite.rows))


def _drawings(rows: Sequence[Row]) -> Iterator[Drawing]:
    over = [one for one in OVER if any(_positive(rows, one))]
    if over:
        yield _marks(rows, over)
        yield _curves(rows, over)
    else:
        ratios = [row.error_ratio for row in rows if row.passed and row.error_ratio and row.error_ratio < math.inf]
        if len(ratios) > 1:
            yield _errors(ratios)


def _positive(rows: Iterable[Row], over: str) -> Iterator[float]:
    return (gain for row in rows if (gain := gain_of(row, over)) is not None and gain > 0)


def _marks(rows: Sequence[Row], over: Sequence[str]) -> Drawing:
    everything = [math.log(gain) for one in over for gain in _positive(rows, one)]
    left, right = min(0.0, *everything), max(0.0, *everything)

    def on_axes(axes: Any) -> None:
        for place, one in enumerate(over):
            shown = [row for row in rows if (gain_of(row, one) or 0) > 0]
            gains = list(_positive(rows, one))
            colors = [COLORS[_tone(row, one)] for row in shown]
            _stack(axes, gains, place, (left, right), colors)
            axes.plot([geometric_mean(gains)] * 2, [place - 0.44, place + 0.44], color=COLORS["ink"], linewidth=1.4)
        axes.set_yticks(range(len(over)), over)
        axes.set_ylim(len(over) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        _speed_axis(axes, left, right)
        axes.set_xlabel("speedup")

    told = (
        "Speedup over each baseline, a mark for each kernel that passed: green is faster and red is slower beyond "
        "its 95 % interval. The stroke is the geometric mean."
    )
    return Drawing("marks", "Speedups", told, on_axes, _height(over))


def _stack(
    axes: Any, values: Sequence[float], place: float, ends: tuple[float, float], colors: Sequence[str]
) -> None:
    """A mark for each value, those of about the same value beside each other, around the line of this place."""
    left, right = ends
    step = (right - left) / _COLUMNS or 1.0
    columns = [round((math.log(value) - left) / step) for value in values]
    tallest = max(map(columns.count, set(columns)), default=1)
    gap = 0.84 / max(_TALLEST, tallest)
    filled: dict[int, int] = {}
    ys = []
    for column in columns:
        number = filled[column] = filled.get(column, 0) + 1
        ys.append(place + gap * (number // 2) * (1 if number % 2 else -1))
    for color in dict.fromkeys(colors):
        chosen = [i for i, one in enumerate(colors) if one == color]
        xs = [math.exp(left + columns[i] * step) for i in chosen]
        axes.plot(xs, [ys[i] for i in chosen], "o", color=color, markersize=3.2, markeredgewidth=0)


def _tone(row: Row, over: str) -> str:
    gains = row.speedup.values() if over == BEST else [row.speedup[over]]
    tone = min(gains, key=lambda one: one.value).tone if gains else "even"
    return "c3" if tone == "even" else tone


def _curves(rows: Sequence[Row], over: Sequence[str]) -> Drawing:
    def on_axes(axes: Any) -> None:
        for one in over:
            corners = curve_corners(list(_positive(rows, one)), len(rows))
            axes.plot(*zip(*corners, strict=True), color=COLORS[_COLORS[one]], linewidth=1.4, label=one)
        everything = [math.log(gain) for one in over for gain in _positive(rows, one)]
        _speed_axis(axes, min(0.0, *everything), max(math.log(2), *everything))
        axes.set_ylim(0, 1.02)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        axes.set_xlabel("x")
        axes.set_ylabel("faster than x")
        axes.grid(axis="y")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, handlelength=1.2, columnspacing=1.2)

    told = "The share of all whose kernel passed and is more than x times as fast as the baseline."
    return Drawing("curves", "Share faster than x", told, on_axes, max(3.0, _height(over)))


def curve_corners(gains: Sequence[float], jobs: int) -> list[tuple[float, float]]:
    """Of the steps of the share of all jobs that are more than x times as fast, from far left to the largest."""
    left, corners = len(gains), [(min(gains) / 10, len(gains) / jobs)]
    for gain, count in sorted(Counter(gains).items()):
        corners += [(gain, left / jobs), (gain, (left - count) / jobs)]
        left -= count
    return corners


def _height(over: Sequence[str]) -> float:
    return 0.9 + 0.75 * len(over)


def _errors(ratios: Sequence[float]) -> Drawing:
    """Only where nothing was timed: then accuracy is the story."""
    logs = [math.log(one) for one in ratios]
    left, right = min(0.0, *logs), max(0.0, *logs)

    def on_axes(axes: Any) -> None:
        _stack(axes, ratios, 0, (left, right), [COLORS["c1"]] * len(ratios))
        _speed_axis(axes, left, right)
        axes.set_yticks([])
        axes.set_ylim(-0.5, 0.5)
        axes.set_xlabel("error ÷ PyTorch's own error")

    told = "Error of each kernel that passed against float64, as a multiple of eager PyTorch's own."
    return Drawing("errors", "Errors", told, on_axes, bars_height(2))


def _speed_axis(axes: Any, left: float, right: float) -> None:
    """Logarithmic, with a few plain numbers and a dashed line at 1."""
    from matplotlib.ticker import FixedLocator

    axes.axvline(1, color=COLORS["muted"], linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
    axes.set_xscale("log")
    room = max(0.05, 0.04 * (right - left))
    low, high = math.exp(left - room), math.exp(right + room)
    axes.set_xlim(low, high)
    factors = (1, 2, 5) if high / low < 200 else (1,)
    numbers = [f * 10.0**power for power in range(-6, 7) for f in factors if low <= f * 10.0**power <= high]
    if high / low < 4:
        step = 1 if high / low < 1.8 else 2
        numbers = [one / 10 for one in range(step, 100, step) if low <= one / 10 <= high]
    axes.xaxis.set_major_locator(FixedLocator(numbers))
    axes.xaxis.set_minor_locator(FixedLocator([]))
    plain_numbers(axes.xaxis, "{:g}×")
