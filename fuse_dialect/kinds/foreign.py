"""Pattern kinds of the ops of other dialects, by name; a dialect need not be registered.

1. An operator has the kind of its Relay counterpart. So two operands of one shape meet in a *broadcast* operator even
   where the dialect insists on equal shapes, and the edges are elementwise all the same.
2. A name without a row is unknown: it may have effects, and stays where it is. Calls, control flow, random numbers and
   custom calls have no row on purpose.
3. `arith` and `math` ops are elementwise on tensors, and unknown on scalars.

Source: the specifications of StableHLO, TOSA and MLIR's linalg, tensor, arith and math dialects.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias, cast

from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr, IntegerType
from xdsl.ir import Operation

from fuse_dialect.dialect.types import is_tensor
from fuse_dialect.kinds.linalg_generic import generic_kind
from fuse_dialect.pattern_kind import PatternKind

KindRule: TypeAlias = PatternKind | Callable[[Operation], PatternKind | None]
"""A kind, or how to tell it from the op; `None` says that this op is unknown after all."""


def elemwise_on_tensors(op: Operation) -> PatternKind | None:
    """Elementwise if the result is a tensor."""
    return PatternKind.ELEMWISE if len(op.results) == 1 and is_tensor(op.results[0].type) else None


def broadcast_in_dim_kind(op: Operation) -> PatternKind:
    """A broadcast if it keeps the order of the axes, else a transposition as well."""
    dimensions = op.properties.get("broadcast_dimensions", op.attributes.get("broadcast_dimensions"))
    if not isinstance(dimensions, DenseArrayBase | DenseIntOrFPElementsAttr):
        return PatternKind.INJECTIVE
    order = list(cast(DenseArrayBase[IntegerType], dimensions).get_values())
    return PatternKind.BROADCAST if order == sorted(order) else PatternKind.INJECTIVE


def _rows(dialect: str, kind: KindRule, names: str) -> dict[str, KindRule]:
    return {f"{dialect}.{name}": kind for name in names.split()}


KIND_OF_OP: Mapping[str, KindRule] = {
    **_rows(
        "stablehlo",
        PatternKind.ELEMWISE,
        "abs bitcast_convert cbrt ceil convert cosine count_leading_zeros exponential exponential_minus_one floor imag "
        "iota is_finite log log_plus_one logistic negate not popcnt real reduce_precision round_nearest_afz "
        "round_nearest_even rsqrt sign sine sqrt tan tanh",
    ),
    **_rows(
        "stablehlo",
        PatternKind.BROADCAST,
        "add and atan2 clamp compare complex divide maximum minimum multiply or power remainder select shift_left "
        "shift_right_arithmetic shift_right_logical subtract xor",
    ),
    **_rows("stablehlo", broadcast_in_dim_kind, "broadcast_in_dim"),
    **_rows(
        "stablehlo",
        PatternKind.INJECTIVE,
        "concatenate dynamic_slice gather pad reshape reverse slice torch_index_select transpose",
    ),
    **_rows("stablehlo", PatternKind.COMM_REDUCE, "reduce"),
    **_rows(
        "stablehlo",
        PatternKind.OUT_EWISE_FUSABLE,
        "batch_norm_inference convolution dot dot_general reduce_window",
    ),
    **_rows("stablehlo", PatternKind.OPAQUE, "cholesky dynamic_update_slice fft scatter select_and_scatter sort"),
    **_rows(
        "chlo",
        PatternKind.ELEMWISE,
        "acos acosh asin asinh atan atanh cosh digamma erf erf_inv erfc is_inf lgamma sinh square tan",
    ),
    **_rows("chlo", PatternKind.OPAQUE, "top_k"),
    **_rows(
        "tosa",
        PatternKind.ELEMWISE,
        "abs bitwise_not cast ceil clamp clz cos erf exp floor identity log logical_not negate reciprocal rescale "
        "rsqrt sigmoid sin table tanh",
    ),
    **_rows(
        "tosa",
        PatternKind.BROADCAST,
        "add arithmetic_right_shift bitwise_and bitwise_or bitwise_xor equal greater greater_equal int_div intdiv "
        "logical_and logical_left_shift logical_or logical_right_shift logical_xor maximum minimum mul pow select sub "
        "tile",
    ),
    **_rows("tosa", PatternKind.INJECTIVE, "concat gather pad reshape resize reverse slice transpose"),
    **_rows(
        "tosa",
        PatternKind.COMM_REDUCE,
        "argmax reduce_all reduce_any reduce_max reduce_min reduce_prod reduce_product reduce_sum",
    ),
    **_rows(
        "tosa",
        PatternKind.OUT_EWISE_FUSABLE,
        "avg_pool2d conv2d conv3d depthwise_conv2d fully_connected matmul max_pool2d transpose_conv2d",
    ),
    **_rows("tosa", PatternKind.OPAQUE, "fft2d rfft2d scatter"),
    **_rows("linalg", generic_kind, "generic"),
    **_rows(
        "linalg",
        PatternKind.ELEMWISE,
        "abs ceil erf exp fill floor log map negf reciprocal round rsqrt sqrt square tanh",
    ),
    **_rows("linalg", PatternKind.BROADCAST, "add broadcast div div_unsigned max min mul powf select sub"),
    **_rows("linalg", PatternKind.INJECTIVE, "pack transpose unpack"),
    **_rows("linalg", PatternKind.COMM_REDUCE, "reduce"),
    **_rows(
        "linalg",
        PatternKind.OUT_EWISE_FUSABLE,
        "batch_matmul batch_matvec batch_reduce_matmul batch_vecmat contract conv_1d_ncw_fcw conv_1d_nwc_wcf "
        "conv_2d_nchw_fchw conv_2d_ngchw_fgchw conv_2d_ngchw_gfchw conv_2d_nhwc_fhwc conv_2d_nhwc_hwcf "
        "conv_3d_ncdhw_fcdhw conv_3d_ndhwc_dhwcf depthwise_conv_1d_nwc_wc depthwise_conv_2d_nchw_chw "
        "depthwise_conv_2d_nhwc_hwc depthwise_conv_2d_nhwc_hwcm dot matmul matvec pooling_nchw_max pooling_nchw_sum "
        "pooling_nhwc_max pooling_nhwc_min pooling_nhwc_sum quantized_matmul softmax vecmat",
    ),
    **_rows("tensor", PatternKind.ELEMWISE, "splat"),
    **_rows(
        "tensor",
        PatternKind.INJECTIVE,
        "cast collapse_shape concat expand_shape extract_slice gather generate pad reshape",
    ),
    **_rows("tensor", PatternKind.OPAQUE, "insert_slice scatter"),
}
"""Kinds of foreign operators by name."""

KIND_OF_DIALECT: Mapping[str, KindRule] = {"arith": elemwise_on_tensors, "math": elemwise_on_tensors}
"""Kinds of all ops of a dialect that have no row of their own."""

CONSTANT_OPS: frozenset[str] = frozenset(
    {"arith.constant", "stablehlo.constant", "tosa.const", "tosa.const_shape", "tensor.empty"}
)
"""Ops whose value is known or of no importance: they move into a primitive with an operator, or become arguments."""

HARMLESS_DIALECTS: frozenset[str] = frozenset({"arith", "complex", "math"})
"""Dialects without effects, whatever the types."""

HARMLESS_OPS: frozenset[str] = frozenset({"linalg.index", "tensor.extract", "tensor.dim", *CONSTANT_OPS})
"""Ops that have no effects and no kind."""

OPS_THAT_READ_A_TUPLE: frozenset[str] = frozenset({"stablehlo.concatenate", "tosa.concat", "tensor.concat"})
"""Ops whose operands form one tuple, as in Relay's `concatenate`."""
