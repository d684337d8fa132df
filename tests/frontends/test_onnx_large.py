"""Large tensors stay in the model's file: what is read is the same, whatever the bytes are."""

import random
from pathlib import Path

import numpy as np
import onnx
import pytest
from checking.rounding import assert_sums
from onnx import helper, numpy_helper

import fuse_dialect as fd
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.constants import constant_array
from fuse_dialect.frontends.onnx.embedded_data import LARGE, without_large_tensors
from fuse_dialect.frontends.onnx.reader import load_onnx_module, read_onnx_module
from fuse_dialect.interpreters.numpy import run_module

RANDOM = np.random.default_rng(0)
WEIGHT = RANDOM.random((200, 100), np.float32)
OTHER = RANDOM.random((100, 170), np.float32)


def assert_is_expected(result: np.ndarray, x: np.ndarray) -> None:
    """The result of `model()`: sums of 200 products, added up 100 times; all numbers are positive."""
    expected = x.astype(np.float64) @ WEIGHT @ OTHER + 2.5
    assert_sums(result, expected, 200 + 100 + 1, expected)


def model() -> onnx.ModelProto:
    """Two large tensors, one of them in an attribute, and a small one."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(OTHER, "c")),
        helper.make_node("MatMul", ["a", "c"], ["b"]),
        helper.make_node("Add", ["b", "s"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", 1, [3, 200])],
        [helper.make_tensor_value_info("y", 1, [3, 170])],
        [numpy_helper.from_array(WEIGHT, "w"), numpy_helper.from_array(np.array([2.5], np.float32), "s")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def saved(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def constants(path: Path) -> dict[tuple[int, ...], memoryview | bytes]:
    return {
        op.value.get_shape(): op.value.data.data for op in load_onnx_module(path).walk() if op.name == "arith.constant"
    }


def outcome(read) -> str:
    """The module as text, or that it was refused; the reasons may differ."""
    try:
        return str(read())
    except FuseError:
        return "refused"


def test_large_tensors_are_views_of_the_file_and_small_ones_are_not(tmp_path: Path) -> None:
    found = constants(saved(tmp_path / "m.onnx", model().SerializeToString()))
    assert {shape: type(data) for shape, data in found.items()} == {
        (200, 100): memoryview,
        (100, 170): memoryview,
        (1,): bytes,
    }


def test_what_is_parsed_has_no_large_tensors() -> None:
    short = without_large_tensors(memoryview(model().SerializeToString()))
    assert short is not None
    assert len(short) < 1000
    parsed = onnx.ModelProto.FromString(short)
    assert parsed.graph.initializer[0].dims == [200, 100]
    assert not parsed.graph.initializer[0].raw_data
    assert parsed.graph.initializer[1] == model().graph.initializer[1]


def test_a_model_with_a_view_computes_the_same_and_prints_the_same(tmp_path: Path) -> None:
    data = model().SerializeToString()
    lazy, eager = load_onnx_module(saved(tmp_path / "m.onnx", data)), read_onnx_module(data, "m")
    assert str(lazy) == str(eager)
    x = RANDOM.random((3, 200), np.float32)
    np.testing.assert_array_equal(run_module(lazy, [x])[0], run_module(eager, [x])[0])
    assert all(a == b and hash(a) == hash(b) for a, b in zip(_values(lazy), _values(eager), strict=True))


def _values(module) -> list:
    return [op.value for op in module.walk() if op.name == "arith.constant"]


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0, 1])
def test_native_code_takes_elements_at_any_address(tmp_path: Path, shift: int) -> None:
    pytest.importorskip("llvmlite")
    shifted = model()
    shifted.doc_string = "x" * shift
    shifted.graph.name = "g" * (shift + 1)
    path = saved(tmp_path / "m.onnx", shifted.SerializeToString())
    x = RANDOM.random((3, 200), np.float32)
    (result,) = fd.compile(path, cache=False)(x)
    assert_is_expected(result, x)


def test_replacing_the_file_leaves_the_constants(tmp_path: Path) -> None:
    path = saved(tmp_path / "m.onnx", model().SerializeToString())
    value = next(value for value in _values(load_onnx_module(path)) if value.get_shape() == (200, 100))
    saved(tmp_path / "other", b"x" * 1000).replace(path)
    np.testing.assert_array_equal(constant_array(value), WEIGHT)


@pytest.mark.slow
def test_any_damage_has_the_same_outcome_as_when_protobuf_reads_everything(tmp_path: Path) -> None:
    data = model().SerializeToString()
    tensors = [(data.index(array.tobytes()), array.nbytes) for array in (WEIGHT, OTHER)]
    places = [place for place in range(len(data)) if all(not 0 <= place - at < size for at, size in tensors)]
    choose = random.Random(0)
    outcomes = set[str]()
    for _ in range(60):
        damaged = bytearray(data)
        for _ in range(choose.randint(1, 3)):
            damaged[choose.choice(places)] = choose.choice([0, 1, 0x7F, 0x80, 0xFF, choose.randrange(256)])
        if choose.random() < 0.2:
            del damaged[choose.choice(places) :]
        path = saved(tmp_path / "m.onnx", bytes(damaged))
        expected = outcome(lambda damaged=damaged: read_onnx_module(bytes(damaged), "m"))
        assert outcome(lambda path=path: load_onnx_module(path)) == expected
        outcomes.add(expected[:7])
    assert len(outcomes) == 2


def test_a_tensor_with_two_kinds_of_data_is_left_to_protobuf() -> None:
    twice = onnx.TensorProto(name="w", raw_data=bytes(LARGE)).SerializeToString() * 2
    initializer = _field(5, twice)
    assert without_large_tensors(memoryview(_field(7, initializer))) is None


def test_a_message_in_two_parts_is_left_to_protobuf() -> None:
    graph = model().graph.SerializeToString()
    assert without_large_tensors(memoryview(_field(7, graph))) is not None
    assert without_large_tensors(memoryview(_field(7, graph) + _field(7, b""))) is None


@pytest.mark.parametrize("tail", [b"\x0b", b"\x0a\xff\xff\xff\xff\x7f", b"\x0a" + b"\xff" * 11, b"\x09\x00"])
def test_bytes_that_are_no_message_end_the_scan(tail: bytes) -> None:
    assert without_large_tensors(memoryview(model().SerializeToString() + tail)) is None


def test_nesting_without_end_ends_the_scan() -> None:
    data = bytes(LARGE)
    for _ in range(200):
        data = _field(1, _field(5, _field(6, data)))  # a node with an attribute with a graph
    assert without_large_tensors(memoryview(_field(7, data))) is None


@pytest.mark.slow
def test_a_file_of_tiny_fields_is_left_to_protobuf(tmp_path: Path) -> None:
    data = model().SerializeToString() + b"\x28\x01" * (1 << 20)  # the model's version, again and again
    assert without_large_tensors(memoryview(data)) is None
    assert len(constants(saved(tmp_path / "m.onnx", data))) == 3


def _field(number: int, content: bytes) -> bytes:
    length, head = len(content), bytearray([number << 3 | 2])
    while length >= 0x80:
        head.append(length & 0x7F | 0x80)
        length >>= 7
    return bytes([*head, length]) + content


def test_a_model_may_not_name_its_own_file_itself(tmp_path: Path) -> None:
    forged = model()
    tensor = forged.graph.initializer[1]
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="\0")
    tensor.external_data.add(key="offset", value=str(1 << 40))
    with pytest.raises(FuseError, match="needs 4 bytes from the model's file"):
        load_onnx_module(saved(tmp_path / "m.onnx", forged.SerializeToString()))
    with pytest.raises(FuseError, match=r"file without a valid name|not read from a file"):
        read_onnx_module(forged.SerializeToString(), "m")


def test_a_size_that_the_type_contradicts_is_refused(tmp_path: Path) -> None:
    wrong = model()
    wrong.graph.initializer[0].dims[0] = 201
    with pytest.raises(FuseError, match="'w' needs 80400 bytes"):
        load_onnx_module(saved(tmp_path / "m.onnx", wrong.SerializeToString()))


def test_external_data_is_a_view_too(tmp_path: Path) -> None:
    onnx.save(model(), tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=100)
    assert type(constants(tmp_path / "m.onnx")[(200, 100)]) is memoryview
    x = RANDOM.random((3, 200), np.float32)
    (result,) = run_module(load_onnx_module(tmp_path / "m.onnx"), [x])
    assert_is_expected(result, x)
