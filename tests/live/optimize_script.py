"""Run with TRITON_INTERPRET=1: makes a library of kernels for the sample model, and says what it saw."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

import torch
from lent_judges import lend_for_good
from sample_package import TinyModel
from sample_package.gates import GatedModel

import tilesmith as ts

folder = Path(sys.argv[1])
lender = lend_for_good()
torch.manual_seed(0)
model = TinyModel().eval()
ids = torch.randint(0, 50, (2, 3))
with torch.no_grad():
    expected = model(ids, mask=None)["logits"]
config = ts.Config(where=["blocks.*.norm?", "head"], effort="quick", interpret=True, runs=folder / "runs")
report = ts.optimize_(model, (ids,), {"mask": None}, config=config)
with torch.no_grad():
    found = model(ids)["logits"]
text, hits = str(report), report.hits
report.save(folder / "kernels")
report.undo()
with torch.no_grad():
    undone = torch.equal(model(ids)["logits"], expected)
untimed = ts.Config(where="blocks.*.mlp.act", effort="quick", runs=folder / "runs")
fast, second = ts.optimize(model, (ids,), config=untimed)
gated = GatedModel().eval()
x = torch.arange(32.0).reshape(2, 16)
with torch.no_grad():
    before = gated(x)
third = ts.optimize_(
    gated, (x,), config=ts.Config(effort="quick", interpret=True, measure=True, runs=folder / "runs")
)
at_first = third.hits
with torch.no_grad():
    after = gated(x)
swapped_once = []


def interrupt(line: str) -> None:
    if line.startswith("NumberedGate"):
        swapped_once.append("forward" in vars(gated.squash))
        raise KeyboardInterrupt


gated = GatedModel().eval()
quick = ts.Config(
    where=["squash", "gates.0"], effort="quick", interpret=True, notify=interrupt, runs=folder / "runs"
)
with contextlib.suppress(KeyboardInterrupt):
    ts.optimize_(gated, (x,), config=quick)
facts = {
    "interrupted": [*swapped_once, "forward" in vars(gated.squash)],
    "gated": [[one.names, one.swapped, one.reason] for one in third.kernels],
    "gated hits at first": at_first,
    "gated hits": third.hits,
    "gated misses": third.misses,
    "gated error": float((after - before).abs().max() / before.abs().max()),
    "gated text": str(third),
    "kernels": [[one.names, one.verdict, one.reason, one.swapped, one.guard] for one in report.kernels],
    "error": float((found - expected).abs().max()),
    "hits": hits,
    "undone": undone,
    "text": text,
    "untimed": str(second),
    "twin shares weights": fast.norm.weight is model.norm.weight and fast.norm is not model.norm,
}
(folder / "facts.json").write_text(json.dumps(facts))
lender.close()
