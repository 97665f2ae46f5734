"""A child that runs a kernel file behind the walls and under no watch: what the walls alone are worth."""

from __future__ import annotations

from typing import Any

from tilesmith.process.channel import Channel
from tilesmith.worker.candidate.faults import explain_fault
from tilesmith.worker.candidate.loading import execute
from tilesmith.worker.roles.request_loop import answer_requests


def serve(channel: Channel) -> None:
    answer_requests(channel, {"load": load}, lambda error: explain_fault(error, "kernel.py"))


def load(path: str, text: str, **_: Any) -> dict[str, Any]:
    execute(path, text)
    return {}
