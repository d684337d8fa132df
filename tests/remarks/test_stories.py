"""Stories of operators: what they say is true, and what would have to change is seen to do."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from story_programs import programs
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

import fuse_dialect as fd
from fuse_dialect.dialect.attributes import PATTERN_KIND_ATTRIBUTE, PatternKindAttr
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.fusion.ir.fusible_blocks import functions_to_fuse
from fuse_dialect.pattern_kind import PatternKind
from fuse_dialect.remarks.changes import Change, ChangeSort, smallest_change, with_option
from fuse_dialect.remarks.fusion import is_operator
from fuse_dialect.remarks.paths import MOST_LINES, draw_paths
from fuse_dialect.remarks.recorded_fusion import RecordedFusion, record_fusion

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
DIAMOND = """
func.func @main(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x1x1xf32>) -> tensor<1x4x8x8xf32> {
  %conv = fuse.conv2d %x, %w : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x8x8xf32>
  %left = fuse.relu %conv : tensor<1x4x8x8xf32>
  %right = fuse.softmax %conv, axis = 1 : tensor<1x4x8x8xf32>
  %sum = fuse.add %left, %right : tensor<1x4x8x8xf32>
  return %sum : tensor<1x4x8x8xf32>
}"""
TWO_READERS = """
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %e = fuse.exp %x : tensor<4xf32>
  %r = fuse.relu %e : tensor<4xf32>
  %t = fuse.tanh %e : tensor<4xf32>
  return %r, %t : tensor<4xf32>, tensor<4xf32>
}"""
ESCAPES = """
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %e = fuse.exp %x : tensor<4xf32>
  %r = fuse.relu %e : tensor<4xf32>
  return %e, %r : tensor<4xf32>, tensor<4xf32>
}"""
CHAIN = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = fuse.exp %x : tensor<4xf32>
  %b = fuse.relu %a : tensor<4xf32>
  %c = fuse.tanh %b : tensor<4xf32>
  return %c : tensor<4xf32>
}"""


def _recorded(module: ModuleOp, fuse_ops: FuseOpsPass) -> list[RecordedFusion]:
    return [each for function in functions_to_fuse(module) for each in record_fusion(function, fuse_ops)]


def _op(module: ModuleOp, name: str) -> Operation:
    return next(op for op in module.walk() if op.results and op.results[0].name_hint == name)


def _change_of(
    text: str, name: str, fuse_ops: FuseOpsPass
) -> tuple[ModuleOp, Operation, RecordedFusion, Change | None]:
    module = fd.parse(text)
    (recorded,) = _recorded(module, fuse_ops)
    op = _op(module, name)
    number = next(number for number, node in enumerate(recorded.fusion.block_graph.nodes) if node.op is op)
    return module, op, recorded, smallest_change(recorded, number)


def _apply(recorded: RecordedFusion, source: Operation, change: Change) -> FuseOpsPass:
    """Do in the IR what a change says; gives the pass to run then."""
    nodes = recorded.fusion.block_graph.nodes
    match change.sort:
        case ChangeSort.LIMIT:
            return with_option(recorded.fuse_ops, change)
        case ChangeSort.KIND:
            op = nodes[change.node].op
            assert op is not None
            op.attributes[PATTERN_KIND_ATTRIBUTE] = PatternKindAttr(StringAttr("elemwise"))
        case ChangeSort.READER | ChangeSort.ESCAPE:
            block = source.parent
            assert block is not None
            for result in source.results:
                other = block.insert_arg(result.type, len(block.args))
                for use in tuple(result.uses):
                    reader = use.operation
                    is_meant = reader is block.last_op
                    if change.reader is not None:
                        is_meant = reader is nodes[change.reader].op
                    if is_meant:
                        reader.operands[use.index] = other
            function = block.parent_op()
            if isinstance(function, func.FuncOp):
                function.update_function_type()
    return recorded.fuse_ops


def _order(recorded: RecordedFusion) -> list[Operation]:
    """The operators in the order of their numbers."""
    return [node.op for node in recorded.fusion.block_graph.nodes if node.op is not None and is_operator(node)]


def _fuses(module: ModuleOp, op: Operation, fuse_ops: FuseOpsPass) -> bool:
    for recorded in _recorded(module, fuse_ops):
        for number, node in enumerate(recorded.fusion.block_graph.nodes):
            if node.op is op and not node.role.is_view:
                return bool(recorded.fusion.plan.decisions[number])
    return False


@pytest.mark.parametrize(
    ("text", "name", "fuse_ops", "sort", "words"),
    [
        (DIAMOND, "conv", FuseOpsPass(), ChangeSort.KIND, "the kind of %right = 'fuse.softmax' were elemwise"),
        (TWO_READERS, "e", FuseOpsPass(), ChangeSort.READER, "did not read it"),
        (ESCAPES, "e", FuseOpsPass(), ChangeSort.ESCAPE, "nothing outside the block read the value"),
        (CHAIN, "b", FuseOpsPass(max_depth=2), ChangeSort.LIMIT, "max-depth=3 would do"),
        (CHAIN, "a", FuseOpsPass(opt_level=0), ChangeSort.LIMIT, "opt-level=2 would do"),
    ],
)
def test_change_is_told_and_makes_the_merge_happen(text, name, fuse_ops, sort, words):
    module, op, recorded, change = _change_of(text, name, fuse_ops)
    assert change is not None
    assert change.sort is sort
    options = {"max_depth": fuse_ops.max_depth, "opt_level": fuse_ops.opt_level}
    assert words in fd.plan_fusion(module, **options).explain(f"%{name}")
    assert not _fuses(module, op, fuse_ops)
    assert _fuses(module, op, _apply(recorded, op, change))


def test_limit_of_arguments_is_a_change_too():
    text = """
    func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
      %a = fuse.add %x, %y : tensor<4xf32>
      %b = fuse.multiply %a, %z : tensor<4xf32>
      return %b : tensor<4xf32>
    }"""
    module, op, recorded, change = _change_of(text, "a", FuseOpsPass(max_function_args=3))
    assert change == Change(ChangeSort.LIMIT, change.node if change else 0, option="max-function-args", value=4)
    assert _fuses(module, op, _apply(recorded, op, change))


WITHOUT_A_PLACE = """func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %v0 = fuse.add %x, %x : tensor<4x4xf32>
  %v1 = "other.op"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %v2 = fuse.add %v0, %v1 : tensor<4x4xf32>
  %v3 = "other.op"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %v4 = "other.op"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %v5 = "other.op"(%v2) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %v3 : tensor<4x4xf32>
}"""


@example(WITHOUT_A_PLACE, FuseOpsPass(max_depth=2))
@settings(max_examples=150, deadline=None)
@given(programs(), st.sampled_from([FuseOpsPass(), FuseOpsPass(max_depth=2), FuseOpsPass(max_function_args=3)]))
def test_every_change_that_is_told_makes_the_merge_happen(text, fuse_ops):
    (recorded,) = _recorded(fd.parse(text, allow_unregistered=True), fuse_ops)
    for number, node in enumerate(recorded.fusion.block_graph.nodes):
        if recorded.fusion.plan.decisions[number] or not is_operator(node):
            continue
        change = smallest_change(recorded, number)
        if change is None:
            continue
        # The IR is changed, so each change gets a module of its own, whose nodes have the same numbers.
        module = fd.parse(text, allow_unregistered=True)
        (fresh,) = _recorded(module, fuse_ops)
        op = fresh.fusion.block_graph.nodes[number].op
        assert op is not None
        assert not _fuses(module, op, fuse_ops)
        order = _order(fresh)
        changed = _apply(fresh, op, change)
        # Of two anchors that want one epilogue the first gets it: a change holds for the order that it was tried in.
        keeps_order = all(_order(recorded) == order for recorded in _recorded(module, changed))
        # An unregistered op of a kind is one that nothing keeps in its place, and the numbers are others, too.
        numbers_anew = change.sort in (ChangeSort.READER, ChangeSort.ESCAPE, ChangeSort.KIND)
        assert _fuses(module, op, changed) or (numbers_anew and not keeps_order)


def test_every_operator_of_a_model_has_one_verdict():
    module = fd.read(EXAMPLES / "tiny_cnn.onnx")
    plan = fd.plan_fusion(module)
    assert len({id(decision.op) for decision in plan.decisions}) == len(plan.decisions) == plan.summary().ops
    for decision in plan.decisions:
        story = plan.explain(decision.op)
        assert (f"{decision.reason.value}: " in story) or (decision and "fused" in story)
        assert story.count("kernel: ") == 1


def test_attempts_are_those_of_the_partition_in_order():
    text = """
    func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
      %t = fuse.transpose %x, permutation = [1, 0] : tensor<4x4xf32>
      %e = fuse.softmax %t, axis = 1 : tensor<4x4xf32>
      return %e : tensor<4x4xf32>
    }"""
    story = fd.plan_fusion(fd.parse(text)).explain("%t")
    assert "  1. phase 1, rule injective-into-consumer into %e = 'fuse.softmax'\n     sink-kind: " in story


@pytest.mark.parametrize(
    ("question", "message", "hint"),
    [
        ("%con", "no op gives '%con'", "did you mean '%conv'"),
        ("@man:%conv", "no function '@man' that fuses", "did you mean '@main'?"),
        ("@main", "'@main' names a function alone", "write @main:%value"),
        ("%x", "'%x' is an argument: it is no operator, and has no story", "ask for what reads it"),
        ("", "no op gives ''", "there are '%conv', '%left', '%right', '%sum'"),
    ],
)
def test_question_about_no_op_is_an_error(question, message, hint):
    with pytest.raises(fd.FuseError) as raised:
        fd.plan_fusion(fd.parse(DIAMOND)).explain(question)
    assert raised.value.message == message
    assert hint in (raised.value.hint or "")


def test_name_of_an_onnx_node_stands_for_its_ops():
    plan = fd.plan_fusion(fd.read(EXAMPLES / "tiny_cnn.onnx"))
    assert plan.explain("stem") == plan.explain("%stem") == plan.explain("@main:%stem")
    assert plan.explain("stem").startswith("%stem = 'fuse.conv2d' of @main, from stem\n")


def test_op_without_a_part_in_fusion_has_no_story():
    module = fd.parse("func.func @main(%x: tensor<4xf32>) {\n  %d = fuse.exp %x : tensor<4xf32>\n  return\n}")
    with pytest.raises(fd.FuseError, match="takes no part in fusion"):
        fd.plan_fusion(module).explain("%d")


def test_paths_of_a_wide_diamond_are_cut_short():
    elemwise, width = PatternKind.ELEMWISE, 100
    users = [[(node, elemwise) for node in range(1, width + 1)], *[[(width + 1, elemwise)]] * width, []]
    drawn = draw_paths(users, 0, width + 1, str)
    assert len(drawn) <= MOST_LINES + 2
    assert drawn[-1].startswith("... and ")
