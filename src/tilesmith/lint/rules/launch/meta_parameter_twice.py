"""A meta-parameter that two sides set: the autotuner or a heuristic, and the launch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.source import AutotuneConfig, JitFunction, KernelSource, LaunchSite, cached_per_source
from tilesmith.lint.rules.findings import run_fault, warning
from tilesmith.records import Finding

ALWAYS_PASSED = ("num_warps", "num_stages", "num_ctas")
"""Options every config hands over, whether written in it or not."""
DECORATORS = frozenset({"triton.jit", "triton.autotune", "triton.heuristics"})


def meta_parameter_twice(source: KernelSource) -> Iterator[Finding]:
    """Triton refuses a launch that sets what a config sets; a heuristic's value replaces the launch's."""
    for launch in source.live_launches:
        function = _tuned_kernel(launch, source)
        if function is None:
            continue
        for name, given in _set_by_launch(launch, function).items():
            if _set_by_every_config(name, function):
                message = f"{name} is set by the launch and by the autotuner's configs: drop it from the launch"
                certain = name not in ALWAYS_PASSED or _is_number_everywhere(name, function)
                yield _fault(source, function, given, message, certain)
            elif name in (function.heuristics or ()):
                yield _set_by_heuristic(source, function, launch, name, given)


def _tuned_kernel(launch: LaunchSite, source: KernelSource) -> JitFunction | None:
    """The kernel, when it is certain which one it is."""
    if not launch.direct or not isinstance(launch.node.func, ast.Subscript):
        return None
    functions = source.kernels_of(launch)
    tuned = [function for function in functions if function.autotune is not None or function.heuristics]
    if len(functions) != 1 or not tuned or tuned[0].name in _rebound_names(source):
        return None
    named = launch.node.func.value
    own = isinstance(named, ast.Name) and source.names.scope_binding(named) is source.names.scope_of[tuned[0].node]
    return tuned[0] if own else None


@cached_per_source
def _rebound_names(source: KernelSource) -> frozenset[str]:
    """`kernel = wrap(kernel)` may change everything."""
    names = (node for node in source.syntax.nodes if type(node) is ast.Name)
    return frozenset(node.id for node in names if isinstance(node.ctx, ast.Store))


def _set_by_launch(launch: LaunchSite, function: JitFunction) -> dict[str, ast.expr]:
    """By position, as far as no star comes before, and by keyword."""
    named = {keyword.arg: keyword.value for keyword in launch.node.keywords if keyword.arg}
    positional: list[ast.expr] = []
    for argument in launch.node.args:
        if isinstance(argument, ast.Starred):
            break
        positional.append(argument)
    return dict(zip(function.params, positional, strict=False)) | named


def _set_by_every_config(name: str, function: JitFunction) -> bool:
    tuner = function.autotune
    if tuner is None or not tuner.configs:
        return False
    if name in ALWAYS_PASSED:
        return not any(_leaves_open(config, name) for config in tuner.configs)
    return all(name in config.meta for config in tuner.configs)


def _leaves_open(config: AutotuneConfig, option: str) -> bool:
    """`num_warps=None` leaves it to the launch."""
    value = config.options.get(option)
    return isinstance(value, ast.Constant) and value.value is None


def _set_by_heuristic(
    source: KernelSource, function: JitFunction, launch: LaunchSite, name: str, given: ast.expr
) -> Finding:
    if any(given is argument for argument in launch.node.args):
        message = f"{name} is set by a heuristic and again by position: drop one"
        return _fault(source, function, given, message, True)
    message = f"a heuristic computes {name} and ignores what the launch passes: drop it from the launch"
    return warning("meta-parameter-twice", given.lineno, message)


def _fault(source: KernelSource, function: JitFunction, given: ast.expr, message: str, certain: bool) -> Finding:
    """An error where nothing between launch and tuner could take the argument away."""
    called = [d.func if isinstance(d, ast.Call) else d for d in function.node.decorator_list]
    plain = all(source.dotted(decorator) in DECORATORS for decorator in called)
    tuner = function.autotune
    if certain and plain and (tuner is None or tuner.complete):
        return run_fault(source, "meta-parameter-twice", given, message)
    return warning("meta-parameter-twice", given.lineno, message)


def _is_number_everywhere(option: str, function: JitFunction) -> bool:
    """Absent, written out, or taken from a list that holds no `None`."""
    values = [config.options.get(option) for config in function.autotune.configs] if function.autotune else []
    syntax = function.flow.syntax
    for value in values:
        if value is None or (isinstance(value, ast.Constant) and type(value.value) is int):
            continue
        around = [node for node in syntax.ancestors(value) if isinstance(node, (ast.ListComp, ast.For))]
        constants = syntax.of_type(ast.Constant, around[-1]) if around else []
        if not constants or any(isinstance(constant.value, (type(None), str)) for constant in constants):
            return False
    return True
