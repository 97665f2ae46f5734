"""The plots of a page, drawn by matplotlib: narrow enough for a phone, two beside each other on a desk.

Each takes a view and returns an SVG element, or none where there is nothing to draw. matplotlib is imported only
here and only when a page is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from tilesmith.report.svg import COLORS, svg_element
from tilesmith.report.view import ReportView

_WIDTH, _HEIGHT = 5.3, 3.3
"""Inches of 72 pixels."""
_ROW = 0.34
_MOST_ROWS = 20
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
    "axes.formatter.min_exponent": 4,
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
        plain_numbers(axes.yaxis, "{:g}×")
        _whole_numbers(axes.xaxis)
        axes.set_xlabel("attempt")
        axes.grid(axis="y")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=6, handletextpad=0.1, columnspacing=1.1)

    told = "Speed against the best baseline (dashed: as fast as that); the line is the best kernel so far."
    return Drawing("scores", "Speedup of each attempt", told, draw)


def _errors(view: ReportView) -> Drawing | None:
    """Only where nothing was timed: then accuracy is the story."""
    judged = [(one.number, one.error_ratio) for one in view.attempts if one.error_ratio][:_MOST_ROWS]
    if not judged or any(one.score is not None for one in view.attempts):
        return None
    allowed = view.evaluation.environment.get("k") if view.evaluation else None

    def draw(axes: Any) -> None:
        numbers, ratios = zip(*judged, strict=True)
        axes.plot(ratios, [f"kernel {one}" for one in numbers], "o", color=COLORS["c1"], markersize=6)
        axes.axvline(1, color=COLORS["muted"], linewidth=0.8, linestyle=(0, (4, 3)))
        axes.annotate("PyTorch", (1, 1), (3, 3), xycoords=("data", "axes fraction"), textcoords="offset points",
                      color=COLORS["muted"])  # fmt: skip
        if isinstance(allowed, int | float):
            axes.axvline(allowed, color=COLORS["bad"], linewidth=0.8)
            axes.annotate("allowed", (allowed, 1), (-3, 3), xycoords=("data", "axes fraction"), ha="right",
                          textcoords="offset points", color=COLORS["bad"])  # fmt: skip
        axes.set_xlim(left=0)
        axes.margins(y=0.5 if len(judged) == 1 else 0.15)
        plain_numbers(axes.xaxis, "{:g}×")
        axes.invert_yaxis()
        axes.set_xlabel("error ÷ PyTorch's own error")

    told = "Error against float64, as a multiple of eager PyTorch's own."
    return Drawing("errors", "Error of each attempt", told, draw, bars_height(len(judged)))


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
        _label_points(axes, limit.intensity, [one for one in limit.points if one.kind != "candidate"])
        if not limit.points:
            axes.plot(limit.intensity, height, "o", color=COLORS["c1"], markersize=6)
            below = (8, -14) if limit.intensity < ridge else (0, -18)
            axes.annotate("the most this task can reach", (limit.intensity, height), below,
                          textcoords="offset points", ha="left" if below[0] else "center",
                          bbox={"facecolor": COLORS["paper"], "edgecolor": "none", "pad": 1.5})  # fmt: skip
        axes.set_xlim(left, right)
        axes.set_ylim(top=limit.peak_flops_per_s * 2)
        axes.set_xlabel("FLOP per byte")
        axes.set_ylabel("FLOP/s")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda value, _: short_number(value))
        axes.minorticks_off()
        axes.grid()

    told = f"What {limit.gpu} allows: this task is bound by {limit.bound}, at least {limit.floor_ms:.3g} ms."
    return Drawing("roofline", "Roofline", told, draw)


def _label_points(axes: Any, at: float, points: list[Any]) -> None:
    """Names beside the points, pushed apart where they would lie on each other."""
    lowest = float("-inf")
    for point in sorted(points, key=lambda one: one.flops_per_s):
        y = axes.transData.transform((at, point.flops_per_s))[1]
        shift = max(0.0, lowest + 11 - y)
        lowest = y + shift
        axes.annotate(point.name, (at, point.flops_per_s), (8, shift - 3), textcoords="offset points",
                      color=COLORS["good" if point.kind == "best" else "ink"])  # fmt: skip


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
    known = sorted(((name, time, ours) for name, time, ours in work if time), key=lambda one: -one[1])[:10]
    if len(known) < 2:
        return None

    def draw(axes: Any) -> None:
        names = [_short(name) for name, _, _ in known]
        colors = [COLORS["c1" if ours else "c3"] for _, _, ours in known]
        axes.barh(range(len(known)), [time for _, time, _ in known], color=colors, height=0.55)
        axes.set_yticks(range(len(known)), names)
        axes.invert_yaxis()
        plain_numbers(axes.xaxis, "{:g}")
        axes.set_xlabel("ms in PyTorch, at least")
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")

    what = "regions of the plan" if len(plan.regions) > 1 else "operators"
    told = f"Where the time goes: {what} in PyTorch, one launch each, estimated from bytes and FLOPs."
    return Drawing("work", "Where the time goes", told, draw, bars_height(len(known)))


def _samples(view: ReportView) -> Drawing | None:
    if not view.times:
        return None

    def draw(axes: Any) -> None:
        for row, one in enumerate(view.times):
            color = COLORS["good" if row == 0 else "c2"]
            samples = [time for times in one.rounds for time in times]
            samples = samples[:: max(1, len(samples) // 150)]
            spread = [row - 0.16 + 0.32 * (number * 0.618 % 1) for number in range(len(samples))]
            axes.plot(samples, spread, "o", color=color, markersize=2.2, alpha=0.45, markeredgewidth=0)
            axes.plot([one.times.p20, one.times.p80], [row, row], color=color, linewidth=5, alpha=0.45)
            axes.plot([one.times.p50] * 2, [row - 0.27, row + 0.27], color=COLORS["ink"], linewidth=1.4)
        axes.set_yticks(range(len(view.times)), [one.name for one in view.times])
        axes.set_ylim(len(view.times) - 0.5, -0.5)
        axes.set_xlim(left=0)
        plain_numbers(axes.xaxis, "{:g}")
        axes.set_xlabel("ms of device time")
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")

    told = "Every timed call: dots are samples, the bar is the 20th to 80th percentile, the stroke the median."
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


def _whole_numbers(axis: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True))


def _short(name: str, most: int = 24) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def short_number(value: float | None) -> str:
    """262 M, 4.8 T."""
    if value is None:
        return ""
    for size, unit in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g}"
