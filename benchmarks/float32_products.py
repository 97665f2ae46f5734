"""Products on the GPU here: files that the playbook writes against PyTorch's own products.

    PYTHONPATH=src python benchmarks/float32_products.py --commit abc1234 --out products.json

Each task is traced, planned and written; the first tunings are called directly, without a judge, and timed beside
eager by `triton.testing.do_bench`, which clears the L2 between calls. Errors are relative norms against float64.
`parts` are the pieces of one large product: both splits, and the product of halves that are there already.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from tilesmith.playbook.plan.making import make_plan  # noqa: E402
from tilesmith.playbook.plan.plan import Plan  # noqa: E402
from tilesmith.playbook.recipes import REGION_RECIPES  # noqa: E402
from tilesmith.records import GpuPeaks, Survey, from_json  # noqa: E402
from tilesmith.tasks.gpus import REPRESENTATIVES  # noqa: E402

_TASK = """
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {constructor}

    def forward(self, {names}):
        return {result}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
"""


def _task(result: str, inputs: dict[str, str], constructor: str = "pass") -> str:
    made = ", ".join(f"torch.randn({shape})" for shape in inputs.values())
    return _TASK.format(result=result, names=", ".join(inputs), inputs=made, constructor=constructor)


def _linear(rows: int, depth: int, columns: int, dtype: str = "float32") -> str:
    given = {"x": f"{rows}, {depth}, dtype=torch.{dtype}"}
    return _task("F.gelu(self.up(x))", given, f"self.up = nn.Linear({depth}, {columns}, dtype=torch.{dtype})")


TASKS = {
    "4096 x 4096 x 4096": _task("a @ b", {"a": "4096, 4096", "b": "4096, 4096"}),
    "4096 x 4096 x 4096, b transposed": _task("a @ b.t()", {"a": "4096, 4096", "b": "4096, 4096"}),
    "gelu(linear) 1024 x 8192 x 8192": _linear(1024, 8192, 8192),
    "gelu(linear) 1 x 8192 x 8192": _linear(1, 8192, 8192),
    "gelu(linear) 8 x 8192 x 1024": _linear(8, 8192, 1024),
    "gelu(linear) 8 x 8192 x 8192": _linear(8, 8192, 8192),
    "gelu(linear) 32 x 8192 x 8192": _linear(32, 8192, 8192),
    "bmm 64 x 512 x 512 x 512": _task("torch.bmm(a, b)", {"a": "64, 512, 512", "b": "64, 512, 512"}),
    "heads 8 x 16 x 1024 x 64": _task(
        "a.transpose(1, 2) @ b.permute(0, 2, 3, 1) * 0.125", {"a": "8, 1024, 16, 64", "b": "8, 1024, 16, 64"}
    ),
    "256 x 131072 x 256": _task("a @ b", {"a": "256, 131072", "b": "131072, 256"}),
    "gelu(linear) + x, half 4096 x 4096 x 4096": _task(
        "F.gelu(self.up(x)) + x",
        {"x": "4096, 4096, dtype=torch.float16"},
        "self.up = nn.Linear(4096, 4096, dtype=torch.float16)",
    ),
}


def plan_task(name: str, text: str, target: str) -> Plan:
    from tilesmith.worker.task.loading import load_task
    from tilesmith.worker.task.profile import describe
    from tilesmith.worker.task.tracing import trace

    loaded = load_task("task.py", text)
    graph = trace(loaded).graph
    assert graph is not None
    peaks = from_json(GpuPeaks, asdict(REPRESENTATIVES[target]))
    survey = Survey(
        task=name,
        source=text,
        device="cuda",
        profile=describe(loaded),
        gpu=peaks,
        roofline=None,
        graph=graph,
        environment={},
    )
    plan = make_plan(survey, graph, REGION_RECIPES)
    assert isinstance(plan, Plan), f"{name}: {plan}"
    return plan


def load(folder: Path, name: str, text: str) -> Any:
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def timed(call: Callable[[], Any]) -> list[float]:
    from triton.testing import do_bench

    call()
    samples: list[float] = do_bench(call, warmup=20, rep=100, return_mode="all")
    return [round(sample, 5) for sample in samples]


def measure_task(
    folder: Path, number: int, name: str, text: str, tunings: int, target: str
) -> list[dict[str, Any]]:
    import torch

    plan = plan_task(name, text, target)
    task = load(folder, f"task_{number}", text)
    torch.manual_seed(0)
    with torch.device("cuda"):
        reference, inputs = task.Model(), task.get_inputs()
    truth = reference.double()(*(one.double() for one in inputs))
    reference.to(inputs[0].dtype)

    def error(result: torch.Tensor) -> float:
        return float((result.double() - truth).norm() / truth.norm())

    def row(who: str, call: Callable[[], torch.Tensor], tuning: dict[str, int] | None) -> dict[str, Any]:
        found, samples = error(call()), timed(call)
        return {
            "task": name,
            "who": who,
            "tuning": tuning,
            "ms": statistics.median(samples),
            "relative_error": found,
            "samples_ms": samples,
        }

    rows = [row("eager", lambda: reference(*inputs), None)]
    for place, tuning in enumerate(plan.tunings[:tunings]):
        module = load(folder, f"kernel_{number}_{place}", plan.write(tuning))
        with torch.device("cuda"):
            written = module.ModelNew().to(inputs[0].dtype)
        written.load_state_dict(reference.state_dict())
        rows.append(row("written", partial(written, *inputs), dict(tuning.values)))
    return rows


def measure_parts(folder: Path, target: str) -> list[dict[str, Any]]:
    """The pieces of the first task."""
    import torch

    name, text = next(iter(TASKS.items()))
    plan = plan_task(name, text, target)
    module = load(folder, "parts", plan.write(plan.tunings[0]))
    a, b = torch.randn(4096, 4096, device="cuda"), torch.randn(4096, 4096, device="cuda")
    model, split = module.ModelNew(), module.split_rows
    halves = {a.data_ptr(): split(a), b.data_ptr(): split(b.mT)}
    rows = [("splitting rows", timed(lambda: split(a))), ("splitting columns", timed(lambda: split(b.mT)))]
    module.split_rows = lambda x: halves[x.data_ptr()]
    rows.append(("product of halves", timed(lambda: model(a, b))))
    return [{"part": part, "ms": statistics.median(samples), "samples_ms": samples} for part, samples in rows]


def measure(tunings: int, wanted: str) -> dict[str, Any]:
    import torch
    import triton

    major, minor = torch.cuda.get_device_capability()
    target = f"sm_{major}{minor}"
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        parts = measure_parts(Path(folder), target)
        for number, (name, text) in enumerate(TASKS.items()):
            if wanted in name:
                try:
                    rows += measure_task(Path(folder), number, name, text, tunings, target)
                except Exception as error:  # one task must not cost the others
                    rows.append({"task": name, "who": "failed", "reason": f"{type(error).__name__}: {error}"})
                torch.cuda.empty_cache()
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "hardware": torch.cuda.get_device_name(),
        "versions": {"torch": torch.__version__, "triton": triton.__version__},
        "method": "written files called directly; triton.testing.do_bench, rep 100 ms, every sample kept",
        "parts": parts,
        "rows": rows,
    }


def show(result: dict[str, Any]) -> None:
    for part in result["parts"]:
        print(f"{part['part']:44} {part['ms']:8.4f} ms")
    eager: dict[str, Any] = {}
    for row in result["rows"]:
        if row["who"] == "failed":
            print(f"{row['task']:44} {row['reason'][:300]}")
            continue
        eager = row if row["who"] == "eager" else eager
        tuning = ",".join(str(value) for value in (row["tuning"] or {}).values())
        gain = eager["ms"] / row["ms"]
        told = f"{row['ms']:8.4f} ms {gain:6.2f}x error {row['relative_error']:.2e}"
        print(f"{row['task']:44} {row['who']:8} {told} {tuning}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--tunings", type=int, default=2, help="first guesses that are tried for each task")
    parser.add_argument("--only", default="", help="tasks with this in their name")
    parser.add_argument("--commit", default="", help="what was measured")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    began = time.monotonic()
    measured = measure(options.tunings, options.only) | {"commit": options.commit}
    options.out.write_text(json.dumps(measured, indent=1) + "\n")
    show(measured)
    print(f"{time.monotonic() - began:.0f} s")
