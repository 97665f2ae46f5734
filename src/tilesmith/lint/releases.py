"""What the functions of `triton.language` take, and what tensors and libdevice have, over Triton 3.0 to 3.9."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilesmith.lint.vocabulary import words


@dataclass(frozen=True)
class LanguageSignature:
    """The bounds of all releases together: what is outside them fails in every one."""

    least: int
    """Arguments without which no release takes the call."""
    most: int
    """Positional arguments the most generous release takes."""
    keywords: frozenset[str]


def _signatures(text: str) -> Mapping[str, LanguageSignature]:
    read = [line.split() for line in text.strip().splitlines()]
    return {name: LanguageSignature(int(least), int(most), frozenset(names)) for name, least, most, *names in read}


SIGNATURES = _signatures(
    """
    abs 1 1 x
    arange 2 2 end start
    argmax 2 4 axis input keep_dims tie_break_left
    argmin 2 4 axis input keep_dims tie_break_left
    associative_scan 3 4 axis combine_fn input reverse
    cdiv 2 2 div x
    ceil 1 1 x
    cos 1 1 x
    cumprod 1 4 axis dtype input reverse
    cumsum 1 4 axis dtype input reverse
    dot 2 7 acc allow_tf32 input input_precision max_num_imprecise_acc other out_dtype
    erf 1 1 x
    exp 1 1 x
    exp2 1 1 x
    expand_dims 2 2 axis input
    floor 1 1 x
    full 3 3 dtype shape value
    load 1 8 boundary_check cache_modifier eviction_policy mask other padding_option pointer volatile
    log 1 1 x
    log2 1 1 x
    max 1 5 axis input keep_dims return_indices return_indices_tie_break_left
    maximum 2 3 propagate_nan x y
    min 1 5 axis input keep_dims return_indices return_indices_tie_break_left
    minimum 2 3 propagate_nan x y
    num_programs 1 1 axis
    program_id 1 1 axis
    reduce 3 4 axis combine_fn input keep_dims
    rsqrt 1 1 x
    sigmoid 1 1 x
    sin 1 1 x
    softmax 1 4 dim ieee_rounding keep_dims x
    sqrt 1 1 x
    static_range 1 3 arg1 arg2 step
    store 2 6 boundary_check cache_modifier eviction_policy mask pointer value
    sum 1 4 axis dtype input keep_dims
    where 3 3 condition x y
    zeros 2 2 dtype shape
    zeros_like 1 1 input
    """
)
"""Name, least and most arguments, keywords."""

TENSOR_MEMBERS = words(
    """
    T abs advance argmax argmin associative_scan atomic_add atomic_and atomic_cas atomic_load atomic_max
    atomic_min atomic_or atomic_poll atomic_store atomic_xchg atomic_xor bitcast broadcast_to cast cdiv ceil cos
    cumprod cumsum dtype erf exp exp2 expand_dims flip floor gather handle histogram item log log2 logical_and
    logical_or max min numel permute ravel reduce reduce_or reshape rsqrt shape sigmoid sin softmax sort split
    sqrt sqrt_rn store sum to trans type view xor_sum
    """
)
"""Attributes and methods of a tensor in some release."""

LIBDEVICE_NAMES = words(
    """
    abs acos acosh add_rd add_rn add_ru add_rz asin asinh atan atan2 atanh brev byte_perm cbrt ceil clz copysign
    core cos cosh cospi cyl_bessel_i0 cyl_bessel_i1 div_rd div_rn div_ru div_rz double2float_rd double2float_rn
    double2float_ru double2float_rz double2hiint double2int_rd double2int_rn double2int_ru double2int_rz
    double2ll_rd double2ll_rn double2ll_ru double2ll_rz double2loint double2uint_rd double2uint_rn
    double2uint_ru double2uint_rz double2ull_rd double2ull_rn double2ull_ru double2ull_rz double_as_longlong erf
    erfc erfcinv erfcx erfinv exp exp10 exp2 expm1 fast_cosf fast_dividef fast_exp10f fast_expf fast_log10f
    fast_log2f fast_logf fast_powf fast_sinf fast_tanf fast_tanhf fdim ffs finitef float2int_rd float2int_rn
    float2int_ru float2int_rz float2ll_rd float2ll_rn float2ll_ru float2ll_rz float2uint_rd float2uint_rn
    float2uint_ru float2uint_rz float2ull_rd float2ull_rn float2ull_ru float2ull_rz float_as_int float_as_uint
    floor fma fma_rd fma_rn fma_ru fma_rz fmod hadd hiloint2double hypot ilogb int2double_rn int2float_rd
    int2float_rn int2float_ru int2float_rz int_as_float isfinited isinf isnan j0 j1 jn ldexp lgamma
    ll2double_rd ll2double_rn ll2double_ru ll2double_rz ll2float_rd ll2float_rn ll2float_ru ll2float_rz llrint
    llround log log10 log1p log2 logb longlong_as_double mul24 mul_rd mul_rn mul_ru mul_rz mulhi nearbyint
    nextafter norm3d norm4d normcdf normcdfinv popc pow rcbrt rcp64h rcp_rd rcp_rn rcp_ru rcp_rz remainder
    rhadd rhypot rint rnorm3d rnorm4d round rsqrt rsqrt_rn sad saturatef scalbn signbit sin sinh sinpi sqrt
    sqrt_rd sqrt_rn sqrt_ru sqrt_rz sub_rd sub_rn sub_ru sub_rz tan tanh tgamma trunc uint2double_rn
    uint2float_rd uint2float_rn uint2float_ru uint2float_rz uint_as_float ull2double_rd ull2double_rn
    ull2double_ru ull2double_rz ull2float_rd ull2float_rn ull2float_ru ull2float_rz y0 y1 yn
    """
)
"""`triton.language.extra.libdevice.X`, on any GPU."""

LAUNCH_OPTIONS = words(
    """
    num_warps num_stages num_ctas maxnreg warp_size threads_per_warp cluster_dims ptx_version ptx_options
    ir_override enable_fp_fusion sched4reg enable_reflect_ftz launch_cooperative_grid launch_pdl launch_cluster
    clc supported_fp8_dtypes deprecated_fp8_dtypes deprecated_fp8_dot_operand_dtypes default_dot_input_precision
    allowed_dot_input_precisions max_num_imprecise_acc_default extern_libs debug backend_name sanitize_overflow
    arch instrumentation_mode fpsan_homomorphic_casts min_shared_mem allow_fp8e4nv allow_fp8e4b15
    enable_warp_specialization enable_persistent optimize_epilogue num_consumer_groups num_buffers_warp_spec
    reg_dec_producer reg_inc_consumer minRegAutoWS maxRegAutoWS waves_per_eu matrix_instr_nonkdim kpack
    schedule_hint allow_flush_denorm llvm_fn_attrs wgp_cu_mode force_global_scratch grf_mode
    grid warmup device device_type stream pre_hook num_buffers num_groups
    """
)
"""Keywords of a launch that are no parameters of the kernel, on any backend of any release."""
