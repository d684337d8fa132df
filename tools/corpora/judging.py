"""Fuses a piece, and says what became of it."""

import signal
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from types import FrameType

from xdsl.context import Context
from xdsl.dialects import func, get_all_dialects
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import ParseError, VerifyException

from corpora.pieces import Flag, Refusal, Verdict, pieces_of
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.dialect.ops.opaque import StopFusionOp
from fuse_dialect.fusion.core.value_graph import NodeRole
from fuse_dialect.fusion.fuse_ops import BlockFusion, FuseOpsPass
from fuse_dialect.fusion.ir.constants import is_constant
from fuse_dialect.fusion.ir.function_like import is_top_level
from fuse_dialect.fusion.kinds.kind_of import kind_of, op_name
from fuse_dialect.fusion.kinds.own_kinds import stamp_own_kinds
from fuse_dialect.fusion.outlining.outline_functions import erase_dead_chains
from fuse_dialect.loading.failure import located_errors
from fuse_dialect.loading.module_file import ModuleFile, module_of_text
from fuse_dialect.loading.source import Source
from fuse_dialect.remarks.fusion import FusionRemark, block_remarks
from fuse_dialect.targets.mlir import FusePrinter
from fuse_dialect.transforms.defuse_ops import DefuseOpsPass

_INTERNAL = "internal error"


class OutOfTimeError(BaseException):
    """The seconds of a piece are over; no handler of errors takes it for one."""


@contextmanager
def bounded(seconds: float) -> Generator[None]:
    """Raise `OutOfTimeError` in the body after so many seconds."""

    def end(_signal: int, _frame: FrameType | None) -> None:
        raise OutOfTimeError

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def verdicts_of(path: Path, seconds: float) -> list[Verdict]:
    """What became of each piece of a file.

    Args:
        path: The file.
        seconds: Most for each piece.
    """
    try:
        pieces = pieces_of(path)
    except FuseError as error:
        return [Verdict(path, refused=error.message)]
    return [verdict_on(piece, path, seconds) for piece in pieces]


def verdict_on(piece: Source, path: Path, seconds: float) -> Verdict:
    """What became of one piece of a file."""
    line = piece.line_offset + 1
    try:
        with bounded(seconds):
            return _judged(piece, path)
    except OutOfTimeError:
        return Verdict(path, line, flags=[(Flag.OUT_OF_TIME, f"more than {seconds:g} s")])
    except FuseError as error:
        if error.message.startswith(_INTERNAL):
            return Verdict(path, line, flags=[(Flag.INTERNAL_ERROR, error.message)])
        return Verdict(path, line, refused=error.message.partition("\n")[0])
    except Exception as error:  # whatever nobody diagnosed is what is looked for
        return Verdict(path, line, flags=[(Flag.INTERNAL_ERROR, f"{type(error).__name__}: {error}".partition("\n")[0])])


def _judged(piece: Source, path: Path) -> Verdict:
    """See `verdict_on`.

    Raises:
        FuseError: The piece cannot be read, or fusion refuses it.
    """
    file = module_of_text(piece.data, piece.name, allow_unregistered=True)
    before = file.module.clone()
    fuse = FuseOpsPass()
    with located_errors(file.source_map, " in pass 'fuse-ops'"):
        plans = fuse.plan_functions(file.module)
        fusions = [fusion for own in plans.values() for fusion in own]
        operators, pairs = sum(map(_operators, fusions)), sum(map(_pairs, fusions))
        refusals = [_refusal(remark, file, piece.line_offset) for fusion in fusions for remark in _remarks(fusion)]
        fused = sum(
            sum(fusion.block_graph.nodes[node].role is NodeRole.OPERATOR for node in kernel.nodes) > 1
            for fusion in fusions
            for kernel in fusion.plan.kernels
        )
        fuse.outline(file.module, plans)
    flags = [*_flags_of_output(file.module, piece.name), *_flags_of_ops(before, file)]
    is_unprintable = any(flag is Flag.NOT_READ_AGAIN for flag, _ in flags) and not xdsl_reads_what_it_prints(piece)
    if is_unprintable:
        flags = [(flag, detail) for flag, detail in flags if flag is not Flag.NOT_READ_AGAIN]
    line = piece.line_offset + 1
    return Verdict(path, line, "", flags, operators, pairs, fused, refusals if pairs else [], is_unprintable)


def xdsl_reads_what_it_prints(piece: Source) -> bool:
    """Whether xDSL's own parser and printer, without this package, agree on a piece; true if it cannot read it."""
    context = Context(allow_unregistered=True)
    for name, dialect in get_all_dialects().items():
        context.register_dialect(name, dialect)
    try:
        module = Parser(context, piece.data.decode()).parse_module()
    except (ParseError, VerifyException):
        return True
    stream = StringIO()
    Printer(stream).print_op(module)
    try:
        Parser(context, stream.getvalue()).parse_module()
    except (ParseError, VerifyException):
        return False
    return True


def _operators(fusion: BlockFusion) -> int:
    return sum(node.role is NodeRole.OPERATOR for node in fusion.block_graph.nodes)


def _pairs(fusion: BlockFusion) -> int:
    """Pairs of operators of a block where one reads what the other gives, or a part of it or a tuple with it."""
    nodes, graph = fusion.block_graph.nodes, fusion.block_graph.graph
    count = 0
    for number, node in enumerate(nodes):
        if node.role is not NodeRole.OPERATOR:
            continue
        pending, seen = [number], {number}
        while pending:
            for user, _ in graph.users[pending.pop()]:
                if user in seen:
                    continue
                seen.add(user)
                if nodes[user].role is NodeRole.OPERATOR:
                    count += 1
                elif nodes[user].role is not NodeRole.IN_PLACE:
                    pending.append(user)
    return count


def _remarks(fusion: BlockFusion) -> Iterator[FusionRemark]:
    """Remarks on operators; what must stay in place has none that says anything of fusion."""
    operators = {id(node.op) for node in fusion.block_graph.nodes if node.role is NodeRole.OPERATOR}
    return (remark for remark in block_remarks(fusion) if id(remark.op) in operators)


def _refusal(remark: FusionRemark, file: ModuleFile, line_offset: int) -> Refusal:
    target = remark.sink.op if remark.sink is not None else None
    location = file.source_map.locate(remark.op)
    place = f"{location.file}:{location.line + line_offset}"
    return Refusal((remark.reason.value, op_name(remark.op), "-" if target is None else op_name(target)), place)


def _flags_of_output(module: ModuleOp, name: str) -> Iterator[tuple[Flag, str]]:
    """Whether the output is valid, is read again, and is left alone by a second run."""
    text = printed(module)
    try:
        again = module_of_text(text, name, allow_unregistered=True).module
    except FuseError as error:
        yield Flag.NOT_READ_AGAIN, error.message.partition("\n")[0]
        return
    if (difference := _first_difference(text, printed(again))) is not None:
        yield Flag.NOT_READ_AGAIN, difference
    FuseOpsPass().apply(Context(), again)
    if (difference := _first_difference(text, printed(again))) is not None:
        yield Flag.NOT_STABLE, difference


def printed(module: ModuleOp) -> str:
    """The module as `fuse-opt` prints it."""
    stream = StringIO()
    FusePrinter(stream).print_op(module)
    return stream.getvalue()


def _first_difference(one: str, other: str) -> str | None:
    if one == other:
        return None
    pairs = zip([*one.splitlines(), ""], [*other.splitlines(), ""], strict=False)
    first, second = next(((a, b) for a, b in pairs if a != b), ("", ""))
    return f"{first.strip()} / {second.strip()}"


def _flags_of_ops(before: ModuleOp, file: ModuleFile) -> Iterator[tuple[Flag, str]]:
    """Whether `defuse-ops` gives back the ops, and those without a kind in their order.

    Both sides go through `defuse-ops`, for a piece may hold primitives itself.
    """
    after = file.module
    with located_errors(file.source_map, " in pass 'defuse-ops'"):
        stamp_own_kinds(before)
        for module in (before, after):
            DefuseOpsPass().apply(Context(), module)
            _erase_dead(module)
    old, new = _counts(before), _counts(after)
    if old != new:
        names = [f"{name} {old[name]} -> {new[name]}" for name in sorted({*old, *new}) if old[name] != new[name]]
        yield Flag.OP_LOST, ", ".join(names)
    elif _in_place(before) != _in_place(after):
        first = next((a, b) for a, b in zip(_in_place(before), _in_place(after), strict=True) if a != b)
        yield Flag.EFFECT_REORDERED, " / ".join(first)


def _erase_dead(module: ModuleOp) -> None:
    """Erase pure ops that nothing needs, and barriers, as fusion does; at a top level what nobody reads is a result."""
    for op in reversed(ops_inside(module)):
        is_unread = all(result.first_use is None for result in op.results)
        if isinstance(op, StopFusionOp):
            op.results[0].replace_all_uses_with(op.operands[0])
            op.detach()
            op.erase()
        elif is_unread and _may_be_erased(op):
            erase_dead_chains([op])


def _may_be_erased(op: Operation) -> bool:
    """Whether fusion erases the op where nobody reads it."""
    if op.parent is None or is_top_level(op.parent):
        return False
    ends_block = op.next_op is None and op.has_trait(IsTerminator)
    return not ends_block and (kind_of(op) is not None or is_constant(op))


def _counts(module: ModuleOp) -> Counter[str]:
    """How many ops of each name there are; constants may be copied into several primitives."""
    return Counter(op_name(op) for op in ops_inside(module) if not is_constant(op))


def _in_place(module: ModuleOp) -> Sequence[str]:
    """Names of the ops that fusion leaves in place, in order; functions and what is in operators do not count."""
    names: list[str] = []
    pending: list[Operation] = [module]
    while pending:
        op = pending.pop()
        if kind_of(op) is not None or is_constant(op):
            continue
        if not isinstance(op, func.FuncOp):
            names.append(op_name(op))
        nested = [each for region in op.regions for block in region.blocks for each in block.ops]
        pending.extend(reversed(nested))
    return names
