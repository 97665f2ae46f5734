"""Every sample task becomes small, still runs, and has ragged versions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tilesmith.errors import TaskError
from tilesmith.tasks.source import parse_task, read_task
from tilesmith.worker.task.loading import build_model, load_task, run_forward, unload
from tilesmith.worker.task.shrinking import BUDGET_ELEMENTS, choose_shrunk, long_shapes, odd_shapes
from tilesmith.worker.task.trial import one_thread, try_task, warm_up
from tilesmith.worker.tensors.exchange import tensors_in

SAMPLES = sorted((Path(__file__).parent / "samples").glob("*.py"))
HARD_CODED = {"vgg16"}
"""Their own text fixes the image size and the weights, so they cannot become small."""
LARGE = HARD_CODED | {"mamba_like"}
"""With a single chunk instead of two, what passes between chunks would be zero and go unchecked."""
FEW_ODD = {"vgg16": 0}
SLOW = {
    "batchnorm",
    "bidirectional_gru",
    "causal_attention",
    "conv2d_groupnorm",
    "conv_transpose3d",
    "hidden_is_heads_times_dim",
    "lenet",
    "mamba_like",
    "resnet_block",
    "vit",
}
"""`make test` has others like them."""


@pytest.fixture(scope="module", autouse=True)
def _warm():
    warm_up()


def sample(name):
    return read_task(Path(__file__).parent / "samples" / f"{name}.py")


def outputs_of(task, text):
    loaded = load_task(task.path, text)
    with one_thread(), torch.no_grad():
        outputs = list(tensors_in(run_forward(loaded, build_model(loaded), loaded.make_inputs(seed=0))))
    unload(loaded)
    return outputs


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=pytest.mark.slow_suite if path.stem in SLOW else ()) for path in SAMPLES],
    ids=lambda path: path.stem,
)
def test_sample_shrinks_runs_and_is_small(path):
    task = read_task(path)
    choice = choose_shrunk(task)
    odd = odd_shapes(task, choice)
    assert choice.is_small == (path.stem not in LARGE)
    assert len(odd) == FEW_ODD.get(path.stem, 2)
    if choice.is_small:
        assert choice.elements <= BUDGET_ELEMENTS
    for variant in [choice, *odd] if choice.is_small else []:
        outputs = outputs_of(task, variant.text)
        assert outputs
        assert all(tensor.numel() for tensor in outputs)
        assert task.text.split("class ")[1].split("\n\n\n")[0] in variant.text  # the network is untouched
    assert len({choice.text, *(variant.text for variant in odd)}) == 1 + len(odd)


def test_different_sizes_stay_different():
    sizes = choose_shrunk(sample("matmul")).constants
    assert len(set(sizes.values())) == 3


def test_equal_sizes_come_apart_in_a_ragged_version_where_they_may():
    task = sample("cumsum")
    first = odd_shapes(task, choose_shrunk(task))[0].constants
    assert first["batch_size"] != first["input_shape[0]"]
    assert all(size % 2 for size in first.values())


def test_ragged_versions_are_tried_on_values_not_only_shapes():
    task = sample("embedding_bag")
    for variant in odd_shapes(task, choose_shrunk(task)):
        assert try_task(replace(task, text=variant.text)).ran_for_real


def test_trying_leaves_the_number_of_threads_alone():
    before = torch.get_num_threads()
    assert try_task(sample("as_is")).ran_for_real
    assert torch.get_num_threads() == before


def test_a_small_task_stays_as_it_is():
    task = sample("as_is")
    assert choose_shrunk(task).plan == "as is"
    assert choose_shrunk(task).text == task.text


def test_relations_hold_in_the_chosen_version():
    new = choose_shrunk(sample("hidden_is_heads_times_dim")).constants
    assert new["hidden"] == 32 * new.get("head_dim", 128)


def test_a_network_that_fixes_its_image_keeps_it_and_loses_batch():
    choice = choose_shrunk(sample("vgg16"))
    assert choice.constants["batch_size"] == 2
    assert "3, 224, 224" in choice.text


def test_a_tight_budget_is_met_by_halving():
    task = sample("conv2d_groupnorm")
    roomy, tight = choose_shrunk(task), choose_shrunk(task, budget_elements=20_000)
    assert tight.is_small
    assert tight.elements <= 20_000 < roomy.elements


def test_a_task_that_does_not_run_at_its_own_size_is_the_tasks_fault():
    task = sample("matmul")
    broken = parse_task(task.path, task.text.replace("torch.rand(K, N)", "torch.rand(N, K)"))
    with pytest.raises(TaskError, match=r"Model\.forward failed"):
        choose_shrunk(broken)


def test_an_index_out_of_range_is_noticed():
    task = sample("embedding_bag")
    wrong = task.text.replace("randint(0, vocab_size", "randint(vocab_size, vocab_size + 9")
    small = wrong.replace("50257", "60").replace("768", "16").replace("512", "16")
    assert "index out of range" in try_task(replace(task, text=small)).reason


def test_a_long_version_goes_the_same_way_through_the_code():
    """With eight columns beside its long rows, this task would be another one."""
    text = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x.sigmoid() if x.shape[1] > 16 else x + 1


def get_inputs():
    return [torch.randn(8192, 4096)]
"""
    task = parse_task(Path("branch.py"), text)
    columns = [
        choice.text.partition("randn(")[2].split(", ")[1] for choice in long_shapes(task, choose_shrunk(task))
    ]
    assert columns == ["4096)]\n"]
