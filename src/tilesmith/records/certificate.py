"""The nouns of a certificate: which known cheats the judge can tell from the truth on one task."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

CERTIFICATE_VERSION = 3


class Outcome(StrEnum):
    """What became of a cheat that was run through the judge."""

    KILLED = "killed"
    SURVIVED = "survived"
    ALLOWED = "allowed"
    """A lower precision that the error budget permits: PyTorch itself is no more accurate on this task."""
    INAPPLICABLE = "not applicable"
    """It means nothing for this task, or is the honest work itself."""
    UNTRIED = "not tried"
    """The machine failed or the time was up."""


@dataclass(frozen=True)
class Trial:
    """One cheat and what the judge said of it."""

    cheat: str
    outcome: Outcome
    by: str | None
    """The draw on which it was killed."""
    detail: str
    """One sentence with the numbers behind the outcome."""


@dataclass(frozen=True)
class Certificate:
    """What the judge knows about its own sight on one task, before any candidate is judged."""

    task: str
    key: str
    """Changes with the task's text and everything else that an outcome depends on."""
    device: str
    shape: str
    """The variant of the task on which the cheats were tried."""
    trials: tuple[Trial, ...]
    extra_draws: tuple[str, ...] = ()
    """Draws beyond the usual ones that some cheat needed: every candidate of the task is checked on them too."""
    strong_parameters: bool = False
    """Whether the usual perturbation of the parameters hid a cheat, so that candidates get a stronger one."""
    notes: tuple[str, ...] = ()
    format_version: int = CERTIFICATE_VERSION

    @property
    def blind_to(self) -> tuple[str, ...]:
        """Cheats that nothing here could tell from the truth."""
        return tuple(trial.cheat for trial in self.trials if trial.outcome is Outcome.SURVIVED)

    def count(self, outcome: Outcome) -> int:
        return sum(trial.outcome is outcome for trial in self.trials)

    def summary(self) -> CertificateSummary:
        killed = self.count(Outcome.KILLED)
        return CertificateSummary(self.key, killed, self.blind_to, self.extra_draws, self.strong_parameters)


@dataclass(frozen=True)
class CertificateSummary:
    """What a verdict carries of the task's certificate: how many known cheats are caught, and which are not."""

    key: str
    killed: int
    blind_to: tuple[str, ...] = ()
    extra_draws: tuple[str, ...] = ()
    strong_parameters: bool = False
