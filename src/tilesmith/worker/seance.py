"""Ghost replay: what a candidate answers when every Triton launch is left out. The answer must change.

Without a GPU it happens in a fork, so that nothing of it stays and many more calls can be made to see what they
would launch. With one, the child that compiles ahead does it, and is used for nothing else.
"""

from __future__ import annotations

import contextlib
import time
from typing import Any

import torch

from tilesmith.worker import exchange
from tilesmith.worker.guards import GuardedMemory
from tilesmith.worker.honesty.caught import Caught
from tilesmith.worker.honesty.ghost import in_a_fork
from tilesmith.worker.honesty.provenance import is_blank
from tilesmith.worker.runner import Built, Runner


def haunt(
    runner: Runner, built: Built, given: list[Any], outputs: dict[str, str], calls: int, limit_s: float
) -> dict[str, Any]:
    """`outputs` maps what fresh memory is filled with to a file; `answered` are the fills that gave one.

    `caught` says what the code did that only a cheat does.
    """

    def seance() -> dict[str, Any]:
        with runner.launches.muted():
            try:
                answered = [fill for fill, path in outputs.items() if _answers(runner, built, given, fill, path)]
                return {"answered": answered, "launches": _launches(runner, built, given, calls, limit_s)}
            except Caught as caught:
                return {"caught": str(caught)}

    heard = in_a_fork(seance) if runner.device == "cpu" else seance()
    if "caught" in heard:
        raise Caught(heard["caught"])
    return {"answered": [], "launches": []} | heard


def _answers(runner: Runner, built: Built, given: list[Any], fill: str, path: str) -> bool:
    try:
        outputs = runner.forward(built, given, GuardedMemory(None, float(fill)))
    except Caught:
        raise
    except Exception:  # without its kernels it may well fail
        return False
    if all(map(is_blank, exchange.tensors_in([outputs]))):
        return False  # nothing but the fill: not worth a comparison
    exchange.write_outputs(path, outputs)
    return True


def _launches(runner: Runner, built: Built, given: list[Any], calls: int, limit_s: float) -> list[int]:
    """How much each of many calls would launch; host code alone is quick."""
    counts: list[int] = []
    deadline = time.monotonic() + limit_s
    with contextlib.suppress(Exception), runner.candidate_code(), torch.no_grad():
        while len(counts) < calls and time.monotonic() < deadline:
            runner.forget_launches()
            built.model(*given)
            counts.append(len(runner.launched()))
    return counts
