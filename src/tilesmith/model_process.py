"""The process of `tilesmith scan` and `tilesmith capture`: it runs the model that a command names, as programs of
the user do, with the user's environment and files, and hands it to the functions of `tilesmith.live`.

    python -m tilesmith.model_process FD PARENT
"""

from __future__ import annotations

import os
import socket
import sys
from contextlib import ExitStack

from tilesmith.errors import UsageError
from tilesmith.live.capturing import CapturedCalls, capture_calls
from tilesmith.live.scanning import scan
from tilesmith.process.channel import Channel
from tilesmith.process.protocol import named_model as protocol
from tilesmith.process.protocol.codec import RequestFailure
from tilesmith.process.sandbox import die_with_parent
from tilesmith.records import to_json
from tilesmith.tasks.source import TaskSource
from tilesmith.worker.roles.request_loop import answer_requests, explain_own_failure
from tilesmith.worker.task.loading import LoadedTask, build_model, import_task, importable, returned_inputs
from tilesmith.worker.task.task_faults import blamed_on_task


def main() -> None:
    listener, parent = map(int, sys.argv[1:])
    die_with_parent()
    if os.getppid() == parent:  # else it died while we were importing torch
        answer_requests(Channel(socket.socket(fileno=listener)), NamedModelRole(), _explain)


def _explain(error: BaseException) -> RequestFailure:
    return RequestFailure("task", str(error)) if isinstance(error, UsageError) else explain_own_failure(error)


class NamedModelRole:
    """One model; each public method answers one request."""

    def __init__(self) -> None:
        self._import_path = ExitStack()
        self._groups: tuple[CapturedCalls, ...] = ()

    def scan(self, request: protocol.ScanModel) -> protocol.ScannedModel:
        loaded = self._load(request.task)
        model, inputs = build_model(loaded), returned_inputs(loaded, seed=0)
        with blamed_on_task(loaded.path, "calling the model", others=loaded.other_paths):
            found = scan(model, inputs.args, inputs.kwargs, gpu=request.gpu, recipes=request.recipes)
        groups = [{**to_json(one), "gain_ms": one.gain_ms} for one in found.groups]
        return protocol.ScannedModel(str(found), {**to_json(found), "groups": groups})

    def capture(self, request: protocol.CaptureModel) -> protocol.CapturedModel:
        loaded = self._load(request.task)
        model, inputs = build_model(loaded), returned_inputs(loaded, seed=0)
        where = request.where[0] if len(request.where) == 1 else request.where or None
        with blamed_on_task(loaded.path, "calling the model", others=loaded.other_paths):
            found = capture_calls(model, inputs.args, inputs.kwargs, where)
        self._groups = found.groups
        groups = [
            protocol.CapturedGroup(one.spec.describe(), tuple(one.modules), one.calls) for one in found.groups
        ]
        return protocol.CapturedModel(tuple(groups), found.refused)

    def write(self, request: protocol.WriteTask) -> protocol.WrittenTask:
        made = self._groups[request.group].task()
        return protocol.WrittenTask(made.file_name, made.text, made.reason)

    def _load(self, task: TaskSource) -> LoadedTask:
        self._import_path.enter_context(importable(task))  # functions may import when they are called
        return import_task(task)


if __name__ == "__main__":
    main()
