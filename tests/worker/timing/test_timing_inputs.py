"""Timed calls see new values at the same addresses, the same in every process, and no multiple of an old input."""

from __future__ import annotations

import torch

from tilesmith.worker.timing.timing_inputs import TimingInputs


def nests() -> tuple[list[object], list[object]]:
    torch.manual_seed(0)
    made = [
        [torch.rand(50, 8), {"y": torch.rand(3)}, torch.arange(4), torch.tril(torch.ones(3, 3))] for _ in range(2)
    ]
    return made[0], made[1]


def test_new_values_in_place_and_alike_in_every_process() -> None:
    first, second = nests()
    mine, theirs = TimingInputs(first, second), TimingInputs(first, second)
    address = mine.current[0].data_ptr()
    mine.vary(12345)
    theirs.vary(12345)
    seen = mine.current[0].clone()
    assert torch.equal(seen, theirs.current[0])
    assert not torch.equal(seen, first[0])
    mine.vary(999)
    assert not torch.equal(mine.current[0], seen)
    mine.vary(12345)
    assert torch.equal(mine.current[0], seen)
    assert mine.current[0].data_ptr() == address


def test_elements_that_overlap_vary_as_they_do_where_they_were_sent() -> None:
    made = [(torch.rand(1, 64) + 0.1).expand(16, 64) for _ in range(2)]
    for draws in (made, [made[0], None]):
        sent = [one if one is None else one.contiguous() for one in draws]
        here, there = TimingInputs(*draws), TimingInputs(*sent)
        here.vary(5)
        there.vary(5)
        assert torch.equal(here.current, there.current)


def test_integers_and_masks_stay_and_ranges_are_kept() -> None:
    first, second = nests()
    inputs = TimingInputs(first, second)
    for seed in range(50):
        inputs.vary(seed)
        assert torch.equal(inputs.current[2], first[2])
        assert torch.equal(inputs.current[3], first[3])
        assert float(inputs.current[0].min()) >= 0
        assert float(inputs.current[0].max()) <= 1


def test_no_call_sees_a_multiple_of_what_another_saw() -> None:
    first, second = nests()
    inputs = TimingInputs(first, second)
    seen = []
    for seed in range(20):
        inputs.vary(seed)
        seen.append(inputs.current[0].flatten().double().clone())
    for i, one in enumerate(seen):
        for other in seen[:i]:
            assert float(one @ other / one.norm() / other.norm()) < 0.99999


def test_one_draw_alone_is_no_multiple_of_itself() -> None:
    one = torch.rand(64, 1024) + 0.1
    inputs = TimingInputs([one], None)
    for seed in range(5):
        inputs.vary(seed)
        ratios = (inputs.current[0] / one).flatten()
        assert float(((ratios - ratios.median()).abs() < 1e-5).float().mean()) < 0.01
        assert 0.1 * 0.75 < float(inputs.current[0].min()) <= float(inputs.current[0].max()) <= float(one.max())


def test_one_draw_alone_keeps_its_zeros_in_their_places() -> None:
    lower = torch.rand(6, 6).tril()
    inputs = TimingInputs([lower], None)
    inputs.vary(3)
    assert torch.equal(inputs.current[0] == 0, lower == 0)


def test_no_version_counts_the_change() -> None:
    inputs = TimingInputs([torch.rand(4)], None)
    version = inputs.current[0]._version
    inputs.vary(5)
    assert inputs.current[0]._version == version


def test_zeros_and_symmetry_keep_their_places() -> None:
    lower, square = torch.rand(6, 6).tril(), torch.rand(5, 5)
    square = square + square.mT
    inputs = TimingInputs([lower, square], [torch.rand(6, 6).tril(), square * 0.5])
    inputs.vary(3)
    assert torch.equal(inputs.current[0].triu(1), torch.zeros(6, 6))
    assert torch.allclose(inputs.current[1], inputs.current[1].mT)


def test_a_second_draw_of_another_shape_is_not_used() -> None:
    inputs = TimingInputs([torch.rand(4)], [torch.rand(5)])
    inputs.vary(1)
    assert inputs.current[0].shape == (4,)


def test_inputs_that_require_gradients() -> None:
    base = torch.rand(4, requires_grad=True)
    inputs = TimingInputs([base], [torch.rand(4)])
    inputs.vary(5)
    assert not torch.equal(inputs.current[0], base)
