"""Dominance against networkx, and on programs whose order is known."""

import random

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.scf import IfOp
from xdsl.ir import Block, Region

from fuse_dialect.frontends.mlir.reader import context, parse_mlir
from fuse_dialect.loading.dominance import DominanceError, verify_dominance
from fuse_dialect.loading.dominators import immediate_dominators


@st.composite
def flow_graphs(draw: st.DrawFn) -> list[list[int]]:
    size = draw(st.integers(1, 12))
    return [draw(st.lists(st.integers(0, size - 1), max_size=4)) for _ in range(size)]


@given(flow_graphs())
def test_immediate_dominators_are_those_of_networkx(successors: list[list[int]]):
    assert immediate_dominators(successors) == dominators_of_networkx(successors)


def test_immediate_dominators_of_the_same_graphs_every_time():
    """Graphs of which some need every step of the algorithm; what hypothesis draws may miss one."""
    source = random.Random(0)
    for size in (8, 16, 32) * 50:
        successors = [[source.randrange(size) for _ in range(source.randrange(4))] for _ in range(size)]
        assert immediate_dominators(successors) == dominators_of_networkx(successors)


def dominators_of_networkx(successors: list[list[int]]) -> list[int | None]:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(successors)))
    graph.add_edges_from((node, other) for node, others in enumerate(successors) for other in others)
    known = nx.immediate_dominators(graph, 0)
    return [None if node == 0 else known.get(node) for node in range(len(successors))]


@pytest.mark.slow
def test_long_chain_that_many_edges_leave():
    """An algorithm that walks up the tree for every edge would take an hour."""
    size = 50_000
    chain = [[index + 1, size + index] for index in range(size - 1)]
    graph = [*chain, list(range(size, 2 * size - 1)), *([] for _ in range(size))]
    dominators = immediate_dominators(graph)
    assert dominators[1:size] == list(range(size - 1))
    assert dominators[size : 2 * size - 1] == list(range(size - 1))


VALID = {
    "in order": "%a = fuse.exp %x : tensor<4xf32>\n%b = fuse.exp %a : tensor<4xf32>\nreturn",
    "in a region": """
        %a = fuse.exp %x : tensor<4xf32>
        scf.if %c { %b = fuse.exp %a : tensor<4xf32> }
        return""",
    "dominating block": """
        %a = fuse.exp %x : tensor<4xf32>
        cf.cond_br %c, ^left, ^right
      ^join: %b = fuse.exp %a : tensor<4xf32>
        return
      ^left: cf.br ^join
      ^right: cf.br ^join""",
    "loop": """
        cf.br ^head
      ^head: %a = fuse.exp %x : tensor<4xf32>
        cf.cond_br %c, ^head, ^end
      ^end: %b = fuse.exp %a : tensor<4xf32>
        return""",
    "unreachable": """
        return
      ^nowhere: %b = fuse.exp %a : tensor<4xf32>
        %a = fuse.exp %x : tensor<4xf32>
        return""",
    "graph region": """
        "acme.graph"() ({
          %b = fuse.exp %a : tensor<4xf32>
          %a = fuse.exp %b : tensor<4xf32>
        }) : () -> ()
        return""",
}
INVALID = {
    "above": ("%b = fuse.exp %a : tensor<4xf32>\n%a = fuse.exp %x : tensor<4xf32>\nreturn", 0),
    "itself": ("%b = fuse.add %x, %b : tensor<4xf32>\nreturn", 1),
    "one way only": (
        """cf.cond_br %c, ^left, ^join
      ^left: %a = fuse.exp %x : tensor<4xf32>
        cf.br ^join
      ^join: %b = fuse.exp %a : tensor<4xf32>
        return""",
        0,
    ),
    "own result in a region": (
        """%a = scf.if %c -> (tensor<4xf32>) {
          scf.yield %a : tensor<4xf32>
        } else {
          scf.yield %x : tensor<4xf32>
        }
        return""",
        0,
    ),
    "inside a region, above": (
        """scf.if %c { %b = fuse.exp %a : tensor<4xf32> }
        %a = fuse.exp %x : tensor<4xf32>
        return""",
        0,
    ),
    "from an unreachable block": (
        """cf.br ^end
      ^nowhere: %a = fuse.exp %x : tensor<4xf32>
        cf.br ^end
      ^end: %b = fuse.exp %a : tensor<4xf32>
        return""",
        0,
    ),
    "ordered region in a graph region": (
        """"acme.graph"() ({
          scf.if %c {
            %b = fuse.exp %a : tensor<4xf32>
            %a = fuse.exp %x : tensor<4xf32>
          }
        }) : () -> ()
        return""",
        0,
    ),
}


def module_of(body: str) -> ModuleOp:
    text = f"func.func @main(%x: tensor<4xf32>, %c: i1) {{\n{body}\n}}"
    return parse_mlir(text, ctx=context(allow_unregistered=True))


@pytest.mark.parametrize("body", VALID.values(), ids=VALID)
def test_use_below_its_definition_is_valid(body: str):
    verify_dominance(module_of(body))


@pytest.mark.parametrize(("body", "operand"), INVALID.values(), ids=INVALID)
def test_use_that_its_definition_does_not_dominate_is_invalid(body: str, operand: int):
    with pytest.raises(DominanceError, match=f"operand #{operand} does not dominate this use"):
        verify_dominance(module_of(body))


def test_value_of_a_region_is_not_visible_outside():
    module = module_of("scf.if %c { %a = fuse.exp %x : tensor<4xf32> }\n%b = fuse.exp %x : tensor<4xf32>\nreturn")
    inner, outer = (op for op in module.walk() if op.name == "fuse.exp")
    outer.operands[0] = inner.results[0]
    with pytest.raises(DominanceError):
        verify_dominance(module)


def test_values_at_the_top_of_a_module_have_no_order():
    verify_dominance(parse_mlir('"test.op"(%a) : (i32) -> ()\n%a = "test.op"() : () -> i32\n'))


@pytest.mark.slow
def test_nesting_needs_no_recursion():
    module = parse_mlir('%c = "test.op"() : () -> i1')
    block = module.body.block
    assert block.first_op is not None
    condition = block.first_op.results[0]
    for _ in range(1500):
        inner = Block()
        block.add_op(IfOp(condition, (), Region(inner)))
        block = inner
    verify_dominance(module)


@pytest.mark.parametrize("seed", range(40))
def test_random_order_is_judged_by_position(seed: int):
    generator = random.Random(seed)
    order = generator.sample(range(6), 6)
    # Mostly earlier ops, -1 being the argument, so that about half of the programs are valid.
    uses: dict[int, int] = {}
    for place, index in enumerate(order):
        anything = generator.random() < 0.15
        uses[index] = generator.choice(range(6) if anything else [-1, *order[:place]])
    names = {-1: "x", **{index: f"v{index}" for index in range(6)}}
    lines = [f"%{names[index]} = fuse.exp %{names[uses[index]]} : tensor<4xf32>" for index in order]
    module = module_of("\n".join([*lines, "return"]))
    if all(uses[index] < 0 or order.index(uses[index]) < order.index(index) for index in range(6)):
        verify_dominance(module)
    else:
        with pytest.raises(DominanceError):
            verify_dominance(module)
