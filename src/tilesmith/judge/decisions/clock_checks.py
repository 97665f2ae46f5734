"""Whether a candidate's times can be believed: by another clock, by what its calls returned, by when they ended."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from tilesmith.judge.gate_failed import GateFailed
from tilesmith.judge.sessions import FORGED_REPLY
from tilesmith.records import Verdict

_TOLERANCE = 0.03
"""How far the digest of an honest answer may lie from PyTorch's, as a share of its size."""
_MOST_UNKNOWN = 0.04
_LATE_SHARE = 0.2
_LATE_MS = 0.05

CallDigests = tuple[tuple[float, float], ...]
"""Of each output of one call: a projection and the norm."""
Digests = Sequence[CallDigests]


class DigestLog:
    """What every timed call returned, in a few numbers, beside those of PyTorch on the same inputs."""

    def __init__(self) -> None:
        self._truth: dict[int, CallDigests] = {}
        self._claims: dict[int, CallDigests] = {}

    def add_truth(self, seeds: Sequence[int], digests: Digests) -> None:
        self._truth |= _by_seed(seeds, digests)

    def add_claim(self, seeds: Sequence[int], digests: Digests) -> None:
        if len(digests) != 2 * len(seeds):
            raise GateFailed(Verdict.CHEATING, FORGED_REPLY)
        self._claims |= _by_seed(seeds, digests)

    def refuse_unknown_digests(self) -> None:
        """A timed call that returned something else did not do the work it was timed for."""
        known = [seed for seed in self._claims if seed in self._truth]
        unknown = [seed for seed in known if not _alike(self._claims[seed], self._truth[seed])]
        if len(unknown) > max(1.0, _MOST_UNKNOWN * len(known)):
            raise GateFailed(
                Verdict.CHEATING,
                f"{len(unknown)} of {len(known)} timed calls returned something else than on the same inputs "
                "PyTorch does: they do not do the work they are timed for",
            )


def _by_seed(seeds: Sequence[int], digests: Digests) -> dict[int, CallDigests]:
    """The call for device time sees the inputs of the next number."""
    return {seed + 1: digests[2 * i] for i, seed in enumerate(seeds)} | {
        seed: digests[2 * i + 1] for i, seed in enumerate(seeds)
    }


def _alike(claim: CallDigests, truth: CallDigests) -> bool:
    if len(claim) != len(truth):
        return False
    return all(_close(c, t) for c, t in zip(claim, truth, strict=True))


def _close(claim: tuple[float, float], truth: tuple[float, float]) -> bool:
    size = max(abs(truth[0]), abs(truth[1]))
    return all(c == t or abs(c - t) <= _TOLERANCE * size for c, t in zip(claim, truth, strict=True))


def refuse_empty_calls(launches: int, calls: int) -> None:
    if launches < calls:
        raise GateFailed(
            Verdict.CHEATING, f"{calls} timed calls launched {launches} Triton kernels: some of them none at all"
        )


def refuse_late_work(late_ms: Sequence[float], median_ms: float) -> None:
    usual = median(late_ms) if late_ms else 0.0
    if usual > _LATE_MS + _LATE_SHARE * median_ms:
        raise GateFailed(
            Verdict.CHEATING,
            f"{usual:.2f} ms of its work goes on after the caller's stream is done: it is left on a side stream",
        )
