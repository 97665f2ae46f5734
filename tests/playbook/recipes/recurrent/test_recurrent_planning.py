"""Plans for every size of layer: all programs run at once, and the best guess comes first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pytest
from playbook_judging import some_of
from playbook_surveys import match_recurrent, survey_task
from recurrent_tasks import cell_task

from tilesmith.playbook.recipes.recurrent.layer import DTYPES, GATES, RecurrentLayer
from tilesmith.playbook.recipes.recurrent.planning import (
    RecurrentPlan,
    chunks,
    expected_ms,
    make_plans,
    rows_per_unit,
)

HIDDEN = (16, 17, 33, 64, 100, 129, 256, 300, 511, 512, 1000, 1024, 1500, 2048)
BATCHES = (1, 2, 8, 9, 16, 17, 64, 100, 256)
LAYERS = (1, 2, 3, 6, 8)


@pytest.fixture(scope="module")
def any_layer() -> RecurrentLayer:
    """A layer as it is read off a task; tests change its cell, type and sizes."""
    return match_recurrent(survey_task("layer", cell_task("gru", 2, False, True, (512, 2, 5, 7)))).layer


def layers_like(layer: RecurrentLayer, cell: str, dtype: str) -> Iterator[RecurrentLayer]:
    for hidden, batch, count, directions in product(HIDDEN, BATCHES, LAYERS, (1, 2)):
        yield replace(
            layer,
            cell=cell,
            dtype=dtype,
            batch=batch,
            input_size=hidden // 2 + 1,
            hidden_size=hidden,
            num_layers=count,
            directions=directions,
            wants_c=cell == "lstm",
        )


def programs(layer: RecurrentLayer, plan: RecurrentPlan) -> int:
    """That wait for one another in one launch."""
    sharing = -(-layer.hidden_size // plan.units) * -(-layer.batch // plan.batch)
    return sharing * (plan.layers_at_once or layer.directions)


def assert_sound(layer: RecurrentLayer, plan: RecurrentPlan, multiprocessors: int, is_exact: bool) -> None:
    assert 1 <= programs(layer, plan) <= multiprocessors
    for size in (plan.units, plan.batch, plan.warps):
        assert size > 0
        assert size & (size - 1) == 0
    assert plan.units * rows_per_unit(layer) >= 16, "rows of a product on tensor cores"
    assert plan.batch >= 8, "columns of one"
    assert chunks(layer, plan) in (1, 2)
    assert plan.words in (("float32",) if is_exact else ("tf32", "float32")) or plan.words == layer.dtype
    if plan.layers_at_once is not None:
        assert layer.directions == 1
        assert 2 <= plan.layers_at_once <= layer.num_layers
    assert expected_ms(layer, plan) > 0


@pytest.mark.parametrize("cell", GATES)
@pytest.mark.parametrize("dtype", some_of(DTYPES, ["float32"]))
def test_all_programs_of_every_plan_run_at_once(cell: str, dtype: str, any_layer: RecurrentLayer) -> None:
    planned = 0
    for layer in layers_like(any_layer, cell, dtype):
        for multiprocessors, is_exact in ((132, False), (132, True), (20, False)):
            found = make_plans(layer, multiprocessors, is_exact)
            for plan in found:
                assert_sound(layer, plan, multiprocessors, is_exact)
            assert len({plan.tuning for plan in found}) == len(found)
            planned += bool(found)
    assert planned > 300


def test_plans_depend_on_nothing_else(any_layer: RecurrentLayer) -> None:
    for layer in layers_like(any_layer, "lstm", "float32"):
        assert make_plans(layer, 132, False) == make_plans(replace(layer), 132, False)


def test_the_best_guess_comes_first(any_layer: RecurrentLayer) -> None:
    for layer in layers_like(any_layer, "gru", "float32"):
        times = [expected_ms(layer, plan) for plan in make_plans(layer, 132, False) if plan.words == "tf32"]
        assert times == sorted(times)
