"""Replay without launches: what a candidate answers when every Triton launch is left out.

The answer must change.

Without a GPU it happens in a fork, so that nothing of it stays and many more calls can be made to see what they
would launch. With one, the child that compiles ahead does it, and is used for nothing else.
"""

from __future__ import annotations

import contextlib
import time
from typing import Any

import torch

from tilesmith.worker.candidate.guarded_memory import GuardedMemory
from tilesmith.worker.candidate.launch_fingerprint import (
    FirstCall,
    LaunchFingerprint,
    changed_launches,
    fingerprints_of,
)
from tilesmith.worker.candidate.runner import Built, Runner
from tilesmith.worker.tensors import exchange
from tilesmith.worker.watch.cheating_detected import CheatingDetected
from tilesmith.worker.watch.forked_copy import in_a_fork
from tilesmith.worker.watch.provenance import is_blank


def replay(
    runner: Runner, built: Built, given: list[Any], outputs: dict[str, str], calls: int, limit_s: float
) -> dict[str, Any]:
    """`outputs` maps what fresh memory is filled with to a file; `answered` are the fills that gave one.

    `caught` says what the code did that only a cheat does.
    """

    def seance() -> dict[str, Any]:
        with runner.launches.muted():
            try:
                answered, first_call = _heard(runner, built, given, outputs)
                later = _later_calls(runner, built, given, calls, limit_s)
                return {"answered": answered, "first_call": first_call} | _judged(first_call, later)
            except CheatingDetected as caught:
                return {"caught": str(caught)}

    heard = in_a_fork(seance) if runner.device == "cpu" else seance()
    if "caught" in heard:
        raise CheatingDetected(heard["caught"])
    return {"answered": [], "first_call": None, "stops": False, "changes": None} | heard


def _heard(
    runner: Runner, built: Built, given: list[Any], outputs: dict[str, str]
) -> tuple[list[str], FirstCall | None]:
    """The fills that gave an answer, and what the first of all calls would have launched."""
    answered: list[str] = []
    first_call: FirstCall | None = None
    for fill, path in outputs.items():
        runner.forget_launches()
        returned = _forward(runner, built, given, fill)
        if first_call is None:
            first_call = runner.first_call(complete=returned is not None)
        if returned is not None and not _is_blank(returned):
            exchange.write_outputs(path, returned)
            answered.append(fill)
    return answered, first_call


def _is_blank(returned: Any) -> bool:
    """Nothing but the fill: not worth a comparison."""
    return all(map(is_blank, exchange.tensors_in([returned])))


def _forward(runner: Runner, built: Built, given: list[Any], fill: str) -> Any:
    try:
        return runner.forward(built, given, GuardedMemory(None, float(fill)))
    except CheatingDetected:
        raise
    except Exception:  # without its kernels it may well fail
        return None


def _later_calls(
    runner: Runner, built: Built, given: list[Any], calls: int, limit_s: float
) -> list[list[LaunchFingerprint]]:
    """What each of many calls would launch; host code alone is quick."""
    told: list[list[LaunchFingerprint]] = []
    deadline = time.monotonic() + limit_s
    with contextlib.suppress(Exception), runner.candidate_code(), torch.no_grad():
        while len(told) < calls and time.monotonic() < deadline:
            runner.forget_launches()
            built.model(*given)
            told.append(fingerprints_of(runner.launches.launches))
    return told


def _judged(first: FirstCall | None, later: list[list[LaunchFingerprint]]) -> dict[str, Any]:
    """`stops`: some call launches nothing. `changes`: how later calls launch something else than the first."""
    changes = changed_launches(first["launches"], later) if first is not None and first["complete"] else None
    return {"stops": [] in later, "changes": changes}
