"""What a user hands over, refused in one line where it is something else. Importing this does not import torch."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tilesmith.errors import UsageError


def require_model(model: Any) -> None:
    from torch import nn

    if inspect.isclass(model):
        raise UsageError(f"the model is the class {model.__name__}: make one of it, {model.__name__}(...)")
    if inspect.isroutine(model):
        raise UsageError(f"the model is the function {model.__name__}: pass the module that it returns")
    if not isinstance(model, nn.Module):
        raise UsageError(f"the first argument is the model, an nn.Module, and this is a {type(model).__name__}")


def require_example(model: Any, args: Any, kwargs: Any) -> None:
    """A model and a call of it. A lone tensor would be taken for as many arguments as it has rows."""
    require_model(model)
    if isinstance(args, Mapping):
        raise UsageError("inputs are a tuple, and keyword arguments come after it: write (), {...}")
    if not isinstance(args, Sequence) or isinstance(args, str):
        kind = type(args).__name__
        raise UsageError(
            f"inputs are a tuple with one item for each argument of forward: write (x,), not x, a {kind}"
        )
    if not isinstance(kwargs, Mapping | None):
        raise UsageError(f"keyword arguments are a dict, and this is a {type(kwargs).__name__}")
    _require_fit(model, args, kwargs or {})


def _require_fit(model: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Hooks may change what forward gets, so that nothing can be said before."""
    from torch import nn

    from tilesmith.live.calls.torch_names import has_hooks

    if type(model).__call__ is not nn.Module.__call__ or has_hooks(model):
        return
    with contextlib.suppress(ValueError):  # it has no signature
        signature = inspect.signature(model.forward)
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            raise UsageError(
                f"the example does not fit {type(model).__name__}.forward: {error}; inputs are a tuple with one "
                "item for each argument"
            ) from None


def require_where(where: Any) -> None:
    patterns = where if isinstance(where, list | tuple | set) else [where]
    if where is not None and not callable(where) and not all(isinstance(one, str) for one in patterns):
        raise UsageError(f"where={where!r}: use a pattern, a list of patterns, or a function of name and module")
    with contextlib.suppress(ValueError):  # it has no signature
        if callable(where):
            try:
                inspect.signature(where).bind("name", None)
            except TypeError as error:
                raise UsageError(f"where is a function of name and module, and this one is not: {error}") from None


def require_gradients(grad: Any) -> None:
    if grad not in ("fallback", "recompute"):
        raise UsageError(f"grad={grad!r}: use fallback or recompute")


def require_config(config: Any, kind: type) -> None:
    if config is not None and not isinstance(config, kind):
        name = kind.__name__
        raise UsageError(f"config is a {type(config).__name__}: write config={name}(name=value, ...)")


def make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{path}: cannot be a folder: {error.strerror}; name another") from None
