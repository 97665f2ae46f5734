"""An operator's words as a file may use them that imports torch and nothing else."""

from __future__ import annotations

import re
from dataclasses import replace

from tilesmith.operators.records import Operator


def standalone(operator: Operator) -> Operator:
    """With annotations that need no further import, and a summary that may stand in a docstring."""
    summary = " ".join((operator.summary or operator.name).split()).rstrip(".")
    return replace(
        operator,
        summary=summary.replace("\\", "\\\\").replace('"""', "'''"),
        returns=_qualified(operator.returns),
        parameters=tuple(replace(one, annotation=_qualified(one.annotation)) for one in operator.parameters),
    )


def returns_several(operator: Operator) -> bool:
    return _qualified(operator.returns).startswith("tuple[")


def _qualified(annotation: str) -> str:
    return re.sub(r"(?<![\w.])Tensor\b", "torch.Tensor", re.sub(r"(?<!\w)(typing\.)?Tuple\b", "tuple", annotation))
