"""A certificate per task: known cheats run through the judge before any candidate is.

Every cheat is tried on the draws in the order in which candidates see them, until one kills it. What is left
gets stronger draws; the first that kills joins the draws of the task. What survives those too is written into
every verdict, because then a pass does not tell the truth from that cheat.
"""

from __future__ import annotations

from contextlib import nullcontext

from tilesmith.config import CheckConfig
from tilesmith.judge.certificates.cache import certificate_key, read_certificate, write_certificate
from tilesmith.judge.certificates.cheat_trials import CheatTrials
from tilesmith.judge.machine.gpu_lock import GpuLock
from tilesmith.judge.reference.references import is_large
from tilesmith.judge.sessions import ReferenceSession
from tilesmith.records import Certificate, Outcome, Trial
from tilesmith.tasks.draws import ALL_DRAWS, DRAWS, FEW_DRAWS
from tilesmith.tasks.source import TaskSource


def certificate_of(
    task: TaskSource,
    reference: ReferenceSession,
    config: CheckConfig,
    device: str,
    lock: GpuLock,
    renew: bool = False,
) -> Certificate:
    """The certificate of a task: kept with its reference, else from disk, else made now."""
    with reference.certifying:
        if reference.certificate is None or renew:
            key = certificate_key(task, reference, config, device)
            stored = None if renew else read_certificate(key)
            reference.certificate = stored or _certify(task.name, key, reference, config, device, lock)
            reference.move_parameters(strongly=reference.certificate.strong_parameters)
            if stored is None:
                write_certificate(reference.certificate)
        return reference.certificate


def _certify(
    task: str, key: str, reference: ReferenceSession, config: CheckConfig, device: str, lock: GpuLock
) -> Certificate:
    """Where a kernel could do without its parameters, other parameters are tried, and kept if they tell more."""
    large = device == "cuda" and is_large(reference)
    shape = "exact" if device == "cuda" and not large else "shrunk"
    draws = FEW_DRAWS if large else DRAWS

    def certify(strongly: bool) -> tuple[Certificate, bool]:
        reference.move_parameters(strongly)
        cheats = CheatTrials(reference, reference.k, shape, strongly)
        cheats.try_on(draws)
        extra = cheats.try_on(tuple(d for d in ALL_DRAWS if d not in draws), spares_allowed=True)
        cheats.try_on(extra)  # a lower precision that was allowed so far must hold on these, too
        trials = cheats.trials()
        certificate = Certificate(task, key, device, shape, trials, extra, strongly, _notes(trials))
        return certificate, cheats.has_survivors("parameters")

    with lock.shared() if device == "cuda" else nullcontext():
        usual, lives_without = certify(strongly=False)
        strong = certify(strongly=True)[0] if lives_without else usual
    return min(usual, strong, key=lambda certificate: len(certificate.blind_to))


def _notes(trials: tuple[Trial, ...]) -> tuple[str, ...]:
    told = {
        Outcome.SURVIVED: "this task cannot tell {} from the truth: {}",
        Outcome.UNTRIED: "whether this task can tell {} from the truth is not known: {}",
    }
    found = {outcome: [trial for trial in trials if trial.outcome is outcome] for outcome in told}
    return tuple(told[outcome].format(_listed(some), some[0].detail) for outcome, some in found.items() if some)


def _listed(trials: list[Trial]) -> str:
    *first, last = [f"'{trial.cheat}'" for trial in trials]
    return f"{', '.join(first)} or {last}" if first else last
