"""`-t onnx`: forms that shape inference and type checks of ONNX ask for, and what cannot have any."""

import numpy as np
import onnx
import pytest
from checking.rounding import assert_sums_of
from fuzzing.comparing import assert_agrees
from xdsl.utils.exceptions import VerifyException

import fuse_dialect as fd
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.windows import Windows
from fuse_dialect.frontends.onnx.reader import import_model
from fuse_dialect.interpreters.entry import function_named
from fuse_dialect.loading.array_files import random_inputs
from fuse_dialect.targets.onnx.model import onnx_model


def written(text: str) -> onnx.ModelProto:
    """The model of a program: strictly checked, and of the same results when it is read."""
    module = fd.parse(text)
    model = onnx_model(module)
    onnx.checker.check_model(model, full_check=True)
    back = import_model(model)
    inputs = random_inputs(function_named(module, "main"), 1, 3)
    for actual, expected in zip(fd.run(back, *inputs), fd.run(module, *inputs), strict=True):
        assert actual.dtype == expected.dtype
        np.testing.assert_array_equal(actual, expected)
    types = [function_named(each, "main").function_type.outputs for each in (module, back)]
    assert types[0] == types[1]
    return model


def node(model: onnx.ModelProto, op_type: str) -> onnx.NodeProto:
    """The only node of an operator."""
    (found,) = [each for each in model.graph.node if each.op_type == op_type]
    return found


def attributes(of: onnx.NodeProto) -> dict[str, object]:
    """What a node's attributes say."""
    return {each.name: onnx.helper.get_attribute_value(each) for each in of.attribute}


def unary(op: str, source: str, target: str) -> str:
    """A program of one op."""
    return f"""func.func @main(%x: tensor<{source}>) -> tensor<{target}> {{
      %y = {op} : (tensor<{source}>) -> tensor<{target}>
      return %y : tensor<{target}>
    }}"""


def test_a_resize_whose_scales_are_quotients_is_written_by_its_sizes() -> None:
    op = f'fuse.resize2d %x, size = [7, 11], scales = [{7 / 6!r}, {11 / 9!r}], method = "linear"'
    model = written(unary(op, "1x2x6x9xf32", "1x2x7x11xf32"))
    # In 32 bits the scale 7/6 is less than it is, and 6 pixels would stay 6.
    assert int(6 * float(np.float32(7 / 6))) == 6
    assert node(model, "Resize").input[2] == ""


def test_a_resize_by_other_scales_keeps_them() -> None:
    op = 'fuse.resize2d %x, size = [9, 12], scales = [1.5, 1.375], method = "linear"'
    model = written(unary(op, "1x2x6x9xf32", "1x2x9x12xf32"))
    assert node(model, "Resize").input[2] != ""


def test_a_resize_whose_scales_give_another_size_in_32_bits_is_refused() -> None:
    # 1.1666666666 * 6 is 6.9999..., and no scale of 32 bits next to it is the op's.
    op = 'fuse.resize2d %x, size = [7, 9], scales = [1.16666666666666674, 1.01], method = "linear"'
    with pytest.raises(OpError, match="with scales that do not give its size"):
        onnx_model(fd.parse(unary(op, "1x2x6x9xf32", "1x2x7x9xf32")))


POOLS = [
    # size, window, stride, padding, size of the result; whether ceil_mode stays
    ((6, 6), (1, 1), (1, 1), (0, 0, 0, 0), (6, 6), 0),
    ((5, 5), (2, 2), (2, 2), (0, 0, 0, 0), (3, 3), 1),
    ((3, 3), (1, 1), (2, 2), (0, 0, 1, 1), (2, 2), 0),  # a window behind the end does not count
    ((2, 2), (1, 1), (2, 2), (0, 0, 1, 1), (1, 1), 0),
    ((2, 5), (1, 2), (2, 2), (0, 0, 1, 0), (1, 3), 0),  # rounded up along one axis, dropped along the other
]


@pytest.mark.parametrize("op", ["max_pool2d", "avg_pool2d", "max_pool2d_indices"])
@pytest.mark.parametrize(("size", "window", "stride", "padding", "result", "stays"), POOLS)
def test_pools_that_round_up(
    op: str,
    size: tuple[int, int],
    window: tuple[int, int],
    stride: tuple[int, int],
    padding: tuple[int, ...],
    result: tuple[int, int],
    stays: int,
) -> None:
    element = "i64" if op.endswith("indices") else "f32"
    properties = f"pool_size = {[*window]}, strides = {[*stride]}, padding = {[*padding]}, ceil_mode = true"
    source, target = f"1x2x{size[0]}x{size[1]}xf32", f"1x2x{result[0]}x{result[1]}x{element}"
    model = written(unary(f"fuse.{op} %x, {properties}", source, target))
    pool = node(model, "AveragePool" if op == "avg_pool2d" else "MaxPool")
    assert attributes(pool)["ceil_mode"] == stays


@pytest.mark.parametrize("op", ["max_pool2d", "avg_pool2d"])
def test_random_pools_that_round_up_come_back_as_they_are(op: str) -> None:
    random, count = np.random.default_rng(0), 0
    while count < 60:
        size, window, stride, low, high = (random.integers(least, 5, 2).tolist() for least in (0, 1, 1, 0, 0))
        windows = Windows(tuple(window), tuple(stride), (1, 1), tuple(low), tuple(high), ceil_mode=True)
        try:
            pooled = windows.counts(size)
        except VerifyException:
            continue
        properties = f"pool_size = {window}, strides = {stride}, padding = {low + high}, ceil_mode = true"
        batch = random.choice(["1", "?"])
        written(
            unary(
                f"fuse.{op} %x, {properties}",
                f"{batch}x2x{size[0]}x{size[1]}xf32",
                f"{batch}x2x{pooled[0]}x{pooled[1]}xf32",
            )
        )
        count += 1


def test_a_pool_that_rounds_up_along_an_open_axis_and_down_along_the_other_is_refused() -> None:
    pool = "fuse.max_pool2d %x, pool_size = [2, 1], ceil_mode = true, padding"
    with pytest.raises(OpError, match="that rounds up along an axis whose size is not known"):
        onnx_model(fd.parse(unary(f"{pool} = [0, 1, 0, 2]", "1x1x?x1xf32", "1x1x?x3xf32")))
    written(unary(f"{pool} = [0, 1, 0, 1]", "1x1x?x6xf32", "1x1x?x7xf32"))


def test_a_mean_that_counts_padding_and_rounds_up_along_one_axis_is_refused() -> None:
    properties = "pool_size = [1, 2], strides = [2, 2], padding = [0, 0, 1, 0], ceil_mode = true"
    op = f"fuse.avg_pool2d %x, {properties}, count_include_pad = true"
    with pytest.raises(OpError, match="rounds up along one axis alone"):
        onnx_model(fd.parse(unary(op, "1x2x2x5xf32", "1x2x1x3xf32")))


@pytest.mark.parametrize("op", ["max", "min"])
@pytest.mark.parametrize("element", ["i8", "ui8", "i16", "ui16", "i32", "i64", "f32", "bf16"])
def test_the_greatest_of_nothing_is_that_of_the_element_type(op: str, element: str) -> None:
    written(unary(f"fuse.{op} %x, axes = [1]", f"3x0x{element}", f"3x{element}"))
    model = written(unary(f"fuse.{op} %x, axes = [1]", f"3x4x{element}", f"3x{element}"))
    assert not {"Max", "Min"} & {each.op_type for each in model.graph.node}


def test_an_operator_without_bf16_computes_in_32_bits() -> None:
    model = written(unary("fuse.elu %x, alpha = 0.5", "3x4xbf16", "3x4xbf16"))
    assert [each.op_type for each in model.graph.node] == ["Cast", "Elu", "Cast"]
    assert model.opset_import[0].version == 21


@pytest.mark.parametrize(
    ("element", "opset", "ir_version"),
    [("f4E2M1FN", 23, 11), ("f8E8M0FNU", 24, 12), ("f8E4M3FN", 21, 10), ("f16", 21, 10)],
)
def test_a_late_element_type_asks_for_a_late_opset(element: str, opset: int, ir_version: int) -> None:
    model = onnx_model(fd.parse(unary("fuse.cast %x", f"3x4x{element}", "3x4xf32")))
    onnx.checker.check_model(model, full_check=True)
    assert (model.opset_import[0].version, model.ir_version) == (opset, ir_version)


def test_an_operator_that_takes_no_such_type_is_refused() -> None:
    text = """func.func @main(%x: tensor<1x1x4x4xi32>, %w: tensor<1x1x2x2xi32>) -> tensor<1x1x3x3xi32> {
      %y = fuse.conv2d %x, %w : (tensor<1x1x4x4xi32>, tensor<1x1x2x2xi32>) -> tensor<1x1x3x3xi32>
      return %y : tensor<1x1x3x3xi32>
    }"""
    with pytest.raises(OpError, match=r"'fuse\.conv2d' op cannot be written as ONNX: 'Conv' takes no tensor\(int32\)"):
        onnx_model(fd.parse(text))


@pytest.mark.parametrize("size", ["5", "?"])
@pytest.mark.parametrize(("begin", "count"), [(-7, 0), (-5, 1), (-2, 4), (9, 5)])
def test_a_slice_backwards_from_before_the_first_element_stays_empty(size: str, begin: int, count: int) -> None:
    op = f"fuse.strided_slice %x, begin = [{begin}], end = [{-(2**63)}], strides = [-1]"
    module = fd.parse(unary(op, f"{size}xf32", f"{count if size == '5' else '?'}xf32"))
    model = onnx_model(module)
    onnx.checker.check_model(model, full_check=True)
    x = np.arange(5, dtype=np.float32)
    (got,) = fd.run(import_model(model), x)
    np.testing.assert_array_equal(got, x[begin::-1])
    assert got.shape == (count,)


@pytest.mark.parametrize("end", [2**31 - 1, 2**63 - 1])
def test_no_backward_slice_ends_at_a_number_that_stands_for_none(end: int) -> None:
    """Where this package and NumPy find no element, onnxruntime would go down to the first."""
    for size in ("5", "?"):
        op = f"fuse.strided_slice %x, begin = [-1], end = [{end}], strides = [-1]"
        model = written(unary(op, f"{size}xf32", f"{'0' if size == '5' else '?'}xf32"))
        assert ("Min" in {each.op_type for each in model.graph.node}) == (size == "?")
    numbers = "tensor<1xi64>"
    text = f"""func.func @main(%x: tensor<5xf32>, %b: {numbers}, %e: {numbers}, %s: {numbers}) -> tensor<?xf32> {{
      %y = fuse.dyn_strided_slice %x, %b, %e, %s : (tensor<5xf32>, {numbers}, {numbers}, {numbers}) -> tensor<?xf32>
      return %y : tensor<?xf32>
    }}"""
    model = onnx_model(fd.parse(text))
    assert node(model, "Min").input[0]
    for begin in (-7, -1):
        places = (np.array([number]) for number in (begin, end, -1))
        assert fd.run(import_model(model), np.ones(5, np.float32), *places)[0].shape == (0,)


@pytest.mark.parametrize(("low", "high"), [(0, -1), (-2, 1), (-1, -1), (2, 0)])
def test_negative_padding_crops(low: int, high: int) -> None:
    text = f"""func.func @main(%x: tensor<5xf32>, %v: tensor<f32>) -> tensor<{5 + low + high}xf32> {{
      %y = fuse.pad %x, %v, low = [{low}], high = [{high}] : (tensor<5xf32>, tensor<f32>)
      return %y : tensor<{5 + low + high}xf32>
    }}"""
    written(text)


def test_sizes_that_are_not_known_keep_their_places() -> None:
    model = onnx_model(fd.parse(unary("fuse.reshape %x", "?x?x4xf32", "?x?x2x2xf32")))
    onnx.checker.check_model(model, full_check=True)
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    (got,) = fd.run(import_model(model), x)
    np.testing.assert_array_equal(got, x.reshape(2, 3, 2, 2))


@pytest.mark.parametrize("op", ["sum", "prod", "max", "mean"])
@pytest.mark.parametrize("element", ["i8", "ui8", "i16", "i32"])
def test_reductions_of_narrow_integers_are_written(op: str, element: str) -> None:
    written(unary(f"fuse.{op} %x, axes = [1]", f"3x4x{element}", f"3x{element}"))


@pytest.mark.parametrize("unbiased", ["true", "false"])
def test_variances_are_written(unbiased: str) -> None:
    module = fd.parse(unary(f"fuse.variance %x, axes = [1], unbiased = {unbiased}", "3x4xf32", "3xf32"))
    x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    (got,) = fd.run(import_model(onnx_model(module)), x)
    assert_agrees(module, [x], [got])


def test_a_loop_with_a_limit_and_rows_ends_with_the_less() -> None:
    text = """func.func @main(%n: tensor<i64>, %x: tensor<3x2xf32>) -> tensor<2xf32> {
      %zero = arith.constant dense<0.0> : tensor<2xf32>
      %last = fuse.loop limit(%n : tensor<i64>) states(%zero : tensor<2xf32>) rows(%x : tensor<3x2xf32>)
          -> (tensor<2xf32>) {
      ^bb0(%i: tensor<i64>, %s: tensor<2xf32>, %row: tensor<2xf32>):
        %sum = fuse.add %s, %row : tensor<2xf32>
        fuse.yield %sum : tensor<2xf32>
      }
      return %last : tensor<2xf32>
    }"""
    module = fd.parse(text)
    back = import_model(onnx_model(module))
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    for count in (0, 2, 9):
        inputs = [np.array(count), x]
        np.testing.assert_array_equal(fd.run(back, *inputs)[0], fd.run(module, *inputs)[0])


def test_one_value_that_is_two_results_has_two_names() -> None:
    model = written("""func.func @main(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
      %y = fuse.exp %x : tensor<3xf32>
      return %y, %y : tensor<3xf32>, tensor<3xf32>
    }""")
    assert [port.name for port in model.graph.output] == ["result0", "result1"]


def test_a_result_that_a_region_reads_keeps_its_name_there() -> None:
    written("""func.func @main(%x: tensor<3xf32>, %c: tensor<i1>) -> (tensor<3xf32>, tensor<3xf32>) {
      %y = fuse.exp %x : tensor<3xf32>
      %z = fuse.if (%c : tensor<i1>) -> (tensor<3xf32>) {
        %a = fuse.add %y, %y : tensor<3xf32>
        fuse.yield %a : tensor<3xf32>
      } else {
        fuse.yield %y : tensor<3xf32>
      }
      return %y, %z : tensor<3xf32>, tensor<3xf32>
    }""")


@pytest.mark.parametrize("op", ["mod", "floor_divide"])
def test_remainders_have_the_sign_of_the_divisor(op: str) -> None:
    text = f"""func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {{
      %z = fuse.{op} %x, %y : tensor<4xf32>
      return %z : tensor<4xf32>
    }}"""
    module = fd.parse(text)
    inputs = [np.array([5, -5, 5, -5], np.float32), np.array([3, 3, -3, -3], np.float32)]
    (got,) = fd.run(import_model(onnx_model(module)), *inputs)
    np.testing.assert_array_equal(got, fd.run(module, *inputs)[0])


def test_kernels_in_another_order_are_turned() -> None:
    properties = 'data_layout = "NHWC", kernel_layout = "HWIO"'
    text = f"""func.func @main(%x: tensor<1x4x4x2xf32>, %w: tensor<2x2x2x3xf32>) -> tensor<1x3x3x3xf32> {{
      %y = fuse.conv2d %x, %w, {properties} : (tensor<1x4x4x2xf32>, tensor<2x2x2x3xf32>) -> tensor<1x3x3x3xf32>
      return %y : tensor<1x3x3x3xf32>
    }}"""
    module = fd.parse(text)
    inputs = random_inputs(function_named(module, "main"), 3, 2)
    (got,) = fd.run(import_model(onnx_model(module)), *inputs)
    assert_sums_of(module, inputs, [got])


def test_an_axis_that_is_not_the_second_is_brought_there() -> None:
    vectors = ", ".join(f"%{name}: tensor<3xf32>" for name in "gbmv")
    types = "(tensor<2x4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)"
    text = f"""func.func @main(%x: tensor<2x4x3xf32>, {vectors}) -> tensor<2x4x3xf32> {{
      %p = fuse.exp %v : tensor<3xf32>
      %y = fuse.batch_norm %x, %g, %b, %m, %p, axis = 2 : {types} -> tensor<2x4x3xf32>
      return %y : tensor<2x4x3xf32>
    }}"""
    module = fd.parse(text)
    inputs = random_inputs(function_named(module, "main"), 3, 2)
    (got,) = fd.run(import_model(onnx_model(module)), *inputs)
    assert_agrees(module, inputs, [got])


def test_a_resize_of_no_images_is_written() -> None:
    model = written(unary("fuse.resize2d %x, size = [1, 6]", "0x1x1x1xf32", "0x1x1x6xf32"))
    assert node(model, "Resize").input[3] != ""


@pytest.mark.parametrize("op", ["min", "max"])
@pytest.mark.parametrize("element", ["f32", "i8", "i1"])
def test_an_extremum_of_nothing_with_an_open_size_is_written(op: str, element: str) -> None:
    program = unary(f"fuse.{op} %x, axes = [3, 1]", f"2x?x?x0x1x{element}", f"2x?x1x{element}")
    model = written(program)
    assert len(model.graph.node) >= 1
    module = fd.parse(program)
    array = np.zeros((2, 3, 4, 0, 1), {"f32": np.float32, "i8": np.int8, "i1": np.bool_}[element])
    # Over no elements it is what changes no other: the greatest or the least value.
    greatest, least = {"f32": (np.inf, -np.inf), "i8": (127, -128), "i1": (True, False)}[element]
    for result in (fd.run(module, array), fd.run(import_model(model), array)):
        np.testing.assert_array_equal(result[0], np.full((2, 4, 1), greatest if op == "min" else least, array.dtype))


def test_the_first_none_of_a_line_are_written() -> None:
    program = """func.func @main(%x: tensor<3x4xf32>, %k: tensor<i64>) -> (tensor<3x0xf32>, tensor<3x?xi64>) {
      %a, %b = fuse.topk %x, k = 0 : (tensor<3x4xf32>) -> (tensor<3x0xf32>, tensor<3x0xi64>)
      %c, %d = fuse.dyn_topk %x, %k : (tensor<3x4xf32>, tensor<i64>) -> (tensor<3x?xf32>, tensor<3x?xi64>)
      return %a, %d : tensor<3x0xf32>, tensor<3x?xi64>
    }"""
    module = fd.parse(program)
    x, none = np.zeros((3, 4), np.float32), np.array(0)
    for each in (module, import_model(onnx_model(module))):
        assert [result.shape for result in fd.run(each, x, none)] == [(3, 0), (3, 0)]


@pytest.mark.parametrize("target", ["1x0x?x1", "0x?"])
def test_what_remains_of_no_elements_is_none(target: str) -> None:
    module = fd.parse(unary("fuse.reshape %x", "?x3xf32", f"{target}xf32"))
    nothing = np.zeros((0, 3), np.float32)
    for each in (module, import_model(onnx_model(module))):
        assert fd.run(each, nothing)[0].shape == tuple(0 if size == "?" else int(size) for size in target.split("x"))


def test_a_floor_division_does_not_overflow_on_the_way() -> None:
    text = """func.func @main(%x: tensor<4xi64>, %y: tensor<4xi64>) -> tensor<4xi64> {
      %z = fuse.floor_divide %x, %y : tensor<4xi64>
      return %z : tensor<4xi64>
    }"""
    least, greatest = -(2**63), 2**63 - 1
    inputs = [np.array([1, greatest, -7, 7]), np.array([least, -2, 3, -3])]
    (got,) = fd.run(import_model(onnx_model(fd.parse(text))), *inputs)
    np.testing.assert_array_equal(got, [-1, -(2**62), -3, -3])


def test_a_function_takes_the_fields_of_a_tuple() -> None:
    text = """func.func @main(%x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
      %t = fuse.tuple %x, %y : (tensor<3xf32>, tensor<3xf32>) -> tuple<tensor<3xf32>, tensor<3xf32>>
      %a, %b = call @inner(%y, %t)
        : (tensor<3xf32>, tuple<tensor<3xf32>, tensor<3xf32>>) -> (tensor<3xf32>, tensor<3xf32>)
      return %a, %b : tensor<3xf32>, tensor<3xf32>
    }
    func.func @inner(%z: tensor<3xf32>, %t: tuple<tensor<3xf32>, tensor<3xf32>>) -> (tensor<3xf32>, tensor<3xf32>) {
      %u = fuse.get_tuple_element %t, index = 0 : (tuple<tensor<3xf32>, tensor<3xf32>>) -> tensor<3xf32>
      %v = fuse.get_tuple_element %t, index = 1 : (tuple<tensor<3xf32>, tensor<3xf32>>) -> tensor<3xf32>
      %a = fuse.subtract %u, %v : tensor<3xf32>
      %b = fuse.subtract %a, %z : tensor<3xf32>
      return %a, %b : tensor<3xf32>, tensor<3xf32>
    }"""
    model = written(text)
    (function,) = model.functions
    assert len(function.input) == 3


@pytest.mark.parametrize(
    ("axes", "keepdims", "wanted"), [("[]", "false", [2, 3]), ("[0]", "false", 6), ("[0]", "true", [6])]
)
def test_a_product_of_sizes_keeps_its_axes(axes: str, keepdims: str, wanted: object) -> None:
    result = {"[]": "2x"}.get(axes, "1x" if keepdims == "true" else "")
    module = fd.parse(f"""func.func @main(%x: tensor<?x3xf32>) -> tensor<{result}i64> {{
      %s = fuse.shape_of %x : (tensor<?x3xf32>) -> tensor<2xi64>
      %p = fuse.prod %s, axes = {axes}, keepdims = {keepdims} : (tensor<2xi64>) -> tensor<{result}i64>
      return %p : tensor<{result}i64>
    }}""")
    for each in (module, import_model(onnx_model(module))):
        (got,) = fd.run(each, np.zeros((2, 3), np.float32))
        assert got.tolist() == wanted


def test_a_size_that_is_not_known_is_none_of_no_elements() -> None:
    with pytest.raises(OpError, match="cannot be written as ONNX"):
        onnx_model(fd.parse(unary("fuse.repeat %x, repeats = 3", "?x0xi64", "?x0xi64")))


@pytest.mark.parametrize(
    "op",
    [
        "fuse.one_hot %x, %on, %off, depth = 4 : (tensor<i64>, tensor<f32>, tensor<f32>) -> tensor<4xf32>",
        "fuse.dyn_one_hot %x, %on, %off, %n : (tensor<i64>, tensor<f32>, tensor<f32>, tensor<i64>) -> tensor<?xf32>",
    ],
)
def test_a_single_index_gets_an_axis_for_one_hot(op: str) -> None:
    result = op.split(" -> ")[1]
    model = onnx_model(
        fd.parse(f"""
func.func @main(%x: tensor<i64>, %on: tensor<f32>, %off: tensor<f32>, %n: tensor<i64>) -> {result} {{
  %y = {op}
  return %y : {result}
}}""")
    )
    onnx.checker.check_model(model, full_check=True)
    inputs = [np.array(2), np.array(5, np.float32), np.array(1, np.float32), np.array(4)]
    np.testing.assert_array_equal(fd.run(import_model(model), *inputs)[0], [1, 1, 5, 1])


def test_quantized_weights_of_no_columns_keep_their_shape() -> None:
    types = "(tensor<1x2x0xf32>, tensor<3x0xui8>, tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<1x2x3xf32>"
    arguments = "%x: tensor<1x2x0xf32>, %w: tensor<3x0xui8>, %s: tensor<3x1xf32>, %z: tensor<3x1xf32>"
    model = written(f"""func.func @main({arguments}) -> tensor<1x2x3xf32> {{
      %y = fuse.blockwise_dense %x, %w, %s, %z : {types}
      return %y : tensor<1x2x3xf32>
    }}""")
    assert [attributes(each) for each in model.graph.node if each.op_type == "Reshape"] == [{"allowzero": 1}] * 2
