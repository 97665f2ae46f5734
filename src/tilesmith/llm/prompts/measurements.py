"""What the judge measured of a kernel, and what those numbers say to an expert."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from tilesmith.llm.prompts.formatting import factor, milliseconds, percent
from tilesmith.records import Evaluation, KernelResources, Speedup, Survey, Timing

MANY_LAUNCHES = 8
MOST_KERNELS = 12
MOST_SAID = 8
NEAR_THE_ROOF = 0.7
FULL_OF_REGISTERS = 200


@dataclass(frozen=True)
class BaselineComparison:
    """One baseline and how the kernel does against it."""

    name: str
    ms: float
    speedup: Speedup | None


@dataclass(frozen=True)
class KernelMeasurements:
    """The profile of one kernel; fields are null where nothing was measured."""

    timing: Timing | None
    comparisons: tuple[BaselineComparison, ...]
    floor_ms: float | None
    share: float | None
    """Of the roofline: 1 would be the time no kernel can beat."""
    bound: str | None
    launches: int | None
    triton_time_share: float | None
    resources: tuple[KernelResources, ...]
    says: tuple[str, ...]


def measure_kernel(evaluation: Evaluation, survey: Survey) -> KernelMeasurements:
    timing = evaluation.timing
    roofline = evaluation.roofline or survey.roofline
    floor = roofline.floor_ms if roofline else None
    bound = roofline.bound if roofline else None
    share = floor / timing.candidate_ms.p50 if timing and floor and timing.candidate_ms.p50 > 0 else None
    return KernelMeasurements(
        timing=timing,
        comparisons=tuple(_comparisons(timing)) if timing else (),
        floor_ms=floor,
        share=share,
        bound=bound,
        launches=evaluation.launches,
        triton_time_share=evaluation.triton_time_share,
        resources=evaluation.resources[:MOST_KERNELS],
        says=tuple(islice(_observations(evaluation, survey, share, bound), MOST_SAID)),
    )


def _comparisons(timing: Timing) -> Iterator[BaselineComparison]:
    baselines = {"eager": timing.eager_ms, "graph": timing.graph_ms, "compile": timing.compile_ms}
    names = {"eager": "eager", "graph": "eager in a CUDA graph", "compile": "torch.compile"}
    for name, quantiles in baselines.items():
        if quantiles is not None:
            yield BaselineComparison(names[name], quantiles.p50, timing.speedup.get(name))


def _observations(evaluation: Evaluation, survey: Survey, share: float | None, bound: str | None) -> Iterator[str]:
    """Most telling first; each names the number it rests on."""
    if evaluation.timing is not None:
        yield from _about_time(evaluation.timing)
    if share is not None:
        yield _about_roof(share, bound)
    if evaluation.launches is not None and evaluation.launches >= MANY_LAUNCHES:
        yield f"{evaluation.launches} launches per call: fuse them, or move the loop around them into the kernel."
    if evaluation.triton_time_share is not None and evaluation.triton_time_share < 0.5:
        yield f"Triton kernels take {percent(evaluation.triton_time_share)} of the device time, PyTorch the rest."
    yield from _about_resources(evaluation, survey)


def _about_time(timing: Timing) -> Iterator[str]:
    slower = [one for one in _comparisons(timing) if one.speedup and one.speedup.value < 1]
    if slower:
        worst = min(slower, key=lambda one: one.speedup.value if one.speedup else 1.0)
        yield f"It loses to {worst.name}, which takes {milliseconds(worst.ms)}."


def _about_roof(share: float, bound: str | None) -> str:
    limit = "memory" if bound == "memory" else "arithmetic"
    if share >= NEAR_THE_ROOF:
        return f"It is at {percent(share)} of the {limit} roofline: at most {factor(1 / share)} is left to gain."
    if bound == "memory":
        return (
            f"It is at {percent(share)} of the memory roofline: look for bytes moved more than once (intermediates "
            "written out, rows read twice), uncoalesced accesses, too few bytes in flight, or idle multiprocessors."
        )
    return (
        f"It is at {percent(share)} of the arithmetic roofline: look for products off the tensor cores, tiles too "
        "small to reuse what they load, steps that wait for one another, or idle multiprocessors."
    )


def _about_resources(evaluation: Evaluation, survey: Survey) -> Iterator[str]:
    for kernel in evaluation.resources:
        if kernel.spills:
            yield (
                f"{kernel.kernel} spills {kernel.spills} bytes at {kernel.registers} registers a thread: smaller "
                "tiles, fewer values alive at once, or more warps."
            )
        elif kernel.registers and kernel.registers >= FULL_OF_REGISTERS:
            yield f"{kernel.kernel} holds {kernel.registers} registers a thread: few warps fit on a multiprocessor."
    flops, products = survey.profile.flops or 0, survey.profile.tensor_flops or 0
    cores = [kernel.tensor_core for kernel in evaluation.resources if kernel.tensor_core is not None]
    if flops and products > 0.5 * flops and cores and not any(cores) and evaluation.kernel_type != "hybrid":
        yield f"No kernel uses tensor cores, though {percent(products / flops)} of the arithmetic is in products."
