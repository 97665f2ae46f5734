"""Run with TRITON_INTERPRET=1: a compiled model in which a library's kernels stand for modules."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import torch
from sample_package import TinyModel

import tilesmith.live.compile_backend
from tilesmith.live.compile_backend import tilesmith as backend

logging.basicConfig(level=logging.INFO)
library = str(Path(sys.argv[1]) / "kernels")
torch.manual_seed(1)
model = TinyModel().eval()
ids = torch.randint(0, 50, (2, 3))
graphs: list[str] = []


def recorded(graph, inputs):
    graphs.append(str(graph.graph))
    return graph.forward


def kernels_in(text: str) -> int:
    return text.count("torch.ops.tilesmith.kernel_")


with torch.no_grad():
    expected = model(ids)
    for inner in (recorded, "eager", "aot_eager"):
        torch._dynamo.reset()
        compiled = torch.compile(model, backend=backend, options={"library": library, "inner": inner})
        torch.testing.assert_close(compiled(ids), expected, rtol=1e-4, atol=1e-5)
    count = sum(map(kernels_in, graphs))
    assert count == 4, "\n".join(graphs)
    other = torch.randint(0, 50, (3, 5))
    torch.testing.assert_close(compiled(other), model(other), rtol=1e-4, atol=1e-5)

graphs.clear()
torch._dynamo.reset()
compiled = torch.compile(model, backend=backend, options={"library": library, "inner": recorded})
compiled(ids)["logits"].sum().backward()
assert sum(map(kernels_in, graphs)) == 0, "kernels have no gradients"
found = [parameter.grad.clone() for parameter in model.parameters()]
model.zero_grad()
model(ids)["logits"].sum().backward()
torch.testing.assert_close(found, [parameter.grad for parameter in model.parameters()], rtol=1e-4, atol=1e-5)


tilesmith.live.compile_backend.with_kernels = lambda *_: 1 / 0
with torch.no_grad():
    torch._dynamo.reset()
    compiled = torch.compile(model, backend=backend, options={"library": library, "inner": "eager"})
    torch.testing.assert_close(compiled(ids), expected)
print("done")
