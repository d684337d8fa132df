"""Ops of linalg whose pretty form says more than inputs and outputs, as mlir-opt prints them.

1. `generic` with several results: `-> (tensor<4xf32>, tensor<4xi32>)`, which xDSL 0.74 prints and cannot read.
2. `map` and `reduce` in their short form, `{ arith.addf }`, and with a region.
3. `contract`, `elementwise`, `softmax`, `pack` and `unpack`.
"""

from collections.abc import Sequence
from typing import Self, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    AnyTensorType,
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    ShapedType,
    TensorType,
    i64,
)
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.linalg.ops import GenericOp, YieldOp
from xdsl.dialects.utils import parse_dynamic_index_list_without_types, print_dynamic_index_list
from xdsl.dialects.utils.dynamic_index_list import verify_dynamic_index_list
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    SameVariadicOperandSize,
    base,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.building import building
from fuse_dialect.frontends.mlir.clauses import wants_clauses
from fuse_dialect.frontends.mlir.keyword_attribute import KeywordAttr
from fuse_dialect.frontends.mlir.linalg_forms import FUNCTIONS
from fuse_dialect.frontends.mlir.locations import parse_located_argument
from fuse_dialect.frontends.mlir.named_linalg import (
    NAMED_OPS,
    SCALAR_OPS,
    NamedOp,
    aligned,
    element_of,
    parse_operands,
    parse_result_types,
    print_operands,
    result_types,
)


@irdl_attr_definition
class TypeFunctionAttr(KeywordAttr):
    """How a named op converts its inputs."""

    name = "linalg.type_fn"


@irdl_attr_definition
class ElementwiseKindAttr(KeywordAttr):
    """The function of `linalg.elementwise`."""

    name = "linalg.elementwise_kind"


class UpstreamGenericOp(GenericOp):
    """`linalg.generic`, with any number of results."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what stands behind the op's name."""
        start = parser.pos
        # A trait is a dictionary, or the alias of one: `linalg.generic #trait ins(...)`.
        trait = parser.parse_optional_attribute()
        attributes = dict(trait.data) if isinstance(trait, DictionaryAttr) else {}
        maps, iterators = attributes.pop("indexing_maps", None), attributes.pop("iterator_types", None)
        if not isinstance(maps, ArrayAttr) or not isinstance(iterators, ArrayAttr):
            parser.raise_error("expected indexing_maps and iterator_types for linalg.generic", start)
        inputs, outputs = parse_operands(parser, "ins"), parse_operands(parser, "outs")
        if parser.parse_optional_keyword("attrs"):
            parser.parse_punctuation("=")
            attributes |= parser.parse_optional_attr_dict()
        body = parser.parse_region()
        results = parse_result_types(parser) if parser.parse_optional_punctuation("->") else []
        types = [cls._iterator(item, parser) for item in cast(ArrayAttr[Attribute], iterators)]
        op = cls(inputs, outputs, body, cast(ArrayAttr[AffineMapAttr], maps), types, results)
        for name in ("doc", "library_call"):
            if name in attributes:
                op.properties[name] = attributes.pop(name)
        op.attributes |= attributes
        return op

    @staticmethod
    def _iterator(item: Attribute, parser: Parser) -> IteratorTypeAttr:
        text = getattr(item, "data", None)
        if isinstance(item, IteratorTypeAttr):
            return item
        if not isinstance(text, str) or text not in list(IteratorType):
            parser.raise_error(f"unknown iterator type {item}")
        return IteratorTypeAttr(IteratorType(text))


def parse_indexing_maps(parser: Parser) -> Attribute | None:
    """Parse `indexing_maps = [...]`, if it is there."""
    if not parser.parse_optional_keyword("indexing_maps"):
        return None
    parser.parse_punctuation("=")
    return parser.parse_attribute()


def _payload(parser: Parser) -> tuple[str, dict[str, Attribute]] | None:
    """The op of a short form, `{ arith.addf }`, and its attributes."""
    if parser.parse_optional_punctuation("{") is None:
        return None
    start = parser.pos
    name = parser.parse_identifier()
    if name not in SCALAR_OPS:
        parser.raise_error(f"expected an op of arith or math, got '{name}'", start, parser.pos)
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation("}")
    return name, attributes


def _payload_region(
    payload: tuple[str, dict[str, Attribute]], types: Sequence[Attribute], order: Sequence[int], result: Attribute
) -> Region:
    name, attributes = payload
    block = Block(arg_types=types)
    with building(block):
        operands = [block.args[place] for place in order]
        YieldOp(SCALAR_OPS[name].create(operands=operands, result_types=[result], properties=attributes).results[0])
    return Region(block)


def _short_form(region: Region, order: Sequence[int]) -> Operation | None:
    """The only op of a region, if it takes the block's arguments in the order of the short form."""
    block = region.blocks[0]
    op = block.first_op
    if op is None or op.next_op is not block.last_op or op.name not in SCALAR_OPS or block.last_op is None:
        return None
    takes = [operand.index if isinstance(operand, BlockArgument) else -1 for operand in op.operands]
    is_yielded = list(block.last_op.operands) == list(op.results)
    return op if takes == list(order) and is_yielded else None


def _parse_region(parser: Parser) -> Region:
    """Parse `(%in: f32, %out: f32) { ... }`."""
    arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_located_argument(parser))
    return parser.parse_region(arguments)


def _print_payload(printer: Printer, op: Operation) -> None:
    printer.print_string(f" {{ {op.name}")
    shown = {name: value for name, value in op.properties.items() if str(value) != "#arith.fastmath<none>"}
    printer.print_op_attributes({**shown, **op.attributes})
    printer.print_string(" }")


def _print_region(printer: Printer, region: Region) -> None:
    printer.print_string(" ")
    with printer.in_parens():
        printer.print_list(region.block.args, printer.print_block_argument)
    printer.print_string(" ")
    printer.print_region(region, print_entry_block_args=False)


@irdl_op_definition
class MapOp(IRDLOperation):
    """A function of the elements at one place of all inputs."""

    name = "linalg.map"

    inputs = var_operand_def()
    init = operand_def()
    res = var_result_def(TensorType)
    mapper = region_def("single_block")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse the short form, or the one with a region."""
        payload = _payload(parser)
        start = parser.pos
        inputs, outputs = parse_operands(parser, "ins"), parse_operands(parser, "outs")
        attributes = parser.parse_optional_attr_dict()
        if len(outputs) != 1:
            parser.raise_error(f"expected one operand in 'outs', got {len(outputs)}", start)
        element = element_of(outputs[0].type)
        if payload is None:
            region = _parse_region(parser)
        else:
            types = [element_of(value.type) for value in (*inputs, *outputs)]
            region = _payload_region(payload, types, range(len(inputs)), element)
        return cls(
            operands=[inputs, outputs[0]], result_types=[result_types(outputs)], regions=[region], attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        """Print the short form if it is one."""
        payload = _short_form(self.mapper, range(len(self.inputs)))
        if payload is not None:
            _print_payload(printer, payload)
        print_operands(printer, "ins", self.inputs)
        print_operands(printer, "outs", [self.init])
        printer.print_op_attributes(self.attributes)
        if payload is None:
            _print_region(printer, self.mapper)


@irdl_op_definition
class ReduceOp(IRDLOperation):
    """Elements of several inputs combined along axes: xDSL's has one input, whose elements are of the init's type."""

    name = "linalg.reduce"

    inputs = var_operand_def(base(MemRefType) | base(AnyTensorType))
    inits = var_operand_def(base(MemRefType) | base(AnyTensorType))
    res = var_result_def(TensorType)
    combiner = region_def("single_block")
    dimensions = prop_def(DenseArrayBase.constr(i64))

    irdl_options = (SameVariadicOperandSize(),)

    def verify_(self) -> None:
        """Check the axes, shapes, and what the region takes."""
        values = (*self.inputs, *self.inits)
        if not self.inputs:
            raise VerifyException("expects an input")
        shapes = [cast(ShapedType, value.type).get_shape() for value in values]
        axes = self.dimensions.get_values()
        if list(axes) != sorted({*axes} & {*range(len(shapes[0]))}):
            raise VerifyException(f"expects increasing axes of {len(shapes[0])}, got {list(axes)}")
        kept = tuple(size for axis, size in enumerate(shapes[0]) if axis not in axes)
        for value, wanted in zip(values, [shapes[0]] * len(self.inputs) + [kept] * len(self.inits), strict=True):
            if cast(ShapedType, value.type).get_shape() != wanted:
                shown = "x".join("?" if size == DYNAMIC_INDEX else str(size) for size in wanted)
                raise VerifyException(f"expects the shape '{shown}', got {value.type}")
        if list(self.res.types) != result_types(self.inits):
            raise VerifyException("expects results of the inits' types")
        if list(self.combiner.block.arg_types) != [element_of(value.type) for value in values]:
            raise VerifyException("expects a region that takes an element of each operand")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse the short form, or the one with a region."""
        payload = _payload(parser)
        inputs, outputs = parse_operands(parser, "ins"), parse_operands(parser, "outs")
        parser.parse_keyword("dimensions")
        parser.parse_punctuation("=")
        dimensions = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        attributes = parser.parse_optional_attr_dict()
        if payload is None:
            region = _parse_region(parser)
        else:
            if len(outputs) != 1:
                parser.raise_error("expected a region for several inputs")
            types = [element_of(value.type) for value in (*inputs, *outputs)]
            region = _payload_region(payload, types, (1, 0), types[-1])
        return cls(
            operands=[inputs, outputs],
            result_types=[result_types(outputs)],
            properties={"dimensions": DenseArrayBase.from_list(i64, dimensions)},
            attributes=attributes,
            regions=[region],
        )

    def print(self, printer: Printer) -> None:
        """Print the short form if it is one."""
        payload = _short_form(self.regions[0], (1, 0)) if len(self.operands) == 2 else None
        if payload is not None:
            _print_payload(printer, payload)
        print_operands(printer, "ins", self.inputs)
        print_operands(printer, "outs", self.inits)
        printer.print_string(f" dimensions = {list(self.dimensions.get_values())}")
        printer.print_op_attributes(self.attributes)
        if payload is None:
            _print_region(printer, self.regions[0])


@irdl_op_definition
class ContractOp(NamedOp):
    """A sum of products over the axes that the maps leave out of the result."""

    name = "linalg.contract"


def _identities(type: Attribute, count: int) -> ArrayAttr[AffineMapAttr]:
    """Maps that leave all loops as they are."""
    rank = len(type.get_shape()) if isinstance(type, ShapedType) else 0
    return ArrayAttr([AffineMapAttr(AffineMap.identity(rank))] * count)


def _elementwise_kind(parser: Parser) -> Attribute:
    """Parse `kind=#linalg.elementwise_kind<add>`, or `<add>` as newer versions of MLIR print it."""
    if parser.parse_optional_keyword("kind") is None:
        return ElementwiseKindAttr(ElementwiseKindAttr.parse_parameter(parser))
    parser.parse_punctuation("=")
    return parser.parse_attribute()


_FUNCTION_OF_KIND = {"max_signed": "max", "min_signed": "min"}
"""The named op that computes the same as an elementwise kind, where the names differ."""


@irdl_op_definition
class ElementwiseOp(IRDLOperation):
    """A function of the elements that the maps align."""

    name = "linalg.elementwise"

    inputs = var_operand_def()
    outputs = var_operand_def()
    res = var_result_def(TensorType)
    kind = prop_def(ElementwiseKindAttr)
    indexing_maps = prop_def(ArrayAttr)
    body = var_region_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def get_indexing_maps(self) -> ArrayAttr[AffineMapAttr]:
        """For each operand the map from loops to the place of an element, as ops of xDSL have it."""
        return cast(ArrayAttr[AffineMapAttr], self.indexing_maps)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what stands behind the op's name."""
        properties = {"kind": _elementwise_kind(parser)}
        maps = parse_indexing_maps(parser)
        if maps is not None:
            properties["indexing_maps"] = maps
        attributes = parser.parse_optional_attr_dict()
        start = parser.pos
        inputs, outputs = parse_operands(parser, "ins"), parse_operands(parser, "outs")
        results = parse_result_types(parser) if parser.parse_optional_punctuation("->") else []
        kind = properties["kind"]
        if not isinstance(kind, ElementwiseKindAttr) or not outputs:
            parser.raise_error("expected an elementwise kind, and an output")
        function = _FUNCTION_OF_KIND.get(kind.data, kind.data)
        if function not in FUNCTIONS:
            parser.raise_error(f"unknown elementwise kind '{kind.data}'")
        if (message := NAMED_OPS[function].wrong_counts(inputs, outputs)) is not None:
            parser.raise_error(message, start)
        properties.setdefault("indexing_maps", _identities(outputs[0].type, len(inputs) + len(outputs)))
        return cls(
            operands=[inputs, outputs],
            result_types=[results],
            properties=properties,
            attributes=attributes,
            regions=[[NAMED_OPS[function].hidden_region(inputs, outputs)]],
        )

    def print(self, printer: Printer) -> None:
        """Print what stands behind the op's name."""
        if wants_clauses(printer):
            printer.print_string(f" <{self.kind.data}>")
        else:
            printer.print_string(" kind=")
            printer.print_attribute(self.kind)
        if self.indexing_maps != _identities(self.outputs[0].type, len(self.operands)):
            printer.print_string(" indexing_maps = ")
            printer.print_attribute(self.indexing_maps)
        printer.print_op_attributes(self.attributes)
        print_operands(printer, "ins", self.inputs)
        print_operands(printer, "outs", self.outputs)
        if self.res:
            printer.print_string(" -> ")
            printer.print_list([result.type for result in self.res], printer.print_attribute)


def elementwise_of(op: Operation) -> ElementwiseOp | None:
    """A named op such as `linalg.add` as `linalg.elementwise <add>`, detached; `None` if there is no such kind.

    IREE 3.13 and the versions of MLIR behind it have the latter alone.
    """
    short = op.name.removeprefix("linalg.")
    if op.name != f"linalg.{short}" or short not in FUNCTIONS or short == "copy":
        return None
    inputs, outputs = list(op.operands[:-1]), list(op.operands[-1:])
    kind = {function: kind for kind, function in _FUNCTION_OF_KIND.items()}.get(short, short)
    return ElementwiseOp(
        operands=[inputs, outputs],
        result_types=[list(op.result_types)],
        properties={"kind": ElementwiseKindAttr(kind), "indexing_maps": aligned(op.operands)},
        attributes=op.attributes,
        regions=[[NAMED_OPS[short].hidden_region(inputs, outputs)]],
    )


@irdl_op_definition
class SoftmaxOp(IRDLOperation):
    """Softmax along one axis."""

    name = "linalg.softmax"

    input = operand_def(base(MemRefType) | base(AnyTensorType))
    output = operand_def(base(MemRefType) | base(AnyTensorType))
    res = var_result_def(TensorType)
    dimension = prop_def(IntegerAttr)

    def verify_(self) -> None:
        """Check the axis."""
        rank, axis = len(cast(ShapedType, self.input.type).get_shape()), self.dimension.value.data
        if not 0 <= axis < rank:
            raise VerifyException(f"expects an axis of {rank}, got {axis}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what stands behind the op's name."""
        attributes = parser.parse_optional_attr_dict()
        parser.parse_keyword("dimension")
        with parser.in_parens():
            dimension = IntegerAttr(parser.parse_integer(), i64)
        inputs, outputs = parse_operands(parser, "ins"), parse_operands(parser, "outs")
        results = parse_result_types(parser) if parser.parse_optional_punctuation("->") else []
        return cls(
            operands=[*inputs, *outputs],
            result_types=[results],
            properties={"dimension": dimension},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        """Print what stands behind the op's name."""
        printer.print_op_attributes(self.attributes)
        printer.print_string(f" dimension({self.dimension.value.data})")
        print_operands(printer, "ins", [self.input])
        print_operands(printer, "outs", [self.output])
        if self.res:
            printer.print_string(" -> ")
            printer.print_attribute(self.res[0].type)


class _TiledOp(IRDLOperation):
    """`pack` and `unpack`: axes cut in tiles, which become the last axes."""

    source = operand_def(TensorType)
    dest = operand_def(TensorType)
    padding_value = opt_operand_def()
    inner_tiles = var_operand_def(IndexType)
    result = result_def(TensorType)
    outer_dims_perm = opt_prop_def(DenseArrayBase.constr(i64))
    inner_dims_pos = prop_def(DenseArrayBase.constr(i64))
    static_inner_tiles = prop_def(DenseArrayBase.constr(i64))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_(self) -> None:
        """Check axes, and what the printed form relies on: sizes of tiles as operands, one type for two values."""
        tiles = self.static_inner_tiles.get_values()
        verify_dynamic_index_list(tiles, self.inner_tiles, DYNAMIC_INDEX, " in 'static_inner_tiles'")
        if self.result.type != self.dest.type:
            raise VerifyException(f"expects a result of the type of 'dest', got {self.result.type}")
        ranks = sorted(len(cast(ShapedType, value.type).get_shape()) for value in (self.source, self.dest))
        axes = self.inner_dims_pos.get_values()
        if len(axes) != len(tiles) or len({*axes} & {*range(ranks[0])}) != len(axes):
            raise VerifyException(f"expects an axis of {ranks[0]} for each of {len(tiles)} tiles, got {list(axes)}")
        if ranks[1] != ranks[0] + len(tiles):
            raise VerifyException(f"expects {ranks[0] + len(tiles)} axes in tiles, got {ranks[1]}")
        order = () if self.outer_dims_perm is None else self.outer_dims_perm.get_values()
        if order and sorted(order) != list(range(ranks[0])):
            raise VerifyException(f"expects an order of {ranks[0]} axes, got {list(order)}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what stands behind the op's name."""
        source = parser.parse_unresolved_operand()
        padding: list[SSAValue] = []
        if parser.parse_optional_keyword("padding_value"):
            with parser.in_parens():
                value = parser.parse_unresolved_operand()
                parser.parse_punctuation(":")
                padding.append(parser.resolve_operand(value, parser.parse_type()))
        properties: dict[str, Attribute] = {}
        for name in ("outer_dims_perm", "inner_dims_pos"):
            if parser.parse_optional_keyword(name):
                parser.parse_punctuation("=")
                axes = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
                properties[name] = DenseArrayBase.from_list(i64, axes)
        parser.parse_keyword("inner_tiles")
        parser.parse_punctuation("=")
        names, static = parse_dynamic_index_list_without_types(parser, dynamic_index=DYNAMIC_INDEX)
        tiles = parser.resolve_operands(names, [IndexType()] * len(names), parser.pos)
        properties["static_inner_tiles"] = DenseArrayBase.from_list(i64, static)
        parser.parse_keyword("into")
        dest = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        source_type = parser.parse_type()
        parser.parse_punctuation("->")
        type = parser.parse_type()
        operands = [parser.resolve_operand(source, source_type), parser.resolve_operand(dest, type), padding, tiles]
        return cls(operands=operands, result_types=[type], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Print what stands behind the op's name."""
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        if self.padding_value is not None:
            printer.print_string(" padding_value(")
            printer.print_ssa_value(self.padding_value)
            printer.print_string(" : ")
            printer.print_attribute(self.padding_value.type)
            printer.print_string(")")
        for name, axes in (("outer_dims_perm", self.outer_dims_perm), ("inner_dims_pos", self.inner_dims_pos)):
            if axes is not None:
                printer.print_string(f" {name} = {list(axes.get_values())}")
        printer.print_string(" inner_tiles = ")
        print_dynamic_index_list(printer, DYNAMIC_INDEX, self.inner_tiles, self.static_inner_tiles.get_values())
        printer.print_string(" into ")
        printer.print_ssa_value(self.dest)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.source.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.result.type)


@irdl_op_definition
class PackOp(_TiledOp):
    """Axes cut in tiles."""

    name = "linalg.pack"


@irdl_op_definition
class UnpackOp(_TiledOp):
    """Tiles put together again."""

    name = "linalg.unpack"
