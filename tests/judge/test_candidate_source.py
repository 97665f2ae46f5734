"""Every fixture is read: who is refused for names or for a certain fault is, and nobody else.

A cheat that must be caught at work and an honest kernel both have to come through this gate: were they refused for
their looks, the gates behind it would go untested.
"""

from __future__ import annotations

import pytest
from cheat_manifest import CHEATS, HONEST, Cheat, Honest
from manifest import FIXTURES, Fixture

from tilesmith.judge.candidate_source import read_candidate, refuse_certain_faults
from tilesmith.judge.gate_failed import GateFailed
from tilesmith.tasks.source import read_task

FORBIDDEN_NAMES = {
    "changes_a_table_of_the_judge",
    "changes_the_poison",
    "erases_evidence",
    "forks_below_python",
    "frames_by_tree_map",
    "inspects_closures",
    "pops_function_modes",
    "reaches_judge_through_modes",
    "reads_frames",
    "reads_frames_by_traceback",
    "silences_reports",
    "torch_past_the_modes",
    "trace_function",
    "walks_closures",
    "walks_subclasses",
}
CERTAIN_TO_FAIL = {
    "layernorm_plain_global",
    "linear_gelu_constructor_signature",
    "matmul_dot_small_k",
    "relu_arange_not_power_of_two",
    "relu_if_on_block",
    "relu_no_model_new",
    "relu_syntax_error",
    "rnn_tensor_indexing",
    "row_sum_break",
    "silu_add_forward_signature",
    "silu_add_undefined_name",
    "softmax_runtime_arange",
    "tanh_scan_torch_in_kernel",
    "tanh_scan_unknown_function",
}


def refusal(one: Cheat | Honest | Fixture) -> GateFailed | None:
    try:
        refuse_certain_faults(read_candidate(one.kernel_path, read_task(one.task_path)))
    except GateFailed as failed:
        return failed
    return None


@pytest.mark.parametrize("cheat", CHEATS, ids=lambda cheat: f"{cheat.family}-{cheat.name}")
def test_a_cheat_is_refused_for_forbidden_names_only(cheat: Cheat) -> None:
    failed = refusal(cheat)
    assert (failed is not None) == (cheat.name in FORBIDDEN_NAMES), failed
    if failed is not None:
        assert failed.verdict == "cheating"
        assert "reaches into the code that judges it" in failed.reason


@pytest.mark.parametrize("honest", HONEST, ids=lambda honest: honest.name)
def test_an_honest_kernel_is_read_without_complaint(honest: Honest) -> None:
    assert refusal(honest) is None


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.kernel)
def test_a_fixture_kernel_is_refused_only_where_it_certainly_fails(fixture: Fixture) -> None:
    failed = refusal(fixture)
    assert (failed is not None) == (fixture.kernel in CERTAIN_TO_FAIL), failed
    if failed is not None:
        assert failed.verdict == fixture.verdict
        assert fixture.reason.lower() in failed.reason.lower()
