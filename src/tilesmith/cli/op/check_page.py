"""What `op check` found, as a page to look at."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tilesmith.operators.checking import MeasuredCall, OperatorCheck
from tilesmith.operators.records import Project
from tilesmith.report.number_text import told_facts
from tilesmith.report.page import write_template
from tilesmith.report.plots import Drawing, bars_height, draw, plain_numbers
from tilesmith.report.source_text import shown_source
from tilesmith.report.svg import COLORS

_MOST_DRAWN = 24


def write_check_page(found: OperatorCheck, project: Project, path: Path) -> None:
    timed = [one for one in (found.performance.calls if found.performance else ()) if one.kernel_ms is not None]
    plots = draw([_speedups(timed[:_MOST_DRAWN])] if timed else [])
    date = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    operator, file = project.operator, project.path("triton")
    arguments = ", ".join(one.name for one in operator.parameters)
    write_template(
        path,
        "operator.html.j2",
        check=found,
        plots=plots,
        date=date,
        file=file.name,
        source=shown_source(_text(file)),
        use=f"from {file.stem} import {operator.name}\n\ny = {operator.name}({arguments})",
        history=shown_source(_text(project.folder / operator.history)),
        environment=tuple(told_facts({**found.accuracy.environment, "shapes": None})),
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _speedups(calls: list[MeasuredCall]) -> Drawing:
    def on_axes(axes: Any) -> None:
        for row, one in enumerate(calls):
            color = COLORS["good" if one.low > 1 else "bad" if one.high < 1 else "c3"]
            axes.plot([one.low, one.high], [row, row], color=color, linewidth=2)
            axes.plot(one.speedup, row, "o", color=color, markersize=5)
        axes.axvline(1, color=COLORS["muted"], linewidth=0.8, linestyle=(0, (4, 3)))
        axes.set_yticks(range(len(calls)), [f"{one.dtype} {one.sizes}" for one in calls])
        axes.set_ylim(len(calls) - 0.5, -0.5)
        axes.set_xlim(left=0)
        plain_numbers(axes.xaxis, "{:g}×")
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")

    told = "Speed against the baseline with its 95 % interval; dashed: as fast as that."
    return Drawing("calls", "Speedup of every call", told, on_axes, bars_height(len(calls)))
