"""Index outputs are compared by what they pick."""

from __future__ import annotations

import pytest
import torch

from tilesmith.worker.truth.arg_reductions import ArgReductionLog
from tilesmith.worker.truth.error_statistics import measure

TIED = torch.tensor([[1.0, 5.0, 5.0, 2.0], [7.0, 0.0, 7.0, 7.0], [3.0, 4.0, 1.0, 4.0]])


def mismatches(pick, operand, change):
    """Run `pick` under the log, change its indices as a candidate might, and count what is then wrong."""
    log = ArgReductionLog()
    with log:
        indices = pick(operand)
    behind = log.behind(indices)
    assert behind is not None
    return measure(change(indices.clone()), indices, indices, behind).mismatches


def last_of_equals(operand, dim):
    size = operand.shape[dim]
    return lambda _: size - 1 - operand.flip(dim).argmax(dim)


def shifted(indices):
    return indices + 1


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_any_of_several_equal_maxima_will_do(dim):
    operand = TIED if dim else TIED.T.contiguous()
    assert not torch.equal(last_of_equals(operand, dim)(None), operand.argmax(dim))
    assert mismatches(lambda x: x.argmax(dim), operand, last_of_equals(operand, dim)) == 0


@pytest.mark.parametrize("change", [shifted, lambda i: i - 1, lambda i: i - i + 99, lambda i: i - i - 1])
def test_an_index_that_picks_something_else_is_wrong(change):
    operand = torch.arange(12.0).reshape(3, 4).flip(1).roll(1, 1).contiguous()
    assert mismatches(lambda x: x.argmax(1), operand, change) == 3


def test_only_the_wrong_rows_count():
    def change(indices):
        indices[1] = 1
        indices[0] = 2
        return indices

    assert mismatches(lambda x: x.argmax(1), TIED, change) == 1


@pytest.mark.parametrize("keepdim", [False, True])
def test_kept_dimensions(keepdim):
    assert mismatches(lambda x: x.argmax(1, keepdim=keepdim), TIED, lambda i: i) == 0
    other = last_of_equals(TIED, 1)(None)
    assert mismatches(lambda x: x.argmax(1, keepdim=keepdim), TIED, lambda i: other.reshape(i.shape)) == 0
    assert mismatches(lambda x: x.argmax(1, keepdim=keepdim), torch.rand(5, 7), lambda i: (i + 1) % 7) == 5


@pytest.mark.parametrize("keepdim", [False, True])
def test_over_the_whole_tensor(keepdim):
    pick = lambda x: torch.argmax(x, keepdim=keepdim)  # noqa: E731
    assert mismatches(pick, TIED, lambda i: i - i + 7) == 0
    assert mismatches(pick, TIED, lambda i: i - i + 5) == 1
    assert mismatches(pick, TIED, lambda i: i - i + 12) == 1


@pytest.mark.parametrize(
    "pick",
    [
        lambda x: x.max(1).indices,
        lambda x: x.topk(2, 1).indices,
        lambda x: x.sort(1, descending=True).indices,
        lambda x: (-x).argmin(1),
        lambda x: x.kthvalue(4, 1).indices,
        lambda x: x.argsort(1, descending=True),
        lambda x: x.argmax(1).unsqueeze(1),
    ],
    ids=["max", "topk", "sort", "argmin", "kthvalue", "argsort", "a view"],
)
def test_every_operator_that_picks(pick):
    ties = torch.tensor([[5.0, 5.0, 1.0, 0.0]] * 3)
    swapped = torch.tensor([1, 0, 2, 3])
    assert mismatches(pick, ties, lambda i: swapped[i]) == 0
    assert mismatches(pick, ties, lambda i: i.fill_(3)) >= 3


def test_rounding_of_the_operand_is_a_tie_too():
    operand = torch.tensor([[1.0, 1.0 + 1e-7], [1.0, 1.0 + 1e-3]], dtype=torch.float64)
    assert mismatches(lambda x: x.argmax(1), operand, lambda i: i * 0) == 1


def test_minus_infinity_in_the_operand_excuses_nothing():
    """Masked logits: most entries are -inf."""
    operand = torch.tensor([[-torch.inf, 3.0, 1.0], [2.0, -torch.inf, 7.0]])
    assert mismatches(lambda x: x.argmax(1), operand, lambda i: i) == 0
    assert mismatches(lambda x: x.argmax(1), operand, lambda i: torch.tensor([2, 0])) == 2
    assert mismatches(lambda x: x.argmax(1), operand, lambda i: torch.tensor([0, 1])) == 2


def test_a_large_row_excuses_nothing_in_a_small_one():
    operand = torch.tensor([[1e9, 0.0, 0.0], [0.1, 0.9, 0.5]])
    assert mismatches(lambda x: x.argmax(1), operand, lambda i: torch.tensor([0, 2])) == 1


def test_an_index_that_is_computed_further_is_no_longer_a_choice():
    log = ArgReductionLog()
    with log:
        moved = TIED.argmax(1) + 1
    assert log.behind(moved) is None


def test_the_right_one_of_several_is_found():
    log = ArgReductionLog()
    with log:
        high, low = TIED.argmax(1), TIED.argmin(1)
    assert log.behind(high).indices is high
    assert log.behind(low).indices is low
