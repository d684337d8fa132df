"""Details of outlining and of the passes: each test fails for a small change that other tests let through."""

import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, UnregisteredOp

from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.types import DYNAMIC
from fuse_dialect.frontends.mlir.reader import context, read_mlir
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.fusion.outlining.gather_ops import gather_ops
from fuse_dialect.hardware.fuse_ops_hw import FuseOpsHwPass
from fuse_dialect.loading.verification import verify_module
from fuse_dialect.transforms.defuse_ops import DefuseOpsPass
from fuse_dialect.transforms.eliminate_common_subexpr import EliminateCommonSubexprPass
from fuse_dialect.transforms.extract_primitives import CALLS_ATTRIBUTE, ExtractPrimitivesPass
from fuse_dialect.transforms.fold_scale_axis import FoldScaleAxisPass
from fuse_dialect.transforms.layouts.axis_groups import axis_groups
from fuse_dialect.transforms.layouts.permutations import is_free
from fuse_dialect.transforms.simplify_inference import SimplifyInferencePass


def _module(text: str) -> ModuleOp:
    return read_mlir(text, "t.mlir", context(allow_unregistered=True))[0]


def _after(text: str, *passes) -> ModuleOp:
    module = _module(text)
    for each in passes:
        each.apply(context(allow_unregistered=True), module)
    verify_module(module)
    return module


def _functions(module: ModuleOp) -> list[func.FuncOp]:
    return [op for op in module.walk() if isinstance(op, func.FuncOp)]


def _names(module: ModuleOp) -> list[str]:
    return [op.name for op in module.walk()]


def test_primitive_of_a_split_gives_the_results_that_are_used():
    module = _after(
        """
        func.func @main(%x: tensor<6xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
          %a, %b, %c = fuse.split %x, axis = 0, sizes = [2, 2, 2]
            : (tensor<6xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
          return %a, %c : tensor<2xf32>, tensor<2xf32>
        }""",
        FuseOpsPass(),
    )
    assert [len(function.function_type.outputs) for function in _functions(module)] == [2, 2]


def test_groups_that_give_other_results_do_not_share_a_primitive():
    module = _after(
        """
        func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
          %a, %b = fuse.split %x, axis = 0, sizes = [2, 2] : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
          %c, %d = fuse.split %y, axis = 0, sizes = [2, 2] : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
          return %a, %d : tensor<2xf32>, tensor<2xf32>
        }""",
        FuseOpsPass(),
    )
    assert len(_functions(module)) == 3


def test_groups_whose_regions_differ_do_not_share_a_primitive():
    reduce = """
      %RESULT = "stablehlo.reduce"(%x, %x) <{dimensions = array<i64>}> ({
        ^bb0(%a: tensor<4xf32>, %c: tensor<4xf32>):
          %b = OP %a : tensor<4xf32>
          "stablehlo.return"(%b) : (tensor<4xf32>) -> ()
      }) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>"""
    counts = []
    for second in ("fuse.relu", "fuse.exp"):
        ops = [reduce.replace("RESULT", name).replace("OP", op) for name, op in (("r", "fuse.relu"), ("s", second))]
        text = f"""func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {{
          {"".join(ops)}
          return %r, %s : tensor<4xf32>, tensor<4xf32>
        }}"""
        counts.append(len(_functions(_after(text, FuseOpsPass()))))
    assert counts == [2, 3]


_RELU = """
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %y = fuse.relu %x : tensor<4xf32>
    return %y : tensor<4xf32>
  }"""


def test_name_of_a_primitive_is_nobody_elses():
    other = """
      func.func private @fused_relu() -> ()
      "test.symbol"() {sym_name = "fused_relu_0"} : () -> ()"""
    module = _after(_RELU + other, FuseOpsPass())
    names = [function.sym_name.data for function in _functions(module)]
    assert names == ["main", "fused_relu_1", "fused_relu"]


def test_group_that_only_reshapes_is_marked():
    text = """
      func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<2x2xf32>, tensor<4xf32>) {
        %a = fuse.reshape %x : (tensor<4xf32>) -> tensor<2x2xf32>
        %b = fuse.relu %y : tensor<4xf32>
        return %a, %b : tensor<2x2xf32>, tensor<4xf32>
      }"""
    marks = {function.sym_name.data: list(function.attributes) for function in _functions(_after(text, FuseOpsPass()))}
    assert len(marks["fused_reshape"]) == 2
    assert marks["fused_relu"] == ["primitive"]


def test_ops_of_a_group_that_shares_a_primitive_read_nothing_any_more():
    module = _after(
        """
        func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
          %a = fuse.relu %x : tensor<4xf32>
          %b = fuse.relu %x : tensor<4xf32>
          return %a, %b : tensor<4xf32>, tensor<4xf32>
        }""",
        FuseOpsPass(),
    )
    uses = list(_functions(module)[0].body.block.args[0].uses)
    assert [use.operation.name for use in uses] == ["func.call"] * 2


def test_gathered_ops_stand_in_a_row_and_unknown_ops_keep_their_order():
    module = _module("""
      func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
        %a = fuse.relu %x : tensor<4xf32>
        "test.first"(%a) : (tensor<4xf32>) -> ()
        %b = fuse.exp %x : tensor<4xf32>
        "test.second"() : () -> ()
        %c = fuse.add %a, %b : tensor<4xf32>
        return %c : tensor<4xf32>
      }""")
    block = _functions(module)[0].body.block
    ops = {str(op.name if op.name != "builtin.unregistered" else op.op_name.data): op for op in block.ops}
    gather_ops(block, [[ops["fuse.relu"], ops["fuse.add"]]])
    verify_module(module)
    order = list(block.ops)
    place = {name: order.index(op) for name, op in ops.items()}
    assert place["fuse.add"] == place["fuse.relu"] + 1
    assert place["test.first"] < place["test.second"]


def test_unit_of_hardware_goes_with_the_group():
    text = """
      func.func @main(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32> {
        %y = fuse.relu %x : tensor<1x4x8x8xf32>
        return %y : tensor<1x4x8x8xf32>
      }"""
    assert "fuse.unit" in str(_after(text, FuseOpsHwPass()))
    assert "fuse.unit" not in str(_after(text, FuseOpsHwPass(), DefuseOpsPass()))


_PRIMITIVE = """
  func.func VISIBILITY @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {primitive} {
    %a = fuse.relu %x : tensor<4xf32> loc("inside")
    return %a : tensor<4xf32>
  }
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("outside")
    return %a : tensor<4xf32>
  }"""


@pytest.mark.parametrize(("visibility", "count"), [("private", 1), ("", 2), ("public", 2), ("nested", 2)])
def test_only_private_primitives_go(visibility, count):
    assert len(_functions(_after(_PRIMITIVE.replace("VISIBILITY", visibility), DefuseOpsPass()))) == count


def test_op_takes_the_location_of_the_call():
    module = _after(_PRIMITIVE.replace("VISIBILITY", "private"), DefuseOpsPass())
    (relu,) = [op for op in module.walk() if op.name == "fuse.relu"]
    assert "outside" in str(relu.location)


_TWO_PRIMITIVES = """
  func.func private @leaf(%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = fuse.exp %x : tensor<4xf32>
    return %a : tensor<4xf32>
  }
  func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {primitive} {
    BODY
    return %a : tensor<4xf32>
  }
  func.func private @g(%x: tensor<4xf32>) -> tensor<4xf32> attributes {primitive} {
    BODY
    return %a : tensor<4xf32>
  }
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %b = func.call @g(%a) : (tensor<4xf32>) -> tensor<4xf32>
    %c = func.call @g(%b) : (tensor<4xf32>) -> tensor<4xf32>
    return %c : tensor<4xf32>
  }"""


@pytest.mark.parametrize(
    ("body", "calls"),
    [
        ("%a = fuse.relu %x : tensor<4xf32>", [3]),
        ("%a = func.call @leaf(%x) : (tensor<4xf32>) -> tensor<4xf32>", [1, 2]),
    ],
)
def test_calls_of_primitives_are_counted_by_structure(body, calls):
    module = _after(_TWO_PRIMITIVES.replace("BODY", body), ExtractPrimitivesPass())
    assert [op.attributes[CALLS_ATTRIBUTE].value.data for op in module.ops] == calls


def test_equal_ops_in_sibling_regions_stay():
    branch = '%a = fuse.relu %x : tensor<4xf32>\n"test.use"(%a) : (tensor<4xf32>) -> ()\nscf.yield'
    text = f"""func.func @main(%c: i1, %x: tensor<4xf32>) {{
      scf.if %c {{ {branch} }} else {{ {branch} }}
      return
    }}"""
    assert _names(_after(text, EliminateCommonSubexprPass())).count("fuse.relu") == 2


def test_what_is_isolated_shares_nothing_with_what_is_around():
    text = """
      func.func @main() -> tensor<f32> {
        %a = arith.constant dense<1.0> : tensor<f32>
        builtin.module {
          func.func @inner() -> tensor<f32> {
            %b = arith.constant dense<1.0> : tensor<f32>
            return %b : tensor<f32>
          }
        }
        return %a : tensor<f32>
      }"""
    assert _names(_after(text, EliminateCommonSubexprPass())).count("arith.constant") == 2


@pytest.mark.parametrize(
    ("first", "second", "count"),
    [
        ("fuse.relu %x : tensor<4xf32>", "fuse.relu %x : tensor<4xf32>", 1),
        ("fuse.relu %x {k = 1 : i64} : tensor<4xf32>", "fuse.relu %x : tensor<4xf32>", 2),
        (
            "fuse.reshape %x : (tensor<4xf32>) -> tensor<2x2xf32>",
            "fuse.reshape %x : (tensor<4xf32>) -> tensor<4x1xf32>",
            2,
        ),
    ],
)
def test_ops_are_the_same_in_attributes_and_types(first, second, count):
    types = [text.rsplit(" ", 1)[1] for text in (first, second)]
    text = f"""func.func @main(%x: tensor<4xf32>) -> ({", ".join(types)}) {{
      %a = {first}
      %b = {second}
      return %a, %b : {", ".join(types)}
    }}"""
    names = _names(_after(text, EliminateCommonSubexprPass()))
    assert sum(name.startswith("fuse.") for name in names) == count


_DROPOUT = """
  func.func @main(%x: tensor<4xf32>) -> TYPE ATTRIBUTES {
    %y = fuse.dropout %x : (tensor<4xf32>) -> TYPE
    return %y : TYPE
  }"""


@pytest.mark.parametrize(
    ("type", "attributes", "stays"),
    [
        ("tensor<4xf32>", "", False),
        ("tensor<?xf32>", "", True),
        ("tensor<4xf32>", 'attributes {fuse.compiler = "other"}', True),
        ("tensor<4xf32>", "attributes {primitive}", True),
    ],
)
def test_dropout_goes_where_its_types_are_equal_and_the_function_is_ours(type, attributes, stays):
    module = _after(_DROPOUT.replace("TYPE", type).replace("ATTRIBUTES", attributes), SimplifyInferencePass())
    assert ("fuse.dropout" in _names(module)) is stays


@pytest.mark.parametrize("attributes", ['attributes {fuse.compiler = "other"}', "attributes {primitive}"])
def test_functions_that_are_finished_or_of_others_are_not_fused(attributes):
    text = _RELU.replace("tensor<4xf32> {", f"tensor<4xf32> {attributes} {{", 1)
    assert len(_functions(_after(text, FuseOpsPass()))) == 1


_POOL = """
  func.func @main(%x: tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32> {
    %w = arith.constant dense<0.5> : tensor<4x4x1x1xf32>
    %s = arith.constant dense<[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]> : tensor<4x1x1xf32>
    %c = fuse.conv2d %x, %w : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
    %p = fuse.avg_pool2d %c, pool_size = [1, 1], layout = "LAYOUT" : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
    %y = fuse.multiply %p, %s : (tensor<1x4x4x4xf32>, tensor<4x1x1xf32>) -> tensor<1x4x4x4xf32>
    return %y : tensor<1x4x4x4xf32>
  }"""


@pytest.mark.parametrize(("layout", "last"), [("NCHW", "fuse.avg_pool2d"), ("NHWC", "fuse.multiply")])
def test_scale_passes_a_pool_along_its_channels_alone(layout, last):
    names = _names(_after(_POOL.replace("LAYOUT", layout), FoldScaleAxisPass()))
    assert names[names.index("func.return") - 1] == last


def test_reshape_of_more_than_one_unknown_size_is_no_transpose():
    assert is_free((DYNAMIC, 1, 4), (0, 2, 1))
    assert not is_free((DYNAMIC, 1, DYNAMIC), (0, 2, 1))


def test_axes_are_no_groups_where_one_of_unknown_size_is_left_over():
    assert axis_groups([4, DYNAMIC], [4]) is None
    assert axis_groups([4, 1], [4]) is not None


_TWO_OPS = """
  %a = fuse.relu %y : tensor<4xf32>
  %b = fuse.exp %a : tensor<4xf32>"""


def test_function_inside_an_operator_is_not_fused():
    text = f"""
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
      %r = "acme.op"(%x) ({{
        func.func @inner(%y: tensor<4xf32>) -> tensor<4xf32> {{
          {_TWO_OPS}
          return %b : tensor<4xf32>
        }}
      }}) KIND : (tensor<4xf32>) -> tensor<4xf32>
      return %r : tensor<4xf32>
    }}"""
    operator = _after(text.replace("KIND", "{fuse.pattern_kind = #fuse.pattern_kind<opaque>}"), FuseOpsPass())
    table = _after(text.replace("KIND", ""), FuseOpsPass())
    inner = [next(f for f in _functions(module) if f.sym_name.data == "inner") for module in (operator, table)]
    assert [len([op for op in f.walk() if isinstance(op, func.CallOp)]) for f in inner] == [0, 1]


def test_ops_of_another_table_inside_a_function_are_not_fused():
    module = _after(
        f"""
        func.func @main(%y: tensor<4xf32>) -> tensor<4xf32> {{
          %r = "acme.may_be_a_table"(%y) ({{
            {_TWO_OPS}
            "acme.yield"(%b) : (tensor<4xf32>) -> ()
          }}) : (tensor<4xf32>) -> tensor<4xf32>
          return %r : tensor<4xf32>
        }}""",
        FuseOpsPass(),
    )
    assert len(_functions(module)) == 1
    assert "fuse.relu" in _names(module)


def test_call_inside_another_table_is_of_the_function_there():
    primitive = """func.func private @p(%NAME: tensor<4xf32>) -> tensor<4xf32> attributes {primitive} {
      %RESULT = OP %NAME : tensor<4xf32>
      return %RESULT : tensor<4xf32>
    }"""
    module = _after(
        f"""
        {primitive.replace("OP", "fuse.relu").replace("NAME", "p").replace("RESULT", "q")}
        func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
          %a = func.call @p(%x) : (tensor<4xf32>) -> tensor<4xf32>
          "acme.table"() ({{
            {primitive.replace("OP", "fuse.exp").replace("NAME", "s").replace("RESULT", "t")}
            func.func @inner(%y: tensor<4xf32>) -> tensor<4xf32> {{
              %b = func.call @p(%y) : (tensor<4xf32>) -> tensor<4xf32>
              return %b : tensor<4xf32>
            }}
          }}) : () -> ()
          return %a : tensor<4xf32>
        }}""",
        DefuseOpsPass(),
    )
    ops = {
        f.sym_name.data: [op.name for op in f.body.block.ops if op.name.startswith("fuse.")] for f in _functions(module)
    }
    assert ops == {"main": ["fuse.relu"], "inner": ["fuse.exp"]}


def test_embedded_constants_count_as_no_arguments():
    ops = "".join(
        f"""
          %c{index} = arith.constant dense<[1.0, 2.0, 3.0, {index}.0]> : tensor<4xf32>
          %r{index} = fuse.add %{"x" if index == 0 else f"r{index - 1}"}, %c{index} : tensor<4xf32>"""
        for index in range(4)
    )
    text = f"""
        func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{{ops}
          return %r3 : tensor<4xf32>
        }}"""
    counts = [
        len(_functions(_after(text, FuseOpsPass(link_params=embeds, max_function_args=3, dedup=False)))) - 1
        for embeds in (True, False)
    ]
    assert counts == [1, 4]


def test_op_that_reads_its_own_result_is_an_error():
    module = _module("""
        func.func @main() -> tensor<4xf32> {
          %a = fuse.relu %a : tensor<4xf32>
          return %a : tensor<4xf32>
        }""")
    with pytest.raises(OpError, match=r"'fuse\.relu' op reads its own result"):
        FuseOpsPass().apply(context(), module)


def test_unknown_ops_keep_their_order_around_hardware_groups():
    # The convolution and the addition are one group of the template; in it the addition would be needed before
    # `acme.first`, and `acme.second`, whose result it adds, comes behind that.
    module = _after(
        """
        func.func @main(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32> {
          %c = fuse.conv2d %x, %w : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
          "acme.first"(%c) : (tensor<1x4x8x8xf32>) -> ()
          %s = "acme.second"() : () -> tensor<1x4x8x8xf32>
          %r = fuse.add %c, %s : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
          return %r : tensor<1x4x8x8xf32>
        }""",
        FuseOpsHwPass(),
    )
    unknown = [op.op_name.data for op in module.walk() if isinstance(op, UnregisteredOp)]
    assert unknown == ["acme.first", "acme.second"]
    assert len(_functions(module)) == 3


def test_fusing_twice_is_fusing_once_with_a_barrier_in_a_region_that_is_not_looked_into():
    text = """
        func.func @main(%y: tensor<4xf32>) -> tensor<4xf32> {
          %t = fuse.tuple %y : (tensor<4xf32>) -> tuple<tensor<4xf32>>
          %g = fuse.get_tuple_element %t, index = 0 : (tuple<tensor<4xf32>>) -> tensor<4xf32>
          %r = "acme.may_be_a_table"(%y) ({
            %unused = fuse.stop_fusion %g : tensor<4xf32>
            "acme.yield"(%y) : (tensor<4xf32>) -> ()
          }) : (tensor<4xf32>) -> tensor<4xf32>
          return %r : tensor<4xf32>
        }"""
    once, twice = _after(text, FuseOpsPass()), _after(text, FuseOpsPass(), FuseOpsPass())
    assert str(once) == str(twice)
    assert "fuse.stop_fusion" in _names(once)
