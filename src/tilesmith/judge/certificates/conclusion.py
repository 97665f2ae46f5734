"""A certificate in one sentence."""

from __future__ import annotations

from tilesmith.records import Certificate, Outcome

_DEVICES = {"cpu": "CPU", "cuda": "GPU"}


def conclusion(certificate: Certificate) -> str:
    """How much a pass on this task tells."""
    tried = len(certificate.trials) - certificate.count(Outcome.INAPPLICABLE)
    killed = certificate.count(Outcome.KILLED)
    where = f"at its {certificate.shape} shape on the {_DEVICES[certificate.device]}"
    said = [f"{certificate.task}: {killed} of {tried} cheats killed {where}"]
    if certificate.count(Outcome.ALLOWED):
        said.append(f"{certificate.count(Outcome.ALLOWED)} within the error budget")
    if certificate.extra_draws:
        said.append(f"candidates are also checked on {', '.join(certificate.extra_draws)} inputs")
    if certificate.strong_parameters:
        said.append("candidates get parameters further from the initial ones than usual")
    return "; ".join(said)
