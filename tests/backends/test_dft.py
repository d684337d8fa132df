"""`fuse.dft` and the STFT of ONNX are calls of a library, for known and open sizes: what the interpreter gives."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

pytest.importorskip("llvmlite")

import fuse_dialect as fd
from fuse_dialect.backends.runtime.slow_parts import slow_kernels
from fuse_dialect.frontends.onnx.reader import import_model

FORMS = [
    ({}, 2),
    ({}, 1),
    ({"inverse": 1}, 2),
    ({"inverse": 1}, 1),
    ({"onesided": 1}, 1),
    ({"inverse": 1, "onesided": 1}, 2),
]
POINTS = [(5, None), (12, None), (12, 20), (12, 7), (331, None), (2, None), (600, 512)]


def one_node(name: str, shape: list[int | str], opset: int, constants: dict[str, np.ndarray], **attributes: int):
    """A model of one node that reads `x` and constants; a name of "" leaves one out."""
    tensors = [numpy_helper.from_array(value, key) for key, value in constants.items() if key]
    node = helper.make_node(name, ["x", *constants], ["y"], "n", **attributes)
    infos = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    graph = helper.make_graph([node], "g", infos, [helper.make_tensor_value_info("y", 1, None)], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def check(model: onnx.ModelProto, x: np.ndarray, *more: np.ndarray) -> None:
    """Each of the inputs gives what the interpreter gives, by code that nobody calls slow."""
    program = fd.compile(import_model(model), cache=False)
    assert slow_kernels(program) == ()
    for each in (x, *more):
        (expected,) = fd.run(import_model(model), each)
        found = np.asarray(program(each)).reshape(expected.shape)
        assert found.dtype == expected.dtype
        unit = 8 * np.finfo(np.float32).eps * max(1.0, float(np.abs(expected).max(initial=0)))
        np.testing.assert_allclose(found, expected, rtol=0, atol=unit)


@pytest.mark.parametrize(("attributes", "parts"), FORMS)
@pytest.mark.parametrize(("opset", "is_open"), [(17, False), (20, True)])
def test_a_transform_is_what_numpy_gives(attributes: dict[str, int], parts: int, opset: int, is_open: bool) -> None:
    random = np.random.default_rng(0)
    for place, (points, length) in enumerate(POINTS):
        axis = 1 + place % 2
        shape = [2, 3, points] if axis == 2 else [2, points, 3]
        x = random.standard_normal([*shape, parts]).astype(np.float32)
        sizes = ["n", "a", "b"] if is_open else shape
        constants = {} if length is None else {"length": np.array(length)}
        given = dict(attributes)
        if opset == 20:
            constants = {"length" if length is not None else "": np.array(length or 0), "axis": np.array(axis)}
        else:
            given["axis"] = axis
        model = one_node("DFT", [*sizes, parts], opset, constants, **given)
        check(model, x, *([x[:1]] if is_open else []))


@pytest.mark.parametrize("inverse", [0, 1])
def test_what_is_real_of_real_numbers_is_so_to_the_last_bit(inverse: int) -> None:
    x = np.random.default_rng(0).standard_normal((3, 6, 1)).astype(np.float32)
    program = fd.compile(import_model(one_node("DFT", [3, 6, 1], 17, {}, inverse=inverse)), cache=False)
    found = np.asarray(program(x)).reshape(3, 6, 2)
    assert not found[:, [0, 3], 1].any()
    np.testing.assert_array_equal(found[:, 4:, 0], found[:, 2:0:-1, 0])


@pytest.mark.parametrize(
    ("shape", "axes"), [((5, 300), [1]), ((300, 4), [0]), ((3, 96, 101), [1, 2]), ((90, 2, 80), [2, 0])]
)
@pytest.mark.parametrize("inverse", [False, True])
def test_real_numbers_as_complex_ones(shape: tuple[int, ...], axes: list[int], inverse: bool) -> None:
    type = f"tensor<{'x'.join(map(str, shape))}xf32>"
    program = fd.compile(
        fd.parse(f"""func.func @main(%x: {type}) -> ({type}, {type}) {{
          %zero = arith.constant dense<0.0> : {type}
          %y, %z = fuse.fft %x, %zero, axes = {axes}{", inverse = true" if inverse else ""} : {type}
          return %y, %z : {type}, {type}
        }}"""),
        cache=False,
    )
    random = np.random.default_rng(0)
    # What a call gives is the caller's, whatever later calls do with the memory of numbers in between.
    calls = [random.standard_normal(shape).astype(np.float32) for _ in range(3)]
    for x, (real, imag) in zip(calls, [program(x) for x in calls], strict=True):
        expected = (np.fft.ifftn if inverse else np.fft.fftn)(x, axes=axes)
        unit = 8 * np.finfo(np.float32).eps * float(np.abs(expected).max())
        np.testing.assert_allclose(real + 1j * imag, expected, rtol=0, atol=unit)


def test_what_is_not_finite_is_so_in_the_parts_of_numpy() -> None:
    x = np.array([0, 0, 0, 1, 1, 1, 1, np.nan], np.float32).reshape(1, 8, 1)
    model = one_node("DFT", [1, 8, 1], 17, {}, inverse=1)
    found = np.asarray(fd.compile(import_model(model), cache=False)(x)).reshape(8, 2)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(fd.run(import_model(model), x)[0][0]))


@pytest.mark.parametrize("sizes", [[2, 1000], ["n", 1000], ["n", "t"]])
def test_frames_of_signals_of_any_length(sizes: list[int | str]) -> None:
    random = np.random.default_rng(0)
    constants = {"step": np.array(160), "window": np.hanning(401)[:-1].astype(np.float32), "frame": np.array(400)}
    x = random.standard_normal((2, 1000)).astype(np.float32)
    longer = [] if sizes[1] == 1000 else [random.standard_normal((3, size)).astype(np.float32) for size in (1601, 400)]
    check(one_node("STFT", sizes, 17, constants), x, *longer)


def test_a_signal_that_is_shorter_than_a_frame_has_no_frames() -> None:
    constants = {"step": np.array(4), "": np.array(0), "frame": np.array(16)}
    program = fd.compile(import_model(one_node("STFT", ["n", "t"], 17, constants)), cache=False)
    assert np.asarray(program(np.ones((2, 7), np.float32))[0]).shape == (2, 0, 9, 2)
    assert np.asarray(program(np.ones((2, 20), np.float32))[0]).shape == (2, 2, 9, 2)
