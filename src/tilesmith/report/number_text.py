"""Numbers and facts as a page writes them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_TIMES = re.compile(r"(?<=\d)x(?!\w)")
_UNITS = {"_bytes": "bytes", "_khz": "kHz", "_s": "s", "_bits": "bits"}
_FOR_PROGRAMS = ("input_digests",)
"""Facts that nobody can read: `tilesmith replay` compares them."""
_PRECISIONS = {
    "default": "default: TF32 in convolutions and recurrent layers",
    "ieee": "ieee: no TF32",
    "tf32": "tf32: also in matrix products",
}


def power(value: float) -> str:
    """6.9 × 10⁻⁸ in one piece, or 0.012 where that is as short."""
    if 999.5 <= abs(value) < 9_999.5:
        return f"{value:,.0f}"
    if not math.isfinite(value) or value == 0 or 0.001 <= abs(value) < 999.5:
        return f"{value:.3g}"
    number, _, exponent = f"{value:.1e}".partition("e")
    return f"{number}\u00a0×\u00a010{str(int(exponent)).translate(_RAISED)}"


def ratio_text(value: float) -> str:
    """How many times as large an error is as another."""
    return "under 0.01" if value < 0.01 else f"{value:.2g}" if value < 9.95 else power(value)


def short_number(value: float | None) -> str:
    """262 M, 4.8 T."""
    if value is None:
        return ""
    value = float(f"{value:.3g}")  # 999.9 k is 1 M
    for size, unit in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g}"


def with_times_signs(text: str) -> str:
    """A speedup as it is typeset: 2.35×."""
    return _TIMES.sub("×", text)


def told_facts(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Those that are known and that a person can read."""
    for name, value in facts.items():
        if name not in _FOR_PROGRAMS and value not in (None, "", [], {}):
            yield named_fact(name, value)


def precision_text(precision: str) -> str:
    """What PyTorch, and so the kernel, may round."""
    return _PRECISIONS.get(precision, precision)


def named_fact(name: str, value: Any) -> tuple[str, str]:
    """A setting or a fact of the environment: `memory_bytes` 2048 is `memory`, `2 KiB`."""
    if name == "precision":
        return name, precision_text(str(value))
    if name == "k":
        return "error budget", f"{value:g} times PyTorch's own error" if isinstance(value, float) else str(value)
    ending = next((one for one in _UNITS if name.endswith(one)), "")
    if ending == "_bytes" and isinstance(value, int):
        return name.removesuffix(ending).replace("_", " "), _bytes_text(value)
    if ending and isinstance(value, int | float):
        return name.removesuffix(ending).replace("_", " "), f"{value:,} {_UNITS[ending]}"
    return name.replace("_", " "), _fact_text(value)


def _bytes_text(value: int) -> str:
    """139.8 GiB, 60 MiB."""
    for power_of_two, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if value >= 1 << power_of_two:
            return f"{value / (1 << power_of_two):.4g} {unit}"
    return f"{value} bytes"


def _fact_text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return "; ".join(" ".join(named_fact(str(name), one)) for name, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)
