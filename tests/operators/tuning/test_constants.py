"""Constants at the top of a file: read, changed one at a time, written back."""

from __future__ import annotations

import pytest

from tilesmith.operators.tuning.constants import (
    TunedFile,
    describe,
    difference,
    neighbors,
    read_tuning,
    with_tuning,
)
from tilesmith.playbook.recipe import TunableFile

FILE = '''"""BLOCK = 1 in prose is no constant."""
BLOCK = 1024
NUM_WARPS = 4
NUM_STAGES = 1
LIMIT = 7


@triton.jit
def add_kernel(x_ptr, bias_ptr, y_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + offs, mask=mask)
    bias = tl.load(
        bias_ptr + offs % 3, mask=mask).to(tl.float32)
    tl.store(y_ptr + offs, x + bias)
'''


def test_constants_are_known_by_their_names() -> None:
    tuning = read_tuning(FILE)
    assert tuning.values == (
        ("BLOCK", 1024),
        ("NUM_WARPS", 4),
        ("NUM_STAGES", 1),
        ("KEEP_x_ptr", 0),
        ("KEEP_bias_ptr", 0),
    )
    assert describe(tuning) == "BLOCK 1024, NUM_WARPS 4, NUM_STAGES 1"


def test_a_tuning_is_written_and_read_back() -> None:
    own = read_tuning(FILE)
    changed = own.changed("BLOCK", 2048).changed("KEEP_bias_ptr", 1)
    text = with_tuning(FILE, changed)
    assert 'bias_ptr + offs % 3, mask=mask, eviction_policy="evict_last").to(tl.float32)' in text
    assert "LIMIT = 7" in text
    assert read_tuning(text) == changed
    assert with_tuning(text, own) == FILE
    assert describe(changed).endswith("bias kept in cache")
    assert difference(own, changed) == "BLOCK 1024 -> 2048, KEEP_bias_ptr 0 -> 1"


@pytest.mark.parametrize(
    ("stage", "changes"),
    [
        ("grid", []),
        ("block", ["BLOCK 1024 -> 2048", "BLOCK 1024 -> 512"]),
        (
            "memory",
            [
                *("NUM_WARPS 4 -> 8", "NUM_WARPS 4 -> 2", "NUM_STAGES 1 -> 2"),
                *("KEEP_x_ptr 0 -> 1", "KEEP_bias_ptr 0 -> 1"),
            ],
        ),
    ],
)
def test_neighbors_change_one_constant_within_limits(stage: str, changes: list[str]) -> None:
    own = read_tuning(FILE)
    assert [difference(own, one) for one in neighbors(own, stage)] == changes


@pytest.mark.parametrize(
    "load",
    [
        "z = tl.load(x_ptr,)",
        "z = tl.load(\n        x_ptr + offs,\n        mask=(a & b),  # both\n    )",
        'y = f("é", tl.load(x_ptr)) ; z = tl.load(x_ptr, mask=(a))',
    ],
)
def test_a_hint_is_written_into_any_load_and_taken_back(load: str) -> None:
    text = f"BLOCK = 256  # elements of a program\ndef kernel(x_ptr):\n    {load}\n"
    own = read_tuning(text)
    changed = own.changed("BLOCK", 512).changed("KEEP_x_ptr", 1)
    written = with_tuning(text, changed)
    assert read_tuning(written) == changed
    assert written.count("evict_last") == text.count("tl.load")
    assert with_tuning(written, own) == text


def test_a_file_answers_what_a_search_asks_and_nothing_else() -> None:
    file = TunedFile(FILE, str.upper, (read_tuning(FILE).changed("BLOCK", 64),))
    assert [one["BLOCK"] for one in file.tunings[:2]] == [1024, 64]
    assert file.parts[0].choices == file.tunings
    assert file.write(file.tunings[1]) == FILE.replace("BLOCK = 1024", "BLOCK = 64").upper()
    asked = {name for name in vars(TunableFile) if not name.startswith("_")}
    assert {name for name in dir(file) if not name.startswith("_")} == asked | {
        "text",
        "finish",
        "suggested",
        "tuning",
    }
