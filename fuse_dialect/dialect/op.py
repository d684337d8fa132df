"""The base of every `fuse` op: what an op class declares, and nowhere else.

An op is one class with its facets:

1. *kind*: `traits = traits_def(OpPatternKind(...))`;
2. *operands, results, properties*: xDSL definitions, declared with `fields`;
3. *shape rule*: `infer_types`, used by the parser, the builder and the verifier;
4. *meaning*: `evaluate`, on NumPy arrays;
5. *cost*: `flops`, and the bytes of operands and results;
6. *scalar body*, for ops that compute each element on its own: `MapOp.scalar_body`;
7. *loops*, from which kernels are made: `loops`, which `MapOp` has already, or `decompose` for what is made of others.

All ops are pure, and all have the assembly of `assembly`.
"""

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ClassVar, Self

from xdsl.ir import Attribute, ErasedSSAValue, Operation, OpResult, SSAValue
from xdsl.ir.core import SSAValues
from xdsl.irdl import IRDLOperation, OptionalDef, VariadicDef, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect import assembly
from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.fields import PropertyValue, property_attribute, property_form
from fuse_dialect.dialect.loops import LoopFormError, Nest, Piece, Updates
from fuse_dialect.dialect.types import are_compatible, check_tensors, element_count, is_tensor
from fuse_dialect.loops.indices import number
from fuse_dialect.loops.special_functions import Array as Array
from fuse_dialect.pattern_kind import PatternKind

_MOST_SIGNATURES = 4096
"""Signatures that one run remembers. Programs have fewer; the bound keeps properties whose hashes collide harmless."""

_passed_signatures: ContextVar[set[object] | None] = ContextVar("passed signatures", default=None)


@contextmanager
def verified_once() -> Generator[None]:
    """Within it, ops of one class with identical types and properties are verified once.

    The IR must not change meanwhile: types are told apart by identity, because hashing them is slow.
    """
    token = _passed_signatures.set(set())
    try:
        yield
    finally:
        _passed_signatures.reset(token)


class FuseOp(IRDLOperation, ABC):
    """An operator on tensors.

    `AddOp(a, b)` or `Conv2dOp(x, w, strides=[2, 2])` builds an op and infers its result types; give `result_types`
    where the op's shape rule cannot (`reshape`) or where a more precise type than the inferred one is known.
    """

    traits = traits_def(Pure())

    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 1
    """Arithmetic operations for one result element, where that does not depend on shapes."""
    TENSOR_OPERANDS: ClassVar[bool] = True
    """Whether all operands and results are ranked tensors; tuples are the exception."""
    OPERANDS_FORM_TUPLE: ClassVar[bool] = False
    """Whether the operands are one tuple to the fusion analysis, as they are in Relay: `concatenate`, `stack`."""
    RESHAPE_ONLY: ClassVar[bool] = False
    """Whether the result holds the operand's elements in the same row-major order."""
    SIZED_BY_ELEMENTS: ClassVar[bool] = False
    """Whether elements of operands say how large results are: TVM's `TShapeDataDependent`."""
    PICKED_OPERANDS: ClassVar[tuple[int, ...]] = ()
    """Operands of which the op reads as many elements as its result has, whatever their size: the table of a gather."""
    IS_PRODUCT: ClassVar[bool] = False
    """Whether it multiplies by weights along channels, which hardware may want aligned: axis C, or else the last."""

    def __init__(
        self,
        *operands: SSAValue | Operation,
        result_types: Sequence[Attribute] | None = None,
        attributes: Mapping[str, Attribute] | None = None,
        **properties: PropertyValue,
    ):
        """Build the op.

        Raises:
            VerifyException: The operands do not fit the op, or the result types cannot be inferred.
        """
        declared = self.get_irdl_definition().properties
        unknown = properties.keys() - declared.keys()
        if unknown:
            raise TypeError(f"'{self.name}' op has no property '{min(unknown)}'")
        Operation.__init__(
            self,
            operands=[SSAValue.get(operand) for operand in operands],
            result_types=result_types or (),
            properties={
                name: property_attribute(value, declared[name].constr)
                for name, value in properties.items()
                if value is not None
            },
            attributes=attributes or {},
        )
        if result_types is None:
            types = self._infer_or_raise()
            self.results = SSAValues(OpResult(type, self, index) for index, type in enumerate(types))

    def _infer_or_raise(self) -> Sequence[Attribute]:
        self._check_operands()
        self._check_properties()
        types = self.infer_types()
        if types is not None:
            return types
        if self.operands and all(type == self.operands[0].type for type in self.operand_types):
            return (self.operands[0].type,)
        raise VerifyException("needs its result types spelled out: '-> type'")

    def _check_operands(self) -> None:
        """Reject operands that do not fit the definition before a shape rule looks at them."""
        definitions = self.get_irdl_definition().operands
        required = sum(not isinstance(operand, VariadicDef) for _, operand in definitions)
        count = len(self.operands)
        if count < required or (count > len(definitions) and required == len(definitions)):
            raise VerifyException(f"expects {required} operands, got {count}")
        if self.TENSOR_OPERANDS:
            check_tensors(self.operand_types)

    def _check_properties(self) -> None:
        """Reject a missing property, or one of another form, before a shape rule reads it."""
        for name, definition in self.get_irdl_definition().properties.items():
            value = self.properties.get(name)
            required = definition.default_value is None and not isinstance(definition, OptionalDef)
            if required and value is None:
                raise VerifyException(f"expects property '{name}'")
            if value is not None and not definition.constr.verifies(value):
                raise VerifyException(f"expects {property_form(definition.constr)} for property '{name}', got {value}")

    @property
    def kind(self) -> PatternKind:
        """The pattern kind that the class declares."""
        trait = self.get_trait(OpPatternKind)
        assert trait is not None, f"{type(self).__name__} declares no pattern kind"
        return trait.kind

    @abstractmethod
    def infer_types(self) -> Sequence[Attribute] | None:
        """Result types that follow from operands and properties: the op's shape rule.

        Returns:
            The types, with `?` where a size is not known; `None` when the result type says what the operands cannot.

        Raises:
            VerifyException: The operands or properties do not fit; the message leaves out the op's name.
        """

    def refine_types(self) -> Sequence[Attribute] | None:
        """Result types that follow from operands, properties and the result types there are; `None` for those.

        Raises:
            VerifyException: As `infer_types`.
        """
        return self.infer_types()

    @abstractmethod
    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """The op's meaning: results for NumPy operands. The caller casts to the element type of the result."""

    def verify(self, verify_nested_ops: bool = True) -> None:
        """Verify the op, unless one of the same signature passed in this run; see `verified_once`.

        What `verify_` checks follows from the class, the types and the properties alone. Everything else that
        `Operation.verify` checks concerns terminators, regions and erased operands.
        """
        passed = _passed_signatures.get()
        if passed is None or self.next_op is None or self.attributes or self.regions:
            super().verify(verify_nested_ops)
            return
        operands = self.operands
        signature = (
            type(self),
            tuple([id(operand.type) for operand in operands]),
            tuple([id(result.type) for result in self.results]),
            tuple(self.properties.items()),
        )
        if signature not in passed or any(isinstance(operand, ErasedSSAValue) for operand in operands):
            super().verify(verify_nested_ops)
            if len(passed) < _MOST_SIGNATURES:
                passed.add(signature)

    def verify_(self) -> None:
        """Check element types, then result types against the shape rule."""
        if self.TENSOR_OPERANDS:
            check_tensors(self.operand_types)
            check_tensors(self.result_types)
        inferred = self.infer_types()
        if inferred is None:
            return
        if len(inferred) != len(self.results):
            raise VerifyException(f"expects {len(inferred)} results, got {len(self.results)}")
        for index, (expected, result) in enumerate(zip(inferred, self.results, strict=True)):
            if not are_compatible(expected, result.type):
                raise VerifyException(f"expects result {index} of type {expected}, got {result.type}")

    def loops(self, nest: Nest) -> SSAValue:
        """One element of the result, or of result `nest.result`, as code inside loops.

        Its code is written with the functions of `scalars`, which record it meanwhile. It follows from the op's types
        and properties, and from what the nest says: ops that are equal in these may be asked once for all.

        Raises:
            LoopFormError: There is no such code, for this op or for its properties, element types or sizes.
        """
        raise LoopFormError("has no loop form")

    def fault(self, nest: Nest) -> SSAValue | None:
        """Whether the op rejects the values of its operands, as an i1; `None` if it rejects none, or has no loops.

        Written as `loops`, with a nest that has no axes of its own. Where it comes out true, what the op's
        other loops give means nothing, but they still read and write nothing outside of their buffers.
        """
        return None

    def result_pieces(self) -> Sequence[Piece | Updates | None]:
        """The parts of the only result that `loops` computes apart from each other; none for the result as a whole.

        `None` stands for the whole result, which `Updates` may follow.
        """
        return ()

    def place_of_update(self, nest: Nest) -> SSAValue:
        """Where the element of the updates at `nest.at` goes, as i64: in range whatever operands hold.

        Written as `loops`, for each part that is `Updates`, with a nest over the axes that choose a place.
        """
        raise LoopFormError("has no places of updates")

    def decompose(self, *operands: SSAValue) -> SSAValue | None:
        """The only result, computed by other ops from values of the operands' types; `None` if `loops` says it all.

        Called inside a `building`.
        """
        return None

    def flops(self) -> int | None:
        """Arithmetic operations of one execution, or `None` when a dimension is dynamic."""
        count = element_count(self.results[0].type)
        return None if count is None else count * self.FLOPS_PER_RESULT_ELEMENT

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse the custom assembly."""
        return assembly.parse_op(cls.get_irdl_definition(), cls, parser)

    def print(self, printer: Printer) -> None:
        """Print the custom assembly."""
        assembly.print_op(self, self.infer_types, printer)


class MapOp(FuseOp):
    """An op that computes each result element from one element of each operand: the one that `operand_axes` aligns."""

    def operand_axes(self, index: int) -> tuple[int, ...]:
        """The result axis along which each axis of operand `index` runs, unless it has size 1: NumPy broadcasting."""
        results = [type for type in self.result_types if is_tensor(type)]
        operands = [type for type in self.operand_types if is_tensor(type)]
        rank = results[0].get_num_dims()
        return tuple(range(rank - operands[index].get_num_dims(), rank))

    @abstractmethod
    def scalar_body(self, *elements: SSAValue) -> SSAValue:
        """One result element from one element of each operand.

        Written with the functions of `scalars`, which record instructions of a loop program, or create ops of `arith`
        and `math` where code of the IR is wanted. Unsigned
        integers arrive signless, as `arith` wants them; the op knows from its own operand types.
        """

    def loops(self, nest: Nest) -> SSAValue:
        """The scalar body on the elements that `operand_axes` aligns."""
        elements: list[SSAValue] = []
        for operand in range(len(self.operands)):
            axes = self.operand_axes(operand)
            indices = [
                number(0) if size == 1 else nest.at[axis] for axis, size in zip(axes, nest.shape(operand), strict=True)
            ]
            elements.append(nest.read(operand, indices))
        return self.scalar_body(*elements)
