"""Cases of operators on quantized tensors."""

from typing import Any

import numpy as np
from onnx import TensorProto

from vendor_cases.case import Array, Case, Makers, Random, maybe, pick, reals

CASES = Makers()

_TYPES = {np.uint8: TensorProto.UINT8, np.int8: TensorProto.INT8}
_SELDOM = 2e-3
"""Share of elements that may be the next number: of roundings of numbers half way between two."""


def _numbers(random: Random, dtype: Any, *shape: int) -> Array:
    limits = np.iinfo(dtype)
    return random.integers(limits.min, limits.max + 1, shape).astype(dtype)


def _scale(random: Random) -> Array:
    return np.array(random.uniform(0.01, 0.1), np.float32)


def _zero(random: Random, dtype: Any) -> Array:
    return _numbers(random, dtype)


def _kind(random: Random) -> Any:
    return pick(random, np.uint8, np.int8)


@CASES.of("QLinearAdd", "QLinearMul")
def binary(random: Random, name: str) -> Case:
    dtype = _kind(random)
    shapes = pick(
        random, ((2, 3, 40), (2, 3, 40)), ((2, 3, 40), (40,)), ((3, 1), (2, 3, 7)), ((5,), (5,)), ((17, 33), (17, 33))
    )
    operands: list[Array | None] = []
    for shape in shapes:
        operands += [_numbers(random, dtype, *shape), _scale(random), _zero(random, dtype)]
    # What is multiplied is larger than what is added.
    scale = _scale(random) if name == "QLinearAdd" else np.float32(20) * _scale(random) * _scale(random)
    operands += [np.array(scale, np.float32), _zero(random, dtype)]
    seldom = _SELDOM if name == "QLinearAdd" else 0.0
    return Case(name, operands, {}, frozenset({1, 2, 4, 5, 6, 7}), outputs=(_TYPES[dtype],), seldom=seldom)


@CASES.of("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax")
def unary(random: Random, name: str) -> Case:
    dtype = _kind(random)
    attributes: dict[str, Any] = {}
    scale = _scale(random)
    if name == "QLinearLeakyRelu":
        attributes["alpha"] = pick(random, 0.1, 0.3)
    elif name == "QLinearSigmoid":
        scale = np.array(1 / 256, np.float32)
    else:
        attributes = {"axis": pick(random, -1, 1), "opset": pick(random, 12, 13)}
        dtype, scale = np.uint8, np.array(1 / 256, np.float32)
    zero = np.array(0, dtype) if name == "QLinearSoftmax" else _zero(random, dtype)
    operands = [_numbers(random, dtype, 2, 5, 30), _scale(random), _zero(random, dtype), scale, zero]
    return Case(name, operands, attributes, frozenset({1, 2, 3, 4}), outputs=(_TYPES[dtype],), seldom=5 * _SELDOM)


@CASES.of("QLinearWhere")
def where(random: Random, name: str) -> Case:
    dtype = _kind(random)
    scale, zero = _scale(random), _zero(random, dtype)
    sides: list[Array | None] = []
    for shape in ((2, 3, 8), pick(random, (2, 3, 8), (8,), (1,))):
        same = random.random() < 0.3
        own = [scale, zero] if same else [_scale(random), _zero(random, dtype)]
        sides += [_numbers(random, dtype, *shape), *own]
    shape: tuple[int, ...] = pick(random, (2, 3, 8), (3, 1))
    condition = random.random(shape) < 0.5
    constants = frozenset({2, 3, 5, 6, 7, 8})
    return Case(name, [condition, *sides, scale, zero], {}, constants, outputs=(_TYPES[dtype],), seldom=_SELDOM)


@CASES.of("QLinearConcat")
def concat(random: Random, name: str) -> Case:
    dtype = _kind(random)
    scale, zero = _scale(random), _zero(random, dtype)
    operands: list[Array | None] = [scale, zero]
    for width in (3, 5, 2)[: pick(random, 2, 3)]:
        own = [scale, zero] if random.random() < 0.3 else [_scale(random), _zero(random, dtype)]
        operands += [_numbers(random, dtype, 2, width, 7), *own]
    constants = frozenset(index for index in range(len(operands)) if index < 2 or (index - 2) % 3)
    return Case(name, operands, {"axis": 1}, constants, outputs=(_TYPES[dtype],), seldom=_SELDOM)


@CASES.of("QLinearAveragePool", "QLinearGlobalAveragePool")
def pool(random: Random, name: str) -> Case:
    dtype, last = _kind(random), pick(random, 0, 1)
    shape = (2, 9, 8, 12) if last else (2, 12, 9, 8)
    attributes: dict[str, Any] = {"channels_last": last}
    if name == "QLinearAveragePool":
        attributes |= {
            "kernel_shape": [3, 2],
            "strides": pick(random, [1, 1], [2, 2]),
            "pads": pick(random, [0] * 4, [1, 0, 1, 1]),
        }
        attributes["count_include_pad"] = pick(random, 0, 1)
    operands = [
        _numbers(random, dtype, *shape),
        _scale(random),
        _zero(random, dtype),
        _scale(random),
        _zero(random, dtype),
    ]
    return Case(name, operands, attributes, frozenset({1, 2, 3, 4}), outputs=(_TYPES[dtype],), seldom=_SELDOM)


@CASES.of("QLinearConv")
def conv(random: Random, name: str) -> Case:
    dtype, last, groups = np.uint8, pick(random, 0, 1), pick(random, 1, 2)
    shape = (2, 7, 7, 4) if last else (2, 4, 7, 7)
    scales = np.abs(reals(random, 6, scale=0.05)) + np.float32(0.01)
    scale: Array = pick(random, scales, scales[:1].reshape(()))
    weight = random.integers(-64, 64, (6, 4 // groups, 3, 3)).astype(np.int8)
    operands = [
        _numbers(random, dtype, *shape), _scale(random), _zero(random, dtype), weight,
        scale, np.zeros(scale.shape, np.int8), np.array(1.5, np.float32), _zero(random, dtype),
        maybe(random, random.integers(-500, 500, 6).astype(np.int32)),
    ]  # fmt: skip
    attributes = {"channels_last": last, "group": groups, "kernel_shape": [3, 3], "pads": [1] * 4, "strides": [1, 2]}
    return Case(name, operands, attributes, frozenset(range(1, 9)), outputs=(_TYPES[dtype],), tolerance=0)


@CASES.of("QGemm")
def qgemm(random: Random, name: str) -> Case:
    dtype = _kind(random)
    other = np.int8 if dtype is np.int8 else pick(random, np.int8, np.uint8)
    m, k, n = pick(random, 1, 3, 17), pick(random, 1, 20, 65), pick(random, 1, 6, 33)
    flags = {"transA": pick(random, 0, 1), "transB": pick(random, 0, 1)}
    a = _numbers(random, dtype, *((k, m) if flags["transA"] else (m, k)))
    b = random.integers(-64 if other is np.int8 else 0, 64, (n, k) if flags["transB"] else (k, n)).astype(other)
    per_column = random.random() < 0.5
    scale = (np.abs(reals(random, n, scale=0.05)) + np.float32(0.01)) if per_column else _scale(random)
    zero = np.zeros(n, other) if per_column else np.array(pick(random, 0, 3), other)
    bias = maybe(random, np.asarray(random.integers(-500, 500, n), np.int32))
    result: list[Array | None] = [np.array(0.9, np.float32), _zero(random, dtype)]
    real = random.random() < 0.4
    operands = [a, _scale(random), _zero(random, dtype), b, scale, zero, bias, *([None, None] if real else result)]
    attributes = {"alpha": pick(random, 1.0, 0.5), **flags}
    outputs = (1,) if real else (_TYPES[dtype],)
    return Case(name, operands, attributes, frozenset({1, 2, 3, 4, 5, 6, 7, 8}), outputs=outputs)


@CASES.of("MatMulIntegerToFloat")
def integer_to_float(random: Random, name: str) -> Case:
    dtype, other, n = _kind(random), _kind(random), 6
    if dtype is np.int8:
        other = np.int8
    a, b = (
        _numbers(random, dtype, *pick(random, (1, 20), (3, 20), (17, 20), (2, 3, 20))),
        random.integers(0, 64, (20, n)).astype(other),
    )
    per_column = random.random() < 0.5
    scale = (np.abs(reals(random, n, scale=0.05)) + np.float32(0.01)) if per_column else _scale(random)
    zero = np.zeros(n, other) if per_column else np.array(pick(random, 0, 3), other)
    bias = maybe(random, reals(random, n))
    zeros = (_zero(random, dtype), zero)
    return Case(name, [a, b, _scale(random), scale, *zeros, bias], {}, frozenset({1, 2, 3, 4, 5, 6}))


@CASES.of("DynamicQuantizeMatMul")
def dynamic(random: Random, name: str) -> Case:
    other, n = _kind(random), 6
    a, b = (
        reals(random, *pick(random, (1, 20), (3, 20), (17, 20), (2, 3, 20))),
        random.integers(0, 64, (20, n)).astype(other),
    )
    zero = maybe(random, np.array(pick(random, 0, 3), other))
    return Case(name, [a, b, _scale(random), zero, maybe(random, reals(random, n))], {}, frozenset({1, 2, 3, 4}))


@CASES.of("QAttention")
def qattention(random: Random, name: str) -> Case:
    batch, rows, heads, head, width = pick(random, 1, 2), pick(random, 1, 4), pick(random, 1, 2), 8, 12
    columns, past_rows = 3 * heads * head, pick(random, 0, 3)
    weight = random.integers(-32, 32, (width, columns)).astype(np.int8)
    mask = maybe(random, np.asarray(random.integers(1, rows + past_rows + 1, batch), np.int32))
    past = reals(random, 2, batch, heads, past_rows, head) if past_rows else None
    scales = (np.array(0.02, np.float32), np.array(0.02, np.float32))
    zeros = (_zero(random, np.uint8), np.array(0, np.int8))
    x, bias = _numbers(random, np.uint8, batch, rows, width), reals(random, columns)
    attributes = {"num_heads": heads, "unidirectional": pick(random, 0, 1)}
    outputs = (1, 1) if past_rows else (1,)
    operands = [x, weight, bias, *scales, mask, *zeros, past]
    return Case(name, operands, attributes, frozenset({1, 2, 3, 4, 6, 7}), outputs=outputs)
