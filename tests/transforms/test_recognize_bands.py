"""`recognize-bands` on constants: values with a band in them are chosen by it, whatever else they are."""

import ml_dtypes
import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import func

import fuse_dialect as fd
from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.ops.comparison import BandOp
from fuse_dialect.transforms.recognize_bands import Band, RecognizeBandsPass, band_of

N = 80


def triangle(lower: int = -N, upper: int = 0) -> Array:
    """A band as NumPy makes it."""
    return np.tri(N, N, upper, dtype=bool) & ~np.tri(N, N, lower - 1, dtype=bool)


@pytest.mark.parametrize(("lower", "upper"), [(-N, 0), (-7, 0), (-3, 4), (1, N), (5, 20), (-20, -5)])
@pytest.mark.parametrize(("inside", "outside"), [(True, False), (False, True), (0.0, -np.inf), (1, 0)])
def test_an_array_of_two_values_is_a_band(lower: int, upper: int, inside: float, outside: float) -> None:
    mask = triangle(lower, upper)
    found = band_of(np.where(mask, np.array(inside), np.array(outside))[None, None])
    assert isinstance(found, Band)
    again = np.where(triangle(found.lower, found.upper), found.inside, found.outside)
    np.testing.assert_array_equal(again, np.where(mask, inside, outside))


@pytest.mark.parametrize(
    "array",
    [
        np.ones((N, N)),
        np.broadcast_to(np.float32(3), (N, N)),
        np.random.default_rng(0).standard_normal((N, N)),
        np.random.default_rng(0).random((N, N)) < 0.5,
        np.arange(N)[None, :] * np.ones((N, 1)) < 20,
        np.where(triangle(), np.nan, 0.0),
        np.stack([triangle(), triangle(-3, 0)]),
        triangle() ^ (np.arange(N * N).reshape(N, N) == 1234),
    ],
    ids=["ones", "splat", "numbers", "random", "stripe", "nan", "planes", "hole"],
)
def test_other_arrays_are_none(array: Array) -> None:
    assert band_of(array) is None


@pytest.mark.parametrize("element", ["i1", "f32", "f16", "bf16"])
@pytest.mark.parametrize("shape", ["80x80", "1x1x80x80", "2x80x80"])
def test_each_reader_has_a_band_of_its_own(element: str, shape: str) -> None:
    sizes = [int(size) for size in shape.split("x")]
    dtype = {"i1": np.bool_, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}[element]
    mask = np.broadcast_to(triangle(), sizes)
    array = mask if element == "i1" else np.where(mask, 0.0, -np.inf).astype(dtype)
    type = f"tensor<{shape}x{element}>"
    op = "logical_and" if element == "i1" else "add"
    lines = "\n".join(f"%y{n} = fuse.{op} %x, %m : {type}" for n in range(3))
    module = fd.parse(
        f"func.func @main(%x: {type}, %m: {type}) -> ({type}, {type}, {type}) {{\n{lines}\n"
        f"return %y0, %y1, %y2 : {type}, {type}, {type}\n}}"
    )
    (function,) = [op for op in module.body.block.ops if isinstance(op, func.FuncOp)]
    block, held = function.body.block, constant(np.ascontiguousarray(array))
    assert block.first_op is not None
    block.insert_op_before(held, block.first_op)
    block.args[1].replace_all_uses_with(held.result)
    x = np.random.default_rng(1).standard_normal(sizes)
    given = [(x > 0 if element == "i1" else x.astype(dtype)), np.zeros(sizes, dtype)]
    expected = fd.run(module, *given)
    RecognizeBandsPass().apply(Context(), module)
    module.verify()
    assert sum(isinstance(each, BandOp) for each in module.walk()) == 3
    for got, want in zip(fd.run(module, *given), expected, strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("element", ["f16", "bf16", "f32"])
def test_a_choice_by_a_band_knows_narrow_numbers(element: str) -> None:
    """Scalars of f16 are arguments of kernels, which then know nothing of what a mask makes of scores."""
    s = f"tensor<80x80x{element}>"
    module = fd.parse(f"""func.func @main(%s: {s}) -> {s} {{
      %c = arith.constant dense<-2.0> : tensor<{element}>
      %j = fuse.arange stop = 80.0 -> tensor<80xi64>
      %i = fuse.reshape %j : (tensor<80xi64>) -> tensor<80x1xi64>
      %m = fuse.less_equal %j, %i : (tensor<80xi64>, tensor<80x1xi64>) -> tensor<80x80xi1>
      %y = fuse.where %m, %s, %c : (tensor<80x80xi1>, {s}, tensor<{element}>) -> {s}
      return %y : {s}
    }}""")
    dtype = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}[element]
    x = np.random.default_rng(3).standard_normal((N, N)).astype(dtype)
    (expected,) = fd.run(module, x)
    RecognizeBandsPass().apply(Context(), module)
    module.verify()
    bands = [each for each in module.walk() if isinstance(each, BandOp)]
    assert [each.inside.value.data for each in bands] == ([1.0] if element == "f32" else [1.0, -2.0])
    np.testing.assert_array_equal(fd.run(module, x)[0], expected)


def test_constants_without_elements_are_left_alone() -> None:
    module = fd.parse("""func.func @main() -> tensor<0x64x64xf32> {
      %c = arith.constant dense<> : tensor<0x64x64xf32>
      %y = fuse.exp %c : tensor<0x64x64xf32>
      %z = fuse.add %y, %c : tensor<0x64x64xf32>
      return %z : tensor<0x64x64xf32>
    }""")
    RecognizeBandsPass().apply(Context(), module)
    (result,) = fd.compile(module, cache=False)()
    assert result.shape == (0, 64, 64)
