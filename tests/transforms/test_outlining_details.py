"""Kernels as ops, one rule at a time: what moves, what is computed again, its numbers, and what becomes one again."""

import numpy as np
import pytest
from ssa_form import ssa_form
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

import fuse_dialect as fd
from fuse_dialect.fusion.core.plan import FusionKernel, FusionPlan, check_plan, plan_of_nodes
from fuse_dialect.fusion.core.strategy import FusionOptions, Strategy
from fuse_dialect.fusion.core.value_graph import ValueGraph
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.fusion.outlining.copies import COMPUTED_AGAIN_ATTRIBUTE
from fuse_dialect.loading.verification import verify_module
from fuse_dialect.transforms.defuse_ops import DefuseOpsPass


def node_named(graph: ValueGraph, name: str) -> int:
    """The op whose first value is called so."""
    return next(node for node, label in enumerate(graph.facts.labels) if label.endswith(f"' %{name}"))


def kernels_of(*names: str) -> Strategy:
    """Kernels of ops by the names of their values, `a b`."""

    def strategy(graph: ValueGraph, options: FusionOptions) -> FusionPlan:
        return plan_of_nodes(graph, [[node_named(graph, name) for name in each.split()] for each in names])

    return strategy


def storing(*names: tuple[str, str]) -> Strategy:
    """Kernels and what they store, by names of single values."""

    def strategy(graph: ValueGraph, options: FusionOptions) -> FusionPlan:
        kernels = [
            FusionKernel(
                tuple(sorted(node_named(graph, name) for name in nodes.split())),
                tuple(graph.first_value[node_named(graph, name)] for name in values.split()),
            )
            for nodes, values in names
        ]
        check_plan(graph, kernels)
        return FusionPlan(kernels, ())

    return strategy


def fused(text: str, strategy: Strategy, *, runs: bool = True, **options: bool) -> ModuleOp:
    """The fused program, which means the same as before if it `runs`, and comes back as it was."""
    module = fd.parse(text, allow_unregistered=True)
    FuseOpsPass(**options).using(strategy=strategy).apply(Context(), module)
    verify_module(module)
    if runs:
        x, y = np.linspace(-1, 1, 4, dtype=np.float32), np.linspace(3, 1, 4, dtype=np.float32)
        for got, want in zip(fd.run(module, x, y), fd.run(fd.parse(text), x, y), strict=True):
            np.testing.assert_array_equal(got, want)
    again = fd.parse(str(module), allow_unregistered=True)
    DefuseOpsPass().apply(Context(), again)
    verify_module(again)
    assert ssa_form(again) == ssa_form(fd.parse(text, allow_unregistered=True))
    assert COMPUTED_AGAIN_ATTRIBUTE not in str(again)
    return module


def functions(module: ModuleOp) -> dict[str, list[str]]:
    """Names of the ops of each function."""
    return {
        op.sym_name.data: [inner.name for inner in op.body.block.ops if inner.name != "func.return"]
        for op in module.ops
        if isinstance(op, func.FuncOp)
    }


def marks(module: ModuleOp) -> list[list[int]]:
    """What the calls of a module say is computed again."""
    calls = [op for op in module.walk() if isinstance(op, func.CallOp)]
    return [list(call.attributes[COMPUTED_AGAIN_ATTRIBUTE].get_values()) for call in calls]


def program(body: str, *results: str) -> str:
    types = ", ".join(["tensor<4xf32>"] * len(results))
    return f"""func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> ({types}) {{
      {body}
      return {", ".join(f"%{name}" for name in results)} : {types}
    }}"""


ADD = "fuse.add {}, {} : tensor<4xf32>".format
CHAIN = program(
    f"""%e = fuse.exp %x : tensor<4xf32>
      %t = fuse.tanh %e : tensor<4xf32>
      %a = fuse.relu %t : tensor<4xf32>
      %b = {ADD("%t", "%y")}""",
    "a",
    "b",
)


def test_copies_carry_names_and_the_calls_their_numbers() -> None:
    module = fused(CHAIN, kernels_of("e t a", "e t b"))
    assert functions(module) == {
        "main": ["func.call", "func.call"],
        "fused_exp_tanh_relu": ["fuse.exp", "fuse.tanh", "fuse.relu"],
        "fused_exp_tanh_add": ["fuse.exp", "fuse.tanh", "fuse.add"],
    }
    assert marks(module) == [[0, 0, 1, 1], [0, 0, 1, 1]]
    primitives = str(module).split("private")[1:]
    assert all("%e = " in text and "%t = " in text for text in primitives)
    assert not any(COMPUTED_AGAIN_ATTRIBUTE in text.partition("{")[2] for text in primitives)


def test_what_is_no_copy_has_no_number() -> None:
    module = fused(CHAIN, kernels_of("e", "t a", "t b"))
    assert [COMPUTED_AGAIN_ATTRIBUTE in op.attributes for op in module.walk() if isinstance(op, func.CallOp)] == [
        *(False, True, True)
    ]


def test_copies_become_one_with_one_read_of_what_they_read() -> None:
    module = fd.parse(CHAIN)
    FuseOpsPass().using(strategy=kernels_of("e t a", "e t b")).apply(Context(), module)
    DefuseOpsPass().apply(Context(), module)
    (main,) = [op for op in module.ops if isinstance(op, func.FuncOp)]
    assert [len(list(argument.uses)) for argument in main.body.block.args] == [1, 1]


def test_places_count_the_constants_that_a_kernel_gets_copies_of() -> None:
    text = program(
        f"""%c = arith.constant dense<2.0> : tensor<4xf32>
      %e = fuse.exp %x : tensor<4xf32>
      %a = {ADD("%e", "%c")}
      %b = {ADD("%e", "%y")}""",
        "a",
        "b",
    )
    module = fused(text, kernels_of("e a", "e b"), link_params=True)
    assert functions(module)["fused_exp_add"] == ["arith.constant", "fuse.exp", "fuse.add"]
    assert marks(module) == [[1, 0], [0, 0]]


def test_copies_that_read_copies_of_a_constant_become_one() -> None:
    text = program(
        f"""%c = arith.constant dense<2.0> : tensor<4xf32>
      %e = fuse.subtract %x, %c : tensor<4xf32>
      %a = fuse.exp %e : tensor<4xf32>
      %b = {ADD("%e", "%y")}""",
        "a",
        "b",
    )
    for names in (("e a", "e b"), ("c e a", "e b"), ("c e a", "c e b")):
        module = fused(text, kernels_of(*names), link_params=True)
        assert functions(module) == {
            "main": ["func.call", "func.call"],
            "fused_subtract_exp": ["arith.constant", "fuse.subtract", "fuse.exp"],
            "fused_subtract_add": ["arith.constant", "fuse.subtract", "fuse.add"],
        }
        assert [sorted(each[::2]) for each in marks(module)] == [[0, 1], [0, 1]]


HALF = program(
    f"""%c = arith.constant dense<0.5> : tensor<4xf32>
      %a = {ADD("%x", "%c")}
      %b = fuse.multiply %y, %c : tensor<4xf32>
      OTHER""",
    "a",
    "b",
)


def numbers_of_constants(module: ModuleOp) -> list[bool]:
    """For each constant of the main function whether it has a number."""
    (main,) = [op for op in module.ops if isinstance(op, func.FuncOp) and op.sym_name.data == "main"]
    return [COMPUTED_AGAIN_ATTRIBUTE in op.attributes for op in main.body.block.ops if op.name == "arith.constant"]


def test_a_constant_stays_with_its_number_where_somebody_reads_it() -> None:
    unknown = HALF.replace("OTHER", '"test.use"(%c) : (tensor<4xf32>) -> ()')
    plain = HALF.replace("OTHER", "")
    for text, names, numbers in (
        (plain, ("c a", "c b"), []),  # each has its own
        (plain, ("c a", "b"), [True]),  # the second kernel reads it
        (plain, ("a", "b"), [False]),
        (unknown, ("c a", "c b"), [True]),
        (unknown, ("c a", "b"), [True]),
    ):
        module = fused(text, kernels_of(*names), runs=text is plain)
        assert numbers_of_constants(module) == numbers, names


def test_a_constant_that_a_kernel_gets_a_copy_of_has_no_number_there() -> None:
    text = program(
        f"""%c = arith.constant dense<0.5> : tensor<4xf32>
      %a = {ADD("%x", "%c")}
      %b = {ADD("%y", "%c")}
      %e = fuse.exp %b : tensor<4xf32>
      %d = {ADD("%e", "%c")}
      "test.use"(%c) : (tensor<4xf32>) -> ()""",
        *("a", "b", "d"),
    )
    module = fused(text, kernels_of("c a", "b", "e d"), link_params=True, runs=False)
    assert numbers_of_constants(module) == [True]
    assert functions(module)["fused_exp_add"] == ["arith.constant", "fuse.exp", "fuse.add"]
    # The one that has a copy of its own and the one that gets it are alike.
    assert len(functions(module)) == 3


def test_a_constant_stays_where_its_reader_is_also_computed_without_it() -> None:
    text = program(
        f"""%c = arith.constant dense<0.5> : tensor<4xf32>
      %e = {ADD("%x", "%c")}
      %a = fuse.exp %e : tensor<4xf32>
      %b = {ADD("%e", "%y")}""",
        "a",
        "b",
    )
    assert numbers_of_constants(fused(text, kernels_of("c e a", "e b"))) == [True]
    assert numbers_of_constants(fused(text, kernels_of("c e a", "c e b"))) == []


def test_the_kernel_that_stores_a_value_moves_its_op() -> None:
    text = program(
        f"""%e = fuse.exp %x : tensor<4xf32>
      %a = fuse.relu %e : tensor<4xf32>
      %b = {ADD("%e", "%y")}""",
        *("e", "a", "b"),
    )
    module = fused(text, storing(("e a", "a"), ("e b", "e b")))
    assert [len(op.results) for op in module.walk() if isinstance(op, func.CallOp)] == [1, 2]


def test_a_kernel_may_store_the_second_result_of_its_last_op() -> None:
    split = "fuse.split %x, axis = 0, sizes = [2, 2] : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)"
    text = f"""func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<2xf32> {{
      %a, %b = {split}
      return %b : tensor<2xf32>
    }}"""
    for strategy in (kernels_of("a"), None):
        module = fused(text, strategy) if strategy else fd.fuse_ops(fd.parse(text))
        assert functions(module)["fused_split"] == ["fuse.split"]
        x = np.arange(4, dtype=np.float32)
        np.testing.assert_array_equal(fd.run(module, x, x)[0], x[2:])


REDUCE = """%r = "stablehlo.reduce"(%x, %y) <{dimensions = array<i64>}> ({
        ^bb0(%p: tensor<4xf32>, %q: tensor<4xf32>):
          %s = fuse.add %p, %e : tensor<4xf32>
          "stablehlo.return"(%s) : (tensor<4xf32>) -> ()
      }) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>"""


def test_a_region_reads_the_copy_of_its_own_kernel() -> None:
    text = program(f"%e = fuse.exp %x : tensor<4xf32>\n{REDUCE}\n%b = {ADD('%e', '%y')}", "r", "b")
    module = fused(text, kernels_of("e b", "e r"), runs=False)
    assert list(functions(module).values())[1:] == [["fuse.exp", "stablehlo.reduce"], ["fuse.exp", "fuse.add"]]


def test_a_constant_that_regions_of_kernels_alone_read_does_not_stay() -> None:
    text = program(f"%e = arith.constant dense<0.5> : tensor<4xf32>\n{REDUCE}\n%b = {ADD('%e', '%y')}", "r", "b")
    for names, numbers in ((("e b", "e r"), []), (("e b", "r"), [True])):
        assert numbers_of_constants(fused(text, kernels_of(*names), runs=False)) == numbers


def test_ops_of_a_kernel_keep_the_order_of_the_block() -> None:
    text = program(f"%b = fuse.exp %y : tensor<4xf32>\n%a = fuse.tanh %x : tensor<4xf32>\n%c = {ADD('%a', '%b')}", "c")
    module = fused(text, kernels_of("a b c"))
    assert functions(module)["fused_exp_tanh_add"] == ["fuse.exp", "fuse.tanh", "fuse.add"]


def test_functions_stand_in_the_order_of_their_calls() -> None:
    text = program(
        f"""%a = fuse.exp %x : tensor<4xf32>
      %b = fuse.tanh %y : tensor<4xf32>
      %c = {ADD("%a", "%b")}
      %d = fuse.relu %b : tensor<4xf32>""",
        *("a", "c", "d"),
    )
    module = fused(text, kernels_of("a c", "b d"))
    names = ["fused_tanh_relu", "fused_exp_add"]
    assert list(functions(module)) == ["main", *names]
    assert [op.callee.root_reference.data for op in module.walk() if isinstance(op, func.CallOp)] == names
    chain = program(f"%a = fuse.exp %x : tensor<4xf32>\n%b = {ADD('%a', '%y')}", "b")
    assert list(functions(fused(chain, kernels_of("b", "a")))) == ["main", "fused_exp", "fused_add"]


def defused(
    first: str,
    second: str,
    marks: tuple[str, str] = ("0, 5", "0, 5"),
    types: tuple[str, str] = ("tensor<4xf32>", "tensor<4xf32>"),
) -> list[str]:
    """The ops of two primitives of one op each, after they have come back."""
    calls = "".join(
        f"%r{name} = func.call @f{name}(%x, %y) {{fuse.computed_again = array<i64: {mark}>}}"
        f" : (tensor<4xf32>, tensor<4xf32>) -> {type}\n"
        for name, mark, type in zip("01", marks, types, strict=True)
    )
    primitives = "".join(
        f"""func.func private @f{name}(%x: tensor<4xf32>, %y: tensor<4xf32>) -> {type} attributes {{primitive}} {{
          %r = {op}
          return %r : {type}
        }}"""
        for name, op, type in zip("01", (first, second), types, strict=True)
    )
    module = fd.parse(f"""func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> ({", ".join(types)}) {{
      {calls}
      return %r0, %r1 : {", ".join(types)}
    }} {primitives}""")
    DefuseOpsPass().apply(Context(), module)
    verify_module(module)
    return functions(module)["main"]


SUBTRACT = "fuse.subtract %x, %y : tensor<4xf32>"
LEAKY = "fuse.leaky_relu %x, alpha = {} : tensor<4xf32>".format


@pytest.mark.parametrize(
    ("first", "second", "count"),
    [
        (SUBTRACT, SUBTRACT, 1),
        (SUBTRACT, "fuse.subtract %y, %x : tensor<4xf32>", 2),
        (SUBTRACT, "fuse.subtract %x, %y {tag} : tensor<4xf32>", 2),
        (SUBTRACT, "fuse.add %x, %y : tensor<4xf32>", 2),
        (LEAKY(0.5), LEAKY(0.5), 1),
        (LEAKY(0.5), LEAKY(0.25), 2),
    ],
)
def test_copies_become_one_only_where_they_are_equal(first: str, second: str, count: int) -> None:
    assert len(defused(first, second)) == count


@pytest.mark.parametrize("marks", [("0, 5", "0, 6"), ("-1, 5", "0, 5"), ("0, 5", "1, 5"), ("0", "0, 5")])
def test_marks_of_other_numbers_and_of_no_places_merge_nothing(marks: tuple[str, str]) -> None:
    assert len(defused(SUBTRACT, SUBTRACT, marks)) == 2


def test_copies_of_other_types_or_regions_stay_apart() -> None:
    reduce = REDUCE.partition("= ")[2].replace("%e", "%x")
    assert len(defused(reduce, reduce)) == 1
    assert len(defused(reduce, reduce.replace("fuse.add", "fuse.subtract"))) == 2
    types = ("tensor<4xf16>", "tensor<4xi32>")
    casts = [f"fuse.cast %x : (tensor<4xf32>) -> {type}" for type in types]
    assert defused(*casts, types=types) == ["fuse.cast", "fuse.cast"]


def test_copies_in_other_blocks_stay_apart() -> None:
    call = """%r = func.call @one(%x) {fuse.computed_again = array<i64: 0, 3>} : (tensor<4xf32>) -> tensor<4xf32>
        scf.yield %r : tensor<4xf32>"""
    module = fd.parse(f"""
      func.func @main(%c: i1, %x: tensor<4xf32>) -> tensor<4xf32> {{
        %r = scf.if %c -> (tensor<4xf32>) {{ {call} }} else {{ {call} }}
        return %r : tensor<4xf32>
      }}
      func.func private @one(%x: tensor<4xf32>) -> tensor<4xf32> attributes {{primitive}} {{
        %r = fuse.relu %x : tensor<4xf32>
        return %r : tensor<4xf32>
      }}""")
    DefuseOpsPass().apply(Context(), module)
    verify_module(module)
    assert sum(op.name == "fuse.relu" for op in module.walk()) == 2


def look_at(text: str) -> ValueGraph:
    """The graph of a program."""
    graphs: list[ValueGraph] = []

    def look(graph: ValueGraph, options: FusionOptions) -> FusionPlan:
        graphs.append(graph)
        return plan_of_nodes(graph, [])

    module = fd.parse(text, allow_unregistered=True)
    FuseOpsPass().using(strategy=look).apply(Context(), module)
    return graphs[0]


def test_barriers_wait_for_no_unknown_op() -> None:
    text = program(
        """"test.first"() : () -> ()
      %s = fuse.stop_fusion %x : tensor<4xf32>
      "test.second"() : () -> ()
      "test.third"() : () -> ()
      %a = fuse.relu %s : tensor<4xf32>""",
        "a",
    )
    graph = look_at(text)
    ops = {label.split("'")[1]: node for node, label in enumerate(graph.facts.labels) if "'" in label}
    first, second, third = (ops[f"test.{name}"] for name in ("first", "second", "third"))
    assert graph.facts.after[ops["fuse.stop_fusion"]] == ()
    assert [graph.facts.after[node] for node in (first, second, third)] == [(), (first,), (second,)]


@pytest.mark.parametrize(
    "op",
    [
        "fuse.split %x, axis = 0, sizes = [2, 2] : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)",
        '"test.unknown"(%x) : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)',
    ],
)
def test_each_result_of_an_op_escapes_by_itself(op: str) -> None:
    graph = look_at(f"""func.func @main(%x: tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>) {{
      %a, %b = {op}
      %c = fuse.exp %a : tensor<2xf32>
      return %b, %c : tensor<2xf32>, tensor<2xf32>
    }}""")
    node = node_named(graph, "a")
    assert [graph.facts.values[value].escapes for value in graph.gives(node)] == [False, True]
    assert [graph.facts.values[value].readers for value in graph.gives(node)] == [(node_named(graph, "c"),), ()]


@pytest.mark.parametrize(
    ("location", "source"),
    [
        ('loc("conv1")', "conv1"),
        ('loc("a.py":3:7)', "a.py:3:7"),
        ('loc(callsite("inner" at "outer"))', "inner"),
        ('loc(fused["first", "second"])', "first"),
        ("loc(unknown)", ""),
    ],
)
def test_sources_of_nodes(location: str, source: str) -> None:
    graph = look_at(program(f"%a = fuse.exp %x : tensor<4xf32> {location}", "a"))
    assert graph.facts.sources[node_named(graph, "a")] == source
