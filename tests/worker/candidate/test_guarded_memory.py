"""Poison in fresh memory; on a GPU, pads around it."""

from __future__ import annotations

import pytest
import torch

from tilesmith.worker.candidate.guarded_memory import GuardedMemory, poison

LIKE = torch.zeros(3, 4)
FRESH = {
    "empty": lambda: torch.empty(3, 4),
    "empty with dtype": lambda: torch.empty((3, 4), dtype=torch.float16),
    "empty_like": lambda: torch.empty_like(LIKE),
    "new_empty": lambda: LIKE.new_empty(3, 4),
    "empty_strided": lambda: torch.empty_strided((3, 4), (1, 3)),
    "new_empty_strided": lambda: LIKE.new_empty_strided((3, 4), (4, 1)),
    "empty_permuted": lambda: torch.empty_permuted((3, 4), (1, 0)),
    "complex": lambda: torch.empty(3, 4, dtype=torch.complex64),
}
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="pads need a GPU")


@pytest.mark.parametrize("name", FRESH)
def test_fresh_memory_is_nan(name):
    with GuardedMemory(None):
        made = FRESH[name]()
    assert bool(made.isnan().all())
    assert made.shape == (3, 4)


def test_fresh_integers_are_an_unlikely_number_and_booleans_are_left_alone():
    with GuardedMemory(None):
        numbers, bits = torch.empty(9, dtype=torch.int32), torch.empty(9, dtype=torch.bool)
        nothing = torch.empty(0)
    assert len(numbers.unique()) == 1
    assert int(numbers[0]) not in (0, 1, -1)
    assert bits.dtype == torch.bool
    assert nothing.numel() == 0


@pytest.mark.parametrize(
    "make",
    [lambda: torch.zeros(4), lambda: torch.ones(4), lambda: torch.full((4,), 7.0), lambda: torch.zeros_like(LIKE)],
)
def test_memory_with_values_keeps_them(make):
    expected = make()
    with GuardedMemory(None):
        assert torch.equal(make(), expected)


def test_nothing_happens_outside():
    guard = GuardedMemory(None)
    with guard:
        pass
    kept = torch.zeros(5)
    poison(kept)
    assert bool(kept.isnan().all())
    assert guard.damage() is None


def test_on_a_cpu_tensors_are_not_padded():
    guard = GuardedMemory("nan")
    x = torch.rand(3)
    assert guard.padded(x, "x") is x


@needs_gpu
@pytest.mark.parametrize("pads", ["nan", "zero"])
def test_pads_keep_values_and_strides_and_show_what_was_written(pads):
    guard = GuardedMemory(pads)
    x = torch.rand(6, 5, device="cuda").T
    inside = guard.padded(x, "input 0")
    assert torch.equal(inside, x)
    assert inside.stride() == x.stride()
    assert guard.damage() is None
    storage = inside.untyped_storage()
    past = torch.empty(0, device="cuda").set_(storage, inside.storage_offset() + 30, (1,), (1,))
    past.fill_(1.0)
    assert guard.damage() == "wrote 4 bytes past the end of input 0"
    guard.forget()
    assert guard.damage() is None
