"""Running sums of outer products, written as loops or as `cumsum`: kernels that go through chunks of steps."""

from __future__ import annotations

from pathlib import Path

import pytest
from playbook_children import Twins, compile_exact, find_problems, interpreting
from playbook_judging import on_targets
from playbook_surveys import match_task
from playbook_tasks import owner, task

from tilesmith.lint import lint, read_kernel
from tilesmith.playbook.plan.plan import Plan
from tilesmith.playbook.recipes.loops.chunks import ChunkMatch
from tilesmith.playbook.tuning import find_tuning

HEADS = "q = torch.randn(2, 3, 40, 24)\nk = torch.randn(2, 3, 40, 24)\nv = torch.randn(2, 3, 40, 20)"
GATED = f"{HEADS}\ng = torch.randn(2, 3, 40)"
READ = "torch.einsum('bhd,bhde->bhe', q[:, :, step], state)"
OUTER = "k[:, :, step].unsqueeze(-1) * v[:, :, step].unsqueeze(-2)"
SUMS = "sums = torch.cumsum(k.unsqueeze(-1) * v.unsqueeze(-2), dim=2)\n"


def loop(state: str, inputs: str = HEADS, result: str = READ, start: str = "q.new_zeros(2, 3, 24, 20)") -> str:
    return task(
        f"""
        state, results = {start}, []
        for step in range(q.shape[2]):
            state = {state}
            results.append({result})
        return torch.stack(results, dim=2){", state" if start == "given" else ""}
        """,
        inputs,
    )


CHUNKED = {
    "constant_decay": loop(f"0.9 * state + {OUTER}"),
    "decays_of_any_sign": loop(f"(F.relu(g) - 0.3)[:, :, step, None, None] * state + {OUTER}", GATED),
    "given_and_last_state": loop(
        "torch.sigmoid(g[:, :, step]).view(2, 3, 1, 1) * state"
        " + torch.einsum('bhd,bhe->bhde', k[:, :, step], v[:, :, step])",
        f"{GATED}\ngiven = torch.randn(2, 3, 24, 20)",
        "(q[:, :, step].unsqueeze(-2) @ state).squeeze(-2)",
        "given",
    ),
    "gated_values": loop(
        f"m[:, :, step, None, None] * (0.9 * state) + (m * 2)[:, :, step, None, None] * ({OUTER})",
        f"{HEADS}\nm = torch.randint(0, 2, (2, 3, 40))",
    ),
    "half": loop(f"0.9 * state + {OUTER}", HEADS.replace(")", ").half()")),
    "state_space": task(
        """
        dt = F.softplus(dt)
        decay = torch.exp(dt * -torch.exp(self.rates))
        driven = (x * dt.unsqueeze(-1)).unsqueeze(-1) * b[:, :, None, None, :]
        state, results = x.new_zeros(2, 3, 20, 24), []
        for step in range(x.shape[1]):
            state = decay[:, step, :, None, None] * state + driven[:, step]
            results.append(torch.einsum('bhpn,bn->bhp', state, c[:, step]))
        return torch.stack(results, dim=1) + x * self.skip[:, None], state
        """,
        "x = torch.randn(2, 40, 3, 20)\ndt = torch.randn(2, 40, 3)\n"
        "b = torch.randn(2, 40, 24)\nc = torch.randn(2, 40, 24)",
        owner("self.rates = nn.Parameter(torch.zeros(size))", "self.skip = nn.Parameter(torch.ones(size))"),
        "3",
    ),
    "cumsum": task(f"{SUMS}return torch.einsum('bhnd,bhnde->bhne', q, sums) / 2", HEADS),
    "cumsum_by_values": task(
        "sums = torch.einsum('bhnd,bhne->bhnde', k, v).cumsum(dim=-3)\n"
        "return torch.einsum('bhnde,bhne->bhnd', sums, v + 1) + k",
        HEADS,
    ),
    "cumsum_of_positions_first": task(
        "sums = (F.elu(k)[..., :, None] * v[..., None, :]).cumsum(1)\nreturn (q[..., None, :] @ sums).squeeze(-2)",
        HEADS.replace("3, 40", "40, 3"),
    ),
    "triangle": task("return (q @ k.mT).tril() @ v * 0.1", HEADS.replace("2, 3, 40", "1, 1, 2049")),
}
TUNED = {"decays_of_any_sign", "given_and_last_state", "state_space", "triangle"}
"""Of which the steps are cut into segments as well."""


@pytest.mark.parametrize("name", CHUNKED)
def test_values_are_right(name: str) -> None:
    match = match_task(name, CHUNKED[name])
    assert isinstance(match, Plan)
    assert [type(region.match) for region in match.regions] == [ChunkMatch]
    source = match.write(match.tunings[0])
    assert lint(read_kernel(source)).findings == ()
    assert find_tuning(match, source) == match.tunings[0]
    is_ragged = name not in ("decays_of_any_sign", "given_and_last_state", "state_space")  # whose sizes are tied
    assert interpreting(find_problems, CHUNKED[name], source, ragged=is_ragged) == []
    small = match.tunings[0].changed("SEGMENTS", 2)
    if name in TUNED:
        assert interpreting(find_problems, CHUNKED[name], match.write(small), launches=2, ragged=False) == []


def test_other_numbers_of_steps_are_right() -> None:
    match = match_task("state_space", CHUNKED["state_space"])
    longer = CHUNKED["state_space"].replace("(2, 40", "(2, 77")
    assert interpreting(find_problems, longer, match.write(match.tunings[0]), ragged=False) == []


def count_without_steps(text: str, kernel: str) -> int:
    import torch

    sizes = ((2, 3, 0, 24), (2, 3, 0, 24), (2, 3, 0, 20))
    return sum(one.numel() for one in Twins(text, kernel).outputs(*map(torch.zeros, sizes)))


def test_a_sequence_may_be_empty() -> None:
    match = match_task("cumsum", CHUNKED["cumsum"])
    assert interpreting(count_without_steps, CHUNKED["cumsum"], match.write(match.tunings[0])) == 0


LEFT = {
    "decay_of_each_channel": loop(f"torch.sigmoid(k)[:, :, step].unsqueeze(-1) * state + {OUTER}"),
    "doubles": task(f"{SUMS}return torch.einsum('bhnd,bhnde->bhne', q, sums)", HEADS.replace(")", ").double()")),
    "integers": task(
        f"{SUMS}return torch.einsum('bhnd,bhnde->bhne', q, sums)",
        HEADS.replace("randn(", "randint(9, size=(").replace(")", "))"),
    ),
    "shared_values": task(
        "return (q @ k.mT).tril() @ v",
        HEADS.replace("2, 3, 40", "1, 2, 2049").replace("(1, 2, 2049, 20", "(2049, 20"),
    ),
    "state_of_the_step_before": loop("state * 0.5 + (state - k[:, :, step].unsqueeze(-1)).tanh()"),
    "sums_of_use": task(f"{SUMS}return torch.einsum('bhnd,bhnde->bhne', q, sums), sums", HEADS),
    "sums_along_values": task(
        f"{SUMS.replace('dim=2', 'dim=-2')}return torch.einsum('bhnd,bhnde->bhne', q, sums)", HEADS
    ),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_differs_goes_step_by_step(name: str) -> None:
    match = match_task(name, LEFT[name])
    assert isinstance(match, Plan)
    assert ChunkMatch not in [type(region.match) for region in match.regions]


LARGE = {
    "cumsum": CHUNKED["cumsum"].replace("2, 3, 40, 24", "4, 8, 4096, 64").replace("2, 3, 40, 20", "4, 8, 4096, 64"),
    "state_space": CHUNKED["state_space"]
    .replace("2, 3, 20, 24", "2, 3, 64, 48")
    .replace("3, 20)", "3, 64)")
    .replace("40, 24)", "40, 48)"),
    "half": CHUNKED["half"].replace("24", "64").replace("20", "64"),
}


@pytest.mark.parametrize(("name", "target"), on_targets(LARGE, {"cumsum": "sm_90", "state_space": "sm_80"}))
def test_states_stay_on_chip(name: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    match = match_task(f"{name}_large", LARGE[name])
    kernels = compile_exact(LARGE[name], match.write(match.tunings[0]), target, str(tmp_path))
    assert {one.kernel: one.spills for one in kernels if one.spills} == {}
