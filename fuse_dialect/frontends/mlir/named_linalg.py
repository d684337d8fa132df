"""Named ops of MLIR's linalg dialect, made from the table of their forms.

xDSL 0.74 has 26 of the named ops, and the hidden regions of some differ from MLIR's: the operands of the sum of a
convolution are swapped, and a maximum over a window takes the window instead of the element. The ops of this module
have the regions that MLIR builds, so that their pretty and their generic form mean the same there.

    linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%x, %w : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) outs(%y : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
"""

from collections.abc import Mapping, Sequence
from typing import Self, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AnyFloat,
    ArrayAttr,
    DenseIntElementsAttr,
    FloatAttr,
    IntegerType,
    MemRefType,
    ShapedType,
    TensorType,
    i64,
)
from xdsl.dialects.linalg.ops import YieldOp
from xdsl.dialects.math import Math
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.building import building
from fuse_dialect.dialect.types import is_tensor
from fuse_dialect.frontends.mlir.linalg_forms import FORMS, FUNCTIONS, Form, input_count

SCALAR_OPS: Mapping[str, type[Operation]] = {op.name: op for op in (*arith.Arith.operations, *Math.operations)}
"""Ops of `arith` and `math` by name."""


class NamedOp(IRDLOperation):
    """An op of linalg with inputs and outputs, whose region follows from its name."""

    inputs = var_operand_def()
    outputs = var_operand_def()
    res = var_result_def(TensorType)
    strides = opt_prop_def(DenseIntElementsAttr)
    dilations = opt_prop_def(DenseIntElementsAttr)
    indexing_maps = opt_prop_def(ArrayAttr)
    cast = opt_prop_def(Attribute)
    body = var_region_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        inputs: Sequence[SSAValue],
        outputs: Sequence[SSAValue],
        properties: Mapping[str, Attribute] | None = None,
        attributes: Mapping[str, Attribute] | None = None,
    ):
        """Build the op; results have the types of those outputs that are tensors."""
        super().__init__(
            operands=[inputs, outputs],
            result_types=[result_types(outputs)],
            properties=dict(properties or {}),
            attributes=dict(attributes or {}),
            regions=[[self.hidden_region(inputs, outputs)]],
        )

    def verify_(self) -> None:
        """Check that results are as the outputs, whose types are those that the form says."""
        if (message := self.wrong_counts(self.inputs, self.outputs)) is not None:
            raise VerifyException(message)
        if list(self.result_types) != result_types(self.outputs):
            raise VerifyException("expects a result of the type of each tensor in 'outs'")

    def get_indexing_maps(self) -> ArrayAttr[AffineMapAttr]:
        """For each operand the map from loops to the place of an element, as ops of xDSL have it."""
        if self.indexing_maps is not None:
            return cast(ArrayAttr[AffineMapAttr], self.indexing_maps)
        form = FORMS.get(self.name.removeprefix("linalg."))
        return aligned(self.operands) if form is None else _maps_of(form, self.strides, self.dilations)

    @classmethod
    def wrong_counts(cls, inputs: Sequence[SSAValue], outputs: Sequence[SSAValue]) -> str | None:
        """What to say of more or fewer operands than the op has: the region is made of them."""
        count = input_count(cls.name.removeprefix("linalg."))
        if (len(inputs), len(outputs)) == (count, 1):
            return None
        return f"expects {count} operands in 'ins' and 1 in 'outs', got {len(inputs)} and {len(outputs)}"

    @classmethod
    def hidden_region(cls, inputs: Sequence[SSAValue], outputs: Sequence[SSAValue]) -> Region:
        """The region that MLIR builds from the op's name and the types of its elements."""
        elements = [element_of(value.type) for value in (*inputs, *outputs)]
        block = Block(arg_types=elements)
        short = cls.name.removeprefix("linalg.")
        with building(block):
            *values, total = block.args
            form = FORMS.get("matmul" if short == "contract" else short)
            YieldOp(_function(short, values, total) if form is None else _combined(form, values, total))
        return Region(block)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what stands behind the op's name."""
        properties: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("indexing_maps"):
            parser.parse_punctuation("=")
            properties["indexing_maps"] = parser.parse_attribute()
        attributes = parser.parse_optional_attr_dict()
        for name in ("strides", "dilations", "indexing_maps", "cast"):
            if name in attributes:
                properties[name] = attributes.pop(name)
        attributes.pop("operandSegmentSizes", None)
        start = parser.pos
        inputs, outputs = parse_operands(parser, "ins"), parse_operands(parser, "outs")
        attributes |= parser.parse_optional_attr_dict()
        if parser.parse_optional_punctuation("->"):
            parse_result_types(parser)
        if (message := cls.wrong_counts(inputs, outputs)) is not None:
            parser.raise_error(message, start)
        return cls(inputs, outputs, properties, attributes)

    def print(self, printer: Printer) -> None:
        """Print what stands behind the op's name."""
        if self.indexing_maps is not None:
            printer.print_string(" indexing_maps = ")
            printer.print_attribute(self.indexing_maps)
        shown = {name: value for name, value in self.properties.items() if name in ("cast", "dilations", "strides")}
        form = FORMS.get(self.name.removeprefix("linalg."))
        if form is not None and form.window_rank:
            # MLIR may leave them out where they are 1, xDSL may not.
            ones = DenseIntElementsAttr.from_list(TensorType(i64, [form.window_rank]), [1])
            shown = {"dilations": ones, "strides": ones, **shown}
        printer.print_op_attributes(dict(sorted({**shown, **self.attributes}.items())))
        print_operands(printer, "ins", self.inputs)
        print_operands(printer, "outs", self.outputs)
        if self.res:
            printer.print_string(" -> ")
            printer.print_list([result.type for result in self.res], printer.print_attribute)


def aligned(operands: Sequence[SSAValue]) -> ArrayAttr[AffineMapAttr]:
    """Maps that leave loops as they are; a number is read in every iteration."""
    loops = _rank(operands[-1])
    return ArrayAttr(
        AffineMapAttr(AffineMap.identity(loops) if _rank(value) == loops else AffineMap(loops, 0, ()))
        for value in operands
    )


def _rank(value: SSAValue) -> int:
    return len(value.type.get_shape()) if isinstance(value.type, ShapedType) else 0


def _maps_of(
    form: Form, strides: DenseIntElementsAttr | None, dilations: DenseIntElementsAttr | None
) -> ArrayAttr[AffineMapAttr]:
    """The maps of a named op, from its form; strides and dilations that it lacks are 1."""
    loops = [*form.parallel.split(), *form.reduced.split()]
    window = form.window_rank
    factors = {
        sign: iter([1] * window if attribute is None else list(attribute.get_values()))
        for sign, attribute in (("s", strides), ("d", dilations))
    }

    def axis(text: str) -> AffineExpr:
        total = AffineExpr.constant(0)
        for term in text.split("+"):
            factor, _, loop = term.rpartition("*")
            place = AffineExpr.dimension(loops.index(loop))
            total = total + (place * next(factors[factor]) if factor else place)
        return total

    results = [*form.inputs, form.parallel]
    return ArrayAttr(AffineMapAttr(AffineMap(len(loops), 0, tuple(map(axis, text.split())))) for text in results)


def parse_operands(parser: Parser, keyword: str) -> list[SSAValue]:
    """Parse `ins(%a, %b : type, type)`; none if it is not there."""
    if not parser.parse_optional_keyword(keyword):
        return []
    parser.parse_punctuation("(")
    position = parser.pos
    names = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    parser.parse_punctuation(")")
    return list(parser.resolve_operands(names, types, position))


def print_operands(printer: Printer, keyword: str, values: Sequence[SSAValue]) -> None:
    """Print ` ins(%a, %b : type, type)`; nothing if there are none."""
    if not values:
        return
    printer.print_string(f" {keyword}(")
    printer.print_list(values, printer.print_ssa_value)
    printer.print_string(" : ")
    printer.print_list([value.type for value in values], printer.print_attribute)
    printer.print_string(")")


def parse_result_types(parser: Parser) -> list[Attribute]:
    """Types of results: one, or a list in parentheses."""
    return list(
        parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type) or [parser.parse_type()]
    )


def result_types(outputs: Sequence[SSAValue]) -> list[Attribute]:
    """Types of the results: those of the outputs that are tensors, and not buffers."""
    return [output.type for output in outputs if is_tensor(output.type)]


def element_of(type: Attribute) -> Attribute:
    """The element type of a tensor or buffer; other types are their own."""
    if is_tensor(type):
        return type.element_type
    return cast(MemRefType[Attribute], type).element_type if isinstance(type, MemRefType) else type


def _apply(name: str, *operands: SSAValue, like: Attribute | None = None) -> SSAValue:
    return SCALAR_OPS[name].create(operands=operands, result_types=[like or operands[-1].type]).results[0]


def _converted(value: SSAValue, target: Attribute) -> SSAValue:
    """The value in the type of the total, as MLIR's `cast_signed` does."""
    source = value.type
    if source == target:
        return value
    match source, target:
        case IntegerType(), IntegerType():
            wider = source.width.data < target.width.data
            name = "arith.extsi" if wider else "arith.trunci"
        case IntegerType(), _:
            name = "arith.sitofp"
        case _, IntegerType():
            name = "arith.fptosi"
        case _:
            assert isinstance(source, AnyFloat), "elements are numbers"
            assert isinstance(target, AnyFloat), "elements are numbers"
            name = "arith.extf" if source.bitwidth < target.bitwidth else "arith.truncf"
    return _apply(name, value, like=target)


def _combined(form: Form, values: Sequence[SSAValue], total: SSAValue) -> SSAValue:
    suffix = "f" if isinstance(total.type, AnyFloat) else "i"
    if form.combination == "product":
        left, right = (_converted(value, total.type) for value in values[:2])
        return _apply(f"arith.add{suffix}", total, _apply(f"arith.mul{suffix}", left, right))
    element = _converted(values[0], total.type)
    if form.combination == "sum":
        return _apply(f"arith.add{suffix}", total, element)
    name, _, unsigned = form.combination.partition("_")
    if suffix == "f":
        return _apply(f"arith.{name}imumf", total, element)
    return _apply(f"arith.{name}{'u' if unsigned else 's'}i", total, element)


def _function(name: str, values: Sequence[SSAValue], total: SSAValue) -> SSAValue:
    operands = [value if value.type == IntegerType(1) else _converted(value, total.type) for value in values]
    match name:
        case "copy" | "fill":
            return operands[0]
        case "square":
            return _apply("arith.mulf", operands[0], operands[0])
        case "reciprocal":
            assert isinstance(total.type, AnyFloat), "the reciprocal of an integer is no op of linalg"
            one = arith.ConstantOp(FloatAttr(1.0, total.type)).result
            return _apply("arith.divf", one, operands[0])
        case _:
            floating, integer = FUNCTIONS[name]
            function = (floating or integer) if isinstance(total.type, AnyFloat) else (integer or floating)
            return _apply(function, *operands, like=total.type)


def _op_class(name: str) -> type[NamedOp]:
    body = {"name": f"linalg.{name}", "__doc__": f"`linalg.{name}`."}
    return irdl_op_definition(type(f"{name.title().replace('_', '')}Op", (NamedOp,), body))


NAMED_OPS: Mapping[str, type[NamedOp]] = {name: _op_class(name) for name in ("fill", *FORMS, *FUNCTIONS)}
"""Ops by the name without the dialect."""


def window_attribute(values: Sequence[int]) -> DenseIntElementsAttr:
    """Strides or dilations as a property."""
    return DenseIntElementsAttr.from_list(TensorType(i64, [len(values)]), list(values))
