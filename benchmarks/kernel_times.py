"""Where the device time of written kernels goes, kernel by kernel, and what a compiler makes of them without a GPU.

    PYTHONPATH=src python3 benchmarks/kernel_times.py write --folders convolutions examples --texts texts
    PYTHONPATH=src python3 benchmarks/kernel_times.py compile --texts texts --jobs 1 --out compiled.json
    PYTHONPATH=src python3 benchmarks/kernel_times.py measure --texts texts --limit-s 200 --out results.json

`write` puts the playbook's kernels for each of benchmarks/playbook_tasks into a folder, the first file with the
first choice of every kernel, the second with the second, and so on up to `--versions`. Neither it nor `compile`
needs a GPU. `compile` runs each file at its task's own sizes without memory or arithmetic and compiles every kernel
for sm_90 with an empty cache: registers, spilled bytes, shared memory, which matrix instruction, what a warp issues
before, in and after the loop with tensor-core products (an unrolled loop is told as a whole), seconds. What is in
`--out` already is not compiled again. Another Triton comes first on the path: PYTHONPATH=its/folder:src.

`measure` needs a GPU and sets the times beside eager PyTorch's. Each task has a process of its own, many are
compiled at once, and one at a time is measured: calls as they are, calls replayed from a CUDA graph, and the time
of every kernel by torch's profiler. The judge is not asked: these numbers say where to look, not what was reached.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import multiprocessing
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks"), str(ROOT / "tests" / "playbook")]
FOLDER = ROOT / "benchmarks" / "playbook_tasks"
EXAMPLES = ROOT / "examples"
ENOUGH_MS, CALLS, LISTED = 30.0, 3, 90
USED = (
    "{registers:>4} registers {spills:>5} spilled {shared:>7} shared {warps:>2} warps {matrix!s:<5} {seconds:5} s"
)


def write(options: argparse.Namespace) -> None:
    """Files `folder__task__version.py` for every task that a recipe takes."""
    from playbook_surveys import survey_task

    from tilesmith.playbook import find_match
    from tilesmith.playbook.recipe import Declined, join_tunings

    options.texts.mkdir(parents=True, exist_ok=True)
    names = [path for folder in options.folders for path in sorted(folder_of(folder).glob("*.py"))]
    for path in (path for path in names if not options.only or path.stem in options.only):
        match = find_match(survey_task(path.stem, path.read_text()))
        if isinstance(match, Declined):
            print(f"{path.parent.name}/{path.stem}: {match.reason}")
            continue
        rows = range(min(options.versions, max(len(part.choices) for part in match.parts if part.is_kernel)))
        for row in rows:
            tuning = join_tunings(
                part.choices[min(row, len(part.choices) - 1) if part.is_kernel else 0] for part in match.parts
            )
            (options.texts / f"{path.parent.name}__{path.stem}__{row}.py").write_text(match.write(tuning))


def folder_of(name: str) -> Path:
    return EXAMPLES if name == EXAMPLES.name else FOLDER / name


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def compile_task(texts: list[Path], answer: Path) -> None:
    """In a process of its own, with a cache of its own, so that seconds are those of a first compilation."""
    found: dict[str, Any] = {"versions": []}
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TRITON_CACHE_DIR"] = cache
        for text in texts:
            began = time.monotonic()
            try:
                found["versions"].append(find_resources(text, Path(cache)))
            except Exception as error:
                found["versions"].append({"error": f"{type(error).__name__}: {error}"[:600]})
            found["versions"][-1] |= {"version": text.stem.split("__")[2]}
            found["versions"][-1] |= {"seconds": round(time.monotonic() - began, 1)}
            answer.write_text(json.dumps(found))


def find_resources(text: Path, cache: Path) -> dict[str, Any]:
    """Of every specialization that one forward pass launches, and what was refused."""
    import torch

    from tilesmith.worker.candidate.loading import execute
    from tilesmith.worker.compat.triton_names import warm_up
    from tilesmith.worker.compile import CompileFailure, compile_launch, distinct
    from tilesmith.worker.engines.recorder import recording
    from tilesmith.worker.fake_cuda.pretend_cuda import pretend_cuda
    from tilesmith.worker.task.fake_tensors import fake_tensors
    from tilesmith.worker.task.loading import load_task

    folder, name, _ = text.stem.split("__")
    task = load_task(folder_of(folder) / f"{name}.py")
    with recording() as launches, pretend_cuda(), fake_tensors(), torch.no_grad():
        model = execute(str(text), text.read_text())(*task.init_args, **task.init_kwargs)
        inputs = task.make_inputs()
        model(*inputs.args, **inputs.kwargs)
    warm_up(compiles=True)
    kernels: list[dict[str, Any]] = []
    for launch in distinct(launches):
        began, known = time.monotonic(), {*cache.glob("*/*.ptx"), *cache.glob("*/*.cubin")}
        try:
            used = compile_launch(launch)
        except CompileFailure as failure:
            kernels.append({"kernel": launch.kernel, "refused": str(failure)[:300]})
            continue
        seconds = round(time.monotonic() - began, 2)
        ptx = "".join(path.read_text() for path in set(cache.glob("*/*.ptx")) - known)
        code = [line for path in set(cache.glob("*/*.cubin")) - known for line in disassembled(path)]
        kernels.append(
            {
                "kernel": launch.kernel,
                "registers": used.registers,
                "spills": used.spills,
                "shared": used.shared_bytes,
                "warps": used.num_warps,
                "matrix": next(iter(re.findall(r"\b(wgmma|mma)\.", ptx)), None),
                "seconds": seconds,
                **read_loop(code),
            }
        )
    return {"launches": len(launches), "kernels": kernels}


def disassembled(cubin: Path) -> list[str]:
    """Instructions and labels."""
    import triton

    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "nvdisasm"
    told = subprocess.run([tool, "-c", cubin], capture_output=True, text=True, check=True).stdout
    found = (re.match(r"\s*(?:/\*[0-9a-f]{4,}\*/\s+(.*?);|(\.L_\w+):)", line) for line in told.splitlines())
    return [one[1] or one[2] for one in found if one]


def read_loop(code: list[str]) -> dict[str, int]:
    """Where tensor-core products are: what a warp issues there, and how many multiply-adds that is."""
    labels: dict[str, int] = {}
    instructions: list[str] = []
    loops: list[tuple[int, int]] = []
    for line in code:
        if line.startswith(".L_"):
            labels[line] = len(instructions)
            continue
        if (target := re.search(r"BRA.*?(\.L_\w+)", line)) and target[1] in labels:
            loops.append((labels[target[1]], len(instructions)))
        instructions.append(line)
    products = [multiply_adds(line) for line in instructions]
    if not any(products):
        return {"instructions": len(instructions)}
    places = [place for place, count in enumerate(products) if count]
    with_products = [(first, last) for first, last in loops if any(products[first : last + 1])]
    first, last = min(with_products, key=lambda loop: loop[1] - loop[0], default=(places[0], places[-1]))
    inside = instructions[first : last + 1]
    return {
        "before": first,
        "loop": len(inside),
        "after": len(instructions) - last - 1,
        "unrolled": int(not with_products),
        "multiply_adds": sum(products[first : last + 1]),
        "copies_of_16_bytes": sum("LDGSTS" in line and ".128" in line for line in inside),
        "other_copies": sum("LDGSTS" in line and ".128" not in line for line in inside),
    }


def multiply_adds(line: str) -> int:
    """Of one warp; a product of a group of four warps is shared by them."""
    if group := re.search(r"\bHGMMA\.(\d+)x(\d+)x(\d+)", line):
        return int(group[1]) * int(group[2]) * int(group[3]) // 4
    return 16 * 8 * 16 if "HMMA.16816" in line else 16 * 8 * 8 if "HMMA.1688" in line else 0


def measure_task(texts: list[Path], answer: Path) -> None:
    """In a process of its own; what went wrong is an answer, too."""
    found: dict[str, Any] = {"versions": []}
    try:
        task, model, inputs = prepare(texts[0])
        for text in texts:
            found |= {} if found["versions"] else find_times(model, inputs)
            try:
                found["versions"].append(find_kernel_times(text, task, model, inputs))
            except Exception as error:
                found["versions"].append({"error": f"{type(error).__name__}: {error}"[:600]})
            answer.write_text(json.dumps(found))
    except Exception as error:
        answer.write_text(json.dumps({"error": f"{type(error).__name__}: {error}"[:600]}))


def prepare(text: Path) -> tuple[Any, Any, list[Any]]:
    """The task, its module and its inputs on the GPU."""
    import torch

    folder, name, _ = text.stem.split("__")
    task = load(folder_of(folder) / f"{name}.py")
    torch.manual_seed(0)
    model = task.Model(*task.get_init_inputs()).cuda()
    return task, model, [one.cuda() if isinstance(one, torch.Tensor) else one for one in task.get_inputs()]


def find_times(model: Any, inputs: list[Any]) -> dict[str, Any]:
    """Eager PyTorch's."""
    import torch

    from tilesmith.judge.machine.gpu_lock import GpuLock

    with torch.no_grad():
        model(*inputs)
        with GpuLock().alone():
            return {
                "calls_ms": calls_ms(lambda: model(*inputs)),
                "graph_ms": replayed_ms(model, inputs),
                "kernels_us": profiled(model, inputs),
            }


def find_kernel_times(text: Path, task: Any, model: Any, inputs: list[Any]) -> dict[str, Any]:
    import torch

    from tilesmith.judge.machine.gpu_lock import GpuLock

    began = time.monotonic()
    kernel = load(text).ModelNew(*task.get_init_inputs()).cuda()
    kernel.load_state_dict(model.state_dict())
    kernel.train(model.training)
    with torch.no_grad():
        expected, found = (tensors_of(one(*inputs)) for one in (model, kernel))
        apart = [
            float((a.double() - b.double()).norm() / b.double().norm().clamp(min=1e-30))
            for a, b in zip(found, expected, strict=True)
        ]
        kernel(*inputs)
        torch.cuda.synchronize()
        compiled_s = round(time.monotonic() - began, 1)
        with GpuLock().alone():
            return {
                "version": text.stem.split("__")[2],
                "apart": max(apart),
                "compiled_s": compiled_s,
                "calls_ms": calls_ms(lambda: kernel(*inputs)),
                "graph_ms": replayed_ms(kernel, inputs),
                "kernels_us": profiled(kernel, inputs),
            }


def tensors_of(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    return [one for part in value for one in tensors_of(part)] if isinstance(value, (tuple, list)) else [value]


def calls_ms(call: Callable[[], Any]) -> float:
    """The median of as many calls as fit; each empties the L2 first."""
    import torch

    flushed = torch.empty(2**26, dtype=torch.int8, device="cuda")
    samples: list[float] = []
    began = time.monotonic()
    while len(samples) < 5 or (time.monotonic() - began) * 1000 < ENOUGH_MS:
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        flushed.zero_()
        begin.record()
        call()
        end.record()
        end.synchronize()
        samples.append(begin.elapsed_time(end))
    return round(statistics.median(samples), 5)


def replayed_ms(model: Any, inputs: list[Any]) -> float | None:
    """Null where it cannot be captured."""
    import torch

    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            model(*inputs)
    except RuntimeError:
        return None
    return calls_ms(graph.replay)


def profiled(model: Any, inputs: list[Any]) -> list[tuple[str, int, float]]:
    """Name, launches and microseconds of each kernel in one call, the longest first."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        for _ in range(CALLS):
            model(*inputs)
        torch.cuda.synchronize()
    rows = [
        (one.key[:120], one.count // CALLS, round(one.self_device_time_total / CALLS, 2))
        for one in seen.key_averages()
        if one.self_device_time_total
    ]
    return sorted(rows, key=lambda row: -row[2])[:LISTED]


def answer_all(options: argparse.Namespace) -> None:
    """One process for each task."""
    import triton

    end, started = time.monotonic() + options.limit_s, datetime.now(UTC).isoformat(timespec="seconds")
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["torch", "triton", "triton.testing"])
    answers = options.out.parent / f"{options.out.stem}-answers"
    answers.mkdir(parents=True, exist_ok=True)
    compiles = options.what == "compile"
    found: dict[str, Any] = json.loads(options.out.read_text())["rows"] if compiles and options.out.exists() else {}

    def run(name: str) -> None:
        known = [one for one in found.get(name, {}).get("versions", ()) if "kernels" in one]
        if (left := end - time.monotonic()) < 10 or len(known) == len(texts[name]):
            return
        answer, began = answers / f"{name}.json", time.monotonic()
        answer.unlink(missing_ok=True)
        child = processes.Process(target=compile_task if compiles else measure_task, args=(texts[name], answer))
        child.start()
        child.join(min(left, options.task_s))
        if child.is_alive():
            child.kill()
            child.join()
        ended = f"ended with exit code {child.exitcode}"
        found[name] = json.loads(answer.read_text()) if answer.exists() else {"error": ended}
        shown = format_resources if compiles else format_row
        print(shown(name, found[name], time.monotonic() - began), flush=True)
        facts = {"date": started, "commit": options.commit, "triton": triton.__version__}
        facts |= {"rows": dict(sorted(found.items()))}
        options.out.write_text(json.dumps(facts) + "\n")

    texts: dict[str, list[Path]] = {}
    for text in sorted(options.texts.glob("*.py")):
        texts.setdefault(text.stem.rpartition("__")[0], []).append(text)
    with ThreadPoolExecutor(options.jobs) as pool:
        longest = sorted(texts, key=lambda name: -sum(text.stat().st_size for text in texts[name]))
        list(pool.map(run, reversed(longest) if compiles else longest))


def format_row(name: str, found: dict[str, Any], seconds: float) -> str:
    if "error" in found:
        return f"{name:<44} {seconds:4.0f} s  {found['error'][:160]!r}"
    eager = min(one for one in (found["calls_ms"], found["graph_ms"]) if one)
    cells = [f"{name:<44} {seconds:4.0f} s  eager {found['calls_ms']} graph {found['graph_ms']}"]
    for one in found["versions"]:
        if "error" in one:
            cells.append(f"{one['error'][:100]!r}")
        else:
            least = min(spent for spent in (one["calls_ms"], one["graph_ms"]) if spent)
            cells.append(f"{least} = {eager / least:.2f}x apart {one['apart']:.0e} ({one['compiled_s']} s)")
    return "; ".join(cells)


def format_resources(name: str, found: dict[str, Any], seconds: float) -> str:
    """A line for each file, and one for each kernel of its own."""
    lines = [f"{name:<44} {seconds:4.0f} s  {found['error'][:160]!r}"] if "error" in found else []
    for one in found.get("versions", ()):
        told = one.get("error") or f"{one['launches']} launches, {len(one['kernels'])} compilations"
        lines.append(f"{name}__{one['version']}: {told}, {one['seconds']} s")
        for row in one.get("kernels", ()):
            lines.append(f"    {row['kernel']:<56} {row.get('refused') or USED.format(**row)}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("write", "compile", "measure"))
    parser.add_argument("--texts", type=Path, required=True, help="folder of written kernels")
    parser.add_argument("--folders", nargs="+", default=["convolutions", "attention", "networks"])
    parser.add_argument("--only", nargs="*", help="names of tasks")
    parser.add_argument("--versions", type=int, default=1, help="choices of every kernel")
    parser.add_argument("--jobs", type=int, default=8, help="tasks that are compiled at once")
    parser.add_argument("--task-s", type=float, default=90.0, help="for one task at most")
    parser.add_argument("--limit-s", type=float, default=300.0, help="for all together")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--out", type=Path, default=Path("kernel-times.json"))
    options = parser.parse_args()
    write(options) if options.what == "write" else answer_all(options)


if __name__ == "__main__":
    main()
