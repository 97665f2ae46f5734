"""Judges that code under test opens, on the fork servers of one that is open: four seconds less for each."""

from __future__ import annotations

from collections.abc import Callable

from tilesmith.config import CheckConfig
from tilesmith.judge import Judge
from tilesmith.judge.machine.devices import choose_device

_open = Judge.__init__


def opening_on(lender: Judge) -> Callable[..., None]:
    """What to put in the place of `Judge.__init__`."""

    def open_judge(judge: Judge, config: CheckConfig, host: Judge | None = None, gpu: str | None = None) -> None:
        _open(judge, config, host or (lender if choose_device(config.device) == lender.device else None), gpu)

    return open_judge


def lend_for_good() -> Judge:
    """All judges of this process and of those forked from it; close the one that is returned at the end."""
    lender = Judge(CheckConfig(device="cpu"))
    for server in lender._fork_servers.values():
        server._await_ready()  # it says so once, and every process must know
    Judge.__init__ = opening_on(lender)  # type: ignore[method-assign]
    return lender
