"""Outputs as files: everything a forward may return survives, and nothing a stranger wrote is executed."""

from __future__ import annotations

import json
import os
import struct
import threading
from collections import OrderedDict, namedtuple
from dataclasses import dataclass

import pytest
import torch

from tilesmith.process.protocol.tensors import TensorFile
from tilesmith.worker.tensors.exchange import (
    NotReturnable,
    flatten,
    map_tensors,
    read_inputs,
    read_outputs,
    tensors_in,
    write_inputs,
    write_outputs,
)
from tilesmith.worker.tensors.tensor_file import BadTensorFile
from tilesmith.worker.tensors.trusted_pickle import read_trusted, write_trusted
from tilesmith.worker.truth.error_statistics import layout_problem

Pair = namedtuple("Pair", "left right")


@dataclass
class Result:
    logits: torch.Tensor
    hidden: tuple[torch.Tensor, ...]
    steps: int = 3


def there_and_back(tmp_path, outputs):
    path = str(tmp_path / "outputs.pt")
    write_outputs(path, outputs)
    return read_outputs(TensorFile(path), "cpu")


@pytest.mark.parametrize(
    "outputs",
    [
        torch.rand(3),
        (torch.rand(3), torch.rand(2)),
        [torch.rand(3), (torch.rand(2), [torch.rand(1)])],
        {"a": torch.rand(2), "b": {"c": torch.rand(1)}},
        OrderedDict(z=torch.rand(1), a=torch.rand(2)),
        Pair(torch.rand(1), torch.rand(2)),
        Result(torch.rand(2), (torch.rand(1), torch.rand(3))),
        (torch.rand(2), None, 1, 2.5, "text", True),
        None,
        [],
    ],
    ids=lambda outputs: type(outputs).__name__,
)
def test_nests_survive(tmp_path, outputs):
    back, flat = there_and_back(tmp_path, outputs), flatten(outputs)
    assert layout_problem(back, flat) is None
    assert back.layout == flat.layout
    assert all(torch.equal(a, b) for a, b in zip(back.tensors, flat.tensors, strict=True))


@pytest.mark.parametrize(
    "tensor",
    [
        torch.tensor(3.5),
        torch.empty(0, 4),
        torch.tensor([True, False]),
        torch.arange(5, dtype=torch.int8),
        torch.rand(4, dtype=torch.complex64),
        torch.rand(4, dtype=torch.complex64).conj(),
        torch.rand(4, dtype=torch.complex64).conj().imag,
        torch.rand(4).bfloat16(),
        torch.rand(4).to(torch.float8_e4m3fn).float(),
        torch.rand(6, 6)[::2, 1:4],
        torch.rand(3, 4).T,
        torch.rand(1, 3).expand(5, 3),
        torch.rand(3, requires_grad=True) * 2,
        torch.nn.Parameter(torch.rand(3)),
        torch.tensor([torch.nan, torch.inf, -0.0]),
    ],
)
def test_every_kind_of_tensor_survives(tmp_path, tensor):
    (back,) = there_and_back(tmp_path, tensor).tensors
    assert (back.dtype, back.shape, back.requires_grad) == (tensor.dtype, tensor.shape, False)
    assert torch.allclose(back, tensor.detach().resolve_conj().resolve_neg(), equal_nan=True)


def test_sparse_tensors_become_dense(tmp_path):
    (back,) = there_and_back(tmp_path, torch.eye(3).to_sparse()).tensors
    assert torch.equal(back, torch.eye(3))


def test_a_slice_does_not_carry_the_whole_tensor_along(tmp_path):
    there_and_back(tmp_path, torch.rand(1_000_000)[:4])
    assert (tmp_path / "outputs.pt").stat().st_size < 10_000


def test_what_is_neither_tensor_nor_value_is_refused(tmp_path):
    with pytest.raises(NotReturnable, match="forward returned a object; return tensors"):
        write_outputs(str(tmp_path / "outputs.pt"), [object()])


class Bomb:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


@pytest.mark.parametrize("place", ["layout", "tensors", "bare"])
def test_code_in_a_file_is_not_executed(tmp_path, place):
    trace, path = tmp_path / "executed", str(tmp_path / "outputs.pt")
    bomb = Bomb(trace)
    honest = {"layout": '"tensor"', "tensors": [torch.rand(2)]}
    torch.save(bomb if place == "bare" else honest | {place: [bomb]}, path)
    with pytest.raises(BadTensorFile):
        read_outputs(TensorFile(path), "cpu")
    assert not trace.exists()


def raw(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    head = struct.pack("<Q", len(text)) + text
    return head + bytes(-len(head) % 256) + data


def entry(**changed):
    tensor = {"dtype": "float32", "shape": [2], "offset": 0} | changed
    return {"tensors": [tensor], "note": "tensor", "shared": None}


def test_the_files_below_are_refused_for_what_is_wrong_with_them(tmp_path):
    path = tmp_path / "outputs.pt"
    path.write_bytes(raw(entry(), struct.pack("<2f", 1.0, 2.0)))
    assert read_outputs(TensorFile(str(path)), "cpu").tensors[0].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 7,
        b"\xff" * 64,
        raw(b"not json"),
        raw(b"\xff\xfe"),
        raw(b"[" * 200_000),
        raw([]),
        raw({}),
        raw({"tensors": 5, "note": None, "shared": None}),
        raw({"tensors": [None], "note": None, "shared": None}),
        raw(entry(dtype="nn"), bytes(8)),
        raw(entry(dtype=7), bytes(8)),
        raw(entry(shape="x"), bytes(8)),
        raw(entry(shape=[-2]), bytes(8)),
        raw(entry(shape=[-1, -2]), bytes(8)),
        raw(entry(shape=[2**40]), bytes(8)),
        raw(entry(shape=[2**32, 2**32]), bytes(8)),
        raw(entry(shape=[2**62, 4, 0]), bytes(8)),
        raw(entry(offset=-8), bytes(8)),
        raw(entry(offset=4), bytes(8)),
        raw(entry(offset=2**70), bytes(8)),
        raw(entry()),
        raw(entry(), bytes(7)),
        raw(entry() | {"shared": 256}, bytes(8)),
        raw(entry() | {"shared": "all"}, bytes(8)),
    ],
    ids=lambda content: content[8:60].strip(b"\0").decode("latin-1") or str(len(content)),
)
def test_a_file_that_is_not_ours_is_refused(tmp_path, content):
    path = tmp_path / "outputs.pt"
    path.write_bytes(content)
    with pytest.raises(BadTensorFile):
        read_outputs(TensorFile(str(path)), "cpu")


def test_a_file_that_is_not_there_is_refused_alike(tmp_path):
    with pytest.raises(BadTensorFile):
        read_outputs(TensorFile(str(tmp_path / "nothing.pt")), "cpu")


def test_what_was_read_no_longer_depends_on_the_file(tmp_path):
    path = tmp_path / "outputs.pt"
    write_outputs(str(path), torch.ones(1000))
    (back,) = read_outputs(TensorFile(str(path)), "cpu").tensors
    with open(path, "r+b") as file:
        file.seek(0)
        file.write(bytes(path.stat().st_size))
    assert torch.equal(back, torch.ones(1000))


def test_a_pipe_in_place_of_the_file_does_not_hang_the_reader(tmp_path):
    path = tmp_path / "outputs.pt"
    os.mkfifo(path)
    ended = threading.Event()

    def read():
        try:
            read_outputs(TensorFile(str(path)), "cpu")
        except Exception:
            ended.set()

    threading.Thread(target=read, daemon=True).start()
    finished = ended.wait(2)
    if not finished:
        os.close(os.open(path, os.O_WRONLY))  # let the reader go
    assert finished


def test_trusted_files_carry_any_constructor_argument(tmp_path):
    path = str(tmp_path / "construction.pt")
    write_trusted(path, {"args": [torch.nn.GELU(), slice(1, 2), {3, 4}, Pair(1, torch.rand(2))]})
    module, cut, numbers, pair = read_trusted(path)["args"]
    assert isinstance(module, torch.nn.GELU)
    assert (cut, numbers, pair.left) == (slice(1, 2), {3, 4}, 1)


def test_mapping_keeps_the_nest_and_its_types():
    nest = {"a": [torch.ones(1), (torch.ones(1), 5)], "b": Pair(torch.ones(1), "x")}
    doubled = map_tensors(nest, lambda t: t * 2)
    assert isinstance(doubled["b"], Pair)
    assert isinstance(doubled["a"][1], tuple)
    assert doubled["a"][1][1] == 5
    assert doubled["b"].right == "x"
    assert [float(t) for t in tensors_in(doubled)] == [2.0, 2.0, 2.0]
    assert [float(t) for t in tensors_in(nest)] == [1.0, 1.0, 1.0]


def test_inputs_travel_whatever_they_are(tmp_path):
    path = str(tmp_path / "inputs")
    given = [
        torch.rand(3),
        {"k": (torch.arange(2), "s")},
        Pair(torch.rand(2).bfloat16(), None),
        2.5,
        [torch.rand(4).T],
    ]
    write_inputs(path, given)
    back = read_inputs(TensorFile(path), "cpu")
    assert torch.equal(back[0], given[0])
    assert back[1]["k"][1] == "s"
    assert isinstance(back[2], Pair)
    assert back[2].left.dtype == torch.bfloat16
    assert back[3] == 2.5
    assert all(torch.equal(a, b) for a, b in zip(tensors_in(back), tensors_in(given), strict=True))
