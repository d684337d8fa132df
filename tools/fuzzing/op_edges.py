"""Structural edges of one op: who else reads or returns what it reads and gives. Each is made for every op in turn.

`OP_EDGES` adds to a program what an edge needs, around its op in focus; `edges_met` finds edges in any program, without
asking how it was made.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import f32, f64, i32, i64
from xdsl.ir import Attribute
from xdsl.irdl import VarOperandDef

from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.conversion import CastOp
from fuse_dialect.dialect.ops.replication import ExpandDimsOp
from fuse_dialect.dialect.types import element_dtype, is_tensor, with_element
from fuzzing.draft import Draft, Known, Proposal
from fuzzing.program import RandomProgram, Step

_CUBE = 3
"""Size of all axes of a value that is to be its own weight, or its own indices."""
_DEFAULTS: Mapping[str, Attribute] = {}
OpEdge: TypeAlias = Callable[[Draft, Step], None]
"""Adds to a draft what an edge of a step needs, if the op can have it."""


def _results(draft: Draft, step: Step) -> list[Known]:
    """The results that are tensors."""
    return [draft.values[number] for number in step.results if is_tensor(draft.values[number].type)]


def _return_source(draft: Draft, step: Step) -> None:
    """An argument or constant that the op reads is a result as it is, or a new one of the same elements is."""
    sources = [number for number in step.operands if number in draft.sources]
    read = [draft.values[number] for number in step.operands]
    tensors = [known for known in read if is_tensor(known.type)]
    if sources:
        draft.returned += [sources[0], *step.results]
    elif tensors:
        fresh = draft.fresh(tensors[0].shape, tensors[0].element, array=tensors[0].array)
        operands = [fresh if known is tensors[0] else known for known in read]
        made = draft.apply(step.op_class, Proposal(operands, step.properties)) or draft.apply(
            step.op_class, Proposal(operands, step.properties, step.result_types)
        )
        draft.returned += [fresh.number, *(known.number for known in made or ())]


def _return_twice(draft: Draft, step: Step) -> None:
    draft.returned += [*step.results, *step.results]


def _cast(draft: Draft, subject: Known) -> None:
    """An op behind a value, which changes its element type."""
    element = f64 if subject.element == f32 else f32
    made = draft.apply(CastOp, Proposal([subject], {}, [with_element(subject.tensor, element)]))
    draft.returned += [known.number for known in made or ()]


def _raise(draft: Draft, subject: Known) -> None:
    """An op behind a value, whose result has a rank more."""
    made = draft.apply(ExpandDimsOp, Proposal([subject], {"axis": 0}))
    draft.returned += [known.number for known in made or ()]


def _read_and_return(draft: Draft, step: Step) -> None:
    for subject in _results(draft, step)[:1]:
        _cast(draft, subject)
        draft.returned.append(subject.number)


def _read_by_two(draft: Draft, step: Step) -> None:
    for subject in _results(draft, step)[:1]:
        _cast(draft, subject)
        _raise(draft, subject)


def _one_operand_twice(draft: Draft, step: Step) -> None:
    """The op on one operand in all places of its type; on a cube of small numbers where no type is another."""
    read = [draft.values[number] for number in step.operands]
    operands = [next(other for other in read if other.type == known.type) for known in read]
    if len(read) < 2 or len(set(step.operands)) < len(read):
        return
    if len(set(map(id, operands))) < len(read):
        made = draft.apply(step.op_class, Proposal(operands, step.properties, step.result_types))
        draft.returned += [known.number for known in made or ()]
        return
    for rank, element in product(range(6), (draft.element, i64, i32)):
        numbers: Array = np.array(range(_CUBE**rank), np.int64).reshape([_CUBE] * rank) % _CUBE
        cube = draft.fresh(numbers.shape, element, array=numbers.astype(element_dtype(element)), keep_closed=True)
        for count in range(len(read), 1, -1):
            for properties in (step.properties, _DEFAULTS):
                if made := draft.apply(step.op_class, Proposal([*[cube] * count, *read[count:]], properties)):
                    draft.returned += [known.number for known in made]
                    return


def _again(draft: Draft, step: Step) -> None:
    """The same op on the same operands."""
    operands = [draft.values[number] for number in step.operands]
    made = draft.apply(step.op_class, Proposal(operands, step.properties, step.result_types))
    draft.returned += [*step.results, *(known.number for known in made or ())]


OP_EDGES: Mapping[str, OpEdge] = {
    "source-returned": _return_source,
    "returned-twice": _return_twice,
    "read-and-returned": _read_and_return,
    "read-by-two": _read_by_two,
    "one-operand-twice": _one_operand_twice,
    "same-op-again": _again,
}
"""A row for each edge; what it finds in a program stands in `edges_met`."""


def add_edge(draft: Draft, focus: type[FuseOp], turn: int) -> None:
    """Add the edge whose turn it is to the first op of a class, if there is one; in some turns there is none."""
    builders = list(OP_EDGES.values())
    place = turn % (len(builders) + 1)
    step = next((step for step in draft.steps if step.op_class is focus), None)
    if step is not None and place < len(builders) and not draft.refused:
        builders[place](draft, step)


def edges_met(program: RandomProgram) -> Iterator[tuple[str, str]]:
    """The ops of a program and the edges that they have."""
    readers: dict[int, list[Step]] = {}
    for step in program.steps:
        for operand in dict.fromkeys(step.operands):
            readers.setdefault(operand, []).append(step)
    for place, step in enumerate(program.steps):
        name = step.op_class.name
        if any(operand in program.sources and operand in program.outputs for operand in step.operands):
            yield name, "source-returned"
        if len(set(step.operands)) < len(step.operands):
            yield name, "one-operand-twice"
        if any(_is_same(step, other) for other in program.steps[:place]):
            yield name, "same-op-again"
        for number in step.results:
            if program.outputs.count(number) > 1:
                yield name, "returned-twice"
            if number in program.outputs and number in readers:
                yield name, "read-and-returned"
            if len(readers.get(number, ())) > 1:
                yield name, "read-by-two"


def _is_same(step: Step, other: Step) -> bool:
    return (step.op_class, step.operands, step.properties) == (other.op_class, other.operands, other.properties)


_NEVER_ITS_OWN = frozenset(
    (
        *("fuse.pad", "fuse.reverse_sequence", "fuse.roi_align", "fuse.non_max_suppression"),
        *("fuse.dyn_reshape", "fuse.dyn_full", "fuse.dyn_strided_slice", "fuse.dyn_resize2d", "fuse.dyn_topk"),
        *("fuse.requantize", "fuse.householder_product", "fuse.dyn_broadcast_to", "fuse.blockwise_dense"),
    )
)
"""Ops whose operands differ in rank or in type, or of which one says the sizes of the other."""
_OF_TUPLES = frozenset(("fuse.get_tuple_element",))
"""Ops that read no tensor."""


def possible(op_class: type[FuseOp]) -> set[str]:
    """The edges that an op can have."""
    operands = op_class.get_irdl_definition().operands
    found = set(OP_EDGES)
    if not operands or op_class.name in _OF_TUPLES:
        found.discard("source-returned")
    is_single = len(operands) < 2 and not any(isinstance(each, VarOperandDef) for _, each in operands)
    if is_single or op_class.name in _NEVER_ITS_OWN:
        found.discard("one-operand-twice")
    return found
