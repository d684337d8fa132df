"""Networks on accelerators: groups, units, ops that stay on the host, and bytes between groups, against `fuse-ops`.

    python tools/hardware_table.py [network ...]

Bytes: each value that one call writes for others counts once when written, and once for every call that reads it.
Inputs, outputs and weights are the same for every way to group, and are left out. "broken" counts groups that are no
connected trip, or that come to depend on themselves.
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "fusion"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "transforms"))

from recorded_graphs import recorded
from relay_networks import Network
from unet import unet
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, OpResult

from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.hardware import HARDWARE_ATTRIBUTE, UNIT_ATTRIBUTE
from fuse_dialect.dialect.types import byte_count
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.fusion.ir.ssa import check_ssa_order
from fuse_dialect.hardware.fuse_ops_hw import FuseOpsHwPass
from fuse_dialect.templates.shipped.shipped import SHIPPED_TEMPLATES

FOLDED = "build_prefix_O3_no_alter"
"""Stage of the records after TVM's `FoldScaleAxis`: batch norms are weights and biases, as compilers for accelerators
fold them before anything else."""


def _recorded_network(name: str) -> ModuleOp:
    """A recorded network, its weights made up."""
    cases = (case for file in ("zoo", "handmade") for case in recorded(file))
    case = next(case for case in cases if (case["name"], case["stage"]) == (name, FOLDED))
    return Network(case).module


NETWORKS: Mapping[str, Callable[[], ModuleOp]] = {
    **{name: partial(_recorded_network, name) for name in ("resnet18", "resnet50", "mobilenet", "yolo_head")},
    "unet": unet,
}
"""How to build each network of the table."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    network: str
    way: str
    groups: int
    """Calls of primitives for hardware; for `fuse-ops` of all primitives."""
    operators: int
    """Operators that hardware runs."""
    units: str
    host: int
    """Operators that stay on the host."""
    host_groups: int
    """Calls of primitives for the host, after `fuse-ops`."""
    between: int
    """Bytes between groups."""
    broken: int

    def text(self) -> str:
        """The line in Markdown."""
        megabytes = f"{self.between / 1e6:.2f}"
        cells = (self.network, self.way, self.groups, self.operators, self.units, self.host, self.host_groups)
        return f"| {' | '.join(map(str, cells))} | {megabytes} | {self.broken} |"


HEADER = (
    "| network | way | groups | ops on units | units used | host ops | host groups | MB between | broken |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


def measure(name: str, template: str | None) -> Row:
    """Group a network onto a template, or by `fuse-ops` alone."""
    module = NETWORKS[name]()
    if template is not None:
        FuseOpsHwPass(template).apply(Context(), module)
    main = module.body.block.first_op
    assert isinstance(main, func.FuncOp)
    host = sum(isinstance(op, FuseOp) for op in main.body.block.ops)
    FuseOpsPass().apply(Context(), module)
    module.verify()
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
    calls = [op for op in main.body.block.ops if isinstance(op, func.CallOp)]
    callees = [functions[call.callee.string_value()] for call in calls]
    hardware = [callee for callee in callees if HARDWARE_ATTRIBUTE in callee.attributes]
    units = [
        op.attributes[UNIT_ATTRIBUTE] for callee in hardware for op in callee.walk() if UNIT_ATTRIBUTE in op.attributes
    ]
    names = {unit.data: None for unit in units if isinstance(unit, StringAttr)}
    return Row(
        name,
        "fuse-ops" if template is None else template,
        len(calls) if template is None else len(hardware),
        len(units),
        " ".join(names) or "-",
        host,
        len(calls) - len(hardware),
        bytes_between(calls),
        sum(not is_connected(callee) for callee in hardware) + has_cycle(main),
    )


def bytes_between(calls: list[func.CallOp]) -> int:
    """Bytes that calls write for each other and read from each other."""
    total = 0
    for call in calls:
        for result in call.results:
            readers = sum(isinstance(use.operation, func.CallOp) for use in result.uses)
            total += (1 + readers) * (byte_count(result.type) or 0) if readers else 0
    return total


def is_connected(function: func.FuncOp) -> bool:
    """Whether the operators of the function hang together by the values that they give each other."""
    ops: list[Operation] = [op for op in function.body.block.ops if isinstance(op, FuseOp)]
    joined: dict[Operation, list[Operation]] = {op: [] for op in ops}
    for op in ops:
        for value in op.operands:
            if isinstance(value, OpResult) and value.op in joined:
                joined[op].append(value.op)
                joined[value.op].append(op)
    seen: set[Operation] = set()
    pending = [*ops[:1]]
    while pending:
        op = pending.pop()
        if op not in seen:
            seen.add(op)
            pending.extend(joined[op])
    return len(seen) == len(ops)


def has_cycle(function: func.FuncOp) -> bool:
    """Whether some call reads a value of a later one."""
    try:
        check_ssa_order(function.body.block)
    except OpError:
        return True
    return False


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Networks on accelerators, as a table.")
    parser.add_argument("networks", nargs="*", choices=[*NETWORKS, []], help="default: all")
    names: list[str] = parser.parse_args().networks or list(NETWORKS)
    print(HEADER)
    for name in names:
        for template in (None, *SHIPPED_TEMPLATES):
            print(measure(name, template).text(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
