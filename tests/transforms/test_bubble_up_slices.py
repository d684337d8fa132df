"""Parts that are read: random programs mean the same, and what is computed is as little as the rules promise."""

from random import Random

import numpy as np
import pytest
from fuzzing.comparing import assert_agrees
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.ir import Block, Operation, Region, SSAValue

import fuse_dialect as fd
from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.ops.broadcast import AddOp, BiasAddOp, WhereOp
from fuse_dialect.dialect.ops.comparison import LessOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp
from fuse_dialect.dialect.ops.elementwise import NegativeOp
from fuse_dialect.dialect.ops.indexing import PadOp, StridedSliceOp, TakeOp
from fuse_dialect.dialect.ops.layout import ReshapeOp, ReverseOp, TransposeOp
from fuse_dialect.dialect.ops.matmul import BatchMatmulOp, DenseOp
from fuse_dialect.dialect.ops.reduction import MaxOp, SumOp
from fuse_dialect.dialect.types import tensor_type
from fuse_dialect.transforms.bubble_up_slices import BubbleUpSlicesPass


def shape(value: SSAValue) -> tuple[int, ...]:
    """Its sizes."""
    return tuple(tensor_type(value).get_shape())


class Program:
    """A program in the making; all numbers are small integers, so that no order of sums matters."""

    def __init__(self, random: Random):
        self.random = random
        self.block = Block(arg_types=[TensorType(f32, [2, 6, 4]), TensorType(f32, [2, 6, 4]), TensorType(f32, [4])])
        self.values: list[SSAValue] = [*self.block.args]

    def add(self, op: Operation) -> SSAValue:
        """Put an op at the end."""
        self.block.add_op(op)
        self.values.append(op.results[0])
        return op.results[0]

    def pick(self, least: int = 1) -> SSAValue:
        """A late value of so many axes."""
        found = [
            value for value in self.values if len(shape(value)) >= least and tensor_type(value).element_type == f32
        ]
        return self.random.choice(found[-4:])

    def like(self, value: SSAValue) -> SSAValue:
        """A value that broadcasts with another one."""
        found = [
            other
            for other in self.values
            if tensor_type(other).element_type == f32
            and len(shape(other)) <= len(shape(value))
            and all(a in (1, b) for a, b in zip(shape(other)[::-1], shape(value)[::-1], strict=False))
        ]
        return self.random.choice(found)

    def numbers(self, *sizes: int) -> SSAValue:
        """A constant."""
        array = np.array([self.random.randrange(-2, 3) for _ in range(int(np.prod(sizes)))], np.float32)
        return self.add(constant(array.reshape(sizes)))

    def step(self) -> None:
        """Add an op, or a few."""
        random, x = self.random, self.pick()
        sizes = shape(x)
        axis = random.randrange(len(sizes))
        match random.randrange(15):
            case 0:
                self.add(AddOp(x, self.like(x)))
            case 1:
                self.add(NegativeOp(x))
            case 2:
                self.add(TransposeOp(x, permutation=random.sample(range(len(sizes)), len(sizes))))
            case 3:
                self.add(ReverseOp(x, axes=[axis]))
            case 4:
                others = [self.like(x) for _ in range(2)]
                same = [each for each in others if shape(each) == sizes]
                self.add(ConcatenateOp(x, *same, axis=axis))
            case 5:
                low = [random.randrange(2) * (place == axis) for place in range(len(sizes))]
                nothing = self.add(constant(np.zeros((), np.float32)))
                self.add(PadOp(x, nothing, low=low, high=low[::-1]))
            case 6:
                self.add(SumOp(x, axes=[axis], keepdims=random.random() < 0.5)) if len(sizes) > 1 else None
            case 7:
                self.add(MaxOp(x, axes=[axis], keepdims=True))
            case 8:
                self.add(DenseOp(x, self.numbers(random.choice((2, 5)), sizes[-1])))
            case 9 if len(sizes) == 3:
                transposed = [random.random() < 0.5 for _ in range(2)]
                inner = sizes[1 if transposed[0] else 2]
                other = [random.choice((1, sizes[0])), *((3, inner) if transposed[1] else (inner, 3))]
                self.add(BatchMatmulOp(x, self.numbers(*other), transpose_a=transposed[0], transpose_b=transposed[1]))
            case 10:
                count = int(np.prod(sizes))
                parts = [each for each in (2, 3, 4) if count % each == 0] or [1]
                part = random.choice(parts)
                target = random.choice(([part, count // part], [1, count], [count // part, 1, part]))
                self.add(ReshapeOp(x, result_types=[TensorType(f32, target)]))
            case 11:
                self.slice(x)
            case 12 if sizes[axis] > 1:
                places = random.sample(range(-sizes[axis], sizes[axis]), 2)
                index = self.add(constant(np.array(random.choice((places[0], places, [0, 1])), np.int64)))
                self.add(TakeOp(x, index, axis=axis))
            case 13 if len(sizes) > 1:
                self.add(BiasAddOp(x, self.numbers(sizes[axis]), axis=axis))
            case 14:
                other = self.like(x)
                self.add(WhereOp(self.add(LessOp(x, other)), other, x))
            case _:
                pass

    def slice(self, x: SSAValue) -> None:
        """Take a part of a value."""
        random, sizes = self.random, shape(x)
        axes = random.sample(range(len(sizes)), random.randint(1, len(sizes)))
        begin = [random.randrange(sizes[axis]) for axis in axes]
        end = [min(sizes[axis], first + random.randint(1, 2)) for axis, first in zip(axes, begin, strict=True)]
        steps = [1] * len(axes)
        if random.random() < 0.3:
            end[0] = sizes[axes[0]]
            steps[0] = random.choice((2, 3))
        elif random.random() < 0.2:
            begin[0], end[0], steps[0] = sizes[axes[0]] - 1, -sizes[axes[0]] - 1, -random.choice((1, 2))
        self.add(StridedSliceOp(x, begin=begin, end=end, strides=steps, axes=axes))

    def module(self) -> ModuleOp:
        """The program, which returns parts of late values."""
        for _ in range(self.random.randint(3, 14)):
            self.step()
            if max(int(np.prod(shape(value))) for value in self.values) > 2000:
                break
        for _ in range(self.random.randint(1, 3)):
            self.slice(self.pick())
        returned = [value for value in self.values[-3:] if value.owner is not self.block]
        self.block.add_op(func.ReturnOp(*returned))
        types = [value.type for value in self.block.args], [value.type for value in returned]
        return ModuleOp([func.FuncOp("main", types, Region(self.block))])


@given(st.randoms(use_true_random=False))
@settings(max_examples=300)
def test_random_programs_give_the_same(random: Random) -> None:
    module = Program(random).module()
    module.verify()
    text = fd.text(module)
    rng = np.random.default_rng(0)
    inputs = [rng.integers(-3, 4, sizes).astype(np.float32) for sizes in ((2, 6, 4), (2, 6, 4), (4,))]
    wanted = fd.run(module, *inputs)
    BubbleUpSlicesPass().apply(Context(), module)
    module.verify()
    for got, want in zip(fd.run(module, *inputs), wanted, strict=True):
        np.testing.assert_array_equal(got, want, text)
    once = fd.text(module)
    BubbleUpSlicesPass().apply(Context(), module)
    for got, want in zip(fd.run(module, *inputs), wanted, strict=True):
        np.testing.assert_array_equal(got, want, once)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    ("op", "others", "result", "element"),
    [
        ("fuse.softmax %x, axis = 2", "", "3x6x4", "f32"),
        ("fuse.log_softmax %x, axis = 2", "", "3x6x4", "f32"),
        ("fuse.layer_norm %x, %v, %v, axis = 2", ", tensor<4xf32>, tensor<4xf32>", "3x6x4", "f32"),
        ("fuse.argmax %x, axes = [2], keepdims = true", "", "3x6x1", "i64"),
        ("fuse.mean %x, axes = [2], keepdims = true", "", "3x6x1", "f32"),
    ],
)
def test_lines_that_nobody_reads_are_not_computed(op: str, others: str, result: str, element: str, axis: int) -> None:
    sizes = [int(size) for size in result.split("x")]
    cut = [1 if place == axis else size for place, size in enumerate(sizes)]
    part = f"tensor<{'x'.join(map(str, cut))}x{element}>"
    whole = f"tensor<{result}x{element}>"
    module = fd.parse(f"""func.func @main(%x: tensor<3x6x4xf32>, %v: tensor<4xf32>) -> {part} {{
  %0 = {op} : (tensor<3x6x4xf32>{others}) -> {whole}
  %1 = fuse.strided_slice %0, begin = [1], end = [2], axes = [{axis}] : ({whole}) -> {part}
  return %1 : {part}
}}""")
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal((3, 6, 4)).astype(np.float32), rng.standard_normal(4).astype(np.float32)]
    (wanted,) = fd.run(module, *inputs)
    BubbleUpSlicesPass().apply(Context(), module)
    module.verify()
    name = op.partition(" ")[0]
    (narrow,) = [each for each in module.walk() if each.name == name]
    assert str(narrow.results[0].type) == part
    np.testing.assert_allclose(fd.run(module, *inputs)[0], wanted, rtol=1e-6)


@pytest.mark.sums
@pytest.mark.parametrize("strategy", ["tvm", "cost"])
def test_compiled_programs_compute_the_part_that_is_read(strategy: str) -> None:
    module = fd.parse("""func.func @main(%x: tensor<2x16x32xf32>, %w: tensor<64x32xf32>) -> tensor<2x64xf32> {
  %0 = fuse.dense %x, %w : (tensor<2x16x32xf32>, tensor<64x32xf32>) -> tensor<2x16x64xf32>
  %1 = fuse.gelu %0 : tensor<2x16x64xf32>
  %i = arith.constant dense<-1> : tensor<i64>
  %2 = fuse.take %1, %i, axis = 1 : (tensor<2x16x64xf32>, tensor<i64>) -> tensor<2x64xf32>
  return %2 : tensor<2x64xf32>
}""")
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal(sizes).astype(np.float32) for sizes in ((2, 16, 32), (64, 32))]
    program = fd.compile(module, strategy=strategy, cache=False)
    assert "tensor<2x16x64xf32>" not in fd.text(program.module)
    assert_agrees(module, inputs, program(*inputs))


def test_all_of_an_axis_is_taken_without_a_slice() -> None:
    """The slice would be a kernel of its own between a product and who reads it."""
    module = fd.parse("""func.func @main(%x: tensor<4x8xf32>, %w: tensor<1x8xf32>) -> tensor<4xf32> {
  %0 = fuse.dense %x, %w : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<4x1xf32>
  %i = arith.constant dense<0> : tensor<i64>
  %1 = fuse.take %0, %i, axis = 1 : (tensor<4x1xf32>, tensor<i64>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}""")
    BubbleUpSlicesPass().apply(Context(), module)
    module.verify()
    assert not any(op.name == "fuse.strided_slice" for op in module.walk())
