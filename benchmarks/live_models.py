"""What `tilesmith.optimize_` makes of three models as people write them, end to end, without an LLM.

    PYTHONPATH=src python benchmarks/live_models.py --out results.json
    PYTHONPATH=src python benchmarks/live_models.py --only tagger --no-compile --out results.json
    PYTHONPATH=src python benchmarks/live_models.py --small --out results.json

The models lie in live_models/: a decoder like Llama (bfloat16), an LSTM tagger (float32), a vision transformer
(bfloat16), with random weights. Each is scanned and optimized in a process of its own, all at once where there is a
GPU; judges time their kernels one after another. Then, one model at a time, a fresh process loads the saved kernels
into the same model, times it and the plain one in turn, and compares: outputs of this and of other calls with
float64, the gradients of a training step with the plain model's, outputs after that step, the names in state_dict.
Another one times both beside torch.compile, as long as there is time. A kernel is swapped in when it is faster than
eager PyTorch, which these models run; its speedup over every baseline is on record. `--small` needs no GPU: kernels
run in Triton's interpreter, and nothing is timed. `--out` is written after every step.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

from judge_throughput import commit  # noqa: E402

from tilesmith.judge.decisions.statistics import quantiles, speedup  # noqa: E402
from tilesmith.judge.machine.devices import choose_device  # noqa: E402
from tilesmith.records import OutputErrors, Speedup  # noqa: E402

NAMES = ("llama", "tagger", "vit")
LIMIT_S = 235.0
COMPILE_S = 45.0
"""What compiling a model may need: with less time left it is not begun."""
SCANNED = 8
LAST_CHARACTERS = 3000
"""Of what a process that failed has written, so much is shown."""
ROUNDS, WARM_UPS, ROUNDS_S = 40, 3, 4.0
FACTOR, FACTOR_IN_TF32 = 2.0, 4.0
"""How many times as far from float64 as the plain model the one with kernels may be, as the judge has it."""
FLOOR_ULPS = 8
MOST_GRADIENT_DIFFERENCE = {"bfloat16": 1e-2, "float32": 1e-4}
"""Of a parameter's gradient, relative to its norm: backward passes of attention and embedding add in any order."""


@dataclass(frozen=True)
class KernelRow:
    """One group of equal calls, and what became of it."""

    modules: tuple[str, ...]
    call: str
    verdict: str
    swapped: bool
    reason: str
    speedups: Mapping[str, Speedup]
    errors: OutputErrors | None


@dataclass(frozen=True)
class Optimized:
    """What the first process of a model found."""

    environment: dict[str, Any]
    dtype: str
    parameters: int
    scan_s: float
    scan: tuple[dict[str, Any], ...]
    optimize_s: float
    kernels: tuple[KernelRow, ...]
    refused: dict[str, str]
    end_to_end: Speedup | None
    """By the report: with and without kernels, in turn."""
    saved: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class OutputRow:
    """How far both models are from float64 on one call, relative to the norm."""

    call: str
    plain_error: float
    kernels_error: float
    difference: float
    """Between the two."""
    same: bool


@dataclass(frozen=True)
class Used:
    """What the fresh process of a model found."""

    loaded: tuple[str, ...]
    skipped: dict[str, str]
    state_dict_same: bool
    outputs: tuple[OutputRow, ...] = ()
    hits: dict[str, int] = field(default_factory=dict)
    """Of the example call alone."""
    misses: dict[str, dict[str, int]] = field(default_factory=dict)
    """Of all calls up to the training step."""
    gradient_difference: float | None = None
    gradients_same: bool | None = None
    training_misses: dict[str, dict[str, int]] = field(default_factory=dict)
    after_step: OutputRow | None = None
    samples_ms: dict[str, list[float]] = field(default_factory=dict)

    @property
    def failures(self) -> list[str]:
        """What must hold, and does not."""
        rows = [*self.outputs, *([self.after_step] if self.after_step else [])]
        found = [f"outputs differ: {row.call}" for row in rows if not row.same]
        found += [] if self.state_dict_same else ["state_dict has other names"]
        found += [] if self.gradients_same else ["gradients differ"]
        found += [f"{name}: no call by its kernel" for name in self.loaded if not self.hits.get(name)]
        return found + [f"{name}: not loaded: {why}" for name, why in self.skipped.items()]


@dataclass(frozen=True)
class Compiled:
    """How torch.compile does beside both."""

    compile_s: float
    """The first call."""
    samples_ms: dict[str, list[float]]


@dataclass(frozen=True)
class Work:
    """What a process of one model is asked for."""

    model: str
    step: str
    folder: Path
    small: bool
    began: float
    """Of the whole benchmark, in seconds since the epoch."""
    limit_s: float

    @property
    def device(self) -> str:
        return choose_device("auto")

    @property
    def result(self) -> Path:
        return self.folder / f"{self.step}.json"

    @property
    def left_s(self) -> float:
        return self.limit_s - (time.time() - self.began)

    def say(self, line: str) -> None:
        print(f"{time.time() - self.began:6.1f} s  {self.model}: {line}", flush=True)


def optimize(work: Work) -> Optimized:
    import torch
    import triton
    from live_models.cases import build

    import tilesmith as ts

    case = build(work.model, work.small, work.device)
    began = time.monotonic()
    scan = ts.scan(case.model, case.args, case.kwargs, gpu=None if work.device == "cuda" else "H200")
    scan_s = time.monotonic() - began
    work.say(f"scanned in {scan_s:.1f} s")
    config = ts.Config(
        effort="quick",
        beat="eager",
        interpret=work.device == "cpu",
        measure=work.device == "cuda",
        runs=work.folder / "runs",
        notify=work.say,
    )
    began = time.monotonic()
    report = ts.optimize_(case.model, case.args, case.kwargs, config=config)
    optimize_s = time.monotonic() - began
    saved = report.save(work.folder / "kernels") if report.swapped else ()
    return Optimized(
        environment={
            "gpu": torch.cuda.get_device_name() if work.device == "cuda" else None,
            "torch": torch.__version__,
            "triton": triton.__version__,
            "python": platform.python_version(),
        },
        dtype=str(case.dtype).removeprefix("torch."),
        parameters=sum(one.numel() for one in case.model.parameters()),
        scan_s=round(scan_s, 2),
        scan=tuple(
            {"class": one.module_class, "calls": one.calls, "share": one.share, "may_save_ms": one.gain_ms}
            for one in scan.groups[:SCANNED]
        ),
        optimize_s=round(optimize_s, 2),
        kernels=tuple(
            KernelRow(one.names, one.call, one.verdict, one.swapped, one.reason, one.speedups, one.errors)
            for one in report.kernels
        ),
        refused=report.refused,
        end_to_end=report.end_to_end,
        saved=tuple(path.name for path in saved),
        text=str(report),
    )


def use(work: Work) -> Used:
    """Everything after `load_` but torch.compile."""
    pair = load(work)
    plain, fast, handle = pair.plain, pair.fast, pair.handle
    loaded = tuple(dict.fromkeys(one.name for one in handle.installed))
    used = Used(loaded, handle.skipped, list(fast.state_dict()) == list(plain.state_dict()))
    work.say(f"kernels loaded into {len(loaded)} modules")
    outputs = [compare("the example", pair.example, plain, fast)]
    used = replace(used, hits=handle.hits)
    outputs += [compare(name, call, plain, fast) for name, call in pair.case.others.items()]
    used = replace(used, outputs=tuple(outputs), misses=handle.misses)
    work.say(f"outputs of {len(outputs)} calls compared")
    if work.device == "cuda":
        used = replace(used, samples_ms=time_in_turn(pair.calls))
        work.say(f"timed: {shown_times(used.samples_ms)}")
    used = train(used, pair)
    work.say(f"gradients differ by {used.gradient_difference:.1e}")
    return used


def compile_beside(work: Work) -> Compiled:
    import torch

    pair = load(work)
    compiled = torch.compile(pair.plain)
    began = time.monotonic()
    with torch.no_grad():
        pair.example(compiled)
    torch.cuda.synchronize()
    compile_s = round(time.monotonic() - began, 2)
    samples = time_in_turn(pair.calls | {"compile": lambda: pair.example(compiled)})
    work.say(f"timed beside torch.compile ({compile_s} s): {shown_times(samples)}")
    return Compiled(compile_s, samples)


class Pair(NamedTuple):
    """The model as it is, and the same with the saved kernels in it."""

    case: Any
    plain: Any
    fast: Any
    handle: Any

    def example(self, model: Any) -> Any:
        """The logits of the example call, whatever the model's dtype."""
        from live_models.cases import logits_of

        dtype = next(model.parameters()).dtype
        args = [one.to(dtype) if one.is_floating_point() else one for one in self.case.args]
        return logits_of(model(*args, **self.case.kwargs))

    @property
    def calls(self) -> dict[str, Callable[[], Any]]:
        return {"eager": lambda: self.example(self.plain), "kernels": lambda: self.example(self.fast)}


def load(work: Work) -> Pair:
    from live_models.cases import build

    import tilesmith as ts

    case, fast = (build(work.model, work.small, work.device) for _ in range(2))
    return Pair(case, case.model, fast.model, ts.load_(fast.model, work.folder / "kernels"))


def compare(name: str, call: Callable[[Any], Any], plain: Any, fast: Any) -> OutputRow:
    """The plain model in float64 is the truth."""
    import torch

    with torch.no_grad():
        wide = call(copy.deepcopy(plain).double())
        found = [call(plain), call(fast)]
    errors = [float((one.double() - wide).norm() / wide.norm()) for one in found]
    dtype = found[0].dtype
    factor = FACTOR_IN_TF32 if dtype == torch.float32 and wide.is_cuda else FACTOR
    budget = factor * errors[0] + FLOOR_ULPS * torch.finfo(dtype).eps
    apart = float((found[0].double() - found[1].double()).norm() / wide.norm())
    return OutputRow(name, errors[0], errors[1], apart, errors[1] <= budget)


def train(used: Used, pair: Pair) -> Used:
    """One step of SGD in both; then both are compared again, so that kernels must have seen the new weights."""
    import torch

    before = pair.handle.misses
    gradients = []
    for model in (pair.plain, pair.fast):
        model.train()
        pair.example(model).float().square().mean().backward()
        gradients.append([one.grad.double() for one in model.parameters()])
        torch.optim.SGD(model.parameters(), lr=0.1).step()
        model.eval().zero_grad()
    pairs = zip(*gradients, strict=True)
    worst = max(float((theirs - ours).norm() / theirs.norm().clamp_min(1e-30)) for theirs, ours in pairs)
    most = MOST_GRADIENT_DIFFERENCE[str(pair.case.dtype).removeprefix("torch.")]
    fell_back = {
        name: {why: count - before[name].get(why, 0) for why, count in reasons.items()}
        for name, reasons in pair.handle.misses.items()
    }
    return replace(
        used,
        gradient_difference=worst,
        gradients_same=worst <= most,
        training_misses={
            name: {why: count for why, count in reasons.items() if count} for name, reasons in fell_back.items()
        },
        after_step=compare("the example, after a training step", pair.example, pair.plain, pair.fast),
    )


def time_in_turn(calls: Mapping[str, Callable[[], Any]]) -> dict[str, list[float]]:
    """Milliseconds of whole calls, all contestants in every round."""
    import torch

    samples: dict[str, list[float]] = {name: [] for name in calls}
    began = time.monotonic()
    with torch.no_grad():
        for number in range(WARM_UPS + ROUNDS):
            for name, call in calls.items():
                torch.cuda.synchronize()
                start = time.perf_counter()
                call()
                torch.cuda.synchronize()
                if number >= WARM_UPS:
                    samples[name].append(round((time.perf_counter() - start) * 1000, 4))
            if number > WARM_UPS + 5 and time.monotonic() - began > ROUNDS_S:
                break
    return samples


def shown_times(samples_ms: Mapping[str, Sequence[float]]) -> str:
    return ", ".join(f"{name} {quantiles(samples).p50:.2f} ms" for name, samples in samples_ms.items())


def run_child(work: Work) -> str | None:
    """Why the process of this step left no whole result; null where it did."""
    command = [sys.executable, __file__, "--out", os.devnull, "--child", work.model, work.step, str(work.folder)]
    command += ["--began", str(work.began), "--limit-s", str(work.limit_s), *(["--small"] if work.small else [])]
    interpreted = {} if work.device == "cuda" else {"TRITON_INTERPRET": "1"}
    errors = work.folder / f"{work.model}-{work.step}.errors"
    with errors.open("w") as file:
        child = subprocess.Popen(command, env={**os.environ, **interpreted}, start_new_session=True, stderr=file)
    try:
        code = child.wait(timeout=max(work.left_s, 1.0))
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        return f"cut off after {work.limit_s:.0f} s of the whole benchmark"
    except BaseException:
        os.killpg(child.pid, signal.SIGKILL)
        raise
    if not code:
        return None
    print(errors.read_text(errors="replace")[-LAST_CHARACTERS:], flush=True)
    return f"its process ended with {code}: {errors.read_text(errors='replace').strip().splitlines()[-1:]}"


def write(path: Path, document: Any) -> None:
    """The file is whole at every moment."""
    temporary = path.with_name(f"{path.name}.tmp")
    data = document if isinstance(document, dict) else asdict(document)
    temporary.write_text(json.dumps(data, indent=1, default=str) + "\n")
    temporary.replace(path)


def finish(results: dict[str, Any], work: Work, problem: str | None) -> None:
    """Puts what a step wrote into the results, with the numbers that follow from it."""
    entry = results["models"].setdefault(work.model, {})
    entry[work.step] = json.loads(work.result.read_text()) if work.result.exists() else {}
    if problem is not None:
        entry.setdefault("problems", []).append(f"{work.step}: {problem}")
    samples = entry[work.step].get("samples_ms") or {}
    if samples:
        entry["ms"] = {name: asdict(quantiles(times)) for name, times in samples.items()}
        ours = [[one] for one in samples["kernels"]]
        entry["speedup"] = {
            name: asdict(speedup([[one] for one in times], ours))
            for name, times in samples.items()
            if name != "kernels"
        }


def format_table(results: Mapping[str, Any]) -> str:
    lines = [
        f"{'model':<8}{'dtype':<10}{'swapped':>8}{'eager ms':>10}{'kernels ms':>12}{'compile ms':>12}"
        f"{'speedup over eager':>26}{'over compile':>14}  checks"
    ]
    for name, entry in results["models"].items():
        first, times, gains = entry.get("optimize", {}), entry.get("ms", {}), entry.get("speedup", {})
        kernels = first.get("kernels", [])
        swapped = f"{sum(one['swapped'] for one in kernels)}/{len(kernels)}"
        cells = [shown(times.get(one, {}).get("p50"), ".2f") for one in ("eager", "kernels", "compile")]
        eager = gains.get("eager")
        gain = f"{eager['value']:.2f}x ({eager['low']:.2f} to {eager['high']:.2f})" if eager else "-"
        over_compile = shown(gains.get("compile", {}).get("value"), ".2f", "x")
        problems = entry.get("problems", [])
        lines.append(
            f"{name:<8}{first.get('dtype', '-'):<10}{swapped:>8}{cells[0]:>10}{cells[1]:>12}{cells[2]:>12}"
            f"{gain:>26}{over_compile:>14}  {'; '.join(problems) or 'all passed'}"
        )
    return "\n".join(lines)


def shown(value: float | None, form: str, unit: str = "") -> str:
    return "-" if value is None else f"{value:{form}}{unit}"


def run_step(work: Work) -> None:
    """The body of a process of one model."""
    if work.step == "compile":
        write(work.result, compile_beside(work))
    elif work.step == "optimize":
        optimized = optimize(work)
        write(work.result, optimized)
        work.say(f"optimized in {optimized.optimize_s} s: {sum(one.swapped for one in optimized.kernels)} swapped")
    else:
        used = use(work)
        write(work.result, used)
        if used.failures:
            sys.exit(f"{work.model}: {'; '.join(used.failures)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--small", action="store_true", help="tiny models, for machines without a GPU")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument(
        "--at-once", type=int, default=None, help="models optimized at once: all, or 1 without a GPU"
    )
    parser.add_argument("--limit-s", type=float, default=LIMIT_S, help="after so many seconds what runs is cut off")
    parser.add_argument("--commit", default=None, help="where there is no git to ask")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--child", nargs=3, default=None, help=argparse.SUPPRESS)
    parser.add_argument("--began", type=float, default=time.time(), help=argparse.SUPPRESS)
    options = parser.parse_args()

    def work_on(name: str, step: str, folder: Path) -> Work:
        return Work(name, step, folder, options.small, options.began, options.limit_s)

    if options.child is not None:
        name, step, folder = options.child
        run_step(work_on(name, step, Path(folder)))
        return
    has_gpu = choose_device("auto") == "cuda"
    if not has_gpu and not options.small:
        sys.exit("no GPU here: the models are too large for Triton's interpreter; add --small")
    results: dict[str, Any] = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": options.commit or commit(),
        "cores": os.cpu_count(),
        "small": options.small,
        "limit_s": options.limit_s,
        "models": {},
    }

    def done(work: Work, problem: str | None) -> None:
        finish(results, work, problem)
        results["seconds"] = round(time.time() - options.began, 1)
        write(options.out, results)

    with tempfile.TemporaryDirectory(prefix="live-models-") as scratch:
        folders = {name: Path(scratch) / name for name in options.only}
        for folder in folders.values():
            folder.mkdir()
        with ThreadPoolExecutor(options.at_once or (len(folders) if has_gpu else 1)) as pool:
            asked = {}
            for name, folder in folders.items():
                work = work_on(name, "optimize", folder)
                asked[pool.submit(run_child, work)] = work
            for future in as_completed(asked):
                done(asked[future], future.result())
        compiles = has_gpu and not options.no_compile
        for step in ("use", "compile") if compiles else ("use",):
            for name, folder in folders.items():
                work = work_on(name, step, folder)
                if not (folder / "kernels").exists():
                    done(work, "no kernel was saved")
                elif step == "compile" and work.left_s < COMPILE_S:
                    done(work, "no time left")
                else:
                    done(work, run_child(work))
    print(format_table(results))
    if any(entry.get("problems") for entry in results["models"].values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
