"""What a persistent kernel lives on: weights that stay in registers, compiled at the task's own shape."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from playbook_children import compile_exact
from playbook_judging import some_of
from playbook_surveys import match_recurrent, survey_task
from recurrent_tasks import cell_task

from tilesmith.tasks.gpus import REPRESENTATIVES

EXAMPLES = Path(__file__).parents[4] / "examples"
MULTIPROCESSORS = {target: REPRESENTATIVES[target].multiprocessors for target in ("sm_80", "sm_90", "sm_100")}
MOST_REGISTERS = 255

SIX_LAYERS = {
    "gru": "nn.GRU(input_size, hidden_size, num_layers)",
    "lstm": "nn.LSTM(input_size, hidden_size, num_layers)",
    "rnn": "nn.RNN(input_size, hidden_size, num_layers)",
    "both_directions": "nn.GRU(input_size, hidden_size, num_layers, bidirectional=True)",
}
"""In place of the GRU in the example."""
STATEFUL = {
    "lstm_of_384": cell_task("lstm", 4, False, True, (512, 4, 384, 384)),
    "lstm_of_300": cell_task("lstm", 1, False, True, (512, 9, 300, 300)),
    "rnn_of_1024": cell_task("rnn_tanh", 1, False, True, (512, 16, 512, 1024)),
    "gru_of_1024": cell_task("gru", 1, False, True, (512, 16, 512, 1024)),
}
"""Large layers from a given state."""


def example(name: str) -> str:
    """The task of examples/gru.py with another layer."""
    text = (EXAMPLES / "gru.py").read_text()
    assert text.count(SIX_LAYERS["gru"]) == 1
    text = text.replace(SIX_LAYERS["gru"], SIX_LAYERS[name])
    if name == "both_directions":
        text = text.replace("torch.randn(num_layers, ", "torch.randn(2 * num_layers, ")
    return text.replace("self.gru(x, h0)", "self.gru(x, (h0, torch.tanh(h0)))") if name == "lstm" else text


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))


def assert_in_registers(folder: Path, text: str, target: str) -> None:
    """The first tuning for a GPU keeps everything in registers there."""
    survey = survey_task("task", text)
    assert survey.gpu is not None
    match = match_recurrent(replace(survey, gpu=replace(survey.gpu, multiprocessors=MULTIPROCESSORS[target])))
    kernels = compile_exact(text, match.write(match.tunings[0]), target, str(folder))
    assert any(kernel.kernel == f"{match.layer.cell}_kernel" for kernel in kernels)
    assert {kernel.kernel: kernel.spills for kernel in kernels if kernel.spills} == {}, match.tunings[0]
    assert all(kernel.registers <= MOST_REGISTERS for kernel in kernels)


@pytest.mark.parametrize("name", some_of(SIX_LAYERS, ["gru"]))
@pytest.mark.parametrize("target", some_of(MULTIPROCESSORS, ["sm_90"]))
def test_six_layers_spill_no_registers(name: str, target: str, tmp_path: Path) -> None:
    assert_in_registers(tmp_path, example(name), target)


@pytest.mark.slow_suite
@pytest.mark.parametrize("name", STATEFUL)
def test_large_layers_from_a_state_spill_no_registers(name: str, tmp_path: Path) -> None:
    assert_in_registers(tmp_path, STATEFUL[name], "sm_90")


@pytest.mark.slow_suite
def test_half_precision_is_compiled_at_the_full_shape(tmp_path: Path) -> None:
    text = example("gru").replace(SIX_LAYERS["gru"], f"{SIX_LAYERS['gru']}.half()")
    assert_in_registers(tmp_path, text.replace("_size),", "_size).half(),"), "sm_90")
