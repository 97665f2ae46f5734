"""A reply with a single spoilt field is not genuine."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest

from tilesmith.judge.replies import is_genuine
from tilesmith.judge.sessions import CandidateSession, Failed
from tilesmith.process.fork_server_client import ChildGone
from tilesmith.records import Verdict

KERNEL = {
    "kernel": "k",
    "target": "sm_90",
    "registers": 32,
    "spills": 0,
    "shared_bytes": 0,
    "tensor_core": False,
    "num_warps": 4,
    "num_stages": 3,
}
CALL = {"launches": [["k", [4, 1, 1], {"n": "8"}], ["j", [1, 1, 1], None]], "complete": True}
GENUINE: dict[str, dict[str, Any]] = {
    "run": {
        "launches": ["k"],
        "changed_inputs": [],
        "devices": ["cpu"],
        "damage": None,
        "autotuned": 0,
        "torchs_steps": [["mm", 4]],
        "unjoined": [],
    },
    "compile": {"resources": [KERNEL]},
    "inspect": {"resources": [KERNEL], "triton_time_share": 0.5, "unjoined": []},
    "record": {"launches": ["k"], "programs": 4},
    "time": {
        "samples": [[0.1, 0.2]],
        "digests": [[[1.0, 2.0]], [[-1.0, 2.0]]],
        "straggling_ms": [0.0],
        "launches": 2,
    },
    "replay": {"answered": ["0"], "stops": False, "changes": None, "first_call": CALL},
    "first_call": {"first_call": CALL},
    "record_exact": {"launches": ["k"], "programs": 4, "torchs_steps": []},
    "construct": {"stale": []},
}
SPOILT = [
    ("run", "unjoined", [1]),
    ("time", "digests", [[["a", 1.0]]]),
    ("time", "digests", [[[1.0]]]),
    ("time", "straggling_ms", [-1.0]),
    ("replay", "stops", 1),
    ("replay", "changes", 3),
    ("replay", "first_call", CALL | {"complete": None}),
    ("first_call", "first_call", CALL | {"launches": [["k", [1]]]}),
    ("first_call", "first_call", CALL | {"launches": [["k", [-1], None]]}),
    ("first_call", "first_call", CALL | {"launches": [["k", [1], {"n": 3}]]}),
    ("first_call", "first_call", []),
    ("record_exact", "torchs_steps", [["mm"]]),
    ("replay", "answered", "0"),
    ("run", "launches", "k"),
    ("run", "launches", [1]),
    ("run", "changed_inputs", [-1]),
    ("run", "damage", 3),
    ("run", "autotuned", True),
    ("compile", "resources", [KERNEL | {"registers": "many"}]),
    ("compile", "resources", [KERNEL | {"more": 1}]),
    ("inspect", "triton_time_share", 1.5),
    ("inspect", "triton_time_share", math.nan),
    ("record", "programs", 10**400),
    ("time", "samples", [[0.1]]),
    ("time", "samples", [[math.inf, 0.1]]),
    ("time", "samples", [[-1.0, 0.1]]),
    ("construct", "stale", [None]),
]


@pytest.mark.parametrize("op", GENUINE)
def test_ours_are_genuine_and_every_field_is_needed(op: str) -> None:
    assert is_genuine(op, GENUINE[op])
    for name in GENUINE[op]:
        assert not is_genuine(op, {key: value for key, value in GENUINE[op].items() if key != name})


@pytest.mark.parametrize(("op", "name", "value"), SPOILT)
def test_one_spoilt_field(op: str, name: str, value: object) -> None:
    assert not is_genuine(op, copy.deepcopy(GENUINE[op]) | {name: value})


class Forger:
    """The far end of a session: a child that answers whatever it likes."""

    walls, folder = (), None

    def __init__(self, reply: dict[str, Any] | ChildGone) -> None:
        self._reply = reply

    def ask(self, *_: object, **__: object) -> dict[str, Any]:
        if isinstance(self._reply, ChildGone):
            raise self._reply
        return self._reply


@pytest.mark.parametrize(
    "reply",
    [
        {"fault": {"verdict": "passed", "message": ""}},
        {"fault": {"verdict": []}},
        {"fault": "passed"},
        {"ok": "passed"},
        {},
    ],
)
def test_a_forged_reply_is_cheating(reply: dict[str, Any]) -> None:
    with pytest.raises(Failed) as caught:
        CandidateSession(Forger(reply), 1.0).ask("run")  # type: ignore[arg-type]
    assert caught.value.verdict is Verdict.CHEATING


def test_text_that_no_terminal_takes_is_cleaned() -> None:
    reply = {"fault": {"verdict": "runtime_error", "message": "\ud800" + "x" * 10_000}}
    with pytest.raises(Failed) as caught:
        CandidateSession(Forger(reply), 1.0).ask("run")  # type: ignore[arg-type]
    caught.value.reason.encode()
    assert len(caught.value.reason) <= 2000
