"""`chlo.scan` is read, checked, printed, and run as a loop over rows."""

from io import StringIO

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.utils.exceptions import VerifyException

import fuse_dialect as fd
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.frontends.mlir.reader import context, parse_mlir
from fuse_dialect.frontends.stablehlo.convert_stablehlo_to_fuse import ConvertStableHLOToFusePass
from fuse_dialect.loading.verification import verify_module
from fuse_dialect.targets.mlir import FuseMLIRTarget

BODY = """^bb0(%a: tensor<2xf32>, %c: tensor<2xf32>):
      %s = stablehlo.multiply %c, %c : tensor<2xf32>
      %n = stablehlo.add %s, %a : tensor<2xf32>
      stablehlo.return %s, %n : tensor<2xf32>, tensor<2xf32>"""
TYPES = "(tensor<2x3xf32>, tensor<2xf32>) -> (tensor<2x3xf32>, tensor<2xf32>)"


def text(flags: str = "", dimension: int = 1, body: str = BODY, types: str = TYPES, inits: str = "%c0") -> str:
    """A program of one scan."""
    return f"""func.func @main(%x: tensor<2x3xf32>, %c0: tensor<2xf32>) -> (tensor<2x3xf32>, tensor<2xf32>) {{
    %r:2 = chlo.scan(%x) inits ({inits}) dimension={dimension} {flags} {{
    {body}
    }} : {types}
    return %r#0, %r#1 : tensor<2x3xf32>, tensor<2xf32>
    }}"""


def printed(text: str, *, generic: bool = False) -> str:
    """The module as `fuse-opt` prints it."""
    out = StringIO()
    FuseMLIRTarget(print_generic_format=generic).emit(context(), parse_mlir(text), out)
    return out.getvalue()


@pytest.mark.parametrize("flags", ["", "attributes {is_reverse = true, scan_dim_size = 3 : i64}"])
def test_both_forms_are_read_back(flags: str) -> None:
    once = printed(text(flags))
    assert f"chlo.scan(%x) inits (%c0) dimension=1 {flags}" in once
    assert printed(once) == once
    assert printed(printed(text(flags), generic=True)) == once
    verify_module(parse_mlir(once))


@pytest.mark.parametrize("is_reverse", [False, True])
def test_rows_are_gone_through_in_order(is_reverse: bool) -> None:
    x, carry = np.array([[0.5, 1, 2], [3, -1, 0.25]], np.float32), np.array([1, 0.5], np.float32)
    outputs = np.zeros_like(x)
    last = carry
    for row in reversed(range(3)) if is_reverse else range(3):
        outputs[:, row] = last * last
        last = outputs[:, row] + x[:, row]
    program = text("attributes {is_reverse = true}" if is_reverse else "")
    for found in (fd.run(fd.parse(program), x, carry), fd.compile(fd.parse(program), cache=False)(x, carry)):
        np.testing.assert_allclose(found[0], outputs, rtol=1e-6)
        np.testing.assert_allclose(found[1], last, rtol=1e-6)


_OPERANDS, _RESULTS = (f"{each}SegmentSizes = array<i32:" for each in ("operand", "result"))


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (text(dimension=2), "'dimension' to be an axis of a tensor with 2, got 2"),
        (text(body=BODY.replace("%a: tensor<2xf32>, ", "").replace("%a", "%c")), "to take 2 arguments, got 1"),
        (text(body=BODY.replace("return %s, ", "return ").replace("n : tensor<2xf32>, ", "n : ")), "return 2 values"),
        (
            printed(text(), generic=True).replace(f"{_RESULTS} 1, 1", f"{_RESULTS} 2, 0"),
            "a carry for each of 1 inits, got 0",
        ),
        (
            printed(text(), generic=True).replace(f"{_OPERANDS} 1, 1", f"{_OPERANDS} 1, 2"),
            "'operandSegmentSizes' to add up to 2",
        ),
    ],
    ids=["dimension", "arguments", "returned", "carries", "operands"],
)
def test_wrong_numbers_are_refused(program: str, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        verify_module(parse_mlir(program))


def test_too_few_results_have_a_place() -> None:
    with pytest.raises(fd.FuseError, match="expected a result for each of 3 inits, got 2"):
        parse_mlir(text(inits="%c0, %c0, %c0"))


def test_body_of_other_types_stays() -> None:
    program = text(body=BODY.replace("tensor<2xf32>", "tensor<?xf32>"))
    module = parse_mlir(program)
    with pytest.raises(OpError, match=r"'chlo\.scan' op has no equal"):
        ConvertStableHLOToFusePass(strict=True).apply(Context(), module)
