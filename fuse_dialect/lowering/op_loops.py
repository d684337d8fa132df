"""The loops of one op by itself: what its facets say about one result, as stages that name operands by number.

1. A result of an op is one stage; an op that cuts its result in pieces has one for each. Values that many elements need
   are stages before it.
2. Where all sizes are numbers, the stages follow from the op's class, properties and types, from which operands are
   constants, and from what the op is a part of. Within `keeping_loops` ops that are equal in all that are asked once:
   when a strategy asks for the op's form, and when kernels are made of it.
"""

from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from fuse_dialect.counts import Size
from fuse_dialect.dialect.loops import LoopOperand, Nest, Piece, Updates, combination_of
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.types import is_tensor
from fuse_dialect.fusion.ir.op_signatures import AttributeNumbers
from fuse_dialect.loops.indices import Index, loop
from fuse_dialect.loops.program import Buffer, Role, Scatter, Stage
from fuse_dialect.loops.sizes import Sizes

PLACES = "places"
"""Name of the buffer that holds where a scatter stores."""
_MOST_KEPT = 4096
"""Results whose stages one compilation keeps; when there are more, it begins anew."""


class Made(NamedTuple):
    """A stage, and those that it needs."""

    before: tuple[tuple[Buffer, Stage], ...]
    """Buffers that are the op's own, and what writes them; who puts stages together chooses other names."""
    stage: Stage
    """Writes `RESULT`."""


@dataclass(eq=False, slots=True)
class _Kept:
    """The stages of results, by all that they follow from."""

    numbers: AttributeNumbers = field(default_factory=AttributeNumbers)
    made: dict[Hashable, tuple[Made, ...]] = field(default_factory=dict[Hashable, tuple[Made, ...]])

    def key(self, op: FuseOp, operands: Sequence[LoopOperand], number: int, origin: str) -> Hashable:
        """All that the stages of a result follow from (2)."""
        attribute = self.numbers.number
        return (
            type(op),
            tuple([attribute(operand.type) for operand in operands]),
            # A zero has a sign, and true is no 1: a number stands for itself as it is written.
            tuple([None if operand.constant is None else repr(operand.constant) for operand in operands]),
            tuple([attribute(result.type) for result in op.results]),
            tuple([(name, attribute(value)) for name, value in op.properties.items()]),
            number,
            origin,
        )

    def stages(self, key: Hashable, make: Callable[[], tuple[Made, ...]]) -> tuple[Made, ...]:
        """Those of an earlier op, or else new ones."""
        known = self.made.get(key)
        if known is None:
            known = make()
            if len(self.made) >= _MOST_KEPT:
                # Numbers of attributes are part of the keys.
                self.made.clear()
                self.numbers.clear()
            else:
                self.made[key] = known
        return known


_kept: ContextVar[_Kept | None] = ContextVar("loops of ops", default=None)


@contextmanager
def keeping_loops() -> Generator[None]:
    """Within it ops that are equal are asked for their loops once."""
    token = _kept.set(_Kept())
    try:
        yield
    finally:
        _kept.reset(token)


def result_loops(
    op: FuseOp, number: int, operands: Sequence[LoopOperand], shape: Sequence[Size], sizes: Sizes, origin: str
) -> tuple[Made, ...]:
    """The stages of one result, in order.

    Args:
        op: An op that is not made of others.
        number: Of the result.
        operands: What is known of its operands.
        shape: The result's sizes.
        sizes: Which sizes are equal; ops that compute with open ones note more there.
        origin: The ops that it is a part of, and itself, by name.

    Raises:
        LoopFormError: The op has no loops.
    """
    kept = _kept.get()
    is_open = any(isinstance(size, str) for each in (shape, *(operand.shape for operand in operands)) for size in each)
    if kept is None or is_open:
        return _result(op, number, operands, shape, sizes, origin)
    key = kept.key(op, operands, number, origin)
    return kept.stages(key, lambda: _result(op, number, operands, shape, sizes, origin))


def fault_loops(op: FuseOp, operands: Sequence[LoopOperand], sizes: Sizes, origin: str) -> Stage | None:
    """The stage that says whether the op rejects its operands; `None` if it rejects none."""
    if type(op).fault is FuseOp.fault:
        return None
    nest = Nest(operands, (), sizes, origin=f"{origin}_fault")
    with nest.code.recording():
        found = op.fault(nest)
    return None if found is None else nest.stage(found)


def _result(
    op: FuseOp, number: int, operands: Sequence[LoopOperand], shape: Sequence[Size], sizes: Sizes, origin: str
) -> tuple[Made, ...]:
    made: list[Made] = []
    for piece, part in enumerate(op.result_pieces() or [None]):
        if isinstance(part, Updates):
            made.append(_updates(op, part, operands, len(shape), sizes, origin))
            continue
        nest = Nest(operands, _cut(shape, part), sizes, result=number, piece=piece, origin=origin)
        with nest.code.recording():
            element = op.loops(nest)
        stage = nest.stage(element, _store(len(shape), part))
        made.append(Made(tuple(nest.intermediates), stage))
    return tuple(made)


def _updates(op: FuseOp, part: Updates, operands: Sequence[LoopOperand], rank: int, sizes: Sizes, origin: str) -> Made:
    """The stages that find places, and write to them."""
    shape, result = operands[part.operand].shape, op.results[0].type
    assert is_tensor(result), "ops on tuples are not operators"
    finder = Nest(operands, shape[: part.rank], sizes, origin=f"{origin}_places")
    with finder.code.recording():
        place = op.place_of_update(finder)
    places = Buffer(PLACES, "i64", shape[: part.rank], Role.LOCAL)
    nest = Nest(operands, shape, sizes, piece=1, origin=origin)
    with nest.code.recording():
        element = nest.read(part.operand, nest.at)
    scatter = Scatter(PLACES, nest.at[: part.rank], part.depth, combination_of(part, result))
    stage = nest.stage(element, (*[Index()] * part.depth, *nest.at[part.rank :]))
    assert len(stage.store) == rank, "a place and a slice make an element"
    return Made(((places, replace(finder.stage(place), buffer=PLACES)),), replace(stage, scatter=scatter))


def _cut(shape: Sequence[Size], piece: Piece | None) -> tuple[Size, ...]:
    """The shape of a piece."""
    return tuple(shape) if piece is None else (*shape[: piece.axis], piece.size, *shape[piece.axis + 1 :])


def _store(rank: int, piece: Piece | None) -> tuple[Index, ...]:
    """Where the elements of a piece stand in the whole."""
    if piece is None:
        return ()
    return tuple(loop(axis) + (piece.start if axis == piece.axis else 0) for axis in range(rank))
