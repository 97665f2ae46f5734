"""The candidate child: what it does with a kernel that is loaded anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tilesmith.config import CheckConfig
from tilesmith.judge.machine.child_limits import candidate_limits
from tilesmith.process.fork_server_client import ForkServerClient
from tilesmith.process.protocol.candidate import LoadKernel
from tilesmith.process.protocol.codec import RequestFailed, RequestFailure
from tilesmith.process.sandbox import Grants

HEAD = "import sys\nimport torch\nfrom torch import nn\n"
MODEL = "class ModelNew(nn.Module):\n    def forward(self, x):\n        return x\n"
OPERATOR = """\
if not hasattr(torch.ops.mine, "same"):
    @torch.library.custom_op("mine::same", mutates_args=())
    def same(x: torch.Tensor) -> torch.Tensor:
        return x.clone()
"""
LATER = """\
class Later:
    def __init__(self):
        {cycle}
    def __del__(self, sys=sys):
        watch = sys.modules.get("tilesmith.worker.timing.stopwatch")
        if watch is not None:
            watch._now = lambda: 0.0
        torch.equal = lambda *_: True
later = Later()
del Later
"""
LoadTwice = Callable[[str], RequestFailure | None]


@pytest.fixture
def load_twice(fork_server: ForkServerClient, tmp_path: Path) -> LoadTwice:
    """Why the second load failed, if it did."""

    def load(text: str) -> RequestFailure | None:
        path = tmp_path / "loaded_kernel.py"
        path.write_text(text)
        request = LoadKernel(str(path), text, "cpu", "sm_90", "default")
        limits = candidate_limits(CheckConfig(device="cpu"), "cpu")
        child = fork_server.spawn("candidate", limits, Grants(readable=(str(tmp_path),)))
        try:
            child.ask(request, 30)
            child.ask(request, 30)
        except RequestFailed as failed:
            return failed.failure
        finally:
            child.close()
        return None

    return load


def test_a_plain_kernel_is_loaded_again_by_the_same_process(load_twice: LoadTwice) -> None:
    assert load_twice(HEAD + MODEL) is None


def test_an_operator_that_torch_keeps_needs_a_fresh_process(load_twice: LoadTwice) -> None:
    failure = load_twice(HEAD + OPERATOR + MODEL)
    assert failure is not None
    assert (failure.kind, failure.message) == (
        "machine",
        "torch keeps the operator mine::same: a fresh process is needed",
    )


@pytest.mark.parametrize("cycle", ["pass", "self.me = self"], ids=["let go", "collected"])
def test_code_that_runs_when_the_kernel_is_let_go_is_watched(load_twice: LoadTwice, cycle: str) -> None:
    failure = load_twice(HEAD + LATER.format(cycle=cycle) + MODEL)
    assert failure is not None
    assert (failure.verdict, failure.message) == ("cheating", "it replaced torch.equal, on which the judge relies")
