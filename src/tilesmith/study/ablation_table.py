"""The ablation table: task, analysis before and after, stages before and after, final, why."""

from __future__ import annotations

from tilesmith.runs.event_text import score_text
from tilesmith.study.ablation import AblationStudy, ArmRow
from tilesmith.study.markdown import plain, table

_ARMS = """A: one seed, then analysis. B: three seeds, the best, analysis only where it is slower than PyTorch.
C: one seed, no analysis."""


def ablation_markdown(study: AblationStudy) -> str:
    """The study for people."""
    header = ("task", "arm", "analysis", "stages", "final", "range", "passed", "why")
    rows = [_cells(row, study.timed) for row in study.rows]
    parts = [f"# Ablation by {plain(study.author)}", _ARMS, table(header, rows)]
    parts.append("Each row is the run with the median result; the range is that of all its runs.")
    comparisons = [
        (one.name, f"{one.difference:+.3g}", f"{one.p:.3g}", one.conclusion) for one in study.comparisons
    ]
    parts += ["## Is it chance?", table(("comparison", "difference", "p", ""), comparisons)]
    value = "speedup, 0 for no kernel" if study.timed else "share of runs with a kernel, since nothing was timed"
    parts.append(f"Differences are of the mean {value}; p is of a permutation test within each task.")
    return "\n\n".join(parts) + "\n"


def _cells(row: ArmRow, timed: bool) -> tuple[str, ...]:
    run = row.shown
    analysis = f"{_score(run.seed)} to {_score(run.analyzed)}" if timed and run.arm != "C" else ""
    brought = ", ".join("failed" if one is None and timed else _score(one) for one in run.staged)
    return (
        plain(run.task),
        f"{run.arm}{' + stages' if run.stages else ''}",
        analysis,
        f"{_score(run.analyzed)} to {brought}" if run.staged else "",
        _score(run.final) if run.passed else "none",
        f"{row.low:.2f} to {row.high:.2f}" if timed else "",
        f"{row.passed} of {row.runs}",
        plain(run.why),
    )


def _score(score: float | None) -> str:
    return score_text(score) or "not timed"
