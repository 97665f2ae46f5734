"""Tensors on their way between processes."""

from __future__ import annotations

from dataclasses import dataclass

from tilesmith.process.descriptor import Descriptor
from tilesmith.process.protocol.codec import Done, Request


@dataclass(frozen=True)
class TensorFile:
    """Shapes and numbers in a file; the numbers may lie in GPU memory instead, which travels beside the message."""

    path: str
    memory: Descriptor | None = None

    def sent_once(self) -> TensorFile:
        """For who has no use for it afterwards: the memory would else be held until the reader has answered."""
        if self.memory is not None:
            self.memory.sent_once = True
        return self


@dataclass(frozen=True)
class SharedMemory:
    """Memory of a GPU that another process may map."""

    memory: Descriptor | None


@dataclass(frozen=True)
class ReleaseMemory(Request[Done]):
    """Give memory back to the GPU, for others who need it."""
