"""Requests to the children that run a candidate's code: the candidate child, and the compiler child without a GPU.

Whatever they answer could be forged by the code they run: numbers have bounds, and the judge believes only what
another process can confirm.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tilesmith.process.descriptor import Descriptor
from tilesmith.process.protocol.codec import Done, Request
from tilesmith.process.protocol.reference import ArgumentTypes, TorchStep
from tilesmith.process.protocol.tensors import SharedMemory, TensorFile
from tilesmith.records import KernelResources
from tilesmith.records.numbers import Amount, Count, Share
from tilesmith.tasks.source import TaskSource


@dataclass(frozen=True)
class WarmUpGpu(Request[Done]):
    """Load what a first use of the GPU loads, before any candidate code is there."""


@dataclass(frozen=True)
class LoadKernel(Request[Done]):
    """Execute a kernel file."""

    path: str
    text: str
    device: str
    target: str
    precision: str
    task: TaskSource | None = None
    """What it answers; its file must not be read by the kernel."""
    types: ArgumentTypes = field(default_factory=ArgumentTypes)
    """Of the task's arguments, to be imported before the kernel."""


@dataclass(frozen=True)
class ModelConstructed:
    """What `ModelNew` holds copies of that do not follow when weights are loaded."""

    stale: tuple[str, ...]


@dataclass(frozen=True)
class ConstructModel(Request[ModelConstructed]):
    """Build ModelNew for one shape of the task, and fill it with the reference's state."""

    variant: str
    construction: str


@dataclass(frozen=True)
class CompileAhead(Request[Done]):
    """Compile what one forward launches without launching it."""

    variant: str
    inputs: TensorFile


@dataclass(frozen=True)
class LaunchFingerprint:
    """A launch in words: what two processes that run the same host code must agree on."""

    kernel: str
    grid: tuple[Count, ...]
    arguments: dict[str, str] | None
    """By name, as far as they are not the contents of memory; null for a kernel compiled before its launch."""


@dataclass(frozen=True)
class FirstCall:
    """What the first of all calls would launch."""

    launches: tuple[LaunchFingerprint, ...]
    complete: bool
    """False where the call failed on the way."""


@dataclass(frozen=True)
class ReplayReport:
    """What came of calls with every launch left out; on a GPU the answers alone are known."""

    answered: dict[str, Descriptor | None]
    """The fills of fresh memory that gave an answer, and where its numbers are if not in its file."""
    stops: bool
    """Some later call launches nothing."""
    changes: str | None
    """How later calls launch something else than the first."""
    first_call: FirstCall | None


@dataclass(frozen=True)
class ReplayWithoutLaunches(Request[ReplayReport]):
    """Forward with every launch left out; `outputs` maps what fresh memory is filled with to a file."""

    variant: str
    inputs: TensorFile
    outputs: dict[str, str]
    calls: int
    """How many more calls are made, to see what they would launch."""
    limit_s: float


MOST_CONFIGS = 24
"""Of an autotuner's configs, so many are tried on a GPU: each costs a compilation and a fraction of a second."""


@dataclass(frozen=True)
class ForwardReport:
    """One forward of the candidate, as its process saw it."""

    launches: tuple[str, ...]
    torch_steps: tuple[TorchStep, ...]
    changed_inputs: tuple[str, ...]
    devices: tuple[str, ...]
    damage: str | None
    unjoined: tuple[str, ...]
    """Work on side streams that nobody waits for."""
    autotuned: Count
    """How many configs its autotuner has to choose from."""
    memory: Descriptor | None = None
    """Where the numbers of the outputs are, if not in their file."""
    torch_memory: Descriptor | None = None
    differentiable: bool = False
    """Gradients can be taken of an output."""
    grids: tuple[str, ...] = ()
    """On a GPU: what was launched on which grid, in words."""


@dataclass(frozen=True)
class RunForward(Request[ForwardReport]):
    """One forward on the inputs in a file, from the given state, into poisoned memory."""

    variant: str
    inputs: TensorFile
    output: str
    pads: str | None = None
    """What lies around the inputs on a GPU."""
    schedule: int = 0
    choice: int = 0
    """Of the autotuner's configs, in the interpreter."""
    limit_s: float | None = None
    """In the interpreter: until a program must have come to its end, and after that the next."""
    longest_s: float | None = None
    """In the interpreter: the whole call."""
    in_place: bool = False
    """Put the inputs where those of the last run lie, without a trace for who keeps addresses."""
    torch_output: str | None = None
    """A file for what torch made without a kernel."""
    training: bool | None = None
    """The mode of the module, where it is not the task's own."""
    gradients: bool = False
    """The inputs require gradients."""


@dataclass(frozen=True)
class KernelInspection:
    """What the kernels of a settled call use, their share of the device's time, and stray streams."""

    resources: tuple[KernelResources, ...]
    triton_time_share: Share | None
    unjoined: tuple[str, ...]


@dataclass(frozen=True)
class InspectKernels(Request[KernelInspection]):
    variant: str
    inputs: TensorFile


@dataclass(frozen=True)
class PrepareTiming(Request[Done]):
    variant: str
    inputs: TensorFile
    second: TensorFile | None


@dataclass(frozen=True)
class TimedCalls:
    """[device ms, call ms] of each seed, digests of what each of its two calls returned, work that came late."""

    samples: tuple[tuple[Amount, Amount], ...]
    digests: tuple[tuple[tuple[float, float], ...], ...]
    late_ms: tuple[Amount, ...]
    launches: Count


@dataclass(frozen=True)
class TimeCalls(Request[TimedCalls]):
    seeds: tuple[int, ...]
    kept: int
    """The call whose outputs are kept."""


@dataclass(frozen=True)
class DeviceWork:
    """One kernel or copy that ran on the GPU."""

    name: str
    ms: Amount


@dataclass(frozen=True)
class ProfiledCalls:
    """What ran on the GPU in each call, in the order of its start; no calls where the profiler failed."""

    calls: tuple[tuple[DeviceWork, ...], ...]


@dataclass(frozen=True)
class ProfileCalls(Request[ProfiledCalls]):
    seeds: tuple[int, ...]


@dataclass(frozen=True)
class WriteTimedOutput(Request[SharedMemory]):
    """Write what the kept call of the last turn returned."""

    output: str


@dataclass(frozen=True)
class RunManyCalls(Request[Done]):
    """Make many calls in a row, for a clock in another process."""

    seed: int
    calls: int


@dataclass(frozen=True)
class FirstCallReport:
    first_call: FirstCall | None


@dataclass(frozen=True)
class RecordFirstCall(Request[FirstCallReport]):
    """What the first of all calls would launch, with fresh memory full of `fill`."""

    construction: str
    inputs: TensorFile
    fill: float


@dataclass(frozen=True)
class LaunchRecord:
    """The launches of one call, and what torch computed beside them where that was looked at."""

    launches: tuple[str, ...]
    programs: Count
    torch_steps: tuple[TorchStep, ...] = ()


@dataclass(frozen=True)
class RecordExactLaunches(Request[LaunchRecord]):
    """One forward at the task's exact shape on fake tensors."""

    blueprint: str


@dataclass(frozen=True)
class RecordLaunches(Request[LaunchRecord]):
    """One forward on real tensors, for host code that looks at values."""

    construction: str
    inputs: TensorFile


@dataclass(frozen=True)
class CompiledKernels:
    resources: tuple[KernelResources, ...]
    refused: tuple[str, ...] = ()
    """Names of kernels that the compiler refused, where that was to be told and not raised."""


@dataclass(frozen=True)
class CompileLaunches(Request[CompiledKernels]):
    """Compile every distinct kernel that was recorded."""

    goes_on: bool = False
    """Past a kernel that the compiler refuses."""
    to_the_last: bool = False
    """However many there are."""
