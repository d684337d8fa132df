"""What is known of sizes before a program runs: those of every tensor, and the elements of small tensors.

A size is a number, or a `Size` by name. Names come from arguments of functions (`fuse.sizes`), and pass through ops:

1. moves of integers (`take`, `concatenate`, ...), sums and products compute on names;
2. a `dyn_` op gives its result the sizes that its operand holds;
3. any other op is asked for its result types with two sets of numbers in the place of the names: a size of the result
   that is the number of a name both times is that name. Where the rule refuses these numbers, one name is taken for a
   size of another operand: the `k` of `[b, k] x [16, 8]` must be 16, and the result is `[b, 8]`.

Source of 2: TVM's shape functions, src/relay/op/tensor/transform.cc; 3 replaces them by the shape rules there are.
"""

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.analysis.sizes import (
    Element,
    Size,
    UnknownError,
    add,
    divide,
    is_equal,
    multiply,
    product_of,
    subtract,
)
from fuse_dialect.dialect.constants import constant_of
from fuse_dialect.dialect.fields import PropertyValue
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.broadcast import AddOp, DivideOp, MultiplyOp, SubtractOp, WhereOp
from fuse_dialect.dialect.ops.comparison import EqualOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp, SplitOp, StackOp
from fuse_dialect.dialect.ops.conversion import CastOp
from fuse_dialect.dialect.ops.dynamic import DynArangeOp, DynBroadcastToOp, DynFullOp, DynReshapeOp, ShapeOfOp
from fuse_dialect.dialect.ops.indexing import StridedSliceOp, TakeOp
from fuse_dialect.dialect.ops.layout import ReshapeOp, ReverseOp, SqueezeOp, TransposeOp
from fuse_dialect.dialect.ops.opaque import StopFusionOp
from fuse_dialect.dialect.ops.reduction import ProdOp
from fuse_dialect.dialect.ops.replication import BroadcastToOp, ExpandDimsOp, RepeatOp, TileOp
from fuse_dialect.dialect.shape_rules import product
from fuse_dialect.dialect.types import DYNAMIC, element_count, element_dtype, is_tensor, with_shape

Sizes = tuple[int | Size, ...]
"""The shape of a value."""

_NAMELESS = "?"
"""How the name of a size begins of which nothing is known."""
_MOST_NUMBERS = 64
"""Elements of a tensor that are followed; shapes have fewer."""
_MOVES: tuple[type[FuseOp], ...] = (
    *(TakeOp, StridedSliceOp, ConcatenateOp, StackOp, SplitOp, ReshapeOp, SqueezeOp, ExpandDimsOp),
    *(BroadcastToOp, TransposeOp, ReverseOp, TileOp, RepeatOp),
)
"""Ops whose results hold elements of their operands, whatever these are."""
_PAIRWISE: Mapping[type[FuseOp], Callable[[Element, Element], Element]] = {
    AddOp: add,
    SubtractOp: subtract,
    MultiplyOp: multiply,
    DivideOp: divide,
    EqualOp: is_equal,
}
_STAND_INS = (
    tuple((1 << 40) + offset for offset in (15, 27, 55, 97, 115, 141)),
    tuple((1 << 44) + offset for offset in (7, 21, 27, 55, 175, 195)),
)
"""Primes for the names of one op, twice: greater than any size or bound, and no sum or product of others."""


@dataclass(eq=False, slots=True)
class KnownSizes:
    """What is known of the values of a module, filled in by visiting the ops in order."""

    _sizes: MutableMapping[SSAValue, Sizes] = field(default_factory=dict[SSAValue, Sizes])
    _elements: MutableMapping[SSAValue, Array] = field(default_factory=dict[SSAValue, Array])
    _asked: dict[object, Sequence[int | Size | None]] = field(
        default_factory=dict[object, Sequence["int | Size | None"]]
    )
    """Answers of shape rules: layers of a model repeat the same questions."""
    _nameless: int = 0

    def name(self, value: SSAValue, names: Sequence[str]) -> None:
        """Give names to the open sizes of an argument; empty names say nothing."""
        assert is_tensor(value.type), "only the sizes of tensors have names"
        shape = value.type.get_shape()
        self._sizes[value] = tuple(
            dim if dim != DYNAMIC else Size(name) if name else self._new_size()
            for dim, name in zip(shape, names, strict=True)
        )

    def _new_size(self) -> Size:
        self._nameless += 1
        return Size(f"{_NAMELESS}{self._nameless}")

    def sizes_of(self, value: SSAValue) -> Sizes:
        """The shape of a tensor; an open size that nothing is known of has a name of its own."""
        assert is_tensor(value.type), "only tensors have sizes"
        if value not in self._sizes:
            self._sizes[value] = tuple(self._new_size() if dim == DYNAMIC else dim for dim in value.type.get_shape())
        return self._sizes[value]

    def elements_of(self, value: SSAValue) -> Array | None:
        """The elements of a small tensor, of dtype object if a `Size` is among them; `None` if they are not known."""
        if value not in self._elements and isinstance(value.owner, arith.ConstantOp):
            count = element_count(value.type)
            array = constant_of(value) if count is not None and count <= _MOST_NUMBERS else None
            if array is not None:
                self._elements[value] = array
        return self._elements.get(value)

    def take_over(self, old: SSAValue, new: SSAValue) -> None:
        """Know of a value what is known of the one that it replaces."""
        if old in self._elements:
            self._elements[new] = self._elements[old]

    def visit(self, op: Operation) -> None:
        """Learn about the results of an op whose operands are known as well as they can be."""
        if not isinstance(op, FuseOp):
            return
        found = self._computed(op)
        if found is not None:
            self._elements.update(zip(op.results, found, strict=True))
        self.name_results(op)

    def name_results(self, op: FuseOp) -> None:
        """Name the open sizes of an op's results, as far as those of its operands say them."""
        for result in op.results:
            if is_tensor(result.type) and DYNAMIC in result.type.get_shape() and result not in self._sizes:
                sizes = self._result_sizes(op, result)
                own = result.type.get_shape()
                self._sizes[result] = tuple(
                    dim if dim != DYNAMIC else size if isinstance(size, Size) else self._new_size()
                    for dim, size in zip(own, sizes, strict=True)
                )

    def suppose(self, value: SSAValue, sizes: Sizes) -> None:
        """Give a tensor's open sizes those of another one of its rank."""
        assert is_tensor(value.type), "only tensors have sizes"
        pairs = zip(value.type.get_shape(), sizes, strict=True)
        self._sizes[value] = tuple(size if dim == DYNAMIC else dim for dim, size in pairs)

    def branched(self) -> "KnownSizes":
        """One that knows the same, and learns by itself."""
        return KnownSizes(ChainMap({}, self._sizes), ChainMap({}, self._elements), self._asked, self._nameless)

    def name_nameless(self, value: SSAValue, names: Sequence[int | Size | None]) -> Sizes:
        """Give names to those open sizes of a tensor of which nothing is known; its sizes then."""
        self._sizes[value] = tuple(
            name if isinstance(name, Size) and isinstance(own, Size) and own.name.startswith(_NAMELESS) else own
            for own, name in zip(self.sizes_of(value), names, strict=True)
        )
        return self._sizes[value]

    def _computed(self, op: FuseOp) -> list[Array] | None:
        """The elements of an op's results, as far as names allow."""
        if isinstance(op, ShapeOfOp):
            return [_as_array(self.sizes_of(op.input))]
        counts = [element_count(result.type) for result in op.results]
        if (
            not op.operands
            or not op.TENSOR_OPERANDS  # a tuple has no elements
            or isinstance(op, StopFusionOp)
            or any(count is None or count > _MOST_NUMBERS for count in counts)
        ):
            return None
        operands = [self.elements_of(operand) for operand in op.operands]
        known = [operand for operand in operands if operand is not None]
        if len(known) < len(operands):
            return None
        try:
            return _evaluated(op, known)
        except (UnknownError, ValueError, TypeError, IndexError, ArithmeticError, VerifyException):
            return None  # whoever runs the program hears of it

    def _result_sizes(self, op: FuseOp, result: OpResult) -> Sequence[int | Size | None]:
        """The open sizes of a result, `None` where nothing is known."""
        assert is_tensor(result.type), "only tensors have sizes"
        unknown = [None] * result.type.get_num_dims()
        match op:
            case DynReshapeOp() if not op.allowzero.value.data:
                return unknown  # a name may be 0, which means another size then
            case DynReshapeOp() | DynFullOp():
                return self._wanted(op.shape, len(unknown))
            case DynBroadcastToOp():
                wanted = self._wanted(op.shape, len(unknown))
                own = [*[1] * (len(unknown) - len(self.sizes_of(op.input))), *self.sizes_of(op.input)]
                return [b if a in (1, b) else a if b == 1 else None for a, b in zip(own, wanted, strict=True)]
            case DynArangeOp():
                start, stop, step = (self.elements_of(operand) for operand in op.operands)
                if start is None or stop is None or step is None or start != 0 or step != 1:
                    return unknown
                return [stop.item() if isinstance(stop.item(), Size) and stop.item().is_extent else None]
            case ReshapeOp():
                return self._reshaped(op)
            case BroadcastToOp():
                sizes = self.sizes_of(op.input)
                return [*[None] * (len(unknown) - len(sizes)), *sizes]
            case CastOp():
                return self.sizes_of(op.input)
            case _:
                return self._answer(op, result)

    def _wanted(self, shape: SSAValue, rank: int) -> Sequence[int | Size | None]:
        """The sizes that an operand holds, but none for 0 and less, which mean other sizes."""
        elements = self.elements_of(shape)
        if elements is None or elements.shape != (rank,):
            return [None] * rank
        return [element if isinstance(element, Size) and element.is_extent else None for element in elements]

    def _reshaped(self, op: ReshapeOp) -> Sequence[int | Size | None]:
        """Open sizes but the last are kept; the last is what remains, where the numbers among the sizes divide."""
        sizes, shape = self.sizes_of(op.input), op.result.type.get_shape()
        found: list[int | Size | None] = list(shape)
        unknown = [axis for axis, dim in enumerate(shape) if dim == DYNAMIC]
        rest = [size for size in sizes if isinstance(size, Size)]
        others = product(dim for dim in shape if dim != DYNAMIC)
        for axis in unknown[:-1]:
            found[axis] = sizes[axis]
            match sizes[axis]:
                case Size() as size:
                    rest.remove(size)
                case number:
                    others *= number
        count = product(size for size in sizes if not isinstance(size, Size))
        divides = others and not count % others
        found[unknown[-1]] = multiply(product_of(rest), count // others) if divides else None
        return found

    def _answer(self, op: FuseOp, result: OpResult) -> Sequence[int | Size | None]:
        """What the op's shape rule says for two sets of sizes; it is asked once for ops that are alike."""
        operands = [
            (operand.type.element_type, self.sizes_of(operand)) if is_tensor(operand.type) else operand.type
            for operand in op.operands
        ]
        question = (type(op), result.index, tuple(operands), tuple(op.properties.items()))
        found = self._asked.get(question)
        if found is None:
            found = self._asked[question] = self._ask(op, result)
        return found

    def _ask(self, op: FuseOp, result: OpResult) -> Sequence[int | Size | None]:
        names = dict.fromkeys(
            size
            for operand in op.operands
            if is_tensor(operand.type)
            for size in self.sizes_of(operand)
            if isinstance(size, Size)
        )
        assert is_tensor(result.type), "only tensors have sizes"
        unknown = [None] * result.type.get_num_dims()
        if not names or len(names) > len(_STAND_INS[0]):
            return unknown
        for fixed in self._guesses(op, names):
            answers: list[Sequence[int | Size | None]] = []
            for primes in _STAND_INS:
                by_name = {**dict(zip(names, primes, strict=False)), **fixed}
                found = self._inferred(op, by_name)
                if found is None:
                    break
                by_prime: dict[int, Size] = {number: size for size, number in by_name.items() if size not in fixed}
                type = found[result.index]
                if not is_tensor(type) or type.get_num_dims() != len(unknown):
                    return unknown
                answers.append([by_prime.get(dim) for dim in type.get_shape()])
            else:
                return [one if one == other else None for one, other in zip(*answers, strict=True)]
        return unknown

    def _guesses(self, op: FuseOp, names: Iterable[Size]) -> Iterator[Mapping[Size, int]]:
        """Nothing; then numbers that one name may have to be, if the op wants it to be the size of another operand."""
        yield {}
        numbers = {size for each in op.operands if is_tensor(each.type) for size in self.sizes_of(each)} - {1}
        for name in names:
            for number in sorted(size for size in numbers if isinstance(size, int)):
                yield {name: number}

    def _inferred(self, op: FuseOp, numbers: Mapping[Size, int]) -> Sequence[Attribute] | None:
        types = [
            with_shape(
                operand.type, [numbers[size] if isinstance(size, Size) else size for size in self.sizes_of(operand)]
            )
            if is_tensor(operand.type)
            else operand.type
            for operand in op.operands
        ]
        try:
            properties: dict[str, PropertyValue] = {**op.properties}
            return type(op)(*Block(arg_types=types).args, result_types=None, attributes=None, **properties).result_types
        except VerifyException:
            return None


def _as_array(sizes: Sizes) -> Array:
    """Sizes as integers, or as objects if names are among them."""
    if not any(isinstance(size, Size) for size in sizes):
        return np.array(sizes, np.int64)
    return _listed(sizes, (len(sizes),))


def _evaluated(op: FuseOp, operands: Sequence[Array]) -> list[Array] | None:
    symbolic = any(operand.dtype == object for operand in operands)
    if not symbolic:
        with np.errstate(all="ignore"):
            values = op.evaluate(*operands)
        types = [result.type for result in op.results]
        return [
            np.asarray(value).astype(element_dtype(type.element_type))
            for value, type in zip(values, types, strict=True)
            if is_tensor(type)
        ]
    if not all(is_tensor(result.type) and result.type.element_type in (i1, i64) for result in op.results):
        return None  # narrow integers wrap around
    if isinstance(op, _MOVES):
        return [_settled(_object(value)) for value in op.evaluate(*operands)]
    if type(op) in _PAIRWISE:
        lhs, rhs = np.broadcast_arrays(*operands)
        rule = _PAIRWISE[type(op)]
        flat = [rule(a, b) for a, b in zip(lhs.flat, rhs.flat, strict=True)]
        return [_settled(_listed(flat, lhs.shape), boolean=isinstance(op, EqualOp))]
    match op:
        case WhereOp() if operands[0].dtype == np.bool_:
            return [_settled(_object(np.where(*operands)))]
        case CastOp():
            return [operands[0]]
        case ProdOp() if operands[0].ndim == 1:
            return [_settled(_listed([product_of(list(operands[0]))], _static_shape(op.result.type)))]
        case _:
            return None


def _static_shape(type: Attribute) -> tuple[int, ...]:
    return tuple(type.get_shape()) if is_tensor(type) else ()


def _object(values: object) -> Array:
    """An array of objects, also of a single one, which NumPy gives in the place of an array of rank 0."""
    if isinstance(values, np.ndarray):
        return cast(Array, values).astype(object)
    array = np.empty((), object)
    array[()] = values
    return array


def _listed(elements: Sequence[Element], shape: tuple[int, ...]) -> Array:
    """The elements as an array of objects."""
    array = np.empty(len(elements), object)
    array[:] = list(elements)
    return array.reshape(shape)


def _settled(array: Array, *, boolean: bool = False) -> Array:
    """The elements as numbers where no name is left among them."""
    if any(isinstance(element, Size) for element in array.flat):
        return array
    return array.astype(np.bool_ if boolean else np.int64)
