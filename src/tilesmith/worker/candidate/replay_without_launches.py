"""Replay without launches: what a candidate answers when every Triton launch is left out.

The answer must change.

Without a GPU it happens in a fork, so that nothing of it stays and many more calls can be made to see what they
would launch. With one, the file is loaded anew afterwards.
"""

from __future__ import annotations

import contextlib
import time
from typing import Any

import torch

from tilesmith.process.descriptor import Descriptor
from tilesmith.process.protocol.candidate import (
    FirstCall,
    LaunchFingerprint,
    ReplayReport,
    ReplayWithoutLaunches,
)
from tilesmith.worker.candidate.guarded_memory import GuardedMemory
from tilesmith.worker.candidate.launch_fingerprint import changed_launches, fingerprints_of
from tilesmith.worker.candidate.runner import BuiltModel, Runner
from tilesmith.worker.task.forward_arguments import ForwardArguments, call
from tilesmith.worker.tensors import exchange
from tilesmith.worker.watch.cheating_detected import CheatingDetected
from tilesmith.worker.watch.forked_copy import run_in_fork
from tilesmith.worker.watch.provenance import is_blank


def replay(
    runner: Runner, built: BuiltModel, inputs: ForwardArguments, request: ReplayWithoutLaunches
) -> ReplayReport:
    """Raises CheatingDetected where the code does what only a cheat does."""

    def work() -> ReplayReport:
        with runner.engine.muted():
            answered, first = _answers(runner, built, inputs, request.outputs)
            later = _later_calls(runner, built, inputs, request.calls, request.limit_s)
        changes = changed_launches(first.launches, later) if first is not None and first.complete else None
        return ReplayReport(answered, () in later, changes, first)

    if runner.device == "cuda":
        return work()
    return run_in_fork(ReplayReport, work) or ReplayReport({}, False, None, None)


def _answers(
    runner: Runner, built: BuiltModel, inputs: ForwardArguments, outputs: dict[str, str]
) -> tuple[dict[str, Descriptor | None], FirstCall | None]:
    """The fills that gave an answer, and what the first of all calls would have launched."""
    answered: dict[str, Descriptor | None] = {}
    first_call: FirstCall | None = None
    for fill, path in outputs.items():
        runner.forget_launches()
        returned = _forward(runner, built, inputs, fill)
        if first_call is None:
            first_call = runner.first_call(complete=returned is not None)
        if returned is not None and not _is_blank(returned):
            answered[fill] = exchange.write_outputs(path, returned)
    return answered, first_call


def _is_blank(returned: Any) -> bool:
    """Nothing but the fill: not worth a comparison."""
    return all(map(is_blank, exchange.tensors_in([returned])))


def _forward(runner: Runner, built: BuiltModel, inputs: ForwardArguments, fill: str) -> Any:
    try:
        return runner.forward(built, inputs, GuardedMemory(None, float(fill)))
    except CheatingDetected:
        raise
    except Exception:  # without its kernels it may well fail
        return None


def _later_calls(
    runner: Runner, built: BuiltModel, inputs: ForwardArguments, calls: int, limit_s: float
) -> list[tuple[LaunchFingerprint, ...]]:
    """What each of many calls would launch; host code alone is quick."""
    seen: list[tuple[LaunchFingerprint, ...]] = []
    deadline = time.monotonic() + limit_s
    with contextlib.suppress(Exception), runner.candidate_code(), torch.no_grad():
        while len(seen) < calls and time.monotonic() < deadline:
            runner.forget_launches()
            call(built.model, inputs)
            if (launches := runner.engine.described_launches()) is None:
                break
            seen.append(fingerprints_of(launches))
    return seen
