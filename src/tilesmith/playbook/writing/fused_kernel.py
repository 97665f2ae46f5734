"""The host's side of a fused kernel: which tensors it takes, how its outputs are made, how it is called."""

from __future__ import annotations

import keyword
import re
import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count

from tilesmith.playbook.graph.indices import grouped
from tilesmith.playbook.graph.lowering import Lowering, list_outputs
from tilesmith.playbook.graph.operators import (
    MOVED_VIEWS,
    PARTED,
    called,
    find_working_nodes,
    list_working_operators,
    operator_name,
)
from tilesmith.playbook.graph.placement import PlacedValue, Placer
from tilesmith.playbook.graph.scalars import NamedNumber
from tilesmith.playbook.graph.steps import LEAF, SCANS, KernelStep
from tilesmith.playbook.graph.symbols import Axis, Dim
from tilesmith.playbook.recipe import KernelParts, Region, RegionText, Tuning
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.formula import write_formula
from tilesmith.playbook.writing.kernel_body import COMBINERS, StoredOutput
from tilesmith.tasks.graph import GETITEM, Graph, Parameter, reference
from tilesmith.tasks.numbers.varying import is_varying

_MOST_NAMED, _MOST_TOLD, _LONGEST_LINE = 3, 8, 110


@dataclass(frozen=True)
class FusedKernel:
    """A region that is one kernel over one tile."""

    low: Lowering
    placer: Placer
    outputs: tuple[StoredOutput, ...]
    taken: frozenset[str]
    """Names that the task's own code and `forward` give to other things."""
    ending: str = ""
    """What the kernel does beside the graph, as the last part of its name."""
    operands: tuple[KernelStep, ...] = ()
    """Tensors that the launcher takes and the tile does not: the factors of a product."""
    inner: Placer | None = None
    """Values on another tile, which a helper of the kernel computes: the scores of an attention. Both know the same
    sizes."""

    @property
    def graph(self) -> Graph:
        return self.low.graph

    @cached_property
    def name(self) -> str:
        """After what it computes: `sigmoid_mul`."""
        kinds = [*list_working_operators(self.graph), *([self.ending] if self.ending else [])]
        name = "_".join(kinds) if len(kinds) <= _MOST_NAMED else f"fused_{kinds[-1]}"
        if name in self.taken and not name.startswith("fused_"):
            name = f"fused_{name}"
        numbered = (f"{name}_{number}" for number in count(2))
        return next(one for one in chain([name], numbered) if one not in self.taken)

    @property
    def values(self) -> tuple[PlacedValue, ...]:
        """On all tiles."""
        return (*self.placer.values, *(self.inner.values if self.inner else ()))

    @property
    def working_operators(self) -> int:
        return len(find_working_nodes(self.graph))

    @property
    def title(self) -> str:
        return ", ".join(list_working_operators(self.graph)[:_MOST_TOLD])

    @cached_property
    def leaves(self) -> tuple[KernelStep, ...]:
        used = {value.step for value in self.values if value.step.op == LEAF} | set(self.operands)
        known = (step for step in self.low.values.values() if isinstance(step, KernelStep) and step in used)
        return tuple(dict.fromkeys(known))  # an alias of a leaf is the same step under another name

    @cached_property
    def scalars(self) -> tuple[NamedNumber, ...]:
        """Numbers that the model's attributes hold, each once."""
        found = (number for value in self.values for number in _numbers(value) if number.host)
        return tuple({number.name: number for number in found}.values())

    @property
    def helpers(self) -> tuple[str, ...]:
        kinds = {SCANS.get(value.step.op, value.step.op) for value in self.placer.values}
        return tuple(
            f"@triton.jit\ndef {name}(a, b):\n    return {body}"
            for kind, (name, body) in COMBINERS.items()
            if kind in kinds
        )

    @property
    def pointers(self) -> tuple[str, ...]:
        return (*(f"{step.name}_ptr" for step in self.loaded), *(output.pointer for output in self.outputs))

    @property
    def index_sizes(self) -> tuple[str, ...]:
        """What index arithmetic needs to know."""
        return tuple(f"{name}: tl.constexpr" for name in self.placer.sizes)

    @property
    def loaded(self) -> tuple[KernelStep, ...]:
        """The tensors that the tile itself reads."""
        placed = {value.step for value in self.values}
        return tuple(step for step in self.leaves if step in placed)

    def signature(self, halves: str = "") -> list[str]:
        """`halves`: a tensor's that the launcher is given, too."""
        tensors = [f"{step.name}: torch.Tensor" for step in self.leaves]
        numbers = [f"{number.name}: float" for number in self.scalars]
        numbers += [f"{halves}: tuple[torch.Tensor, ...]"] if halves else []
        results = "torch.Tensor" if len(self.outputs) == 1 else "tuple[torch.Tensor, ...]"
        line = f"def {self.name}({', '.join(tensors + numbers)}) -> {results}:"
        if len(line) <= _LONGEST_LINE:
            return [line]
        return [f"def {self.name}(", f"    {', '.join(tensors + numbers)}", f") -> {results}:"]

    def preparation(self, others: Sequence[KernelStep] = (), left: Collection[str] = ()) -> list[str]:
        """Inputs may come with any strides, which a product reads; parameters are as the constructor made them.

        `others` must lie in one piece, too; what is `left` stays as it lies.
        """
        given = {leaf.name for leaf in self.graph.inputs}
        given |= {owned.name for owned in self.graph.parameters if not _is_contiguous(owned)}
        taken = [step for name, step in self.low.values.items() if name in given and isinstance(step, KernelStep)]
        names = [
            one.name for one in dict.fromkeys((*self.loaded, *others)) if one in taken and one.name not in left
        ]
        made = ", ".join(f"{name}.contiguous()" for name in names)
        return [*self._checks(), *([f"    {', '.join(names)} = {made}"] if names else [])]

    def _checks(self) -> list[str]:
        """Sizes that the kernel has as numbers; a size of one, too, which it does not count along."""
        symbols, names = self.low.symbols, {step.name for step in self.leaves}
        given = {self.low.step(one.name).name for one in self.graph.inputs if one.shape is not None}
        ones = [axis for axis, size in symbols.sizes.items() if size == 1 and axis[0] in given]
        pinned = dict.fromkeys((*symbols.pinned(), *ones))
        found = [(axis, f"== {symbols.sizes[axis]}") for axis in pinned if axis[0] in names]
        found += [(axis, f"% {by} == 0") for axis, by in symbols.divisors() if axis[0] in names]
        ranks = [f"{one.name}.dim() == {one.form.rank}" for one in self.leaves if one.name in given]
        written = ranks if self._counts_along(given) else []
        written += [f"{self._size_of(axis)} {wanted}" for axis, wanted in found] + self._ties(pinned)
        written += self._bounds(pinned)
        return [f'    assert {one}, "written for {one}"' for one in written]

    def _counts_along(self, given: Collection[str]) -> bool:
        """Whether the kernel goes by single dimensions of its inputs, not only by rows or elements of them all."""
        steps = [*(one for one in self.leaves if one.name in given), *(output.step for output in self.outputs)]
        forms = {tuple(map(self.low.symbols.canonical, one.form.dims)) for one in steps}
        return bool(self.placer.sizes) or len(forms) > 1

    def _ties(self, pinned: Collection[Axis]) -> list[str]:
        """What must be as large as what: a kernel reads all of its tensors by the sizes of some."""
        known: dict[Dim, Axis] = {}
        found: list[str] = []
        for step in self.leaves:
            axes = [(step.name, i) for i, size in enumerate(step.form.shape) if size != 1]
            pairs = [(axis, known.setdefault(self.low.symbols.canonical((axis,)), axis)) for axis in axes]
            found += [
                f"{self._size_of(axis)} == {self._size_of(other)}"
                for axis, other in pairs
                if axis != other and not {axis, other} <= {*pinned}
            ]
        names = {step.name for step in self.leaves}
        for group in self.low.symbols.meant:
            roots = {self.low.symbols.canonical((axis,)): axis for axis in reversed(group) if axis[0] in names}
            *others, first = roots.values() or [("", 0)]
            found += [
                f"{self._size_of(axis)} == {self._size_of(first)}"
                for axis in reversed(others)
                if not {axis, first} <= {*pinned}
            ]
        return list(dict.fromkeys(found))

    def _bounds(self, pinned: Collection[Axis]) -> list[str]:
        """What must lie within a tensor that it is read from."""
        found: list[str] = []
        for size, dim in self.low.symbols.bounds:
            axes = {axis for _, one in (*size, (1, dim)) for axis in self.low.symbols.canonical(one)}
            if not axes <= {*pinned}:
                terms = [str(count) if not one else self.product(one) for count, one in size]
                found.append(f"{' + '.join(terms)} <= {self.product(dim)}")
        return list(dict.fromkeys(found))

    def refuse_unknown_sizes(self) -> None:
        """Everything that the launcher computes must be computed from tensors that it has."""
        self.preparation()
        self.allocations()
        for dim in self.placer.sizes.values():
            self.product(dim)

    def allocations(self) -> list[str]:
        return [f"    {output.name} = {self._empty(output.step)}" for output in self.outputs]

    def launch(
        self, grid: str, sizes: Sequence[str], constants: Sequence[str], factors: Sequence[str] = ()
    ) -> list[str]:
        results = [output.name for output in self.outputs]
        inputs = [*factors, *(step.name for step in self.loaded)]
        lines = self.call(f"{self.name}_kernel[{grid}]", inputs, results, sizes, constants)
        return [*lines, f"    return {', '.join(results)}"]

    def call(
        self,
        kernel: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        sizes: Sequence[str],
        constants: Sequence[str],
        body: Sequence[str] | None = None,
    ) -> list[str]:
        """A launch of a kernel that takes the sizes and numbers of this one, or those that its `body` uses."""
        used = names_in(body or ())
        extra = [
            f"{name}={self.product(dim)}" for name, dim in self.placer.sizes.items() if body is None or name in used
        ]
        named = (number.name for number in self.scalars)
        numbers = [f"{name}={name}" for name in named if body is None or name in used]
        groups = (("inputs", inputs), ("outputs", outputs), ("sizes", [*sizes, *extra]), ("scalars", numbers))
        lines = [f"    {kernel}("]
        for title, given in (*groups, ("constants", constants)):
            if given:
                wrapped = textwrap.wrap(f"{', '.join(given)},", _LONGEST_LINE - 8, break_long_words=False)
                lines += [f"        # {title}", *(f"        {part}" for part in wrapped)]
        return [*lines, "    )"]

    def product(self, dim: Dim) -> str:
        """A product of sizes, read off the tensors at hand."""
        sizes = [self._size_of(axis) for axis in dim]
        return " * ".join(grouped(size) for size in sizes) if len(sizes) > 1 else "".join(sizes) or "1"

    def _size_of(self, axis: Axis) -> str:
        symbols = self.low.symbols
        ranks = {step.name: step.form.rank for step in self.leaves}
        meant = [one for group in symbols.meant if axis in group for one in group]
        for leaf, place in (*symbols.equal_axes(axis), *meant):
            if leaf in ranks:
                return f"{leaf}.shape[{-1 if place == ranks[leaf] - 1 else place}]"
        rule = symbols.rules.get(axis)
        if rule is None and is_varying(symbols.sizes[axis]):
            raise Unmatched("goes by a size that none of its tensors has")
        if rule is None or rule.template is None:
            return str(symbols.sizes[axis])
        return rule.template.format(*(grouped(self.product(one)) for one in (rule.source, *rule.others)))

    def text(
        self, title: str, strategy: str, tuning: Tuning, kernel: KernelParts, has_room: bool = False
    ) -> RegionText:
        return RegionText(
            title=title,
            formulas=tuple(self.formulas()),
            shapes=self.shapes(),
            strategy=strategy,
            tuning=tuning,
            kernel=kernel,
            arguments=tuple(map(self.source, self.leaves)),
            numbers=tuple(str(number.host) for number in self.scalars),
            results=tuple(output.name for output in self.outputs),
            has_room=has_room,
        )

    def formulas(self) -> list[str]:
        names = list_outputs(self.graph)
        pairs = zip(names, self.outputs, strict=True)
        return [f"    {output.name} = {write_formula(self.low, name)}" for name, output in pairs]

    def shapes(self) -> str:
        """`x (4096, 8000) float32`, for the docstring."""
        tensors = [(step.name, step) for step in self.leaves]
        tensors += [(output.name, output.step) for output in self.outputs]
        return "; ".join(f"{name} {step.form.shape} {step.dtype}" for name, step in tensors)

    def _empty(self, step: KernelStep) -> str:
        canonical = self.low.symbols.canonical
        dims = [canonical(dim) for dim in step.form.dims]
        for leaf in self.leaves:
            if [canonical(dim) for dim in leaf.form.dims] == dims and step.form.shape == leaf.form.shape:
                same = leaf.dtype == step.dtype
                return f"torch.empty_like({leaf.name}{'' if same else f', dtype={self._dtype(step)}'})"
        sizes = "".join(f"{self.product(dim)}, " for dim in dims)
        near = self.leaves[0]
        shape = sizes.rstrip() if len(dims) == 1 else sizes[:-2]
        return f"torch.empty(({shape}), dtype={self._dtype(step)}, device={near.name}.device)"

    def _dtype(self, step: KernelStep) -> str:
        """That of an input where one has it, so that the kernel serves inputs of other dtypes too."""
        alike = [f"{leaf.name}.dtype" for leaf in self.leaves if leaf.dtype == step.dtype]
        return alike[0] if alike else f"torch.{step.dtype}"

    def source(self, leaf: KernelStep) -> str:
        """The value of the graph that a leaf is."""
        return next(name for name, step in self.low.values.items() if step is leaf)


def names_in(lines: Iterable[str]) -> set[str]:
    return {name for line in lines for name in re.findall(r"\w+", line)}


def fuse(
    low: Lowering,
    placer: Placer,
    region: Region,
    operands: tuple[KernelStep, ...] = (),
    ending: str = "",
    inner: Placer | None = None,
) -> FusedKernel:
    """Places every output; what cannot be placed is not this recipe's."""
    names = list_outputs(low.graph)
    if not names:
        raise Unmatched("returns its inputs as they are")
    for name in names:
        _refuse_view(low.graph, name)
    wanted = ["y"] if len(names) == 1 else [f"y{position}" for position in range(len(names))]
    steps = [low.step(name) for name in names]
    called = [f"{low.free_name(name)}_ptr" for name in wanted]
    placed = [placer.output(step) for step in steps]
    named = zip(placed, called, steps, strict=True)
    stored = [StoredOutput(one.value, pointer, step, one.address) for one, pointer, step in named]
    fused = FusedKernel(low, placer, tuple(stored), region.taken, ending, operands, inner)
    if not fused.leaves:
        raise Unmatched("computes nothing from its inputs")
    fused.refuse_unknown_sizes()
    return fused


def _refuse_view(graph: Graph, name: str) -> None:
    """A view of a result costs PyTorch nothing; a kernel would have to write it."""
    nodes = {node.name: node for node in graph.nodes}
    while name in nodes:
        node = nodes[name]
        name, kind = str(reference(node.args[0]) if node.args else None), operator_name(node)
        if kind in MOVED_VIEWS or (node.op == GETITEM and name in nodes and operator_name(nodes[name]) in PARTED):
            raise Unmatched(f"returns a view ({called(node)}), which costs nothing")
        if kind not in ("view", "unsqueeze", "squeeze", "unflatten", "detach", "alias", "dropout"):
            return


def write_host_name(graph: Graph, name: str) -> str:
    """An input or a parameter as `forward` finds it: `x`, `pair[0]`, `self.norm.weight`."""
    for given in graph.inputs:
        if given.name == name:
            return given.expression
    attribute = next(owned.attribute for owned in graph.parameters if owned.name == name)
    return write_attribute_access(attribute)


def _is_contiguous(owned: Parameter) -> bool:
    step = 1
    for size, stride in zip(reversed(owned.shape), reversed(owned.stride), strict=True):
        if size != 1 and stride != step:
            return False
        step *= size
    return True


def _numbers(value: PlacedValue) -> Iterator[NamedNumber]:
    for one in (*value.operands, *value.step.options.values()):
        if isinstance(one, NamedNumber):
            yield one


def write_attribute_access(dotted: str) -> str:
    """`self.norm.weight`; what a list of modules holds is an attribute as well (`layers[2]` may be another one)."""
    found = "self"
    for part in dotted.split("."):
        if part.isidentifier() and not keyword.iskeyword(part):
            found = f"{found}.{part}"
        else:
            found = f"getattr({found}, {part!r})"
    return found
