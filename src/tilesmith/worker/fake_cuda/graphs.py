"""CUDA graphs of the pretended GPU: a capture computes nothing, a replay repeats it on the same memory.

A graph therefore answers for new inputs only where they were copied into the memory it was captured with.

Under fake tensors there is nothing to replay: the body of a capture runs as if there were no graph, so that its
launches are recorded once. Not covered: streams that a capture did not reach, whose work is captured all the same.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import torch

from tilesmith.worker.compat.torch_names import DisableTorchFunction, FakeTensorMode, active_dispatch_modes
from tilesmith.worker.fake_cuda import streams
from tilesmith.worker.fake_cuda.graph_capture import CapturingMode, Step, frozen

_pools = itertools.count(1)


class NotOnThisMachine(NotImplementedError):
    """The code needs a real GPU here; this says nothing against the code."""


class _Capture:
    """A capture under way."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        faking = any(isinstance(mode, FakeTensorMode) for mode in active_dispatch_modes())
        self._mode = None if faking else CapturingMode(self.steps)

    def begin(self) -> None:
        streams.begin_capture_account()
        if self._mode is not None:
            self._mode.__enter__()

    def end(self) -> list[str]:
        """The streams that were left behind."""
        if self._mode is not None:
            self._mode.__exit__(None, None, None)
        return streams.end_capture_account()


_capture: _Capture | None = None
_captures = 0


def captures() -> int:
    """How many were begun so far."""
    return _captures


def start_work(run: Callable[[dict[str, Any]], None], arguments: dict[str, Any], what: str) -> None:
    """Work for the GPU: `run(arguments)` now, or at every replay if a graph is being captured."""
    streams.note_work(what)
    if _capture is None:
        run(arguments)
    else:
        _capture.steps.append(functools.partial(run, frozen(arguments)))


def abandon_capture() -> None:
    """End a capture that its code began and never ended."""
    global _capture
    if _capture is not None:
        _capture.end()
        _capture = None


class CUDAGraph:
    """torch.cuda.CUDAGraph."""

    def __init__(self, keep_graph: bool = False) -> None:
        self._steps: list[Step] | None = None
        self._pool = graph_pool_handle()

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global", **_: Any) -> None:
        global _capture, _captures
        _captures += 1
        streams.forbid_while_capturing()
        if not streams.on_side_stream():
            raise RuntimeError("CUDA graphs must be captured on a non-default stream.")
        self._pool = pool if pool is not None else self._pool
        _capture = _Capture()
        _capture.begin()

    def capture_end(self) -> None:
        global _capture
        if _capture is None:
            raise RuntimeError("CUDA error: invalid argument: capture_end without capture_begin")
        ended, _capture = _capture, None
        left_behind = ended.end()
        if left_behind:
            raise RuntimeError(f"CUDA error: capturing stream has unjoined work: {'; '.join(left_behind)}")
        self._steps = ended.steps

    def replay(self) -> None:
        if self._steps is None:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        steps = self._steps
        start_work(lambda _: _repeat(steps), {}, "the replay of a CUDA graph")

    def instantiate(self) -> None:
        pass

    def reset(self) -> None:
        self._steps = None

    def pool(self) -> Any:
        return self._pool

    def register_generator_state(self, generator: Any) -> None:
        pass

    def enable_debug_mode(self) -> None:
        pass

    def debug_dump(self, debug_path: str) -> None:
        pass

    def raw_cuda_graph(self) -> int:
        raise NotOnThisMachine("the handle of a CUDA graph needs a GPU, and this machine has none")

    raw_cuda_graph_exec = get_graph_data = raw_cuda_graph


def _repeat(steps: list[Step]) -> None:
    with torch.no_grad(), DisableTorchFunction():
        for step in steps:
            step()


class graph:
    """torch.cuda.graph, under the name that people import."""

    default_capture_stream: streams.AnyStream | None = None

    def __init__(
        self, cuda_graph: CUDAGraph, pool: Any = None, stream: Any = None, *args: Any, **kwargs: Any
    ) -> None:
        if stream is None and graph.default_capture_stream is None:
            graph.default_capture_stream = streams.Stream()
        self.cuda_graph, self.pool = cuda_graph, pool
        self.capture_stream = stream if stream is not None else graph.default_capture_stream
        self._on_stream = streams.StreamContext(self.capture_stream)

    def __enter__(self) -> None:
        streams.synchronize()
        self._on_stream.__enter__()
        try:
            self.cuda_graph.capture_begin(pool=self.pool)
        except BaseException:
            self._on_stream.__exit__()
            raise

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        try:
            if kind is None:
                self.cuda_graph.capture_end()
            else:
                abandon_capture()
        finally:
            self._on_stream.__exit__()


def graph_pool_handle() -> tuple[int, int]:
    """As unique as the real one, and as opaque."""
    return 0, next(_pools)
