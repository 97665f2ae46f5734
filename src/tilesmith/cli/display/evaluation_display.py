"""An evaluation as a person wants to read it: the verdict first, then why, then the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from tilesmith.records import CertificateSummary, Evaluation, Quantiles, Severity

_MARKS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "dim"}


def show_evaluation(evaluation: Evaluation, task: Path, kernel: Path, console: Console) -> None:
    color = "green" if evaluation.passed else "red"
    title = f"[bold {color}]{evaluation.verdict}[/]  {escape(kernel.name)} [dim]for[/] {escape(task.name)}"
    parts: list[RenderableType] = [Text(evaluation.reason), Text()]
    parts.append(_facts(evaluation))
    if evaluation.timing:
        parts += [Text(), _times(evaluation)]
    if evaluation.resources:
        parts += [Text(), _resources(evaluation)]
    for finding in (f for f in evaluation.findings if f.severity is not Severity.INFO):
        line = f"line {finding.line}: " if finding.line else ""
        parts.append(Text(f"{finding.severity}: {line}{finding.message}", style=_MARKS[finding.severity]))
    for note in evaluation.notes:
        parts.append(Text(f"note: {note}", style="dim"))
    console.print(Panel(Group(*parts), title=title, title_align="left", border_style=color))


def _facts(evaluation: Evaluation) -> Table:
    grid = Table.grid(padding=(0, 2))
    for label, value in _labeled_facts(evaluation):
        grid.add_row(Text(label, style="dim"), value)
    return grid


def _labeled_facts(evaluation: Evaluation) -> list[tuple[str, str]]:
    rows = [("kernel", evaluation.kernel_type)]
    if evaluation.errors:
        e = evaluation.errors
        beside = f", {e.ratio:.2g} times PyTorch's {e.eager_relative:.2g}" if e.ratio is not None else ""
        rows.append(("error", f"{e.relative:.2g} relative to float64{beside}; largest {e.max_abs:.2g}"))
    if evaluation.generality:
        rows.append(("shapes", evaluation.generality))
    if evaluation.limits:
        rows.append(("limits", "; ".join(evaluation.limits)))
    if evaluation.launches is not None:
        share = evaluation.triton_time_share
        rows.append(("launches", f"{evaluation.launches}" + (f", {share:.0%} of the device time" if share else "")))
    if evaluation.roofline:
        limit = evaluation.roofline
        rows.append(("roofline", f"{limit.floor_ms:.4g} ms on {limit.gpu}, bound by {limit.bound}"))
    where = evaluation.environment
    if "shapes" in where:
        rows.append(("checked at", str(where["shapes"])))
    if evaluation.certificate:
        rows.append(("certificate", _certificate_text(evaluation.certificate)))
    if "sandbox_level" in where:
        rows.append(("sandbox", _sandbox_text(str(where["sandbox_level"]), where.get("sandbox", ()))))
    if "device" in where:
        rows.append(("where", f"{where['device']}, torch {where['torch']}, triton {where['triton']}"))
    rows.append(("took", ", ".join(f"{gate.gate} {gate.seconds:.1f} s" for gate in evaluation.gates)))
    return rows


def _certificate_text(certificate: CertificateSummary) -> str:
    """How much this judge could tell on this task."""
    blind = certificate.blind_to
    told = f"{certificate.killed} known cheats were made for this task and caught"
    return f"{told}; cannot tell: {', '.join(blind)}" if blind else told


def _sandbox_text(level: str, current_status: Sequence[str]) -> str:
    return (
        level
        if level == "full"
        else f"{level}: only {', '.join(current_status) or 'nothing'}; see tilesmith doctor"
    )


def _times(evaluation: Evaluation) -> Table:
    timing = evaluation.timing
    assert timing is not None
    columns = ("", "p20 ms", "p50 ms", "p80 ms", "speedup", "95 % interval", "call ms", "by call")
    table = Table(*columns, box=None, header_style="dim")
    mine = timing.call_ms["candidate"].p50
    table.add_row("candidate", *_quantiles(timing.candidate_ms), "", "", f"{mine:.4g}", "")
    for name, times in (("eager", timing.eager_ms), ("graph", timing.graph_ms), ("compile", timing.compile_ms)):
        if times is not None:
            gain = timing.speedup[name]
            style = {"good": "green", "bad": "red", "even": "yellow"}[gain.tone]
            interval = f"{gain.low:.2f} – {gain.high:.2f}"
            lone = f"{timing.call_ms[name].p50:.4g}", f"{timing.call_speedup[name].value:.2f}x"
            table.add_row(name, *_quantiles(times), f"[{style}]{gain.value:.2f}x[/]", interval, *lone)
    return table


def _quantiles(times: Quantiles) -> tuple[str, str, str]:
    return f"{times.p20:.4g}", f"{times.p50:.4g}", f"{times.p80:.4g}"


def _resources(evaluation: Evaluation) -> Table:
    table = Table(
        "kernel",
        "target",
        "registers",
        "spills",
        "shared",
        "tensor cores",
        "warps",
        "stages",
        box=None,
        header_style="dim",
    )
    for one in evaluation.resources:
        cells = (one.registers, one.spills, one.shared_bytes, one.tensor_core, one.num_warps, one.num_stages)
        table.add_row(one.kernel, one.target, *(_cell(value) for value in cells))
    return table


def _cell(value: int | bool | None) -> str:
    if value is None:
        return "?"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
