"""Let code written for CUDA run on a machine without one: tensors stay on the CPU and say `cuda:0`.

    with pretend_cuda():
        x = torch.randn(4, device="cuda")
        assert x.is_cuda and torch.cuda.is_available()

aten checks devices for real, so it never sees a `cuda` one: a TorchFunctionMode translates
what Python code asks of torch, and replacements stand in for `torch.cuda`, for the constructors
a mode cannot see, and for torch.compile (which would trace the pretence).

Fake tensors can really be on `cuda`; for them `translate=False` leaves devices alone.

Not covered: C++ extensions, threads the code starts itself, and names imported from torch before the block.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from tilesmith.tasks.gpus import REPRESENTATIVES, Gpu
from tilesmith.worker.compat.patches import Replacement, replaced
from tilesmith.worker.compat.torch_names import (
    PARSE_TO,
    RUN_BACKWARD,
    TorchFunctionMode,
    default_device_context,
    device_constructors,
    parse_to,
    run_backward,
)
from tilesmith.worker.fake_cuda.graphs import NotOnThisMachine, abandon_capture
from tilesmith.worker.fake_cuda.stream_work import record_on_stream
from tilesmith.worker.fake_cuda.torch_cuda import cuda_api, other_stream_and_graph_names

__all__ = ["NotOnThisMachine", "pretend_cuda"]

CPU = torch.device("cpu")
CUDA = torch.device("cuda", 0)
_CUDA_NAME = re.compile(r"cuda(:\d+)?")


def _means_cuda(value: Any) -> bool:
    """A device argument that names a GPU: a device, its name or its number."""
    if isinstance(value, torch.device):
        return bool(value.type == "cuda")
    if isinstance(value, str):
        return _CUDA_NAME.fullmatch(value) is not None
    return isinstance(value, int) and not isinstance(value, bool)


def _positional(value: Any) -> Any:
    """Numbers are sizes here, so only names and devices are translated."""
    return CPU if isinstance(value, torch.device | str) and _means_cuda(value) else value


class _CudaMode(TorchFunctionMode):
    """Answers for the device of a tensor and keeps `cuda` away from aten."""

    def __init__(self) -> None:
        super().__init__()
        tensor = torch.Tensor
        self._answers: dict[Any, Callable[..., Any]] = {
            tensor.device.__get__: lambda t, *_: CUDA if t.device == CPU else t.device,
            tensor.is_cuda.__get__: lambda t, *_: t.is_cuda or t.device == CPU,
            tensor.is_cpu.__get__: lambda t, *_: False,
            tensor.get_device: lambda t: 0,
            tensor.cuda: lambda t, *_, memory_format=torch.preserve_format, **__: t.to(
                CPU, memory_format=memory_format
            ),
            tensor.pin_memory: lambda t, *_: t,
            torch.device: lambda *args, **kwargs: CUDA if args == (0,) else torch.device(*args, **kwargs),
        }
        self._constructors = device_constructors()

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        answer = self._answers.get(func)
        kwargs = dict(kwargs or {})
        return (
            answer(*args, **kwargs)
            if answer is not None
            else record_on_stream(self._translated_call, func, args, kwargs)
        )

    def _translated_call(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        args = tuple(_positional(arg) for arg in args)
        if func is torch.Tensor.to and len(args) > 1 and _means_cuda(args[1]):
            args = (args[0], CPU, *args[2:])
        # A default device set by the code sits below this mode, so a constructor names its device here.
        if _means_cuda(kwargs.get("device")) or (func in self._constructors and kwargs.get("device") is None):
            kwargs = {**kwargs, "device": CPU}
        if kwargs.get("pin_memory"):
            kwargs = {**kwargs, "pin_memory": False}
        return func(*args, **kwargs)


class _GeneratorType(type(torch.Generator)):  # type: ignore[misc]  # torch's own metaclass
    """isinstance holds for generators made before the block."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return type(instance) is _Generator.__base__ or type(instance) is _Generator


class _Generator(torch.Generator, metaclass=_GeneratorType):
    def __new__(cls, device: Any = None) -> Any:
        return super().__new__(cls, device=CPU)

    @property
    def device(self) -> torch.device:
        return CUDA


class _Autocast(torch.autocast):
    """CUDA's default is float16, the CPU's bfloat16."""

    def __init__(self, device_type: str = "cuda", dtype: Any = None, *args: Any, **kwargs: Any) -> None:
        if device_type == "cuda":
            device_type, dtype = "cpu", dtype or torch.float16
        super().__init__(device_type, dtype, *args, **kwargs)


class _CudaAutocast(_Autocast):
    def __init__(self, enabled: bool = True, dtype: Any = torch.float16, cache_enabled: bool | None = True) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)


def _uncompiled(model: Any = None, **_: Any) -> Any:
    """torch.compile, as a call or as a decorator with options."""
    return model if model is not None else lambda function: function


def _pretending(function: Callable[..., Any]) -> Callable[..., Any]:
    """torch calls the backward of user code from inside its own functions, where the mode is off."""

    def call(*args: Any, **kwargs: Any) -> Any:
        with _CudaMode():
            return function(*args, **kwargs)

    return call


def _translated(function: Callable[..., Any], position: int, keyword: str, default: Any) -> Callable[..., Any]:
    """The function with one device argument translated."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) > position:
            args = (*args[:position], _to_cpu(args[position]), *args[position + 1 :])
        else:
            kwargs[keyword] = _to_cpu(kwargs.get(keyword, default))
        return function(*args, **kwargs)

    return call


def _to_cpu(value: Any) -> Any:
    return "cpu" if _means_cuda(value) else value


def _api_replacements(gpu: Gpu) -> list[Replacement]:
    """For what asks about the GPU."""
    return [
        *(Replacement(torch.cuda, name, stand_in) for name, stand_in in cuda_api(gpu).items()),
        *other_stream_and_graph_names(),
        Replacement(torch, "compile", _uncompiled),
        Replacement(torch.nn.Module, "compile", lambda self, *_, **__: None),
        Replacement(torch.backends.cudnn, "is_acceptable", lambda tensor: False),
        Replacement(torch.version, "cuda", "12.8"),
    ]


def _translating_replacements() -> list[Replacement]:
    """For constructors that take a device and that a mode cannot see."""

    def parse_to_by_number(*args: Any, **kwargs: Any) -> Any:
        numbered = args and isinstance(args[0], int)
        return parse_to(*((CUDA, *args[1:]) if numbered else args), **kwargs)

    return [
        Replacement(torch.cuda.amp, "autocast", _CudaAutocast),
        Replacement(torch.amp, "autocast", _Autocast),
        Replacement(torch, "autocast", _Autocast),
        Replacement(torch, "is_autocast_enabled", _translated(torch.is_autocast_enabled, 0, "device_type", "cuda")),
        Replacement(torch, "get_autocast_dtype", _translated(torch.get_autocast_dtype, 0, "device_type", "cuda")),
        Replacement(torch, "get_autocast_gpu_dtype", lambda: torch.get_autocast_dtype("cuda")),
        Replacement(torch, "Generator", _Generator),
        Replacement(torch, "load", _translated(torch.load, 1, "map_location", None)),
        Replacement(*RUN_BACKWARD, _pretending(run_backward)),
        Replacement(*PARSE_TO, parse_to_by_number),
    ]


@contextmanager
def _settings_restored() -> Iterator[None]:
    """Global switches that CUDA code likes to set and that would outlive the block."""
    precision = torch.get_float32_matmul_precision()
    default_context = default_device_context()
    try:
        yield
    finally:
        if default_device_context() is not default_context:
            torch.set_default_device(default_context.device if default_context else None)
        torch.set_float32_matmul_precision(precision)


@contextmanager
def pretend_cuda(gpu: Gpu = REPRESENTATIVES["sm_90"], translate: bool = True) -> Iterator[None]:
    """Until the block ends, this process seems to have that one GPU."""
    replacements = _api_replacements(gpu) + (_translating_replacements() if translate else [])
    with ExitStack() as stack:
        stack.enter_context(_settings_restored())
        stack.callback(abandon_capture)
        stack.enter_context(replaced(replacements))
        if translate:
            stack.enter_context(_CudaMode())
        yield
