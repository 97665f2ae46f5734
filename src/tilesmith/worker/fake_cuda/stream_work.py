"""Which calls of torch are work for the pretended GPU, and which make the host wait for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tilesmith.worker.compat.torch_names import storage_of
from tilesmith.worker.fake_cuda import streams
from tilesmith.worker.tensors.exchange import tensors_in

Call = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]

_WAIT_FOR_RESULT = {
    "item",
    "tolist",
    "cpu",
    "numpy",
    "nonzero",
    "equal",
    "allclose",
    "is_nonzero",
    "masked_select",
    "unique",
    "__array__",
    "__bool__",
    "__int__",
    "__float__",
    "__index__",
}
_WORK_WITHOUT_RESULT = {"__setitem__", "backward", "_foreach_add_", "_foreach_mul_", "_foreach_copy_"}
_NO_WORK_IN_PLACE = {"requires_grad_", "detach_", "share_memory_", "retain_grad", "rename_"}


def record_on_stream(call: Call, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Make the call, and enter what it does to the current stream where that is not the default one."""
    if not streams.on_side_stream():
        return call(func, args, kwargs)
    name = str(getattr(func, "__name__", ""))
    host_waits = name in _WAIT_FOR_RESULT or (name == "to" and _brings_to_host(args, kwargs))
    if host_waits:
        streams.forbid_while_capturing()
    result = call(func, args, kwargs)
    if host_waits:
        streams.wait_for_current()
    elif _is_work(name, args, kwargs, result):
        streams.note_work(f"torch's {name}")
    return result


def _brings_to_host(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    places = [value for value in (*args[1:], kwargs.get("device")) if isinstance(value, str | torch.device)]
    return any(torch.device(place).type == "cpu" for place in places) and not kwargs.get("non_blocking")


def _is_work(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> bool:
    """Tensors in memory of their own were made or filled; views and questions take no time on a GPU."""
    if name == "__get__" or name in _NO_WORK_IN_PLACE:
        return False
    if name in _WORK_WITHOUT_RESULT or kwargs.get("out") is not None or _is_in_place(name):
        return True
    known = {_storage(tensor) for tensor in tensors_in([list(args), kwargs])}
    return any(_storage(tensor) not in known for tensor in tensors_in(result))


def _is_in_place(name: str) -> bool:
    if name.startswith("__"):
        return name.startswith("__i") and name not in {"__init__", "__int__", "__index__", "__iter__", "__invert__"}
    return name.endswith("_")


def _storage(tensor: torch.Tensor) -> int:
    return storage_of(tensor) if tensor.layout == torch.strided else id(tensor)
