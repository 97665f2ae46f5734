"""Stand-ins for the names in `torch.cuda`, for `pretend_cuda`: one GPU, idle, instantly done.

Streams and graphs, which need more than an answer, are in `streams` and `graphs`.
"""

from __future__ import annotations

from contextlib import contextmanager
from types import FunctionType, SimpleNamespace
from typing import Any

import torch

from tilesmith.tasks.gpus import ARCHITECTURES, Gpu
from tilesmith.worker.compat.patches import Replacement
from tilesmith.worker.compat.torch_names import LAZY_INIT, RAW_STREAM
from tilesmith.worker.fake_cuda import graphs, streams


def device_properties(gpu: Gpu) -> SimpleNamespace:
    """torch.cuda.get_device_properties, as far as kernels ask."""
    architecture = ARCHITECTURES[gpu.target]
    major, minor = architecture.capability
    return SimpleNamespace(
        name=gpu.driver_name,
        major=major,
        minor=minor,
        total_memory=gpu.memory_bytes,
        multi_processor_count=gpu.multiprocessors,
        warp_size=architecture.warp_size,
        regs_per_multiprocessor=architecture.registers_per_multiprocessor,
        max_threads_per_block=1024,
        max_threads_per_multi_processor=architecture.threads_per_multiprocessor,
        shared_memory_per_block=48 * 1024,
        shared_memory_per_block_optin=architecture.shared_bytes_per_block,
        shared_memory_per_multiprocessor=architecture.shared_bytes_per_multiprocessor,
        L2_cache_size=gpu.l2_bytes,
        is_integrated=0,
        is_multi_gpu_board=0,
        gcnArchName="",
    )


class FakeDeviceContext:
    """torch.cuda.device(...) and device_of(...)."""

    def __init__(self, device: Any = None) -> None:
        self.idx = 0

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


@contextmanager
def _no_range(*_: Any, **__: Any) -> Any:
    yield


def _nothing(*_: Any, **__: Any) -> None:
    """For synchronize, empty_cache and the like."""


def _seed(seed: int) -> None:
    """The pretended GPU draws from the CPU's generator."""
    torch.default_generator.manual_seed(int(seed))


def cuda_api(gpu: Gpu) -> dict[str, Any]:
    """Name in torch.cuda → stand-in, a different object for every name: torch._dynamo, which some torch
    functions import on first use, refuses functions that go by two names."""
    parts = (_facts(gpu), _memory(gpu), _randomness(), _streams_and_graphs(), _legacy_types())
    api = {name: stand_in for part in parts for name, stand_in in part.items()}
    return {name: _own_copy(stand_in) for name, stand_in in api.items()}


def _own_copy(stand_in: Any) -> Any:
    if not isinstance(stand_in, FunctionType):
        return stand_in
    return FunctionType(
        stand_in.__code__,
        stand_in.__globals__,
        stand_in.__name__,
        stand_in.__defaults__,
        stand_in.__closure__,
    )


def _facts(gpu: Gpu) -> dict[str, Any]:
    return {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "init": _nothing,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": _nothing,
        "device": FakeDeviceContext,
        "device_of": lambda tensor: FakeDeviceContext(),
        "get_device_name": lambda device=None: gpu.driver_name,
        "get_device_capability": lambda device=None: ARCHITECTURES[gpu.target].capability,
        "get_device_properties": lambda device=None: device_properties(gpu),
        "get_arch_list": lambda: ["sm_{}{}".format(*ARCHITECTURES[gpu.target].capability)],
        "can_device_access_peer": lambda *_: False,
        "is_bf16_supported": lambda *_, **__: True,
        "is_tf32_supported": lambda: True,
        "utilization": lambda device=None: 0,
        "nvtx": SimpleNamespace(range_push=_nothing, range_pop=_nothing, mark=_nothing, range=_no_range),
    }


def _memory(gpu: Gpu) -> dict[str, Any]:
    no_bytes = ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved")
    resets = ("reset_peak_memory_stats", "reset_max_memory_allocated", "reset_accumulated_memory_stats")
    return {
        **dict.fromkeys(no_bytes, lambda device=None: 0),
        **dict.fromkeys(resets, _nothing),
        "empty_cache": _nothing,
        "ipc_collect": _nothing,
        "set_per_process_memory_fraction": _nothing,
        "memory_stats": lambda device=None: {},
        "memory_summary": lambda *_, **__: "",
        "mem_get_info": lambda device=None: (gpu.memory_bytes, gpu.memory_bytes),
    }


def _randomness() -> dict[str, Any]:
    return {
        "manual_seed": _seed,
        "manual_seed_all": _seed,
        "seed": _nothing,
        "seed_all": _nothing,
        "initial_seed": lambda: torch.default_generator.initial_seed(),
        "get_rng_state": lambda device=None: torch.default_generator.get_state(),
        "set_rng_state": lambda state, device=None: torch.default_generator.set_state(state),
        "get_rng_state_all": lambda: [torch.default_generator.get_state()],
        "set_rng_state_all": lambda states: torch.default_generator.set_state(states[0]),
    }


def _streams_and_graphs() -> dict[str, Any]:
    return {
        "synchronize": streams.synchronize,
        "Stream": streams.Stream,
        "ExternalStream": streams.ExternalStream,
        "Event": streams.Event,
        "current_stream": streams.current_stream,
        "default_stream": streams.default_stream,
        "set_stream": streams.set_stream,
        "stream": lambda stream=None: streams.StreamContext(stream),
        "StreamContext": streams.StreamContext,
        "is_current_stream_capturing": streams.is_capturing,
        "CUDAGraph": graphs.CUDAGraph,
        "graph": graphs.graph,
        "graph_pool_handle": graphs.graph_pool_handle,
    }


def other_stream_and_graph_names() -> list[Replacement]:
    """For what streams and graphs are called outside of torch.cuda itself, or privately."""
    return [
        Replacement(torch, "Stream", streams.AnyStream),
        Replacement(torch, "Event", streams.AnyEvent),
        Replacement(torch.cuda.streams, "Stream", streams.Stream),
        Replacement(torch.cuda.streams, "ExternalStream", streams.ExternalStream),
        Replacement(torch.cuda.streams, "Event", streams.Event),
        Replacement(torch.cuda.graphs, "CUDAGraph", graphs.CUDAGraph),
        Replacement(torch.cuda.graphs, "graph", graphs.graph),
        Replacement(torch.cuda.graphs, "graph_pool_handle", graphs.graph_pool_handle),
        Replacement(torch.Tensor, "record_stream", lambda tensor, stream: None),
        Replacement(*RAW_STREAM, lambda device=0: streams.current_stream().cuda_stream),
        Replacement(*LAZY_INIT, lambda *_, **__: None),
    ]


def _legacy_types() -> dict[str, Any]:
    names = ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool")
    return {f"{name}Tensor": getattr(torch, f"{name}Tensor") for name in names}
