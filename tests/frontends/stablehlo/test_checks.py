"""Numbers in StableHLO ops that do not fit their operands are refused with a reason, before a pass relies on them."""

from io import StringIO

import pytest
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.frontends.mlir.reader import context, parse_mlir
from fuse_dialect.loading.module_file import module_of_text
from fuse_dialect.loading.verification import verify_module
from fuse_dialect.targets.mlir import FuseMLIRTarget

M = "tensor<4x4xf32>"
"""The type of `%x`; `%s` is `tensor<f32>`, `%i` `tensor<i32>`, `%v` `tensor<3x2xi32>`."""

_GATHER = (
    '"stablehlo.gather"(%x, %v) <{{dimension_numbers = #stablehlo.gather<offset_dims = [{offset}], '
    "collapsed_slice_dims = [{collapsed}], start_index_map = [{map}], index_vector_dim = {vector}>, "
    "slice_sizes = array<i64: {sizes}>}}> : (tensor<4x4xf32>, tensor<3x2xi32>) -> tensor<3xf32>"
)
_SCATTER = (
    '"stablehlo.scatter"(%x, %v, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<'
    "update_window_dims = [{window}], inserted_window_dims = [{inserted}], scatter_dims_to_operand_dims = [{map}], "
    "index_vector_dim = {vector}>}}> ({{"
    "^bb0(%a: tensor<f32>, %b: tensor<f32>): stablehlo.return %b : tensor<f32>"
    "}}) : (tensor<4x4xf32>, tensor<3x2xi32>, tensor<3xf32>) -> tensor<4x4xf32>"
)
_DOT = (
    "stablehlo.dot_general %x, %x, batching_dims = [{lb}] x [{rb}], contracting_dims = [{lc}] x [{rc}] : "
    f"({M}, {M}) -> {M}"
)


def _gather(offset="", collapsed="0, 1", map="0, 1", vector=1, sizes="1, 1"):
    return _GATHER.format(offset=offset, collapsed=collapsed, map=map, vector=vector, sizes=sizes)


def _scatter(window="", inserted="0, 1", map="0, 1", vector=1):
    return _SCATTER.format(window=window, inserted=inserted, map=map, vector=vector)


def _region(name, arguments, returned, properties="", operands="%x, %s", types=f"{M}, tensor<f32>", result=M):
    names = [f"%a{index}: tensor<f32>" for index in range(arguments)]
    values = ", ".join(["%s"] * returned)
    ends = f"stablehlo.return {values} : {', '.join(['tensor<f32>'] * returned)}" if returned else "stablehlo.return"
    body = f"^bb0({', '.join(names)}): {ends}"
    return f'"stablehlo.{name}"({operands}) <{{{properties}}}> ({{ {body} }}) : ({types}) -> {result}'


def _verify(op):
    text = f"""
      func.func @main(%x: {M}, %s: tensor<f32>, %i: tensor<i32>, %v: tensor<3x2xi32>, %u: tensor<3xf32>) {{
        {op}
        return
      }}"""
    module = parse_mlir(text, ctx=context(allow_unregistered=True))
    verify_module(module)
    return module


def _while(first="tensor<4x4xf32>", second="tensor<4x4xf32>", truth="tensor<i1>", returned="tensor<4x4xf32>", result=M):
    """A loop over `%x`: the types of its blocks' arguments, of what they return, and of its result."""
    return f"""%w = "stablehlo.while"(%x) ({{
      ^bb0(%a: {first}):
        %t = "test.value"() : () -> {truth}
        "stablehlo.return"(%t) : ({truth}) -> ()
    }}, {{
      ^bb0(%b: {second}):
        %y = "test.value"() : () -> {returned}
        "stablehlo.return"(%y) : ({returned}) -> ()
    }}) : ({M}) -> {result}"""


def _precision(exponent, mantissa):
    bits = f"exponent_bits = {exponent} : i32, mantissa_bits = {mantissa} : i32"
    return f'"stablehlo.reduce_precision"(%x) <{{{bits}}}> : ({M}) -> {M}'


VALID = [
    _precision(1, 0),
    f'"stablehlo.tuple"(%x) : ({M}) -> tuple<tensor<?x4xf32>>',
    "stablehlo.tuple %x, %i : tuple<tensor<4x4xf32>, tensor<i32>>",
    _gather(),
    _scatter(),
    _DOT.format(lb="0", rb="1", lc="1", rc="0"),
    _region("reduce", 2, 1, "dimensions = array<i64: 0, 1>", result="tensor<f32>"),
    f"stablehlo.slice %x [0:4, 1:1] : ({M}) -> tensor<4x0xf32>",
    f'"stablehlo.sort"(%x) <{{dimension = -2 : i64}}> ({{ ^bb0(%a: tensor<f32>, %b: tensor<f32>):'
    f" %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>"
    f" stablehlo.return %c : tensor<i1> }}) : ({M}) -> {M}",
]

INVALID = {
    "stablehlo.constant() <{value = dense<1.0> : tensor<4xf32>}> : () -> tensor<f32>": "of the shape of 'value'",
    f"stablehlo.transpose %x, dims = [0] : ({M}) -> {M}": "'permutation' to have a number for each of 2 axes, got [0]",
    f"stablehlo.transpose %x, dims = [0, 0] : ({M}) -> {M}": "'permutation' to be distinct axes of a tensor with 2",
    f"stablehlo.transpose %x, dims = [0, -1] : ({M}) -> {M}": "'permutation' to be distinct axes of a tensor with 2",
    f"stablehlo.reverse %x, dims = [2] : {M}": "'dimensions' to be distinct axes",
    f"stablehlo.broadcast_in_dim %x, dims = [0] : ({M}) -> {M}": "to name an axis for each of 2",
    f"stablehlo.broadcast_in_dim %x, dims = [0, 2] : ({M}) -> {M}": "to be distinct axes of a tensor with 2",
    f"stablehlo.concatenate %x, %x, dim = 2 : ({M}, {M}) -> {M}": "'dimension' to be an axis of a tensor with 2, got 2",
    f'"stablehlo.concatenate"() <{{dimension = 0 : i64}}> : () -> {M}': "expects an operand",
    f"stablehlo.iota dim = -1 : {M}": "'iota_dimension' to be an axis",
    f"stablehlo.get_dimension_size %x, dim = 5 : ({M}) -> tensor<i32>": "'dimension' to be an axis",
    f"stablehlo.pad %x, %s, low = [0], high = [0, 0], interior = [0, 0] : ({M}, tensor<f32>) -> {M}": (
        "'edge_padding_low' to have a number for each of 2 axes"
    ),
    f"stablehlo.pad %x, %s, low = [0, 0], high = [0, 0], interior = [0, -1] : ({M}, tensor<f32>) -> {M}": (
        "'interior_padding' to be at least 0"
    ),
    f"stablehlo.slice %x [0:4] : ({M}) -> {M}": "'start_indices' to have a number for each of 2 axes",
    f"stablehlo.slice %x [0:4, 0:9] : ({M}) -> {M}": "a slice of an axis of 4 elements, got [0:9:1]",
    f"stablehlo.slice %x [0:4, 3:2] : ({M}) -> {M}": "a slice of an axis of 4 elements, got [3:2:1]",
    f"stablehlo.slice %x [0:4, 0:4:0] : ({M}) -> {M}": "a slice of an axis of 4 elements, got [0:4:0]",
    f"stablehlo.dynamic_slice %x, %i, sizes = [1, 1] : ({M}, tensor<i32>) -> {M}": "expects 3 operands, got 2",
    f"stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 5] : ({M}, tensor<i32>, tensor<i32>) -> {M}": (
        "'slice_sizes' to fit an axis of 4, got 5"
    ),
    f"stablehlo.dynamic_update_slice %x, %x, %i : ({M}, {M}, tensor<i32>) -> {M}": "expects 4 operands, got 3",
    _DOT.format(lb="", rb="", lc="2", rc="0"): "lhs_contracting_dimensions' to be distinct axes",
    _DOT.format(lb="0", rb="0", lc="0", rc="1"): "lhs_contracting_dimensions' to be distinct axes",
    _DOT.format(lb="", rb="", lc="0, 1", rc="0"): "as many contracting axes of one side as of the other",
    "stablehlo.dot_general %x, %v, contracting_dims = [0] x [0] : "
    "(tensor<4x4xf32>, tensor<3x2xi32>) -> tensor<4x2xf32>": "contracting axes alike",
    "stablehlo.convolution(%x, %x) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} "
    f"{{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({M}, {M}) -> {M}": (
        "dimension numbers for each axis of the input"
    ),
    "stablehlo.convolution(%x, %x) dim_numbers = [b, f]x[i, o]->[b, f], window = {stride = [1]} "
    f"{{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({M}, {M}) -> {M}": (
        "'window_strides' to have a number for each of 0 axes"
    ),
    _gather(map="0"): "index vectors of 1 numbers, got 2",
    _gather(vector=3): "'index_vector_dim' to be at most 2",
    _gather(collapsed="0, 5"): "to be distinct axes of a tensor with 2, got [0, 5]",
    _gather(offset="0"): "'offset_dims' to be 0 axes",
    _gather(offset="0", collapsed="0", sizes="1, 4"): "a result of 2 axes, got 1",
    _scatter(window="0", inserted="0"): "updates of 2 axes, got 1",
    _gather(map="0, 0"): "to be distinct axes of a tensor with 2, got [0, 0]",
    _gather(sizes="1"): "'slice_sizes' to have a number for each of 2 axes",
    _gather(sizes="1, 5"): "'slice_sizes' to fit an axis of 4, got 5",
    _scatter(map="0"): "index vectors of 1 numbers, got 2",
    _scatter(inserted="0"): "'update_window_dims' to be 1 axes",
    _scatter(vector=-1): "'index_vector_dim' to be at most 2",
    _region("reduce", 2, 1, "dimensions = array<i64: 2>"): "'dimensions' to be distinct axes",
    _region("reduce", 3, 1, "dimensions = array<i64: 0>"): "region #0 to take 2 arguments, got 3",
    _region("reduce", 2, 2, "dimensions = array<i64: 0>"): "region #0 to return 1 values, got 2",
    _region("reduce", 2, 1, "dimensions = array<i64: 0>", "%x", M): "an input and a start for each of 1 results",
    _region("reduce_window", 2, 1, "window_dimensions = array<i64: 2>"): "'window_dimensions' to have a number for",
    _region("reduce_window", 2, 1, "window_dimensions = array<i64: 2, 0>"): "'window_dimensions' to be at least 1",
    _region(
        "reduce_window", 2, 1, "window_dimensions = array<i64: 2, 2>, padding = dense<0> : tensor<1x2xi64>"
    ): "'padding' to have two numbers for each of 2 axes",
    _region("sort", 2, 1, "dimension = 2 : i64", "%x", M): "'dimension' to be an axis",
    _region("sort", 1, 1, "dimension = 0 : i64", "%x", M): "region #0 to take 2 arguments, got 1",
    _region("map", 2, 1, "dimensions = array<i64: 0, 1>", "%x", M): "region #0 to take 1 arguments, got 2",
    f'"stablehlo.reduce"(%x, %s) <{{dimensions = array<i64: 0>}}> ({{}}) : ({M}, tensor<f32>) -> {M}': (
        "region #0 to be one block"
    ),
    _while(first="tensor<4x4xi32>"): (
        "expects argument of region #0, number 0, to be like the operand of type tensor<4x4xf32>, got tensor<4x4xi32>"
    ),
    _while(second="tensor<4x8xf32>"): "argument of region #1, number 0, to be like the operand of type tensor<4x4xf32>",
    _while(returned="tensor<4xf32>"): "value returned by region #1, number 0, to be like the operand",
    _while(truth="tensor<1xi1>"): "region #0 to return tensor<i1>, got tensor<1xi1>",
    _while(result="tensor<f32>"): "result, number 0, to be like the operand",
    f'"stablehlo.while"(%x) ({{}}, {{}}) : ({M}) -> {M}': "region #0 to be one block",
    f'"stablehlo.tuple"(%x) : ({M}) -> tuple<{M}, {M}>': (
        "expects the tuple of its 1 operands, got tuple<tensor<4x4xf32>"
    ),
    f'"stablehlo.tuple"(%x) : ({M}) -> tuple<tensor<4x4xi32>>': "expects the tuple of its 1 operands",
    f'"stablehlo.tuple"(%x) : ({M}) -> {M}': "expects the tuple of its 1 operands",
    _precision(0, 3): "'exponent_bits' to be at least 1, got 0",
    _precision(8, -1): "'mantissa_bits' to be at least 0, got -1",
    f'"stablehlo.optimization_barrier"(%x) : ({M}) -> ({M}, {M})': "expects 1 results, got 2",
}


@pytest.mark.parametrize("op", VALID)
def test_right_numbers(op):
    module = _verify(op)
    assert str(parse_mlir(str(module))) == str(module)


@pytest.mark.parametrize(("op", "message"), INVALID.items())
def test_wrong_numbers(op, message):
    with pytest.raises(VerifyException) as error:
        _verify(op)
    assert message in str(error.value)


def test_text_that_is_kept_is_on_one_line():
    text = 'sdy.mesh @mesh = <["x"=2, // a comment\n   "a // b"=2]>'
    printed = str(parse_mlir(text))
    assert 'sdy.mesh @mesh = <["x"=2, "a // b"=2]>' in printed
    assert str(parse_mlir(printed)) == printed


@pytest.mark.parametrize("attribute", ['#sdy.sharding<@mesh, [{"a\nb"}]>', '#unknown.text<a\n  "b\nc">'])
def test_line_breaks_in_text_that_is_kept_are_not_indented(attribute):
    text = f"module {{ module {{ func.func private @f() attributes {{a = {attribute}}} }} }}"
    module = parse_mlir(text, ctx=context(allow_unregistered=True))
    once = _printed(module)
    assert _printed(parse_mlir(once, ctx=context(allow_unregistered=True))) == once


def test_line_breaks_in_the_encoding_of_a_tensor_are_not_indented():
    text = """
    #enc = #unknown.encoding<{
      map = (d0) ->
        (d0 : compressed)
    }>
    module { func.func @f(%x: tensor<4xf32, #enc>) -> tensor<4xf32, #enc> { return %x : tensor<4xf32, #enc> } }
    """
    once = _printed(parse_mlir(text, ctx=context(allow_unregistered=True)))
    assert _printed(parse_mlir(once, ctx=context(allow_unregistered=True))) == once


def _printed(module):
    stream = StringIO()
    FuseMLIRTarget().emit(context(allow_unregistered=True), module, stream)
    return stream.getvalue()


_OPEN = {
    "first": "tensor<?x4xf32>",
    "second": "tensor<4x?xf32>",
    "returned": "tensor<?x4xf32>",
    "result": "tensor<4x?xf32>",
}


@pytest.mark.parametrize("open", [*_OPEN, "all", "none"])
def test_loop_with_other_sizes_inside_is_printed_as_it_is(open):
    known = context(allow_unregistered=True)
    op = _while(**{name: type for name, type in _OPEN.items() if open in (name, "all")})
    text = f"func.func @main(%x: {M}) {{ {op}\n return }}"
    module = parse_mlir(text, ctx=known)
    verify_module(module)
    printed = _printed(module)
    assert ('"stablehlo.while"' in printed) == (open not in ("none", "returned"))
    again = parse_mlir(printed, ctx=context(allow_unregistered=True))
    assert again.is_structurally_equivalent(module)


def test_loop_whose_condition_takes_another_type_is_refused_with_a_place():
    text = f"func.func @main(%x: {M}) {{\n  {_while(first='tensor<4x4xi32>')}\n  return\n}}"
    with pytest.raises(FuseError, match="argument of region #0") as raised:
        module_of_text(text, "loop.mlir", allow_unregistered=True)
    assert raised.value.diagnostic.format().startswith("loop.mlir:2:8: error: 'stablehlo.while' op expects")
