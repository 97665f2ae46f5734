"""KernelBench evaluates one pair in this process: python kernelbench_check.py FOLDER TASK KERNEL TIMING OUT.

FOLDER is a checkout of KernelBench and TIMING is 0 or 1. The result is written to OUT as JSON, because KernelBench
prints to standard output. Trials are as many as KernelBench's own script run_and_check.py makes.
"""

import inspect
import json
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

CORRECT_TRIALS = 5
PERFORMANCE_TRIALS = 100
TEXT_LENGTH = 200


def load_evaluation(folder: Path) -> Any:
    """The package was called `src` before it was called `kernelbench`."""
    sys.path[:0] = [str(folder / "src"), str(folder)]
    name = "kernelbench.eval" if (folder / "src" / "kernelbench").is_dir() else "src.eval"
    return import_module(name).eval_kernel_against_ref


def evaluate(function: Any, task: Path, kernel: Path, timing: bool, folder: Path) -> dict[str, Any]:
    """Versions differ in their arguments: each gets those it knows."""
    import torch

    wanted = {
        "original_model_src": task.read_text(),
        "custom_model_src": kernel.read_text(),
        "measure_performance": timing,
        "num_correct_trials": CORRECT_TRIALS,
        "num_perf_trials": PERFORMANCE_TRIALS,
        "backend": "triton",
        "precision": torch.float32,
        "device": torch.device("cuda:0"),
        "build_dir": str(folder / "build"),
        "verbose": False,
    }
    known = inspect.signature(function).parameters
    began = time.monotonic()
    result = function(**{name: value for name, value in wanted.items() if name in known})
    seconds = round(time.monotonic() - began, 3)
    names = ("compiled", "correctness", "runtime", "ref_runtime")
    said = {name: str(value)[:TEXT_LENGTH] for name, value in (getattr(result, "metadata", None) or {}).items()}
    return {"call_s": seconds, "metadata": said} | {name: getattr(result, name, None) for name in names}


def main() -> None:
    folder, task, kernel, timing, out = sys.argv[1:]
    try:
        function = load_evaluation(Path(folder).resolve())
    except Exception as error:
        answer = {"not_importable": f"{type(error).__name__}: {error}"[:TEXT_LENGTH]}
    else:
        try:
            answer = evaluate(function, Path(task), Path(kernel), timing == "1", Path(out).parent)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:TEXT_LENGTH]}
    Path(out).write_text(json.dumps(answer, default=str))


if __name__ == "__main__":
    main()
