"""One word for the walls that stand, and no wall claimed that does not."""

from __future__ import annotations

import pytest

from tilesmith.process.sandbox import WALLS, missing_walls, sandbox_level
from tilesmith.process.sandbox.remedies import cures_for


@pytest.mark.parametrize(
    ("walls", "expected"),
    [
        (tuple(WALLS), "full"),
        ((*WALLS, "user"), "full"),
        (("limits", "files"), "partial"),
        (("network",), "partial"),
        (tuple(WALLS)[1:], "partial"),
        (("limits",), "limits only"),
        (("limits", "user"), "limits only"),
        ((), "limits only"),
    ],
)
def test_level(walls: tuple[str, ...], expected: str) -> None:
    assert sandbox_level(walls) == expected


@pytest.mark.parametrize("wall", WALLS)
def test_without_any_one_wall_it_is_not_full(wall: str) -> None:
    assert sandbox_level(set(WALLS) - {wall}) != "full"
    assert missing_walls(set(WALLS) - {wall}) == (wall,)


def test_every_missing_wall_has_a_cure_in_one_line() -> None:
    cures = cures_for(())
    assert set(cures) == set(WALLS)
    assert not [cure for cure in cures.values() if "\n" in cure or not cure]
    assert cures_for(WALLS) == {}
