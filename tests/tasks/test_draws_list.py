"""One list of draws: every group is part of it."""

from __future__ import annotations

import pytest

from tilesmith.tasks.draws import ALL_DRAWS, DRAWS, FARTHER_DRAWS, FEW_DRAWS, REPLAY_DRAWS, WATCHED_DRAWS


def test_names_are_unique() -> None:
    assert len(set(ALL_DRAWS)) == len(ALL_DRAWS)


@pytest.mark.parametrize("group", [FEW_DRAWS, REPLAY_DRAWS, WATCHED_DRAWS])
def test_everybody_sees_the_groups_of_usual_draws(group: tuple[str, ...]) -> None:
    assert set(group) <= set(DRAWS)


def test_the_farther_draws_are_draws() -> None:
    assert set(FARTHER_DRAWS) <= set(ALL_DRAWS)
