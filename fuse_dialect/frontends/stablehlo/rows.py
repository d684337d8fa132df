"""One row for each op of StableHLO and CHLO: what it has, and how it is written.

Source: stablehlo/dialect/StablehloOps.td and ChloOps.td of openxla/stablehlo, August 2026.
"""

from collections.abc import Iterator, Mapping

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    Float32Type,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i1,
    i32,
    i64,
)
from xdsl.irdl import BaseAttr

from fuse_dialect.frontends.stablehlo import attributes as attrs
from fuse_dialect.frontends.stablehlo.clauses import (
    Algorithm,
    AssignedWord,
    BareWord,
    Bool,
    BracketedInt,
    ConvAxes,
    ConvWindow,
    DotAxes,
    ExponentMantissa,
    Int,
    Ints,
    Precision,
    SliceRanges,
    StringText,
    SymbolText,
    Text,
)
from fuse_dialect.frontends.stablehlo.op import Effects, Property, Row
from fuse_dialect.frontends.stablehlo.types import ARROW, COMPLEX, OPERANDS, RESULTS, SAME, SELECT, TUPLE

_INTS = Property(DenseArrayBase.constr(i64))
_OPTIONAL_INTS = Property(DenseArrayBase.constr(i64), required=False)
_OPTIONAL_FLAGS = Property(DenseArrayBase.constr(i1), required=False)
_INT = Property(IntegerAttr.constr(i64))
_INT32 = Property(IntegerAttr.constr(i32))
_BOOL = Property(IntegerAttr.constr(i1))
_OPTIONAL_BOOL = Property(IntegerAttr.constr(i1), required=False)
_DENSE = Property(BaseAttr(DenseIntOrFPElementsAttr))
_OPTIONAL_DENSE = Property(BaseAttr(DenseIntOrFPElementsAttr), required=False)
_TEXT = Property(BaseAttr(StringAttr))
_OPTIONAL_TEXT = Property(BaseAttr(StringAttr), required=False)
_OPTIONAL_LIST = Property(BaseAttr(ArrayAttr), required=False)
_FLAG = Property(BaseAttr(UnitAttr), required=False)
_EPSILON = Property(FloatAttr.constr(Float32Type()))
_ANY = Property()
_OPTIONAL = Property(required=False)
_CHANNEL = Property(BaseAttr(attrs.ChannelHandleAttr), required=False)
_ACCURACY = {"result_accuracy": Property(BaseAttr(attrs.ResultAccuracyAttr), required=False)}
_GROUPS = {"replica_groups": _ANY, "channel_handle": _CHANNEL}
_DEVICES = {**_GROUPS, "use_global_device_ids": _FLAG}
_WINDOW = {
    "window_strides": _OPTIONAL_INTS,
    "padding": _OPTIONAL_DENSE,
    "lhs_dilation": _OPTIONAL_INTS,
    "rhs_dilation": _OPTIONAL_INTS,
    "window_reversal": _OPTIONAL_FLAGS,
}
_CONVOLUTION = {
    **_WINDOW,
    "dimension_numbers": Property(BaseAttr(attrs.ConvDimensionNumbersAttr)),
    "feature_group_count": _INT,
    "batch_group_count": _INT,
    "precision_config": _OPTIONAL_LIST,
}
_GATHER = {
    "dimension_numbers": Property(BaseAttr(attrs.GatherDimensionNumbersAttr)),
    "indices_are_sorted": _OPTIONAL_BOOL,
}
_TRANSFER = {
    "channel_handle": Property(BaseAttr(attrs.ChannelHandleAttr)),
    "is_host_transfer": _OPTIONAL_BOOL,
    "source_target_pairs": _OPTIONAL_DENSE,
}
_BATCH_NORM = {"epsilon": _EPSILON, "feature_index": _INT}
_PRECISION = Precision(("precision",), ("precision_config",), required=False)


def _same(names: str, operands: int, properties: Mapping[str, Property] | None = None) -> Iterator[Row]:
    """Rows of ops that differ in their names alone."""
    return (Row(name, operands, types=SAME, properties=properties or {}) for name in names.split())


def _generic(
    name: str,
    operands: int | None,
    results: int | None,
    properties: Mapping[str, Property],
    *,
    regions: int | None = 0,
    effects: Effects = Effects.NONE,
) -> Row:
    """The row of an op that has only the generic form."""
    return Row(name, operands, results, properties=properties, regions=regions, effects=effects, is_pretty=False)


_REGIONS = Effects.REGIONS
_UNKNOWN = Effects.UNKNOWN

STABLEHLO_ROWS: tuple[Row, ...] = (
    *_same(
        "abs ceil convert count_leading_zeros floor imag negate not popcnt real round_nearest_afz round_nearest_even "
        "sign uniform_dequantize uniform_quantize",
        1,
    ),
    *_same(
        "cbrt cosine exponential exponential_minus_one log log_plus_one logistic rsqrt sine sqrt tan tanh", 1, _ACCURACY
    ),
    *_same(
        "add and atan2 divide maximum minimum multiply or power remainder shift_left shift_right_arithmetic "
        "shift_right_logical subtract xor",
        2,
    ),
    *_same("clamp", 3),
    Row("complex", 2, types=COMPLEX),
    Row("select", 3, types=SELECT),
    *(Row(name, count) for name, count in (("is_finite", 1), ("bitcast_convert", 1), ("reshape", 1))),
    *(Row(name, count) for name, count in (("dynamic_reshape", 2), ("real_dynamic_slice", 4), ("dynamic_pad", 5))),
    Row("dynamic_update_slice"),
    Row(
        "compare",
        2,
        head=(BareWord((), ("comparison_direction",), word=attrs.ComparisonDirectionAttr),),
        clauses=(
            BareWord(
                tuple(sorted(attrs.ComparisonTypeAttr.WORDS)),
                ("compare_type",),
                required=False,
                word=attrs.ComparisonTypeAttr,
            ),
        ),
    ),
    Row("iota", 0, types=RESULTS, head=(Int(("dim",), ("iota_dimension",)),), properties={"iota_dimension": _INT}),
    Row("dynamic_iota", 1, clauses=(Int(("dim",), ("iota_dimension",)),)),
    *(Row(name, 0, types=RESULTS) for name in ("create_token", "replica_id", "partition_id")),
    Row("after_all", types=SAME),
    Row("broadcast", 1, clauses=(Ints(("sizes",), ("broadcast_sizes",)),)),
    Row("broadcast_in_dim", 1, clauses=(Ints(("dims",), ("broadcast_dimensions",)),)),
    Row(
        "dynamic_broadcast_in_dim",
        2,
        clauses=(Ints(("dims",), ("broadcast_dimensions",)),),
        properties={"known_expanding_dimensions": _OPTIONAL_INTS, "known_nonexpanding_dimensions": _OPTIONAL_INTS},
    ),
    Row("transpose", 1, clauses=(Ints(("dims",), ("permutation",)),), properties={"permutation": _INTS}),
    Row("reverse", 1, types=SAME, clauses=(Ints(("dims",), ("dimensions",)),), properties={"dimensions": _INTS}),
    Row("slice", 1, clauses=(SliceRanges((), ("start_indices", "limit_indices", "strides")),)),
    Row("dynamic_slice", clauses=(Ints(("sizes",), ("slice_sizes",)),)),
    Row("concatenate", clauses=(Int(("dim",), ("dimension",)),)),
    Row(
        "pad",
        2,
        clauses=(
            Ints(("low",), ("edge_padding_low",)),
            Ints(("high",), ("edge_padding_high",)),
            Ints(("interior",), ("interior_padding",)),
        ),
    ),
    Row("get_dimension_size", 1, clauses=(Int(("dim",), ("dimension",)),)),
    Row("set_dimension_size", 2, clauses=(Int(("dim",), ("dimension",)),)),
    Row("get_tuple_element", 1, clauses=(BracketedInt((), ("index",)),)),
    Row("tuple", types=TUPLE),
    Row("cholesky", 1, types=SAME, clauses=(Bool(("lower",), ("lower",), required=False),)),
    Row("dot", 2, clauses=(_PRECISION,)),
    Row(
        "dot_general",
        2,
        clauses=(
            DotAxes(("batching_dims", "contracting_dims"), ("dot_dimension_numbers",)),
            _PRECISION,
            Algorithm(("algorithm",), ("algorithm",), required=False),
        ),
        properties={"dot_dimension_numbers": Property(BaseAttr(attrs.DotDimensionNumbersAttr))},
    ),
    Row("einsum", 2, clauses=(Text(("config",), ("einsum_config",)),), properties={"einsum_config": _TEXT}),
    Row("unary_einsum", 1, clauses=(Text(("config",), ("einsum_config",)),), properties={"einsum_config": _TEXT}),
    Row(
        "convolution",
        2,
        in_parentheses=True,
        clauses=(ConvAxes(("dim_numbers",), ("dimension_numbers",)), ConvWindow(("window",), tuple(_WINDOW))),
        properties=_CONVOLUTION,
    ),
    Row(
        "fft",
        1,
        clauses=(AssignedWord(("type",), ("fft_type",), word=attrs.FftTypeAttr), Ints(("length",), ("fft_length",))),
    ),
    Row(
        "reduce_precision", 1, types=SAME, clauses=(ExponentMantissa(("format",), ("exponent_bits", "mantissa_bits")),)
    ),
    Row(
        "rng",
        3,
        effects=_UNKNOWN,
        clauses=(AssignedWord(("distribution",), ("rng_distribution",), word=attrs.RngDistributionAttr),),
    ),
    Row(
        "rng_bit_generator",
        1,
        2,
        clauses=(AssignedWord(("algorithm",), ("rng_algorithm",), word=attrs.RngAlgorithmAttr),),
    ),
    Row(
        "custom_call",
        results=None,
        in_parentheses=True,
        effects=_UNKNOWN,
        head=(SymbolText((), ("call_target_name",)),),
        properties={
            "call_target_name": _TEXT,
            "has_side_effect": _OPTIONAL_BOOL,
            "backend_config": _OPTIONAL,
            "api_version": _OPTIONAL,
            "called_computations": _OPTIONAL_LIST,
            "operand_layouts": _OPTIONAL_LIST,
            "result_layouts": _OPTIONAL_LIST,
            "output_operand_aliases": _OPTIONAL_LIST,
            "result_tilings": _OPTIONAL_LIST,
        },
    ),
    Row(
        "composite",
        results=None,
        regions=None,
        effects=_UNKNOWN,
        head=(StringText((), ("name",)),),
        properties={
            "name": _TEXT,
            "composite_attributes": _OPTIONAL,
            "decomposition": Property(BaseAttr(SymbolRefAttr)),
            "version": Property(IntegerAttr.constr(i32), required=False),
        },
    ),
    Row("return", results=0, types=OPERANDS, effects=Effects.TERMINATES),
    _generic("if", 1, None, {}, regions=2, effects=_REGIONS),
    _generic("case", 1, None, {}, regions=None, effects=_REGIONS),
    _generic("map", None, 1, {"dimensions": _INTS}, regions=1, effects=_REGIONS),
    _generic("gather", 2, 1, {**_GATHER, "slice_sizes": _INTS}),
    _generic("dynamic_gather", 3, 1, _GATHER),
    _generic("dynamic_conv", 3, 1, {name: value for name, value in _CONVOLUTION.items() if name != "padding"}),
    _generic("torch_index_select", 2, 1, {"dim": _INT, "batch_dims": _INT}),
    _generic(
        "triangular_solve",
        2,
        1,
        {
            "left_side": _BOOL,
            "lower": _BOOL,
            "unit_diagonal": _BOOL,
            "transpose_a": Property(BaseAttr(attrs.TransposeAttr)),
        },
    ),
    _generic("batch_norm_grad", 5, 3, _BATCH_NORM),
    _generic("batch_norm_inference", 5, 1, _BATCH_NORM),
    _generic("batch_norm_training", 3, 3, _BATCH_NORM),
    _generic(
        "scatter",
        None,
        None,
        {
            "scatter_dimension_numbers": Property(BaseAttr(attrs.ScatterDimensionNumbersAttr)),
            "indices_are_sorted": _OPTIONAL_BOOL,
            "unique_indices": _OPTIONAL_BOOL,
        },
        regions=1,
        effects=_REGIONS,
    ),
    _generic(
        "select_and_scatter",
        3,
        1,
        {"window_dimensions": _OPTIONAL_INTS, "window_strides": _OPTIONAL_INTS, "padding": _OPTIONAL_DENSE},
        regions=2,
        effects=_REGIONS,
    ),
    _generic(
        "sort",
        None,
        None,
        {"dimension": Property(IntegerAttr.constr(i64), required=False), "is_stable": _OPTIONAL_BOOL},
        regions=1,
        effects=_REGIONS,
    ),
    _generic(
        "reduce_window",
        None,
        None,
        {
            "window_dimensions": _INTS,
            "window_strides": _OPTIONAL_INTS,
            "base_dilations": _OPTIONAL_INTS,
            "window_dilations": _OPTIONAL_INTS,
            "padding": _OPTIONAL_DENSE,
        },
        regions=1,
        effects=_REGIONS,
    ),
    _generic("infeed", 1, None, {"infeed_config": _OPTIONAL_TEXT, "layout": _OPTIONAL_LIST}, effects=_UNKNOWN),
    _generic("outfeed", None, 1, {"outfeed_config": _OPTIONAL_TEXT}, effects=_UNKNOWN),
    _generic("send", None, 1, _TRANSFER, effects=_UNKNOWN),
    _generic("recv", 1, None, _TRANSFER, effects=_UNKNOWN),
    _generic("all_gather", None, None, {"all_gather_dim": _INT, **_DEVICES}, effects=_UNKNOWN),
    _generic("all_reduce", None, None, _DEVICES, regions=1, effects=_UNKNOWN),
    _generic("reduce_scatter", 1, 1, {"scatter_dimension": _INT, **_DEVICES}, regions=1, effects=_UNKNOWN),
    _generic(
        "all_to_all",
        None,
        None,
        {"split_dimension": _INT, "concat_dimension": _INT, "split_count": _INT, **_GROUPS},
        effects=_UNKNOWN,
    ),
    _generic("collective_broadcast", None, None, {**_GROUPS, "has_dynamic_root": _FLAG}, effects=_UNKNOWN),
    _generic("collective_reduce", None, None, {**_DEVICES, "has_dynamic_root": _FLAG}, regions=1, effects=_UNKNOWN),
    _generic(
        "collective_permute", None, None, {"source_target_pairs": _DENSE, "channel_handle": _CHANNEL}, effects=_UNKNOWN
    ),
    _generic("cross-replica-sum", 1, 1, {"replica_groups": _DENSE}, effects=_UNKNOWN),
    _generic("async_start", None, 1, {}, regions=1, effects=_UNKNOWN),
    _generic("async_done", 1, 1, {}, effects=_UNKNOWN),
)
"""All ops of StableHLO but those of `special_ops`."""

CONSTANT_ROW = Row("constant", 0, properties={"value": _ANY})
REDUCE_ROW = Row("reduce", results=None, regions=1, effects=_REGIONS, properties={"dimensions": _INTS})
WHILE_ROW = Row("while", results=None, regions=2, effects=_REGIONS)
BARRIER_ROW = Row("optimization_barrier", results=None)
SCAN_ROW = Row(
    "scan",
    results=None,
    regions=1,
    properties={
        "dimension": _INT,
        "scan_dim_size": _OPTIONAL,
        "is_reverse": _OPTIONAL_BOOL,
        "is_associative": _OPTIONAL_BOOL,
        "operandSegmentSizes": _OPTIONAL,
        "resultSegmentSizes": _OPTIONAL,
    },
    effects=_REGIONS,
)
TOP_K_ROW = Row("top_k", 1, 2, properties={"k": _INT, "is_stable": _OPTIONAL_BOOL})

_BROADCAST_DIMENSIONS = {"broadcast_dimensions": _OPTIONAL_INTS}

CHLO_ROWS: tuple[Row, ...] = (
    *(
        Row(name, 1, types=ARROW)
        for name in [
            "_asin_acos_kernel",
            "acos",
            "acosh",
            "asin",
            "asinh",
            "atan",
            "atanh",
            "bessel_i1e",
            "conj",
            "cosh",
            "digamma",
            "erf",
            "erf_inv",
            "erfc",
            "is_inf",
            "is_neg_inf",
            "is_pos_inf",
            "lgamma",
            "sinh",
            "square",
            "tan",
        ]
    ),
    *(Row(name, 2, types=ARROW) for name in ["mulhi", "next_after", "polygamma", "zeta"]),
    *(
        Row(f"broadcast_{name}", 2, properties=_BROADCAST_DIMENSIONS)
        for name in [
            "add",
            "and",
            "atan2",
            "complex",
            "divide",
            "maximum",
            "minimum",
            "multiply",
            "next_after",
            "or",
            "polygamma",
            "power",
            "remainder",
            "shift_left",
            "shift_right_arithmetic",
            "shift_right_logical",
            "subtract",
            "xor",
            "zeta",
        ]
    ),
    Row(
        "broadcast_compare",
        2,
        properties={**_BROADCAST_DIMENSIONS, "comparison_direction": _ANY, "compare_type": _OPTIONAL},
    ),
    Row("broadcast_select", 3),
    _generic("constant_like", 1, 1, {"value": _ANY}),
    _generic("ragged_dot", 3, 1, {"ragged_dot_dimension_numbers": _ANY, "precision_config": _OPTIONAL_LIST}),
)
"""All ops of CHLO but `constant`, `scan` and `top_k`."""
