"""The draws a candidate is checked on, and the variations a timed call gets."""

from __future__ import annotations

import random
from collections import namedtuple

import numpy as np
import pytest
import torch
from torch.multiprocessing.reductions import StorageWeakRef

from tilesmith.tasks.draws import CORNERS_DRAW, DRAWS
from tilesmith.worker.compat.torch_names import TorchDispatchMode, tree_flatten
from tilesmith.worker.truth.draws import draw_inputs

VARIED = [draw for draw in DRAWS if not draw.startswith("own")]
Pair = namedtuple("Pair", "left right")


def uniform():
    return [torch.rand(64, 8)]


def one(kind, seed=0, make=uniform):
    return draw_inputs(make, kind, seed)[0]


@pytest.mark.parametrize("kind", DRAWS)
def test_the_same_seed_gives_the_same_draw(kind):
    assert torch.equal(one(kind, 3), one(kind, 3))
    assert not torch.equal(one(kind, 3), one(kind, 4))


def test_every_kind_is_different():
    drawn = [one(kind) for kind in DRAWS]
    assert all(not torch.equal(a, b) for i, a in enumerate(drawn) for b in drawn[:i])


def test_seeds_reach_numpy_and_random_too():
    def make():
        return [torch.from_numpy(np.random.rand(4)), torch.tensor(random.random())]

    assert torch.equal(one("own", 1, make), one("own", 1, make))
    assert draw_inputs(make, "own", 1)[1] == draw_inputs(make, "own", 1)[1]


def test_the_tasks_own_inputs_are_left_as_they_are():
    drawn = one("own")
    torch.manual_seed(0)
    assert torch.equal(drawn, uniform()[0])


def test_variations_show_what_numbers_between_zero_and_one_hide():
    assert one("scaled").max() > 2
    assert bool((one("wild") < 0).any())
    assert one("wild").abs().max() > 3
    assert one("shifted").mean() > 1
    assert bool((one("sparse") == 0).any())
    assert bool((one("sparse") < 0).any())


@pytest.mark.parametrize("kind", DRAWS)
@pytest.mark.parametrize(
    "make",
    [
        lambda: [torch.arange(6)],
        lambda: [torch.tensor([True, False])],
        lambda: [torch.tril(torch.ones(4, 4))],
        lambda: [torch.tensor([0.0, 1.0, 1.0]).half()],
    ],
    ids=["integers", "booleans", "a mask", "a mask in half"],
)
def test_integers_and_masks_keep_their_meaning(kind, make):
    assert torch.equal(one(kind, make=make), make()[0])


@pytest.mark.parametrize("kind", VARIED)
def test_infinities_of_a_mask_stay_where_they_are(kind):
    mask = torch.zeros(4, 4).masked_fill(torch.ones(4, 4).triu(1).bool(), -torch.inf)
    varied = one(kind, make=lambda: [mask])
    assert torch.equal(varied.isinf(), mask.isinf())


@pytest.mark.parametrize("kind", DRAWS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_types_shapes_and_finiteness_survive(kind, dtype):
    for shape in ((), (1,), (5, 3)):
        drawn = one(kind, make=lambda shape=shape: [torch.rand(shape).to(dtype)])
        assert (drawn.dtype, drawn.shape) == (dtype, torch.Size(shape))
        assert bool(drawn.isfinite().all())


@pytest.mark.parametrize("kind", VARIED)
def test_nested_inputs_are_varied_inside(kind):
    def make():
        return [{"x": torch.rand(9)}, (torch.rand(9), [torch.rand(9)]), Pair(torch.rand(9), 3), 2.5, None]

    drawn = draw_inputs(make, kind, 0)
    torch.manual_seed(7919 * DRAWS.index(kind))
    own = make()
    assert not torch.equal(drawn[0]["x"], own[0]["x"])
    assert not torch.equal(drawn[1][1][0], own[1][1][0])
    assert isinstance(drawn[2], Pair)
    assert drawn[2].right == 3
    assert drawn[3:] == [2.5, None]


def test_inputs_with_equal_corners_differ_between_them() -> None:
    def make() -> list[torch.Tensor]:
        return [torch.randn(32, 40), torch.arange(8)]

    own, corners = draw_inputs(make, "own", 3), draw_inputs(make, CORNERS_DRAW, 3)
    assert torch.equal(own[0].flatten()[:64], corners[0].flatten()[:64])
    assert torch.equal(own[0].flatten()[-64:], corners[0].flatten()[-64:])
    assert bool((own[0].flatten()[64:-64] != corners[0].flatten()[64:-64]).all())
    assert torch.equal(own[1], corners[1])


class PeakMemory(TorchDispatchMode):
    """The most bytes that tensors made inside held at once."""

    def __init__(self):
        super().__init__()
        self.peak, self._storages = 0, {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for tensor in tree_flatten(result)[0]:
            if isinstance(tensor, torch.Tensor):
                storage = tensor.untyped_storage()
                self._storages[storage._cdata] = StorageWeakRef(storage), storage.nbytes()
        self._storages = {key: kept for key, kept in self._storages.items() if not kept[0].expired()}
        self.peak = max(self.peak, sum(size for _, size in self._storages.values()))
        return result


@pytest.mark.parametrize(
    ("kind", "most"), [("own", 1), ("wild", 2.25), ("sparse", 2.5), ("large", 2), ("heavy", 3)]
)
def test_a_draw_takes_little_more_memory_than_its_tensors(kind, most):
    with PeakMemory() as memory:
        one(kind, make=lambda: [torch.rand(512, 1024)])
    assert memory.peak / (512 * 1024 * 4) <= most + 0.01


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("make", [lambda x: x, lambda x: x.T, lambda x: x.where(x > 0.1, -torch.inf)])
def test_wild_numbers_are_the_products_they_are_said_to_be(make, dtype):
    x = make(torch.rand(8, 6).to(dtype))
    generator = torch.Generator().manual_seed(DRAWS.index("wild"))
    noise = torch.randn(x.shape, generator=generator).clamp(-3, 3).exp()
    signs = torch.randint(0, 2, x.shape, generator=generator, dtype=torch.int8) * 2 - 1
    drawn = one("wild", make=lambda: [x])
    assert torch.equal(drawn, torch.where(x.isfinite(), x * (noise * signs).to(dtype), x))
    assert drawn.stride() == x.stride()
