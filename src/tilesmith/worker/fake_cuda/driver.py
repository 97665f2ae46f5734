"""A triton driver that answers like the target GPU and launches nothing.

Candidates ask `triton.runtime.driver.active` for SM counts, streams and targets even
while they only build a grid; without a GPU the real driver would fail on the question.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any

from tilesmith.worker.compat.triton_names import driver_replaced, set_driver
from tilesmith.worker.compile.targets import Target, target_named

_PRETENDED_MS = 10.0
"""Every timing; large enough that triton.testing.do_bench repeats only a few times."""


class FakeUtils:
    """Stands for the C extension `driver.active.utils`."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def get_device_properties(self, device: int = 0) -> dict[str, Any]:
        return self._target.device_properties()

    def get_device_capability(self, device: int = 0) -> tuple[int, int]:
        return self._target.capability

    def get_current_device(self) -> int:
        return 0

    def set_printf_fifo_size(self, size: int) -> None:
        pass

    def load_binary(self, *_: Any) -> tuple[int, int, int, int, int]:
        """module, function, n_regs, n_spills, n_max_threads"""
        return 1, 1, 32, 0, 1024

    def unload_module(self, module: Any) -> None:
        pass


class FakeEvent:
    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def record(self, *_: Any) -> None:
        pass

    def synchronize(self) -> None:
        pass

    def elapsed_time(self, other: Any) -> float:
        return _PRETENDED_MS


class FakeDriver:
    """The part of triton's DriverBase that user code and the compiler reach for."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.utils = FakeUtils(target)

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        pass

    def get_current_stream(self, device: int | None = None) -> int:
        return 0

    def get_current_target(self) -> Any:
        return self.target.gpu_target()

    def get_device_capability(self, device: int = 0) -> tuple[int, int]:
        return self.target.capability

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cuda", 0)

    def get_device_interface(self) -> Any:
        return SimpleNamespace(
            Event=FakeEvent,
            synchronize=lambda *_: None,
            current_device=lambda: 0,
            current_stream=lambda *_: SimpleNamespace(cuda_stream=0, synchronize=lambda: None),
        )

    def get_benchmarker(self) -> Callable[..., Any]:
        return _bench_once

    def get_empty_cache_for_benchmark(self) -> Any:
        import torch

        return torch.empty(1, dtype=torch.int32, device="cpu")

    def clear_cache(self, cache: Any) -> None:
        pass

    def launcher_cls(self, src: Any, metadata: Any) -> Callable[..., None]:
        return lambda *_, **__: None

    @staticmethod
    def is_active() -> bool:
        return True


def _bench_once(call: Callable[[], Any], quantiles: Sequence[float] | None = None, **_: Any) -> Any:
    call()
    return _PRETENDED_MS if quantiles is None else [_PRETENDED_MS] * len(quantiles)


def install_fake_driver(target: str = "sm_90") -> None:
    """For the rest of this process; also under TRITON_INTERPRET=1."""
    set_driver(FakeDriver(target_named(target)))


def fake_driver(target: str = "sm_90") -> AbstractContextManager[None]:
    """For the block only."""
    return driver_replaced(FakeDriver(target_named(target)))
