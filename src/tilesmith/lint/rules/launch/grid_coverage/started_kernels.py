"""One launch with the kernel it certainly starts, and the sizes both sides speak of."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tilesmith.lint.model.sizes.possible_numbers import Numbers, host_numbers, parameter_numbers
from tilesmith.lint.model.source import FunctionNode, JitFunction, KernelSource, LaunchSite
from tilesmith.lint.structure.launches.grids import LaunchGrid, read_grid


@dataclass(frozen=True)
class StartedKernel:
    source: KernelSource
    launch: LaunchSite
    kernel: JitFunction
    grid: LaunchGrid
    bound: Mapping[str, ast.expr]
    """Arguments by parameter; empty when some hide behind a star."""

    def numbers(self, value: ast.expr) -> Numbers:
        """What a size in the grid can be: a literal, a name for one, or a meta-parameter."""
        name = self.grid.meta_parameter(value)
        if name is not None:
            return parameter_numbers(self.source, self.kernel, name) if name in self.kernel.params else None
        return host_numbers(self.source, self.grid.host, value)

    def same(self, one: ast.expr, other: ast.expr) -> bool:
        """Two host expressions for one size."""
        if ast.dump(self.grid.resolved(one)) == ast.dump(self.grid.resolved(other)):
            return True
        numbers = self.numbers(one)
        return numbers is not None and len(numbers) == 1 and numbers == self.numbers(other)

    def parameter_for(self, size: ast.expr) -> str | None:
        """The kernel's compile-time parameter that gets this size."""
        name = self.grid.meta_parameter(size)
        if name is not None:
            return name if name in self.kernel.params else None
        if self.numbers(size) is None and not self._is_chosen(size):
            return None
        compile_time = [(name, value) for name, value in self.bound.items() if name in self.kernel.constexprs]
        return next((name for name, value in compile_time if self.same(size, value)), None)

    def _is_chosen(self, size: ast.expr) -> bool:
        """A size the author picks rather than the data: a default, or the smaller of a literal and something."""
        meant = self.grid.resolved(size)
        if isinstance(meant, ast.Name) and self.grid.host is not None:
            return isinstance(_default(self.grid.host.node, meant.id), ast.Constant)
        match meant:
            case ast.Call(func=ast.Name(id="min"), args=arguments):
                return any(isinstance(argument, ast.Constant) for argument in arguments)
        return False


def _default(function: FunctionNode, name: str) -> ast.expr | None:
    positional = [*function.args.posonlyargs, *function.args.args]
    given = dict(zip(reversed([a.arg for a in positional]), reversed(function.args.defaults), strict=False))
    named = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    given |= {argument.arg: value for argument, value in named if value is not None}
    return given.get(name)


def started_kernels(source: KernelSource) -> Iterator[StartedKernel]:
    for launch in source.live_launches:
        kernels = [function for name in launch.kernels for function in source.jit_named(name)]
        grid = read_grid(launch, source) if len(kernels) == 1 else None
        if grid is not None:
            yield StartedKernel(source, launch, kernels[0], grid, launch.bound_to(kernels[0]) or {})


def is_cdiv(call: ast.AST, source: KernelSource) -> bool:
    """`triton.cdiv` or a function of that name, whoever wrote it."""
    if not isinstance(call, ast.Call) or len(call.args) != 2:
        return False
    dotted = source.dotted(call.func) or ""
    name = call.func.id if isinstance(call.func, ast.Name) else dotted.rpartition(".")[2]
    return name in {"cdiv", "ceil_div", "ceildiv"}
