"""Child process: installs the interpreter, loads files of checks, prints what each check returned."""

import importlib.util
import json
import os
import sys
import warnings
from pathlib import Path

os.environ["TRITON_INTERPRET"] = "1"
import torch
import triton  # noqa: F401

from tilesmith.worker.engines.engine import CallSettings
from tilesmith.worker.engines.interpreter import explain, install

warnings.simplefilter("ignore")
torch.set_num_threads(1)
interpreter = install()


def outcome(check):
    """A check's value, or the fault that ended it."""
    torch.manual_seed(0)
    interpreter.reschedule(0)
    interpreter.begin_call(CallSettings())
    try:
        return check(interpreter)
    except Exception as error:
        return {
            "fault": type(error).__name__,
            "verdict": getattr(error, "verdict", None),
            "line": getattr(error, "line", None),
            "message": explain(error),
        }


def outcomes(path):
    spec = importlib.util.spec_from_file_location("candidate", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    checks = {name: check for name, check in vars(module).items() if name.startswith("check_")}
    return {name.removeprefix("check_"): outcome(check) for name, check in checks.items()}


print("\n" + json.dumps({Path(path).stem: outcomes(path) for path in sys.argv[1:]}))
