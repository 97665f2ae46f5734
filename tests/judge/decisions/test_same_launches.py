"""What the first call launches must not depend on whether its kernels are interpreted."""

from __future__ import annotations

import pytest

from tilesmith.judge.decisions.cheat_checks import refuse_different_launches
from tilesmith.judge.gate_failed import GateFailed
from tilesmith.process.protocol.candidate import FirstCall, LaunchFingerprint
from tilesmith.records import Verdict

ARGUMENTS = {"x_ptr": "a tensor torch.float32 (8,)", "n": "8", "BLOCK": "1024"}


def call(*launches: LaunchFingerprint, complete: bool = True) -> FirstCall:
    return FirstCall(launches, complete)


def launch(kernel: str = "k", grid: tuple[int, ...] = (4, 1, 1), **arguments: str) -> LaunchFingerprint:
    return LaunchFingerprint(kernel, grid, ARGUMENTS | arguments)


@pytest.mark.parametrize(
    ("compiled", "named"),
    [
        (call(launch("other")), "other instead of k"),
        (call(launch(grid=(2, 1, 1))), r"a grid of \(2, 1, 1\) instead of \(4, 1, 1\)"),
        (call(launch(n="4")), "n = 4 instead of 8"),
        (call(), "0 kernels instead of 1"),
        (call(launch(), launch()), "2 kernels instead of 1"),
    ],
    ids=["kernel", "grid", "argument", "fewer", "more"],
)
def test_a_difference_is_named(compiled: FirstCall, named: str) -> None:
    with pytest.raises(GateFailed, match=named) as caught:
        refuse_different_launches(call(launch()), compiled)
    assert caught.value.verdict is Verdict.CHEATING


@pytest.mark.parametrize(
    "compiled",
    [None, call(launch()), call(complete=False), call(LaunchFingerprint("k", (4, 1, 1), None))],
    ids=["nothing to compare", "the same", "failed on the way", "compiled before its launch"],
)
def test_no_difference(compiled: FirstCall | None) -> None:
    refuse_different_launches(call(launch()), compiled)


def test_without_an_interpreted_call_nothing_is_said() -> None:
    refuse_different_launches(None, call(launch()))
