"""The task as it is before anything is written: what an author is told first."""

from __future__ import annotations

from dataclasses import asdict

from tilesmith.config import CheckConfig
from tilesmith.judge.decisions.task_roofline import gpu_at_hand, roofline_on
from tilesmith.judge.sessions import ReferenceSession
from tilesmith.process.protocol.reference import TraceTask
from tilesmith.records import GpuPeaks, Graph, ModulePart, Survey, from_json
from tilesmith.tasks.gpus import REPRESENTATIVES
from tilesmith.tasks.source import TaskSource, own_texts

_MOST_CHARACTERS = 40_000
"""Of the user's own files, in the order the task imports them."""


def survey_of(task: TaskSource, reference: ReferenceSession, device: str, config: CheckConfig) -> Survey:
    """Operators, bytes, FLOPs and the floor of a task, on the GPU here or on the one compiled for."""
    gpu = gpu_at_hand(reference.environment) if device == "cuda" else REPRESENTATIVES.get(config.target)
    traced = reference.ask(TraceTask())
    environment = reference.facts | {"precision": config.precision}
    if traced.reason:
        environment["untraced"] = traced.reason
    return Survey(
        task=task.name,
        source=task.model_text,
        device=device,
        profile=reference.profile,
        gpu=from_json(GpuPeaks, asdict(gpu)) if gpu is not None else None,
        roofline=roofline_on(reference.profile, gpu),
        graph=from_json(Graph, traced.graph) if traced.graph is not None else None,
        environment=environment,
        parts=tuple(from_json(ModulePart, part) for part in traced.parts),
        model=task.model_name,
        is_function=reference.form.is_function,
        imports=_bounded(own_texts(task)),
    )


def _bounded(texts: dict[str, str]) -> dict[str, str]:
    room, kept = _MOST_CHARACTERS, {}
    for name, text in texts.items():
        kept[name] = text if len(text) <= room else ""
        room -= len(kept[name])
    return kept
