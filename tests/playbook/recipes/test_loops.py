"""Loops over steps, which a trace has one by one: a kernel has the loop, for any number of steps."""

from __future__ import annotations

from pathlib import Path

import pytest
from playbook_children import compile_exact, find_problems, interpreting
from playbook_judging import on_targets
from playbook_surveys import match_task, survey_task
from playbook_tasks import owner, task

from tilesmith.lint import lint, read_kernel
from tilesmith.playbook import find_match
from tilesmith.playbook.plan.plan import Plan

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "playbook_tasks"
SEQUENCE = "x = torch.randn(3, 7, 37)\na = torch.rand(3, 7, 37)"
GATED = f"{SEQUENCE}\nb = torch.randn(3, 7, 5)\nc = torch.randn(3, 7, 5)"
HEADS = "q = torch.randn(2, 3, 6, 9)\nk = torch.randn(2, 3, 6, 9)\nv = torch.randn(2, 3, 6, 11)"
LOOPS = {
    "decaying_sum": task(
        """
        state, results = torch.zeros_like(x[:, 0]), []
        for step in range(x.shape[1]):
            state = a[:, step] * state + x[:, step]
            results.append(state)
        return torch.stack(results, dim=1)
        """,
        SEQUENCE,
    ),
    "selective": task(
        """
        decay, driven = torch.exp(-a.unsqueeze(-1) * 0.5), (a * x).unsqueeze(-1) * b.unsqueeze(2)
        state, results = torch.zeros_like(driven[:, 0]), []
        for step in range(x.shape[1]):
            state = decay[:, step] * state + driven[:, step]
            results.append((state * c[:, step].unsqueeze(1)).sum(-1))
        return torch.stack(results, dim=1) + x
        """,
        GATED,
    ),
    "given_state_backward": task(
        """
        results = []
        for step in reversed(range(x.shape[1])):
            state = a[:, step] * state + torch.tanh(x[:, step])
            results.append(state * 2)
        return torch.stack(results[::-1], dim=1)
        """,
        f"{SEQUENCE}\nstate = torch.randn(3, 37)",
    ),
    "last_state_too": task(
        """
        state, results = x.new_zeros(x.shape[0], x.shape[2]), []
        for one, decay in zip(x.unbind(1), a.unbind(1)):
            state = decay * state + (1 - decay) * one
            results.append(torch.relu(state).unsqueeze(1))
        return torch.cat(results, dim=1), state
        """,
        SEQUENCE,
    ),
    "two_states": task(
        """
        total = weight = torch.zeros(3, 37)
        results = []
        for step in range(x.shape[1]):
            total = total * 0.9 + x[:, step] * a[:, step]
            weight = weight * 0.9 + a[:, step]
            results.append(total / (weight + 1e-3))
        return torch.stack(results, dim=1)
        """,
        SEQUENCE,
    ),
    "outer_products": task(
        """
        state, results = q.new_zeros(2, 3, 9, 11), []
        for step in range(q.shape[2]):
            state = 0.9 * state + k[:, :, step].unsqueeze(-1) * v[:, :, step].unsqueeze(-2)
            results.append(torch.einsum("bhd,bhde->bhe", q[:, :, step], state))
        return torch.stack(results, dim=2)
        """,
        HEADS,
    ),
    "delta_rule": task(
        """
        state, results = q.new_zeros(2, 3, 9, 11), []
        for step in range(q.shape[2]):
            key = k[:, :, step].unsqueeze(-1)
            known = (state * key).sum(-2)
            state = state + 0.1 * key * (v[:, :, step] - known).unsqueeze(-2)
            results.append((q[:, :, step].unsqueeze(-2) @ state).squeeze(-2))
        return torch.stack(results, dim=2), state
        """,
        HEADS,
    ),
    "half": task(
        """
        state, results = torch.zeros_like(x[:, 0]), []
        for step in range(x.shape[1]):
            state = 0.5 * state + x[:, step : step + 1].squeeze(1)
            results.append(state)
        return torch.stack(results, dim=1)
        """,
        "x = torch.randn(3, 7, 37).half()",
    ),
}
"""Sizes that no tile divides."""
TWICE = task(
    """
    for _ in range(2):
        state, results = torch.zeros_like(x[:, 0]), []
        for step in range(x.shape[1]):
            state = 0.5 * state + x[:, step]
            results.append(state)
        x = F.linear(torch.stack(results, dim=1), self.weight)
    return x
    """,
    "x = torch.randn(3, 7, 37)",
    owner("self.weight = nn.Parameter(torch.randn(size, size))"),
    "37",
)
DIFFERENT = """
state, results = torch.zeros_like(x[:, 0]), []
for step in range(x.shape[1]):
    state = state + x[:, {}] * {}
    results.append(state)
return torch.stack(results, dim=1)
"""


@pytest.mark.parametrize("name", LOOPS)
def test_values_are_right(name: str) -> None:
    match = match_task(name, LOOPS[name])
    assert isinstance(match, Plan)
    assert [region.recipe for region in match.regions] == ["loops"]
    source = match.write(match.tunings[0])
    assert source.count("for step in") + source.count("for done in") == 1
    assert interpreting(find_problems, LOOPS[name], source, launches=1) == []
    assert lint(read_kernel(source)).findings == ()


def test_other_numbers_of_steps_are_right() -> None:
    match = match_task("selective", LOOPS["selective"])
    longer = LOOPS["selective"].replace("(3, 7,", "(2, 12,")
    assert interpreting(find_problems, longer, match.write(match.tunings[0]), launches=1) == []


def test_loops_that_do_the_same_share_a_kernel() -> None:
    match = match_task("twice", TWICE)
    assert isinstance(match, Plan)
    assert [region.recipe for region in match.regions] == ["loops", "loops"]
    assert len(match.kernels) == 1
    assert interpreting(find_problems, TWICE, match.write(match.tunings[0]), launches=2) == []


@pytest.mark.parametrize("place", ["step", "min(step, 1)"])
def test_steps_that_differ_have_no_loop(place: str) -> None:
    factor = "(step + 1)" if place == "step" else "2"
    text = task(DIFFERENT.format(place, factor), "x = torch.randn(3, 7, 37)")
    found = find_match(survey_task(f"differs_{place}", text))
    assert not isinstance(found, Plan) or "loops" not in [region.recipe for region in found.regions]


@pytest.mark.parametrize(
    ("name", "recipes"),
    [
        ("attention/causal_linear_attention", {"columns", "rows", "loops"}),
        ("attention/state_space_scan", {"loops"}),
        ("networks/mamba_block", {"loops", "products"}),
    ],
)
def test_tasks_of_the_benchmark_are_planned(name: str, recipes: set[str]) -> None:
    found = find_match(survey_task(name, (BENCHMARK / f"{name}.py").read_text()))
    assert isinstance(found, Plan)
    assert recipes <= {region.recipe for region in found.regions}


@pytest.mark.parametrize(("name", "target"), on_targets(["decaying_sum", "selective"], {"selective": "sm_80"}))
def test_states_stay_in_registers(name: str, target: str, tmp_path: Path) -> None:
    text = LOOPS[name].replace("(3, 7, 37)", "(8, 16, 1024)").replace("(3, 7, 5)", "(8, 16, 16)")
    match = match_task(f"{name}_large", text)
    for number, tuning in enumerate(match.tunings):
        folder = tmp_path / str(number)
        folder.mkdir()
        kernels = compile_exact(text, match.write(tuning), target, str(folder))
        assert [kernel.spills for kernel in kernels] == [0]
