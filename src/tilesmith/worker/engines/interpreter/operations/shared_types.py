"""Spares Triton's type layer the work it repeats for every value.

Compiling meets each line of a kernel once; interpreting meets it once per program. Building
the shape of every intermediate anew then takes longer than computing it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import triton.language as tl

from tilesmith.worker.compat.patches import Replacement, replace

_SHAPE = "_tilesmith_shape"
_SIBLINGS = "_tilesmith_siblings"


def share_types() -> None:
    """Let tensors of one type share its shape objects, and types of one shape each other."""
    replace(
        [
            Replacement(tl.tensor, "__init__", _sharing_init(tl.tensor.__init__)),
            Replacement(tl.block_type, "with_element_ty", _sharing_sibling(tl.block_type.with_element_ty)),
        ]
    )


def _sharing_init(original: Callable[..., None]) -> Callable[..., None]:
    def init(self: Any, handle: Any, type: Any) -> None:
        shared = type.__dict__.get(_SHAPE)
        if shared is None:
            original(self, handle, type)
            type.__dict__[_SHAPE] = self.shape, self.numel
            return
        self.handle, self.type, self.dtype = handle, type, type.scalar
        self.shape, self.numel = shared

    return init


def _sharing_sibling(original: Callable[..., Any]) -> Callable[..., Any]:
    def with_element_ty(self: Any, scalar_ty: Any) -> Any:
        siblings = self.__dict__.setdefault(_SIBLINGS, {})
        found = siblings.get(id(scalar_ty))
        if found is None:
            # Held with its key, so that the id stays taken.
            found = siblings[id(scalar_ty)] = original(self, scalar_ty), scalar_ty
        return found[0]

    return with_element_ty
