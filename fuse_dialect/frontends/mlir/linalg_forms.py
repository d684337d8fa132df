"""What the named ops of MLIR's linalg dialect compute, as a table. Pure data.

A *form* says for each operand which loops its axes run along: `matmul` reads `m k` and `k n`, and adds up `m n` over
`k`. An axis of a window is `s*y+d*q`: a loop of the result times a stride, plus a loop of the window times a dilation.

Source: MLIR, mlir/include/mlir/Dialect/Linalg/IR/LinalgNamedStructuredOps.yaml (LLVM 19 to 24).
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Form:
    """What a named op computes."""

    inputs: tuple[str, ...]
    """For each input its axes: names of loops, or sums of loops times strides (`s`) and dilations (`d`)."""
    parallel: str
    """The axes of the result: names of loops."""
    reduced: str
    """The other loops, in the order of the op's iterators."""
    combination: str = "product"
    """`product` adds up products; `sum`, `max`, `min`, `max_unsigned` and `min_unsigned` combine the elements of the
    first input, and the second one is there for the size of the window."""

    @property
    def window_rank(self) -> int:
        """Number of strides and dilations; 0 if the op has none."""
        return sum("s*" in axis for axis in self.inputs[0].split())


def _pooling() -> dict[str, Form]:
    layouts = {
        "ncw": ("n c s*x+d*r", "r", "n c x", "max sum"),
        "nwc": ("n s*x+d*r c", "r", "n x c", "max max_unsigned min min_unsigned sum"),
        "nchw": ("n c s*y+d*q s*x+d*r", "q r", "n c y x", "max sum"),
        "nhwc": ("n s*y+d*q s*x+d*r c", "q r", "n y x c", "max max_unsigned min min_unsigned sum"),
        "ndhwc": ("n s*z+d*p s*y+d*q s*x+d*r c", "p q r", "n z y x c", "max min sum"),
    }
    return {
        f"pooling_{layout}_{name}": Form((data, window), result, window, name)
        for layout, (data, window, result, names) in layouts.items()
        for name in names.split()
    }


FORMS: Mapping[str, Form] = {
    "matmul": Form(("m k", "k n"), "m n", "k"),
    "batch_matmul": Form(("b m k", "b k n"), "b m n", "k"),
    "batch_reduce_matmul": Form(("b m k", "b k n"), "m n", "b k"),
    "matvec": Form(("m n", "n"), "m", "n"),
    "vecmat": Form(("m", "m n"), "n", "m"),
    "batch_matvec": Form(("b m k", "b k"), "b m", "k"),
    "batch_vecmat": Form(("b k", "b k n"), "b n", "k"),
    "dot": Form(("m", "m"), "", "m"),
    "matmul_transpose_a": Form(("k m", "k n"), "m n", "k"),
    "matmul_transpose_b": Form(("m k", "n k"), "m n", "k"),
    "batch_matmul_transpose_a": Form(("b k m", "b k n"), "b m n", "k"),
    "batch_matmul_transpose_b": Form(("b m k", "b n k"), "b m n", "k"),
    "mmt4d": Form(("m k u w", "n k v w"), "m n u v", "k w"),
    "batch_mmt4d": Form(("b m k u w", "b n k v w"), "b m n u v", "k w"),
    "conv_1d": Form(("x+r", "r"), "x", "r"),
    "conv_2d": Form(("y+q x+r", "q r"), "y x", "q r"),
    "conv_3d": Form(("z+p y+q x+r", "p q r"), "z y x", "p q r"),
    "conv_1d_ncw_fcw": Form(("n c s*x+d*r", "f c r"), "n f x", "c r"),
    "conv_1d_nwc_wcf": Form(("n s*x+d*r c", "r c f"), "n x f", "r c"),
    "conv_2d_nchw_fchw": Form(("n c s*y+d*q s*x+d*r", "f c q r"), "n f y x", "c q r"),
    "conv_2d_nhwc_hwcf": Form(("n s*y+d*q s*x+d*r c", "q r c f"), "n y x f", "q r c"),
    "conv_2d_nhwc_fhwc": Form(("n s*y+d*q s*x+d*r c", "f q r c"), "n y x f", "q r c"),
    "conv_2d_ngchw_gfchw": Form(("n g c s*y+d*q s*x+d*r", "g f c q r"), "n g f y x", "c q r"),
    "conv_2d_ngchw_fgchw": Form(("n g c s*y+d*q s*x+d*r", "f g c q r"), "n g f y x", "c q r"),
    "conv_2d_nhwgc_gfhwc": Form(("n s*y+d*q s*x+d*r g c", "g f q r c"), "n y x g f", "q r c"),
    "conv_3d_ncdhw_fcdhw": Form(("n c s*z+d*p s*y+d*q s*x+d*r", "f c p q r"), "n f z y x", "c p q r"),
    "conv_3d_ndhwc_dhwcf": Form(("n s*z+d*p s*y+d*q s*x+d*r c", "p q r c f"), "n z y x f", "p q r c"),
    "depthwise_conv_1d_ncw_cw": Form(("n c s*x+d*r", "c r"), "n c x", "r"),
    "depthwise_conv_1d_nwc_wc": Form(("n s*x+d*r c", "r c"), "n x c", "r"),
    "depthwise_conv_1d_nwc_wcm": Form(("n s*x+d*r c", "r c m"), "n x c m", "r"),
    "depthwise_conv_2d_nchw_chw": Form(("n c s*y+d*q s*x+d*r", "c q r"), "n c y x", "q r"),
    "depthwise_conv_2d_nhwc_hwc": Form(("n s*y+d*q s*x+d*r c", "q r c"), "n y x c", "q r"),
    "depthwise_conv_2d_nhwc_hwcm": Form(("n s*y+d*q s*x+d*r c", "q r c m"), "n y x c m", "q r"),
    "depthwise_conv_3d_ncdhw_cdhw": Form(("n c s*z+d*p s*y+d*q s*x+d*r", "c p q r"), "n c z y x", "p q r"),
    "depthwise_conv_3d_ndhwc_dhwc": Form(("n s*z+d*p s*y+d*q s*x+d*r c", "p q r c"), "n z y x c", "p q r"),
    "depthwise_conv_3d_ndhwc_dhwcm": Form(("n s*z+d*p s*y+d*q s*x+d*r c", "p q r c m"), "n z y x c m", "p q r"),
    **_pooling(),
}
"""Products and windows by the op's name without its dialect."""

FUNCTIONS: Mapping[str, tuple[str, str]] = {
    "abs": ("math.absf", ""),
    "ceil": ("math.ceil", ""),
    "copy": ("", ""),
    "erf": ("math.erf", ""),
    "exp": ("math.exp", ""),
    "floor": ("math.floor", ""),
    "log": ("math.log", ""),
    "negf": ("arith.negf", ""),
    "reciprocal": ("", ""),
    "round": ("math.round", ""),
    "rsqrt": ("math.rsqrt", ""),
    "sqrt": ("math.sqrt", ""),
    "square": ("", ""),
    "tanh": ("math.tanh", ""),
    "add": ("arith.addf", "arith.addi"),
    "div": ("arith.divf", "arith.divsi"),
    "div_unsigned": ("", "arith.divui"),
    "max": ("arith.maximumf", "arith.maxsi"),
    "max_unsigned": ("", "arith.maxui"),
    "min": ("arith.minimumf", "arith.minsi"),
    "min_unsigned": ("", "arith.minui"),
    "mul": ("arith.mulf", "arith.muli"),
    "powf": ("math.powf", ""),
    "select": ("arith.select", "arith.select"),
    "sub": ("arith.subf", "arith.subi"),
}
"""Element by element: the scalar function for floats and the one for integers; empty where none says it alone."""


_TWO = frozenset(["add", "div", "div_unsigned", "max", "max_unsigned", "min", "min_unsigned", "mul", "powf", "sub"])


def input_count(name: str) -> int:
    """How many inputs a named op has; each has one output."""
    if name == "contract" or name in FORMS:
        return 2
    return 3 if name == "select" else 2 if name in _TWO else 1
