"""Requests as the forge makes them, one for each template and each branch that matters; plain data throughout."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

from tilesmith.records import (
    Analysis,
    Attempt,
    AuthorRequest,
    Candidate,
    Evaluation,
    Finding,
    GpuPeaks,
    Graph,
    KernelResources,
    OutputErrors,
    Phase,
    Quantiles,
    Roofline,
    Severity,
    Speedup,
    Survey,
    TaskProfile,
    Timing,
    Verdict,
    from_json,
)
from tilesmith.records.graph import Input
from tilesmith.tasks.gpus import GPUS

ROOT = Path(__file__).parents[2]
H200 = from_json(GpuPeaks, asdict(next(gpu for gpu in GPUS if gpu.name == "H200")))
ENVIRONMENT = {"torch": "2.11.0", "triton": "3.6.0"}

KERNEL = """\
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def softmax_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + offs)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * N + offs, e / tl.sum(e, axis=0), mask=offs < N)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        softmax_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=8192)
        return y
"""
HOST_LOOP = """\
import torch
import triton
import triton.language as tl
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, h0):
        for t in range(x.shape[0]):
            step_kernel[(10,)](x[t], h0)
        return h0
"""


def softmax_survey(device: str = "cuda") -> Survey:
    return Survey(
        task="softmax",
        source=(ROOT / "examples/softmax.py").read_text(),
        device=device,
        profile=TaskProfile(
            ops={"aten._softmax": 1},
            bytes_moved=262_144_000,
            input_bytes=131_072_000,
            parameter_bytes=0,
            output_bytes=131_072_000,
            flops=32_768_000,
            tensor_flops=0,
            dtype="float32",
            reason=None,
        ),
        gpu=H200,
        roofline=Roofline(
            memory_ms=0.0546133,
            compute_ms=0.00048981,
            floor_ms=0.0546133,
            bound="memory",
            gpu="H200",
            bytes_moved=262_144_000,
            flops=32_768_000,
        ),
        graph=Graph((Input("x", "x", (), (4096, 8000), (8000, 1), "float32"),), (), (), {"node": "x"}),
        environment=ENVIRONMENT,
    )


def gru_survey() -> Survey:
    return Survey(
        task="gru",
        source=(ROOT / "examples/gru.py").read_text(),
        device="cuda",
        profile=TaskProfile(
            ops={"aten.gru": 1},
            bytes_moved=17_006_592,
            input_bytes=2_682_880,
            parameter_bytes=9_080_832,
            output_bytes=5_242_880,
            flops=23_231_201_280,
            tensor_flops=23_152_558_080,
            dtype="float32",
            reason=None,
        ),
        gpu=H200,
        roofline=Roofline(memory_ms=0.00354304, compute_ms=0.0468012, floor_ms=0.0468012, bound="compute"),
        graph=None,
        environment=ENVIRONMENT,
    )


def vgg_survey() -> Survey:
    profile = TaskProfile(
        ops={"aten.relu": 15, "aten.convolution": 13, "aten.max_pool2d_with_indices": 5, "aten.addmm": 3},
        bytes_moved=559_491_296,
        input_bytes=6_021_120,
        parameter_bytes=553_430_176,
        output_bytes=40_000,
        flops=309_602_058_240,
        tensor_flops=309_405_286_400,
        dtype="float32",
        reason=None,
    )
    source = (ROOT / "examples/vgg16.py").read_text()
    return Survey("vgg16", source, "cuda", profile, H200, None, None, ENVIRONMENT)


def untraced_survey() -> Survey:
    """A task nothing could be found out about, on a machine without a GPU in the table."""
    source = "from torch import nn\n\n\nclass Model(nn.Module):\n    def forward(self, x):\n        return x + 1\n"
    return Survey("mystery", source, "cpu", TaskProfile(), None, None, None)


EXPERT_PLAN = "limited by memory bandwidth: 1 operator (softmax)\nso: fuse the whole forward pass into one kernel"
TIMING = Timing(
    device="NVIDIA H200",
    candidate_ms=Quantiles(0.1201, 0.1215, 0.1240),
    eager_ms=Quantiles(0.151, 0.1523, 0.155),
    graph_ms=Quantiles(0.148, 0.1490, 0.151),
    compile_ms=Quantiles(0.096, 0.0972, 0.099),
    call_ms={"candidate": Quantiles(0.19, 0.2, 0.22)},
    speedup={
        "eager": Speedup(1.2535, 1.24, 1.27),
        "graph": Speedup(1.2263, 1.21, 1.24),
        "compile": Speedup(0.8, 0.79, 0.81),
    },
    call_speedup={},
    rounds=40,
)
RESOURCES = (KernelResources("softmax_kernel", "sm_90", 255, 48, 16, False, 4, 3),)
MASK = Finding("missing-mask", Severity.WARNING, 11, "this load can reach past N in the last tile: give it a mask")
REMARK = Finding("contiguity-assumed", Severity.INFO, 19, "x is read as if it were contiguous")
TIMED = Evaluation(
    verdict=Verdict.PASSED,
    reason="right, and 0.8 times as fast as the best baseline",
    kernel_type="normalization",
    complexity="low",
    findings=(MASK, REMARK),
    errors=OutputErrors(1.6e-7, 1.1e-9, 6.4e-8, 6.3e-8, 1.02),
    timing=TIMING,
    launches=1,
    triton_time_share=1.0,
    resources=RESOURCES,
    generality="general",
    roofline=softmax_survey().roofline,
)
UNTIMED = replace(
    TIMED, timing=None, triton_time_share=None, findings=(), notes=("not timed: there is no GPU here",)
)
UNSAFE = Evaluation(
    verdict=Verdict.UNSAFE_MEMORY,
    reason=(
        "out-of-bounds load: elements 6400..6655 (256 of 256 active lanes) of argument x_ptr, which has 6400 "
        "elements (valid: 0..6399). Mask the access or fix the index.\n"
        "  in kernel softmax_kernel, program (25, 0, 0), line 12: e = tl.exp(x - tl.max(x, axis=0))"
    ),
    kernel_type="normalization",
    complexity="low",
    findings=(MASK,),
    environment={"shapes": "(128, 50) instead of (4096, 8000)"},
)
INACCURATE = replace(
    UNSAFE,
    verdict=Verdict.INACCURATE,
    reason="the output on the own inputs: relative error 0.00077 against float64; PyTorch has 2e-07",
    findings=(),
    errors=OutputErrors(0.038, 0.0069, 0.00077, 2e-7, 3850.0),
)
HOST_LOOPED = Evaluation(
    verdict=Verdict.PASSED,
    reason="right in Triton's interpreter",
    kernel_type="recurrent_host_loop",
    complexity="high",
    findings=(Finding("time-loop-on-host", Severity.WARNING, 9, "a Python loop launches kernels for every step"),),
    launches=3072,
)
WRONG_GRID = replace(
    HOST_LOOPED,
    kernel_type="persistent_recurrent",
    complexity="persistent",
    findings=(Finding("grid-batch-only", Severity.WARNING, 9, "the grid spreads over the batch alone"),),
    launches=6,
)
PLAN = Analysis(
    bottleneck="the row is read three times: 0.121 ms against a floor of 0.055 ms",
    method="keep the whole row in registers",
    plan="1. BLOCK_N = next power of two\n2. one load, reduce, one store\n3. 16 warps",
    expected_speedup=1.9,
    complexity="medium",
    kernel_type="normalization",
    fallback="two rows per program with the tiles as they are",
)


def attempt(evaluation: Evaluation, number: int = 3, source: str = KERNEL, phase: Phase = Phase.SEED) -> Attempt:
    candidate = Candidate(number, source, None, number, phase)
    return Attempt(
        candidate, evaluation, 0.8 if evaluation.timing else None, False, "no better than attempt 1", 2.5
    )


def requests() -> dict[str, AuthorRequest]:
    softmax, gru = softmax_survey(), gru_survey()
    timed = attempt(TIMED)
    idea = attempt(INACCURATE, 2, phase=Phase.OPTIMIZE)
    optimize = AuthorRequest(5, Phase.OPTIMIZE, softmax, base=timed, analysis=PLAN, history=(idea,))
    stage = AuthorRequest(9, Phase.STAGE, softmax, base=timed, stage="block")
    looped = attempt(HOST_LOOPED, source=HOST_LOOP)
    misplaced = attempt(WRONG_GRID)
    return {
        "stage_wrong_grid": AuthorRequest(
            9, Phase.STAGE, gru, base=misplaced, stage="grid", lessons=("grid-batch-only",)
        ),
        "seed": AuthorRequest(1, Phase.SEED, softmax, seed=1, seeds=3),
        "seed_planned": AuthorRequest(1, Phase.SEED, softmax, seed=2, seeds=3, plan=EXPERT_PLAN),
        "seed_recurrent": AuthorRequest(2, Phase.SEED, gru, seed=3, seeds=3),
        "seed_convolution": AuthorRequest(2, Phase.SEED, vgg_survey(), seed=1, seeds=1),
        "seed_untraced": AuthorRequest(1, Phase.SEED, untraced_survey()),
        "seed_complaint": AuthorRequest(4, Phase.SEED, softmax, complaint="The reply has no `class ModelNew`."),
        "analyze": AuthorRequest(5, Phase.ANALYZE, softmax, base=timed, history=(idea,)),
        "analyze_untimed": AuthorRequest(5, Phase.ANALYZE, softmax_survey("cpu"), base=attempt(UNTIMED)),
        "analyze_failed": AuthorRequest(5, Phase.ANALYZE, softmax_survey("cpu"), base=attempt(INACCURATE)),
        "optimize": optimize,
        "optimize_planned": replace(optimize, plan=EXPERT_PLAN),
        "optimize_fallback": replace(optimize, use_fallback=True),
        "optimize_unplanned": replace(optimize, analysis=None),
        "repair": AuthorRequest(6, Phase.REPAIR, softmax, base=attempt(UNSAFE), history=(attempt(INACCURATE, 2),)),
        "repair_inaccurate": AuthorRequest(6, Phase.REPAIR, softmax, base=attempt(INACCURATE), analysis=PLAN),
        "revise": AuthorRequest(7, Phase.REVISE, gru, base=looped, lessons=("time-loop-on-host",)),
        "stage_grid": replace(stage, stage="grid"),
        "stage_block": stage,
        "stage_memory_care": replace(stage, stage="memory", with_care=True),
    }  # fmt: skip
