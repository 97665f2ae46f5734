"""Execute a candidate's source in this process. Only the candidate and compiler children do this."""

from __future__ import annotations

import linecache
import os
import sys
import types
from typing import Any

from torch import nn

from tilesmith.worker.task import seed_everything
from tilesmith.worker.truth.model_state import Transfer, fill, match, state_of
from tilesmith.worker.watch.code_origin import Origin, origin_of

_candidate: types.ModuleType | None = None
_foreign_modules: set[str] = set()
"""Imported before the candidate's code ran."""
_repeated: dict[str, Any] = {}
"""Constants of the candidate that follow the shape at hand, as its file gives them."""


class BadCandidate(Exception):
    """The file ran but does not hold what it must."""


def execute(path: str, text: str) -> Any:
    """The candidate's ModelNew class. Triton reads sources back, so the text must be found under its file name."""
    global _candidate
    _foreign_modules.update(sys.modules)
    _candidate = module = types.ModuleType(_module_name(path))
    module.__file__ = path
    sys.modules[module.__name__] = module
    if sys.path[0] != os.path.dirname(path):  # the kernel may import its neighbors
        sys.path.insert(0, os.path.dirname(path))
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    exec(compile(text, path, "exec", dont_inherit=True), module.__dict__)
    found = getattr(module, "ModelNew", None)
    if found is None:
        raise BadCandidate("the file defines no class ModelNew; name the optimized module ModelNew")
    return found


def forget_modules() -> None:
    """The candidate's module and the neighbors that it imported: their constants and caches go with them."""
    global _candidate
    for name in set(sys.modules) - _foreign_modules:
        file = getattr(sys.modules[name], "__file__", None)
        if file and file.endswith(".py") and origin_of(file) is Origin.CANDIDATE:
            del sys.modules[name]
    _candidate = None
    _repeated.clear()


def _module_name(path: str) -> str:
    """As a user would import it: code that asks for its name learns nothing from it."""
    stem = os.path.splitext(os.path.basename(path))[0]
    taken = stem in sys.modules and getattr(sys.modules[stem], "__file__", None) != path
    return f"{stem}_kernel" if taken else stem


def adopt_sizes(sizes: dict[str, tuple[Any, Any]]) -> None:
    """Kernels repeat the task's constants (`batch_size = 10`): where one does, it follows the shape at hand.

    `sizes` maps a name to its value in the task itself and to that in the shape that stands for it.
    """
    assert _candidate is not None
    names = vars(_candidate)
    names.update(_repeated)
    _repeated.clear()
    for name, (exact, here) in sizes.items():
        if type(names.get(name)) is type(exact) and names[name] == exact:
            _repeated[name] = names[name]
            names[name] = here


def construct(model_class: Any, construction: dict[str, Any], device: str) -> tuple[Any, Transfer]:
    """ModelNew built under the reference's seed and filled with the reference's perturbed state."""
    adopt_sizes(construction.get("sizes", {}))
    seed_everything(construction["seed"])
    model = model_class(*construction["args"], **construction["kwargs"])
    if not isinstance(model, nn.Module):
        raise BadCandidate("ModelNew is not an nn.Module")
    parameters = {name for name, _ in model.named_parameters()}
    transfer = match(state_of(model), parameters, construction["seeded"])
    model = model.to(device)
    model.train(construction["training"])
    if device == "cuda":  # it is filled in before every call
        construction["state"] = {name: tensor.to(device) for name, tensor in construction["state"].items()}
    fill(model, transfer, construction["state"])
    return model, transfer
