"""What is known about the ops of other dialects, one row each, by name; a dialect need not be registered.

1. An operator has the kind of its Relay counterpart. So two operands of one shape meet in a *broadcast* operator even
   where the dialect insists on equal shapes, and the edges are elementwise all the same.
2. A name without a row is unknown: it may have effects, and stays where it is. So do calls, control flow, exchanges
   between devices and custom calls, whose rows give no kind: `is_barrier`.
3. What the elements of an operand say about the size of a result must be known before a kernel starts: the edge from
   such an operand is opaque where it says nothing else, and else the op is, unless the result type says the size too.
   Source: TVM `IsDataDependent`, src/relay/transforms/fuse_ops.cc (v0.18).
4. `arith` and `math` ops are elementwise on tensors, and unknown on scalars.

Source: the specifications of StableHLO, TOSA and MLIR's linalg, tensor, arith and math dialects.
"""

from collections.abc import Mapping
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr, IntegerType
from xdsl.ir import Operation

from fuse_dialect.dialect.types import DYNAMIC, is_tensor
from fuse_dialect.fusion.kinds.edges import (
    edges_with_inits,
    edges_with_starts,
    first_operand_alone,
    into_second,
    lone_reader,
    pad_edges,
    product_edges,
    sizes_alone,
    table_behind,
)
from fuse_dialect.fusion.kinds.foreign_row import ForeignOp as ForeignOp
from fuse_dialect.fusion.kinds.foreign_row import KindRule as KindRule
from fuse_dialect.fusion.kinds.foreign_row import rows
from fuse_dialect.fusion.kinds.imported import IMPORTED_OPS
from fuse_dialect.fusion.kinds.linalg_generic import elementwise_edges, elementwise_kind, generic_edges, generic_kind
from fuse_dialect.pattern_kind import PatternKind


def elemwise_on_tensors(op: Operation) -> PatternKind | None:
    """Elementwise if the result is a tensor."""
    return PatternKind.ELEMWISE if len(op.results) == 1 and is_tensor(op.results[0].type) else None


def cast_kind(op: Operation) -> PatternKind:
    """Elementwise if operand and result have the same shape, else injective: elements are regrouped."""
    types = [op.operands[0].type, op.results[0].type]
    shapes = [type.get_shape() if is_tensor(type) else None for type in types]
    return PatternKind.ELEMWISE if shapes[0] == shapes[1] else PatternKind.INJECTIVE


def broadcast_in_dim_kind(op: Operation) -> PatternKind:
    """A broadcast if it keeps the order of the axes, else a transposition as well."""
    dimensions = op.properties.get("broadcast_dimensions", op.attributes.get("broadcast_dimensions"))
    if not isinstance(dimensions, DenseArrayBase | DenseIntOrFPElementsAttr):
        return PatternKind.INJECTIVE
    order = list(cast(DenseArrayBase[IntegerType], dimensions).get_values())
    return PatternKind.BROADCAST if order == sorted(order) else PatternKind.INJECTIVE


def pad_kind(op: Operation) -> PatternKind:
    """A broadcast, which products and windows take in, if one of linalg reads it, and nothing else; else injective."""
    reader = lone_reader(op)
    if reader is None or not reader.name.startswith("linalg."):
        return PatternKind.INJECTIVE
    kind = foreign_op(reader.name).kind
    kind = kind if isinstance(kind, PatternKind) or kind is None else kind(reader)
    return PatternKind.BROADCAST if kind is PatternKind.OUT_EWISE_FUSABLE else PatternKind.INJECTIVE


def _unless_open(op: Operation, kind: PatternKind) -> PatternKind:
    """(3) The kind, or opaque if a result type leaves a size open."""
    is_open = any(is_tensor(result.type) and DYNAMIC in result.type.get_shape() for result in op.results)
    return PatternKind.OPAQUE if is_open else kind


def sized_injective(op: Operation) -> PatternKind:
    """Injective; opaque if the result type leaves a size open."""
    return _unless_open(op, PatternKind.INJECTIVE)


def sized_product(op: Operation) -> PatternKind:
    """As `out_ewise_fusable`; opaque if the result type leaves a size open."""
    return _unless_open(op, PatternKind.OUT_EWISE_FUSABLE)


_ROWS: Mapping[str, ForeignOp] = {
    **rows(
        "stablehlo",
        ForeignOp(PatternKind.ELEMWISE),
        "abs cbrt ceil convert cosine count_leading_zeros exponential exponential_minus_one floor imag "
        "iota is_finite log log_plus_one logistic map negate not popcnt real reduce_precision round_nearest_afz "
        "round_nearest_even rsqrt sign sine sqrt tan tanh uniform_dequantize uniform_quantize",
    ),
    **rows(
        "stablehlo",
        ForeignOp(PatternKind.BROADCAST),
        "add and atan2 broadcast clamp compare complex divide maximum minimum multiply or power remainder select "
        "shift_left shift_right_arithmetic shift_right_logical subtract xor",
    ),
    **rows("stablehlo", ForeignOp(cast_kind), "bitcast_convert"),
    **rows("stablehlo", ForeignOp(broadcast_in_dim_kind), "broadcast_in_dim"),
    **rows("stablehlo", ForeignOp(PatternKind.ELEMWISE, sizes_alone), "dynamic_iota"),
    **rows("stablehlo", ForeignOp(broadcast_in_dim_kind, first_operand_alone), "dynamic_broadcast_in_dim"),
    **rows("stablehlo", ForeignOp(sized_injective), "dynamic_gather dynamic_pad dynamic_reshape real_dynamic_slice"),
    **rows("stablehlo", ForeignOp(sized_product), "dynamic_conv"),
    **rows(
        "stablehlo",
        ForeignOp(PatternKind.INJECTIVE),
        " dynamic_slice gather pad  reverse slice torch_index_select transpose",
    ),
    **rows("stablehlo", ForeignOp(PatternKind.COMM_REDUCE, edges_with_starts), "reduce"),
    **rows(
        "stablehlo",
        ForeignOp(PatternKind.OUT_EWISE_FUSABLE),
        "batch_norm_inference convolution dot dot_general einsum",
    ),
    **rows("stablehlo", ForeignOp(PatternKind.OUT_EWISE_FUSABLE, edges_with_starts), "reduce_window"),
    **rows(
        "stablehlo",
        ForeignOp(PatternKind.OPAQUE),
        "batch_norm_grad batch_norm_training cholesky dynamic_update_slice fft get_dimension_size get_tuple_element "
        "partition_id replica_id rng_bit_generator scatter select_and_scatter set_dimension_size sort triangular_solve "
        "tuple unary_einsum",
    ),
    **rows(
        "stablehlo",
        ForeignOp(is_barrier=True),
        "after_all all_gather all_to_all async_done case collective_broadcast collective_permute composite "
        "create_token cross-replica-sum custom_call if infeed optimization_barrier outfeed recv rng send while",
    ),
    **rows(
        "stablehlo",
        ForeignOp(is_barrier=True, has_scalar_regions=True),
        "all_reduce async_start collective_reduce reduce_scatter",
    ),
    **rows(
        "chlo",
        ForeignOp(PatternKind.ELEMWISE),
        "_asin_acos_kernel acos acosh asin asinh atan atanh bessel_i1e conj constant_like cosh digamma erf erf_inv "
        "erfc is_inf is_neg_inf is_pos_inf lgamma sinh square tan",
    ),
    **rows(
        "chlo",
        ForeignOp(PatternKind.BROADCAST),
        "broadcast_add broadcast_and broadcast_atan2 broadcast_compare broadcast_complex broadcast_divide "
        "broadcast_maximum broadcast_minimum broadcast_multiply broadcast_next_after broadcast_or broadcast_polygamma "
        "broadcast_power broadcast_remainder broadcast_select broadcast_shift_left broadcast_shift_right_arithmetic "
        "broadcast_shift_right_logical broadcast_subtract broadcast_xor broadcast_zeta mulhi next_after polygamma zeta",
    ),
    **rows("chlo", ForeignOp(PatternKind.OUT_EWISE_FUSABLE), "ragged_dot"),
    **rows("chlo", ForeignOp(PatternKind.OPAQUE), "scan top_k"),
    **rows("chlo", ForeignOp(is_constant=True), "constant"),
    **rows(
        "tosa",
        ForeignOp(PatternKind.ELEMWISE),
        "abs bitwise_not cast ceil clamp clz cos erf exp floor identity log logical_not negate reciprocal rescale "
        "rsqrt sigmoid sin tanh",
    ),
    **rows("tosa", ForeignOp(PatternKind.ELEMWISE, table_behind), "table"),
    **rows(
        "tosa",
        ForeignOp(PatternKind.BROADCAST),
        "add apply_scale arithmetic_right_shift bitwise_and bitwise_or bitwise_xor equal greater greater_equal int_div "
        "intdiv logical_and logical_left_shift logical_or logical_right_shift logical_xor maximum minimum mul pow "
        "select sub tile",
    ),
    **rows("tosa", ForeignOp(PatternKind.INJECTIVE), " gather pad  resize reverse row_gather slice transpose"),
    **rows(
        "tosa",
        ForeignOp(PatternKind.COMM_REDUCE),
        "argmax argmin reduce_all reduce_any reduce_max reduce_min reduce_prod reduce_product reduce_sum",
    ),
    **rows(
        "tosa",
        ForeignOp(PatternKind.OUT_EWISE_FUSABLE),
        "avg_pool2d avg_pool2d_adaptive max_pool2d max_pool2d_adaptive",
    ),
    **rows(
        "tosa",
        ForeignOp(PatternKind.OPAQUE),
        "cast_from_block_scaled cast_to_block_scaled fft2d reshape_block_scaled rfft2d row_gather_block_scaled scatter",
    ),
    # What computes with lists of sizes stays outside: `kind_of`.
    **rows(
        "tosa",
        ForeignOp(has_no_effects=True),
        "add_shape concat_shape dim div_ceil_shape div_floor_shape exp2_shape log2_ceil_shape log2_floor_shape "
        "max_shape min_shape mod_shape mul_shape slice_shape sub_shape",
    ),
    **rows(
        "tosa",
        ForeignOp(is_barrier=True),
        "assert_equal_shape cond_if custom variable variable_read variable_write while_loop yield",
    ),
    **rows("linalg", ForeignOp(generic_kind, product_edges(generic_edges)), "generic"),
    **rows(
        "linalg",
        ForeignOp(PatternKind.ELEMWISE, edges_with_inits),
        "abs ceil erf exp fill floor log map negf reciprocal round rsqrt sqrt square tanh",
    ),
    **rows(
        "linalg",
        ForeignOp(PatternKind.BROADCAST, edges_with_inits),
        "add broadcast div div_unsigned max min mul powf select sub",
    ),
    **rows("linalg", ForeignOp(PatternKind.INJECTIVE), "pack unpack"),
    **rows("linalg", ForeignOp(PatternKind.INJECTIVE, edges_with_inits), "transpose"),
    **rows("linalg", ForeignOp(PatternKind.COMM_REDUCE, edges_with_inits), "reduce"),
    **rows(
        "linalg",
        ForeignOp(PatternKind.OUT_EWISE_FUSABLE, product_edges(edges_with_inits)),
        "batch_matmul batch_matvec batch_reduce_matmul batch_vecmat contract conv_1d_ncw_fcw conv_1d_nwc_wcf "
        "conv_2d_nchw_fchw conv_2d_ngchw_fgchw conv_2d_ngchw_gfchw conv_2d_nhwc_fhwc conv_2d_nhwc_hwcf "
        "conv_3d_ncdhw_fcdhw conv_3d_ndhwc_dhwcf depthwise_conv_1d_nwc_wc depthwise_conv_2d_nchw_chw "
        "depthwise_conv_2d_nhwc_hwc depthwise_conv_2d_nhwc_hwcm dot matmul matvec pooling_nchw_max pooling_nchw_sum "
        "pooling_nhwc_max pooling_nhwc_min pooling_nhwc_sum quantized_matmul softmax vecmat",
    ),
    **rows(
        "linalg",
        ForeignOp(PatternKind.OUT_EWISE_FUSABLE, product_edges(edges_with_inits)),
        "batch_matmul_transpose_a batch_matmul_transpose_b batch_mmt4d conv_1d conv_2d conv_2d_nhwgc_gfhwc "
        "conv_3d depthwise_conv_1d_ncw_cw depthwise_conv_1d_nwc_wcm depthwise_conv_3d_ncdhw_cdhw "
        "depthwise_conv_3d_ndhwc_dhwc depthwise_conv_3d_ndhwc_dhwcm matmul_transpose_a matmul_transpose_b mmt4d "
        "pooling_ncw_max pooling_ncw_sum pooling_ndhwc_max pooling_ndhwc_min pooling_ndhwc_sum "
        "pooling_nhwc_max_unsigned pooling_nhwc_min_unsigned pooling_nwc_max pooling_nwc_max_unsigned "
        "pooling_nwc_min pooling_nwc_min_unsigned pooling_nwc_sum",
    ),
    **rows(
        "linalg",
        ForeignOp(PatternKind.OUT_EWISE_FUSABLE, product_edges(edges_with_inits)),
        "conv_2d_nchw_fchw_q conv_2d_ngchw_gfchw_q conv_2d_nhwc_fhwc_q conv_2d_nhwc_hwcf_q conv_3d_ndhwc_dhwcf_q "
        "depthwise_conv_2d_nhwc_hwc_q depthwise_conv_2d_nhwc_hwcm_q quantized_batch_matmul "
        "winograd_filter_transform winograd_input_transform winograd_output_transform",
    ),
    **rows("linalg", ForeignOp(PatternKind.ELEMWISE, edges_with_inits), "elemwise_unary"),
    **rows("linalg", ForeignOp(PatternKind.BROADCAST, edges_with_inits), "elemwise_binary"),
    **rows("linalg", ForeignOp(elementwise_kind, elementwise_edges), "elementwise"),
    **rows("linalg", ForeignOp(PatternKind.ELEMWISE, edges_with_inits), "copy"),
    **rows("tensor", ForeignOp(PatternKind.ELEMWISE), "bitcast cast"),
    **rows("tensor", ForeignOp(PatternKind.ELEMWISE), "splat"),
    **rows(
        "tensor",
        ForeignOp(PatternKind.INJECTIVE),
        "extract_slice gather generate",
    ),
    **rows("tensor", ForeignOp(pad_kind, pad_edges), "pad"),
    **rows("tensor", ForeignOp(PatternKind.INJECTIVE), "from_elements"),
    **rows("tensor", ForeignOp(PatternKind.INJECTIVE, into_second), "insert insert_slice"),
    **rows("tensor", ForeignOp(PatternKind.OPAQUE), "scatter"),
    **rows("quant", ForeignOp(PatternKind.ELEMWISE), "dcast qcast scast"),
    **rows("stablehlo", ForeignOp(PatternKind.INJECTIVE, reads_tuple=True), "concatenate"),
    **rows("stablehlo", ForeignOp(PatternKind.INJECTIVE, reshape_only=True), "reshape"),
    **rows("tosa", ForeignOp(PatternKind.INJECTIVE, reads_tuple=True), "concat"),
    **rows("tosa", ForeignOp(PatternKind.INJECTIVE, reshape_only=True), "reshape"),
    **rows(
        "tosa",
        ForeignOp(PatternKind.OUT_EWISE_FUSABLE, is_product=True),
        "conv2d conv2d_block_scaled conv3d depthwise_conv2d fully_connected matmul matmul_t matmul_t_block_scaled "
        "transpose_conv2d",
    ),
    **rows("tensor", ForeignOp(PatternKind.INJECTIVE, reads_tuple=True), "concat"),
    **rows("tensor", ForeignOp(PatternKind.INJECTIVE, reshape_only=True), "collapse_shape expand_shape"),
    **rows("tensor", ForeignOp(PatternKind.INJECTIVE, first_operand_alone, reshape_only=True), "reshape"),
    **rows("arith", ForeignOp(is_constant=True), "constant"),
    **rows("stablehlo", ForeignOp(is_constant=True), "constant"),
    **rows("tosa", ForeignOp(is_constant=True), "const const_shape"),
    **rows("tensor", ForeignOp(is_constant=True), "empty"),
    **rows("bufferization", ForeignOp(is_constant=True), "alloc_tensor"),
    **rows("linalg", ForeignOp(has_no_effects=True), "index"),
    **rows("tensor", ForeignOp(has_no_effects=True), "dim extract"),
    **IMPORTED_OPS,
}
FOREIGN_OPS: Mapping[str, ForeignOp] = {
    **_ROWS,
    # The dialect that StableHLO was taken from has its ops, by the same names.
    **{name.replace("stablehlo", "mhlo", 1): row for name, row in _ROWS.items() if name.startswith("stablehlo.")},
}
"""Foreign ops by name."""

FOREIGN_DIALECTS: Mapping[str, ForeignOp] = {
    "arith": ForeignOp(elemwise_on_tensors, has_no_effects=True),
    "complex": ForeignOp(has_no_effects=True),
    "math": ForeignOp(elemwise_on_tensors, has_no_effects=True),
    "varith": ForeignOp(elemwise_on_tensors, has_no_effects=True),
}
"""All ops of a dialect that have no row of their own."""

SHAPE_TYPE = "tosa.shape"
"""Name of the type of a list of sizes. MLIR wants to find the constant behind each value of it in the same function."""
CONSTANT_OPS = frozenset(name for name, row in FOREIGN_OPS.items() if row.is_constant)
"""Names of the constants, which are asked for often."""

_UNKNOWN = ForeignOp()


def known_names(dialect: str) -> list[str]:
    """Names of the ops of another dialect that have a row, in the order of the rows."""
    return [name for name in FOREIGN_OPS if name.startswith(f"{dialect}.")]


def foreign_op(name: str) -> ForeignOp:
    """What is known about the op of that name: its row, that of its dialect, or nothing."""
    row = FOREIGN_OPS.get(name)
    return FOREIGN_DIALECTS.get(name.split(".", 1)[0], _UNKNOWN) if row is None else row
