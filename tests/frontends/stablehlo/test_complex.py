"""Complex numbers are pairs of real ones: what goes in and out, loops, branches, products, functions."""

import numpy as np
import pytest
from xdsl.context import Context

import fuse_dialect as fd
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.op import Array
from fuse_dialect.frontends.stablehlo.convert_stablehlo_to_fuse import ConvertStableHLOToFusePass

C = "tensor<{}xcomplex<f64>>"


def in_pairs(numbers: Array) -> Array:
    return np.stack([numbers.real, numbers.imag], axis=-1)


def of_pairs(pairs: Array) -> Array:
    return pairs[..., 0] + 1j * pairs[..., 1]


def run(text: str, *numbers: Array) -> list[Array]:
    """The results of a program on NumPy; the native ones must be the same up to rounding."""
    given = [in_pairs(each) if each.dtype.kind == "c" else each for each in numbers]
    found = fd.run(fd.parse(text), *given)
    for native, own in zip(fd.compile(fd.parse(text), cache=False)(*given), found, strict=True):
        np.testing.assert_allclose(native, own, rtol=1e-12, atol=1e-12)
    return list(found)


def numbers(*shape: int) -> Array:
    random = np.random.default_rng(0)
    return random.normal(size=shape) + 1j * random.normal(size=shape)


FUNCTIONS = {
    "stablehlo.cosine": np.cos,
    "stablehlo.exponential": np.exp,
    "stablehlo.exponential_minus_one": np.expm1,
    "stablehlo.log": np.log,
    # NumPy's own `log1p` loses the small real parts.
    "stablehlo.log_plus_one": lambda z: np.log1p(z.real * (2 + z.real) + z.imag**2) / 2 + 1j * np.angle(1 + z),
    "stablehlo.logistic": lambda z: 1 / (1 + np.exp(-z)),
    "stablehlo.negate": np.negative,
    "stablehlo.rsqrt": lambda z: 1 / np.sqrt(z),
    "stablehlo.sign": lambda z: np.where(z == 0, 0, z / np.where(z == 0, 1, np.abs(z))),
    "stablehlo.sine": np.sin,
    "stablehlo.sqrt": np.sqrt,
    "stablehlo.tan": np.tan,
    "stablehlo.tanh": np.tanh,
    "chlo.conj": np.conj,
    "chlo.cosh": np.cosh,
    "chlo.sinh": np.sinh,
    "chlo.square": np.square,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_those_of_numpy(name: str) -> None:
    z = np.concatenate([numbers(40), numbers(8) * 1e-9, np.array([1, -2, 1j, -1j, 0.25])])
    arrow = name.startswith("chlo")
    type = C.format(z.size)
    types = f"{type} -> {type}" if arrow else type
    text = f"func.func @main(%z: {type}) -> {type} {{\n  %0 = {name} %z : {types}\n  return %0 : {type}\n}}"
    found = of_pairs(fd.run(fd.parse(text), in_pairs(z))[0])
    np.testing.assert_allclose(found, FUNCTIONS[name](z), rtol=1e-12, atol=1e-24)


INVERSES = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
}


@pytest.mark.parametrize("name", INVERSES)
def test_inverse_functions_are_those_of_numpy(name: str) -> None:
    """On both sides of the cuts, on them, and near where they begin; large and small."""
    line = np.array([-1e8, -3, -1.0001, -1, -0.5, -1e-9, 0, 1e-9, 0.5, 0.9999, 1, 2, 1e8])
    z = np.concatenate([(line[:, None] + 1j * line[None, :]).reshape(-1), numbers(40)])
    z = z[~np.isin(z, [1, -1, 1j, -1j] if "atan" in name else [])]
    type = C.format(z.size)
    text = (
        f"func.func @main(%z: {type}) -> {type} {{\n  %0 = chlo.{name} %z : {type} -> {type}\n  return %0 : {type}\n}}"
    )
    found = of_pairs(run(text, z)[0])
    np.testing.assert_allclose(found, INVERSES[name](z), rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("name", ["stablehlo.sqrt", "chlo.acos", "chlo.acosh", "chlo.asin"])
def test_a_cut_has_one_side(name: str) -> None:
    """As by XLA: a negative zero is on the same side as zero."""
    type = C.format(4)
    types = f"{type} -> {type}" if name.startswith("chlo") else type
    text = f"func.func @main(%z: {type}) -> {type} {{\n  %0 = {name} %z : {types}\n  return %0 : {type}\n}}"
    pairs = np.array([[-3, -0.0], [-3, 0.0], [2, -0.0], [2, 0.0]])
    (found,) = fd.run(fd.parse(text), pairs)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(np.abs(found[2]), np.abs(found[3]))
    if name != "stablehlo.sqrt":
        np.testing.assert_array_equal(found[2], found[3])


def test_magnitudes_and_quotients_overflow_no_earlier_than_they_must() -> None:
    z = np.array([3e200 + 4e200j, 3e-200 + 4e-200j, 0, np.inf + 1j, 5, 1e308j])
    w = np.array([1e200 - 1e200j, 1e-200 + 2e-200j, 1, 1, 2j, 1e308])
    type = C.format(6)
    text = f"""func.func @main(%z: {type}, %w: {type}) -> (tensor<6xf64>, {type}, tensor<6xi1>) {{
      %0 = stablehlo.abs %z : ({type}) -> tensor<6xf64>
      %1 = stablehlo.divide %z, %w : {type}
      %2 = stablehlo.compare EQ, %z, %w : ({type}, {type}) -> tensor<6xi1>
      return %0, %1, %2 : tensor<6xf64>, {type}, tensor<6xi1>
    }}"""
    size, quotient, is_equal = run(text, z, w)
    np.testing.assert_allclose(size, [5e200, 5e-200, 0, np.inf, 5, 1e308])
    with np.errstate(all="ignore"):
        expected = z / w
    np.testing.assert_allclose(of_pairs(quotient)[[0, 1, 2, 4, 5]], expected[[0, 1, 2, 4, 5]], rtol=1e-14)
    assert not is_equal.any()


def test_logarithms_of_numbers_whose_size_is_none() -> None:
    z = np.array([1.7e308 + 1.7e308j, np.inf + 1j, 1e-320, -2])
    text = f"func.func @main(%z: {C.format(4)}) -> {C.format(4)} {{\n  %0 = stablehlo.log %z : {C.format(4)}\n"
    found = of_pairs(fd.run(fd.parse(f"{text}  return %0 : {C.format(4)}\n}}"), in_pairs(z))[0])
    np.testing.assert_allclose(found, np.log(z), rtol=1e-14)


def test_elements_move_and_add_up() -> None:
    z = numbers(4, 6)
    text = f"""func.func @main(%z: {C.format("4x6")}) -> ({C.format("6x4")}, {C.format(6)}, {C.format("2x3")}) {{
      %c = stablehlo.constant dense<(0.0, 1.0)> : tensor<complex<f64>>
      %i = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<complex<f64>>) -> {C.format("4x6")}
      %0 = stablehlo.multiply %z, %i : {C.format("4x6")}
      %1 = stablehlo.transpose %0, dims = [1, 0] : ({C.format("4x6")}) -> {C.format("6x4")}
      %n = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f64>>
      %2 = stablehlo.reduce(%z init: %n) applies stablehlo.add across dimensions = [0]
        : ({C.format("4x6")}, tensor<complex<f64>>) -> {C.format(6)}
      %3 = stablehlo.slice %z [0:4:2, 0:6:2] : ({C.format("4x6")}) -> {C.format("2x3")}
      return %1, %2, %3 : {C.format("6x4")}, {C.format(6)}, {C.format("2x3")}
    }}"""
    turned, total, part = map(of_pairs, run(text, z))
    np.testing.assert_allclose(turned, (z * 1j).T)
    np.testing.assert_allclose(total, z.sum(0))
    np.testing.assert_array_equal(part, z[::2, ::2])


@pytest.mark.parametrize("is_real", [False, True])
def test_products_of_matrices(is_real: bool) -> None:
    z, w = numbers(3, 4), np.random.default_rng(1).normal(size=(4, 2)) if is_real else numbers(4, 2)
    given = "tensor<4x2xf64>" if is_real else C.format("4x2")
    text = f"""func.func @main(%z: {C.format("3x4")}, %w: {given}) -> {C.format("3x2")} {{
      %0 = stablehlo.convert %w : ({given}) -> {C.format("4x2")}
      %1 = stablehlo.dot_general %z, %0, contracting_dims = [1] x [0]
        : ({C.format("3x4")}, {C.format("4x2")}) -> {C.format("3x2")}
      return %1 : {C.format("3x2")}
    }}"""
    np.testing.assert_allclose(of_pairs(run(text, z, w)[0]), z @ w)
    module = fd.parse(text)
    ConvertStableHLOToFusePass(strict=True).apply(Context(), module)
    assert sum(op.name in ("fuse.matmul", "fuse.dense") for op in module.walk()) == (2 if is_real else 4)


def test_loops_and_branches_carry_parts() -> None:
    z = numbers(5)
    text = f"""func.func @main(%z: {C.format(5)}, %p: tensor<i1>) -> {C.format(5)} {{
      %n = stablehlo.constant dense<0> : tensor<i32>
      %0:2 = stablehlo.while(%w = %z, %i = %n) : {C.format(5)}, tensor<i32>
      cond {{
        %3 = stablehlo.constant dense<3> : tensor<i32>
        %4 = stablehlo.compare LT, %i, %3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %4 : tensor<i1>
      }} do {{
        %5 = stablehlo.multiply %w, %z : {C.format(5)}
        %6 = stablehlo.constant dense<1> : tensor<i32>
        %7 = stablehlo.add %i, %6 : tensor<i32>
        stablehlo.return %5, %7 : {C.format(5)}, tensor<i32>
      }}
      %1 = "stablehlo.if"(%p) ({{
        stablehlo.return %0#0 : {C.format(5)}
      }}, {{
        %8 = stablehlo.negate %0#0 : {C.format(5)}
        stablehlo.return %8 : {C.format(5)}
      }}) : (tensor<i1>) -> {C.format(5)}
      return %1 : {C.format(5)}
    }}"""
    for choice, sign in ((True, 1), (False, -1)):
        np.testing.assert_allclose(of_pairs(run(text, z, np.array(choice))[0]), sign * z**4)


def test_transforms_of_several_axes() -> None:
    z = numbers(3, 4, 5)
    text = f"""func.func @main(%z: {C.format("3x4x5")}) -> ({C.format("3x4x5")}, tensor<3x4x8xf64>) {{
      %0 = stablehlo.fft %z, type = FFT, length = [4, 5] : ({C.format("3x4x5")}) -> {C.format("3x4x5")}
      %1 = stablehlo.fft %0, type = IFFT, length = [3, 4, 5] : ({C.format("3x4x5")}) -> {C.format("3x4x5")}
      %2 = stablehlo.fft %z, type = IRFFT, length = [4, 8] : ({C.format("3x4x5")}) -> tensor<3x4x8xf64>
      return %1, %2 : {C.format("3x4x5")}, tensor<3x4x8xf64>
    }}"""
    back, real = run(text, z)
    np.testing.assert_allclose(of_pairs(back), np.fft.ifftn(np.fft.fft2(z)), atol=1e-12)
    np.testing.assert_allclose(real, np.fft.irfft2(z, (4, 8)), atol=1e-12)


@pytest.mark.parametrize(("rows", "columns"), [(15, 4), (16, 3), (17, 6), (64, 5)])
def test_transforms_of_an_axis_that_is_folded(rows: int, columns: int) -> None:
    z, half = numbers(2, rows, columns), columns // 2 + 1
    whole, some = C.format(f"2x{rows}x{columns}"), C.format(f"2x{rows}x{half}")
    text = f"""func.func @main(%z: {whole}) -> ({whole}, {whole}, {some}, tensor<2x{rows}x{columns}xf64>) {{
      %0 = stablehlo.fft %z, type = FFT, length = [{rows}, {columns}] : ({whole}) -> {whole}
      %1 = stablehlo.fft %z, type = IFFT, length = [{rows}, {columns}] : ({whole}) -> {whole}
      %2 = stablehlo.real %z : ({whole}) -> tensor<2x{rows}x{columns}xf64>
      %3 = stablehlo.fft %2, type = RFFT, length = [{rows}, {columns}] : (tensor<2x{rows}x{columns}xf64>) -> {some}
      %4 = stablehlo.fft %3, type = IRFFT, length = [{rows}, {columns}] : ({some}) -> tensor<2x{rows}x{columns}xf64>
      %5 = stablehlo.convert %2 : (tensor<2x{rows}x{columns}xf64>) -> {whole}
      %6 = stablehlo.fft %5, type = FFT, length = [{rows}, {columns}] : ({whole}) -> {whole}
      %7 = stablehlo.add %1, %6 : {whole}
      return %0, %7, %3, %4 : {whole}, {whole}, {some}, tensor<2x{rows}x{columns}xf64>
    }}"""
    forth, both, real, back = run(text, z)
    np.testing.assert_allclose(of_pairs(forth), np.fft.fft2(z), atol=1e-11)
    np.testing.assert_allclose(of_pairs(both), np.fft.ifft2(z) + np.fft.fft2(z.real), atol=1e-11)
    np.testing.assert_allclose(of_pairs(real), np.fft.rfft2(z.real), atol=1e-11)
    np.testing.assert_allclose(back, z.real, atol=1e-12)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (f"stablehlo.fft %z, type = FFT, length = [3] : ({C.format(4)}) -> {C.format(4)}", "other sizes"),
        (f"stablehlo.compare LT, %z, %z : ({C.format(4)}, {C.format(4)}) -> tensor<4xi1>", "an order of complex"),
        (f"stablehlo.cbrt %z : {C.format(4)}", "complex"),
        (
            f"stablehlo.reduce(%z init: %n) applies stablehlo.maximum across dimensions = [0] "
            f": ({C.format(4)}, tensor<complex<f64>>) -> tensor<complex<f64>>",
            "not added up",
        ),
    ],
)
def test_what_complex_numbers_have_not_is_refused(line: str, reason: str) -> None:
    one = "%n = stablehlo.constant dense<(1.0, 0.0)> : tensor<complex<f64>>"
    text = f"func.func @main(%z: {C.format(4)}) {{\n  {one}\n  %0 = {line}\n  return\n}}"
    with pytest.raises(OpError, match=reason):
        ConvertStableHLOToFusePass(strict=True).apply(Context(), fd.parse(text))


def test_complex_numbers_pass_through_a_function_without_an_op() -> None:
    z = numbers(3)
    (found,) = run(f"func.func @main(%z: {C.format(3)}) -> {C.format(3)} {{\n  return %z : {C.format(3)}\n}}", z)
    np.testing.assert_array_equal(of_pairs(found), z)


SORT = """
func.func @main(%z: tensor<3x7xcomplex<f64>>, %n: tensor<3x7xi32>) -> (tensor<3x7xcomplex<f64>>, tensor<3x7xi32>) {
  %0:2 = "stablehlo.sort"(%z, %n) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<complex<f64>>, %b: tensor<complex<f64>>, %i: tensor<i32>, %j: tensor<i32>):
    %1 = stablehlo.real %a : (tensor<complex<f64>>) -> tensor<f64>
    %2 = stablehlo.imag %a : (tensor<complex<f64>>) -> tensor<f64>
    %3 = stablehlo.real %b : (tensor<complex<f64>>) -> tensor<f64>
    %4 = stablehlo.imag %b : (tensor<complex<f64>>) -> tensor<f64>
    %5 = stablehlo.compare LT, %2, %4, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %6 = stablehlo.compare LT, %1, %3, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %7 = stablehlo.compare EQ, %1, %3, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %8 = stablehlo.and %7, %5 : tensor<i1>
    %9 = stablehlo.or %6, %8 : tensor<i1>
    stablehlo.return %9 : tensor<i1>
  }) : (tensor<3x7xcomplex<f64>>, tensor<3x7xi32>) -> (tensor<3x7xcomplex<f64>>, tensor<3x7xi32>)
  return %0#0, %0#1 : tensor<3x7xcomplex<f64>>, tensor<3x7xi32>
}"""


def test_numbers_are_sorted_by_their_parts() -> None:
    random = np.random.default_rng(0)
    z = random.integers(1, 4, (3, 7)) + 1j * random.integers(1, 4, (3, 7))
    places = np.broadcast_to(np.arange(7, dtype=np.int32), (3, 7))
    ordered, found = run(SORT, z, places)
    np.testing.assert_array_equal(of_pairs(ordered), np.sort(z, axis=1))
    np.testing.assert_array_equal(found, np.argsort(z, axis=1, kind="stable"))


def test_an_order_of_whole_numbers_is_none() -> None:
    whole = "stablehlo.compare EQ, %a, %b : (tensor<complex<f64>>, tensor<complex<f64>>) -> tensor<i1>"
    compared = "stablehlo.compare LT, %2, %4, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>"
    module = fd.parse(SORT.replace(compared, whole))
    with pytest.raises(OpError, match="an order of complex numbers"):
        ConvertStableHLOToFusePass(strict=True).apply(Context(), module)


@pytest.mark.parametrize("start", [(1.0, 0.0), (0.5, -2.0)])
@pytest.mark.parametrize("sizes", [(3, 1, 2), (4, 5, 3), (2, 0, 8)])
def test_products_of_many(sizes: tuple[int, ...], start: tuple[float, float]) -> None:
    z, kept = numbers(*sizes), f"tensor<{sizes[2]}xcomplex<f64>>"
    type = C.format("x".join(map(str, sizes)))
    text = f"""func.func @main(%z: {type}) -> {kept} {{
      %i = stablehlo.constant dense<({start[0]}, {start[1]})> : tensor<complex<f64>>
      %0 = stablehlo.reduce(%z init: %i) applies stablehlo.multiply across dimensions = [0, 1]
        : ({type}, tensor<complex<f64>>) -> {kept}
      return %0 : {kept}
    }}"""
    (found,) = run(text, z)
    np.testing.assert_allclose(of_pairs(found), z.prod((0, 1)) * complex(*start), rtol=1e-12)
