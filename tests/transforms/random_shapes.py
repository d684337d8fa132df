"""Random programs that compute shapes while they run, and are right for every size of their arguments."""

import numpy as np
from hypothesis import strategies as st
from xdsl.builder import ImplicitBuilder
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr, f32
from xdsl.ir import Block, Region

from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.ops.broadcast import AddOp, DivideOp, MultiplyOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp
from fuse_dialect.dialect.ops.conversion import CastOp
from fuse_dialect.dialect.ops.dynamic import (
    DynArangeOp,
    DynBroadcastToOp,
    DynFullOp,
    DynPadOp,
    DynReshapeOp,
    DynStridedSliceOp,
    DynTileOp,
    ShapeOfOp,
)
from fuse_dialect.dialect.ops.elementwise import NegativeOp
from fuse_dialect.dialect.ops.indexing import StridedSliceOp, TakeOp
from fuse_dialect.dialect.ops.layout import SqueezeOp
from fuse_dialect.dialect.ops.reduction import ProdOp, SumOp
from fuse_dialect.dialect.ops.replication import ExpandDimsOp
from fuse_dialect.dialect.types import DYNAMIC, tensor, tensor_type, with_element

NAMES = ("b", "s")
ARGUMENTS = ((("b", "s", ""), (DYNAMIC, DYNAMIC, 2)), (("s", "b"), (DYNAMIC, DYNAMIC)), (("", "s"), (1, DYNAMIC)))
"""Names and sizes of the arguments."""


def _i64(*values):
    return constant(np.array(values, np.int64)).result


def _rank(value):
    return tensor_type(value).get_num_dims()


class Shapes:
    """Builds one program by drawing what to do next."""

    def __init__(self, draw):
        self.draw = draw
        block = Block(arg_types=[tensor(shape, f32) for _, shape in ARGUMENTS])
        self.values = list(block.args)
        self.sizes = []
        with ImplicitBuilder(block):
            self.sizes.append(self.size())
            for _ in range(draw(st.integers(1, 8))):
                draw(st.sampled_from([self.more_sizes, self.more_values]))()
            results = self.values[-2:]
            func.ReturnOp(*results)
        types = FunctionType.from_lists(list(block.arg_types), [value.type for value in results])
        names = [ArrayAttr([StringAttr(name) for name in own]) for own, _ in ARGUMENTS]
        attributes = ArrayAttr([DictionaryAttr({"fuse.sizes": own}) for own in names])
        self.module = ModuleOp([func.FuncOp("main", types, Region(block), arg_attrs=attributes)])

    def value(self, least_rank=1):
        known = [value for value in self.values if least_rank <= _rank(value) <= 4]
        return self.draw(st.sampled_from(known))

    def size(self):
        """An extent as `tensor<1xi64>`, read in one of three ways."""
        value = self.value()
        axis = self.draw(st.integers(0, _rank(value) - 1))
        shape = ShapeOfOp(value).result
        match self.draw(st.integers(0, 2)):
            case 0:
                return StridedSliceOp(shape, begin=[axis], end=[axis + 1]).result
            case 1:
                return TakeOp(shape, _i64(axis), axis=0).result
            case _:
                scalar = TakeOp(shape, constant(np.array(axis)).result, axis=0).result
                return ExpandDimsOp(scalar, axis=0).result

    def more_sizes(self):
        size = self.size()
        match self.draw(st.integers(0, 3)):
            case 0:
                size = AddOp(size, _i64(self.draw(st.integers(0, 2)))).result
            case 1:
                size = DivideOp(size, _i64(2)).result
            case 2:
                size = DivideOp(AddOp(size, self.draw(st.sampled_from(self.sizes))).result, _i64(2)).result
            case _:
                pass
        self.sizes.append(size)

    def more_values(self):
        steps = [self.flattened, self.merged, self.repeated, self.filled, self.sliced, self.padded, self.tiled]
        steps += [self.counted, self.negative, self.summed, self.joined]
        self.values.append(self.draw(st.sampled_from(steps))())

    def any_size(self):
        return self.draw(st.sampled_from(self.sizes))

    def flattened(self):
        value = self.value()
        count = ProdOp(ShapeOfOp(value).result, axes=[0], keepdims=True).result
        return DynReshapeOp(value, self.draw(st.sampled_from([count, _i64(-1)])), allowzero=True).result

    def merged(self):
        """The first two axes made one; the others are read, or kept by a -1 for the first."""
        value = self.value(2)
        shape = ShapeOfOp(value).result
        first = ProdOp(StridedSliceOp(shape, begin=[0], end=[2]).result, axes=[0], keepdims=True).result
        rest = StridedSliceOp(shape, begin=[2], end=[9]).result
        return DynReshapeOp(value, ConcatenateOp(first, rest, axis=0).result, allowzero=True).result

    def repeated(self):
        value = self.value()
        shape = ShapeOfOp(value).result
        shape = self.draw(st.sampled_from([shape, _i64(*[1] * _rank(value))]))
        return DynBroadcastToOp(value, ConcatenateOp(self.any_size(), shape, axis=0).result).result

    def filled(self):
        sizes = [self.any_size() for _ in range(self.draw(st.integers(1, 3)))]
        shape = ConcatenateOp(*sizes, axis=0).result if len(sizes) > 1 else sizes[0]
        return DynFullOp(constant(np.array(1.5, np.float32)).result, shape).result

    def sliced(self):
        value, step = self.value(), self.draw(st.sampled_from([1, 2, -1]))
        bounds = (_i64(0), self.any_size()) if step > 0 else (self.any_size(), _i64(0))
        axis = self.draw(st.integers(0, _rank(value) - 1))
        return DynStridedSliceOp(value, *bounds, _i64(step), axes=[axis]).result

    def padded(self):
        value = self.value()
        zeros = [_i64(0)] * (_rank(value) - 1)
        low = ConcatenateOp(self.any_size(), *zeros, axis=0).result if zeros else self.any_size()
        return DynPadOp(value, constant(np.array(0.5, np.float32)).result, low, _i64(*[1] * _rank(value))).result

    def tiled(self):
        return DynTileOp(self.value(), self.any_size()).result

    def counted(self):
        stop = SqueezeOp(self.any_size(), axes=[0]).result
        numbers = DynArangeOp(constant(np.array(0)).result, stop, constant(np.array(1)).result).result
        return CastOp(numbers, result_types=[with_element(tensor_type(numbers), f32)]).result

    def negative(self):
        value = self.value()
        return NegativeOp(MultiplyOp(value, value).result).result

    def joined(self):
        """A value behind itself."""
        value = self.value()
        axis = self.draw(st.integers(0, _rank(value) - 1))
        return ConcatenateOp(*[value] * self.draw(st.integers(2, 3)), axis=axis).result

    def summed(self):
        return SumOp(self.value(), axes=[0], keepdims=True).result


@st.composite
def shape_programs(draw):
    """Modules with a function `main` of the arguments `ARGUMENTS`."""
    return Shapes(draw).module


def arguments(sizes, seed=0):
    """Arrays for the function, with these sizes by name."""
    random = np.random.default_rng(seed)
    shapes = [[sizes.get(name, dim) for name, dim in zip(names, dims, strict=True)] for names, dims in ARGUMENTS]
    return [random.integers(-4, 5, shape).astype(np.float32) for shape in shapes]
