"""Recurrent layers on the GPU here: the playbook's kernels against cuDNN.

    PYTHONPATH=src python benchmarks/recurrent.py tasks --out tasks.json
    PYTHONPATH=src python benchmarks/recurrent.py sweep --out sweep.json
    PYTHONPATH=src python benchmarks/recurrent.py plot sweep.json sweep.png

`tasks` judges the kernels for the named tasks as `tilesmith check` does: accuracy, then device time against eager,
eager in a CUDA graph and torch.compile. `sweep` times the recipe's first plans over a grid of sizes, all in one
process, each contestant replayed from a CUDA graph, with eager beside it.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

from judge_throughput import commit  # noqa: E402

from tilesmith.config import CheckConfig  # noqa: E402
from tilesmith.judge.judge import Judge  # noqa: E402
from tilesmith.playbook import find_match  # noqa: E402
from tilesmith.playbook.recipe import Declined  # noqa: E402
from tilesmith.records import to_json  # noqa: E402

PLANS = 3
"""How many plans of a task are tried."""
MOST_DIFFERENCE = 3e-3
"""Between cuDNN and a kernel, both in tf32, relative to the norm: more is an error and does not count."""
_TASK = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, input_size, hidden_size, num_layers):
        super().__init__()
        self.rnn = nn.{module}(input_size, hidden_size, num_layers, {options})

    def forward(self, x, {states}):
        output, final = self.rnn(x, {given})
        return {returned}


T, B, INPUT, HIDDEN, LAYERS = {time}, {batch}, {inputs}, {hidden}, {layers}


def get_inputs():
    x = torch.randn({shape}, INPUT)
    return [x, *(torch.randn({directions} * LAYERS, B, HIDDEN) for _ in range({count}))]


def get_init_inputs():
    return [INPUT, HIDDEN, LAYERS]
"""


@dataclass(frozen=True)
class Case:
    name: str
    module: str = "GRU"
    returned: str = "output"
    nonlinearity: str | None = None
    bidirectional: bool = False
    batch_first: bool = False
    time: int = 512
    batch: int = 10
    inputs: int = 128
    hidden: int = 256
    layers: int = 6

    @property
    def text(self) -> str:
        is_lstm = self.module == "LSTM"
        options = f"batch_first={self.batch_first}, bidirectional={self.bidirectional}"
        options += f", nonlinearity={self.nonlinearity!r}" if self.nonlinearity else ""
        return _TASK.format(
            module=self.module,
            options=options,
            states="h0, c0" if is_lstm else "h0",
            given="(h0, c0)" if is_lstm else "h0",
            returned=self.returned,
            time=self.time,
            batch=self.batch,
            inputs=self.inputs,
            hidden=self.hidden,
            layers=self.layers,
            shape="B, T" if self.batch_first else "T, B",
            directions=2 if self.bidirectional else 1,
            count=2 if is_lstm else 1,
        )


TASKS = (
    Case("gru_outputs"),
    Case("gru_h_n", returned="final"),
    Case("gru_bidirectional", bidirectional=True),
    Case("gru_bidirectional_h_n", bidirectional=True, returned="final"),
    Case("lstm_c_n", "LSTM", returned="final[1]", batch_first=True),
    Case("lstm_outputs", "LSTM", batch_first=True),
    Case("rnn_tanh", "RNN"),
    Case("rnn_relu", "RNN", nonlinearity="relu"),
)
HIDDEN, BATCHES, STEPS, LAYERS = (64, 256, 512, 1024), (1, 10, 64), (32, 512), (1, 6)
"""The sizes of the sweep: all combinations."""


def sweep_cases(hidden: Sequence[int], layers: Sequence[int]) -> Iterator[Case]:
    for width, batch, steps, depth in itertools.product(hidden, BATCHES, STEPS, layers):
        name = f"h{width}_b{batch}_t{steps}_l{depth}"
        yield Case(name, time=steps, batch=batch, inputs=width, hidden=width, layers=depth)


def judged(case: Case, judge: Judge, folder: Path, plans: int) -> dict[str, Any]:
    task = folder / f"{case.name}.py"
    task.write_text(case.text)
    match = find_match(judge.survey(task))
    if isinstance(match, Declined):
        return {"task": case.name, "declined": match.reason}
    attempts = []
    for number, tuning in enumerate(match.tunings[:plans]):
        kernel = folder / f"{case.name}_{number}.py"
        kernel.write_text(match.write(tuning))
        began = time.monotonic()
        evaluation = judge.check(task, kernel)
        attempts.append(
            {"tuning": str(tuning), "evaluation": to_json(evaluation), "seconds": time.monotonic() - began}
        )
        print(shown_attempt(case.name, attempts[-1]), flush=True)
    return {"task": case.name, "attempts": attempts}


def shown_attempt(name: str, attempt: dict[str, Any]) -> str:
    evaluation = attempt["evaluation"]
    timing, errors = evaluation["timing"], evaluation["errors"]
    parts = [f"{name:<24}", evaluation["verdict"]]
    if timing:
        times = {one: timing[f"{one}_ms"] for one in ("candidate", "eager", "graph", "compile")}
        parts += [f"{one} {ms['p50']:.3f}" for one, ms in times.items() if ms]
        parts += [f"call {timing['call_ms']['candidate']['p50']:.3f}"] if "candidate" in timing["call_ms"] else []
    parts += [f"error ratio {errors['ratio']:.2f}"] if errors and errors["ratio"] is not None else []
    parts += [evaluation["reason"]] if evaluation["verdict"] != "passed" else []
    return "  ".join([*parts, f"({attempt['tuning']})"])


def swept(case: Case, judge: Judge, folder: Path, plans: int) -> dict[str, Any]:
    """Medians and raw samples of the recipe's plans, cuDNN in a CUDA graph and cuDNN as PyTorch launches it."""
    task = folder / f"{case.name}.py"
    task.write_text(case.text)
    match = find_match(judge.survey(task))
    result: dict[str, Any] = {"task": case.name, "sizes": [case.hidden, case.batch, case.time, case.layers]}
    result["plans"] = []
    if isinstance(match, Declined):
        result["declined"] = match.reason
    else:
        texts = {str(tuning): match.write(tuning) for tuning in match.tunings if "EXACT" not in tuning}
        result["plans"] = [{"tuning": name, "text": text} for name, text in list(texts.items())[:plans]]
    _time_sweep_point(case, task, result, folder)
    for plan in result["plans"]:
        del plan["text"]
    right = [plan for plan in result["plans"] if plan.get("difference", 1.0) < MOST_DIFFERENCE]
    best = min((plan["ms"] for plan in right), default=None)
    result["speedup"] = None if best is None else min(result["graph_ms"], result["eager_ms"]) / best
    print(shown_point(result), flush=True)
    return result


def _time_sweep_point(case: Case, task: Path, result: dict[str, Any], folder: Path) -> None:
    import torch

    reference_file = _loaded(task)
    torch.manual_seed(0)
    arguments = [one.cuda() for one in reference_file.get_inputs()]
    reference = reference_file.Model(*reference_file.get_init_inputs()).cuda()
    with torch.no_grad():
        expected = reference(*arguments)
        result["eager_samples_ms"] = _samples(lambda: reference(*arguments), 5)
        result["graph_samples_ms"] = _samples(_graphed(lambda: reference(*arguments)), 9)
        for number, plan in enumerate(result["plans"]):
            file = folder / f"{case.name}_{number}.py"
            file.write_text(plan["text"])
            module = _loaded(file)
            model = module.ModelNew(*reference_file.get_init_inputs()).cuda()
            model.load_state_dict(reference.state_dict())
            try:
                found = model(*arguments)
                plan["difference"] = float((found - expected).norm() / expected.norm())
                plan["samples_ms"] = _samples(_graphed(lambda model=model: model(*arguments)), 9)
                plan["ms"] = statistics.median(plan["samples_ms"])
            except Exception as error:  # a launch that this GPU cannot take: the table says so
                plan["failed"] = str(error).strip().splitlines()[-1]
    result["eager_ms"] = statistics.median(result["eager_samples_ms"])
    result["graph_ms"] = statistics.median(result["graph_samples_ms"])


def _loaded(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _graphed(call: Callable[[], Any]) -> Callable[[], Any]:
    import torch

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        call()
        call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


def _samples(call: Callable[[], Any], count: int) -> list[float]:
    import torch

    for _ in range(2):
        call()
    found = []
    for _ in range(count):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        found.append(begin.elapsed_time(end))
    return found


def shown_point(result: dict[str, Any]) -> str:
    times = f"eager {result['eager_ms']:.3f}  graph {result['graph_ms']:.3f}"
    plans = "  ".join(
        f"{plan['ms']:.3f} ({plan['tuning']}; {plan['difference']:.0e})"
        if "ms" in plan
        else f"failed: {plan['failed']}"
        for plan in result["plans"]
    )
    factor = f"{result['speedup']:.2f}x" if result["speedup"] else "PyTorch"
    return f"{result['task']:<22} {factor:>8}  {times}  {plans or result.get('declined')}"


def plot(source: Path, target: Path) -> None:
    """The speedup over the better of eager and graph, one line for each batch and depth."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    results = json.loads(source.read_text())["results"]
    figure, axes = pyplot.subplots(1, 2, figsize=(10, 4), sharey=True)
    for axis, steps in zip(axes, (32, 512), strict=True):
        for batch, layers in itertools.product((1, 10, 64), (1, 6)):
            points = list(_line(results, batch, steps, layers))
            axis.plot(
                *zip(*points, strict=True), marker="o", label=f"batch {batch}, {layers} layer{'s' * (layers > 1)}"
            )
        axis.axhline(1.0, color="black", linewidth=0.8)
        axis.set(title=f"{steps} steps", xlabel="hidden units", xscale="log", yscale="log")
        axis.set_xticks([64, 256, 512, 1024], ["64", "256", "512", "1024"])
        axis.set_yticks([1, 2, 4, 8], ["1x", "2x", "4x", "8x"])
        axis.minorticks_off()
    axes[0].set_ylabel("speedup over cuDNN (1x: PyTorch is kept)")
    axes[0].legend(fontsize=8, loc="upper right")
    figure.tight_layout()
    figure.savefig(target, dpi=120)


def _line(results: list[dict[str, Any]], batch: int, steps: int, layers: int) -> Iterator[tuple[int, float]]:
    for result in results:
        hidden, *rest = result["sizes"]
        if rest == [batch, steps, layers]:
            yield hidden, result["speedup"] or 1.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("tasks", "sweep"):
        command = commands.add_parser(name)
        command.add_argument("--out", type=Path, required=True)
        command.add_argument("--plans", type=int, default=PLANS)
        command.add_argument("--only", nargs="*", default=[], help="names of tasks")
        command.add_argument("--hidden", nargs="*", type=int, default=HIDDEN, help="of a sweep")
        command.add_argument("--layers", nargs="*", type=int, default=LAYERS, help="of a sweep")
        command.add_argument("--commit", default=None, help="where there is no git to ask")
    command = commands.add_parser("plot")
    command.add_argument("source", type=Path)
    command.add_argument("target", type=Path)
    given = parser.parse_args()
    if given.command == "plot":
        plot(given.source, given.target)
        return
    cases: Iterable[Case] = TASKS if given.command == "tasks" else sweep_cases(given.hidden, given.layers)
    measure = judged if given.command == "tasks" else swept
    results = []
    with tempfile.TemporaryDirectory() as folder, Judge(CheckConfig()) as judge:
        for case in cases:
            if not given.only or case.name in given.only:
                results.append(measure(case, judge, Path(folder), given.plans))
                given.out.write_text(json.dumps(_head(given.commit) | {"results": results}, indent=1) + "\n")


def _head(commit_given: str | None) -> dict[str, Any]:
    import torch
    import triton

    return {
        "commit": commit_given or commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "triton": triton.__version__,
    }


if __name__ == "__main__":
    main()
