"""The first merge after which a program computes something else, found by halving.

1. The interpreter runs the module as it is: that is what the program means.
2. The module is compiled with all merges. Where it agrees, there is nothing to find.
3. It is compiled without any. Where it differs already, a kernel of a single operator is wrong: kernels are compared
   one by one.
4. Otherwise there is a number of merges with which it agrees, and with one more it differs. Halving finds one such
   number, with as many compilations as the number of merges has binary digits; if there are several, any of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from fuse_dialect.bisecting.way import Way
from fuse_dialect.dialect.op import Array
from fuse_dialect.fusion.core.first_kernels import fused_kernels
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.remarks.printed_ir import printed_ir
from fuse_dialect.remarks.recorded_fusion import RecordedFusion, record_fusion
from fuse_dialect.remarks.story import StoryTeller
from fuse_dialect.transforms.compile_pipeline import prepare_to_fuse

MOST_MERGES = 1 << 60
"""More merges than any module has: with this limit merges are counted, and all are made."""


@dataclass(frozen=True, slots=True)
class BadMerge:
    """The merge, and the kernel that it made."""

    number: int
    """Counted from 1; 0 if the outputs differ without any merge."""
    total: int
    """How many merges there are."""
    difference: str
    """How the outputs differ with it."""
    description: str
    """The merge in words; empty for 0."""
    prepared: ModuleOp
    """The module as it is before fusion, in which the kernel's ops stand."""
    function: Operation | None
    ops: Sequence[Operation]
    """The ops of the kernel in block order; none if no kernel alone is to blame."""
    fuse: FuseOpsPass
    """The pass with so many merges."""


def find_bad_merge(
    module: ModuleOp, inputs: Sequence[Array], way: Way, say: Callable[[str], object] = lambda line: None
) -> tuple[BadMerge | None, int]:
    """The merge after which a module computes something else than the interpreter, and the number of all merges.

    Args:
        module: A verified module; it is not changed.
        inputs: Of its entry.
        way: The way in doubt.
        say: Is told each step.

    Returns:
        No merge where the outputs agree with all of them.

    Raises:
        FuseError: The backend is not there, or the interpreter cannot run the module; errors of ops come as they are.
    """
    expected = run_module(module, inputs, way.options.entry, limits=way.options.limits)
    prepared = module.clone()
    prepare_to_fuse(prepared, way.layout)
    total = merges_in(prepared, way.fuse)

    def difference_with(count: int) -> str:
        found = way.disagreement(module, inputs, expected, way.fuse.using(fusion_limit=count))
        say(f"with {count} of {total} merges: {found or 'agrees'}")
        return found

    if not (worst := difference_with(total)):
        return None, total
    low, high = -1, total
    while high - low > 1:
        # None comes first: a kernel that is wrong by itself needs no halving.
        middle = 0 if low < 0 else (low + high) // 2
        found = difference_with(middle)
        low, high, worst = (low, middle, found) if found else (middle, high, worst)
    return _blamed(prepared, way.fuse.using(fusion_limit=high), high, total, worst), total


def merges_in(module: ModuleOp, fuse: FuseOpsPass) -> int:
    """How many merges a pass makes in a module, which is not changed."""
    counting = fuse.using(fusion_limit=MOST_MERGES)
    made = counting.merges_before(module)
    return sum(fusion.merges for function in made for fusion in counting.plan_function(function, made[function]))


def _blamed(prepared: ModuleOp, fuse: FuseOpsPass, number: int, total: int, difference: str) -> BadMerge:
    """The last merge that the pass makes, and its kernel."""
    if number == 0:
        return BadMerge(0, total, difference, "", prepared, None, (), fuse)
    *_, recorded = (
        recorded
        for function, made in fuse.merges_before(prepared).items()
        for recorded in record_fusion(function, fuse, made)
        if recorded.fusion.merges
    )
    node, description = _last_merge(recorded, StoryTeller(recorded, printed_ir(prepared)))
    kernel = recorded.kernels_of[node][-1]
    groups = fuse.planned_groups(recorded.fusion)
    ops = next((group.ops for group in groups if group.kernel == kernel), ())
    return BadMerge(number, total, difference, description, prepared, recorded.function, ops, fuse)


def _last_merge(recorded: RecordedFusion, teller: StoryTeller) -> tuple[int, str]:
    """A node of the kernel that the last merge made, and the merge in words."""
    if recorded.merges:
        merge = recorded.merges[-1]
        rule = "" if merge.rule is None else f", by rule {merge.rule.name}"
        return merge.sink, f"{teller.name(merge.source)} into {teller.name(merge.sink)}{rule}"
    graph, plan = recorded.fusion.block_graph.value_graph, recorded.fusion.plan
    kernel = plan.kernels[fused_kernels(graph, plan)[-1]]
    node = graph.producer(kernel.outputs[-1])
    return node, f"the kernel that gives {teller.name(node)}"
