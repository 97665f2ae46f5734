"""A captured module as a task: a file that needs neither the module's weights nor, usually, the user's package.

The forward pass is written out operator by operator, as it was for the captured call; recurrent layers of torch.nn
are made by their constructors, because kernels replace them whole. What cannot be traced is unpickled from a
skeleton, and does need the package. Before a task is handed out, its Model is given the live module's tensors and
must return what the module returns.
"""

from __future__ import annotations

import ast
import inspect
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from tilesmith.errors import TaskError, UsageError
from tilesmith.live.calls.call_description import bind_arguments, describe_call, signature_of, tensors_at
from tilesmith.live.calls.call_records import CallSpec
from tilesmith.live.calls.kept_state import putting_back
from tilesmith.live.calls.nests import BareText, map_tensors, tensors_in
from tilesmith.live.calls.torch_names import FakeTensorMode
from tilesmith.live.captured.output_comparison import same_outputs
from tilesmith.live.captured.skeletons import LOADER, import_path, skeleton_text, source_comment
from tilesmith.live.captured.tensor_text import random_text
from tilesmith.live.captured.traced_forward import (
    NotTraceable,
    argument_name,
    attribute_text,
    refuse_output,
    trace_forward,
)
from tilesmith.live.swaps.kernel_files import bind_tensors
from tilesmith.tasks.calls.argument_description import dtype_name, size_letter

_RECURRENT = {nn.GRU: "GRU", nn.LSTM: "LSTM", nn.RNN: "RNN"}
_LARGE_SIZE, _LARGE_SIZE_IN_STEPS = 2**15 + 1, 2**5 + 1
"""On the other side of what a module may compare a size with; recurrent layers are traced step by step."""
_SKELETON = "SKELETON = "


@dataclass(frozen=True)
class ModuleTask:
    """A task's text, and how its Model stands to the live module."""

    text: str
    spec: CallSpec
    """With what tracing found out: sizes and modes that make no difference."""
    prefix: str
    body: str
    """Of Model.forward."""


def write_task(
    module: nn.Module,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    names: Sequence[str],
    init: tuple[Any, ...] | None = None,
) -> ModuleTask:
    """Raises TaskError in one line where the call cannot be made a task.

    `init`: what ModelNew is made with. Without it Model takes the sizes of its parameters, which may then vary.
    """
    spec = describe_call(module, args, kwargs)
    bound = bind_arguments(module, args, kwargs)
    if len(tensors_in(bound.arguments)) != len(spec.inputs):
        raise TaskError("it has tensors inside an argument that is no list, tuple or dict")
    sizes = _size_names(module, spec)
    inputs = [argument_name(one) for one in spec.inputs]
    prefix, before = "module", []
    if type(module) in _RECURRENT:
        constructor, body = _recurrent_constructor(module, sizes), _call_text(spec, bound)
    else:
        try:
            body = trace_forward(module, bound, inputs, sizes)
            prefix, constructor = "", list(_constructor(module, sizes))
        except NotTraceable as error:
            before = _skeleton_lines(module, spec, error)
            constructor = ["self.module = Skeleton(SKELETON).load()", "self.eval()"]
            body = _call_text(spec, bound)
    own = [name for name in sizes.values() if init is None and re.search(rf"\b{name}\b", "\n".join(constructor))]
    text = _file_text(spec, names, sizes, before, own, constructor, body, bound)
    _compare(text, module, spec, bound, prefix)
    if init:
        text = text.replace("def __init__(self):", "def __init__(self, *init):")
        text += f"\n\ndef get_init_inputs():\n    return {_init_text(init)}\n"
    spec = spec if prefix else _without_needless_tests(module, spec, bound)
    return ModuleTask(text, spec, prefix, body)


def _skeleton_lines(module: nn.Module, spec: CallSpec, why: Exception) -> list[str]:
    """What a task needs to unpickle the module, and what whoever reads it should know."""
    shapes = [f"#     module.{one.name} {list(one.shape)} {one.dtype}" for one in spec.tensors]
    return [
        "import base64, io, pickle, sys, zlib",
        "",
        f"# Not written out, because {why}.",
        *(["# Its tensors:", *shapes] if shapes else []),
        *source_comment(module),
        f"IMPORT_PATH = {import_path()!r}",
        f"{_SKELETON}{skeleton_text(module, why)!r}",
        *LOADER.rstrip().splitlines(),
        "",
        "",
    ]


def _init_text(init: tuple[Any, ...]) -> str:
    text = repr(list(init))
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise TaskError(f"init={text}: a task can only hold numbers, strings, None, and lists of these") from None
    return text


def _size_names(module: nn.Module, spec: CallSpec) -> dict[int, str]:
    """Names for sizes of inputs and tensors, so that a judge can change them; the first is the batch.

    Weights of a recurrent layer inside keep their sizes: its operator trusts them to fit one another.
    """
    fixed = type(module) not in _RECURRENT and any(type(inner) in _RECURRENT for inner in module.modules())
    owned = {size for one in spec.tensors for size in one.shape}
    names: dict[int, str] = {}
    for size in [*_input_sizes(spec), *sorted(owned)]:
        if size > 1 and size not in names and not (fixed and size in owned):
            names[size] = "batch_size" if not names and size not in owned else f"size_{size}"
    return names


def _input_sizes(spec: CallSpec) -> list[int]:
    return [int(size) for one in spec.inputs for size in one.shape]


def _constructor(module: nn.Module, sizes: Mapping[int, str]) -> Iterator[str]:
    """Empty modules that hold parameters and buffers by their names."""
    for name, inner in module.named_modules(remove_duplicate=False):
        if name:
            holder = "nn.ModuleList()" if isinstance(inner, nn.ModuleList | nn.Sequential) else "nn.Module()"
            parent, _, key = name.rpartition(".")
            yield (
                f"{attribute_text(name)} = {holder}"
                if key.isidentifier()
                else f"{attribute_text(parent) if parent else 'self'}.add_module({key!r}, {holder})"
            )
        prefix = f"{attribute_text(name) if name else 'self'}"
        for key, tensor in inner.named_parameters(recurse=False, remove_duplicate=False):
            gradient = "" if tensor.is_floating_point() else ", requires_grad=False"
            yield f"{prefix}.{key} = nn.Parameter({random_text(tensor, sizes)}{gradient})"
        for key, tensor in inner.named_buffers(recurse=False, remove_duplicate=False):
            yield f"{prefix}.register_buffer({key!r}, {_buffer_text(tensor, sizes)})"


def _buffer_text(tensor: torch.Tensor, sizes: Mapping[int, str]) -> str:
    if tensor.numel() <= 64 and tensor.isfinite().all():
        return f"torch.tensor({tensor.tolist()}, dtype={tensor.dtype})"
    return random_text(tensor, sizes)


def _recurrent_constructor(module: Any, sizes: Mapping[int, str]) -> list[str]:
    args = [f"{sizes.get(value, value)}" for value in (module.input_size, module.hidden_size)]
    options: dict[str, Any] = {
        "num_layers": module.num_layers,
        "bias": module.bias,
        "batch_first": module.batch_first,
        "dropout": module.dropout,
        "bidirectional": module.bidirectional,
        "proj_size": module.proj_size,
    }
    if module.training and module.dropout:
        raise TaskError("it draws random numbers; use model.eval() or --eval, else the modules inside it")
    if isinstance(module, nn.RNN):
        options["nonlinearity"] = module.nonlinearity
    defaults = {name: one.default for name, one in inspect.signature(nn.RNNBase.__init__).parameters.items()}
    args += [f"{name}={value!r}" for name, value in options.items() if value != defaults.get(name, "tanh")]
    dtype = dtype_name(module.weight_ih_l0.dtype)
    cast = [] if dtype == "float32" else [f"self.module.to(torch.{dtype})"]
    return [f"self.module = nn.{_RECURRENT[type(module)]}({', '.join(args)})", *cast]


def _call_text(spec: CallSpec, bound: inspect.BoundArguments) -> str:
    """`return self.module(input, (hx_0, hx_1))`"""
    names = iter([argument_name(one) for one in spec.inputs])
    call = inspect.BoundArguments(
        bound.signature, map_tensors(dict(bound.arguments), lambda _: BareText(next(names)))
    )
    handed = [*map(repr, call.args), *(f"{name}={value!r}" for name, value in call.kwargs.items())]
    return f"return self.module({', '.join(handed)})"


def _without_needless_tests(module: nn.Module, spec: CallSpec, bound: inspect.BoundArguments) -> CallSpec:
    """What the forward pass does not depend on, found by tracing it again: its mode, and sizes of its inputs."""
    plain = _body(module, spec, bound)
    modes = {inner: inner.training for inner in module.modules()}
    same = True
    try:
        for mode in (True, False):
            for inner in modes:  # train() of a user's class may do more than that
                inner.training = mode
            same &= _body(module, spec, bound) == plain
    finally:
        for inner, mode in modes.items():
            inner.training = mode
    fixed = {0, 1, *(size for one in spec.tensors for size in one.shape)}
    fixed |= {int(size) for one in spec.inputs for size in one.shape if one.stride is not None}
    in_steps = any(isinstance(inner, nn.RNNBase) for inner in module.modules())
    letters: dict[Any, str] = {}
    for size in dict.fromkeys(_input_sizes(spec)):
        others = (size + 1, 2 * size, 1, _LARGE_SIZE_IN_STEPS if in_steps else _LARGE_SIZE)
        if size not in fixed and all(_body(module, spec, _resized(bound, size, n)) == plain for n in others):
            size_letter(letters, size)
    arguments = [replace(one, shape=tuple(letters.get(n, n) for n in one.shape)) for one in spec.arguments]
    return replace(spec, arguments=tuple(arguments), training=None if same else spec.training)


def _body(module: nn.Module, spec: CallSpec, bound: inspect.BoundArguments) -> str:
    """The forward pass with sizes as numbers; where there is none, why."""
    try:
        return trace_forward(module, bound, [argument_name(one) for one in spec.inputs], {})
    except TaskError as error:
        return f"# {error}"


def _resized(bound: inspect.BoundArguments, size: int, other: int) -> inspect.BoundArguments:
    """The same call with another size wherever a tensor has this one, on fake tensors."""
    fake = FakeTensorMode(allow_non_fake_inputs=True)

    def resized(tensor: torch.Tensor) -> torch.Tensor:
        return fake.from_tensor(tensor).new_empty([other if n == size else n for n in tensor.shape])

    return inspect.BoundArguments(bound.signature, map_tensors(dict(bound.arguments), resized))


def refuse_other_code(module: nn.Module, spec: CallSpec, task: str, prefix: str = "") -> None:
    """Raises UsageError where the module does not do what its task says, word for word: settings that no guard can
    see, a function that was replaced, another version of the user's package. Of a skeleton's code only that of the
    class itself is compared."""
    if prefix:
        if _SKELETON in task and "\n".join(source_comment(module)) not in task:
            raise UsageError("its class has other code than that which the kernel was judged on")
        return
    names = [argument_name(one) for one in spec.inputs]
    call = _example_call(module, spec)
    model = _make_model(task)
    bind_tensors(model, "", module)
    flat = inspect.BoundArguments(
        signature_of(model), dict(zip(names, tensors_at(call.arguments, spec.arguments), strict=True))
    )
    if trace_forward(model, flat, names, {}) != trace_forward(module, call, names, {}):
        raise UsageError("its forward pass is another than that of the task that the kernel was judged on")


def _example_call(module: nn.Module, spec: CallSpec) -> inspect.BoundArguments:
    """A call of that kind, on fake tensors."""
    by_path = {one.path: one for one in spec.arguments}
    letters = dict.fromkeys(size for one in spec.inputs for size in one.shape if isinstance(size, str))
    sizes: dict[Any, int] = {letter: number + 7 for number, letter in enumerate(letters)}
    device = next((one.device for one in module.parameters()), spec.device)

    def made(path: tuple[Any, ...]) -> Any:
        one = by_path[path]
        if one.kind == "tensor":
            shape, dtype = [sizes.get(size, size) for size in one.shape], getattr(torch, str(one.dtype))
            if one.stride is None:
                return torch.empty(shape, dtype=dtype, device=device)
            return torch.empty_strided(shape, one.stride, dtype=dtype, device=device)
        if one.kind == "dict":
            return {key: made((*path, key)) for key in one.value}
        if one.kind in ("tuple", "list"):
            items = [made((*path, place)) for place in range(one.value)]
            return tuple(items) if one.kind == "tuple" else items
        return one.value

    with FakeTensorMode(allow_non_fake_inputs=True):
        arguments = {path[0]: made(path) for path in by_path if len(path) == 1}
    return inspect.BoundArguments(signature_of(module), arguments)


def _make_model(text: str) -> nn.Module:
    task: Any = types.ModuleType("tilesmith_captured_task")
    try:
        exec(compile(text, "<captured task>", "exec"), vars(task))
        return task.Model()
    except Exception as error:
        raise TaskError(f"its task cannot be executed: {type(error).__name__}: {error}") from None


def _file_text(
    spec: CallSpec,
    names: Sequence[str],
    sizes: Mapping[int, str],
    before: Sequence[str],
    own: Sequence[str],
    constructor: Sequence[str],
    body: str,
    bound: inspect.BoundArguments,
) -> str:
    inputs = [argument_name(one) for one in spec.inputs]
    made = [random_text(tensor, sizes) for tensor in tensors_at(bound.arguments, spec.arguments)]
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    taken = [f"{name}={size}" for size, name in sizes.items() if name in own]
    constants = [f"{name} = {size}" for size, name in sizes.items() if name in "".join([*constructor, body, *made])]
    lines = [
        f'"""{spec.module_class}, called as {spec.describe()}; in its model: {shown or "the model itself"}."""',
        "",
        "import torch",
        "import torch.nn as nn",
        "",
        "aten = torch.ops.aten",
        *constants,
        *before,
        "",
        "",
        "class Model(nn.Module):",
        f"    def __init__({', '.join(['self', *taken])}):",
        "        super().__init__()",
        *(f"        {line}" for line in constructor),
        "",
        f"    def forward({', '.join(['self', *inputs])}):",
        *(f"        {line}" for line in body.splitlines()),
        "",
        "",
        "def get_inputs():",
        *(f"    {name} = {text}" for name, text in zip(inputs, made, strict=True)),
        f"    return [{', '.join(inputs)}]",
        *(["", "", "def get_init_inputs():", f"    return [{', '.join(own)}]"] if own else []),
        "",
    ]
    return "\n".join(lines)


def _compare(text: str, module: nn.Module, spec: CallSpec, bound: inspect.BoundArguments, prefix: str) -> None:
    """The task's Model with the tensors of the live module must return what that returns."""
    model = _make_model(text)
    try:
        bind_tensors(model, prefix, module)
    except UsageError as error:
        raise TaskError(f"its task has other tensors: {error}") from None
    with torch.no_grad(), putting_back(module):
        expected = module.forward(*bound.args, **bound.kwargs)
        refuse_output(expected)
        found = model(*tensors_at(bound.arguments, spec.arguments))
    if not same_outputs(found, expected):
        raise TaskError(
            "its forward pass, written out, returns something else: it may depend on more than its inputs"
        )
