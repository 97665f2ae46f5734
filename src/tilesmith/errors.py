"""Everything tilesmith raises on purpose.

    TilesmithError               one line for the user: what is wrong, where, what to do; exit code 2
    ├── TaskError                the task file, its inputs or its reference is at fault
    ├── UsageError               an option or argument makes no sense
    ├── MachineError             this machine (GPU, memory, sandbox, missing package) is at fault
    │   ├── NotJudgedHere        this kernel cannot be judged on this machine, whatever it is worth
    │   ├── OutOfGpuMemory       the reference did not fit beside what else is on the GPU
    │   └── ReferenceTooSlow     the task's own code took longer than it may, or never ends
    ├── AuthorError              the author of kernels cannot answer: no network, no key, provider down
    ├── RunError                 a run folder or a bundle cannot be read, written or resumed
    └── ProjectError             an operator project is broken: a missing, changed or contradicting file

A wrong kernel is never an exception: it is a `Verdict`.
"""

from __future__ import annotations


class TilesmithError(Exception):
    """Base of all errors shown to the user as one line."""


class TaskError(TilesmithError):
    """The task cannot be used: names the file, the line where known, and the cure."""


class UsageError(TilesmithError):
    """The command line asks for something impossible."""


class MachineError(TilesmithError):
    """The machine or its software failed; the candidate is not to blame."""


class NotJudgedHere(MachineError):
    """The machine cannot judge this one kernel, though it can judge others."""


class OutOfGpuMemory(MachineError):
    """The GPU has too little memory for the task, or had when others used it too."""


class ReferenceTooSlow(MachineError):
    """The task's own code did not answer in its time; asking once more would take as long again."""


class AuthorError(TilesmithError):
    """Nobody answers: says so in the provider's words. The run stops and can be resumed."""


class RunError(TilesmithError):
    """A run folder or a bundle is missing, damaged, in use or of another format."""


class ProjectError(TilesmithError):
    """An operator project cannot be used as it lies there: names the file and the cure."""
