"""What really happens to a corpus source: import it, construct `ModelNew`, run `forward` with launches recorded,
and compile each launch for sm_90. Launches are not executed, so values mean nothing.

    python tests/lint/corpus_outcomes.py tests/lint/corpus/styles/gemm_split_k.py ...
    python tests/lint/corpus_outcomes.py --renew

`--renew` compiles the sources whose outcome with this Triton is not in corpus_outcomes.json, and writes it there.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from corpus_files import read_corpus, record_outcomes

from tilesmith.worker.candidate.loading import execute
from tilesmith.worker.compile import compile_launch, distinct
from tilesmith.worker.engines.recorder import recording
from tilesmith.worker.fake_cuda.pretend_cuda import pretend_cuda

TARGET = "sm_90"


@dataclass(frozen=True)
class Outcome:
    works: bool
    why: str


def outcome(path: Path) -> Outcome:
    """Anything a source raises is an outcome, including what only BaseException covers."""
    try:
        compile_all(path)
    except BaseException as error:
        return Outcome(False, f"{type(error).__name__}: {' '.join(str(error).split())[:200]}")
    return Outcome(True, "")


def compile_all(path: Path) -> None:
    torch.manual_seed(0)
    with recording(target=TARGET) as launches, pretend_cuda(), torch.no_grad():
        model_class = execute(str(path), path.read_text(encoding="utf-8"))
        made = vars(sys.modules[model_class.__module__])
        model = model_class(*made["get_init_inputs"]())
        model(*made["get_inputs"]())
        recorded = list(launches)
    for launch in distinct(recorded):
        compile_launch(launch, TARGET)


def main(arguments: Sequence[str]) -> None:
    if arguments == ["--renew"]:
        record_outcomes(read_corpus())
        return
    for path in arguments:
        found = outcome(Path(path))
        print(f"{path}: {'works' if found.works else 'fails'} {found.why}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
