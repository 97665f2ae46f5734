"""Matrix products without `tl.dot`: outer products, cubes summed, blocks times vectors, rows times columns."""

from __future__ import annotations

import ast

from tilesmith.lint.model.device.values import Shape
from tilesmith.lint.model.source import JitFunction, KernelLoop, KernelSource
from tilesmith.lint.structure.addresses.coordinates import Coordinates
from tilesmith.lint.structure.device_flow.call_frames import CallFrame, FramedNode, frames_of
from tilesmith.lint.structure.device_flow.value_flow import Dependence, Marks, load_calls, loaded_data
from tilesmith.lint.structure.reductions.contractions import Contraction, contractions
from tilesmith.lint.structure.reductions.reduction_sites import reduction_calls, stored_values

ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def multiplies_matrices(function: JitFunction, source: KernelSource) -> bool:
    """Some sum of products has the shape of a matrix product."""
    return any(_is_matrix_product(found, function, source) for found in contractions(function, source))


def multiplies_matrix_and_vector(function: JitFunction, source: KernelSource) -> bool:
    """A block times a vector, or row times column in one program: the weaker sign, since a weight looks alike."""
    return any(_is_vector_product(found, function, source) for found in contractions(function, source))


def applies_matrix(function: JitFunction, source: KernelSource) -> bool:
    """A block times a vector whose sum is the result: no weight of a normalization looks like that."""
    found = [made for made in contractions(function, source) if made.kind == "sum"]
    return any(
        len(function.value(factor).shape or ()) == 2 and _is_vector_product(made, function, source)
        for made in found
        for factor in made.factors[:1]
        if _is_result(made, function, source)
    )


def _is_matrix_product(found: Contraction, function: JitFunction, source: KernelSource) -> bool:
    if found.kind == "dot":
        return not any(_is_triangle(factor, function, source) for factor in found.factors)
    shapes = [factor_shape(factor, function, source) for factor in found.factors]
    if found.kind == "sum":
        cube = any(shape is not None and len(shape) >= 3 for shape in shapes)
        return any(shape is not None and 1 in shape for shape in shapes) and (
            cube or _is_state(found, shapes, function, source)
        )
    # `a[:, None] * b[None, :]`: each has an axis of its own
    pairs = [(a, b) for a in shapes for b in shapes if a and b and len(a) == len(b)]
    outer = any(_own_axis(a, b) and _own_axis(b, a) for a, b in pairs)
    return outer or _is_scalar_times_vector(found, shapes, function, source)


def factor_shape(factor: ast.expr, function: JitFunction, source: KernelSource) -> Shape:
    """As far as inferred; else by how it is spread: `a[:, None]`, `tl.expand_dims(a, 1)`."""
    known = function.value(factor).shape
    if known is not None:
        return known
    match factor:
        case ast.Subscript(slice=ast.Tuple(elts=parts)):
            return tuple(1 if isinstance(part, ast.Constant) and part.value is None else None for part in parts)
        case ast.Call(args=[_, ast.Constant(value=int() as axis)]):
            spread = (source.dotted(factor.func) or "").endswith(".expand_dims")
            return ((1, None) if axis == 0 else (None, 1)) if spread else None
    return None


def _is_state(found: Contraction, shapes: list[Shape], function: JitFunction, source: KernelSource) -> bool:
    """The vector is no loaded weight: it was summed up before."""
    loads = load_calls(function, source)
    sums = [call.node for call in function.calls_of("sum")]
    bare = Dependence(function.flow, loads, [*loads, *sums])
    vectors = [f for f, shape in zip(found.factors, shapes, strict=True) if shape and 1 in shape]
    return len(found.factors) == 2 and any(not bare.behind(vector) for vector in vectors)


def _own_axis(one: Shape, other: Shape) -> bool:
    return any(a != 1 and b == 1 for a, b in zip(one or (), other or (), strict=False))


def _is_scalar_times_vector(
    found: Contraction, shapes: list[Shape], function: JitFunction, source: KernelSource
) -> bool:
    """Both are loaded anew in each turn, from places that move with it."""
    if () not in shapes or not any(shape for shape in shapes) or len(found.factors) != 2:
        return False
    loops = [loop for loop in function.loops if _holds(loop, found.node)]
    behind = [loaded_data(function, source).behind(factor) for factor in found.factors]
    return bool(loops) and all(any(_advances(load, loops[-1]) for load in each) for each in behind)


def _holds(loop: KernelLoop, node: ast.AST) -> bool:
    return loop.flow.syntax.contains(loop.node, node)


def _advances(load: ast.AST, loop: KernelLoop) -> bool:
    moving = loop.indices | loop.carried
    return isinstance(load, ast.Call) and bool(loop.flow.origins(*load.args[:1]) & moving) and _holds(loop, load)


def _is_vector_product(found: Contraction, function: JitFunction, source: KernelSource) -> bool:
    if found.kind == "dot":
        return False
    shapes = [factor_shape(factor, function, source) for factor in found.factors]
    ranks = {len(shape) for shape in shapes if shape is not None}
    if ranks == {2}:
        whole = [shape for shape in shapes if shape is not None and 1 not in shape]
        one_sided = len(whole) == 1 < len(shapes)
        spread = len(whole) == len(shapes) == 2 and _places_differ(found, function, source)
        return (one_sided or spread) and _is_summed(found, function)
    return ranks == {1} and len(shapes) == 2 and _places_differ(found, function, source)


def _is_summed(found: Contraction, function: JitFunction) -> bool:
    """Over a block at once, or turn by turn and then over the block."""
    sums = [call.node for call in function.calls_of("sum")]
    if found.kind == "sum":
        return True
    dependence = Dependence(function.flow, [found.node], ())
    return any(dependence.behind(*call.args[:1]) for call in sums)


def _is_result(found: Contraction, function: JitFunction, source: KernelSource) -> bool:
    """Something stored is made of the sums alone, and of no block beside them."""
    loads = load_calls(function, source)
    sums = [call.node for call in function.calls_of("sum")]
    blocks = [load for load in loads if len(function.value(load).shape or ()) > 1]
    bare = Dependence(function.flow, blocks, [*loads, *sums])
    made = Dependence(function.flow, [found.node], loads)
    return any(made.behind(value) and not bare.behind(value) for value in stored_values(function))


def _places_differ(made: Contraction, function: JitFunction, source: KernelSource) -> bool:
    """One of them changes where the other stays: rows and columns, or the same vector for every row."""
    loads = load_calls(function, source)
    whole = loaded_data(function, source)
    bare = Dependence(function.flow, loads, loads | reduction_calls(function, source))
    frame = next((frame for frame in frames_of(source) if frame.function is function), CallFrame(function))
    coordinates = Coordinates(source)
    behind = [bare.behind(factor) or whole.behind(factor) for factor in made.factors]
    first, second = (coordinates.of(*_addresses(found, frame)) for found in behind)
    return bool(coordinates.own(first, second) or coordinates.own(second, first))


def _addresses(loads: Marks, frame: CallFrame) -> list[FramedNode]:
    return [FramedNode(load.args[0], frame) for load in loads if isinstance(load, ast.Call) and load.args]


def sums_by_triangle(function: JitFunction, source: KernelSource) -> bool:
    """Running sums by `tl.dot`: a triangle of ones times the data."""
    found = [made for made in contractions(function, source) if made.kind == "dot"]
    return any(_is_triangle(factor, function, source) for made in found for factor in made.factors)


def _is_triangle(factor: ast.expr, function: JitFunction, source: KernelSource) -> bool:
    """`tl.where(i[:, None] >= i[None, :], 1.0, 0.0)`: made of nothing but lanes compared with lanes."""
    flow = function.flow
    if flow.origins(factor) & (frozenset(function.params) - function.constexprs):
        return False
    orders = [node for node in function.nodes if isinstance(node, ast.Compare) and isinstance(node.ops[0], ORDERS)]
    lanes = Dependence(flow, [call.node for call in function.calls_of("arange")], ())
    loads = load_calls(function, source)
    compared = [n for n in orders if lanes.behind(n.left) and lanes.behind(n.comparators[0])]
    behind = Dependence(flow, [*compared, *loads], loads).behind(factor)
    return bool(behind) and not behind & loads
