"""Cases of operators on floats: activations, normalizations, products, convolutions."""

import numpy as np
from onnx import TensorProto

from vendor_cases.case import Array, Case, Makers, Random, maybe, pick, reals

CASES = Makers()


def _shape(random: Random) -> tuple[int, int, int]:
    return pick(random, 1, 2), pick(random, 0, 1, 3, 5, 17), pick(random, 1, 3, 8, 16, 17, 24)


@CASES.of("Gelu", "FastGelu", "QuickGelu", "BiasGelu")
def activation(random: Random, name: str) -> Case:
    shape = _shape(random)
    bias = reals(random, shape[-1])
    biases: dict[str, list[Array | None]] = {"BiasGelu": [bias], "FastGelu": [maybe(random, bias)]}
    attributes = {"alpha": pick(random, 1.0, 1.702, 0.5)} if name == "QuickGelu" else {}
    return Case(name, [reals(random, *shape, scale=3), *biases.get(name, [])], attributes)


@CASES.of("SkipLayerNormalization", "SkipSimplifiedLayerNormalization")
def skip_norm(random: Random, name: str) -> Case:
    batch, rows, size = _shape(random)
    skip = pick(random, (batch, rows, size), (1, rows, size), (rows, size))
    beta = [maybe(random, reals(random, size))] if name == "SkipLayerNormalization" else []
    operands = [reals(random, batch, rows, size), reals(random, *skip), reals(random, size), *beta]
    operands.append(maybe(random, reals(random, size)))
    attributes = {"epsilon": pick(random, 1e-5, 1e-3, 1e-12)}
    outputs = pick(random, (1,), (1, 0, 0, 1))
    return Case(name, operands, attributes, frozenset({2, 3, 4}), outputs=outputs)


@CASES.of("SimplifiedLayerNormalization")
def simplified_norm(random: Random, name: str) -> Case:
    shape = _shape(random)
    attributes = {"epsilon": pick(random, 1e-5, 1e-3), "axis": -1, "stash_type": 1}
    return Case(name, [reals(random, *shape), reals(random, shape[-1])], attributes, domain="")


@CASES.of("EmbedLayerNormalization")
def embed_norm(random: Random, name: str) -> Case:
    batch, rows, size = _shape(random)
    words = random.integers(0, 20, (batch, rows)).astype(np.int32)
    has_segments = random.random() < 0.5
    segments = random.integers(0, 2, (batch, rows)).astype(np.int32) if has_segments else None
    mask = maybe(random, (random.random((batch, rows)) < 0.7).astype(np.int32))
    places = maybe(random, random.integers(0, 6, (pick(random, 1, batch), rows)).astype(np.int32))
    segment_table = reals(random, 2, size) if has_segments else None
    tables = [reals(random, 20, size), reals(random, 6, size), segment_table, reals(random, size), reals(random, size)]
    operands = [words, segments, *tables, mask, places]
    outputs = pick(random, (1, TensorProto.INT32), (1, TensorProto.INT32, 1))
    return Case(name, operands, {"epsilon": 1e-5}, frozenset({2, 3, 4, 5, 6}), outputs=outputs)


@CASES.of("FusedMatMul", "TransposeMatMul")
def fused_matmul(random: Random, name: str) -> Case:
    m, k, n = (pick(random, 1, 3, 7, 17) for _ in range(3))
    batch = pick(random, (), (2,), (2, 3))
    flags = {f"trans{side}": pick(random, 0, 1) for side in "AB"}
    batched = len(batch) > 0 and name == "FusedMatMul" and random.random() < 0.3
    sides = list[Array]()
    for side, rows, columns in (("A", m, k), ("B", k, n)):
        if flags[f"trans{side}"]:
            rows, columns = columns, rows
        shape = (*batch, rows, columns)
        if batched:
            # Rows come first, then the batches.
            shape = (rows, *batch, columns)
        sides.append(reals(random, *shape))
    if batched:
        flags |= {"transBatchA": 1, "transBatchB": 1}
    return Case(name, sides, {"alpha": pick(random, 1.0, 0.125), **flags})


@CASES.of("FusedGemm")
def fused_gemm(random: Random, name: str) -> Case:
    m, k, n = pick(random, 1, 3, 17), pick(random, 1, 5, 33), pick(random, 1, 4, 17)
    flags = {"transA": pick(random, 0, 1), "transB": pick(random, 0, 1)}
    a = reals(random, *((k, m) if flags["transA"] else (m, k)))
    b = reals(random, *((n, k) if flags["transB"] else (k, n)))
    activation = pick(random, "Relu", "Tanh", "Sigmoid", "LeakyRelu", "HardSigmoid")
    more = {"activation_alpha": 0.3} if activation in ("LeakyRelu", "HardSigmoid") else {}
    more |= {"activation_beta": 0.4} if activation == "HardSigmoid" else {}
    attributes = {"alpha": pick(random, 1.0, 0.5), "beta": pick(random, 1.0, 0.25), "activation": activation}
    return Case(name, [a, b, maybe(random, reals(random, n))], {**attributes, **flags, **more}, frozenset({1, 2}))


@CASES.of("FusedConv")
def fused_conv(random: Random, name: str) -> Case:
    groups, channels, features, kernel = (
        pick(random, 1, 2),
        pick(random, 4, 16),
        pick(random, 6, 16),
        pick(random, 1, 3),
    )
    stride, pad = pick(random, 1, 2), pick(random, 0, 1)
    side = (7 + 2 * pad - kernel) // stride + 1
    weight = reals(random, features, channels // groups, kernel, kernel)
    bias = maybe(random, reals(random, features))
    more = maybe(random, reals(random, 2, features, side, side)) if bias is not None else None
    activation, parameters = pick(
        random,
        ("Relu", []),
        ("Tanh", []),
        ("Sigmoid", []),
        ("LeakyRelu", [0.2]),
        ("Clip", [-0.5, 0.7]),
        ("HardSigmoid", [0.3, 0.4]),
    )
    attributes = {"activation": activation, "group": groups, "strides": [stride] * 2, "pads": [pad] * 4}
    if parameters:
        attributes["activation_params"] = parameters
    operands = [reals(random, 2, channels, 7, 7), weight, bias, more]
    return Case(name, operands, {**attributes, "kernel_shape": [kernel] * 2}, frozenset({1, 2}))


@CASES.of("MatMulNBits")
def matmul_nbits(random: Random, name: str) -> Case:
    bits, block = pick(random, 4, 4, 8), pick(random, 16, 32)
    k, n = pick(random, block, 2 * block, 3 * block, 2 * block + 8), pick(random, 1, 5, 16)
    blocks = -(-k // block)
    stored = random.integers(0, 256, (n, blocks, block * bits // 8)).astype(np.uint8)
    scales = reals(random, n, blocks, scale=0.1)
    zeros = maybe(random, random.integers(0, 256, (n, -(-blocks * bits // 8))).astype(np.uint8))
    bias = maybe(random, reals(random, n))
    attributes = {"K": k, "N": n, "bits": bits, "block_size": block}
    operands = [reals(random, pick(random, 0, 1, 4, 17), k), stored, scales, zeros, None, bias]
    return Case(name, operands, attributes, frozenset({1, 2, 3, 5}), tolerance=2e-5)
