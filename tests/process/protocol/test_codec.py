"""A message with a single spoiled field is not believed."""

from __future__ import annotations

import copy
import inspect
import json
import math
from typing import Any

import pytest

from tilesmith.process.protocol import candidate, machine, reference
from tilesmith.process.protocol.candidate import (
    CompiledKernels,
    FirstCall,
    FirstCallReport,
    ForwardReport,
    KernelInspection,
    LaunchFingerprint,
    LaunchRecord,
    ModelConstructed,
    ReplayReport,
    TimedCalls,
)
from tilesmith.process.protocol.codec import Malformed, Request, RequestFailure, decode, encode, reply_type
from tilesmith.process.protocol.comparison import Comparison, ExactStatistics, FloatStatistics, WorstElement
from tilesmith.records import KernelResources

RESOURCES = KernelResources("k", "sm_90", 32, 0, 0, False, 4, 3)
FIRST = FirstCall((LaunchFingerprint("k", (4, 1, 1), {"n": "8"}), LaunchFingerprint("j", (1,), None)), True)
GENUINE = {
    "run": ForwardReport(("k",), (("mm", 4),), (), ("cpu",), None, (), 0),
    "compile": CompiledKernels((RESOURCES,)),
    "inspect": KernelInspection((RESOURCES,), 0.5, ()),
    "record": LaunchRecord(("k",), 4, (("mm", 4),)),
    "time": TimedCalls(((0.1, 0.2),), (((1.0, 2.0),), ((-1.0, 2.0),)), (0.0,), 2),
    "replay": ReplayReport({"0": None}, False, None, FIRST),
    "first_call": FirstCallReport(FIRST),
    "construct": ModelConstructed(()),
    "failure": RequestFailure("kernel", "no", "runtime_error"),
    "compare": Comparison(
        (
            ExactStatistics("exact", "int64", 3, 1, (WorstElement((0,), "1", "2"),)),
            FloatStatistics("float", "float32", 3, 0, 0.0, 0.0, 0.0, 0.0, math.inf, 0.0, 1.0, ()),
        )
    ),
}
CALL = encode(FIRST)
KERNEL = encode(RESOURCES)
SPOILED = [
    ("run", "unjoined", [1]),
    ("time", "digests", [[["a", 1.0]]]),
    ("time", "digests", [[[1.0]]]),
    ("time", "late_ms", [-1.0]),
    ("replay", "stops", 1),
    ("replay", "changes", 3),
    ("replay", "first_call", CALL | {"complete": None}),
    ("first_call", "first_call", CALL | {"launches": [{"kernel": "k", "grid": [1]}]}),
    ("first_call", "first_call", CALL | {"launches": [{"kernel": "k", "grid": [-1], "arguments": None}]}),
    ("first_call", "first_call", CALL | {"launches": [{"kernel": "k", "grid": [1], "arguments": {"n": 3}}]}),
    ("first_call", "first_call", []),
    ("record", "torch_steps", [["mm"]]),
    ("replay", "answered", "0"),
    ("replay", "answered", {"0": 3}),
    ("run", "memory", {"descriptor": 0}),
    ("run", "memory", 1),
    ("run", "launches", "k"),
    ("run", "launches", [1]),
    ("run", "changed_inputs", [-1]),
    ("run", "damage", 3),
    ("run", "autotuned", True),
    ("compile", "resources", [KERNEL | {"registers": "many"}]),
    ("compile", "resources", [KERNEL | {"registers": -1}]),
    ("compile", "resources", [KERNEL | {"more": 1}]),
    ("inspect", "triton_time_share", 1.5),
    ("inspect", "triton_time_share", math.nan),
    ("record", "programs", 10**400),
    ("inspect", "triton_time_share", 10**400),
    ("time", "samples", [[0.1]]),
    ("time", "samples", [[math.inf, 0.1]]),
    ("time", "samples", [[-1.0, 0.1]]),
    ("construct", "stale", [None]),
    ("failure", "kind", "nobody"),
    ("compare", "outputs", [{"kind": "exact"}]),
]


@pytest.mark.parametrize("name", GENUINE)
def test_ours_come_back_as_they_went_and_every_field_is_needed(name: str) -> None:
    record = GENUINE[name]
    sent = json.loads(json.dumps(encode(record)))
    assert decode(type(record), sent) == record
    for field in sent:
        with pytest.raises(Malformed):
            decode(type(record), {key: value for key, value in sent.items() if key != field})
    with pytest.raises(Malformed):
        decode(type(record), sent | {"one too many": 1})


@pytest.mark.parametrize(("name", "field", "value"), SPOILED)
def test_one_spoiled_field(name: str, field: str, value: object) -> None:
    record = GENUINE[name]
    with pytest.raises(Malformed):
        decode(type(record), copy.deepcopy(encode(record)) | {field: value})


@pytest.mark.parametrize("data", [None, [], "text", 3, True])
def test_what_is_no_record_at_all(data: Any) -> None:
    with pytest.raises(Malformed):
        decode(ForwardReport, data)


def test_every_request_names_its_answer() -> None:
    requests = [
        value
        for module in (candidate, machine, reference)
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, Request) and value is not Request
    ]
    assert len(requests) >= 36
    assert all(isinstance(reply_type(request), type) for request in requests)
