"""The parts that need no candidate: snapshot, settings, returned values, first touch, digests."""

from __future__ import annotations

import os
import time
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from torch import nn

from tilesmith.worker.timing.digests import digest_of
from tilesmith.worker.watch import code_origin
from tilesmith.worker.watch.code_origin import Origin, library_of, origin_of
from tilesmith.worker.watch.global_switches import flipped, switches
from tilesmith.worker.watch.name_snapshot import NameSnapshot
from tilesmith.worker.watch.provenance import Provenance, is_blank
from tilesmith.worker.watch.returned_values import find_lazy_type

Pair = namedtuple("Pair", "left right")


@dataclass
class Result:
    values: torch.Tensor


class LazyTensor(torch.Tensor):
    pass


class LazyList(list):
    pass


class LazyResult(Result):
    def __getattribute__(self, name: str) -> object:
        return super().__getattribute__(name)


class Pretender:
    __class__ = torch.Tensor  # type: ignore[assignment]


def test_nothing_is_replaced_by_ordinary_work() -> None:
    snapshot = NameSnapshot()
    nn.Linear(3, 3)(torch.rand(2, 3)).sum().backward()
    torch.softmax(torch.rand(4), 0)
    assert snapshot.replaced({}) is None


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (time, "perf_counter"),
        (torch, "equal"),
        (torch.Tensor, "copy_"),
        (torch.cuda.Event, "record"),
        (nn.Module, "to"),
    ],
    ids=str,
)
def test_a_replaced_function_is_named(owner: object, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = NameSnapshot()
    monkeypatch.setattr(owner, name, lambda *_, **__: None)
    found = snapshot.replaced({})
    assert found is not None
    assert found.endswith(f".{name}")
    assert snapshot.replaced(snapshot.intended_changes()) is None, "what is meant is no finding"


def test_a_replaced_function_of_ours_is_never_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = NameSnapshot()
    monkeypatch.setattr(code_origin, "frames", lambda *_: None)
    assert snapshot.replaced(snapshot.intended_changes()) == "tilesmith.worker.watch.code_origin.frames"


def test_a_replacement_cannot_claim_to_be_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Agreeable:
        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 0

    snapshot = NameSnapshot()
    monkeypatch.setattr(time, "perf_counter", Agreeable())
    assert snapshot.replaced({}) == "time.perf_counter"


def test_a_flipped_switch_is_named() -> None:
    before = switches()
    torch.backends.cuda.matmul.allow_tf32 = not before["torch.backends.cuda.matmul.allow_tf32"]
    try:
        assert "tf32" in str(flipped(before, switches()))
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before["torch.backends.cuda.matmul.allow_tf32"]
    assert flipped(before, switches()) is None


def test_plain_results_are_plain() -> None:
    x = torch.ones(2)
    for value in (x, nn.Parameter(x), [x, (x, None)], {"a": x}, OrderedDict(a=x), Pair(x, 3), Result(x), 1.5):
        assert find_lazy_type(value) is None


def test_what_may_compute_later_is_named() -> None:
    x = torch.ones(2)
    for value in (x.as_subclass(LazyTensor), LazyList([x]), [LazyList([x])], {"a": x.as_subclass(LazyTensor)}):
        assert find_lazy_type(value) in ("LazyTensor", "LazyList")
    assert find_lazy_type(Pretender()) == "Pretender"
    assert find_lazy_type([LazyResult(x)]) == "LazyResult"


def held_by(provenance: Provenance, output: torch.Tensor) -> list[torch.Tensor]:
    return provenance.resembling([output])[0]


def test_what_torch_makes_alone_is_kept() -> None:
    given = torch.rand(4)
    provenance = Provenance([given], None)
    with provenance:
        answer = torch.softmax(given, 0)
    assert any(torch.equal(one, answer) for one in held_by(provenance, answer))


def test_what_a_launch_has_changed_is_not_torchs_nor_what_is_made_of_it() -> None:
    given, scratch = torch.rand(4), torch.zeros(4)
    provenance = Provenance([given], None)
    with provenance:
        provenance.before_launch([given, scratch, 3, None])
        scratch.copy_(given + 1)  # what a kernel would do
        provenance.after_launch([given, scratch, 3, None])
        result = scratch * 2
    assert not any(torch.equal(one, result) for one in held_by(provenance, result))


def test_a_launch_that_changes_nothing_hides_nothing() -> None:
    given = torch.rand(4)
    provenance = Provenance([given], None)
    with provenance:
        copy, lone = given.clone(), torch.ones(1, 1, 2)[..., 0]  # strides that a lone element does not need
        provenance.before_launch([lone])
        provenance.after_launch([lone])
        provenance.before_launch([copy])
        provenance.after_launch([copy])
        answer = torch.softmax(copy, 0)
    assert any(torch.equal(one, answer) for one in held_by(provenance, answer))


def test_memory_that_is_given_back_hides_nothing() -> None:
    given = torch.rand(1000)
    provenance = Provenance([given], None)
    with provenance:
        for _ in range(3):
            scratch = torch.empty(1000)
            provenance.before_launch([scratch])
            scratch.fill_(1.5)
            provenance.after_launch([scratch])
            del scratch
        answer = torch.softmax(given, 0)
    assert any(torch.equal(one, answer) for one in held_by(provenance, answer))


def test_fresh_memory_is_nobodys_answer_until_somebody_writes_there() -> None:
    provenance = Provenance([], None)
    with provenance:
        fresh = torch.empty(1000)
        fresh.detach().view(-1)
    left_over = fresh.normal_()
    assert held_by(provenance, left_over) == []
    with provenance:
        fresh.mul_(2)
    assert any(torch.equal(one, fresh) for one in held_by(provenance, fresh))


def test_what_a_launch_writes_over_is_nobodys_answer() -> None:
    """Memory that an operator of the candidate's own made, unseen, may hold anything."""
    unseen = torch.rand(4)
    left_over, provenance = unseen.clone(), Provenance([], None)
    provenance.before_launch([unseen])
    unseen.add_(1)
    provenance.after_launch([unseen])
    assert held_by(provenance, left_over) == []


def test_integers_may_hold_the_bits_of_an_answer() -> None:
    answer = torch.rand(4)
    provenance = Provenance([], None)
    bits = answer.view(torch.int32)
    provenance.before_launch([bits])
    provenance.after_launch([bits])
    assert torch.equal(held_by(provenance, torch.rand(4))[0], answer)


def test_blank_memory() -> None:
    assert is_blank(torch.full((3,), float("nan")))
    assert is_blank(torch.zeros(3, dtype=torch.int64))
    assert not is_blank(torch.tensor([0.0, float("nan")]))


def test_digests_tell_answers_apart_and_forgive_rounding() -> None:
    torch.manual_seed(0)
    x = torch.randn(300, 77)
    projection, norm = digest_of(x)
    near = digest_of(x.bfloat16())
    assert abs(near[0] - projection) < 0.01 * max(norm, abs(projection))
    other = digest_of(torch.randn(300, 77))
    assert abs(other[0] - projection) > 0.03 * max(norm, abs(projection))
    half = x.clone()
    half[150:] = 0
    assert abs(digest_of(half)[1] - norm) > 0.03 * norm
    assert digest_of(torch.tensor([float("nan"), float("inf")])) == (0.0, 0.0)
    assert digest_of(torch.zeros(0)) == (0.0, 0.0)


def test_whose_code_a_file_is() -> None:
    assert origin_of(torch.__file__) is Origin.LIBRARY
    assert origin_of(os.__file__) is Origin.PYTHON
    assert origin_of("<frozen importlib._bootstrap>") is Origin.NOBODY
    assert origin_of("/somewhere/kernel.py") is Origin.CANDIDATE


def test_the_innermost_folder_says_whose_a_file_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    library, inside = tmp_path / "libraries", tmp_path / "libraries" / "kernels"
    inside.mkdir(parents=True)
    monkeypatch.setattr(code_origin, "_IMPORT_PATH", (f"{library}/",))
    monkeypatch.setattr(code_origin, "_candidate_folders", [])
    origin_of.cache_clear()
    assert origin_of(str(library / "package.py")) is Origin.LIBRARY
    assert library_of(str(library / "package" / "part.py")) == "package"
    assert origin_of(str(tmp_path / "stranger.py")) is Origin.CANDIDATE
    code_origin.claim_for_candidate(str(inside))
    assert origin_of(str(inside / "kernel.py")) is Origin.CANDIDATE
    assert origin_of(str(library / "package.py")) is Origin.LIBRARY
    code_origin.claim_for_candidate(str(tmp_path))
    assert origin_of(str(library / "package.py")) is Origin.LIBRARY, "a library deeper than the kernel's folder"
    origin_of.cache_clear()
