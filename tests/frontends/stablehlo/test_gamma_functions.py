"""Relatives of the gamma function, and a Bessel function: values of tables and identities, poles, both widths."""

import math

import numpy as np
import pytest

import fuse_dialect as fd
from fuse_dialect.dialect.op import Array

EULER = 0.57721566490153286
CATALAN = 0.91596559417721902


def run(name: str, *operands: Array) -> Array:
    """A function of CHLO on NumPy; the native one gives the same up to rounding."""
    type = f"tensor<{operands[0].size}xf{8 * operands[0].itemsize}>"
    values = ", ".join(f"%a{place}" for place in range(len(operands)))
    types = ", ".join([type] * len(operands))
    text = f"""func.func @main({", ".join(f"%a{place}: {type}" for place in range(len(operands)))}) -> {type} {{
      %r = {name} {values} : {types} -> {type}
      return %r : {type}
    }}"""
    (found,) = fd.run(fd.parse(text), *operands)
    (native,) = fd.compile(fd.parse(text), cache=False)(*operands)
    units = 1e-4 if operands[0].itemsize == 4 else 1e-10
    np.testing.assert_allclose(native, found, rtol=units, atol=units)
    return found


@pytest.mark.parametrize(("dtype", "near"), [("f4", 2e-6), ("f8", 1e-13)])
def test_digamma(dtype: str, near: float) -> None:
    x = np.array([1, 2, 0.5, 0.25, 10, -0.5, 1e6], dtype)
    expected = [
        *(-EULER, 1 - EULER, -EULER - 2 * math.log(2), -EULER - math.pi / 2 - 3 * math.log(2)),
        *(2.2517525890667211, 0.03648997397857652, 13.815510057964191),
    ]
    np.testing.assert_allclose(run("chlo.digamma", x), expected, rtol=near, atol=near)
    assert np.isnan(run("chlo.digamma", np.array([0, -1, -5], dtype))).all()


@pytest.mark.parametrize(("dtype", "near"), [("f4", 1e-6), ("f8", 1e-13)])
def test_zeta(dtype: str, near: float) -> None:
    x, q = np.array([2, 4, 2, 2, 3, 30], dtype), np.array([1, 1, 0.25, 0.75, 2, 3], dtype)
    expected = [
        *(math.pi**2 / 6, math.pi**4 / 90, math.pi**2 + 8 * CATALAN, math.pi**2 - 8 * CATALAN),
        *(0.20205690315959429, math.fsum(float(k) ** -30 for k in range(3, 60))),
    ]
    np.testing.assert_allclose(run("chlo.zeta", x, q), expected, rtol=near)
    beyond = run("chlo.zeta", np.array([1, 0.5, 2, 2.5], dtype), np.array([3, 3, -1, -0.5], dtype))
    assert np.isinf(beyond[[0, 2]]).all()
    assert np.isnan(beyond[[1, 3]]).all()


def test_polygamma() -> None:
    n, x = np.array([0, 1, 2, 1, -1, 0.5]), np.array([1, 1, 1, 0.25, 1, 1])
    found = run("chlo.polygamma", n, x)
    apery = 1.2020569031595943
    np.testing.assert_allclose(found[:4], [-EULER, math.pi**2 / 6, -2 * apery, math.pi**2 + 8 * CATALAN], rtol=1e-12)
    assert np.isnan(found[4:]).all()


@pytest.mark.parametrize(("dtype", "near"), [("f4", 1e-6), ("f8", 1e-13)])
def test_bessel_i1e(dtype: str, near: float) -> None:
    x = np.array([1, -1, 0, 5, 8, 20], dtype)
    # Its series, whose terms are positive.
    expected: list[float] = []
    for v in x.tolist():
        terms = [(abs(v) / 2) ** (2 * k + 1) / (math.factorial(k) * math.factorial(k + 1)) for k in range(60)]
        expected.append(math.copysign(math.fsum(terms) * math.exp(-abs(v)), v))
    np.testing.assert_allclose(run("chlo.bessel_i1e", x), expected, rtol=near)
    assert np.isnan(run("chlo.bessel_i1e", np.array([np.nan], dtype))).all()
