"""The probe child: says what torch, triton and the GPU can do here. It loads neither task nor candidate."""

from __future__ import annotations

from typing import Any

import torch

from tilesmith.process.channel import Channel
from tilesmith.worker.compile import TARGETS
from tilesmith.worker.roles.environment import describe_environment
from tilesmith.worker.roles.request_loop import answer_requests, explain_own_failure


def serve(channel: Channel) -> None:
    answer_requests(
        channel, {"describe": describe, "targets": targets, "warm_cache": warm_cache}, explain_own_failure
    )


def describe() -> dict[str, Any]:
    usable = torch.cuda.is_available()
    known = describe_environment("cuda" if usable else "cpu")
    if usable:
        known["works"] = float(torch.ones(4, device="cuda").sum()) == 4.0
    return known | {"gpu": usable}


def targets() -> dict[str, Any]:
    return {"targets": sorted(TARGETS)}


def warm_cache() -> dict[str, Any]:
    """Make Triton build its driver stub into this child's cache."""
    import triton

    torch.cuda.init()
    triton.runtime.driver.active.get_current_target()
    return {"built": hasattr(triton.runtime.driver.active, "utils")}
