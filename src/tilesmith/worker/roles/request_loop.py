"""The loop every child runs: one request in, one reply out, until the parent hangs up."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from typing import Any, get_type_hints

import torch

from tilesmith.errors import MachineError, TaskError
from tilesmith.process.channel import Channel, ChannelClosed
from tilesmith.process.protocol.codec import Request, RequestFailure, decode, encode
from tilesmith.worker.tensors.tensor_file import BadTensorFile, NoRoom

Explain = Callable[[BaseException], RequestFailure]


def answer_requests(channel: Channel, role: object, explain: Explain) -> None:
    """Answer each request by the public method of `role` that is annotated with it."""
    handlers = dict(_handlers(role))
    while True:
        try:
            message = channel.next_request()
        except ChannelClosed:
            return
        kind, handler = handlers[message["request"]]
        try:
            reply = {"reply": encode(handler(decode(kind, message["fields"])))}
        except BaseException as error:
            reply = {"failure": encode(explain(error))}
        channel.answer(reply)
        del message, reply  # GPU memory that came or goes with them is held for as long as they are


def _handlers(role: object) -> Iterator[tuple[str, tuple[type[Request[Any]], Callable[[Any], Any]]]]:
    for name in vars(type(role)):
        method = getattr(role, name)
        if not name.startswith("_") and callable(method):
            kind = get_type_hints(method)["request"]
            yield kind.__name__, (kind, method)


def explain_own_failure(error: BaseException) -> RequestFailure:
    """For children that run only the user's task and our own code: nothing here is a candidate's fault."""
    if isinstance(error, TaskError):
        return RequestFailure("task", str(error))
    if isinstance(error, BadTensorFile):
        return RequestFailure("unreadable", str(error))
    if isinstance(error, MachineError | NoRoom):
        return RequestFailure("machine", str(error))
    if isinstance(error, torch.OutOfMemoryError):
        first = str(error).splitlines()[0][:120]
        return RequestFailure("memory", f"the GPU ran out of memory in the reference: {first}")
    return RequestFailure("internal", "".join(traceback.format_exception(error)[-12:]))
