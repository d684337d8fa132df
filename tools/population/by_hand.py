"""Small networks made node by node, of what is slow without kernels of its own."""

# pyright: basic

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np


def networks(folder: Path) -> Iterator[Path]:
    """Small networks of what is slow without kernels of its own, written to a folder."""
    from onnx import TensorProto, helper, numpy_helper, save

    rng = np.random.default_rng(0)

    def write(name: str, nodes: Sequence[Any], weights: Mapping[str, Sequence[int]], x: Sequence[int]) -> Path:
        made = [
            numpy_helper.from_array((rng.uniform(-1, 1, shape) / 8).astype(np.float32), key)
            for key, shape in weights.items()
        ]
        graph = helper.make_graph(
            nodes,
            name,
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, list(x))],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            made,
        )
        path = folder / f"{name}.onnx"
        save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        return path

    for kind, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        for steps, batch, size, hidden in ((64, 1, 128, 256), (64, 16, 128, 256), (128, 8, 64, 64)):
            shapes = {"w": (1, gates * hidden, size), "r": (1, gates * hidden, hidden), "b": (1, 2 * gates * hidden)}
            node = helper.make_node(kind, ["x", "w", "r", "b"], ["y"], hidden_size=hidden)
            yield write(f"{kind.lower()}_{steps}x{batch}x{hidden}", [node], shapes, (steps, batch, size))
    transposed: dict[str, tuple[Sequence[tuple[Sequence[int], Sequence[int], Sequence[int]]], Sequence[int]]] = {
        "dcgan": ([((100, 512, 4, 4), (1, 1), (0,) * 4), *_doubling(512, 5)], (1, 100, 1, 1)),
        "decoder_3x3": ([((64, 32, 3, 3), (2, 2), (1,) * 4), ((32, 16, 3, 3), (2, 2), (1,) * 4)], (1, 64, 32, 32)),
        "unet_up": ([((256, 128, 2, 2), (2, 2), (0,) * 4), ((128, 64, 2, 2), (2, 2), (0,) * 4)], (1, 256, 32, 32)),
        "vocoder_1d": ([((256, 128, 16), (8,), (4, 4)), ((128, 64, 16), (8,), (4, 4))], (1, 256, 32)),
        "unet_up_3d": ([((32, 16, 2, 2, 2), (2, 2, 2), (0,) * 6)], (1, 32, 16, 16, 16)),
    }
    for name, (layers, x) in transposed.items():
        nodes: list[Any] = []
        shapes = {}
        for number, (kernel, strides, pads) in enumerate(layers):
            taken, made = "x" if not number else f"a{number - 1}", f"c{number}"
            shapes |= {f"w{number}": kernel, f"b{number}": (kernel[1],)}
            nodes.append(
                helper.make_node(
                    "ConvTranspose", [taken, f"w{number}", f"b{number}"], [made], strides=strides, pads=pads
                )
            )
            last = number == len(layers) - 1
            nodes.append(helper.make_node("Relu", [made], ["y" if last else f"a{number}"]))
        yield write(name, nodes, shapes, x)
    scores = helper.make_node("Einsum", ["x", "k"], ["s"], equation="bihd,bjhd->bhij")
    values = helper.make_node("Einsum", ["p", "v"], ["y"], equation="bhij,bjhd->bihd")
    shape = (2, 128, 8, 64)
    softmax = helper.make_node("Softmax", ["s"], ["p"], axis=-1)
    yield write("einsum_attention", [scores, softmax, values], {"k": shape, "v": shape}, shape)


def _doubling(channels: int, layers: int) -> Iterator[tuple[Sequence[int], Sequence[int], Sequence[int]]]:
    """Layers that double the sizes and halve the channels."""
    for _ in range(layers - 1):
        yield (channels, channels // 2, 4, 4), (2, 2), (1, 1, 1, 1)
        channels //= 2
