"""The forms in which values are at hand: as they were, or with their axes permuted."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from xdsl.ir import Block, Operation, SSAValue

from fuse_dialect.dialect.constants import constant, constant_of
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.ops.layout import ReshapeOp, TransposeOp
from fuse_dialect.dialect.ops.replication import ExpandDimsOp
from fuse_dialect.dialect.types import Tensor, is_tensor
from fuse_dialect.transforms.layouts.permutations import Permutation, between, identity, is_free, permuted
from fuse_dialect.transforms.layouts.rules import Lifted


@dataclass(eq=False, slots=True)
class Forms:
    """For each value of the program as it was, the values of the new program that hold its elements."""

    _known: dict[SSAValue, dict[Permutation, SSAValue]] = field(
        default_factory=dict[SSAValue, dict[Permutation, SSAValue]]
    )
    _converted: set[SSAValue] = field(default_factory=set[SSAValue])
    """Values that the new program computes in another form than the old one."""
    _lifted: dict[tuple[SSAValue, Lifted], SSAValue] = field(default_factory=dict[tuple[SSAValue, Lifted], SSAValue])

    def of(self, value: SSAValue) -> Mapping[Permutation, SSAValue]:
        """The forms at hand; a value that nobody recorded is as it was."""
        return self._all(value)

    def _all(self, value: SSAValue) -> dict[Permutation, SSAValue]:
        if value not in self._known:
            self._known[value] = {identity(_type(value).get_num_dims()): value}
        return self._known[value]

    def record(self, value: SSAValue, permutation: Permutation, form: SSAValue) -> None:
        """Say that `form` stands for `value`, which nothing computes any more."""
        self._known[value] = {permutation: form}
        self._converted.add(value)

    def record_transpose(self, value: SSAValue, source: SSAValue, order: Permutation) -> None:
        """Say that `value` is the transposed `source`: each form of the latter is one of it as well."""
        self._known[value] = {between(order, form): known for form, known in self.of(source).items()}
        if source in self._converted:
            self._converted.add(value)

    def is_converted(self, value: SSAValue) -> bool:
        """Whether the value is computed in another form than it was, not only transposed by the program."""
        return value in self._converted

    def needs_transpose(self, value: SSAValue, permutation: Permutation) -> bool:
        """Whether elements must be moved to get the form."""
        return (
            permutation not in self.of(value)
            and constant_of(value) is None
            and not any(is_free(_shape(form), between(known, permutation)) for known, form in self.of(value).items())
        )

    def get(self, value: SSAValue, permutation: Permutation) -> SSAValue:
        """The value in a form, computed right behind it where it is not at hand yet."""
        forms = self._all(value)
        if permutation in forms:
            return forms[permutation]
        array = constant_of(value)
        if array is not None:
            new = _beside(constant(array.transpose(permutation)), value, value)
        else:
            sources = [(form, between(known, permutation)) for known, form in forms.items()]
            source, order = min(sources, key=lambda each: not is_free(_shape(each[0]), each[1]))
            new = _beside(_moved(source, order), source, value)
        forms[permutation] = new
        return new

    def lift(self, value: SSAValue, lifted: Lifted) -> SSAValue:
        """A value of lower rank, with axes in front of it, in a form."""
        key = (value, lifted)
        if key not in self._lifted:
            self._lifted[key] = self._lift(value, lifted)
        return self._lifted[key]

    def _lift(self, value: SSAValue, lifted: Lifted) -> SSAValue:
        rank = _type(value).get_num_dims()
        array = constant_of(value)
        if array is not None:
            wide = array.reshape((1,) * (lifted.rank - rank) + array.shape)
            return _beside(constant(_without_leading_ones(wide.transpose(lifted.permutation))), value, value)
        plain = self.get(value, identity(rank))
        new = _beside(ExpandDimsOp(plain, axis=0, num_newaxis=lifted.rank - rank), plain, value)
        return self.get(new, lifted.permutation)


def _without_leading_ones(array: Array) -> Array:
    """The array in the lowest rank in which it broadcasts alike."""
    wide = [axis for axis, size in enumerate(array.shape) if size != 1]
    return array.reshape(array.shape[wide[0] :]) if wide and np.any(array.strides) else array


def _moved(source: SSAValue, order: Permutation) -> Operation:
    if is_free(_shape(source), order):
        return ReshapeOp(source, result_types=[permuted(_type(source), order)])
    return TransposeOp(source, permutation=order)


def _beside(op: Operation, source: SSAValue, value: SSAValue) -> SSAValue:
    """Put the op right behind the definition of its operand, named after the value that it stands for."""
    op.results[0].name_hint = value.name_hint
    owner = source.owner
    if isinstance(owner, Block):
        assert owner.first_op is not None, "a block with a value that is read has ops"
        op.location = owner.first_op.location
        owner.insert_op_before(op, owner.first_op)
    else:
        assert owner.parent is not None, "an op whose result is read stands in a block"
        op.location = owner.location
        owner.parent.insert_op_after(op, owner)
    return op.results[0]


def _type(value: SSAValue) -> Tensor:
    assert is_tensor(value.type)
    return value.type


def _shape(value: SSAValue) -> tuple[int, ...]:
    return tuple(_type(value).get_shape())
