"""Norms, softmaxes and activations written out in primitive ops, and the single op where there is one."""

from typing import NamedTuple


class WrittenOut(NamedTuple):
    """A function in two forms."""

    arguments: str
    result: str
    body: str
    """Primitive ops; the last value is `%y`."""
    single: str = ""
    """One op, if there is one."""

    def text(self, *, is_single: bool = False) -> str:
        """The module."""
        body = self.single if is_single else self.body
        lines = "\n".join(f"  {line.strip()}" for line in body.strip().splitlines())
        result = f"tensor<{self.result}>"
        return f"func.func @main({self.arguments}) -> {result} {{\n{lines}\n  return %y : {result}\n}}\n"


_ROWS = "%x: tensor<512x768xf32>"
_SCALED = f"{_ROWS}, %g: tensor<768xf32>, %b: tensor<768xf32>"

WRITTEN_OUT = {
    "softmax": WrittenOut(
        _ROWS,
        "512x768xf32",
        """
        %m = fuse.max %x, axes = [1], keepdims = true : (tensor<512x768xf32>) -> tensor<512x1xf32>
        %d = fuse.subtract %x, %m : (tensor<512x768xf32>, tensor<512x1xf32>) -> tensor<512x768xf32>
        %e = fuse.exp %d : tensor<512x768xf32>
        %s = fuse.sum %e, axes = [1], keepdims = true : (tensor<512x768xf32>) -> tensor<512x1xf32>
        %y = fuse.divide %e, %s : (tensor<512x768xf32>, tensor<512x1xf32>) -> tensor<512x768xf32>
        """,
        "%y = fuse.softmax %x : tensor<512x768xf32>",
    ),
    "log-softmax": WrittenOut(
        _ROWS,
        "512x768xf32",
        """
        %m = fuse.max %x, axes = [1], keepdims = true : (tensor<512x768xf32>) -> tensor<512x1xf32>
        %d = fuse.subtract %x, %m : (tensor<512x768xf32>, tensor<512x1xf32>) -> tensor<512x768xf32>
        %e = fuse.exp %d : tensor<512x768xf32>
        %s = fuse.sum %e, axes = [1], keepdims = true : (tensor<512x768xf32>) -> tensor<512x1xf32>
        %l = fuse.log %s : tensor<512x1xf32>
        %y = fuse.subtract %d, %l : (tensor<512x768xf32>, tensor<512x1xf32>) -> tensor<512x768xf32>
        """,
        "%y = fuse.log_softmax %x : tensor<512x768xf32>",
    ),
    "layer norm": WrittenOut(
        _SCALED,
        "512x768xf32",
        """
        %m = fuse.mean %x, axes = [1], keepdims = true : (tensor<512x768xf32>) -> tensor<512x1xf32>
        %d = fuse.subtract %x, %m : (tensor<512x768xf32>, tensor<512x1xf32>) -> tensor<512x768xf32>
        %q = fuse.multiply %d, %d : tensor<512x768xf32>
        %v = fuse.mean %q, axes = [1], keepdims = true : (tensor<512x768xf32>) -> tensor<512x1xf32>
        %e = arith.constant dense<1.0e-05> : tensor<f32>
        %w = fuse.add %v, %e : (tensor<512x1xf32>, tensor<f32>) -> tensor<512x1xf32>
        %r = fuse.rsqrt %w : tensor<512x1xf32>
        %n = fuse.multiply %d, %r : (tensor<512x768xf32>, tensor<512x1xf32>) -> tensor<512x768xf32>
        %s = fuse.multiply %n, %g : (tensor<512x768xf32>, tensor<768xf32>) -> tensor<512x768xf32>
        %y = fuse.add %s, %b : (tensor<512x768xf32>, tensor<768xf32>) -> tensor<512x768xf32>
        """,
        "%y = fuse.layer_norm %x, %g, %b : "
        "(tensor<512x768xf32>, tensor<768xf32>, tensor<768xf32>) -> tensor<512x768xf32>",
    ),
    "RMS norm": WrittenOut(
        f"{_ROWS}, %g: tensor<768xf32>",
        "512x768xf32",
        """
        %q = fuse.multiply %x, %x : tensor<512x768xf32>
        %v = fuse.mean %q, axes = [1], keepdims = true : (tensor<512x768xf32>) -> tensor<512x1xf32>
        %e = arith.constant dense<1.0e-06> : tensor<f32>
        %w = fuse.add %v, %e : (tensor<512x1xf32>, tensor<f32>) -> tensor<512x1xf32>
        %r = fuse.rsqrt %w : tensor<512x1xf32>
        %n = fuse.multiply %x, %r : (tensor<512x768xf32>, tensor<512x1xf32>) -> tensor<512x768xf32>
        %y = fuse.multiply %n, %g : (tensor<512x768xf32>, tensor<768xf32>) -> tensor<512x768xf32>
        """,
    ),
    "group norm": WrittenOut(
        "%x: tensor<8x64x16x16xf32>, %g: tensor<64xf32>, %b: tensor<64xf32>",
        "8x64x16x16xf32",
        """
        %t = fuse.reshape %x : (tensor<8x64x16x16xf32>) -> tensor<8x8x2048xf32>
        %m = fuse.mean %t, axes = [2], keepdims = true : (tensor<8x8x2048xf32>) -> tensor<8x8x1xf32>
        %d = fuse.subtract %t, %m : (tensor<8x8x2048xf32>, tensor<8x8x1xf32>) -> tensor<8x8x2048xf32>
        %q = fuse.multiply %d, %d : tensor<8x8x2048xf32>
        %v = fuse.mean %q, axes = [2], keepdims = true : (tensor<8x8x2048xf32>) -> tensor<8x8x1xf32>
        %e = arith.constant dense<1.0e-05> : tensor<f32>
        %w = fuse.add %v, %e : (tensor<8x8x1xf32>, tensor<f32>) -> tensor<8x8x1xf32>
        %r = fuse.rsqrt %w : tensor<8x8x1xf32>
        %n = fuse.multiply %d, %r : (tensor<8x8x2048xf32>, tensor<8x8x1xf32>) -> tensor<8x8x2048xf32>
        %i = fuse.reshape %n : (tensor<8x8x2048xf32>) -> tensor<8x64x16x16xf32>
        %h = fuse.reshape %g : (tensor<64xf32>) -> tensor<64x1x1xf32>
        %c = fuse.reshape %b : (tensor<64xf32>) -> tensor<64x1x1xf32>
        %s = fuse.multiply %i, %h : (tensor<8x64x16x16xf32>, tensor<64x1x1xf32>) -> tensor<8x64x16x16xf32>
        %y = fuse.add %s, %c : (tensor<8x64x16x16xf32>, tensor<64x1x1xf32>) -> tensor<8x64x16x16xf32>
        """,
        "%y = fuse.group_norm %x, %g, %b, num_groups = 8 : "
        "(tensor<8x64x16x16xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<8x64x16x16xf32>",
    ),
    "gelu": WrittenOut(
        _ROWS,
        "512x768xf32",
        """
        %c = arith.constant dense<0.70710677> : tensor<f32>
        %h = arith.constant dense<0.5> : tensor<f32>
        %o = arith.constant dense<1.0> : tensor<f32>
        %u = fuse.multiply %x, %c : (tensor<512x768xf32>, tensor<f32>) -> tensor<512x768xf32>
        %f = fuse.erf %u : tensor<512x768xf32>
        %p = fuse.add %f, %o : (tensor<512x768xf32>, tensor<f32>) -> tensor<512x768xf32>
        %q = fuse.multiply %x, %p : tensor<512x768xf32>
        %y = fuse.multiply %q, %h : (tensor<512x768xf32>, tensor<f32>) -> tensor<512x768xf32>
        """,
        "%y = fuse.gelu %x : tensor<512x768xf32>",
    ),
    "SwiGLU's gate": WrittenOut(
        f"{_ROWS}, %u: tensor<512x768xf32>",
        "512x768xf32",
        """
        %s = fuse.sigmoid %x : tensor<512x768xf32>
        %t = fuse.multiply %x, %s : tensor<512x768xf32>
        %y = fuse.multiply %t, %u : tensor<512x768xf32>
        """,
    ),
}
