"""If, Loop and Scan become regions: what they compute, and what is refused."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from fuse_dialect.api import fuse_ops
from fuse_dialect.budget import Limits
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.frontends.onnx.reader import import_model
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.interpreters.values import EvaluationError

FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def value(name, shape, type=FLOAT):
    return helper.make_tensor_value_info(name, type, shape)


def constant(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def model(nodes, inputs, outputs, initializers=(), opset=17):
    graph = helper.make_graph(list(nodes), "graph", list(inputs), list(outputs), list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def agree(proto, *inputs):
    """Our results before and after fusion are those of ONNX's reference implementation."""
    expected = ReferenceEvaluator(proto).run(None, dict(zip([i.name for i in proto.graph.input], inputs, strict=True)))
    module = import_model(proto)
    module.verify()
    for _ in range(2):
        for one, other in zip(run_module(module, inputs), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
            assert one.dtype == other.dtype
        fuse_ops(module)
        module.verify()
    return module


def counting_loop(*, limit=True, condition="go", initializers=()):
    """Doubles x until it is 100 or more; every x is stacked."""
    body = helper.make_graph(
        [
            helper.make_node("Add", ["x_in", "x_in"], ["x_out"]),
            helper.make_node("Less", ["x_out", "bound"], ["go"]),
            helper.make_node("Identity", ["x_in"], ["seen"]),
        ],
        "body",
        [value("i", [], INT), value("go_in", [], BOOL), value("x_in", [2])],
        [value(condition, [], BOOL), value("x_out", [2]), value("seen", [2])],
        [constant("bound", np.float32(100)), *initializers],
    )
    body.node[1].input[0] = "greatest"
    body.node.insert(1, helper.make_node("ReduceMax", ["x_out"], ["greatest"], keepdims=0))
    node = helper.make_node("Loop", ["n" if limit else "", "begin", "x"], ["last", "all"], body=body)
    inputs = [value("x", [2]), *([value("n", [], INT)] if limit else [])]
    outputs = [value("last", [2]), value("all", [None, 2])]
    return model([node], inputs, outputs, [constant("begin", np.array(True))])


@pytest.mark.parametrize("limit", [0, 3, 1000])
def test_loop_ends_by_its_limit_or_its_condition(limit):
    x = np.array([1, 2], np.float32)
    module = import_model(counting_loop())
    last, seen = run_module(module, [x, np.array(limit)])
    count = min(limit, 6)
    np.testing.assert_array_equal(last, x * 2**count)
    np.testing.assert_array_equal(seen, x * 2.0 ** np.arange(count)[:, None])
    assert "fuse.loop" in [op.name for op in module.walk()]


def test_loop_agrees_with_the_reference_before_and_after_fusion():
    module = agree(counting_loop(), np.array([1, 2], np.float32), np.array(5))
    assert any(op.name == "func.call" and op.parent_op().name == "fuse.loop" for op in module.walk())


def test_loop_without_limit_ends_by_its_condition():
    last, _ = run_module(import_model(counting_loop(limit=False)), [np.array([3, 1], np.float32)])
    np.testing.assert_array_equal(last, [192, 64])


def test_loop_that_nothing_ends_is_refused():
    always = [constant("yes", np.array(True))]
    with pytest.raises(FuseError, match="loops without end: it has no trip count, and its condition stays true"):
        import_model(counting_loop(limit=False, condition="yes", initializers=always))


def test_loop_whose_condition_stays_true_stops_at_the_limit_of_the_run():
    module = import_model(counting_loop(limit=False))
    with pytest.raises(EvaluationError, match=r"'fuse\.loop' op runs too long: no more ops may be run") as error:
        run_module(module, [np.array([-1, -1], np.float32)], limits=Limits(ops=1000))
    assert "max_ops=" in error.value.hint


def test_state_that_grows_has_a_size_that_is_not_known():
    body = helper.make_graph(
        [helper.make_node("Concat", ["s", "s"], ["t"], axis=0), helper.make_node("Identity", ["go_in"], ["go"])],
        "body",
        [value("i", [], INT), value("go_in", [], BOOL), value("s", [None])],
        [value("go", [], BOOL), value("t", [None])],
    )
    node = helper.make_node("Loop", ["n", "begin", "x"], ["y"], body=body)
    begin = [constant("begin", np.array(True))]
    proto = model([node], [value("x", [3]), value("n", [], INT)], [value("y", [None])], begin)
    module = agree(proto, np.arange(3, dtype=np.float32), np.array(3))
    assert "(tensor<?xf32>)" in str(module)


def test_state_that_changes_its_rank_is_refused():
    body = helper.make_graph(
        [
            helper.make_node("Unsqueeze", ["s", "zero"], ["t"]),
            helper.make_node("Identity", ["go_in"], ["go"]),
        ],
        "body",
        [value("i", [], INT), value("go_in", [], BOOL), value("s", None)],
        [value("go", [], BOOL), value("t", None)],
        [constant("zero", np.array([0]))],
    )
    node = helper.make_node("Loop", ["n", "", "x"], ["y"], body=body, name="grows")
    with pytest.raises(FuseError, match=r"'grows'.*whose state changes from tensor<3xf32> to tensor<1x3xf32>"):
        import_model(model([node], [value("x", [3]), value("n", [], INT)], [value("y", None)]))


def test_body_with_the_wrong_number_of_inputs_is_refused():
    body = helper.make_graph([], "body", [value("i", [], INT)], [value("i", [], INT)])
    node = helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)
    with pytest.raises(FuseError, match="expects a body with 3 inputs and 2 outputs or more, got 1 and 1"):
        import_model(model([node], [value("x", [3]), value("n", [], INT)], [value("y", None)]))


@pytest.mark.parametrize("direction", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_scan_runs_along_any_axis_in_any_direction(direction, axis):
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "x"], ["t"]), helper.make_node("Mul", ["t", "t"], ["y"])],
        "body",
        [value("s", [4]), value("x", [4])],
        [value("t", [4]), value("y", [4])],
    )
    node = helper.make_node(
        "Scan",
        ["start", "rows"],
        ["last", "all"],
        body=body,
        num_scan_inputs=1,
        scan_input_axes=[axis],
        scan_output_axes=[axis],
        scan_input_directions=[direction],
        scan_output_directions=[direction],
    )
    shape = [5, 4] if axis == 0 else [4, 5]
    proto = model([node], [value("start", [4]), value("rows", shape)], [value("last", [4]), value("all", shape)])
    random = np.random.default_rng(3)
    start, rows = random.normal(size=4).astype(np.float32), random.normal(size=shape).astype(np.float32)
    module = import_model(proto)
    module.verify()
    lines = rows if axis == 0 else rows.T
    sums = start + np.cumsum(lines[:: -1 if direction else 1], axis=0)
    squares = np.square(sums)[:: -1 if direction else 1]
    last, stacked = run_module(module, [start, rows])
    np.testing.assert_allclose(last, sums[-1], rtol=1e-5)
    np.testing.assert_allclose(stacked, squares if axis == 0 else squares.T, rtol=1e-5)


def branch(name, op, size):
    return helper.make_graph([helper.make_node(op, ["x"], [name])], name, [], [value(name, [size])])


@pytest.mark.parametrize("condition", [True, False])
def test_if_on_an_input_runs_one_branch(condition):
    node = helper.make_node("If", ["c"], ["y"], then_branch=branch("a", "Relu", 3), else_branch=branch("b", "Neg", 3))
    proto = model([node], [value("c", [], BOOL), value("x", [3])], [value("y", [3])])
    agree(proto, np.array(condition), np.array([-1, 0, 2], np.float32))


def test_if_with_branches_of_different_sizes_gives_a_size_that_is_not_known():
    longer = helper.make_graph([helper.make_node("Concat", ["x", "x"], ["b"], axis=0)], "b", [], [value("b", [6])])
    node = helper.make_node("If", ["c"], ["y"], then_branch=branch("a", "Relu", 3), else_branch=longer)
    proto = model([node], [value("c", [], BOOL), value("x", [3])], [value("y", [None])])
    module = agree(proto, np.array(False), np.array([-1, 0, 2], np.float32))
    assert "-> (tensor<?xf32>)" in str(module)


def test_bodies_that_are_imported_again_take_from_the_budget():
    graph = None
    for depth in range(12):
        name = f"s{depth}"
        inner = [helper.make_node("Concat", [name, name], [f"t{depth}"], axis=0)]
        if graph is not None:
            inner = [helper.make_node("Loop", ["n", "", name], [f"t{depth}"], body=graph)]
        graph = helper.make_graph(
            [*inner, helper.make_node("Identity", [f"g{depth}"], [f"go{depth}"])],
            "body",
            [value(f"i{depth}", [], INT), value(f"g{depth}", [], BOOL), value(name, [None])],
            [value(f"go{depth}", [], BOOL), value(f"t{depth}", [None])],
        )
    node = helper.make_node("Loop", ["n", "", "x"], ["y"], body=graph)
    proto = model([node], [value("x", [1]), value("n", [], INT)], [value("y", [None])])
    with pytest.raises(FuseError, match="the body of a loop whose states change their sizes expands to"):
        import_model(proto, limits=Limits(ops=10))
