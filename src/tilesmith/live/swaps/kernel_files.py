"""A kernel's file, executed in this process: only after it was judged, or because the user says so."""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import os
import sys
from pathlib import Path
from typing import Any

from torch import nn

from tilesmith.errors import UsageError
from tilesmith.live.calls.torch_names import share_tables

_load_numbers = itertools.count()


def interprets() -> bool:
    """Whether kernels run in Triton's interpreter in this process."""
    return os.environ.get("TRITON_INTERPRET") == "1"


def file_digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise UsageError(f"{path}: cannot read the kernel: {error.strerror}") from None


def build_kernel(path: Path, init: tuple[Any, ...] = ()) -> nn.Module:
    """ModelNew of the file, constructed. Under a module name of its own, so that files may be called alike."""
    file_digest(path)  # says in one line what is wrong with the file
    name = f"tilesmith_kernel_{next(_load_numbers)}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        # not by the loader, which takes bytecode of an older text that is as long and as old to the second
        exec(compile(path.read_bytes(), path, "exec"), vars(module))
        kernel = module.ModelNew(*init)
    except Exception as error:
        del sys.modules[name]
        raise UsageError(f"{path}: ModelNew cannot be made: {type(error).__name__}: {error}") from None
    if not isinstance(kernel, nn.Module):
        raise UsageError(f"{path}: ModelNew is not an nn.Module")
    return kernel


def find_prefix(kernel: nn.Module, module: nn.Module) -> str:
    """A kernel may keep the module's tensors in a module of its own: `self.rnn` for a whole GRU."""
    wanted = _tensor_names(module)
    return next((name for name, inside in kernel.named_modules() if _tensor_names(inside) == wanted), "")


def bind_tensors(kernel: nn.Module, prefix: str, module: nn.Module) -> None:
    """Gives the kernel the very tensors of the live module, so that it sees every later change of them."""
    inside = dict(kernel.named_modules(remove_duplicate=False))
    live = {f"{prefix}.{name}".strip("."): one for name, one in module.named_modules(remove_duplicate=False)}
    own, wanted = _tensor_names(kernel), {f"{prefix}.{name}".lstrip(".") for name in _tensor_names(module)}
    for names, who in ((own - wanted, "the kernel has a tensor"), (wanted - own, "the kernel lacks the tensor")):
        if names:
            raise UsageError(
                f"{who} {min(names)}: it must have those of the module, by the same names, and no others"
            )
    for name in inside.keys() & live.keys():
        share_tables(inside[name], live[name])
    kernel.train(module.training)


def _tensor_names(module: nn.Module) -> set[str]:
    kept = (module.named_parameters(remove_duplicate=False), module.named_buffers(remove_duplicate=False))
    return {name for named in kept for name, _ in named}
