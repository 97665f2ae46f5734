"""Operators, bytes and FLOPs at the full shape, without allocating it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilesmith.worker.task.loading import load_task
from tilesmith.worker.task.profile import describe

SAMPLES = Path(__file__).parent / "samples"


def profile(name, *replacements):
    text = (SAMPLES / f"{name}.py").read_text()
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    return describe(load_task(SAMPLES / f"{name}.py", text))


def test_matmul():
    found = profile("matmul")
    M, K, N = 2048, 8192, 4096
    assert found.ops == {"aten.mm": 1}
    assert found.flops == found.tensor_flops == 2 * M * K * N
    assert found.bytes_moved == 4 * (M * K + K * N + M * N)
    assert found.dtype == "float32"


def test_half_precision_is_noticed():
    halved = profile("matmul", ("torch.rand(M, K)", "torch.rand(M, K).half()"), ("rand(K, N)", "rand(K, N).half()"))
    assert halved.dtype == "float16"
    assert halved.bytes_moved == profile("matmul").bytes_moved // 2


def test_a_task_of_12_gigabytes_costs_no_memory():
    found = profile("softmax")
    assert found.input_bytes == found.output_bytes == 4 * 4096 * 393216
    assert found.tensor_flops == 0


def test_vgg16_is_the_well_known_31_gigaflops_per_image():
    found = profile("vgg16")
    assert found.flops == pytest.approx(10 * 30.96e9, rel=0.01)
    assert found.parameter_bytes == pytest.approx(138.36e6 * 4, rel=0.001)


@pytest.mark.parametrize(
    ("name", "gates", "directions"),
    [("gru", 3, 1), ("bidirectional_gru", 3, 2), ("lstm_cell_state", 4, 1)],
)
def test_recurrent_layers_cost_what_their_weights_say(name, gates, directions):
    found = profile(name)
    first = gates * 256 * (128 + 256)
    later = gates * 256 * (256 * directions + 256)
    expected = 2 * 512 * 10 * directions * (first + 5 * later)
    assert found.tensor_flops == pytest.approx(expected, rel=0.001)
    assert found.ops[f"aten.{'lstm' if gates == 4 else 'gru'}"] == 1


def test_recurrent_shapes_are_those_of_the_real_thing():
    small = (("seq_len = 512", "seq_len = 3"), ("hidden_size = 256", "hidden_size = 5"))
    found = profile("bidirectional_gru", *small)
    assert found.output_bytes == 4 * 12 * 10 * 5


def test_attention_is_counted():
    found = profile("sdpa_literals")
    assert found.tensor_flops == 4 * 32 * 32 * 512 * 512 * 1024


def test_a_table_counts_only_what_is_read_from_it():
    found = profile("embedding_bag", ("vocab_size = 50257", "vocab_size = 50_000_000"))
    assert found.parameter_bytes < 4 * (64 * 512 * 768 + 10_000)


def test_a_branch_on_a_value_falls_back_to_real_tensors():
    found = profile("data_dependent")
    assert found.ops["aten.relu"] == 1
    assert found.bytes_moved == 2 * 4 * 8192 * 4096


def test_what_cannot_be_found_is_null_with_a_reason():
    found = profile("data_dependent", ("8192", "8192 * 1024"))
    assert found.flops is None
    assert found.bytes_moved is None
    assert found.input_bytes == 4 * 8192 * 1024 * 4096
    assert "fake tensors could not follow" in found.reason
