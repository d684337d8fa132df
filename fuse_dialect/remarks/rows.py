"""Remarks as rows, of all passes that fuse and of all three types that MLIR has: passed, missed, analysis.

A *missed* remark says why an operator was not fused, a *passed* one which merge fused it, an *analysis* what a kernel
holds and moves; `convert-layout` says by the first two which ops get a layout. What people read is made elsewhere: a
row is data with a message.

Source: the types are those of MLIR's remarks, mlir/docs/Remarks.md.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from fuse_dialect.analysis.kernel_costs import kernel_cost
from fuse_dialect.diagnostics import Reason
from fuse_dialect.dialect.op_sources import source_of
from fuse_dialect.fusion.core.plan import FusionKernel
from fuse_dialect.fusion.core.value_graph import NodeRole
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.fusion.ir.function_like import is_function, symbol_of
from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.hardware.fuse_ops_hw import FuseOpsHwPass
from fuse_dialect.remarks.calls import call_remarks
from fuse_dialect.remarks.fusion import graph_remarks, is_operator, remark_on
from fuse_dialect.remarks.hardware import hardware_remarks
from fuse_dialect.remarks.layouts import layout_remarks
from fuse_dialect.remarks.recorded_fusion import RecordedFusion, record_fusion
from fuse_dialect.remarks.splitting import splitting_text
from fuse_dialect.remarks.wording import CallRemark, FusionRemark, HardwareRemark, time_text
from fuse_dialect.transforms.convert_layout import ConvertLayoutPass
from fuse_dialect.transforms.defuse_ops import DefuseOpsPass

_Refusal: TypeAlias = FusionRemark | HardwareRemark | CallRemark


class RemarkType(StrEnum):
    """What a remark is about."""

    PASSED = "passed"
    MISSED = "missed"
    ANALYSIS = "analysis"


@dataclass(frozen=True, slots=True)
class RemarkRow:
    """One remark."""

    type: RemarkType
    pass_name: str
    code: str
    """Reason code of a missed remark, rule of a passed one, `kernel` of an analysis."""
    op: Operation
    """The op that it is about; for a kernel its last one."""
    message: str
    """Ops in quotes, then the code, without a place."""
    explanation: str
    """The same in a sentence."""
    details: dict[str, int | str] = field(default_factory=dict[str, "int | str"])
    """Numbers and names besides, for programs."""

    @property
    def function(self) -> str:
        """Name of the function around the op; empty if there is none."""
        current: Operation | None = self.op
        while current is not None and not is_function(current):
            current = current.parent_op()
        return "" if current is None else symbol_of(current)

    @property
    def value(self) -> str:
        """Name of the op's first result as it was read; empty if it has none."""
        hint = self.op.results[0].name_hint if self.op.results else None
        return "" if hint is None else f"%{hint}"

    @property
    def source(self) -> str:
        """What a model calls the op; empty if it does not."""
        return source_of(self.op)

    def as_json(self) -> dict[str, int | str]:
        """All that is known, for `json.dump`; the caller adds the place."""
        return {
            "type": self.type.value,
            "pass": self.pass_name,
            "code": self.code,
            "op": op_name(self.op),
            "value": self.value,
            "function": self.function,
            "source": self.source,
            "message": self.message,
            "explanation": self.explanation,
            **self.details,
        }


def remark_rows(
    module: ModuleOp, module_pass: ModulePass, ctx: Context, types: Collection[RemarkType]
) -> list[RemarkRow]:
    """The remarks on what a pass would do to a module, in the order of its ops as they are printed.

    `convert-layout{if-profitable}` has one on each op that it weighs. Other passes that have nothing to do with fusion
    have none; those of `fuse-ops-hw` and `defuse-ops` are missed ones.

    Raises:
        FuseError: The pass has no such template or strategy.
        OpError: The pass cannot group a block.
        PassFailedException: An option has no meaning.
    """
    rows: list[RemarkRow] = []
    match module_pass:
        case FuseOpsPass():
            for function, merges in module_pass.merges_before(module).items():
                for recorded in record_fusion(function, module_pass, merges):
                    rows += _rows_of_block(recorded, types)
                if RemarkType.MISSED in types:
                    rows += _refusals(module_pass.name, graph_remarks(function))
        case FuseOpsHwPass() if RemarkType.MISSED in types:
            rows += _refusals(module_pass.name, hardware_remarks(module, module_pass, ctx))
        case DefuseOpsPass() if RemarkType.MISSED in types:
            rows += _refusals(module_pass.name, call_remarks(module))
        case ConvertLayoutPass():
            rows += _layout_rows(module, module_pass, types)
        case _:
            return []
    # Graphs are numbered from the results back, whatever the order in the text is.
    places = {op: place for place, op in enumerate(module.walk())}
    return sorted(rows, key=lambda row: places[row.op])


def _layout_rows(
    module: ModuleOp, module_pass: ConvertLayoutPass, types: Collection[RemarkType]
) -> Iterator[RemarkRow]:
    """A passed row for each op that gets the layout, a missed one for each that keeps its own."""
    for remark in layout_remarks(module, module_pass):
        type = RemarkType.PASSED if remark.choice.is_converted else RemarkType.MISSED
        if type in types:
            code = "layout" if remark.choice.is_converted else Reason.LAYOUT_KEPT.value
            yield RemarkRow(
                type,
                module_pass.name,
                code,
                remark.choice.op,
                remark.message,
                remark.explanation,
                remark.details,
            )


def _refusals(pass_name: str, remarks: Iterable[_Refusal]) -> Iterator[RemarkRow]:
    for remark in remarks:
        code = remark.reason.value
        yield RemarkRow(RemarkType.MISSED, pass_name, code, remark.op, remark.message, remark.explanation)


def _rows_of_block(recorded: RecordedFusion, types: Collection[RemarkType]) -> Iterator[RemarkRow]:
    if RemarkType.MISSED in types:
        yield from _missed(recorded)
    if RemarkType.PASSED in types:
        yield from _passed(recorded)
    if RemarkType.ANALYSIS in types:
        yield from _kernels(recorded)


def _missed(recorded: RecordedFusion) -> Iterator[RemarkRow]:
    fusion = recorded.fusion
    for number, decision in enumerate(fusion.plan.decisions):
        if not decision and is_operator(fusion.block_graph.nodes[number]):
            remark = remark_on(fusion, number)
            details: dict[str, int | str] = {"kind": remark.kind.keyword}
            if remark.rule is not None:
                details["rule"] = remark.rule.name
            if remark.apart is not None and remark.together is not None:
                details["apart"], details["together"] = time_text(remark.apart), time_text(remark.together)
            for name, count in (("counted", remark.counted), ("limit", remark.limit)):
                if count is not None:
                    details[name] = count
            yield RemarkRow(
                RemarkType.MISSED,
                recorded.fuse_ops.name,
                remark.reason.value,
                remark.op,
                remark.message,
                remark.explanation,
                details,
            )


def _passed(recorded: RecordedFusion) -> Iterator[RemarkRow]:
    """A row for each merge of an operator."""
    nodes, count = recorded.fusion.block_graph.nodes, len(recorded.merges)
    for number, merge in enumerate(recorded.merges, 1):
        source, sink = nodes[merge.source], nodes[merge.sink]
        if source.op is None or not is_operator(source) or sink.op is None:
            continue
        rule = "merge" if merge.rule is None else merge.rule.name
        along = len(merge.absorbed) - 1
        also = f", and takes {along} {'group' if along == 1 else 'groups'} between along" if along else ""
        details: dict[str, int | str] = {"merge": number, "taken-along": along}
        explanation = f"merge {number} of {count}{also}"
        if merge.seconds_saved is not None:
            details |= {"time-saved": time_text(merge.seconds_saved), "bytes-saved": merge.bytes_saved or 0}
            explanation += f": saves {time_text(merge.seconds_saved)} and {merge.bytes_saved or 0} bytes"
        else:
            details["phase"] = -1 if merge.phase is None else merge.phase
            explanation = f"merge {number} of {count}, in phase {merge.phase}{also}"
        yield RemarkRow(
            RemarkType.PASSED,
            recorded.fuse_ops.name,
            rule,
            source.op,
            f"'{op_name(source.op)}' op fused into '{op_name(sink.op)}': {rule}",
            explanation,
            details,
        )


def _kernels(recorded: RecordedFusion) -> Iterator[RemarkRow]:
    """A row for each kernel."""
    graph, nodes = recorded.fusion.block_graph.value_graph, recorded.fusion.block_graph.nodes
    for kernel in recorded.fusion.plan.kernels:
        operators = [node for node in kernel.nodes if graph.roles[node] is NodeRole.OPERATOR]
        ops = [op for op in (nodes[node].op for node in operators) if op is not None]
        cost = kernel_cost(graph, kernel)
        apart = sum(
            kernel_cost(graph, FusionKernel((node,), tuple(graph.gives(node)))).static_bytes for node in operators
        )
        names = " + ".join(op_name(op).split(".", 1)[-1] for op in ops)
        flops = "?" if cost.flops is None else str(cost.flops)
        splits = splitting_text(ops)
        also = f"; {splits}" if splits else ""
        yield RemarkRow(
            RemarkType.ANALYSIS,
            recorded.fuse_ops.name,
            "kernel",
            ops[-1],
            f"'{op_name(ops[-1])}' op ends a kernel of {len(ops)}: {names}",
            f"moves {cost.static_bytes} bytes instead of {apart}, and computes {flops} flop{also}",
            {
                "ops": len(ops),
                "bytes-before": apart,
                "bytes-after": cost.static_bytes,
                "flops": flops,
                **({"splits": splits} if splits else {}),
            },
        )
