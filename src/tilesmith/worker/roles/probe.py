"""The probe child: says what torch, triton and the GPU can do here. It loads neither task nor candidate."""

from __future__ import annotations

import torch

from tilesmith.process.channel import Channel
from tilesmith.process.protocol import machine as protocol
from tilesmith.worker.compat.self_check import check_internals
from tilesmith.worker.compat.triton_names import active_driver
from tilesmith.worker.compile import TARGETS
from tilesmith.worker.roles.environment import describe_environment
from tilesmith.worker.roles.request_loop import answer_requests, explain_own_failure


def serve(channel: Channel) -> None:
    answer_requests(channel, ProbeRole(), explain_own_failure)


class ProbeRole:
    """Each public method answers one request."""

    def describe(self, request: protocol.DescribeMachine) -> protocol.MachineDescription:
        usable = torch.cuda.is_available()
        works = usable and float(torch.ones(4, device="cuda").sum()) == 4.0
        return protocol.MachineDescription(describe_environment("cuda" if usable else "cpu"), usable, works)

    def check_internals(self, request: protocol.CheckInternals) -> protocol.InternalNames:
        return protocol.InternalNames(check_internals())

    def list_targets(self, request: protocol.ListTargets) -> protocol.CompileTargets:
        return protocol.CompileTargets(tuple(sorted(TARGETS)))

    def warm_cache(self, request: protocol.WarmCache) -> protocol.CacheWarmed:
        torch.cuda.init()
        active_driver().get_current_target()
        return protocol.CacheWarmed(hasattr(active_driver(), "utils"))
