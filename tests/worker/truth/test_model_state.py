"""Parameters and buffers: found, perturbed, matched and handed over."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tilesmith.worker.truth.model_state import UnmatchedTensor, clone_state, fill, match, perturbed, state_of


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.register_buffer("mask", torch.tril(torch.ones(4, 4)))
        self.register_buffer("blocked", torch.full((2,), -torch.inf))
        self.scale = torch.rand(3)


def names(model: nn.Module) -> set[str]:
    return {name for name, _ in model.named_parameters()}


def seeded(kind: type[nn.Module]) -> nn.Module:
    torch.manual_seed(0)
    return kind()


def test_parameters_buffers_and_plain_attributes_are_found():
    state = state_of(Net())
    assert set(state) == {
        *("first.weight", "first.bias", "second.weight", "second.bias", "norm.weight", "norm.bias"),
        *("norm.running_mean", "norm.running_var", "norm.num_batches_tracked", "mask", "blocked", "scale"),
    }


def test_an_attribute_that_shares_the_memory_of_a_parameter_is_not_another_tensor():
    model = nn.utils.spectral_norm(nn.Linear(4, 4))  # its weight is that of `weight_orig` until the first call
    assert set(state_of(model)) == {"weight_orig", "weight_u", "weight_v", "bias"}


def test_writing_into_the_state_writes_into_the_model_and_a_clone_does_not():
    model = Net()
    clone_state(state_of(model))["first.bias"].fill_(7)
    assert not bool((model.first.bias == 7).any())
    state_of(model)["first.bias"].fill_(7)
    assert bool((model.first.bias == 7).all())


def test_perturbing_moves_every_float_and_leaves_masks_and_integers():
    model = Net()
    before = clone_state(state_of(model))
    after = perturbed(before, names(model), 1)
    still = {"norm.num_batches_tracked", "mask", "blocked"}
    for name, tensor in after.items():
        if name in still:
            assert torch.equal(tensor, before[name]), name
        else:
            assert bool((tensor != before[name]).all()), name
        assert tensor.dtype == before[name].dtype
        assert tensor is not before[name]


def test_ones_and_zeros_no_longer_say_who_they_are():
    state = {"ones": torch.ones(50), "zeros": torch.zeros(50)}
    after = perturbed(state, {"ones", "zeros"}, 1)
    assert after["ones"].std() > 0.01
    assert after["zeros"].std() > 0.01


def test_a_parameter_of_zeros_and_ones_is_moved_all_the_same():
    state = {"gate": torch.eye(3)}
    assert not torch.equal(perturbed(state, {"gate"}, 1)["gate"], state["gate"])
    assert torch.equal(perturbed(state, set(), 1)["gate"], state["gate"])


def test_variances_stay_positive():
    state = {"running_var": torch.rand(1000) * 1e-3, "half": torch.rand(1000).half()}
    for seed in range(5):
        after = perturbed(state, set(), seed)
        assert bool((after["running_var"] > 0).all())
        assert bool((after["half"] >= 0).all())


def test_the_same_seed_perturbs_alike():
    state = clone_state(state_of(Net()))
    first, again, other = (perturbed(state, set(), seed) for seed in (1, 1, 2))
    assert torch.equal(first["first.weight"], again["first.weight"])
    assert not torch.equal(first["first.weight"], other["first.weight"])


def test_empty_and_scalar_tensors():
    state = {"empty": torch.empty(0), "scalar": torch.tensor(2.0), "step": torch.tensor(3)}
    after = perturbed(state, {"empty", "scalar"}, 1)
    assert after["empty"].shape == (0,)
    assert after["scalar"] != 2.0
    assert after["step"] == 3


# Matching


class Renamed(nn.Module):
    """The same tensors in the same order of definition, so that the common seed gives the same values."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)


class Reference(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)


def matched(candidate: nn.Module, reference: nn.Module):
    return match(state_of(candidate), names(candidate), state_of(reference))


def test_by_name_first():
    transfer = matched(Reference(), Reference())
    assert transfer.sources == {name: name for name in names(Reference())}
    assert (transfer.by_value, transfer.by_shape) == ((), ())


def test_by_value_whatever_the_names():
    transfer = matched(seeded(Renamed), seeded(Reference))
    assert transfer.sources["a.weight"] == "first.weight"
    assert transfer.sources["b.bias"] == "second.bias"
    assert set(transfer.by_value) == names(Renamed())


def test_by_value_even_in_another_order():
    candidate, reference = seeded(Renamed), seeded(Reference)
    with torch.no_grad():
        candidate.a.weight.copy_(reference.second.weight)
        candidate.b.weight.copy_(reference.first.weight)
    assert matched(candidate, reference).sources["a.weight"] == "second.weight"


def test_by_shape_in_order_of_definition():
    torch.manual_seed(1)
    candidate, reference = Renamed(), seeded(Reference)
    transfer = matched(candidate, reference)
    assert transfer.sources == {
        "a.weight": "first.weight",
        "a.bias": "first.bias",
        "b.weight": "second.weight",
        "b.bias": "second.bias",
    }
    assert set(transfer.by_shape) == names(candidate)


def test_tensors_of_ones_are_not_matched_by_their_value():
    reference, candidate = nn.Module(), nn.Module()
    reference.x, reference.y = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
    candidate.p, candidate.q = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
    transfer = matched(candidate, reference)
    assert transfer.by_value == ()
    assert transfer.sources == {"p": "x", "q": "y"}


def test_the_same_name_with_another_shape_is_not_the_same():
    reference, candidate = nn.Module(), nn.Module()
    reference.w, candidate.w = nn.Parameter(torch.rand(2, 3)), nn.Parameter(torch.rand(3, 2))
    with pytest.raises(UnmatchedTensor, match=r"'w' \(3, 2\).*still free in Model: w \(2, 3\)"):
        matched(candidate, reference)


def test_a_parameter_without_counterpart_is_named():
    candidate = Reference()
    candidate.extra = nn.Parameter(torch.rand(9))
    with pytest.raises(UnmatchedTensor, match=r"'extra' \(9,\).*every tensor of Model is taken"):
        matched(candidate, Reference())


def test_a_buffer_without_counterpart_is_the_candidates_own():
    candidate = Reference()
    candidate.register_buffer("scratch", torch.rand(9))
    assert "scratch" not in matched(candidate, Reference()).sources


def test_filling_gives_the_references_values_in_place():
    candidate, reference = seeded(Renamed), seeded(Reference)
    values = perturbed(clone_state(state_of(reference)), names(reference), 3)
    address = candidate.a.weight.data_ptr()
    fill(candidate, matched(candidate, reference), values)
    assert torch.equal(candidate.a.weight, values["first.weight"])
    assert torch.equal(candidate.b.bias, values["second.bias"])
    assert candidate.a.weight.data_ptr() == address


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(6, 4)
        self.head = nn.Linear(4, 6, bias=False)
        self.head.weight = self.table.weight


def test_tied_weights_stay_tied():
    candidate, reference = seeded(Tied), seeded(Tied)
    values = perturbed(clone_state(state_of(reference)), names(reference), 3)
    fill(candidate, matched(candidate, reference), values)
    assert candidate.head.weight is candidate.table.weight
    assert torch.equal(candidate.head.weight, values["table.weight"])


def test_plain_tensor_attributes_are_filled_too():
    candidate, reference = seeded(Net), seeded(Net)
    values = perturbed(clone_state(state_of(reference)), names(reference), 3)
    fill(candidate, matched(candidate, reference), values)
    assert torch.equal(candidate.scale, values["scale"])
