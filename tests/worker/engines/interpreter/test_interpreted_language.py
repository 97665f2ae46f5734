"""The ways in which kernels are written, held and launched; and what does not compile."""

import pytest


def test_the_language_under_any_name(language):
    assert language["aliases"] == [True, True, True]


def test_a_kernels_parameters_may_have_any_name(language):
    assert language["parameters_of_any_name"] == [5.0] * 4


def test_kernels_in_closures_classes_and_attributes(language):
    assert language["closures_and_methods"] == [True, True, True, True]


def test_autotune_runs_the_chosen_configuration(language):
    outcome = language["autotune"]
    assert outcome["totals"] == [50.0, 50.0, 50.0]
    assert outcome["grids"] == [7, 4, 2]
    assert outcome["configs"] == 3
    assert outcome["launches"] == 3


def test_autotune_spoils_in_place_kernels_as_timing_does(language):
    assert language["autotune_repeats_an_in_place_kernel"] == 2.0


def test_control_flow_means_what_the_compiler_means(language):
    inside = [10 if 1 < i < 8 else 1 for i in range(16)]
    assert language["control_flow"] == [*inside, 5 + 6 + 100 + 6 + 3]


def test_grids_and_launch_options(language):
    sums, grids, kernel = language["grids"]
    assert sums == [6, 24, 5, 24, 0]
    assert grids == [[2, 3, 1], [2, 3, 4], [5, 1, 1], [24, 1, 1], [0, 3, 1]]
    assert kernel == "grid_probe"


def test_unknown_keywords_are_refused(language):
    assert language["misspelt_keyword"]["fault"] == "TypeError"
    assert "NN" in language["misspelt_keyword"]["message"]


@pytest.mark.parametrize(
    ("check", "words"),
    [
        ("compile_runtime_arange", ["constexpr", "tl.arange(0, n)"]),
        ("compile_tensor_index", ["x[tl.arange(0, 4)]"]),
        ("compile_if_on_a_block", ["block", "if x > 0:"]),
        ("compile_undefined_name", ["missing", "tl.store(x_ptr, missing)"]),
        ("compile_shape_mismatch", ["16", "8", "shapes_clash"]),
        ("compile_static_assert", ["N must be a multiple of 32", "tl.static_assert"]),
        ("compile_plain_global", ["EPSILON", "tl.constexpr"]),
        ("compile_break", ["break", "line"]),
        ("compile_torch_in_kernel", ["torch.tanh"]),
        ("compile_thin_dot", ["K >= ", "tl.dot"]),
        ("interpreter_names_do_not_leak_into_the_candidate", ["np", "np.pi"]),
    ],
)
def test_what_does_not_compile(language, check, words):
    fault = language[check]
    assert fault["fault"] == "KernelCompileFault"
    assert fault["verdict"] == "compile_error"
    for word in words:
        assert word in fault["message"]


def test_device_assert(language):
    fault = language["device_assert"]
    assert fault["fault"] == "AssertionFailed"
    assert fault["verdict"] == "runtime_error"
    assert "x must be positive" in fault["message"]


def test_other_exceptions_keep_type_and_gain_a_line(language):
    fault = language["other_exceptions_keep_their_type"]
    assert fault["fault"] == "ZeroDivisionError"
    assert "1 // N" in fault["message"]
    assert len(fault["message"].splitlines()) <= 3


def test_shape_operations_and_the_standard_library(language):
    assert language["shapes"] < 1e-5


def test_chained_comparisons_work_where_this_triton_compiles_them(language):
    outcome = language["chained_comparison"]
    if isinstance(outcome, dict):
        assert outcome["fault"] == "KernelCompileFault"
        assert "chained" in outcome["message"]
    else:
        assert outcome == [0, 0, 1, 1, 1, 0, 0, 0]
