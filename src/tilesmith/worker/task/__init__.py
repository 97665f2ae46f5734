"""The child's side of tasks: runs the user's own (trusted) task file. Never a candidate's."""

from tilesmith.worker.task.loading import LoadedTask, build_model, load_task, resized, seed_everything
from tilesmith.worker.task.profile import describe
from tilesmith.worker.task.shrinking import (
    ShrunkChoice,
    choose_aligned,
    choose_shrunk,
    long_shapes,
    odd_shapes,
)
from tilesmith.worker.task.tracing import trace, trace_varying
from tilesmith.worker.task.trial import steps_on_fakes

__all__ = [
    "LoadedTask",
    "ShrunkChoice",
    "build_model",
    "choose_aligned",
    "choose_shrunk",
    "describe",
    "load_task",
    "long_shapes",
    "odd_shapes",
    "resized",
    "seed_everything",
    "steps_on_fakes",
    "trace",
    "trace_varying",
]
