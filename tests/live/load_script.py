"""Run with TRITON_INTERPRET=1 in a fresh process: the library goes into a new model, which is used and trained."""

from __future__ import annotations

import copy
import sys
from pathlib import Path

import torch
from sample_package import TinyModel
from torch import nn

import tilesmith as ts

folder = Path(sys.argv[1])
torch.manual_seed(1)
model = TinyModel().eval()
plain = copy.deepcopy(model)
ids = torch.randint(0, 50, (2, 3))


def loss(one: nn.Module) -> torch.Tensor:
    return one(ids)["logits"].float().pow(2).mean()


def gradients(one: nn.Module) -> list[torch.Tensor]:
    one.zero_grad()
    loss(one).backward()
    return [parameter.grad.clone() for parameter in one.parameters()]


def same(a: object, b: object) -> None:
    torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


handle = ts.load_(model, folder / "kernels", strict=True)
with torch.no_grad():
    same(model(ids), plain(ids))
assert min(handle.hits.values()) == 1, handle.hits
assert handle.misses == {name: {} for name in handle.hits}

state = TinyModel().state_dict()
model.load_state_dict(state)
plain.load_state_dict(copy.deepcopy(model.state_dict()))
with torch.no_grad():
    same(model(ids), plain(ids))
assert min(handle.hits.values()) == 2, "new weights are no reason to miss"

same(gradients(model), gradients(plain))
reason = "gradients are needed, and the kernel has none"
assert all(why == {reason: 1} for why in handle.misses.values()), handle.misses
for one in (model, plain):
    torch.optim.SGD(one.parameters(), lr=0.1).step()
with torch.no_grad():
    same(model(ids), plain(ids))
assert min(handle.hits.values()) == 3

handle.undo()
recomputed = ts.load_(model, folder / "kernels", strict=True, grad="recompute")
same(gradients(model), gradients(plain))
assert min(recomputed.hits.values()) == 1, recomputed.hits

compiled = torch.compile(model, backend="eager")
with torch.no_grad():
    same(compiled(ids), plain(ids))
same(gradients(compiled), gradients(plain))
assert list(copy.deepcopy(model).state_dict()) == list(plain.state_dict())
print("done")
