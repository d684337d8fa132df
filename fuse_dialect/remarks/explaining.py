"""Finds the op that somebody asks about, by a value's name, a model's name or the op itself, and tells its story."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult, SSAValue

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.op_sources import source_of
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.fusion.ir.constants import is_constant
from fuse_dialect.fusion.ir.function_like import is_function, symbol_of
from fuse_dialect.fusion.ir.fusible_blocks import functions_to_fuse
from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.remarks.printed_ir import PrintedIR, printed_ir
from fuse_dialect.remarks.recorded_fusion import MadePlans, RecordedFusion, record_fusion
from fuse_dialect.remarks.story import StoryTeller

MOST_STORIES = 20
"""Stories of one question: a name of a model may stand for several ops."""


def explain(
    module: ModuleOp, fuse_ops: FuseOpsPass, question: Operation | SSAValue | str, made: MadePlans | None = None
) -> str:
    """The stories of the ops that a question is about, with an empty line between two.

    Args:
        module: A valid module, before the pass; it is not changed.
        fuse_ops: The pass.
        question: The op, its value, or a name: `%value` as the module is printed or as it was read,
            `@function:%value`, the name of an ONNX node or value, or where an op comes from.
        made: Plans to tell of; by default those that the pass makes.

    Raises:
        FuseError: There is no such op, or fusion does not look at it.
        OpError: A block cannot be grouped.
    """
    printed = printed_ir(module)
    functions = functions_to_fuse(module)
    wanted = asked_for(question, functions, printed)
    stories = list(_stories(wanted, fuse_ops.merges_before(module), fuse_ops, printed, made))
    if not stories:
        text = f"'{op_name(wanted[0])}' op takes no part in fusion"
        raise FuseError(text, hint="it is dead, or stands in a function that fusion leaves alone")
    more = len(stories) - MOST_STORIES
    return "\n\n".join([*stories[:MOST_STORIES], *([f"... and {more} more ops of this name"] if more > 0 else [])])


def asked_for(
    question: Operation | SSAValue | str, functions: Sequence[Operation], printed: PrintedIR
) -> list[Operation]:
    """The ops that a question is about; for its forms see `explain`.

    Raises:
        FuseError: There is none.
    """
    return _named(question, functions, printed) if isinstance(question, str) else [_op_of(question)]


def _op_of(question: Operation | SSAValue) -> Operation:
    if isinstance(question, Operation):
        return question
    if isinstance(question, OpResult):
        return question.op
    raise FuseError("an argument is no operator, and has no story", hint="ask for an op that reads it")


def _named(question: str, functions: Sequence[Operation], printed: PrintedIR) -> list[Operation]:
    """The ops that a name stands for.

    Raises:
        FuseError: There is none, or no such function.
    """
    text = question.strip()
    if text.startswith("@"):
        symbol, _, text = text[1:].partition(":")
        chosen = [function for function in functions if symbol_of(function) == symbol]
        if not chosen or not text:
            symbols = [symbol_of(function) for function in functions]
            wrong = f"no function '@{symbol}' that fuses" if not chosen else f"'{question}' names a function alone"
            raise FuseError(wrong, hint=_nearest(symbol, symbols, "@") if not chosen else f"write @{symbol}:%value")
        functions = chosen
    known: dict[str, list[Operation]] = {}
    as_printed: dict[str, list[Operation]] = {}
    for op in _ops(functions):
        for name in dict.fromkeys(_names(op, printed)):
            known.setdefault(name, []).append(op)
        for result in op.results:
            as_printed.setdefault(printed.name_of(result), []).append(op)
    if text in as_printed:
        # `%linear` and `%linear_1` have one name behind them, and are two values.
        return as_printed[text]
    if text in known:
        # A model's node gives the name to its constants, too.
        return [op for op in known[text] if not is_constant(op)] or known[text]
    entries = [function.regions[0].first_block for function in functions]
    arguments = {printed.name_of(arg) for entry in entries if entry is not None for arg in entry.args}
    if text in arguments:
        raise FuseError(f"'{text}' is an argument: it is no operator, and has no story", hint="ask for what reads it")
    raise FuseError(f"no op gives '{question}'", hint=_nearest(text, list(known), ""))


def _names(op: Operation, printed: PrintedIR) -> Iterator[str]:
    """What people may call an op."""
    for result in op.results:
        yield printed.name_of(result)
        if result.name_hint:
            yield f"%{result.name_hint}"
            yield result.name_hint
    if source := source_of(op):
        name = source.partition(" (")[0]
        yield from (source, name, name.rpartition("/")[2])


def _nearest(name: str, known: Sequence[str], prefix: str) -> str:
    close = get_close_matches(name, list(dict.fromkeys(known)), n=3)
    if close:
        return "did you mean " + " or ".join(f"'{prefix}{each}'" for each in close) + "?"
    words = [each for each in dict.fromkeys(known) if prefix or each.startswith("%")]
    some = ", ".join(f"'{prefix}{each}'" for each in words[:5])
    return f"there are {some}" + (", ..." if len(words) > 5 else "") if some else "there is none"


def _ops(functions: Sequence[Operation]) -> Iterator[Operation]:
    for function in functions:
        yield from (op for op in function.walk() if op is not function)


def _stories(
    wanted: Sequence[Operation],
    merges: Mapping[Operation, int],
    fuse_ops: FuseOpsPass,
    printed: PrintedIR,
    made: MadePlans | None,
) -> Iterator[str]:
    """The stories of ops; `merges` are those before each function that fuses."""
    blocks: dict[int, tuple[RecordedFusion, dict[int, int]]] = {}
    recorded_functions: set[int] = set()
    for op in wanted:
        function = _function_of(op, merges)
        if function is None:
            continue
        if id(function) not in recorded_functions:
            recorded_functions.add(id(function))
            for recorded in record_fusion(function, fuse_ops, merges[function], made):
                nodes = recorded.fusion.block_graph.nodes
                numbers = {
                    id(node.op): number
                    for number, node in enumerate(nodes)
                    if node.op is not None and not node.role.is_view
                }
                blocks[id(recorded.fusion.block_graph.block)] = (recorded, numbers)
        block: Block | None = op.parent
        if id(block) in blocks:
            recorded, numbers = blocks[id(block)]
            if id(op) in numbers:
                yield "\n".join(StoryTeller(recorded, printed).story(numbers[id(op)]))


def _function_of(op: Operation, functions: Collection[Operation]) -> Operation | None:
    """The function that fuses around an op."""
    current: Operation | None = op
    while current is not None:
        if is_function(current) or isinstance(current, ModuleOp):
            return current if current in functions else None
        current = current.parent_op()
    return None
