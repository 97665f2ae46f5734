"""What a recipe is: expert knowledge about one family of operators, as code that writes kernels.

A recipe looks at a region of a task's graph and either declines in one line or returns a match, which writes the
region's kernel for any of its tunings. `plan/` cuts a graph into regions and makes one file of them: that is a
match for the whole task, which explains itself the way a model would (an `Analysis`). To add a family: one file in
`recipes/` with an object of the protocol `RegionRecipe`, one line in `recipes/__init__.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from tilesmith.records import Analysis, Survey
from tilesmith.tasks.graph import Graph, Node


@dataclass(frozen=True)
class Tuning:
    """The named constants at the top of a written file: block sizes, warps, rows per program."""

    values: tuple[tuple[str, int], ...]

    def __getitem__(self, name: str) -> int:
        return dict(self.values)[name]

    def __contains__(self, name: str) -> bool:
        return name in dict(self.values)

    def changed(self, name: str, value: int) -> Tuning:
        return Tuning(tuple((key, value if key == name else old) for key, old in self.values))

    def prefixed(self, prefix: str) -> Tuning:
        """The same under longer names."""
        return Tuning(tuple((f"{prefix}{name}", value) for name, value in self.values))

    def within(self, prefix: str, names: Collection[str]) -> Tuning:
        """Those of the constants that are `names` under this prefix, without it."""
        wanted = {f"{prefix}{name}": name for name in names}
        return Tuning(tuple((wanted[name], value) for name, value in self.values if name in wanted))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.values)

    def __str__(self) -> str:
        return ", ".join(f"{name} = {value}" for name, value in self.values)


def join_tunings(tunings: Iterable[Tuning]) -> Tuning:
    """The constants of all of them, in one file."""
    return Tuning(tuple(value for one in tunings for value in one.values))


@dataclass(frozen=True)
class TunedPart:
    """A kernel of a file, and the constants that it may be written with. Parts are tuned one after the other."""

    kernel: str
    """What the names of its kernels begin with."""
    key: str
    """All that the best choice depends on beside the machine: operators, shapes, types, what the recipe writes."""
    prefix: str
    """What stands before the names of its constants in the file."""
    choices: tuple[Tuning, ...]
    """Under their names in the file, best guess first."""
    neighbors: Callable[[Tuning], tuple[Tuning, ...]]
    """What the stages would try from a choice: grid, block, then memory."""
    may_be_left: bool = True
    """Whether the file can be written without it, PyTorch in its place: its constants are left out then."""
    is_kernel: bool = True
    """Else it is a way to launch the others."""


def part_key(*depends_on: object) -> str:
    """One line for all of it."""
    return hashlib.sha256(repr(depends_on).encode()).hexdigest()[:24]


@dataclass(frozen=True)
class Declined:
    """Why a recipe does not apply, in one line."""

    reason: str
    is_its_kind: bool = False
    """Whether the task is of the recipe's kind and declined all the same: then the others need not be asked."""


@dataclass(frozen=True)
class Region:
    """A part of a forward pass that may become one kernel, as a graph of its own."""

    graph: Graph
    """Its inputs are the values that the part takes, its outputs those that others need."""
    survey: Survey
    taken: frozenset[str] = frozenset()
    """Names at module level, and in `forward`, that a kernel must not take."""
    convolved: frozenset[str] = frozenset()
    """Inputs that another convolution's kernel makes: such images need not be copied."""
    is_address: bool = False
    """Whether it is a concatenation that may be nothing but an address: of images that convolutions make and
    take."""


@dataclass(frozen=True)
class KernelParts:
    """A kernel and the function that launches it, as lines of source."""

    name: str
    pointers: tuple[str, ...]
    sizes: tuple[str, ...]
    scalars: tuple[str, ...]
    meta: tuple[str, ...]
    body: tuple[str, ...]
    helpers: tuple[str, ...]
    launcher: tuple[str, ...]


@dataclass(frozen=True)
class SharedHalves:
    """A value as two halves for every number, which several kernels may take."""

    value: str
    """As the region's graph calls it."""
    chunks: int
    """Into which its rows are cut."""
    call: str
    """What makes them: `split_rows({})`."""


@dataclass(frozen=True)
class Layout:
    """Which images of a region lie channels-last as scaled halves: a tuple that one convolution gives another."""

    takes: frozenset[str] = frozenset()
    """As the region's graph calls them."""
    gives: bool = False
    """Whether its one result is such a tuple."""
    joined: frozenset[tuple[str, int]] = frozenset()
    """Those it takes that stand side by side, with scales of their own, and of how many channels each has one."""


PLAIN = Layout()


@dataclass(frozen=True)
class RegionText:
    """What one region of a forward pass adds to a file."""

    title: str
    """`Softmax over rows in one kernel.`"""
    formulas: tuple[str, ...]
    shapes: str
    strategy: str
    tuning: Tuning
    """The constants at the top of the file, under the names that they have there."""
    kernel: KernelParts
    arguments: tuple[str, ...]
    """The values of the graph that the launcher takes, in its order."""
    numbers: tuple[str, ...]
    """Numbers that it takes after them, as `forward` finds them: `self.eps`."""
    results: tuple[str, ...]
    """What the launcher calls its results, in the order of the region's outputs."""
    halves: SharedHalves | None = None
    """What the launcher takes after everything else."""
    has_room: bool = False
    """Whether the launcher can be told where its result goes: into a buffer for several."""
    sharing: RegionText | None = None
    """The same with a launcher that takes halves and need not make them."""


class RegionMatch(Protocol):
    """A recipe that applies to a region."""

    @property
    def name(self) -> str:
        """That of the function that launches the kernel."""

    @property
    def kernel_type(self) -> str: ...

    @property
    def is_worth_it(self) -> bool:
        """Whether it gains something where PyTorch computes the rest; a single operator is PyTorch's equal."""

    @property
    def advice(self) -> tuple[str, str]:
        """What to do, and what else to try if that fails."""

    @property
    def tunings(self) -> tuple[Tuning, ...]:
        """Worth trying, best guess first."""

    def variations(self, tuning: Tuning, stage: str) -> tuple[Tuning, ...]:
        """Neighbors of a tuning that a stage (grid, block, memory) may try, most promising first."""

    def write(self, tuning: Tuning, prefix: str = "") -> RegionText:
        """The kernel and its launcher. `prefix` stands before the names of constants at the top of the file."""


@runtime_checkable
class ChainedMatch(RegionMatch, Protocol):
    """A match whose images may be such tuples."""

    @property
    def widest(self) -> Layout:
        """All that it could take and give so."""

    @property
    def needs(self) -> frozenset[str]:
        """What it must take so to give so."""

    @property
    def copies(self) -> frozenset[str]:
        """What of that it can make itself where it is not given it."""

    @property
    def layout(self) -> Layout:
        """What it does take and give so."""

    def gains(self, layout: Layout) -> bool:
        """Whether it is worth it with this layout."""

    def shared(self, given: Mapping[str, int]) -> int:
        """How many channels in a row of its result have the same scale at least; 0 where all have. `given` says
        that of what it takes."""

    def laid_out(self, layout: Layout, taken: Collection[str] = ()) -> RegionMatch:
        """The same with another layout; its kernel is not called what is `taken`."""


class RegionRecipe(Protocol):
    @property
    def name(self) -> str:
        """Short and unique: `elementwise`."""

    def knows(self, node: Node) -> bool:
        """Whether a region of this recipe may have such an operator."""

    def match(self, region: Region) -> RegionMatch | Declined: ...


class TunableFile(Protocol):
    """A file that can be written with other constants: all that a search for them needs."""

    @property
    def tunings(self) -> tuple[Tuning, ...]:
        """Worth trying, best guess first."""

    @property
    def parts(self) -> tuple[TunedPart, ...]:
        """Its kernels, in the order in which their constants stand in a tuning."""

    def write(self, tuning: Tuning) -> str:
        """The complete source of ModelNew. The same tuning always gives the same text."""


class Match(TunableFile, Protocol):
    """A way to write a whole task."""

    def variations(self, tuning: Tuning, stage: str) -> tuple[Tuning, ...]:
        """Neighbors of a tuning that a stage (grid, block, memory) may try, most promising first."""

    def strategy(self, tuning: Tuning) -> str:
        """What the written kernel does, in a sentence."""

    def analysis(self) -> Analysis:
        """What limits the task and what this recipe does about it."""


class Recipe(Protocol):
    """For whole tasks, where a module is replaced and the rest of the forward pass stays as it is."""

    @property
    def name(self) -> str: ...

    def match(self, survey: Survey, graph: Graph) -> Match | Declined: ...
