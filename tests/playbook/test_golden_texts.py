"""Every golden file belongs to a text that is still written."""

from __future__ import annotations

from golden_texts import GOLDENS, RECURRENT
from playbook_tasks import ELEMENTWISE, ROWS


def test_no_golden_is_left_over() -> None:
    tables = {"elementwise": ELEMENTWISE, "rows": ROWS, "recurrent": RECURRENT}
    expected = {f"{recipe}/{name}.txt" for recipe, names in tables.items() for name in names}
    expected.add("modules/outcomes.txt")
    assert {str(path.relative_to(GOLDENS)) for path in GOLDENS.rglob("*.txt")} == expected
