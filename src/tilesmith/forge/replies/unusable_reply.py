"""The error for a reply of no use."""

from __future__ import annotations


class UnusableReply(Exception):
    """The reply holds nothing to go on with; `problem` is one sentence that can be shown to whoever wrote it."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
