"""The texts that the playbook writes, as files: a change of one shows in the diff.

python tests/playbook/golden_texts.py    # writes them anew
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from playbook_modules import outcomes
from playbook_surveys import match_recurrent, match_task, survey_task
from playbook_tasks import ELEMENTWISE, ROWS
from recurrent_tasks import TASKS

from tilesmith.playbook.recipe import Match, Tuning

GOLDENS = Path(__file__).parent / "goldens"
RECURRENT = {
    "gru_1": "layer",
    "gru_3": "wave",
    "lstm_3": "wave",
    "lstm_1_both_directions": "layer",
    "rnn_relu_1": "layer",
    "without_bias": "exact",
    "half": "wave",
    "bfloat_both_directions": "layer",
}
"""Every cell, every way through the layers and every kind of words; the kind of each task's tuning that is kept."""


def tuning_kind(tuning: Tuning) -> str:
    """wave (all layers in one launch), layer (one launch for each) or exact (full float32 products)."""
    return "exact" if "EXACT" in tuning else "wave" if "LAYERS_AT_ONCE" in tuning else "layer"


def first_of_each_kind(match: Match) -> dict[str, Tuning]:
    return {tuning_kind(tuning): tuning for tuning in reversed(match.tunings)}


def written() -> Iterator[tuple[str, str]]:
    """The name of every golden file and the text it should hold."""
    for recipe, tasks in (("elementwise", ELEMENTWISE), ("rows", ROWS)):
        for name, text in tasks.items():
            match = match_task(name, text)
            yield f"{recipe}/{name}", match.write(match.tunings[0])
    for name, kind in RECURRENT.items():
        match = match_recurrent(survey_task(name, TASKS[name]))
        yield f"recurrent/{name}", match.write(first_of_each_kind(match)[kind])
    yield "modules/outcomes", outcomes()


def golden(name: str) -> str:
    return (GOLDENS / f"{name}.txt").read_text(encoding="utf-8")


def main() -> None:
    texts = dict(written())
    for stale in set(GOLDENS.rglob("*.txt")) - {GOLDENS / f"{name}.txt" for name in texts}:
        stale.unlink()
    for name, text in texts.items():
        path = GOLDENS / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    print(f"{len(texts)} goldens in {GOLDENS}")


if __name__ == "__main__":
    main()
