"""`fold-scale-axis`: fewer multiplications, the same numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from checking.rounding import assert_near, roundings_of
from fuzzing.comparing import assert_agrees
from hypothesis import given
from hypothesis import strategies as st
from light_models import LightResults, main_of, ramp_for, simplified_model
from random_programs import SHAPE, random_programs
from recorded_graphs import recorded
from relay_networks import Network
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from fuse_dialect.dialect.constants import constant, constant_of
from fuse_dialect.dialect.fuse import ALL_OPS
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.activation import LeakyReluOp, ReluOp
from fuse_dialect.dialect.ops.broadcast import AddOp, BiasAddOp, DivideOp, MultiplyOp, PreluOp, SubtractOp
from fuse_dialect.dialect.ops.convolution import Conv1dOp, Conv2dOp, Conv2dTransposeOp, Conv3dOp
from fuse_dialect.dialect.ops.elementwise import AbsOp
from fuse_dialect.dialect.ops.matmul import BatchMatmulOp, DenseOp, MatmulOp
from fuse_dialect.dialect.ops.pooling import AvgPool2dOp, MaxPool2dOp
from fuse_dialect.dialect.types import element_type_of, is_tensor, tensor
from fuse_dialect.frontends.mlir.reader import parse_mlir
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.transforms.fold_constants import FoldConstantsPass
from fuse_dialect.transforms.fold_scale_axis import FoldScaleAxisPass
from fuse_dialect.transforms.scale_folding.rules import PASSINGS
from fuse_dialect.transforms.simplify_inference import SimplifyInferencePass

Array = npt.NDArray[Any]


def fold(module: ModuleOp) -> None:
    module.verify()
    FoldScaleAxisPass().apply(Context(), module)
    module.verify()
    FoldConstantsPass().apply(Context(), module)
    module.verify()


def names(module: ModuleOp) -> list[str]:
    return [op.name.removeprefix("fuse.") for op in module.walk() if isinstance(op, FuseOp)]


def shape_of(value: SSAValue) -> tuple[int, ...]:
    assert is_tensor(value.type)
    return tuple(value.type.get_shape())


class Chain:
    """A program under construction, in which each op reads the one before; constants are drawn."""

    def __init__(self, draw: st.DrawFn, dtype: type = np.float64):
        self.draw = draw
        self.dtype = np.dtype(dtype)
        self.random = np.random.default_rng(draw(st.integers(0, 2**16)))
        self.ops: list[Operation] = []

    def start(self, shape: Sequence[int]) -> None:
        type = tensor(shape, element_type_of(self.dtype))
        self.function = FuncOp("main", ([type], [type]))
        self.value: SSAValue = self.function.body.block.args[0]
        self.input = self.random.standard_normal(shape).astype(self.dtype)

    def constant(self, shape: Sequence[int], *, positive: bool = False) -> SSAValue:
        numbers = self.random.uniform(0.5, 2, shape) if positive else self.random.uniform(-2, 2, shape)
        return self.add(constant(np.asarray(numbers, self.dtype)))

    def add(self, op: Operation) -> SSAValue:
        self.ops.append(op)
        return op.results[0]

    def then(self, op: Operation) -> None:
        self.value = self.add(op)

    def module(self) -> ModuleOp:
        self.function.body.block.add_ops([*self.ops, ReturnOp(self.value)])
        self.function.update_function_type()
        return ModuleOp([self.function])

    def per_channel(self, axis: int, *, positive: bool) -> SSAValue:
        """One number a channel, or one for all, or a tensor that runs along other axes, too."""
        shape = shape_of(self.value)
        rank = len(shape)
        form = self.draw(st.sampled_from(["channel", "channel", "channel", "scalar", "full", "last", "splat"]))
        if form == "full":
            return self.constant(shape, positive=positive)
        if form == "splat":
            number = self.random.uniform(0.5 if positive else -2, 2)
            own = shape if self.draw(st.booleans()) else (shape[axis], *(1,) * (rank - 1 - axis))
            return self.add(constant(np.broadcast_to(np.asarray(number, self.dtype), own)))
        if form == "last":
            return self.constant(shape[-1:], positive=positive)
        wide = shape[axis] if form == "channel" else 1
        return self.constant((wide, *(1,) * (rank - 1 - axis)), positive=positive)

    def step(self, axis: int) -> None:
        """One op that scales, shifts, lets scales pass, or stops them."""
        rank = len(shape_of(self.value))
        kinds: list[Any] = [MultiplyOp, MultiplyOp, MultiplyOp, DivideOp, AddOp, SubtractOp, BiasAddOp]
        kinds += [ReluOp, LeakyReluOp, PreluOp, AbsOp]
        kinds += [MaxPool2dOp, AvgPool2dOp] if rank == 4 and axis in (1, 3) else []
        kind = self.draw(st.sampled_from(kinds))
        if kind in (MultiplyOp, DivideOp, AddOp, SubtractOp):
            positive = kind is DivideOp or (kind is MultiplyOp and self.draw(st.booleans()))
            operands = (self.value, self.per_channel(axis, positive=positive))
            swapped = kind is not DivideOp and self.draw(st.booleans())
            self.then(kind(*(reversed(operands) if swapped else operands)))
        elif kind in (BiasAddOp, PreluOp):
            self.then(kind(self.value, self.constant([shape_of(self.value)[axis]]), axis=axis))
        elif kind in (MaxPool2dOp, AvgPool2dOp):
            layout = "NCHW" if axis == 1 else "NHWC"
            properties: dict[str, Any] = {"pool_size": [2, 2], "padding": [0, 1, 1, 0], "layout": layout}
            self.then(kind(self.value, **properties))
        else:
            self.then(kind(self.value))


CONVOLUTIONS = {1: Conv1dOp, 2: Conv2dOp, 3: Conv3dOp}


def convolution(chain: Chain, before: int, after: int) -> None:
    """Steps, a convolution of any kind, and steps."""
    draw = chain.draw
    spatial = draw(st.sampled_from([1, 2, 2, 2, 3]))
    transposed = spatial == 2 and draw(st.booleans())
    kind = Conv2dTransposeOp if transposed else CONVOLUTIONS[spatial]
    groups, inputs, outputs = (draw(st.integers(1, 3)) for _ in range(3))
    data, kernel = draw(st.sampled_from(kind.DATA_LAYOUTS)), draw(st.sampled_from(kind.KERNEL_LAYOUTS))
    axis = data.index("C")
    sizes = {"N": 2, "C": groups * inputs, **dict.fromkeys("DHW", 3)}
    chain.start([sizes[letter] for letter in data])
    for _ in range(before):
        chain.step(axis)
    whole = {"O": outputs, "I": groups * inputs} if transposed else {"O": groups * outputs, "I": inputs}
    weight = chain.constant([{**dict.fromkeys("DHW", 2), **whole}[letter] for letter in kernel])
    layouts: dict[str, Any] = {"data_layout": data, "kernel_layout": kernel, "groups": groups}
    chain.then(kind(chain.value, weight, padding=[1] * (2 * spatial), **layouts))
    for _ in range(after):
        chain.step(axis)


def product(chain: Chain, before: int, after: int) -> None:
    """Steps, a matrix product whose weight is on either side, and steps."""
    draw = chain.draw
    kind = draw(st.sampled_from([DenseOp, MatmulOp, BatchMatmulOp]))
    rank = 2 if kind is MatmulOp else draw(st.integers(3, 4))
    chain.start([2, 3, 4, 5][-rank:])
    axis = draw(st.sampled_from([rank - 1, rank - 2]))
    for _ in range(before):
        chain.step(axis)
    rows, inner = shape_of(chain.value)[-2:]
    if kind is DenseOp:
        chain.then(DenseOp(chain.value, chain.constant([3, inner])))
    else:
        flags = {name: draw(st.booleans()) for name in ("transpose_a", "transpose_b")}
        data_is_left = draw(st.booleans())
        own = flags["transpose_a" if data_is_left else "transpose_b"]
        met = (rows if own else inner) if data_is_left else (inner if own else rows)
        turned = flags["transpose_b" if data_is_left else "transpose_a"]
        shape = [met, 3] if data_is_left != turned else [3, met]
        weight = chain.constant([2, *shape][-draw(st.integers(2, 3)) if rank == 3 else -2 :])
        if rank == 3 and len(shape_of(weight)) == 3 and shape_of(chain.value)[0] not in (1, 2):
            weight = chain.constant(shape)
        operands = (chain.value, weight) if data_is_left else (weight, chain.value)
        chain.then(kind(*operands, **flags))
    for _ in range(after):
        chain.step(draw(st.sampled_from([rank - 1, rank - 2])))


@given(st.data(), st.integers(0, 4), st.integers(0, 4), st.booleans())
def test_random_chains_keep_their_meaning(data: st.DataObject, before: int, after: int, convolves: bool) -> None:
    chain = Chain(data.draw)
    (convolution if convolves else product)(chain, before, after)
    module = chain.module()
    written = module.clone()
    count = names(module).count("multiply") + names(module).count("divide")
    fold(module)
    assert names(module).count("multiply") + names(module).count("divide") <= count
    assert_agrees(written, [chain.input], run_module(module, [chain.input]), reassociates=True)


@given(random_programs(), st.integers(0, 2**16))
def test_random_programs_keep_their_meaning(module: ModuleOp, seed: int) -> None:
    generator = np.random.default_rng(seed)
    inputs = [generator.uniform(-1, 1, SHAPE).astype(np.float32) for _ in range(2)]
    written = module.clone()
    fold(module)
    assert_agrees(written, inputs, run_module(module, inputs), reassociates=True)


@given(st.data(), st.booleans(), st.integers(0, 2))
def test_a_scale_behind_any_product_vanishes(data: st.DataObject, convolves: bool, activations: int) -> None:
    chain = Chain(data.draw)
    (convolution if convolves else product)(chain, 0, 0)
    (op,) = (op for op in chain.ops if isinstance(op, FuseOp))
    shape = shape_of(chain.value)
    axis = (
        op.data_layout.data.index("C") if isinstance(op, Conv2dOp | Conv1dOp | Conv3dOp | Conv2dTransposeOp) else None
    )
    for _ in range(activations):
        chain.then(ReluOp(chain.value))
    factors = (1,) if axis is None else (shape[axis], *(1,) * (len(shape) - 1 - axis))
    chain.then(MultiplyOp(chain.value, chain.constant(factors, positive=True)))
    module = chain.module()
    written = module.clone()
    fold(module)
    assert "multiply" not in names(module)
    assert_agrees(written, [chain.input], run_module(module, [chain.input]), reassociates=True)


def test_a_long_chain_is_folded_in_one_pass() -> None:
    chain = Chain(lambda strategy: 0)  # pyright: ignore[reportArgumentType]
    chain.start([2, 3])
    chain.then(DenseOp(chain.value, chain.constant([3, 3])))
    for _ in range(1000):
        chain.then(MultiplyOp(chain.value, chain.add(constant(np.full(3, 1.01)))))
        chain.then(AddOp(chain.value, chain.constant([3])))
        chain.then(ReluOp(chain.value))
    module = chain.module()
    (expected,) = run_module(module, [chain.input])
    fold(module)
    assert names(module).count("multiply") == 0
    np.testing.assert_allclose(run_module(module, [chain.input])[0], expected, rtol=1e-9)


def test_scales_that_would_overflow_on_the_way_stay() -> None:
    chain = Chain(lambda strategy: 0, np.float32)  # pyright: ignore[reportArgumentType]
    chain.start([2, 3])
    chain.then(DenseOp(chain.value, chain.constant([3, 3])))
    for factor in (1e15, 1e-15, 1e15, 1e-15):
        chain.then(MultiplyOp(chain.value, chain.add(constant(np.full(3, factor, np.float32)))))
    module = chain.module()
    (expected,) = run_module(module, [chain.input])
    fold(module)
    # Two powers of two of 50 are beyond 64, so that one is folded, and no other.
    assert names(module).count("multiply") == 3
    np.testing.assert_allclose(run_module(module, [chain.input])[0], expected, rtol=1e-5)


@pytest.mark.parametrize("op_class", [op for op in ALL_OPS if op in PASSINGS], ids=lambda op: op.name)
def test_rows_say_which_scales_pass(op_class: type[FuseOp]) -> None:
    """The property that the table claims, on random numbers; and that the op needs what the row asks for."""
    random = np.random.default_rng(0)
    x = random.standard_normal((2, 3, 4, 4))
    windows: dict[str, Any] = {"pool_size": [2, 2], "padding": [1, 0, 0, 1]}
    properties = windows if op_class in (MaxPool2dOp, AvgPool2dOp) else {}
    if "output_size" in op_class.get_irdl_definition().properties:
        properties = {"output_size": [2, 3]}
    parameters = [random.standard_normal(3)] if op_class is PreluOp else []
    types = [tensor(array.shape, element_type_of(array.dtype)) for array in (x, *parameters)]
    op = op_class(*FuncOp("f", (types, [])).body.block.args, **properties)

    def passes(scale: Array) -> bool:
        before, after = op.evaluate(x * scale, *parameters), op.evaluate(x, *parameters)
        return np.allclose(before[0], after[0] * scale)

    channels = random.uniform(0.5, 2, (3, 1, 1))
    assert passes(channels)
    assert passes(-channels) != PASSINGS[op_class].only_positive


def cases() -> dict[tuple[str, str], dict[str, Any]]:
    return {(case["name"], case["stage"]): case for name in ("zoo", "handmade") for case in recorded(name)}


def trained(name: str) -> ModuleOp:
    """A recorded network whose weights are made-up constants, all values of ordinary size."""
    module = Network(cases()[name, "raw (InferType only)"], constant_parameters=True).module
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    block = function.body.block
    first = block.first_op
    assert first is not None
    random = np.random.default_rng(0)
    for argument in list(block.args)[1:]:
        shape = shape_of(argument)
        weight = constant((random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32))
        block.insert_op_before(weight, first)
        argument.replace_all_uses_with(weight.result)
        block.erase_arg(argument)
    function.update_function_type()
    return module


@pytest.mark.parametrize(("name", "scales", "left", "kernels"), [("resnet18", 19, 1, 31), ("mobilenet", 27, 0, 31)])
def test_batch_norms_of_recorded_networks_vanish(name: str, scales: int, left: int, kernels: int) -> None:
    """All but those of the pre-activation ResNet that two convolutions read; no kernel more than before."""
    module = trained(name)
    (type,) = main_of(module).function_type.inputs
    assert is_tensor(type)
    image = np.random.default_rng(1).standard_normal(type.get_shape()).astype(np.float32)
    SimplifyInferencePass().apply(Context(), module)
    assert names(module).count("multiply") == scales
    (expected,) = run_module(module, [image])
    fold(module)
    assert names(module).count("multiply") == left
    (actual,) = run_module(module, [image])
    assert_near(actual, expected, roundings_of(module))
    FuseOpsPass().apply(Context(), module)
    assert sum(isinstance(op, CallOp) for op in module.walk()) == kernels


@pytest.mark.slow
@pytest.mark.parametrize(("name", "scales"), [("light_resnet50", 53), ("light_densenet121", 242)])
def test_batch_norms_of_light_models_vanish(name: str, scales: int, light_results: LightResults) -> None:
    """ResNet folds them backward, DenseNet most of them forward, through its activations."""
    module = simplified_model(name)
    assert names(module).count("multiply") == scales
    fold(module)
    assert "multiply" not in names(module)
    (actual,) = run_module(module, [ramp_for(module)])
    assert_near(actual, light_results.simplified(name), roundings_of(module))


IMAGE, CHANNELS, KERNEL = "tensor<1x4x1x1xf32>", "tensor<4x1x1xf32>", "tensor<4x4x1x1xf32>"
VECTOR = "dense<[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]>"


def after_product(body: str, *, last: str) -> ModuleOp:
    """A convolution, whose result is `%0`, and what follows it, after folding."""
    module = parse_mlir(f"""
      func.func @main(%x: {IMAGE}) -> {IMAGE} {{
        %w = arith.constant dense<1.0> : {KERNEL}
        %s = arith.constant {VECTOR} : {CHANNELS}
        %m = arith.constant {VECTOR.replace("4.0", "-4.0")} : {CHANNELS}
        %t = arith.constant {VECTOR.replace("4.0", "5.0")} : {CHANNELS}
        %0 = fuse.conv2d %x, %w : ({IMAGE}, {KERNEL}) -> {IMAGE}
        {body}
        return {last} : {IMAGE}
      }}""")
    fold(module)
    return module


@pytest.mark.parametrize(("factor", "is_folded"), [("%s", True), ("%m", False)])
def test_relu_lets_positive_factors_pass_alone(factor: str, is_folded: bool) -> None:
    body = f"""%1 = fuse.relu %0 : {IMAGE}
        %2 = fuse.multiply %1, {factor} : ({IMAGE}, {CHANNELS}) -> {IMAGE}"""
    assert names(after_product(body, last="%2")) == ["conv2d", "relu", *([] if is_folded else ["multiply"])]


def test_what_is_subtracted_has_the_other_sign_in_the_bias() -> None:
    body = f"""%1 = fuse.add %0, %t : ({IMAGE}, {CHANNELS}) -> {IMAGE}
        %2 = fuse.subtract %1, %s : ({IMAGE}, {CHANNELS}) -> {IMAGE}"""
    module = after_product(body, last="%2")
    (bias,) = [op for op in module.walk() if isinstance(op, BiasAddOp)]
    assert names(module) == ["conv2d", "bias_add"]
    assert constant_of(bias.bias).tolist() == [0, 0, 0, 1]  # pyright: ignore[reportOptionalMemberAccess]


def test_factors_that_might_widen_the_data_stay() -> None:
    module = parse_mlir("""
      func.func @main(%x: tensor<2x?xf32>) -> tensor<2x8xf32> {
        %s = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
        %w = arith.constant dense<1.0> : tensor<8x4xf32>
        %0 = fuse.multiply %x, %s : (tensor<2x?xf32>, tensor<4xf32>) -> tensor<2x?xf32>
        %1 = fuse.dense %0, %w : (tensor<2x?xf32>, tensor<8x4xf32>) -> tensor<2x8xf32>
        return %1 : tensor<2x8xf32>
      }""")
    fold(module)
    assert names(module) == ["multiply", "dense"]
