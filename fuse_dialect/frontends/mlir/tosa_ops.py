"""TOSA as mlir-opt prints it: nearly all of its ops share one form.

    %1 = tosa.conv2d %x, %w, %b, %z, %z {acc_type = f32, stride = array<i64: 1, 1>} : (tensor<...>, ...) -> tensor<...>

Newer versions of MLIR, those of IREE 3.13 among them, print attributes as clauses, and both are read:

    %1 = tosa.conv2d %x, %w, %b, %z, %z pad([0, 0, 0, 0]) stride([1, 1]) dilation([1, 1]) acc_type(f32) : ...

What is printed is the form with braces, or clauses for a printer that wants them (`clauses`); and `tosa.const` in the
generic form, as versions of MLIR did before it had one of its own: all of them read it, and so does xDSL. xDSL 0.74
has 21 of the 103 ops, some of them with fewer operands than MLIR gives them today; the ops here take any. Missing are
the `variable` ops, whose assembly is another; ops with regions stand in `tosa_regions`.
"""

from collections.abc import Mapping
from typing import Self, cast

from xdsl.dialects.builtin import DenseArrayBase, IntAttr, IntegerAttr, UnitAttr, i32, i64
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    opt_prop_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.diagnostics import printable
from fuse_dialect.frontends.mlir.clauses import wants_clauses
from fuse_dialect.frontends.mlir.keyword_attribute import KeywordAttr
from fuse_dialect.frontends.mlir.own_form import PartialForm

_NAMES = """
abs add add_shape apply_scale argmax argmin arithmetic_right_shift assert_equal_shape avg_pool2d avg_pool2d_adaptive
bitwise_and bitwise_not bitwise_or bitwise_xor cast cast_from_block_scaled cast_to_block_scaled ceil clamp clz concat
concat_shape const const_shape conv2d conv2d_block_scaled conv3d cos custom depthwise_conv2d dim div_ceil_shape
div_floor_shape equal erf exp exp2_shape fft2d floor fully_connected gather greater greater_equal identity intdiv log
log2_ceil_shape log2_floor_shape logical_and logical_left_shift logical_not logical_or logical_right_shift logical_xor
matmul matmul_t matmul_t_block_scaled max_pool2d max_pool2d_adaptive max_shape maximum min_shape minimum mod_shape mul
mul_shape negate pad pow reciprocal reduce_all reduce_any reduce_max reduce_min reduce_prod reduce_product reduce_sum
rescale reshape reshape_block_scaled resize reverse rfft2d row_gather row_gather_block_scaled rsqrt scatter select
sigmoid sin slice slice_shape sub sub_shape table tanh tile transpose transpose_conv2d
"""
_PROPERTIES = """
a_zp acc_type allow_subbyte axis b_zp block_size dilation domain_name double_round implementation_attrs input1_zp
input2_zp input_unsigned input_zp inverse kernel local_bound max_fp max_int max_val min_fp min_int min_val mode
multiples multiplier nan_mode new_shape operator_name out_pad out_shape output_unsigned output_zp pad pad_const
per_channel perms quantization_info round rounding_mode scale32 shift size start stride value values weight_zp
"""


@irdl_attr_definition
class BlockSizeAttr(KeywordAttr):
    """How many elements share a scale: BLOCK_SIZE_32."""

    name = "tosa.block_size"


@irdl_attr_definition
class NanModeAttr(KeywordAttr):
    """What becomes of nan: PROPAGATE or IGNORE."""

    name = "tosa.nan_mode"


@irdl_attr_definition
class ResizeModeAttr(KeywordAttr):
    """NEAREST_NEIGHBOR or BILINEAR."""

    name = "tosa.resize_mode"


@irdl_attr_definition
class RoundingModeAttr(KeywordAttr):
    """SINGLE_ROUND, INEXACT_ROUND or DOUBLE_ROUND."""

    name = "tosa.rounding_mode"


@irdl_attr_definition
class ShapeType(ParametrizedAttribute, TypeAttribute):
    """A list of so many sizes: `!tosa.shape<4>`."""

    name = "tosa.shape"

    rank: IntAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        """Parse the number."""
        with parser.in_angle_brackets():
            return [IntAttr(parser.parse_integer())]

    def print_parameters(self, printer: Printer) -> None:
        """Print the number."""
        printer.print_string(f"<{self.rank.data}>")


_KEYWORDS: Mapping[str, type[KeywordAttr]] = {
    "block_size": BlockSizeAttr,
    "nan_mode": NanModeAttr,
    "mode": ResizeModeAttr,
    "rounding_mode": RoundingModeAttr,
}
"""Attributes that are printed as a word alone, by name."""
_CLAUSES = """
out_pad kernel pad stride dilation acc_type local_bound axis perms min_val max_val mode scale32 rounding_mode
per_channel input_unsigned output_unsigned round inverse block_size nan_mode
"""
"""Clauses in the order in which MLIR reads them; others follow by name. Pools have their stride before their pad."""


class TosaOp(IRDLOperation):
    """An op in the common form."""

    operands_ = var_operand_def()
    results_ = var_result_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse operands, clauses, attributes and a function type."""
        position = parser.pos
        names = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        clauses = _clauses(parser)
        entries = parser.parse_optional_comma_separated_list(parser.Delimiter.BRACES, lambda: _entry(parser))
        parser.parse_punctuation(":")
        type = parser.parse_function_type()
        operands = parser.resolve_operands(names or [], type.inputs.data, position)
        known = _PROPERTIES.split()
        return cls.create(
            operands=operands,
            result_types=type.outputs.data,
            properties=clauses | {name: value for name, value in entries or () if name in known},
            attributes={name: value for name, value in entries or () if name not in known},
        )

    def verify_(self) -> None:
        """Check that attributes that are no properties have a name with a dot, as the form takes for granted."""
        for name in self.attributes:
            if "." not in name:
                raise VerifyException(f"has no attribute '{printable(name)}'")

    def print(self, printer: Printer) -> None:
        """Print operands, attributes and a function type."""
        if self.operands:
            printer.print_string(" ")
            printer.print_list(self.operands, printer.print_ssa_value)
        if wants_clauses(printer):
            _print_clauses(printer, self.properties)
            entries = sorted(self.attributes.items())
        else:
            entries = sorted({**self.properties, **self.attributes}.items())
        if entries:
            printer.print_string(" {")
            printer.print_list(entries, lambda entry: _print_entry(printer, *entry))
            printer.print_string("}")
        printer.print_string(" : ")
        printer.print_operation_type(self)


def _clauses(parser: Parser) -> dict[str, Attribute]:
    """Parse `axis(1) nan_mode<IGNORE>`: any number of properties, each once."""
    found: dict[str, Attribute] = {}
    start = parser.pos
    while (name := parser.parse_optional_identifier()) is not None:
        if name not in _PROPERTIES.split() or name in found:
            parser.raise_error(f"unknown or repeated attribute '{printable(name)}'", start, parser.pos)
        if name in _KEYWORDS:
            found[name] = _KEYWORDS[name](_KEYWORDS[name].parse_parameter(parser))
        else:
            with parser.in_parens():
                found[name] = _clause_value(parser, name)
        start = parser.pos
    return found


def _clause_value(parser: Parser, name: str) -> Attribute:
    """Parse the value of a clause; lists and axes have no type in the text."""
    integers = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
    if integers is not None:
        return DenseArrayBase.from_list(i32 if name == "perms" else i64, integers)
    if name == "axis":
        return IntegerAttr(parser.parse_integer(allow_boolean=False), i32)
    return parser.parse_attribute()


def _entry(parser: Parser) -> tuple[str, Attribute]:
    start = parser.pos
    name = parser.parse_optional_identifier_or_str_literal()
    if name is None:
        parser.raise_error("expected the name of an attribute")
    if name not in _PROPERTIES.split() and "." not in name:
        parser.raise_error(f"unknown attribute '{printable(name)}'", start, parser.pos)
    if parser.parse_optional_punctuation("=") is None:
        return name, UnitAttr()
    word = parser.parse_optional_identifier() if name in _KEYWORDS else None
    return name, parser.parse_attribute() if word is None else _KEYWORDS[name](word)


def _print_entry(printer: Printer, name: str, value: Attribute) -> None:
    printer.print_identifier_or_string_literal(name)
    printer.print_string(" = ")
    if isinstance(value, KeywordAttr) and name in _KEYWORDS:
        printer.print_string(value.data)
    else:
        printer.print_attribute(value)


def _print_clauses(printer: Printer, properties: Mapping[str, Attribute]) -> None:
    """Print ` axis(1) nan_mode<IGNORE>`."""
    words = [*(("kernel", "stride") if "kernel" in properties else ()), *_CLAUSES.split()]
    order = {word: place for place, word in reversed(list(enumerate(words)))}
    for name in sorted(properties, key=lambda name: (order.get(name, len(words)), name)):
        value = properties[name]
        printer.print_string(f" {name}")
        if isinstance(value, KeywordAttr) and name in _KEYWORDS:
            printer.print_string(f"<{value.data}>")
            continue
        with printer.in_parens():
            if isinstance(value, DenseArrayBase):
                with printer.in_square_brackets():
                    printer.print_list(value.get_values(), printer.print_int)
            elif name == "axis" and isinstance(value, IntegerAttr):
                printer.print_int(value.value.data)
            else:
                printer.print_attribute(value)


class ConstOp(TosaOp, PartialForm):
    """A constant, of which xDSL 0.74 knows the generic form alone."""

    def has_own_form(self) -> bool:
        """Print the generic form."""
        return False


def _op_class(name: str) -> type[TosaOp]:
    members = {"name": f"tosa.{name}", "__doc__": f"`tosa.{name}`."}
    members |= {f"{own}_": opt_prop_def(Attribute, prop_name=own) for own in _PROPERTIES.split()}
    base = ConstOp if name == "const" else TosaOp
    return irdl_op_definition(cast("type[TosaOp]", type(f"{name.title().replace('_', '')}Op", (base,), members)))


TOSA_OPS: tuple[type[TosaOp], ...] = tuple(_op_class(name) for name in _NAMES.split())
"""Ops in the common form."""
