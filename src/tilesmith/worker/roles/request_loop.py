"""The loop every child runs: one JSON request in, one JSON reply out, until the parent hangs up."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from typing import Any

import torch

from tilesmith.errors import MachineError, TaskError
from tilesmith.process.channel import Channel, ChannelClosed
from tilesmith.worker.tensors.tensor_file import BadTensorFile, NoRoom

Operation = Callable[..., dict[str, Any]]
Explain = Callable[[BaseException], dict[str, Any]]


def answer_requests(channel: Channel, operations: Mapping[str, Operation], explain: Explain) -> None:
    """Answer {"op": name, ...arguments} with {"ok": result} or with what `explain` makes of the exception."""
    while True:
        try:
            request = channel.next_request()
        except ChannelClosed:
            return
        operation = operations[request.pop("op")]
        try:
            reply: dict[str, Any] = {"ok": operation(**request)}
        except BaseException as error:
            reply = explain(error)
        channel.answer(reply)


def explain_own_failure(error: BaseException) -> dict[str, Any]:
    """For children that run only the user's task and our own code: nothing here is a candidate's fault."""
    if isinstance(error, TaskError):
        return {"task_error": str(error)}
    if isinstance(error, BadTensorFile):
        return {"ok": {"unreadable": str(error)}}
    if isinstance(error, MachineError | NoRoom):
        return {"machine_error": str(error)}
    if isinstance(error, torch.OutOfMemoryError):
        return {"machine_error": f"the GPU ran out of memory in the reference: {str(error).splitlines()[0][:120]}"}
    return {"internal": "".join(traceback.format_exception(error)[-12:])}
