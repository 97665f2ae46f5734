"""How a gate says no."""

from __future__ import annotations

from tilesmith.records import OutputErrors, Verdict

_MOST_CHARACTERS = 4000


class GateFailed(Exception):
    """A gate said no: unwinds the check and carries what to record."""

    def __init__(self, verdict: Verdict, reason: str, errors: OutputErrors | None = None) -> None:
        super().__init__(reason)
        self.verdict, self.errors = verdict, errors
        self.reason = reason[:_MOST_CHARACTERS].encode("utf-8", "replace").decode()
        """May quote what a candidate's process sent: cut, and in a form that every terminal and file takes."""

    @property
    def is_conclusive(self) -> bool:
        """Nothing that is found later changes it: neither another shape nor what the compiler says."""
        return self.verdict in (Verdict.CHEATING, Verdict.UNSUPPORTED)
