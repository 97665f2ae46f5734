"""A tuning is read back out of the text that was written for it, and out of no other."""

from __future__ import annotations

import pytest
from playbook_surveys import match_task
from playbook_tasks import ELEMENTWISE, ROWS, owner, task

from tilesmith.playbook.recipe import Tuning, join_tunings
from tilesmith.playbook.tuning import find_tuning


def test_a_kernel_that_was_changed_by_hand_is_nobodys_tuning() -> None:
    match = match_task("softmax", ROWS["softmax"])
    source = match.write(match.tunings[0])
    assert find_tuning(match, source.replace("tl.exp(", "tl.exp2(")) is None
    assert find_tuning(match, "not python (") is None
    assert find_tuning(match, source.rstrip()) == match.tunings[0]


SEVERAL = task(
    "return torch.softmax(self.second(F.gelu(self.first(x))), -1), torch.relu(y) * 2 + 1",
    "x = torch.randn(2048, 1024)\ny = torch.randn(77, 5)",
    owner("self.first = nn.Linear(size, size)", "self.second = nn.Linear(size, size)"),
    "1024",
)
TASKS = {"several": SEVERAL, **ELEMENTWISE, **ROWS}


@pytest.mark.parametrize("name", TASKS)
def test_every_choice_of_every_part_is_written_and_read_back(name: str) -> None:
    match = match_task(name, TASKS[name])
    assert join_tunings(part.choices[0] for part in match.parts) == match.tunings[0]
    keys = [part.key for part in match.parts]
    assert len(set(keys)) == len(keys)
    part, *others = match.parts
    rest = [one.choices[0] for one in others]
    tried = [*part.choices, *(near for choice in part.choices[:1] for near in part.neighbors(choice))]
    compile(match.write(Tuning(())), "pytorch.py", "exec")
    for choice in [*tried, *([Tuning(())] if others else [])]:
        tuning = join_tunings([choice, *rest])
        assert find_tuning(match, match.write(tuning)) == tuning


def test_the_key_of_a_part_tells_shapes_types_and_operators_apart() -> None:
    def key(body: str, shape: str) -> str:
        text = task(body, f"x = torch.randn({shape})")
        (part,) = match_task("one", text).parts
        return part.key

    first = key("return torch.softmax(x, -1) * 2", "30, 500")
    assert key("return torch.softmax(x, -1) * 2", "30, 500") == first
    others = {
        key("return torch.softmax(x, -1) * 3", "30, 500"),
        key("return torch.softmax(x, -1) * 2", "30, 501"),
        key("return torch.softmax(x, -1) * 2", "30, 500, dtype=torch.bfloat16"),
    }
    assert first not in others
    assert len(others) == 3
