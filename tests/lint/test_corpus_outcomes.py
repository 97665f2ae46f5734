"""The corpus tells the truth: what it says works compiles for a GPU, and what it says fails does fail.

Outcomes are kept in corpus_outcomes.json by the hash of the file and the version of Triton; the rest is compiled.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from corpus_files import CorpusFile, compile_outcomes, read_corpus, recorded_outcomes

FILES = read_corpus()
GROUPS = sorted({file.path.parent.name for file in FILES})
HALVES = (0, 1)


def lies(files: Sequence[CorpusFile], outcomes: dict[str, bool]) -> list[str]:
    return [file.name for file in files if outcomes[file.name] != file.works]


def test_outcomes_are_as_recorded() -> None:
    known = recorded_outcomes(FILES)
    changed = [file for file in FILES if file.name not in known]
    assert lies(FILES, known | compile_outcomes(changed)) == []


@pytest.mark.slow
@pytest.mark.slow_suite
@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("group", GROUPS)
def test_outcomes_are_real(group: str, half: int) -> None:
    files = [file for file in FILES if file.path.parent.name == group][half::2]
    assert lies(files, compile_outcomes(files)) == []
