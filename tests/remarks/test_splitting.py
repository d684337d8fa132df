"""Stories and remarks say by which identity the reductions of a kernel are one pass, or what is in the way."""

import pytest

import fuse_dialect as fd

X, ROW, VALUES, RESULT = "tensor<4x?xf32>", "tensor<4x1xf32>", "tensor<?x8xf32>", "tensor<4x8xf32>"
ALONG, KEPT = f"({X}) -> {ROW}", "axes = [1], keepdims = true"
SOFTMAX = [f"%p = fuse.softmax %x : {X}", f"%y = fuse.matmul %p, %v : ({X}, {VALUES}) -> {RESULT}"]
DEVIATIONS = [f"%m = fuse.mean %x, {KEPT} : {ALONG}", f"%d = fuse.subtract %x, %m : ({X}, {ROW}) -> {X}"]


def story(lines: list[str], value: str, type: str, about: str) -> str:
    text = "\n".join([f"func.func @main(%x: {X}, %v: {VALUES}) -> {type} {{", *lines, f"return {value} : {type}", "}"])
    return fd.plan_fusion(fd.parse(text), strategy="cost", machine="cpu-avx512").explain(about)


@pytest.mark.parametrize(
    ("lines", "value", "type", "about", "told"),
    [
        (SOFTMAX, "%y", RESULT, "%p", "  the sum splits: exp(x - max) = exp(x) / exp(max)"),
        (
            [*DEVIATIONS, f"%q = fuse.multiply %d, %d : {X}", f"%s = fuse.sum %q, {KEPT} : {ALONG}"],
            "%s",
            ROW,
            "%s",
            "  the sum splits, with two beside it: sum (x - mean)^2 = sum x^2 - 2 mean sum x + mean^2 n",
        ),
        (
            [*DEVIATIONS, f"%s = fuse.max %d, {KEPT} : {ALONG}"],
            "%s",
            ROW,
            "%s",
            "  the max splits: max(x - mean) = max(x) - mean",
        ),
        (
            [*DEVIATIONS, f"%q = fuse.tanh %d : {X}", f"%s = fuse.sum %q, {KEPT} : {ALONG}"],
            "%s",
            ROW,
            "%s",
            "does not distribute over what 'math.tanh' does with a total",
        ),
    ],
    ids=["softmax", "deviations", "maximum", "tanh"],
)
def test_the_identity_is_told(lines: list[str], value: str, type: str, about: str, told: str) -> None:
    assert told in story(lines, value, type, about)


def test_a_kernel_of_one_reduction_tells_nothing() -> None:
    assert "splits" not in story([f"%s = fuse.sum %x, {KEPT} : {ALONG}"], "%s", ROW, "%s")
