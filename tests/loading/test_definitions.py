"""What is skipped for ops that are alike, and what never is."""

import pytest
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.frontends.mlir.reader import parse_mlir
from fuse_dialect.loading.verification import verify_module

FUNCTIONS = """
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
func.func @g(%x: tensor<2xf32>) -> tensor<1xf32> {
  %y = fuse.sum %x, keepdims = true : (tensor<2xf32>) -> tensor<1xf32>
  return %y : tensor<1xf32>
}
"""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "%a = call @f(%x) : (tensor<2xf32>) -> tensor<2xf32>\n%b = call @g(%x) : (tensor<2xf32>) -> tensor<2xf32>",
            "result type mismatch",
        ),
        (
            "%a = call @f(%x) : (tensor<2xf32>) -> tensor<2xf32>\n%b = call @h(%x) : (tensor<2xf32>) -> tensor<2xf32>",
            "could not be found in symbol table",
        ),
        (
            '%a = arith.constant 1 : i32\n%b = "arith.constant"() <{value = 1 : i64}> : () -> i32',
            "attribute i32 expected from variable",
        ),
        (
            "%a = call @f(%x) : (tensor<2xf32>) -> tensor<2xf32>\n"
            '%b = "func.call"(%x) <{callee = @f::@f}> : (tensor<2xf32>) -> tensor<2xf32>',
            "@f",
        ),
    ],
    ids=["another callee", "missing callee", "shared variable", "another property"],
)
def test_an_op_like_one_that_passed_is_still_checked(body: str, message: str) -> None:
    text = f"{FUNCTIONS}\nfunc.func @main(%x: tensor<2xf32>, %i: i32) {{\n{body}\n  return\n}}"
    with pytest.raises(VerifyException, match=message):
        verify_module(parse_mlir(text))


def test_valid_ops_pass() -> None:
    text = "\n".join(f"  %{i} = call @f(%x) : (tensor<2xf32>) -> tensor<2xf32>" for i in range(3))
    verify_module(parse_mlir(f"{FUNCTIONS}\nfunc.func @main(%x: tensor<2xf32>) {{\n{text}\n  return\n}}"))
