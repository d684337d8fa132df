"""Images at a computed resolution: kernels that are told the sizes give what NumPy gives, for sizes that are new."""

from random import Random

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

pytest.importorskip("llvmlite")

import fuse_dialect as fd
from fuse_dialect.dialect.resampling import COORDINATE_MODES, NEAREST_MODES

TYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16}
TOLERANCE = {"f32": 2e-5, "f64": 1e-12, "f16": 4e-3}
SIZES = (1, 2, 5, 8, 21)
IMAGE = "tensor<?x3x?x?xf32>"


def resized_like(layout: str, element: str, properties: str) -> str:
    """An image at the resolution of another one, between two other kernels."""
    open_type, height = ("?x3x?x?", 2) if layout == "NCHW" else ("?x?x?x3", 1)
    type = f"tensor<{open_type}x{element}>"
    return f"""func.func @main(%x: {type}, %like: {type}) -> {type} {{
      %shape = fuse.shape_of %like : ({type}) -> tensor<4xi64>
      %size = fuse.strided_slice %shape, begin = [{height}], end = [{height + 2}] : (tensor<4xi64>) -> tensor<2xi64>
      %in = fuse.abs %x : {type}
      %y = fuse.dyn_resize2d %in, %size, layout = "{layout}", {properties} : ({type}, tensor<2xi64>) -> {type}
      %out = fuse.negative %y : {type}
      return %out : {type}
    }}"""


def random_properties(rng: Random) -> str:
    method, mode = rng.choice(["nearest", "linear", "cubic"]), rng.choice(COORDINATE_MODES)
    properties = [f'method = "{method}"', f'coordinate_transformation_mode = "{mode}"']
    properties.append(f'nearest_mode = "{rng.choice(NEAREST_MODES)}"')
    if method != "nearest" and rng.random() < 0.3:
        properties.append("exclude_outside = true")
    if mode == "tf_crop_and_resize":
        properties.append("roi = [0.1, -0.5, 1.2, 0.75]")
    if rng.random() < 0.4:
        properties.append(f"antialias = {rng.choice(['true', 'false'])}")
        properties.append(f"scales = [{rng.choice([2.0, 0.5, 1.0, 1.3])}, {rng.choice([2.0, 0.5, 3.0])}]")
    return ", ".join(properties)


def families(program: fd.Program, part: str) -> list[str]:
    return [kernel.family for kernel in program.kernels if part in kernel.name]


@pytest.mark.parametrize("seed", range(24))
def test_a_resize_to_sizes_that_come_with_the_inputs(seed: int) -> None:
    random, rng = Random(seed), np.random.default_rng(seed)
    layout, element = random.choice(["NCHW", "NHWC"]), random.choice(list(TYPES))
    text = resized_like(layout, element, random_properties(random))
    covers = "antialias = true" in text and 'method = "nearest"' not in text
    module = fd.parse(text)
    program = fd.compile(module, threads=1 + seed % 2, cache=False)
    assert families(program, "resize") == ["rows" if covers else "map"], text
    for batch in (0, 1, 2, 1, 2):
        sizes = [[random.choice(SIZES) for _ in "HW"] for _ in range(2)]
        shapes = [(batch, 3, *size) if layout == "NCHW" else (batch, *size, 3) for size in sizes]
        inputs = [rng.standard_normal(shape).astype(TYPES[element]) for shape in shapes]
        (expected,) = fd.run(module, *inputs)
        (got,) = program(*inputs)
        limit = TOLERANCE[element]
        np.testing.assert_allclose(got, expected, limit, limit, err_msg=f"{text}\n{shapes}", strict=True)
    assert program.report.compiled_in_calls == 0
    assert program.report.step_by_step == 0


@pytest.mark.parametrize("method", ["nearest", "linear", "cubic"])
def test_an_image_of_open_size_at_a_given_resolution(method: str) -> None:
    result = "tensor<?x3x7x2xf32>"
    module = fd.parse(f"""func.func @main(%x: {IMAGE}) -> {result} {{
      %y = fuse.resize2d %x, size = [7, 2], method = "{method}" : ({IMAGE}) -> {result}
      return %y : {result}
    }}""")
    program = fd.compile(module, cache=False)
    assert families(program, "resize") == ["map"]
    for height, width in ((4, 5), (1, 1), (9, 2), (7, 2)):
        x = np.random.default_rng(height).standard_normal((2, 3, height, width)).astype(np.float32)
        np.testing.assert_allclose(program(x)[0], fd.run(module, x)[0], 1e-5, 1e-5)


@pytest.mark.parametrize("seed", range(24))
def test_parts_of_an_image_and_pixels_that_a_smaller_one_covers(seed: int) -> None:
    random, rng = Random(seed), np.random.default_rng(seed)
    layout, element, is_open = random.choice(["NCHW", "NHWC"]), random.choice(list(TYPES)), seed % 3 == 0
    method, covers = random.choice(["nearest", "linear", "cubic"]), random.random() < 0.6
    properties = [f'layout = "{layout}", method = "{method}", antialias = {str(covers).lower()}']
    if seed % 2:
        roi = [random.choice([-0.5, 0.0, 0.3]), random.choice([0.0, 0.25]), random.choice([0.6, 1.4]), 1.0]
        properties.append(f'coordinate_transformation_mode = "tf_crop_and_resize", roi = {roi}')
        properties.append("extrapolation_value = -2.5")
    if covers and (is_open or random.random() < 0.5):
        properties.append(f"scales = [{random.choice([0.5, 0.3])}, {random.choice([0.4, 2.0])}]")
    if method != "nearest" and random.random() < 0.3:
        properties.append("exclude_outside = true")
    size, source = [random.choice([1, 3, 7]) for _ in "HW"], [random.choice([5, 8, 13]) for _ in "HW"]
    types = [
        f"tensor<2x3x{pair}x{element}>" if layout == "NCHW" else f"tensor<2x{pair}x3x{element}>"
        for pair in ("?x?" if is_open else f"{source[0]}x{source[1]}", f"{size[0]}x{size[1]}")
    ]
    text = f"""func.func @main(%x: {types[0]}) -> {types[1]} {{
      %y = fuse.resize2d %x, size = {size}, {", ".join(properties)} : ({types[0]}) -> {types[1]}
      return %y : {types[1]}
    }}"""
    module = fd.parse(text)
    program = fd.compile(module, cache=False)
    assert "numpy" not in families(program, "resize"), text
    shape = (2, 3, *source) if layout == "NCHW" else (2, *source, 3)
    x, limit = rng.standard_normal(shape).astype(TYPES[element]), TOLERANCE[element]
    (expected,), (got,) = fd.run(module, x), program(x)
    np.testing.assert_allclose(got, expected, limit, limit, err_msg=text, strict=True)


def scaled() -> ModuleOp:
    """An image so many times as large as another argument has elements."""
    return fd.parse(f"""func.func @main(%x: {IMAGE}, %times: tensor<?xi8>) -> {IMAGE} {{
      %shape = fuse.shape_of %x : ({IMAGE}) -> tensor<4xi64>
      %size = fuse.strided_slice %shape, begin = [2], end = [4] : (tensor<4xi64>) -> tensor<2xi64>
      %count = fuse.shape_of %times : (tensor<?xi8>) -> tensor<1xi64>
      %larger = fuse.multiply %size, %count : (tensor<2xi64>, tensor<1xi64>) -> tensor<2xi64>
      %y = fuse.dyn_resize2d %x, %larger, method = "linear" : ({IMAGE}, tensor<2xi64>) -> {IMAGE}
      return %y : {IMAGE}
    }}""")


@pytest.mark.parametrize(
    ("shape", "times", "said"),
    [
        ((1, 3, 2, 2), 0, "'fuse.dyn_resize2d' op cannot be run: expects sizes of at least 1, got [0, 0]"),
        ((1, 3, 0, 2), 1, "'fuse.dyn_resize2d' op cannot be run: expects sizes of at least 1, got [0, 2]"),
        ((1, 3, 9, 9), 1 << 30, "'fuse.dyn_resize2d' op cannot be run: expects a result of at most"),
    ],
)
def test_sizes_that_cannot_be(shape: tuple[int, ...], times: int, said: str) -> None:
    program = fd.compile(scaled(), cache=False)
    x, count = np.zeros(shape, np.float32), np.broadcast_to(np.int8(0), (times,))
    with pytest.raises(fd.FuseError) as error:
        program(x, count)
    assert said in str(error.value)
    small = np.ones((1, 3, 2, 2), np.float32)
    np.testing.assert_array_equal(program(small, np.zeros(3, np.int8))[0], np.ones((1, 3, 6, 6)))


def test_numbers_that_the_data_say_run_on_numpy() -> None:
    module = fd.parse(f"""func.func @main(%x: {IMAGE}, %size: tensor<2xi64>) -> {IMAGE} {{
      %y = fuse.dyn_resize2d %x, %size, method = "linear" : ({IMAGE}, tensor<2xi64>) -> {IMAGE}
      %z = fuse.exp %y : {IMAGE}
      return %z : {IMAGE}
    }}""")
    program = fd.compile(module, cache=False)
    (kernel,) = [kernel for kernel in program.kernels if "resize" in kernel.name]
    assert (kernel.family, kernel.reason) == (
        "numpy",
        "'fuse.dyn_resize2d' op has numbers that do not follow from sizes",
    )
    x = np.random.default_rng(0).standard_normal((1, 3, 4, 5)).astype(np.float32)
    for size in ([7, 2], [1, 9]):
        np.testing.assert_allclose(program(x, np.array(size))[0], fd.run(module, x, np.array(size))[0], 1e-5, 1e-5)


def test_a_resize_behind_a_count_and_one_in_a_loop() -> None:
    module = fd.parse("""func.func @main(%x: tensor<1x1x?x?xf32>, %m: tensor<?xi1>, %trips: tensor<i64>)
        -> (tensor<1x1x?x?xf32>, tensor<?xf32>) {
      %found = fuse.argwhere %m : (tensor<?xi1>) -> tensor<?x1xi64>
      %size = fuse.shape_of %found : (tensor<?x1xi64>) -> tensor<2xi64>
      %y = fuse.dyn_resize2d %x, %size : (tensor<1x1x?x?xf32>, tensor<2xi64>) -> tensor<1x1x?x?xf32>
      %true = arith.constant dense<true> : tensor<i1>
      %zero = arith.constant dense<0.0> : tensor<f32>
      %last, %sums = fuse.loop limit(%trips : tensor<i64>) while(%true : tensor<i1>) states(%zero : tensor<f32>)
          -> (tensor<f32>, tensor<?xf32>) {
      ^bb0(%i: tensor<i64>, %sum: tensor<f32>):
        %two = arith.constant dense<[2, 3]> : tensor<2xi64>
        %larger = fuse.add %two, %i : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
        %z = fuse.dyn_resize2d %x, %larger, method = "linear"
            : (tensor<1x1x?x?xf32>, tensor<2xi64>) -> tensor<1x1x?x?xf32>
        %total = fuse.sum %z, axes = [0, 1, 2, 3] : (tensor<1x1x?x?xf32>) -> tensor<f32>
        %next = fuse.add %sum, %total : tensor<f32>
        fuse.yield while(%true : tensor<i1>) %next, %total : tensor<f32>, tensor<f32>
      }
      return %y, %sums : tensor<1x1x?x?xf32>, tensor<?xf32>
    }""")
    program = fd.compile(module, cache=False)
    assert families(program, "resize") == ["map", "map"]
    rng = np.random.default_rng(0)
    for height, width, count, trips in ((3, 4, 5, 2), (4, 3, 2, 6), (1, 1, 7, 1)):
        x = rng.standard_normal((1, 1, height, width)).astype(np.float32)
        inputs = [x, np.arange(9) < count, np.array(trips)]
        for got, expected in zip(program(*inputs), fd.run(module, *inputs), strict=True):
            np.testing.assert_allclose(got, expected, 1e-4, 1e-5, strict=True)


@pytest.mark.parametrize("backend", ["llvm", "interpreter"])
def test_an_infinite_pixel_that_is_not_covered_adds_nothing(backend: str) -> None:
    types = "(tensor<1x1x1x2xf64>) -> tensor<1x1x3x3xf64>"
    text = f"""func.func @main(%x: tensor<1x1x1x2xf64>) -> tensor<1x1x3x3xf64> {{
      %y = fuse.resize2d %x, size = [3, 3], method = "linear", antialias = true : {types}
      return %y : tensor<1x1x3x3xf64>
    }}"""
    x = np.array([[[[-np.inf, 1.0]]]])
    module = fd.parse(text)
    (result,) = fd.run(module, x) if backend == "interpreter" else [fd.compile(module, cache=False)(x)]
    np.testing.assert_array_equal(np.asarray(result).reshape(3, 3), [[-np.inf, -np.inf, 1.0]] * 3)
