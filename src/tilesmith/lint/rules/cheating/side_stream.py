"""Work that leaves the stream, the thread or the process in which it is timed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.rules.findings import first_on_each_line, warning
from tilesmith.lint.vocabulary import words
from tilesmith.records import Finding

STREAMS = words(
    """
    torch.cuda.Stream torch.cuda.streams.Stream torch.Stream torch.cuda.ExternalStream torch.cuda.stream
    torch.cuda.set_stream torch.cuda.StreamContext torch.cuda.streams.ExternalStream
    """
)
WORKERS = words(
    """
    threading.Thread threading.Timer _thread.start_new_thread concurrent.futures.ThreadPoolExecutor
    concurrent.futures.ProcessPoolExecutor concurrent.futures.thread.ThreadPoolExecutor
    concurrent.futures.process.ProcessPoolExecutor multiprocessing.Process multiprocessing.Pool
    multiprocessing.pool.ThreadPool multiprocessing.pool.Pool multiprocessing.dummy.Pool
    torch.multiprocessing.Process torch.multiprocessing.Pool torch.multiprocessing.spawn torch.jit.fork
    torch.jit._fork os.fork os.system os.popen
    subprocess.Popen subprocess.run subprocess.call subprocess.check_output subprocess.check_call asyncio.run
    asyncio.create_task
    """
)
CURRENT = frozenset({"torch.cuda.current_stream", "torch.cuda.default_stream"})
STREAM = "work on another stream escapes the caller's order and clock: launch on the current stream"
WORKER = "work in another thread or process escapes the caller's order and clock: do it here, before returning"


@first_on_each_line
def side_stream(source: KernelSource) -> Iterator[Finding]:
    for node, dotted in source.names.dotted.items():
        if dotted not in STREAMS and dotted not in WORKERS:
            continue
        call = source.syntax.parents[node]
        if not isinstance(call, ast.Call) or call.func is not node or not source.runs(call):
            continue
        if not any(_is_current(argument, source) for argument in call.args):
            yield warning("side-stream", call.lineno, STREAM if dotted in STREAMS else WORKER)


def _is_current(argument: ast.expr, source: KernelSource) -> bool:
    """`torch.cuda.stream(torch.cuda.current_stream())`, directly or by a name, changes nothing."""
    values: list[ast.AST] = [argument]
    if isinstance(argument, ast.Name):
        flows = [host.flow for host in source.live_hosts if source.syntax.contains(host.node, argument)]
        values = [value for flow in flows for value in flow.values_of(argument.id)]
    return bool(values) and all(
        isinstance(value, ast.Call) and source.dotted(value.func) in CURRENT for value in values
    )
