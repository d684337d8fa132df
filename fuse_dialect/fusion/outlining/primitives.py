"""The primitive functions of a module: unique names, and one function for each structure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from io import StringIO
from struct import pack
from typing import Any, TypeAlias

from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    FunctionType,
    IntAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
)
from xdsl.ir import Attribute, Block, Data, Operation, ParametrizedAttribute, SSAValue
from xdsl.printer import Printer

from fuse_dialect.fusion.ir.constants import is_constant
from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.fusion.outlining.copies import without_number
from fuse_dialect.fusion.outlining.group import Group

LONGEST_NAME = 80
"""Characters of a primitive's name before its number; TVM caps its names too (`kMaxFuncNameLength`)."""


_NOT_NESTED = ArrayAttr[SymbolRefAttr](())
"""What a reference to a symbol of the same table holds behind its name; one serves all."""


@dataclass(slots=True)
class Primitives:
    """The primitive functions of one module: what exists, under which name, and with which structure."""

    symbols: Block
    """The body of the module."""
    dedup: bool = True
    promises: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """For each function that was outlined the families that its groups were planned as; see `Group.promise`."""
    _names: set[str] = field(default_factory=set)
    _next_suffix: dict[str, int] = field(default_factory=dict)
    _by_structure: dict[object, SymbolRefAttr] = field(default_factory=dict)
    _function_types: dict[object, FunctionType] = field(default_factory=dict)
    _numbers: dict[object, int] = field(default_factory=dict)
    _numbers_by_identity: dict[int, tuple[Attribute, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for op in self.symbols.ops:
            symbol = op.properties.get("sym_name") or op.attributes.get("sym_name")
            if isinstance(symbol, StringAttr):
                self._names.add(symbol.data)

    def unique_name(self, ops: Iterable[Operation]) -> str:
        """A new symbol `fused_<op>_<op>`; constants are not named."""
        words = [_symbol_word(op_name(op)) for op in ops if not is_constant(op)]
        base = "_".join(["fused", *words])
        if len(base) > LONGEST_NAME:
            kept = base[:LONGEST_NAME].rsplit("_", 1)[0]
            base = f"{kept}_etc{len(words)}"
        return self.unique_symbol(base)

    def unique_symbol(self, base: str) -> str:
        """A new symbol: the word, with a number behind it where that is taken."""
        name = base
        while name in self._names:
            suffix = self._next_suffix.get(base, 0)
            self._next_suffix[base] = suffix + 1
            name = f"{base}_{suffix}"
        self._names.add(name)
        return name

    def release(self, name: str) -> None:
        """Let the name be given again: the function that has it gets another one."""
        self._names.discard(name)

    def structure(self, group: Group) -> object:
        """A key that is equal for groups of the same structure."""
        reference = {id(value): index for index, value in enumerate(group.arguments)}
        """Number of each value, by identity: xDSL's values have a slow hash."""
        parts: list[object] = [tuple([self.number(value.type) for value in group.arguments])]
        num_embedded = len(group.embedded)
        for place, op in enumerate((*group.embedded, *group.ops)):
            attributes = without_number(op.attributes) if place < num_embedded else op.attributes
            parts.append(op_name(op))
            parts.append(tuple([reference[id(value)] for value in op.operands]))
            parts.append(self.dictionary(attributes) if attributes else ())
            parts.append(self.dictionary(op.properties) if op.properties else ())
            if op.regions:
                parts.append(self.plain_regions(op, reference) or _region_text(op, reference))
            for result in op.results:
                parts.append(self.number(result.type))
                reference[id(result)] = len(reference)
        parts.append(tuple([reference[id(value)] for value in group.results]))
        return tuple(parts)

    def plain_regions(self, op: Operation, reference: Mapping[int, int]) -> object | None:
        """A key of the op's regions if each is one block of ops without regions, as those of reductions are.

        Any other region is compared as text, which takes ten times as long.
        """
        if any(region.first_block is None or region.first_block is not region.last_block for region in op.regions):
            return None
        own = dict[int, int]()
        parts: list[object] = []
        for block in (region.block for region in op.regions):
            for value in block.args:
                parts.append(self.number(value.type))
                own[id(value)] = len(own)
            for inner in block.ops:
                if inner.regions or inner.successors:
                    return None
                parts.append(op_name(inner))
                parts.append(tuple([self._place(id(value), own, reference) for value in inner.operands]))
                parts.append(self.dictionary(inner.attributes) if inner.attributes else ())
                parts.append(self.dictionary(inner.properties) if inner.properties else ())
                for result in inner.results:
                    parts.append(self.number(result.type))
                    own[id(result)] = len(own)
        return tuple(parts)

    @staticmethod
    def _place(value: int, own: Mapping[int, int], reference: Mapping[int, int]) -> tuple[bool, int]:
        """The number of a value in the region or, if it is captured, outside."""
        return (True, own[value]) if value in own else (False, reference[value])

    def dictionary(self, items: Mapping[str, Attribute]) -> tuple[tuple[str, int], ...]:
        """The items by name, with the numbers of the attributes."""
        return tuple(sorted((name, self.number(value)) for name, value in items.items()))

    def number(self, attribute: Attribute) -> int:
        """Equal attributes have equal numbers; identical objects are met first."""
        known = self._numbers_by_identity.get(id(attribute))
        if known is None:
            number = self._numbers.setdefault(self._key(attribute), len(self._numbers))
            self._numbers_by_identity[id(attribute)] = known = (attribute, number)
        return known[1]

    def _key(self, attribute: Attribute) -> object:
        """A key that is equal for equal attributes, made of text and bytes.

        Python salts the hashes of those. Numbers hash to themselves modulo 2**61 - 1, so a hostile file could let all
        of its attributes collide. Bytes also tell 0.0 from -0.0.
        """
        form = _key_form(type(attribute))
        return (id(type(attribute)), str(attribute)) if form is None else form(attribute, self)

    def numbers_of(self, attributes: Iterable[Attribute]) -> str:
        """The numbers of attributes, as text."""
        return " ".join([str(self.number(attribute)) for attribute in attributes])

    def find(self, structure: object) -> SymbolRefAttr | None:
        """The function that already has this structure, unless functions are not shared."""
        return self._by_structure.get(structure) if self.dedup else None

    def function_type(self, arguments: Sequence[Attribute], results: Sequence[Attribute]) -> FunctionType:
        """The type of a function; functions of the same types share one."""
        key = (tuple([self.number(type) for type in arguments]), tuple([self.number(type) for type in results]))
        known = self._function_types.get(key)
        if known is None:
            known = self._function_types[key] = FunctionType.from_lists(arguments, results)
        return known

    def add(self, structure: object, name: str) -> SymbolRefAttr:
        """Remember that the function `name` has this structure."""
        symbol = SymbolRefAttr.new((StringAttr(name), _NOT_NESTED))
        if self.dedup:
            self._by_structure[structure] = symbol
        return symbol


_KeyForm: TypeAlias = Callable[[Any, Primitives], object]
"""Makes the key of an attribute of one class."""

_KEY_FORMS: dict[type[Attribute], _KeyForm] = {
    StringAttr: lambda attribute, _: ("s", attribute.data),
    BytesAttr: lambda attribute, _: attribute.data,
    IntAttr: lambda attribute, _: f"n {attribute.data:x}",
    IntegerAttr: lambda attribute, of: f"i {attribute.value.data:x} {of.number(attribute.type)}",
    FloatAttr: lambda attribute, of: (pack("<d", attribute.value.data), of.number(attribute.type)),
    DenseArrayBase: lambda attribute, of: (attribute.data.data, of.number(attribute.elt_type)),
    TensorType: lambda attribute, of: (
        f"t {attribute.get_shape()} {of.number(attribute.element_type)} {of.number(attribute.encoding)}"
    ),
    ArrayAttr: lambda attribute, of: f"a {of.numbers_of(attribute.data)}",
    DictionaryAttr: lambda attribute, of: ("m", of.dictionary(attribute.data)),
}


def _key_of_parameters(attribute: ParametrizedAttribute, of: Primitives) -> object:
    return f"{id(type(attribute))} {of.numbers_of(attribute.parameters)}"


def _key_of_data(attribute: Data[Any], _: Primitives) -> object:
    """What a word, or numbers in tuples, are made of; printing them would take ten times as long."""
    data: object = attribute.data
    return (id(type(attribute)), repr(data) if type(data) in (str, tuple) else str(attribute))


@cache
def _key_form(attribute_class: type[Attribute]) -> _KeyForm | None:
    """How to make keys for a class, found once a class; `None` if only its text says what an attribute is."""
    if (known := _KEY_FORMS.get(attribute_class)) is not None:
        return known
    if issubclass(attribute_class, Data):
        return _key_of_data
    return _key_of_parameters if issubclass(attribute_class, ParametrizedAttribute) else None


@cache
def _symbol_word(op_name: str) -> str:
    """An op's name without its dialect, as part of a symbol: `conv2d`, `nn_conv2d`."""
    word = op_name.split(".", 1)[-1]
    return "".join(char if char.isalnum() or char == "_" else "_" for char in word)


class _StructurePrinter(Printer):
    """Prints values as numbers in the order of their first appearance, whatever their name hints are."""

    def __init__(self, stream: StringIO, numbers: dict[int, int]):
        super().__init__(stream, print_generic_format=True)
        self.numbers = numbers

    def print_ssa_value(self, value: SSAValue) -> str:
        """Print the number of the value."""
        name = f"%{self.numbers.setdefault(id(value), len(self.numbers))}"
        self.print_string(name)
        return name


def _region_text(op: Operation, reference: Mapping[int, int]) -> str:
    """The op's regions as text that does not depend on names."""
    stream = StringIO()
    printer = _StructurePrinter(stream, dict(reference))
    for region in op.regions:
        printer.print_region(region)
    return stream.getvalue()
