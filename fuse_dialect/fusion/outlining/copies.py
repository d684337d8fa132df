"""What tells copies of an op apart from ops that were equal before: `fuse-ops` writes it, `defuse-ops` reads it.

1. An op that several kernels compute, or a constant that they get copies of, has a number in its function. The call of
   each of them has the attribute `fuse.computed_again`: pairs of an op's place in the primitive and its number. Numbers
   stand on the calls because calls of one primitive compute different ops.
2. An original that no kernel moves, a constant that others read too, has its number itself.
3. Copies become one only where they are equal: the same op, attributes, types and operands. What another pass has
   changed meanwhile stays apart.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, i64
from xdsl.ir import Attribute, Operation, SSAValue

from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.fusion.outlining.rewiring import replace_operands

COMPUTED_AGAIN_ATTRIBUTE = "fuse.computed_again"
"""Name of the attribute, of calls (1) and of ops (2)."""


def marks_of(numbers: Mapping[int, int]) -> DenseArrayBase[IntegerType]:
    """The attribute of a call, from places in the primitive to numbers (1)."""
    return DenseArrayBase.from_list(i64, [each for pair in sorted(numbers.items()) for each in pair])


def mark_original(op: Operation, number: int) -> None:
    """Give an op that stays its number (2)."""
    op.attributes[COMPUTED_AGAIN_ATTRIBUTE] = IntegerAttr(number, i64)


def without_number(attributes: Mapping[str, Attribute]) -> Mapping[str, Attribute]:
    """The attributes of an original as a copy has them that nobody counts, a constant in a primitive."""
    if COMPUTED_AGAIN_ATTRIBUTE not in attributes:
        return attributes
    return {name: value for name, value in attributes.items() if name != COMPUTED_AGAIN_ATTRIBUTE}


class Copies:
    """Ops that are copies of each other, by their numbers, in one function."""

    def __init__(self) -> None:
        self._same: dict[int, list[Operation]] = {}

    def add_originals(self, ops: Iterable[Operation]) -> None:
        """Note ops of a function that have their numbers themselves, and take the numbers off (2)."""
        for op in ops:
            number = op.attributes.get(COMPUTED_AGAIN_ATTRIBUTE)
            if isinstance(number, IntegerAttr) and not isinstance(op, func.CallOp):
                del op.attributes[COMPUTED_AGAIN_ATTRIBUTE]
                self._same.setdefault(number.value.data, []).append(op)

    def add(self, call: func.CallOp, ops: Sequence[Operation]) -> None:
        """Note the ops that have come in the place of a call (1)."""
        marks = call.attributes.get(COMPUTED_AGAIN_ATTRIBUTE)
        if not isinstance(marks, DenseArrayBase):
            return
        values = marks.get_values()
        for place, number in zip(values[::2], values[1::2], strict=False):
            if 0 <= place < len(ops):
                self._same.setdefault(number, []).append(ops[place])

    def merge(self, ops_of_function: Callable[[], Iterable[Operation]]) -> None:
        """Let one op stand for all that are equal: the one that stands first.

        Args:
            ops_of_function: The ops of the function in order, found when there is something to do.

        Calls stand in the order of their ops, and within a primitive operands come first. So whatever a copy reads has
        become one before.
        """
        if not self._same:
            return
        kept_by_number: dict[tuple[int, object], Operation] = {}
        number_of = {op: number for number, ops in self._same.items() for op in ops}
        replacement: dict[SSAValue, SSAValue] = {}
        ops = list(ops_of_function())
        for op in [op for op in ops if op in number_of]:
            replace_operands(op, replacement)
            kept = kept_by_number.setdefault((number_of[op], op.parent), op)
            if kept is not op and _is_equal(kept, op):
                replacement.update(zip(op.results, kept.results, strict=True))
        if replacement:
            for op in ops:
                replace_operands(op, replacement)
            for op in {value.owner: None for value in replacement}:
                assert isinstance(op, Operation), "results belong to ops"
                op.detach()
                op.drop_all_references()


def _is_equal(one: Operation, other: Operation) -> bool:
    """Whether two ops compute the same (3)."""
    return (
        op_name(one) == op_name(other)
        and list(one.operands) == list(other.operands)
        and list(one.result_types) == list(other.result_types)
        and one.properties == other.properties
        and one.attributes == other.attributes
        and len(one.regions) == len(other.regions)
        and all(
            first.is_structurally_equivalent(second) for first, second in zip(one.regions, other.regions, strict=True)
        )
    )
