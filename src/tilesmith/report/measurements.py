"""The numbers of a page: gains, samples, the roofline with everything measured on it, tokens and dollars."""

from __future__ import annotations

from tilesmith.records import Attempt, Evaluation, Phase, Quantiles, Roofline, Survey, Timing
from tilesmith.report.view import BaselineGain, ContestantTimes, PhaseCost, RooflinePoint, RooflineView
from tilesmith.runs.event_text import money_text
from tilesmith.runs.summary import CallCosts, RunSummary

BASELINES = {"eager": "eager PyTorch", "graph": "eager in a CUDA graph", "compile": "torch.compile"}
MOST_SAMPLES = 2_000
"""Of one contestant, on a page."""


def gains_of(timing: Timing | None) -> tuple[BaselineGain, ...]:
    if timing is None:
        return ()
    times = _times(timing)
    return tuple(
        BaselineGain(
            BASELINES.get(name, name),
            *(gain.value, gain.low, gain.high, gain.tone),
            times[name].p50 if name in times else None,
        )
        for name, gain in timing.speedup.items()
    )


def _times(timing: Timing) -> dict[str, Quantiles]:
    found = {"eager": timing.eager_ms, "graph": timing.graph_ms, "compile": timing.compile_ms}
    return {"candidate": timing.candidate_ms} | {name: one for name, one in found.items() if one is not None}


def contestant_times(timing: Timing | None) -> tuple[ContestantTimes, ...]:
    if timing is None:
        return ()
    names = {"candidate": "this kernel"} | BASELINES
    found = []
    for name, times in _times(timing).items():
        rounds, room = [], MOST_SAMPLES
        for samples in timing.samples_ms.get(name, ()):
            rounds.append(tuple(samples[:room]))
            room -= len(rounds[-1])
        total = sum(map(len, timing.samples_ms.get(name, ())))
        shown = tuple(one for one in rounds if one)
        call = timing.call_ms.get(name)
        left_out = total - sum(map(len, shown))
        found.append(ContestantTimes(names[name], times, call.p50 if call else None, shown, left_out))
    return tuple(found)


def roofline_view(
    limit: Roofline | None,
    survey: Survey | None,
    attempts: tuple[Attempt, ...],
    best: Attempt | None,
    judged: Evaluation | None,
) -> RooflineView | None:
    """Null where the task computes nothing, or what it computes and moves is not known."""
    profile = survey.profile if survey else None
    flops = (limit.flops if limit else None) or (profile.flops if profile else None)
    moved = (limit.bytes_moved if limit else None) or (profile.bytes_moved if profile else None)
    if limit is None or not flops or not moved or limit.memory_ms <= 0 or limit.compute_ms <= 0:
        return None
    points = [
        RooflinePoint(
            f"kernel {one.candidate.number}", "candidate", _rate(flops, one.evaluation.timing.candidate_ms)
        )
        for one in attempts
        if one.evaluation.timing is not None and one is not best
    ]
    if judged is not None and judged.timing is not None:
        for name, times in _times(judged.timing).items():
            kind, told = ("best", "this kernel") if name == "candidate" else ("baseline", BASELINES[name])
            points.append(RooflinePoint(told, kind, _rate(flops, times)))
    best_ms = judged.timing.candidate_ms.p50 if judged is not None and judged.timing is not None else None
    gpu = limit.gpu or (survey.gpu.name if survey and survey.gpu else "the GPU")
    return RooflineView(
        *(gpu, limit.bound, limit.floor_ms, flops / moved),
        bytes_per_s=moved / limit.memory_ms * 1e3,
        peak_flops_per_s=flops / limit.compute_ms * 1e3,
        points=tuple(one for one in points if one.flops_per_s > 0),
        reached=limit.floor_ms / best_ms if best_ms else None,
    )


def _rate(flops: int, times: Quantiles) -> float:
    return flops / times.p50 * 1e3 if times.p50 > 0 else 0.0


def phase_costs(summary: RunSummary) -> tuple[PhaseCost, ...]:
    if not summary.usage.tokens:
        return ()
    by_phase = [_cost(str(one), summary.costs_by_phase[one]) for one in Phase if one in summary.costs_by_phase]
    return (*by_phase, _cost("total", summary.spent))


def _cost(phase: str, spent: CallCosts) -> PhaseCost:
    usage = spent.usage
    money = money_text(usage.dollars, spent.known_dollars)
    return PhaseCost(phase, spent.calls, usage.input_tokens, usage.output_tokens, money, spent.seconds)
