"""The `fuse` dialect: every op class of the family files, and `#fuse.pattern_kind`."""

from types import ModuleType

from xdsl.ir import Dialect

from fuse_dialect.dialect.attributes import PatternKindAttr
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops import (
    activation,
    blockwise,
    broadcast,
    comparison,
    concatenation,
    conversion,
    convolution,
    dynamic,
    elementwise,
    factorizations,
    fourier,
    indexing,
    layout,
    linear_algebra,
    linear_systems,
    matmul,
    normalization,
    opaque,
    pooling,
    quantization,
    reduction,
    replication,
    resizing,
    sampling,
    selection,
    sequences,
    trigonometry,
    tuples,
)
from fuse_dialect.dialect.ops.hardware import HARDWARE_OPS
from fuse_dialect.dialect.ops.regions import REGION_OPS

FAMILIES: tuple[ModuleType, ...] = (
    elementwise,
    trigonometry,
    activation,
    conversion,
    broadcast,
    comparison,
    replication,
    layout,
    concatenation,
    indexing,
    resizing,
    sampling,
    reduction,
    matmul,
    blockwise,
    linear_algebra,
    factorizations,
    linear_systems,
    fourier,
    convolution,
    pooling,
    normalization,
    tuples,
    opaque,
    sequences,
    selection,
    dynamic,
    quantization,
)
"""The op families, in the order of the reference pages."""


def ops_of(family: ModuleType) -> list[type[FuseOp]]:
    """The op classes that a family file defines, in the order of the file."""
    return [
        value
        for value in vars(family).values()
        if isinstance(value, type)
        and issubclass(value, FuseOp)
        and value.__module__ == family.__name__
        and "name" in vars(value)
    ]


ALL_OPS: tuple[type[FuseOp], ...] = tuple(op for family in FAMILIES for op in ops_of(family))
"""Every operator of the dialect."""

Fuse = Dialect("fuse", [*ALL_OPS, *REGION_OPS, *HARDWARE_OPS], [PatternKindAttr])
