"""What a swapped forward costs per call beside the plain one: the kernel does nothing, so the guard is all.

    PYTHONPATH=src python benchmarks/guard_cost.py --out results.json

Calls with and without a swap are timed in turn, best of several rounds, so that a busy machine spoils neither.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import timeit
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

import torch  # noqa: E402
from judge_throughput import commit  # noqa: E402
from torch import nn  # noqa: E402

from tilesmith.live.calls.call_description import describe_call  # noqa: E402
from tilesmith.live.kernel_cards import make_card  # noqa: E402
from tilesmith.live.swaps.kernel_files import build_kernel  # noqa: E402
from tilesmith.live.swaps.swapping import swap_in  # noqa: E402
from tilesmith.records import Evaluation, Verdict  # noqa: E402

CALLS, ROUNDS = 500, 400
KERNEL = """
from torch import nn
class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
{parameters}
    def forward(self, *tensors):
        return tensors[0]
"""


class Identity(nn.Module):
    """Takes any tensors, has any parameters, and does nothing."""

    def __init__(self, parameters: int) -> None:
        super().__init__()
        self.eps = 1e-5
        for number in range(parameters):
            self.register_parameter(f"p{number}", nn.Parameter(torch.zeros(64)))

    def forward(self, x: Any, y: Any = None, scale: float = 1.0) -> Any:
        return x


def cost(inputs: int, parameters: int) -> dict[str, Any]:
    module, tensors = Identity(parameters).eval(), [torch.zeros(4, 64)] * inputs
    made = "nn.Parameter(__import__('torch').zeros(64))"
    lines = [f"        self.p{number} = {made}" for number in range(parameters)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "best.py"
        path.write_text(KERNEL.format(parameters="\n".join(lines)))
        card = make_card(describe_call(module, tensors, {}), (), path, Evaluation(Verdict.PASSED, "", "none"))
        times: dict[str, list[float]] = {"plain": [], "swapped": []}
        with torch.no_grad():
            plain = Identity(parameters).eval()
            guarded = swap_in(module, build_kernel(path), card)
            for _ in range(ROUNDS):
                for name, one in (("plain", plain), ("swapped", module)):
                    times[name].append(timeit.timeit(lambda one=one: one(*tensors), number=CALLS) / CALLS * 1e6)
    assert guarded.hits[0] == CALLS * ROUNDS
    best = {name: round(min(values), 3) for name, values in times.items()}
    return {
        "inputs": inputs,
        "parameters": parameters,
        "tests": len(guarded.text.reasons),
        "plain_us": best["plain"],
        "swapped_us": best["swapped"],
        "guard_us": round(best["swapped"] - best["plain"], 3),
        "ratio": round(best["swapped"] / best["plain"], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    out = parser.parse_args().out
    rows = [cost(inputs, parameters) for inputs, parameters in ((1, 0), (1, 1), (1, 2), (2, 0), (2, 2), (1, 8))]
    for row in rows:
        print("  ".join(f"{key} {value}" for key, value in row.items()))
    facts = {
        "commit": commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "rows": rows,
    }
    if out is not None:
        out.write_text(json.dumps(facts, indent=2) + "\n")


if __name__ == "__main__":
    main()
