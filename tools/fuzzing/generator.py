"""The program of a seed.

Seeds go through the registry in turn: each has an op and an element type in its focus, which the program holds if they
go together, with ops before and behind it that the seed chooses.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from random import Random

import numpy as np
from xdsl.ir import Block
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.fuse import ALL_OPS
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.conversion import CastOp
from fuse_dialect.dialect.types import ElementType, is_tensor, tensor, with_element
from fuse_dialect.pattern_kind import PatternKind
from fuzzing import generic, matrix_rows, numeric_rows, shape_rows
from fuzzing.arrays import ELEMENTS, SIZES, STYLES, WEIGHTS
from fuzzing.draft import Draft, Known, Proposal
from fuzzing.op_edges import add_edge
from fuzzing.program import RandomProgram
from fuzzing.table import Row

ROWS: Mapping[type[FuseOp], Row] = {
    **shape_rows.ROWS.rows,
    **numeric_rows.ROWS.rows,
    **matrix_rows.ROWS.rows,
}
"""Ops with a row; `generic.propose` does for the others."""
MOST_STEPS = 6
_ATTEMPTS = 7
"""How often an op is proposed before another one is."""
_STRIDE = 97
"""Seeds apart, coprime to the number of pairs, so that neighbours differ in op and type."""


def kind_of(op_class: type[FuseOp]) -> PatternKind:
    """The kind that an op class declares."""
    from fuse_dialect.dialect.attributes import OpPatternKind

    return next(trait.kind for trait in op_class.traits.traits if isinstance(trait, OpPatternKind))


BY_KIND: Mapping[PatternKind, list[type[FuseOp]]] = {
    kind: [op_class for op_class in ALL_OPS if kind_of(op_class) is kind] for kind in PatternKind
}


def make_program(seed: int) -> RandomProgram | None:
    """The program of a seed; `None` where no op was found that takes the element type of the seed."""
    draft = draft_of(seed)
    return draft.finish(seed) if draft.steps else None


def focus_of(seed: int) -> tuple[type[FuseOp], ElementType]:
    """The op and the element type in the focus of a seed."""
    place = seed * _STRIDE % (len(ALL_OPS) * len(ELEMENTS))
    return ALL_OPS[place % len(ALL_OPS)], ELEMENTS[place // len(ALL_OPS) % len(ELEMENTS)]


def draft_of(seed: int) -> Draft:
    """The draft of the program of a seed."""
    focus, element = focus_of(seed)
    random = Random(seed)
    pool = random.choices(SIZES, WEIGHTS, k=random.randint(2, 4))
    if random.random() > 0.1:
        pool = [size or 3 for size in pool]
    open_sizes = random.sample(pool, random.randint(1, len(pool))) if random.random() < 0.35 else []
    draft = Draft(
        random,
        np.random.default_rng(seed),
        element,
        random.choice(STYLES),
        pool,
        frozenset(open_sizes),
        may_refuse=random.random() < 0.1,
    )
    draft.fresh(draft.shape(random.choice((0, 1, 2, 2, 3, 4, 4, 4, 5))))
    before = random.choice((0, 1, 1, 2))
    for _ in range(before):
        add_op(draft, _some_op(random))
    add_op(draft, focus)
    for _ in range(random.randint(0, MOST_STEPS - 1 - before)):
        add_op(draft, _some_op(random))
    # Element types of an op take turns by rounds of all ops, so that each op meets each edge.
    add_edge(draft, focus, seed * _STRIDE // len(ALL_OPS))
    return draft


def _some_op(random: Random) -> type[FuseOp]:
    """Any op: of a kind that is chosen first, so that small kinds are met as well."""
    if random.random() < 0.5:
        return random.choice(ALL_OPS)
    return random.choice(BY_KIND[random.choice([kind for kind, ops in BY_KIND.items() if ops])])


def add_op(draft: Draft, op_class: type[FuseOp]) -> list[Known] | None:
    """Add an op of the class that reads a value of the draft, or if none will do, fresh ones."""
    propose = ROWS.get(op_class, generic.propose)
    for attempt in range(_ATTEMPTS):
        subject = _subject(draft, op_class, attempt)
        proposal = propose(draft, op_class, subject)
        if proposal is not None and (made := draft.apply(op_class, proposal)) is not None:
            return made
    return None


@cache
def likely_elements(op_class: type[FuseOp]) -> Sequence[ElementType]:
    """The element types that the op takes on two matrices, with properties that are left out; all if it takes none."""
    count = len(op_class.get_irdl_definition().operands)
    found: list[ElementType] = []
    for element in ELEMENTS:
        block = Block(arg_types=[tensor((3, 3), element)] * count)
        try:
            op_class(*block.args).verify()
        except VerifyException:
            continue
        found.append(element)
    return found or ELEMENTS


def _subject(draft: Draft, op_class: type[FuseOp], attempt: int) -> Known:
    """A value to read: the latest at first, at last a new one."""
    made = [known for known in draft.values if is_tensor(known.type) and known.kind is not None]
    if attempt == 0 and made:
        return made[-1]
    if attempt < 2 and (found := draft.find(lambda known: True)) is not None:
        return found
    shape = draft.shape(draft.random.choice((0, 1, 2, 3, 4, 4, 5)))
    if attempt == 2:
        return draft.fresh(shape)
    # The op takes no elements of the types at hand: a cast makes others of what there is.
    element = draft.random.choice(likely_elements(op_class))
    if attempt == 3 and made:
        cast = draft.apply(CastOp, Proposal([made[-1]], {}, [with_element(made[-1].tensor, element)]))
        if cast is not None:
            return cast[0]
    return draft.fresh(shape, element)
