"""What `triton.language` offers, so that an invented name can be told from an old or a new one; names of torch.

Those of Triton are gathered from the public names of 3.0 to 3.9; what only 2.x had is left out.
"""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


LANGUAGE = "triton.language."
"""What the names of the language begin with."""
LANGUAGE_NAMES = words(
    """
    PropagateNan TRITON_MAX_TENSOR_NUMEL abs add advance aggregate_replace arange argmax argmin
    associative_scan assume async_task atomic_add atomic_and atomic_cas atomic_load atomic_max atomic_min
    atomic_or atomic_poll atomic_store atomic_xchg atomic_xor bfloat16 bitonic_merge block_type broadcast
    broadcast_to builtin cast cat cdiv ceil clamp condition const const_pointer_type constexpr
    constexpr_function constexpr_type core cos cumprod cumsum debug_barrier device_assert device_print div_rn
    dot dot_scaled dtype erf exp exp2 expand_dims expect_zero experimental_descriptor_load
    experimental_descriptor_store experimental_device_tensormap_create1d
    experimental_device_tensormap_create2d experimental_make_tensor_descriptor
    experimental_tensormap_fenceproxy_acquire extra fdiv flip float16 float32 float64 float8e4b15 float8e4b8
    float8e4nv float8e5 float8e5b16 floor fma full function_type gather globaltimer globaltimer_lo histogram
    inline_asm_elementwise int1 int16 int32 int64 int8 interleave ir join load load_tensor_descriptor log log2
    make_block_ptr make_tensor_descriptor map_elementwise math max max_constancy max_contiguous maximum min
    minimum mul multiple_of num_programs nv_tma_desc_type pair_uniform_to_normal permute philox philox_impl
    pi32_t pointer_type program_id rand rand4x randint randint4x randn randn4x random range ravel reduce
    reduce_or reshape rsqrt semantic sigmoid sin slice softmax sort split sqrt sqrt_rn squeeze standard
    static_assert static_print static_range store store_tensor_descriptor str_to_ty sub sum swizzle2d
    target_info tensor tensor_descriptor tensor_descriptor_type to_tensor topk trans triton tuple tuple_type
    uint16 uint32 uint64 uint8 uint_to_uniform_float umulhi unsqueeze view void where xor_sum zeros zeros_like

    CONSTEXPR_0 TRITON_BUILTIN base_type base_value binary_op_type_legalization builtin_max builtin_min
    check_bit_width dispatch extern
    extern_elementwise get_bool_env_var get_int_dtype is_builtin is_negative_zero item must_use_result
    slice_type sort_impl tensor_descriptor_base tensor_descriptor_base_type
    """
)
"""`triton.language.X`, or of its inner modules, in some release from 3.0 on; a name outside it exists in none."""

MATH_NAMES = words(
    """
    List T abs ceil core cos div_rn erf exp exp2 fdiv floor fma log log2 rsqrt semantic sin sqrt sqrt_rn umulhi
    wraps
    """
)
"""`triton.language.math.X` in 3.0 to 3.9; the rest lives in `triton.language.extra.libdevice`."""

REDUCTIONS = words("sum max min argmax argmin reduce xor_sum reduce_or")
SCANS = words("associative_scan cumsum cumprod")
DOTS = words("dot dot_scaled")
LOADS = words("load load_tensor_descriptor atomic_load")
STORES = words(
    """
    store store_tensor_descriptor atomic_store atomic_add atomic_max atomic_min atomic_xchg atomic_cas
    """
)
EXPONENTIALS = words("exp exp2")
TORCH_TYPES = words(
    """
    float16 float32 float64 bfloat16 half float double int8 int16 int32 int64 uint8 bool int long short
    float8_e4m3fn float8_e5m2
    """
)
PROCESS_SWITCHES = ("torch.backends.", "torch._dynamo.config.", "torch._inductor.config.", "triton.knobs.")
"""Settings of the whole process stand below these names."""
