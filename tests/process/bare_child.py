"""A child that runs a kernel file behind the walls and under no watch: what the walls alone are worth."""

from __future__ import annotations

from tilesmith.process.channel import Channel
from tilesmith.process.protocol.candidate import LoadKernel
from tilesmith.process.protocol.codec import Done
from tilesmith.worker.candidate.fault_verdicts import explain_fault
from tilesmith.worker.candidate.loading import execute
from tilesmith.worker.roles.request_loop import answer_requests


def serve(channel: Channel) -> None:
    answer_requests(channel, BareRole(), lambda error: explain_fault(error, "kernel.py"))


class BareRole:
    def load(self, request: LoadKernel) -> Done:
        execute(request.path, request.text)
        return Done()
