"""Requests to the reference child, which runs the user's task and knows the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilesmith.process.descriptor import Descriptor
from tilesmith.process.protocol.codec import Done, Request
from tilesmith.process.protocol.comparison import CheatResult, Comparison
from tilesmith.process.protocol.tensors import SharedMemory, TensorFile
from tilesmith.records.numbers import Count, Share
from tilesmith.tasks.gpu_estimate import DriverProperties
from tilesmith.tasks.roofline import TaskProfile
from tilesmith.tasks.source import TaskSource

TorchStep = tuple[str, Count]
"""A kind of operator, and how many elements it made."""


@dataclass(frozen=True)
class Environment:
    """What a result depends on: versions, and the GPU where there is one."""

    tilesmith: str
    python: str
    torch: str
    triton: str
    device: str
    cuda: str | None = None
    multiprocessors: int | None = None
    memory_bytes: int | None = None
    l2_bytes: int | None = None
    capability: str | None = None
    driver: DriverProperties | None = None


@dataclass(frozen=True)
class OpenTask(Request[Environment]):
    """Load the task as if it were run in `folder`."""

    task: TaskSource
    device: str
    precision: str
    seed: int
    folder: str


@dataclass(frozen=True)
class ArgumentTypes:
    """Where the types of a task's arguments are defined, beside installed packages."""

    modules: tuple[str, ...] = ()
    """The user's own, by dotted name."""
    in_task: bool = False
    """Some are defined in the task's file itself."""


@dataclass(frozen=True)
class TaskForm:
    """How the model is made and in which mode it is judged."""

    is_function: bool
    """A function makes it: ModelNew is constructed without arguments."""
    training: bool
    fell_back: bool
    """To eval mode, because it is random in training mode."""


@dataclass(frozen=True)
class FindTaskForm(Request[TaskForm]):
    """Settle the mode, at the small shape."""


@dataclass(frozen=True)
class FindArgumentTypes(Request[ArgumentTypes]):
    """What must be imported before the task's arguments can be read."""


@dataclass(frozen=True)
class DescribeTask(Request[TaskProfile]):
    """Operators, bytes and FLOPs at the full shape."""


@dataclass(frozen=True)
class TracedGraph:
    """The operators of the forward pass as JSON of `tasks.graph.Graph`, or why they cannot be listed."""

    graph: Any
    reason: str | None
    parts: Any = ()
    """Modules inside that can be listed, where the whole cannot: JSON of `tasks.graph.ModulePart`."""


@dataclass(frozen=True)
class TraceTask(Request[TracedGraph]):
    """List the operators of the forward pass in order."""


@dataclass(frozen=True)
class Variants:
    """Other shapes of the task by name: how each was made, and the shapes of some to show."""

    plans: dict[str, str]
    shapes: dict[str, str]


@dataclass(frozen=True)
class MakeVariants(Request[Variants]):
    """Add a small shape, `odd` ragged ones, and long ones where there is no GPU."""

    odd: int


@dataclass(frozen=True)
class AlignedShape:
    """How the shape was made that divides as the task's own does; null where there is none."""

    plan: str | None


@dataclass(frozen=True)
class AlignShape(Request[AlignedShape]):
    """Add a shape that divides as the task's own does."""


@dataclass(frozen=True)
class FileWritten:
    """Whether the file that was asked for could be made."""

    usable: bool


@dataclass(frozen=True)
class WriteConstruction(Request[Done]):
    """Write all a candidate needs to be built like the reference."""

    variant: str
    path: str


@dataclass(frozen=True)
class WriteBlueprint(Request[FileWritten]):
    """Write the exact shapes without any data."""

    path: str


@dataclass(frozen=True)
class InputsWritten:
    """Whether the reference can take the inputs of a draw, and whether their numbers stay on the GPU."""

    usable: bool
    shared: bool
    memory: Descriptor | None = None
    """Where they are this time, if their numbers stay on the GPU."""
    digests: tuple[tuple[float, float], ...] = ()
    """Of each tensor of the draw `own`: a projection and the norm."""


@dataclass(frozen=True)
class WriteInputs(Request[InputsWritten]):
    """Write the inputs of one draw, unless the reference itself cannot take them."""

    variant: str
    draw: str
    path: str
    may_share: bool = True
    """Numbers that lie on a GPU may stay there, to be asked for again by `ShareInputs`."""


@dataclass(frozen=True)
class ShareInputs(Request[SharedMemory]):
    """Copy the numbers of written inputs into GPU memory for another process."""

    variant: str
    draw: str


@dataclass(frozen=True)
class CompareOutputs(Request[Comparison]):
    """Measure a candidate's outputs on one draw."""

    variant: str
    draw: str
    outputs: TensorFile


@dataclass(frozen=True)
class CompareTimedOutputs(Request[Comparison]):
    """Measure the outputs of a timed call, whose inputs were varied by `seed`."""

    seed: int
    outputs: TensorFile
    single_draw: bool


@dataclass(frozen=True)
class Agreement:
    agree: bool


@dataclass(frozen=True)
class CompareRuns(Request[Agreement]):
    """Whether two runs of a candidate on the same inputs gave the same, up to rounding."""

    first: TensorFile
    second: TensorFile


@dataclass(frozen=True)
class StepCoverage:
    """Whether torch took every step of the task itself, and which steps those are."""

    torch_does_all: bool
    steps: tuple[str, ...]


@dataclass(frozen=True)
class TorchShare:
    """How much of the outputs torch had made without a kernel."""

    share: Share
    coverage: StepCoverage


@dataclass(frozen=True)
class MeasureTorchShare(Request[TorchShare]):
    """`made`: what torch made without a kernel in a watched call; `steps`: what it computed."""

    variant: str
    draw: str
    made: TensorFile
    steps: tuple[TorchStep, ...]


@dataclass(frozen=True)
class CheckExactSteps(Request[StepCoverage]):
    """Compare what torch does at the exact shape with the steps of the exact task."""

    steps: tuple[TorchStep, ...]


@dataclass(frozen=True)
class MoveParameters(Request[Done]):
    """Perturb the parameters more than usual from now on, or as usual again."""

    strongly: bool


@dataclass(frozen=True)
class CheatKinds:
    """The known cheats of a task by name, and what the survival of each would mean."""

    kinds: dict[str, str]


@dataclass(frozen=True)
class ListCheats(Request[CheatKinds]):
    variant: str


@dataclass(frozen=True)
class CheatResults:
    results: dict[str, CheatResult]


@dataclass(frozen=True)
class TryCheats(Request[CheatResults]):
    """Compare what each cheat would return on a draw, as if a candidate had."""

    variant: str
    draw: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class MinimumTraffic:
    """The bytes that any honest kernel must move."""

    bytes: int


@dataclass(frozen=True)
class MeasureMinimumTraffic(Request[MinimumTraffic]):
    """Find the bytes that any honest kernel must move."""


@dataclass(frozen=True)
class FreeMemory:
    bytes: int


@dataclass(frozen=True)
class MeasureFreeMemory(Request[FreeMemory]):
    """How much of the GPU's memory nobody uses."""


@dataclass(frozen=True)
class BaselineBuilt:
    reason: str | None
    """Why PyTorch cannot build it; null if it could."""


@dataclass(frozen=True)
class BuildBaseline(Request[BaselineBuilt]):
    kind: str
    single_draw: bool
    """Whether timed inputs are made of one draw, where the GPU has no memory for two. Every request says so: a
    reference that was restarted in between would have forgotten."""


@dataclass(frozen=True)
class TimedBaseline:
    """[device ms, call ms] of each call, and digests of what each returned."""

    samples: tuple[tuple[float, float], ...]
    digests: tuple[tuple[tuple[float, float], ...], ...]


@dataclass(frozen=True)
class TimeBaseline(Request[TimedBaseline]):
    kind: str
    seeds: tuple[int, ...]
    single_draw: bool


@dataclass(frozen=True)
class RunManyBaselineCalls(Request[Done]):
    """Many calls in a row, for a clock outside; without a `kind`, all that surrounds them, but not the calls."""

    kind: str | None
    seed: int
    calls: int
    single_draw: bool
