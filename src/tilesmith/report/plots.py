"""The plots of a page, drawn by matplotlib: narrow enough for a phone, two beside each other on a desk.

Each takes a view and returns an SVG element, or none where there is nothing to draw. matplotlib is imported only
here and only when a page is written.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from tilesmith.report.number_text import power, short_number
from tilesmith.report.svg import COLORS, svg_element
from tilesmith.report.view import ReportView

_WIDTH, _HEIGHT = 5.3, 3.3
"""Inches of 72 pixels."""
_ROW = 0.34
_MOST_ROWS = 20
_MOST_BARS = 10
_MOST_DOTS = 300
"""Of one contestant."""
_MOST_NAMED = 4
"""Candidates that have their names on the roofline."""
_PHASES = {
    "seed": ("c1", "o"),
    "optimize": ("c2", "^"),
    "repair": ("c3", "s"),
    "revise": ("c4", "D"),
    "stage": ("c5", "v"),
}
_STYLE = {
    "font.size": 10,
    "text.parse_math": False,
    "text.color": COLORS["ink"],
    "axes.edgecolor": COLORS["line"],
    "axes.labelcolor": COLORS["muted"],
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": COLORS["line"],
    "grid.linewidth": 0.5,
    "xtick.color": COLORS["line"],
    "ytick.color": COLORS["line"],
    "xtick.labelcolor": COLORS["muted"],
    "ytick.labelcolor": COLORS["muted"],
    "legend.frameon": False,
    "legend.fontsize": 9,
}


@dataclass(frozen=True)
class Plot:
    """A picture with the sentence below it."""

    name: str
    svg: Markup
    caption: str


@dataclass(frozen=True)
class Drawing:
    """What is to become a plot."""

    name: str
    title: str
    caption: str
    draw: Callable[[Any], None]
    """On matplotlib's axes."""
    height: float = _HEIGHT


def plots_of(view: ReportView) -> dict[str, Plot]:
    return draw(_drawings(view))


def draw(drawings: Iterable[Drawing]) -> dict[str, Plot]:
    """By name; empty where there is nothing to draw, and then matplotlib is not even imported."""
    made = {}
    for drawing in drawings:
        from matplotlib import rc_context
        from matplotlib.figure import Figure

        with rc_context(_STYLE):
            figure = Figure(figsize=(_WIDTH, drawing.height), dpi=72, layout="constrained")
            drawing.draw(figure.subplots())
            svg = svg_element(figure, f"plot-{drawing.name}", drawing.title, drawing.caption)
        made[drawing.name] = Plot(drawing.name, svg, drawing.caption)
    return made


def _drawings(view: ReportView) -> Iterator[Drawing]:
    for made in (_scores(view), _errors(view), _roofline(view), _work(view), _samples(view), _tokens(view)):
        if made is not None:
            yield made


def _scores(view: ReportView) -> Drawing | None:
    scored = [one for one in view.attempts if one.score is not None and one.score > 0]
    if not scored or len(view.attempts) < 2:
        return None

    def draw(axes: Any) -> None:
        for phase, (color, marker) in _PHASES.items():
            of_phase = [one for one in scored if one.phase.split()[0] == phase]
            if of_phase:
                at, scores = [one.number for one in of_phase], [one.score for one in of_phase]
                axes.plot(at, scores, marker, color=COLORS[color], markersize=4.5, label=phase)
        best = 0.0
        steps = [best := max(best, one.score or 0.0) if one.kept else best for one in scored]
        known = [(one.number, step) for one, step in zip(scored, steps, strict=True) if step]
        if known:
            known.append((view.attempts[-1].number, known[-1][1]))
            axes.step(*zip(*known, strict=True), where="post", color=COLORS["ink"], linewidth=1, zorder=1)
        failed = [one.number for one in view.attempts if not one.passed]
        if failed:
            axes.plot(failed, [0.02] * len(failed), "x", color=COLORS["bad"], markersize=4, label="failed",
                      transform=axes.get_xaxis_transform())  # fmt: skip
        axes.axhline(1, color=COLORS["muted"], linewidth=0.8, linestyle=(0, (4, 3)))
        values = [one.score for one in scored if one.score]
        if max(values) > 12 * min(values):
            axes.set_yscale("log")
            _few_numbers(axes.yaxis)
        plain_numbers(axes.yaxis, "{:g}×")
        _whole_numbers(axes.xaxis)
        axes.set_xlabel("attempt")
        axes.grid(axis="y")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=6, handletextpad=0.1, columnspacing=1.1)

    told = "Speed against the best baseline (dashed: as fast as that); the line is the best kernel so far."
    return Drawing("scores", "Speedup of each attempt", told, draw)


def _errors(view: ReportView) -> Drawing | None:
    """Only where nothing was timed: then accuracy is the story."""
    shown = view.attempts[-_MOST_ROWS:]
    ratios = [one.error_ratio for one in shown if one.error_ratio]
    if not ratios or any(one.score is not None for one in view.attempts):
        return None
    allowed = next((one.allowed_ratio for one in reversed(shown) if one.allowed_ratio), None)
    lowest, highest = min(*ratios, 1), max(*ratios, allowed or 1)
    wide = min(ratios) < 0.05 or max(ratios) > 20

    def draw(axes: Any) -> None:
        if wide:
            axes.set_xscale("log")
            axes.set_xlim(lowest / 2, highest * 2)
        for row, one in enumerate(shown):
            if one.error_ratio:
                color, marker = ("good", "D") if one.best else _PHASES.get(one.phase.split()[0], ("c1", "o"))
                axes.plot(one.error_ratio, row, marker, color=COLORS[color], markersize=6, clip_on=False)
            else:
                axes.annotate(one.verdict, (0.01, row), xycoords=("axes fraction", "data"), va="center",
                              color=COLORS["bad"])  # fmt: skip
        names = [f"{one.number} {one.phase}" if view.story else "this kernel" for one in shown]
        axes.set_yticks(range(len(shown)), names)
        axes.axvline(1, color=COLORS["muted"], linewidth=0.8, linestyle=(0, (4, 3)))
        axes.annotate("PyTorch", (1, 1), (-3, 3), xycoords=("data", "axes fraction"), ha="right",
                      textcoords="offset points", color=COLORS["muted"])  # fmt: skip
        if allowed is not None:
            axes.axvline(allowed, color=COLORS["bad"], linewidth=0.8)
            axes.annotate("allowed", (allowed, 1), (3, 3), xycoords=("data", "axes fraction"), ha="left",
                          textcoords="offset points", color=COLORS["bad"])  # fmt: skip
        if not wide:
            axes.set_xlim(0, 1.15 * highest)
            _few_ticks(axes.xaxis)
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_formatter(lambda value, _: f"{_tick_text(value)}×")
        axes.minorticks_off()
        axes.set_xlabel("error ÷ PyTorch's own error")

    which = "each attempt" if len(shown) == len(view.attempts) else f"the last {_MOST_ROWS} attempts"
    told = f"Error of {which} against float64, as a multiple of eager PyTorch's own."
    return Drawing("errors", f"Error of {which}", told, draw, bars_height(len(shown)))


def _roofline(view: ReportView) -> Drawing | None:
    limit = view.roofline
    if limit is None:
        return None
    ridge = limit.peak_flops_per_s / limit.bytes_per_s

    def draw(axes: Any) -> None:
        left, right = min(limit.intensity, ridge) / 8, max(limit.intensity, ridge) * 8
        roof = [left * limit.bytes_per_s, limit.peak_flops_per_s, limit.peak_flops_per_s]
        axes.loglog([left, ridge, right], roof, color=COLORS["ink"], linewidth=1.4)
        axes.axvline(limit.intensity, color=COLORS["muted"], linewidth=0.8, linestyle=(0, (4, 3)))
        height = min(limit.intensity * limit.bytes_per_s, limit.peak_flops_per_s)
        styles = {"candidate": ("c1", "o", 4), "baseline": ("c2", "s", 5), "best": ("good", "D", 6.5)}
        for point in limit.points:
            color, marker, size = styles[point.kind]
            axes.plot(limit.intensity, point.flops_per_s, marker, color=COLORS[color], markersize=size)
        candidates = [one for one in limit.points if one.kind == "candidate"]
        named = [one for one in limit.points if one.kind != "candidate" or len(candidates) <= _MOST_NAMED]
        _label_points(axes, limit.intensity, named)
        if not limit.points:
            axes.plot(limit.intensity, height, "o", color=COLORS["c1"], markersize=6)
            below = (8, -14) if limit.intensity < ridge else (0, -18)
            axes.annotate("the most this task can reach", (limit.intensity, height), below,
                          textcoords="offset points", ha="left" if below[0] else "center",
                          bbox={"facecolor": COLORS["paper"], "edgecolor": "none", "pad": 1.5})  # fmt: skip
        axes.set_xlim(left, right)
        axes.set_ylim(top=limit.peak_flops_per_s * 2)
        bottom, top = axes.get_ylim()
        if top < 100 * bottom:
            _few_numbers(axes.yaxis)
        axes.set_xlabel("FLOP per byte")
        axes.set_ylabel("FLOP/s")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda value, _: short_number(value))
        axes.minorticks_off()
        axes.grid()

    told = f"What {limit.gpu} allows: this task is bound by {limit.bound}, at least {power(limit.floor_ms)} ms."
    if limit.reached is not None:
        told += f" The best kernel reaches {limit.reached:.0%} of that."
    return Drawing("roofline", "Roofline", told, draw)


def _label_points(axes: Any, at: float, points: list[Any]) -> None:
    """Names beside the points, pushed apart where they would lie on each other."""
    lowest = float("-inf")
    for point in sorted(points, key=lambda one: one.flops_per_s):
        y = axes.transData.transform((at, point.flops_per_s))[1]
        shift = max(0.0, lowest + 11 - y)
        lowest = y + shift
        axes.annotate(point.name, (at, point.flops_per_s), (8, shift - 3), textcoords="offset points",
                      color=COLORS[{"best": "good", "baseline": "ink"}.get(point.kind, "muted")])  # fmt: skip


def _work(view: ReportView) -> Drawing | None:
    """Where PyTorch's time goes, by region where the plan has several, else by operator."""
    plan = view.plan
    if plan is None:
        return None
    if len(plan.regions) > 1:
        work = [
            (one.kernel or ", ".join(one.operators), one.pytorch_ms, one.kernel is not None) for one in plan.regions
        ]
    else:
        work = [(one.operator, one.pytorch_ms, one.in_recipes) for one in plan.operators]
    timed = sorted(((name, time, ours) for name, time, ours in work if time), key=lambda one: -one[1])
    known = timed[:_MOST_BARS]
    if len(known) < 2:
        return None

    def draw(axes: Any) -> None:
        names = [_short(name) for name, _, _ in known]
        colors = [COLORS["c1" if ours else "c3"] for _, _, ours in known]
        axes.barh(range(len(known)), [time for _, time, _ in known], color=colors, height=0.55)
        axes.set_yticks(range(len(known)), names)
        axes.invert_yaxis()
        axes.xaxis.set_major_formatter(lambda value, _: _tick_text(value))
        _few_ticks(axes.xaxis)
        axes.set_xlabel("ms in PyTorch, at least")
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")

    what = "regions of the plan" if len(plan.regions) > 1 else "operators"
    told = f"Where the time goes: {what} in PyTorch, one launch each, estimated from bytes and FLOPs."
    if len(timed) > len(known):
        told += f" The {_MOST_BARS} that take longest, of {len(timed)}."
    if not all(ours for _, _, ours in known):
        told += " Gray: stays PyTorch's." if len(plan.regions) > 1 else " Gray: no recipe knows it."
    return Drawing("work", "Where the time goes", told, draw, bars_height(len(known)))


def _samples(view: ReportView) -> Drawing | None:
    if not view.times:
        return None
    middles = [one.times.p50 for one in view.times]
    wide = 0 < 6 * min(middles) < max(middles)

    def draw(axes: Any) -> None:
        for row, one in enumerate(view.times):
            color = COLORS["good" if row == 0 else "c2"]
            samples = [time for times in one.rounds for time in times]
            samples = samples[:: math.ceil(len(samples) / _MOST_DOTS) or 1]
            spread = [row - 0.16 + 0.32 * (number * 0.618 % 1) for number in range(len(samples))]
            axes.plot(samples, spread, "o", color=color, markersize=2.2, alpha=0.45, markeredgewidth=0)
            axes.plot([one.times.p20, one.times.p80], [row, row], color=color, linewidth=5, alpha=0.45)
            axes.plot([one.times.p50] * 2, [row - 0.27, row + 0.27], color=COLORS["ink"], linewidth=1.4)
        axes.set_yticks(range(len(view.times)), [one.name for one in view.times])
        axes.set_ylim(len(view.times) - 0.5, -0.5)
        if wide:
            axes.set_xscale("log")
            _few_numbers(axes.xaxis)
        else:
            axes.set_xlim(left=0)
            _few_ticks(axes.xaxis)
        axes.xaxis.set_major_formatter(lambda value, _: _tick_text(value))
        axes.set_xlabel("ms of device time, logarithmic" if wide else "ms of device time")
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")

    most = max(sum(map(len, one.rounds)) for one in view.times)
    dots = "A dot is one of several timed calls; the" if most > _MOST_DOTS else "Every timed call is a dot; the"
    told = f"{dots if most else 'The'} bar is the 20th to 80th percentile, the stroke the median."
    return Drawing("samples", "Timing samples", told, draw, 0.9 + 0.55 * len(view.times))


def _tokens(view: ReportView) -> Drawing | None:
    phases = view.costs[:-1]
    if not phases:
        return None

    def draw(axes: Any) -> None:
        rows = range(len(phases))
        given, written = [one.input_tokens for one in phases], [one.output_tokens for one in phases]
        axes.barh(rows, given, color=COLORS["c1"], height=0.55, label="input")
        axes.barh(rows, written, left=given, color=COLORS["c2"], height=0.55, label="output")
        axes.set_yticks(rows, [one.phase for one in phases])
        axes.invert_yaxis()
        axes.xaxis.set_major_formatter(lambda value, _: short_number(value))
        axes.set_xlabel("tokens")
        axes.tick_params(axis="y", length=0)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
        axes.grid(axis="x")

    return Drawing("tokens", "Tokens by phase", "Tokens by phase.", draw, bars_height(len(phases)) + 0.3)


def bars_height(rows: int) -> float:
    return max(1.6, min(8.0, 0.9 + _ROW * rows))


def plain_numbers(axis: Any, form: str) -> None:
    axis.set_major_formatter(lambda value, _: form.format(value))


def _few_numbers(axis: Any) -> None:
    """1, 2, 5, 10 and so on, on a logarithmic axis."""
    from matplotlib.ticker import LogLocator, NullLocator

    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_minor_locator(NullLocator())


def _few_ticks(axis: Any) -> None:
    """So few that their numbers have room, whatever they are."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(4))


def _tick_text(value: float) -> str:
    """0.25, 2.5 × 10⁻⁴, 10⁷."""
    return power(value).removeprefix("1.0\u00a0×\u00a0").replace(".0\u00a0", "\u00a0")


def _whole_numbers(axis: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True))


def _short(name: str, most: int = 24) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"
