"""The nouns of a run: what an author is asked, what it answers, what became of it.

    Survey ─► Request ─► Reply ─► Candidate ─► Evaluation ─► Attempt

A run is a list of events, which are the records of `events.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tilesmith.records.evaluation import Evaluation
from tilesmith.records.graph import Graph, ModulePart
from tilesmith.records.numbers import Amount, Count
from tilesmith.records.task_facts import GpuPeaks, Roofline, TaskProfile

COMPLEXITIES = ("low", "medium", "high", "persistent")
STAGES = ("grid", "block", "memory")
MAX_OUTPUT_TOKENS = 16_384
"""Of one reply, unless somebody says otherwise."""


class Phase(StrEnum):
    """What an author is asked for; also how a candidate came to be."""

    SEED = "seed"
    ANALYZE = "analyze"
    OPTIMIZE = "optimize"
    REPAIR = "repair"
    REVISE = "revise"
    """The kernel may be right, but it is not what was planned: back with the lesson."""
    STAGE = "stage"

    @classmethod
    def _missing_(cls, value: object) -> Phase | None:
        """Runs recorded by earlier versions have the British spelling."""
        return next((phase for phase in cls if phase.json_key == value), None)

    @property
    def json_key(self) -> str:
        """Its key in `--json` documents, where it keeps the spelling that scripts know."""
        return {"analyze": "analyse", "optimize": "optimise"}.get(self.value, self.value)


class StopReason(StrEnum):
    """Why a reply ended."""

    END = "end"
    LENGTH = "length"
    """Cut off by the limit on output tokens."""
    DECLINED = "declined"
    """The author has nothing to offer; the text says why."""
    KEEPS_PYTORCH = "keeps pytorch"
    """The author would write no kernel for this task at all; the first line of the text says what to do."""


@dataclass(frozen=True)
class Survey:
    """The task as it was before anything was written, and the GPU it is for."""

    task: str
    source: str
    device: str
    """cuda, or cpu where kernels are judged without a GPU and nothing is timed."""
    profile: TaskProfile
    gpu: GpuPeaks | None
    """The GPU here, or the one compiled for."""
    roofline: Roofline | None
    graph: Graph | None
    """The operators in order with shapes and dtypes; null where the task could not be traced."""
    environment: dict[str, Any] = field(default_factory=dict)
    """Versions, the device, `precision`, and why the task is `untraced`: facts for the record."""
    parts: tuple[ModulePart, ...] = ()
    """Modules inside that could be traced, where the task could not."""
    model: str = ""
    """The class, or the function that makes the model; empty where the task's file says it by itself."""
    is_function: bool = False
    imports: dict[str, str] = field(default_factory=dict)
    """Texts of the user's own files that the task imports, by path; empty for those that are too long to tell."""


@dataclass(frozen=True)
class Analysis:
    """What limits the best kernel so far, and what to do about it."""

    bottleneck: str
    method: str
    plan: str
    expected_speedup: float | None
    complexity: str
    """How hard the plan is to carry out: low, medium, high or persistent."""
    kernel_type: str
    fallback: str
    """What to do if the plan turns out too hard."""


@dataclass(frozen=True)
class Candidate:
    """One source text and where it came from."""

    number: int
    source: str
    parent: int | None
    """Number of the candidate it improves or repairs."""
    call: int
    """Number of the request that produced it."""
    phase: Phase
    stage: str | None = None
    author: str = field(default="", compare=False)
    """The model that wrote it, or playbook; empty in runs of earlier versions."""


@dataclass(frozen=True)
class Attempt:
    """A candidate with its outcome."""

    candidate: Candidate
    evaluation: Evaluation
    score: float | None
    """Speedup over the best baseline; null where nothing was timed or the candidate failed."""
    kept: bool
    """Whether it became the best verified candidate."""
    why: str
    seconds: Amount
    expected_speedup: float | None = None
    """What the analysis behind it predicted."""
    same_as: int | None = None
    """An earlier candidate with the same source, whose evaluation this is."""


@dataclass(frozen=True)
class AuthorRequest:
    """Everything an author may want to know to answer; a prompt is this record in words."""

    number: int
    phase: Phase
    survey: Survey
    seed: int = 1
    seeds: int = 1
    """Seed number `seed` of `seeds`: each should try something else."""
    base: Attempt | None = None
    """The attempt to analyze, improve, tune or repair."""
    history: tuple[Attempt, ...] = ()
    """A repair: the failed tries before it, oldest first. Any other phase: everything tried before but the base."""
    analysis: Analysis | None = None
    use_fallback: bool = False
    """Carry out the analysis' fallback, because its plan failed."""
    stage: str | None = None
    with_care: bool = False
    """Tune only what cannot break the algorithm."""
    lessons: tuple[str, ...] = ()
    """Ids of lessons that must be taught whatever else fits."""
    complaint: str | None = None
    """Why the last reply to this same request was of no use."""
    by_playbook: bool = False
    """The playbook's own kernel is wanted, whoever the author is."""
    plan: str = ""
    """What the playbook would do, for whoever may do better."""
    max_output_tokens: int = MAX_OUTPUT_TOKENS


@dataclass(frozen=True)
class Prompt:
    """A request in words."""

    system: str
    user: str


@dataclass(frozen=True)
class Usage:
    """Tokens and money of one or more calls."""

    input_tokens: Count = 0
    output_tokens: Count = 0
    """Reasoning included."""
    reasoning_tokens: Count = 0
    cached_tokens: Count = 0
    dollars: Amount | None = 0.0
    """Null when the price of the model is unknown."""
    estimated: bool = False
    """Whether any of it was counted from characters, because the provider said nothing."""

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        known = self.dollars is not None and other.dollars is not None
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.cached_tokens + other.cached_tokens,
            (self.dollars or 0.0) + (other.dollars or 0.0) if known else None,
            self.estimated or other.estimated,
        )


@dataclass(frozen=True)
class Reply:
    """What an author answered, word for word."""

    text: str
    author: str
    """The model that spoke, or playbook."""
    stop: StopReason = StopReason.END
    usage: Usage = Usage()
    seconds: Amount = 0.0
    retries: int = 0
    """Times the provider failed before it answered."""
    note: str = ""
    """What the author did before it answered, in a line."""
