"""What fusion did to a module, in numbers that are read off the result."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from fuse_dialect.analysis.kernel_costs import Cost
from fuse_dialect.analysis.op_costs import PrimitiveCost, op_cost
from fuse_dialect.dialect.ops.hardware import HARDWARE_ATTRIBUTE
from fuse_dialect.dialect.ops.tuples import GetTupleElementOp, TupleOp
from fuse_dialect.dialect.types import byte_count, element_count
from fuse_dialect.fusion.ir.constants import is_constant
from fuse_dialect.fusion.ir.fusible_blocks import PRIMITIVE_ATTRIBUTE
from fuse_dialect.fusion.ir.open_sizes import OpenSizes
from fuse_dialect.fusion.kinds.kind_of import kind_of


@dataclass(frozen=True, slots=True)
class FusionStatistics:
    """Numbers of one fusion of a module.

    `str(statistics)` is the line that `fuse-opt --mlir-pass-statistics` prints.
    """

    pass_name: str
    ops: int
    """Operators that are part of a kernel; constants and tuple ops are not counted."""
    groups: int
    """Kernels that run when everything runs once: calls of primitive functions."""
    primitives: int
    """Functions that the groups became; groups of the same structure share one."""
    bytes_before: int
    """Bytes that the operators read and write if each is a kernel of its own; static shapes only."""
    bytes_after: int
    """Bytes that the kernels read and write; static shapes only."""
    dynamic_values: int = 0
    """Values that `bytes_before` leaves out because a dimension is dynamic."""
    refusals: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many operators each reason code kept from fusing, the most frequent first."""

    def __str__(self) -> str:
        numbers = f"ops={self.ops} groups={self.groups} primitives={self.primitives}"
        moved = f"bytes-before={self.bytes_before} bytes-after={self.bytes_after}"
        left_out = f" dynamic-values={self.dynamic_values}" if self.dynamic_values else ""
        refusals = " ".join(f"{code}={count}" for code, count in self.refusals.items()) or "none"
        return f"{self.pass_name}: {numbers} {moved}{left_out}; refusals: {refusals}"

    def as_json(self) -> dict[str, object]:
        """The numbers under the names that the line has, for `json.dump`."""
        return {
            "pass": self.pass_name,
            "ops": self.ops,
            "groups": self.groups,
            "primitives": self.primitives,
            "bytes-before": self.bytes_before,
            "bytes-after": self.bytes_after,
            "dynamic-values": self.dynamic_values,
            "refusals": dict(self.refusals),
        }


def primitives_of(module: ModuleOp) -> dict[str, func.FuncOp]:
    """The primitive functions anywhere in the module, by name."""
    return {
        op.sym_name.data: op
        for op in module.walk()
        if isinstance(op, func.FuncOp) and PRIMITIVE_ATTRIBUTE in op.attributes
    }


def statistics_of(pass_name: str, fused: ModuleOp, known: Collection[str], refusals: Iterable[str]) -> FusionStatistics:
    """The numbers of a fusion that has been carried out.

    Args:
        pass_name: Name of the pass.
        fused: The module after the pass.
        known: Names of primitive functions that were there before it.
        refusals: Reason codes of the operators that the pass did not fuse.

    Complexity: O(ops).
    """
    new = {name: function for name, function in primitives_of(fused).items() if name not in known}
    calls = [op for op in fused.walk() if isinstance(op, func.CallOp) and op.callee.string_value() in new]
    times = Counter(call.callee.string_value() for call in calls)
    alone: dict[str, list[Cost]] = {name: _operator_costs(function) for name, function in new.items()}
    after = {name: PrimitiveCost(function).cost.static_bytes + _numbers(function) for name, function in new.items()}
    before = [(cost, times[name]) for name, costs in alone.items() for cost in costs]
    return FusionStatistics(
        pass_name,
        ops=sum(len(costs) * times[name] for name, costs in alone.items()),
        groups=len(calls),
        primitives=len(new),
        bytes_before=sum(cost.static_bytes * count for cost, count in before),
        bytes_after=sum(moved * times[name] for name, moved in after.items()),
        dynamic_values=sum(cost.open_values * count for cost, count in before),
        refusals=dict(Counter(refusals).most_common()),
    )


def _numbers(function: func.FuncOp) -> int:
    """Bytes of single numbers that a trip through hardware reads: it has them in memory, and not in its code."""
    if HARDWARE_ATTRIBUTE not in function.attributes:
        return 0
    constants = [op.results[0] for op in function.body.block.ops if is_constant(op)]
    return sum(byte_count(value.type) or 0 for value in constants if element_count(value.type) == 1)


def _operator_costs(function: func.FuncOp) -> list[Cost]:
    """What the ops of a primitive that compute something cost, each as a kernel of its own."""
    sizes = OpenSizes(function.body.block)
    return [op_cost(op, sizes) for op in function.body.block.ops if not is_constant(op) and _is_operator(op)]


def _is_operator(op: Operation) -> bool:
    return not isinstance(op, TupleOp | GetTupleElementOp) and kind_of(op) is not None
