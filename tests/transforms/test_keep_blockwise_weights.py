"""Weights of few bits in ONNX models stay in their bits, in each form in which they are written."""

import numpy as np
import pytest

pytest.importorskip("onnx")
from onnx import ModelProto, TensorProto, helper, numpy_helper
from xdsl.context import Context

import fuse_dialect as fd
from fuse_dialect.dialect.ops.blockwise import BlockwiseDenseOp
from fuse_dialect.frontends.onnx.reader import import_model
from fuse_dialect.transforms.keep_blockwise_weights import KeepBlockwiseWeightsPass

N, K, BLOCK = 6, 64, 16
RANDOM = np.random.default_rng(0)
SCALE = RANDOM.uniform(0.1, 1, (N, K // BLOCK)).astype(np.float32)
ZERO = RANDOM.integers(0, 16, SCALE.shape).astype(np.uint8)
X = RANDOM.standard_normal((3, K)).astype(np.float32)


def _model(nodes: list, arrays: dict, quantized: tuple[int, np.ndarray] | None = None) -> ModelProto:
    tensors = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    if quantized is not None:
        tensors.append(helper.make_tensor("q", quantized[0], quantized[1].shape, quantized[1].reshape(-1)))
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "g", [value("x", TensorProto.FLOAT, X.shape)], [value("y", TensorProto.FLOAT, [3, N])], tensors
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def _nbits(bits: int, has_zeros: bool) -> tuple[ModelProto, np.ndarray]:
    q = RANDOM.integers(0, 1 << bits, (N, K)).astype(np.uint8)
    stored = q if bits == 8 else q[:, ::2] | q[:, 1::2] << 4
    arrays = {"w": stored.reshape(N, K // BLOCK, -1), "s": SCALE.reshape(-1)}
    if has_zeros:
        arrays["z"] = ZERO.reshape(-1) if bits == 8 else (ZERO[:, ::2] | ZERO[:, 1::2] << 4).reshape(-1)
    sizes = {"K": K, "N": N, "bits": bits, "block_size": BLOCK}
    node = helper.make_node("MatMulNBits", ["x", *arrays], ["y"], domain="com.microsoft", **sizes)
    zero = ZERO[..., None].astype(np.float32) if has_zeros else np.float32(1 << (bits - 1))
    return _model([node], arrays), (q.reshape(N, -1, BLOCK) - zero) * SCALE[..., None]


def _dequantized(type: int, axis: int) -> tuple[ModelProto, np.ndarray]:
    low, high = {TensorProto.INT4: (-8, 8), TensorProto.UINT4: (0, 16), TensorProto.INT8: (-128, 128)}[type]
    q = RANDOM.integers(low, high, (N, K))
    q, scale = (q.T, SCALE.T) if axis == 0 else (q, SCALE)
    nodes = [helper.make_node("DequantizeLinear", ["q", "s"], ["w"], axis=axis, block_size=BLOCK)]
    nodes += [helper.make_node("Gemm", ["x", "w"], ["y"], transB=axis)]
    real = q if axis else q.T
    return _model(nodes, {"s": scale}, (type, q)), real.reshape(N, -1, BLOCK) * SCALE[..., None]


FORMS = {
    "4 bits": lambda: _nbits(4, has_zeros=False),
    "8 bits with zero points": lambda: _nbits(8, has_zeros=True),
    "4 bits with zero points": lambda: _nbits(4, has_zeros=True),
    "int4 along rows": lambda: _dequantized(TensorProto.INT4, 1),
    "uint4 along columns": lambda: _dequantized(TensorProto.UINT4, 0),
    "int8": lambda: _dequantized(TensorProto.INT8, 1),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_product_by_a_weight_of_few_bits_keeps_it(form: str) -> None:
    model, real = FORMS[form]()
    module = import_model(model)
    plain = fd.run(module, X)[0]
    KeepBlockwiseWeightsPass(least_bytes=0).apply(Context(), module)
    module.verify()
    (product,) = [op for op in module.walk() if isinstance(op, BlockwiseDenseOp)]
    assert product.bits.value.data == (8 if "8" in form else 4)
    assert product.scale.type.get_shape() == (N, K // BLOCK)
    want = X @ real.reshape(N, K).T
    for got in (plain, fd.run(module, X)[0], fd.compile(module)(X)[0]):
        np.testing.assert_allclose(got, want, atol=2.0**-18 * float(np.abs(want).max()) * K)
