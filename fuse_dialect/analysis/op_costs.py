"""What ops and primitives cost: the same sums as for kernels of a plan, for what is IR already."""

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.ir import Operation

from fuse_dialect.analysis.kernel_costs import Cost, kernel_cost
from fuse_dialect.counts import Count
from fuse_dialect.dialect.ops.tuples import GetTupleElementOp, TupleOp
from fuse_dialect.fusion.core.plan import FusionKernel
from fuse_dialect.fusion.ir.block_graph import build_graph
from fuse_dialect.fusion.ir.open_sizes import OpenSizes
from fuse_dialect.fusion.ir.ssa import read_values


def op_cost(op: Operation, sizes: OpenSizes | None = None) -> Cost:
    """What an op costs as a kernel of its own, all of its results stored; tuples cost nothing.

    Args:
        op: Any op; one without tensors moves nothing.
        sizes: Those of its block, for a caller that asks for many ops.
    """
    if isinstance(op, TupleOp | GetTupleElementOp):
        return Cost((), Count())
    known = sizes or OpenSizes(op.parent)
    values = read_values(op)
    reads = dict(zip(values, known.touched_by(op, values), strict=True))
    return Cost((*reads.values(), *(known.bytes_of(result) for result in op.results)), known.flops_of(op))


class PrimitiveCost:
    """What one run of a primitive costs, at whatever sizes."""

    def __init__(self, function: func.FuncOp):
        """Analyse the function, which has one block."""
        block_graph = build_graph(function.body.block)
        graph = block_graph.value_graph
        nodes = tuple(node for node, role in enumerate(graph.roles) if role.may_move)
        inside = set(nodes)
        values = graph.facts.values
        # What the caller gives and gets back passes through the function, and is no work of it.
        outputs = tuple(number for number, value in enumerate(values) if value.escapes and value.producer in inside)
        self.cost = kernel_cost(graph, FusionKernel(nodes, outputs))
        number_of = {
            id(value): graph.first_value[node] + place
            for node, (role, op, value) in enumerate(block_graph.nodes)
            if not role.is_view
            for place, value in enumerate((value,) if op is None else op.results)
        }
        block = function.body.block
        returned = block.last_op.operands if block.last_op is not None else ()
        self._arguments = [values[number_of[id(value)]].shape for value in block.args]
        self._results = [values[number_of[id(value)]].shape for value in returned]

    def at(self, arguments: Sequence[Sequence[int]], results: Sequence[Sequence[int]]) -> tuple[int | None, int | None]:
        """Bytes and arithmetic of a call with arrays of these shapes; `None` where another size decides.

        Sizes are those of arguments and results that are tensors; the fields of a tuple and lists of sizes say nothing.
        """
        sizes: dict[str, int] = {}
        known, given = (*self._arguments, *self._results), (*arguments, *results)
        for shape, actual in zip(known, given, strict=True) if len(known) == len(given) else ():
            # A `!tosa.shape<2>` has no axes, and is an array.
            if len(shape) == len(actual):
                sizes.update(
                    (size, number) for size, number in zip(shape, actual, strict=True) if isinstance(size, str)
                )
        bytes, flops = self.cost.bytes, self.cost.flops
        return (None if bytes is None else bytes.at(sizes)), (None if flops is None else flops.at(sizes))
