"""A forward pass that is replayed from a CUDA graph: one launch in place of many, where launching takes longer than
the work. What a written file needs for it beside the pass itself, which becomes a method of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilesmith.playbook.recipe import Tuning
from tilesmith.tasks.graph import reference

CONSTANT = "GRAPHS"
GRAPHED = Tuning(((CONSTANT, 4),))
"""Of every model, so many shapes have a graph."""
PLAIN_FORWARD = "forward_without_graph"
NAMES = {
    CONSTANT,
    "threading",
    "weakref",
    "_graphs",
    "_capturing",
    "describe_argument",
    "CapturedCall",
    "call_graph",
}
"""What a written file has at module level for it."""
SUMMARY = (
    f"All launches of a call are one CUDA graph. The last {CONSTANT} shapes of a model have one each, on memory of "
    "their own; new inputs are copied in, outputs out, and changed weights make it anew."
)

_CODE = '''_graphs = weakref.WeakKeyDictionary()
"""Of every model, its captured calls by what they were given."""
_capturing = threading.Lock()


def describe_argument(value):
    """All that a graph depends on beside the numbers in a tensor."""
    return (value.shape, value.stride(), value.dtype) if isinstance(value, torch.Tensor) else repr(value)


class CapturedCall:
    """The CUDA graph of one call, with copies of its inputs and the memory of its outputs."""

    def __init__(self, model, arguments):
        self.arguments = [one.clone() if isinstance(one, torch.Tensor) else one for one in arguments]
        model.forward_without_graph(*self.arguments)  # compiles kernels, and makes what is kept of weights
        self.attributes = [
            (owner, name, value)
            for module in model.modules()
            for owner in (module._parameters, module._buffers, module._modules, vars(module))
            for name, value in owner.items()
            if isinstance(value, (torch.Tensor, nn.Module))
        ]
        self.weights = [value for _, _, value in self.attributes if isinstance(value, torch.Tensor)]
        self.versions = self.find_versions()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
            self.outputs = model.forward_without_graph(*self.arguments)KEPT

    def find_versions(self):
        return [(one.data_ptr(), 0 if one.is_inference() else one._version) for one in self.weights]

    def is_current(self):
        """Whether the model has the same modules and tensors, with the same numbers in them.

        A write through `weight.data` does not count as a change in PyTorch: call `_graphs.clear()` after one.
        """
        is_same = all(owner.get(name) is value for owner, name, value in self.attributes)
        return is_same and self.find_versions() == self.versions

    def replay(self, arguments):
        for own, given in zip(self.arguments, arguments):
            if isinstance(own, torch.Tensor):
                own.copy_(given)
        self.graph.replay()
        outputs = self.outputs
        return RESULT


def call_graph(model, *arguments, numbers=()):
    """The forward pass from a graph; without one where gradients are wanted, or a device cannot have it."""
    tensors = [one for one in arguments if isinstance(one, torch.Tensor)]
    if (
        not all(one.is_cuda and one.device.index == torch.cuda.current_device() for one in tensors)
        or torch.is_grad_enabled()
        or torch.is_autocast_enabled()
        or torch.compiler.is_compiling()
        or torch.cuda.is_current_stream_capturing()
    ):
        return model.forward_without_graph(*arguments)
    stream = torch.cuda.current_stream().cuda_stream
    key = (stream, torch.is_inference_mode_enabled(), numbers, *map(describe_argument, arguments))
    calls = _graphs.setdefault(model, {})
    call = calls.pop(key, None)  # another thread makes its own meanwhile
    if call is not None and not call.is_current():
        call = None
    if call is None:
        while len(calls) >= GRAPHS:
            calls.pop(next(iter(calls)))
        with _capturing:
            call = CapturedCall(model, arguments)
    outputs = call.replay(arguments)
    calls[key] = call  # as the last one to go
    return outputs'''


def write_graph_code(outputs: Any, stores: Sequence[str]) -> str:
    """`outputs` is the nest that the pass returns; `stores` are dictionaries of what the file made of weights."""
    kept = [f"*{store}.values()" for store in stores]
    line = f"\n        self.kept = [{', '.join(kept)}]  # the graph has their addresses" if kept else ""
    return _CODE.replace("KEPT", line).replace("RESULT", _copied(outputs, "outputs"))


def write_graph_call(arguments: Sequence[str], numbers: Sequence[str]) -> str:
    """The line of `forward`."""
    told = [f"numbers=({', '.join(numbers)},)"] if numbers else []
    return f"return call_graph({', '.join(['self', *arguments, *told])})"


def _copied(outputs: Any, found: str) -> str:
    """The nest with a copy of every tensor in it."""
    if reference(outputs) is not None:
        return f"{found}.clone()"
    if isinstance(outputs, list):
        return f"[{', '.join(_copied(item, f'{found}[{place}]') for place, item in enumerate(outputs))}]"
    if set(outputs) == {"value"}:
        return found
    if set(outputs) == {"tuple"}:
        items = [_copied(item, f"{found}[{place}]") for place, item in enumerate(outputs["tuple"])]
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    if set(outputs) == {"record"}:
        ((kind, fields),) = outputs["record"].items()
        copies = [f"{key}={_copied(item, f'{found}.{key}')}" for key, item in fields.items()]
        return f"{kind}({', '.join(copies)})"
    copies = [f"{key!r}: {_copied(item, f'{found}[{key!r}]')}" for key, item in outputs.items()]
    return "{" + ", ".join(copies) + "}"
