"""Passes from CUDA graphs on a real GPU: chosen by the clock, right in calls of all kinds, passed by the judge."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tilesmith.config import CheckConfig
from tilesmith.forge.tuning.tuner import MeasuringTuner
from tilesmith.judge import Judge
from tilesmith.playbook import find_match
from tilesmith.playbook.plan.plan import Plan
from tilesmith.playbook.recipe import join_tunings
from tilesmith.records import Verdict

pytestmark = pytest.mark.gpu
NETWORK = """
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mixed = F.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None])[:, 0]
        return x + self.down(F.gelu(self.up(self.norm(x + mixed)))) * 0.5


class Model(nn.Module):
    def __init__(self, width: int, depth: int):
        super().__init__()
        self.blocks = nn.Sequential(*(Block(width) for _ in range(depth)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.blocks(x) * 2, -1)


batch_size = 8
width = 256
depth = 16


def get_inputs():
    return [torch.randn(batch_size, 64, width)]


def get_init_inputs():
    return [width, depth]
"""
CALLS = """
import copy, gc, runpy, sys, threading
import torch

sys.modules["kernel"] = kernel = type(sys)("kernel")
kernel.__file__ = sys.argv[2]
exec(compile(open(sys.argv[2]).read(), sys.argv[2], "exec"), vars(kernel))
Model = runpy.run_path(sys.argv[1])["Model"]
model = kernel.ModelNew(256, 16).cuda()


def check(what, model=model, shape=(8, 64, 256), times=2):
    expected = Model(256, 16).cuda()
    expected.load_state_dict(model.state_dict())
    for _ in range(times):
        x = torch.randn(shape).cuda()  # on the GPU nobody may draw random numbers while a thread captures
        got, wanted = model(x), expected(x)
        torch.testing.assert_close(got, wanted, rtol=2e-3, atol=2e-4, msg=lambda told: f"{what}: {told}")


with torch.no_grad():
    check("new inputs", times=4)
    (call,) = kernel._graphs[model].values()
    check("the same graph")
    assert [*kernel._graphs[model].values()] == [call], "it was captured again"
    for batch in (1, 3, 8, 5, 2, 7, 8):
        check(f"batch {batch}", shape=(batch, 64, 256))
        assert len(kernel._graphs[model]) <= kernel.GRAPHS
    del call
    first = model.blocks[0]
    first.up.weight.mul_(-1.5)
    check("a weight changed in place")
    first.down.weight = torch.nn.Parameter(torch.randn_like(first.down.weight) * 0.05)
    check("another weight")
    first.norm = torch.nn.LayerNorm(256).cuda().requires_grad_(False)
    first.norm.weight.fill_(0.7)
    check("another module")
    check("a copy", copy.deepcopy(model))
    model.load_state_dict(kernel.ModelNew(256, 16).state_dict())
    check("loaded weights")
    model.cpu(), model.cuda()
    check("there and back")
    held, x = [], torch.randn(8, 64, 256, device="cuda")
    for _ in range(3):
        held.append(model(x))
        x = x * 1.5
    assert not torch.equal(held[0], held[1]), "outputs share memory"
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        check("another stream")
    torch.cuda.synchronize()
    outer = torch.cuda.CUDAGraph()
    expected = model(x)
    with torch.cuda.graph(outer):
        got = model(x)
    outer.replay()
    torch.testing.assert_close(got, expected)
    for _ in range(2):
        check("memory", shape=(8, 64, 256))
    for turn in range(12):
        check("memory", shape=(8, 64 + turn % 6, 256), times=1)
    failed = []

    def call_often():
        try:
            with torch.no_grad():
                for _ in range(20):
                    check("threads", times=1)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=call_often) for _ in range(3)]
    [one.start() for one in threads], [one.join() for one in threads]
    assert not failed, failed[0]
with torch.inference_mode():
    check("inference mode")
with torch.no_grad():
    check("and out of it")
check("with gradients")
twin = copy.deepcopy(model)
with torch.no_grad():
    check("a twin", twin)
known = len(kernel._graphs)
del twin
gc.collect()
assert len(kernel._graphs) == known - 1, "graphs outlive their model"
print("all right")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The task, and what the tuner makes of it on this GPU."""
    folder = tmp_path_factory.mktemp("graphs")
    (folder / "task.py").write_text(NETWORK)
    return folder


@pytest.fixture(scope="module")
def judge() -> Judge:
    with Judge(CheckConfig()) as judge:
        yield judge


@pytest.fixture(scope="module")
def plan(judge: Judge, folder: Path) -> Plan:
    found = find_match(judge.survey(folder / "task.py"))
    assert isinstance(found, Plan), found
    return found


@pytest.fixture(scope="module")
def written(plan: Plan, folder: Path) -> Path:
    """The first guess, from a graph."""
    (launching,) = (part for part in plan.parts if not part.is_kernel)
    path = folder / "kernel.py"
    path.write_text(plan.write(join_tunings([plan.tunings[0], launching.choices[-1]])))
    return path


def test_a_graph_is_faster_where_launches_decide(judge: Judge, plan: Plan, folder: Path, written: Path) -> None:
    with judge.trials(folder / "task.py") as trials:
        (compiled,) = trials.compile([written.read_text()], 60.0)
        plain = trials.time_ms(plan.write(plan.tunings[0]), 20)
        graphed = trials.time_ms(written.read_text(), 20)
    print(f"plain {plain} ms, from a graph {graphed} ms")
    assert (compiled.problem, compiled.refused) == (None, ())
    assert "mul_add_softmax_kernel" in compiled.spills
    assert plain is not None
    assert graphed is not None
    assert graphed < 0.8 * plain


def test_the_judge_passes_it(judge: Judge, folder: Path, written: Path) -> None:
    evaluation = judge.check(folder / "task.py", written)
    assert evaluation.verdict is Verdict.PASSED, evaluation.reason
    assert evaluation.timing is not None
    print(f"{evaluation.timing.candidate_ms.p50} ms: {evaluation.timing.speedup}")
    print(evaluation.launches, evaluation.triton_time_share, evaluation.findings, evaluation.notes)
    assert {one.kernel for one in evaluation.resources} >= {"mul_add_softmax_kernel"}
    assert evaluation.triton_time_share


def test_the_tuner_takes_it(
    judge: Judge, plan: Plan, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    survey = judge.survey(folder / "task.py")
    tuner = MeasuringTuner(lambda: judge.trials(folder / "task.py"), 60.0)
    ranked = tuner.rank(survey, plan, lambda _: None)
    print(f"{ranked.note}: {ranked.tunings[0]}; {ranked.keeps_pytorch}")
    assert "GRAPHS" in ranked.tunings[0]
    if not ranked.keeps_pytorch:
        again = tuner.rank(survey, plan, lambda _: None)
        assert (again.note, again.tunings[0]) == ("tuning from cache", ranked.tunings[0])


def test_calls_of_all_kinds_are_right(folder: Path, written: Path) -> None:
    (folder / "calls.py").write_text(CALLS)
    command = [sys.executable, str(folder / "calls.py"), str(folder / "task.py"), str(written)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.endswith("all right\n")


def test_a_whole_run_ends_with_a_kernel_or_with_numbers(folder: Path, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "tilesmith",
        "forge",
        str(folder / "task.py"),
        "--author",
        "playbook",
        "--json",
    ]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run([*command, "--runs", str(tmp_path)], capture_output=True, text=True, env=environment)
    document = json.loads(done.stdout)
    print(document["score"], document["keeps_pytorch"])
    assert done.returncode in (0, 3), done.stderr
    if done.returncode == 0:
        assert "GRAPHS = " in Path(document["best_path"]).read_text()
