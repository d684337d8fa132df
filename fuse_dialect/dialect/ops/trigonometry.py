"""Circular and hyperbolic functions and their inverses: kind `elemwise`."""

from typing import ClassVar

import numpy as np
from xdsl.dialects import math
from xdsl.irdl import irdl_op_definition, traits_def

from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.ops.elementwise import FunctionOp
from fuse_dialect.pattern_kind import PatternKind


@irdl_op_definition
class SinOp(FunctionOp):
    """Sine of each element, in radians; nan for infinities.

    Shapes: any, unchanged.
    Types: floating point.
    Kind: elemwise.
    Cost: one operation an element.
    Source: `numpy.sin`, ONNX Sin, Relay `sin`, StableHLO `sine`.
    """

    name = "fuse.sin"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    FUNCTION: ClassVar = np.sin
    MATH: ClassVar = math.SinOp


@irdl_op_definition
class CosOp(FunctionOp):
    """Cosine of each element, in radians; nan for infinities.

    Shapes: any, unchanged.
    Types: floating point.
    Kind: elemwise.
    Cost: one operation an element.
    Source: `numpy.cos`, ONNX Cos, Relay `cos`, StableHLO `cosine`.
    """

    name = "fuse.cos"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    FUNCTION: ClassVar = np.cos
    MATH: ClassVar = math.CosOp


@irdl_op_definition
class TanOp(FunctionOp):
    """Tangent of each element, in radians; nan for infinities.

    Shapes: any, unchanged.
    Types: floating point.
    Kind: elemwise.
    Cost: one operation an element.
    Source: `numpy.tan`, ONNX Tan, Relay `tan`, StableHLO `tan`.
    """

    name = "fuse.tan"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    FUNCTION: ClassVar = np.tan
    MATH: ClassVar = math.TanOp


@irdl_op_definition
class AsinOp(FunctionOp):
    """The angle in [-pi/2, pi/2] whose sine is the element; nan outside [-1, 1].

    Shapes: any, unchanged.
    Types: floating point.
    Kind: elemwise.
    Cost: one operation an element.
    Source: `numpy.arcsin`, ONNX Asin, Relay `asin`, CHLO `asin`.
    """

    name = "fuse.asin"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    FUNCTION: ClassVar = np.arcsin
    MATH: ClassVar = math.AsinOp


@irdl_op_definition
class AcosOp(FunctionOp):
    """The angle in [0, pi] whose cosine is the element; nan outside [-1, 1].

    Shapes: any, unchanged.
    Types: floating point.
    Kind: elemwise.
    Cost: one operation an element.
    Source: `numpy.arccos`, ONNX Acos, Relay `acos`, CHLO `acos`.
    """

    name = "fuse.acos"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    FUNCTION: ClassVar = np.arccos
    MATH: ClassVar = math.AcosOp


@irdl_op_definition
class AtanOp(FunctionOp):
    """The angle in [-pi/2, pi/2] whose tangent is the element.

    Shapes: any, unchanged.
    Types: floating point.
    Kind: elemwise.
    Cost: one operation an element.
    Source: `numpy.arctan`, ONNX Atan, Relay `atan`, CHLO `atan`.
    """

    name = "fuse.atan"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    FUNCTION: ClassVar = np.arctan
    MATH: ClassVar = math.AtanOp


@irdl_op_definition
class SinhOp(FunctionOp):
    """Hyperbolic sine of each element.

    Shapes: any, unchanged.
    Types: floating point.
    Kind: elemwise.
    Cost: one operation an element.
    Source: `numpy.sinh`, ONNX Sinh, Relay `sinh`, CHLO `sinh`.
    """

    name = "fuse.sinh"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    FUNCTION: ClassVar = np.sinh
    MATH: ClassVar = math.SinhOp


@irdl_op_definition
class CoshOp(FunctionOp):
    """Hyperbolic cosine of each element.

    Shapes: any, unchanged.
    Types: floating point.
    Kind: elemwise.
    Cost: one operation an element.
    Source: `numpy.cosh`, ONNX Cosh, Relay `cosh`, CHLO `cosh`.
    """

    name = "fuse.cosh"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    FUNCTION: ClassVar = np.cosh
    MATH: ClassVar = math.CoshOp


@irdl_op_definition
class TanhOp(FunctionOp):
    """Hyperbolic tangent of each element.

    Shapes: any, unchanged.
    Types: floating point.
    Kind: elemwise.
    Cost: one operation an element.
    Source: `numpy.tanh`, ONNX Tanh, Relay `tanh`, StableHLO `tanh`.
    """

    name = "fuse.tanh"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    FUNCTION: ClassVar = np.tanh
    MATH: ClassVar = math.TanhOp


@irdl_op_definition
class AsinhOp(FunctionOp):
    """The number whose hyperbolic sine is the element.

    Shapes: any, unchanged.
    Types: floating point.
    Kind: elemwise.
    Cost: one operation an element.
    Source: `numpy.arcsinh`, ONNX Asinh, Relay `asinh`, CHLO `asinh`.
    """

    name = "fuse.asinh"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    FUNCTION: ClassVar = np.arcsinh
    MATH: ClassVar = math.AsinhOp


@irdl_op_definition
class AcoshOp(FunctionOp):
    """The number that is not negative whose hyperbolic cosine is the element; nan below 1.

    Shapes: any, unchanged.
    Types: floating point.
    Kind: elemwise.
    Cost: one operation an element.
    Source: `numpy.arccosh`, ONNX Acosh, Relay `acosh`, CHLO `acosh`.
    """

    name = "fuse.acosh"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    FUNCTION: ClassVar = np.arccosh
    MATH: ClassVar = math.AcoshOp


@irdl_op_definition
class AtanhOp(FunctionOp):
    """The number whose hyperbolic tangent is the element; infinite at -1 and 1, nan beyond.

    Shapes: any, unchanged.
    Types: floating point.
    Kind: elemwise.
    Cost: one operation an element.
    Source: `numpy.arctanh`, ONNX Atanh, Relay `atanh`, CHLO `atanh`.
    """

    name = "fuse.atanh"
    traits = traits_def(OpPatternKind(PatternKind.ELEMWISE))
    FUNCTION: ClassVar = np.arctanh
    MATH: ClassVar = math.AtanhOp
