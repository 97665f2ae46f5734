"""The distribution of seeds as a picture."""

from __future__ import annotations

import os
import re
from pathlib import Path
from textwrap import fill

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tilesmith.errors import UsageError
from tilesmith.runs.event_text import one_line
from tilesmith.study.seeds import ABOVE, FAILED, SeedStudy

ENDINGS = (".svg", ".png")
_COLOR, _GOOD_COLOR, _FAILED_COLOR = "#5b7fa6", "#3f8f5f", "#b0685e"
_LONGEST_TITLE = 80
_LONGEST_LABEL = 11
"""Characters of a line below a bar."""
_STYLE = {"svg.hashsalt": "tilesmith", "svg.fonttype": "none", "text.parse_math": False}


def check_plot_file(file: Path) -> None:
    """Before hours of work, not after."""
    if file.suffix not in ENDINGS:
        raise UsageError(f"--plot {file}: name a file that ends in {' or '.join(ENDINGS)}")
    if not os.access(file.parent, os.W_OK):
        raise UsageError(f"--plot {file}: its folder cannot be written to; make it, or name another")


def plot_name(study: SeedStudy) -> str:
    return f"{re.sub(r'[^A-Za-z0-9_]+', '-', study.task)}-seeds.svg"


def plot_seeds(study: SeedStudy, file: Path) -> None:
    figure = seeds_figure(study)
    with rc_context(_STYLE):
        figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None)


def seeds_figure(study: SeedStudy) -> Figure:
    """A bar for each category, with its number on top."""
    names = [name for name, count in study.distribution.items() if count or name[0].isdigit() or name == ABOVE]
    counts = [study.distribution[name] for name in names]
    colors = [_FAILED_COLOR if name == FAILED else _GOOD_COLOR if name == ABOVE else _COLOR for name in names]
    with rc_context(_STYLE):
        figure = Figure(figsize=(7, 3.8), layout="constrained")
        axes = figure.add_subplot()
        axes.bar_label(axes.bar(range(len(names)), counts, color=colors))
        axes.set_xticks(range(len(names)), [fill(name, _LONGEST_LABEL) for name in names])
        axes.margins(y=0.12)
        axes.set_xlabel("speedup over the best baseline")
        axes.set_ylabel("seeds")
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes.spines[["top", "right"]].set_visible(False)
        told = (f"{len(study.outcomes)} seeds of {study.task}", f"by {study.author}")
        axes.set_title("\n".join(one_line(one, _LONGEST_TITLE) for one in told), loc="left", fontsize=10)
    return figure
