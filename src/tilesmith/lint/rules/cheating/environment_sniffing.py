"""Looking at the process instead of the inputs to decide what to compute."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.rules.findings import first_on_each_line, warning
from tilesmith.lint.structure.host_code.deciding_values import DecidingValues
from tilesmith.lint.vocabulary import words
from tilesmith.records import Finding

ENVIRONMENT_READERS = words(
    """
    sys._getframe sys._current_frames inspect.stack inspect.currentframe inspect.getouterframes inspect.trace
    traceback.extract_stack traceback.format_stack traceback.walk_stack gc.get_objects gc.get_referrers
    """
)
"""Nothing a model needs: found by themselves."""
SURROUNDINGS = words(
    """
    os.environ os.environ.get os.getenv os.environb sys.argv sys.modules os.path.exists os.path.isfile os.path.isdir
    os.listdir os.scandir os.getcwd os.getpid os.getppid os.stat os.access socket.gethostname platform.node
    platform.uname getpass.getuser threading.current_thread multiprocessing.current_process glob.glob
    """
)
"""May be read; found where they decide."""
PATH_QUESTIONS = words("exists is_file is_dir read_text read_bytes")
ENVIRONMENT_WRITES = frozenset({"update", "setdefault", "pop", "clear"})
CALLER = "the caller's frames and objects are searched: compute from the inputs alone"
DECIDES = "{} decides what is computed: let only the inputs, their shapes and the device decide"


@first_on_each_line
def environment_sniffing(source: KernelSource) -> Iterator[Finding]:
    decisions = DecidingValues(source)
    for node, name in _questions(source):
        if source.runs(node) and (name in ENVIRONMENT_READERS or decisions.depend_on(node)):
            message = CALLER if name in ENVIRONMENT_READERS else DECIDES.format(name)
            yield warning("environment-sniffing", node.lineno, message)


def _questions(source: KernelSource) -> Iterator[tuple[ast.expr, str]]:
    """Every place that asks, with what it asks; the outermost name of a chain only."""
    for node, dotted in source.names.dotted.items():
        if dotted not in ENVIRONMENT_READERS and (dotted not in SURROUNDINGS or _writes(node, source)):
            continue
        if isinstance(node, ast.expr) and not isinstance(source.syntax.parents[node], ast.Attribute):
            yield node, dotted
    for call in source.syntax.nodes:
        match call:
            case ast.Call(func=ast.Name(id="open") as name) if source.names.scope_binding(name) is None:
                yield call, "a file"
            case ast.Call(func=ast.Attribute(value=path, attr=question)) if question in PATH_QUESTIONS:
                if _is_path(path, source):
                    yield call, "a file"


def _writes(node: ast.AST, source: KernelSource) -> bool:
    match source.syntax.parents[node]:
        case ast.Subscript(ctx=ast.Store() | ast.Del()):
            return True
        case ast.Attribute(attr=method):
            return method in ENVIRONMENT_WRITES
    return False


def _is_path(expression: ast.expr, source: KernelSource) -> bool:
    """`Path(...)`, or a name that holds one."""
    names = source.syntax.names(expression)
    assigned = [
        node.value
        for node in source.syntax.of_type(ast.Assign)
        if any(isinstance(target, ast.Name) and target.id in names for target in node.targets)
    ]
    parts = source.syntax.inside(expression, *assigned)
    return any((source.dotted(part) or "").startswith("pathlib.") for part in parts)
