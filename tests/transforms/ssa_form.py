"""A text of a module that does not depend on the order of pure ops, on names of values, or on dead pure ops.

Two modules have the same text exactly if their functions hold the same ops with the same attributes, properties, types
and locations, wired alike: each block is written from what must stay in order, its unknown ops and its terminator, and
a pure op stands right before the first one that needs it. `fuse.stop_fusion` is read through. The text is made without
anything of `analysis` or `transforms`.
"""

from collections.abc import Iterator

from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from fuse_dialect.dialect.ops.opaque import StopFusionOp
from fuse_dialect.fusion.kinds.kind_of import kind_of


def ssa_form(module: ModuleOp, *, locations: bool = False) -> str:
    """The text; constants count by their value, however many of the same there are."""
    return "\n".join(_Form(locations).lines(module.body.block))


class _Form:
    """The names of values, and the lines that are written with them."""

    def __init__(self, locations: bool):
        self.locations = locations
        self.names: dict[SSAValue, str] = {}
        """What each value so far is called: by number, a constant by its line."""
        self.count = 0
        """Numbers so far; constants have none, so that it does not matter how many copies there are."""

    def number(self, value: SSAValue) -> None:
        """Give the value the next number."""
        self.names[value] = f"%{self.count}"
        self.count += 1

    def lines(self, block: Block) -> Iterator[str]:
        """The lines of a block."""
        for argument in block.args:
            self.number(argument)
        for op in block.ops:
            if op is block.last_op or not _is_pure(op):
                yield from self.op_lines(op)

    def op_lines(self, root: Operation) -> Iterator[str]:
        """The lines of an op, after those of all pure ops that it needs and that have none yet."""
        pending = [root]
        while pending:
            op = pending[-1]
            missing = [value.op for value in map(_through_barriers, _reads(op)) if self.is_missing(value, root)]
            if missing:
                pending.extend(reversed(missing))
                continue
            pending.pop()
            if all(result in self.names for result in op.results) and op.results:
                continue
            yield from self.own_lines(op)

    def is_missing(self, value: SSAValue, root: Operation) -> bool:
        """Whether the op of the value stands in the block of `root` and has no line yet."""
        return isinstance(value, OpResult) and value not in self.names and value.op.parent is root.parent

    def own_lines(self, op: Operation) -> Iterator[str]:
        """The lines of the op itself."""
        operands = [self.names[_through_barriers(value)] for value in op.operands]
        attributes = sorted((name, str(value)) for name, value in {**op.attributes, **op.properties}.items())
        name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
        types = [str(result.type) for result in op.results]
        line = f"{name} {operands} {attributes} {types}" + (f" {op.location}" if self.locations else "")
        if isinstance(op, arith.ConstantOp):
            self.names[op.result] = f"({line})"
            return
        for result in op.results:
            self.number(result)
        yield line
        for region in op.regions:
            for block in region.blocks:
                yield "{"
                yield from self.lines(block)
                yield "}"


def _through_barriers(value: SSAValue) -> SSAValue:
    while isinstance(value, OpResult) and isinstance(value.op, StopFusionOp):
        value = value.op.input
    return value


def _is_pure(op: Operation) -> bool:
    return isinstance(op, arith.ConstantOp) or kind_of(op) is not None


def _reads(op: Operation) -> Iterator[SSAValue]:
    """Operands of the op and of all ops inside."""
    for inner in op.walk():
        for value in inner.operands:
            if not isinstance(value, BlockArgument):
                yield value
