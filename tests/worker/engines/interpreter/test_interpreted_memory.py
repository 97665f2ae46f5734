"""Out-of-bounds accesses are faults with argument, index and line; legal accesses are not."""

import pytest


@pytest.mark.parametrize(
    "check",
    [
        "masked_copy_is_fine",
        "strided_view_is_fine",
        "host_descriptor_edges_are_legal",
        "pointers_loaded_from_memory",
        "pointers_into_two_tensors",
        "negative_steps",
        "bool_tensors",
        "device_descriptors",
    ],
)
def test_legal_accesses(memory, check):
    assert memory[check] is True


@pytest.mark.parametrize(
    ("check", "words"),
    [
        ("read_past_the_end", ["load", "src_ptr", "1000..1023", "(3, 0, 0)", "x = tl.load(src_ptr"]),
        ("write_past_the_end", ["store", "dst_ptr", "1000..1023", "(3, 0, 0)", "tl.store(dst_ptr"]),
        ("read_before_the_start_even_inside_another_argument", ["load", "src_ptr", "element -1"]),
        ("dense_slice_of_a_bigger_storage", ["load", "src_ptr", "100..127"]),
        ("device_descriptor_larger_than_its_tensor", ["load", "x_ptr", "320"]),
        ("atomic_out_of_bounds", ["atomic", "out_ptr", "element 4"]),
    ],
)
def test_out_of_bounds(memory, check, words):
    fault = memory[check]
    assert fault["fault"] == "OutOfBounds"
    assert fault["verdict"] == "unsafe_memory"
    assert fault["line"] is not None
    for word in words:
        assert word in fault["message"]


def test_masked_lanes_without_other_are_poison(memory):
    assert memory["masked_lanes_are_poison"] == [True, True]


def test_poison_survives_what_drops_other_nans(memory):
    assert memory["poison_survives_a_maximum"] == [True] * 5
    assert memory["an_ordinary_nan_loses_a_maximum"] == 1.0


def test_other_of_scalar_zero_is_not_poison(memory):
    assert memory["scalar_zero_other_is_kept"] == 1.0


def test_a_mode_that_pretends_cuda_does_not_reach_the_interpreter(memory):
    assert memory["torch_function_mode_is_ignored"] == ["cuda", True]


def test_block_pointers_where_this_triton_has_them(memory):
    outcome = memory["block_pointers"]
    if isinstance(outcome, dict):
        assert outcome["verdict"] == "compile_error"
        assert "Block pointers have been removed" in outcome["message"]
    else:
        assert outcome is True
