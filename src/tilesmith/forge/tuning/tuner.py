"""The tuner that the playbook is given: from the cache, else by a search on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from tilesmith.authors.protocol import RankedTunings
from tilesmith.errors import MachineError
from tilesmith.forge.tuning.cache import TuningCache
from tilesmith.forge.tuning.search import SearchLimits, SearchOutcome, Trials, TuningSearch, list_tunings
from tilesmith.playbook.recipe import Match
from tilesmith.records import Survey

_WORTH_IT = 0.97
"""Where PyTorch takes less than this share of the fastest tuning's time, no kernel is written."""

_KERNELS, _MOST_TIMES = 8, 5
"""The time is for a file of so many kernels; with more of them it grows, up to so many times."""

OpenTrials = Callable[[], AbstractContextManager[Trials]]


class MeasuringTuner:
    """Ranks the tunings of a task's match. It decides nothing: the judge does."""

    def __init__(self, open_trials: OpenTrials, limit_s: float) -> None:
        self._open_trials, self._limit_s = open_trials, limit_s

    def rank(self, survey: Survey, match: Match, tell: Callable[[str], None]) -> RankedTunings:
        began, cache = time.monotonic(), TuningCache(survey)
        is_timed = survey.device == "cuda"
        known = {part.key: found for part in match.parts if is_timed and (found := cache.read(part))}
        floor = survey.roofline.floor_ms if survey.roofline else None
        try:
            kernels = [known[part.key] for part in match.parts if part.is_kernel and part.key in known]
            if len(known) == len(match.parts) and any(found[0].values for found in kernels):
                return RankedTunings(list_tunings(match, known), True, "tuning from cache")
            known = known if len(known) < len(match.parts) else {}  # else no kernel would be left
            unknown = sum(part.is_kernel and part.key not in known for part in match.parts)
            seconds = self._limit_s * min(max(unknown / _KERNELS, 1), _MOST_TIMES)
            with self._open_trials() as trials:
                outcome = TuningSearch(match, trials, SearchLimits(seconds, floor), tell).run(known)
        except MachineError as error:
            return RankedTunings(match.tunings, False, f"not tuned: {error}")
        seconds = round(time.monotonic() - began, 3)
        if outcome.best_ms and outcome.pytorch_ms and outcome.pytorch_ms < _WORTH_IT * outcome.best_ms:
            kept = (
                f"its own operators take {outcome.pytorch_ms:.4g} ms here, the fastest of {outcome.measured} "
                f"tunings {outcome.best_ms:.4g} ms"
            )
            return RankedTunings(outcome.tunings, True, _told(outcome), seconds, kept)
        if outcome.measured:
            for part in match.parts:
                if part.key not in {*known, *outcome.unfinished}:
                    cache.write(part, outcome.ranked[part.key])
        return RankedTunings(outcome.tunings, bool(outcome.measured), _told(outcome), seconds)


def _told(outcome: SearchOutcome) -> str:
    dropped = f", {outcome.dropped} dropped by the compiler" if outcome.dropped else ""
    if not outcome.measured:
        return f"tuned by the compiler alone{dropped}"
    first = f", first guess {outcome.first_ms:.4g} ms" if outcome.first_ms is not None else ""
    count = "1 tuning" if outcome.measured == 1 else f"{outcome.measured} tunings"
    return f"{count} measured{dropped}: fastest {outcome.best_ms:.4g} ms{first}"
