"""Private names of torch and triton are used in `worker.compat` alone, which lists every one of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from private_names import findings, is_private

import tilesmith
from tilesmith.worker.compat.name_table import OPTIONAL, REQUIRED

SOURCE = Path(tilesmith.__file__).parent
COMPAT = SOURCE / "worker" / "compat"
LIVE = SOURCE / "live" / "calls" / "torch_names.py"
"""The same for modules that run in the user's own process, which import nothing of the worker."""
EXEMPLARS = SOURCE / "playbook" / "exemplars"
"""Kernels to be shown, never imported."""
MODULES = sorted(
    path for path in SOURCE.rglob("*.py") if not {COMPAT, EXEMPLARS} & set(path.parents) and path != LIVE
)
LISTED = (*OPTIONAL, *(name for names in REQUIRED.values() for name in names))
ALLOWED = {
    "worker/truth/widening.py": "patches module, whatever that is",
    "worker/task/traced/watched_numbers.py": "patches WatchedNumber, whatever that is",
    "worker/task/traced/watched_sizes.py": "patches WatchedSize, whatever that is",
    "worker/engines/interpreter/program_tape.py": "patches self.builder, whatever that is",
    **dict.fromkeys(
        [f"live/captured/{name}.py" for name in ("module_tasks", "tensor_text", "traced_forward")],
        "names a module of torch or triton by a made-up string",
    ),
}
"""The user's own model, whose tensors are made wider; a class of our own; the builder that
another stands before; the text of tasks that are written."""

USES = {
    "import": "import torch._dynamo",
    "import from": "from torch.utils._pytree import tree_map",
    "import a module": "from triton import runtime",
    "documented hook": "from torch.overrides import TorchFunctionMode",
    "attribute": "import torch\nx = torch._C._nn",
    "through an alias": "import triton.language as tl\nx = tl.core.is_builtin",
    "through an assignment": "import torch\nnn = torch.nn\ny = nn._reduction",
    "of an object": "def f(op):\n    return op._schema",
    "of a re-export": "from tilesmith.worker.compat.torch_names import FakeTensor\ny = FakeTensor._item",
    "keyword": "def f(g):\n    return g(_semantic=1)",
    "getattr": "import torch\nx = getattr(torch.cuda, '_sleep')",
    "hasattr": "import triton.language as tl\nx = hasattr(tl, '_private')",
    "import_module": "import importlib\nx = importlib.import_module('triton.runtime.cache')",
    "made-up module": "x = f'triton.backends.{y}.compiler'",
    "listed attribute": "import torch\nx = {'_lazy_init': None}",
    "vars": "import triton.language as tl\nx = vars(tl.standard)",
    "assignment": "import torch\ntorch.compile = None",
    "assignment to a class": "import triton.language as tl\ntl.tensor.T = None",
    "assignment in a loop": "import triton.language as tl\nfor x in (tl.dtype, tl.tensor):\n    x.to_ir = None",
    "assignment through compat": "from tilesmith.worker.compat.triton_names import Autotuner\nAutotuner.run = None",
    "setattr": "import torch\nsetattr(torch.cuda, 'init', None)",
    "setattr of somebody": "def f(owner, name):\n    setattr(owner, name, None)",
    "mock": "import torch\nfrom unittest import mock\nmock.patch.object(torch.cuda, 'init', None)",
}
NO_USES = {
    "public": "import torch\nimport triton.language as tl\nx = torch.nn.Linear, tl.tensor, tl.load",
    "public modules of triton": "import triton\nx = triton.testing.do_bench, triton.compile",
    "setting": "import torch\ntorch.backends.cudnn.allow_tf32 = True",
    "dunder": "import torch\nx = torch.__version__, torch.nn.Module.__init__",
    "own attribute": "class A:\n    def __init__(self):\n        self._x = 1\n\ndef f(a):\n    return a._x",
    "named tuple": "def f(pair):\n    return pair._replace(left=1)",
    "module of Python": "import os\nos._exit(0)",
    "docstring": '"""torch._C"""',
}


def ids(path: Path) -> str:
    return str(path.relative_to(SOURCE))


@pytest.mark.parametrize("path", MODULES, ids=ids)
def test_no_module_outside_compat_uses_a_private_name(path: Path) -> None:
    runs_torch = path.relative_to(SOURCE).parts[0] in ("worker", "process", "live")
    allowed = ALLOWED.get(ids(path), "nothing")
    assert [use for use in findings(path.read_text(), runs_torch) if not use.endswith(allowed)] == []


@pytest.mark.parametrize("text", USES.values(), ids=USES)
def test_a_use_is_found(text: str) -> None:
    assert list(findings(text)) != []


@pytest.mark.parametrize("text", NO_USES.values(), ids=NO_USES)
def test_what_is_public_or_own_is_no_use(text: str) -> None:
    assert list(findings(text)) == []


def test_only_private_names_are_listed() -> None:
    assert [name for name in LISTED if not is_private(name)] == []


@pytest.mark.parametrize("path", sorted(COMPAT.glob("*_names.py")), ids=ids)
def test_every_name_that_compat_reads_is_listed(path: Path) -> None:
    for use in findings(path.read_text()):
        name = use.split()[-1]
        if use.split()[1] in ("imports", "reads") and name.startswith(("torch", "triton")):
            assert any(f"{listed}.".startswith(f"{name}.") for listed in LISTED), use
