"""Heavy PyTorch computation that a candidate leaves in host code, beside its kernels.

Heavy is what takes a real kernel of its own: products, convolutions, norms, softmax, pooling, recurrent layers,
attention, sorting and scans. Views, allocations and elementwise leftovers are not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.source import HostCode, KernelSource
from tilesmith.lint.structure.host_code.host_calls import HostCalls, host_calls
from tilesmith.lint.structure.host_code.skipped_on_gpu import skipped_on_gpu
from tilesmith.lint.vocabulary import words

HEAVY_WORDS = (
    "Conv",
    "Linear",
    "Norm",
    "Pool",
    "Softm",
    "LSTM",
    "GRU",
    "RNN",
    "Attention",
    "Transformer",
    "CrossEntropy",
)
"""What the name of a class in `torch.nn` tells."""
CONTAINERS = frozenset({"torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ModuleDict"})
MODEL_LIBRARIES = ("torchvision.models.", "transformers.", "timm.")


def heavy_members(source: KernelSource) -> frozenset[str]:
    """Names of attributes that hold a heavy module, or a container of such."""
    constructors = {node for node in source.names.dotted if is_heavy_module(source.names.dotted[node])}
    if not constructors:
        return frozenset()
    above = [source.syntax.parents[node] for node in constructors]
    made = [node for node in above if isinstance(node, ast.Call) and node.func in constructors]
    found = {name for name, value in _member_values(source) if _holds(source, value, made)}
    return frozenset(found)


def is_heavy_module(dotted: str) -> bool:
    if dotted.startswith(MODEL_LIBRARIES):
        return True
    head, _, tail = dotted.rpartition(".")
    return head in ("torch.nn", "torch.nn.modules") and any(word in tail for word in HEAVY_WORDS)


def _member_values(source: KernelSource) -> Iterator[tuple[str, ast.expr]]:
    """`self.a = v`, `self.a, self.b = v, w`, `self.layers.append(v)`, `self.add_module("a", v)`."""
    for node in source.syntax.nodes:
        match node:
            case ast.Assign(targets=[target], value=value):
                yield from _pairs(target, value)
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr=name), attr="append"), args=[value]):
                yield name, value
            case ast.Call(func=ast.Attribute(attr="add_module"), args=[ast.Constant(value=str() as name), value]):
                yield name, value


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match target, value:
        case ast.Attribute(attr=name), _:
            yield name, value
        case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
            for part, piece in zip(targets, values, strict=True):
                yield from _pairs(part, piece)


def _holds(source: KernelSource, value: ast.expr, made: list[ast.Call]) -> bool:
    """The value is built from a heavy module right there, or gathers a list filled nearby."""
    syntax = source.syntax
    if any(syntax.contains(value, call) for call in made):
        return True
    if not (isinstance(value, ast.Call) and source.dotted(value.func) in CONTAINERS and value.args):
        return False
    around = next((above for above in syntax.ancestors(value) if isinstance(above, ast.FunctionDef)), None)
    return around is not None and any(syntax.contains(around, call) for call in made)


COMPARING = words("eq ne lt le gt ge isin isnan isinf isfinite logical_and logical_or logical_not")
PLACES = words("torch.arange torch.nonzero torch.where torch.searchsorted")
PASSING = words("to int long contiguous view reshape flatten sum tolist cpu cuda flip repeat_interleave")
DEEPEST_LOOK = 6


def computing_functions(source: KernelSource) -> list[HostCode]:
    """All that can run; in a file of operators those that start kernels, and what they call."""
    if source.has_model_class:
        return list(source.live_hosts)
    calls = host_calls(source)
    starting = [h for h in source.live_hosts if h.node in calls.launching and not _is_trial(h, calls, source)]
    found = {host.node: host for host in starting}
    waiting = list(starting)
    while waiting:
        host = waiting.pop()
        for call in source.syntax.of_type(ast.Call, *host.node.body):
            fresh = [callee for callee in calls.callees(call, host) if callee.node not in found]
            found |= {callee.node: callee for callee in fresh}
            waiting += fresh
    return list(found.values()) or list(source.live_hosts)


def _is_trial(host: HostCode, calls: HostCalls, source: KernelSource) -> bool:
    """It takes nothing and nothing calls it, or a benchmark of Triton's runs it."""
    given = host.node.args
    takes = given.args or given.posonlyargs or given.kwonlyargs or given.vararg or given.kwarg
    if host.owner is None and not takes and not calls.callers(host):
        return True
    parts = [part for decorator in host.node.decorator_list for part in source.syntax.inside(decorator)]
    return any((source.dotted(part) or "").startswith("triton.testing.") for part in parts)


def counts_places(value: ast.expr | None, host: HostCode, source: KernelSource, depth: int = DEEPEST_LOOK) -> bool:
    """A comparison, numbers of places, or something cut out of such: `(ids == 0).cumsum(0)`."""
    match value:
        case ast.Compare():
            return True
        case ast.Call(func=function) if source.dotted(function) in PLACES:
            return True
        case ast.Call(func=ast.Attribute(value=owner, attr=name)) if source.dotted(value.func) is None:
            return name in COMPARING or (name in PASSING and counts_places(owner, host, source, depth))
        case ast.Subscript():
            return counts_places(value.value, host, source, depth)
        case ast.Name(id=name) if depth:
            values = [v for v in host.flow.values_of(name) if isinstance(v, ast.expr)]
            return bool(values) and all(counts_places(v, host, source, depth - 1) for v in values)
    return False


HEAVY_FUNCTIONS = words(
    """
    matmul mm bmm mv addmm addmv addbmm baddbmm chain_matmul einsum tensordot inner dot vdot outer addr ger kron
    bilinear linear cdist pdist
    conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d convolution conv_tbc
    softmax log_softmax softmin gumbel_softmax normalize cosine_similarity
    layer_norm rms_norm batch_norm group_norm instance_norm local_response_norm native_layer_norm native_batch_norm
    native_group_norm
    max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d lp_pool1d lp_pool2d adaptive_avg_pool1d
    adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d
    fractional_max_pool2d fractional_max_pool3d
    lstm gru rnn_tanh rnn_relu lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell
    scaled_dot_product_attention multi_head_attention_forward cross_entropy ctc_loss
    cumprod cummax cummin logcumsumexp sort msort topk kthvalue histc
    functional_call _scaled_mm _int_mm _scaled_dot_product_flash_attention
    """
)
COUNTING = words("cumsum argsort bincount")
"""Work on data; on numbers of places no more than bookkeeping."""
HEAVY_METHODS = words(
    """
    matmul mm bmm mv addmm addmm_ addbmm baddbmm baddbmm_ softmax log_softmax cumprod topk
    """
)
HEAVY_SPACES = ("torch.linalg.", "torch.fft.")
COMPILERS = words("torch.compile torch.jit.script torch.jit.trace torch._dynamo.optimize")
CONSTRUCTORS = frozenset({"__init__", "reset_parameters"})


def torch_work(source: KernelSource) -> Iterator[ast.expr]:
    """Calls and products in live host code, constructors and side paths apart."""
    members = heavy_members(source)
    for host in computing_functions(source):
        inside = source.syntax.inside(host.node)
        work = [node for node in inside if _is_compiler(node, source)]
        if host.name not in CONSTRUCTORS:
            work += [node for node in inside if _is_work(node, host, source, members)]
        if work:
            aside = skipped_on_gpu(source, host)
            yield from (
                node
                for node in work
                if isinstance(node, ast.expr) and not any(source.syntax.contains(root, node) for root in aside)
            )


def first_torch_work(source: KernelSource) -> ast.expr | None:
    return min(torch_work(source), key=lambda node: node.lineno, default=None)


def _is_compiler(node: ast.AST, source: KernelSource) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute)) and source.dotted(node) in COMPILERS


def _is_work(node: ast.AST, host: HostCode, source: KernelSource, members: frozenset[str]) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.MatMult)
    if not isinstance(node, ast.Call):
        return False
    dotted = source.dotted(node.func)
    if _counts(node, dotted):
        operand = node.args[0] if dotted and node.args else getattr(node.func, "value", None)
        return not counts_places(operand, host, source)
    if dotted is not None:
        return _is_heavy_function(dotted)
    return _is_heavy_method(node) or _is_member(node.func, host, members) or _is_inherited(node.func, host, source)


def _counts(call: ast.Call, dotted: str | None) -> bool:
    """`torch.cumsum(x, 0)`, `x.cumsum(0)`."""
    if dotted is not None:
        return dotted.startswith("torch.") and dotted.rpartition(".")[2] in COUNTING
    return isinstance(call.func, ast.Attribute) and call.func.attr in COUNTING - {"bincount"}


def _is_heavy_function(dotted: str) -> bool:
    path = dotted.removesuffix(".default")
    tail = path.rpartition(".")[2]
    if not path.startswith("torch."):
        return False
    return tail in HEAVY_FUNCTIONS or (path.startswith(HEAVY_SPACES) and "norm" not in tail)


def _is_heavy_method(call: ast.Call) -> bool:
    """`x.matmul(w)`; `names.sort()` is a list, `x.sort(dim=0)` a tensor."""
    if not isinstance(call.func, ast.Attribute):
        return False
    by_dimension = any(keyword.arg in ("dim", "descending", "stable") for keyword in call.keywords)
    return call.func.attr in HEAVY_METHODS or (call.func.attr == "sort" and (bool(call.args) or by_dimension))


def _is_member(function: ast.expr, host: HostCode, members: frozenset[str]) -> bool:
    """`self.conv(x)`, `self.convs[i](x)`, and `conv(x)` in `for conv in self.convs`."""
    match function:
        case ast.Attribute(value=ast.Attribute(attr=name), attr="forward") | ast.Attribute(attr=name):
            return name in members
        case ast.Subscript(value=ast.Attribute(attr=name)):
            return name in members
        case ast.Name(id=name) if members:
            parts = [part for value in host.flow.values_of(name) for part in host.flow.syntax.inside(value)]
            return any(isinstance(part, ast.Attribute) and part.attr in members for part in parts)
    return False


def _is_inherited(function: ast.expr, host: HostCode, source: KernelSource) -> bool:
    """`super().forward(x)` in a class that extends one of PyTorch's own."""
    match function:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="forward") if host.owner is not None:
            return any(is_heavy_module(source.dotted(base) or "") for base in host.owner.bases)
    return False
