"""Whether every value is defined before it is used, on every way to the use: SSA dominance, which xDSL does not verify.

1. A block sees the values of the blocks that dominate it, and an op those of earlier ops of its block. The walk goes
   down the tree of dominators and keeps the set of values that are visible, so each operand is one look-up.
2. An op's regions see what the op sees; its results are not visible there.
3. In a graph region the order of ops says nothing: all results of the block are visible from its start. The body of a
   module is one, and so may be the regions of ops that nothing is known about.
4. What no path from the entry reaches is not checked.

Source: MLIR, lib/IR/Verifier.cpp, `verifyDominanceOfContainedRegions`.
"""

from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.loading.dominators import immediate_dominators

_OPS_WITH_GRAPH_REGIONS = frozenset({"builtin.module", "hw.module", "csl.module", "irdl.dialect"})


class DominanceError(VerifyException):
    """An op uses a value that is not defined before it."""

    def __init__(self, op: Operation, operand: int):
        super().__init__(f"operand #{operand} does not dominate this use")
        self.op = op
        """The user."""
        self.definition = op.operands[operand].owner
        """The op or block that gives the value."""


def verify_dominance(module: ModuleOp) -> None:
    """Verify the order of definitions and uses in a module.

    Raises:
        DominanceError: A use is not dominated by its definition.

    Complexity: O(n log n) time for n ops, operands and blocks; linear for regions of one block.
    """
    _Walk().run(module)


class _Walk:
    """The walk over the tree of dominators; its stack replaces recursion."""

    def __init__(self) -> None:
        self._visible: set[SSAValue] = set()
        self._dominated: dict[Block, list[Block]] = {}
        """Blocks by their immediate dominator."""
        self._stack: list[Region | Block | _Rest | list[SSAValue]] = []

    def run(self, module: ModuleOp) -> None:
        self._stack.append(module.body)
        while self._stack:
            match self._stack.pop():
                case Region() as region:
                    self._enter_region(region)
                case Block() as block:
                    self._enter_block(block)
                case _Rest() as rest:
                    self._define(rest.op, rest.defined)
                    self._check_ops(rest.op.next_op, rest.defined)
                case list() as defined:
                    self._visible.difference_update(defined)

    def _enter_region(self, region: Region) -> None:
        entry = region.first_block
        if entry is None:
            return
        self._stack.append(entry)
        if entry.next_block is not None:
            self._dominated.update(_dominator_tree(region))

    def _enter_block(self, block: Block) -> None:
        # (1) what the block defines stays visible in the blocks that it dominates, and goes with the list below them
        defined: list[SSAValue] = list(block.args)
        if _is_graph(block):
            defined.extend(result for op in block.ops for result in op.results)  # (3)
        self._visible.update(defined)
        self._stack.append(defined)
        self._stack.extend(reversed(self._dominated.pop(block, ())))
        self._check_ops(block.first_op, defined)

    def _check_ops(self, op: Operation | None, defined: list[SSAValue]) -> None:
        """Check the ops of a block from `op` on; those behind an op with regions wait for the regions."""
        while op is not None:
            for index, operand in enumerate(op.operands):
                if operand not in self._visible:
                    raise DominanceError(op, index)
            if op.regions:
                self._stack.append(_Rest(op, defined))  # (2) its results come after its regions
                self._stack.extend(reversed(op.regions))
                return
            self._define(op, defined)
            op = op.next_op

    def _define(self, op: Operation, defined: list[SSAValue]) -> None:
        defined.extend(op.results)
        self._visible.update(op.results)


class _Rest:
    """The ops of a block behind one whose regions are being walked."""

    def __init__(self, op: Operation, defined: list[SSAValue]):
        self.op = op
        self.defined = defined
        """What the block has defined so far."""


def _is_graph(block: Block) -> bool:
    parent = block.parent_op()
    return isinstance(parent, UnregisteredOp) or (parent is not None and parent.name in _OPS_WITH_GRAPH_REGIONS)


def _dominator_tree(region: Region) -> dict[Block, list[Block]]:
    """The blocks that each block dominates immediately, in their order; (4) without what nothing reaches."""
    blocks = list(region.blocks)
    index = {block: number for number, block in enumerate(blocks)}
    successors = [
        [index[successor] for successor in block.last_op.successors if successor in index]
        if block.last_op is not None
        else []
        for block in blocks
    ]
    tree: dict[Block, list[Block]] = {}
    for block, dominator in zip(blocks, immediate_dominators(successors), strict=True):
        if dominator is not None:
            tree.setdefault(blocks[dominator], []).append(block)
    return tree
