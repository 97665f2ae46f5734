"""Which fixture kernels `make test` judges wholly; `make test-all` judges all.

They are chosen so that each reason the judge gives and each of its watches is met at least once.
"""

from __future__ import annotations

from typing import Any

import pytest

CHEATS_BY_WHAT_CATCHES_THEM = {
    "forbidden names": (
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
    ),
    "the inventory of what the judge relies on": (
        "clock_monotonic",
        "clock_time",
        "copy_patched",
        "event_record",
        "patches_and_raises",
        "patches_builtins",
        "patches_json_instances",
        "replaces_modules",
        "replaces_triton",
    ),
    "global switches": ("flag_autograd", "flag_default_dtype", "flag_threads"),
    "audited: files": ("plants_package", "reads_own_memory", "reads_task_source", "rewrites_its_file"),
    "audited: processes and signals": (
        "leaves_forked_daemon",
        "leaves_popen",
        "multiprocessing_worker",
        "signal_handler",
        "signals_group",
        "subprocess_computes",
    ),
    "audited: network": ("opens_connection", "socket_by_number"),
    "audited: native code and other libraries": ("cupy_guarded", "load_inline", "scipy_computes", "traces_parent"),
    "audited: the judge's own process": (
        "frozen_name",
        "inspects_stack",
        "launch_log_forged",
        "patches_worker",
        "profile_function",
    ),
    "audited: the environment": ("environment_tricks",),
    "the private channel": ("patches_json", "posix_module", "prints_and_os_exits"),
    "how it ends": ("exception_that_passes", "prints_and_exits", "raises_system_exit"),
    "work that goes on later": (
        "exits_at_exit",
        "launch_at_exit",
        "launch_in_del",
        "launch_in_finalizer",
        "thread_past_the_guard",
        "thread_pool",
    ),
    "what forward returns": ("lazy_dict", "lazy_tensor_dispatch", "tensor_that_agrees"),
    "streams": ("side_stream_unjoined", "stream_set_globally"),
    "answers to earlier inputs": (
        "graph_old_pointers",
        "memo_data_ptr",
        "memo_sum",
        "memo_torch_equal",
        "one_row_for_equal_inputs",
        "one_row_for_old_weights",
        "one_row_without_new_seed",
        "sniffs_reused_address",
        "torch_after_40_calls",
        "warmup_then_cached",
    ),
    "compilers other than Triton": ("jit_script", "torch_compile"),
    "values taken to Python": ("numpy_computes", "replays_from_disk"),
    "no launch at all": ("always_falls_back", "environment_switch"),
    "what torch had made without a kernel": (
        "answer_doubled",
        "answer_in_an_attribute",
        "constant_from_kernel",
        "copies_the_answer",
        "decoy_result_dropped",
        "few_rows_by_kernel",
        "ones_from_kernel",
        "torch_at_the_large_shape",
        "torch_in_a_hook",
        "triton_jit_shadowed",
    ),
    "the reference is not there": ("calls_reference", "inherits_reference"),
    "two faces": (
        "another_helper_when_compiled",
        "half_unless_interpreted",
        "half_unless_knob_says_so",
        "second_launch_when_interpreted",
        "smaller_blocks_when_compiled",
    ),
    "values and inputs": (
        "changes_input",
        "constant_output",
        "empty_output",
        "first_output_only",
        "half_precision",
        "nan_everywhere",
        "parameters_ignored",
        "range_sniffing",
        "running_mean",
        "shape_small_wrong",
        "sixth_config_broken",
    ),
}

HONEST_BY_HABIT = {
    "torch does much of the work": ("conv_epilogue_in_place", "torch_adds_partial_sums"),
    "keeps something between calls": ("packed_by_version", "keeps_its_scratch", "output_as_buffer"),
    "graphs and streams": ("graph_two_inputs", "two_streams_events"),
    "autotunes": ("autotuned_with_hooks",),
    "touches the process": ("neighbour", "standard_library", "says_when_interpreted", "prints"),
    "registers with torch": ("custom_op", "triton_op"),
    "its kernel changes little": ("clamp_that_rarely_bites", "leaky_relu_on_positives"),
}

FIXTURES_BY_WHAT_DECIDES = {
    "reading": (
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
    ),
    "loading": (
        "layernorm_extra_parameter",
        "relu_constructor_raises",
        "relu_forward_raises",
        "relu_missing_import",
        "relu_system_exit",
    ),
    "compiling": ("matmul_shared_memory", "relu_one_branch_variable", "row_sum_loop_type_change"),
    "shapes and types": ("argmax_int32_output", "mean_var_first_only", "row_stats_wrong_key", "row_sum_no_keepdim"),
    "values": (
        "argmax_off_by_one",
        "linear_gelu_baked_weights",
        "relu_autotune_half",
        "relu_last_block_unwritten",
        "relu_stale_output",
        "silu_add_claims_passed",
        "silu_add_one_nan",
        "softmax_no_max",
        "transposed_relu_flat",
        "triu_matmul_lower_unwritten",
    ),
    "precision": ("matmul_tf32", "softmax_float16_sum"),
    "memory": ("relu_store_without_mask", "row_sum_prefetch_past_end"),
    "repetition": ("relu_random_noise", "row_sum_race"),
    "time and memory": ("relu_host_loop", "relu_huge_allocation", "relu_kernel_loop", "rnn_deadlock"),
    "how it ends": ("relu_os_exit", "relu_segfault"),
    "launches": ("relu_kernel_never_launched", "silu_add_torch_only"),
    "nothing: it is good": (
        "argmax_last_tie",
        "rmsnorm_bf16_fp32_inside",
        "rnn_spin",
        "row_stats_dict",
        "row_sum_atomic",
        "silu_add_cuda_only",
        "small_scale_exact_shape",
        "small_scale_general",
        "softmax_tutorial_launch",
    ),
}


def sampled(all_of_them: list[Any], sample: dict[str, tuple[str, ...]], name: str = "name") -> list[Any]:
    """Parameters of a test; those outside the sample are left to `make test-all`."""
    names = {one for some in sample.values() for one in some}
    unknown = names.difference(getattr(one, name) for one in all_of_them)
    assert not unknown, f"no such fixture: {sorted(unknown)}"
    left = pytest.mark.slow_suite
    return [pytest.param(one, marks=() if getattr(one, name) in names else left) for one in all_of_them]
