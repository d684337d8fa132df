"""`--weights`: constants in a safetensors file beside the text, and what can be wrong with one."""

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from checking.rounding import assert_product
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Block, Region

import fuse_dialect as fd
from fuse_dialect.dialect.constants import constant
from fuse_dialect.tools import fuse_opt, fuse_run

safetensors = pytest.importorskip("safetensors.numpy")
RANDOM = np.random.default_rng(0)
TABLE = RANDOM.random((30, 40), np.float32)


def module_of(**arrays: np.ndarray) -> ModuleOp:
    """A function that returns constants."""
    ops: list[arith.ConstantOp] = []
    for name, array in arrays.items():
        ops.append(constant(array))
        ops[-1].result.name_hint = name
    results = [op.result for op in ops]
    block = Block([*ops, func.ReturnOp(*results)])
    return ModuleOp([func.FuncOp("main", FunctionType.from_lists([], [r.type for r in results]), Region(block))])


class Folder:
    """Files of a test, and the tools run on them."""

    def __init__(self, path: Path, capsys: pytest.CaptureFixture[str]):
        self.path = path
        self._capsys = capsys

    def write(self, **arrays: np.ndarray) -> None:
        fd.write(module_of(**arrays), self.path / "m.mlir", self.path / "m.safetensors")

    def opt(self, *args: str) -> tuple[int, str, str]:
        return self._run(fuse_opt.main, args)

    def run(self, *args: str) -> tuple[int, str, str]:
        return self._run(fuse_run.main, args)

    def _run(self, main, args) -> tuple[int, str, str]:
        try:
            code = main([str(self.path / arg) if re.fullmatch(r"\w+\.\w+", arg) else arg for arg in args])
        except SystemExit as error:
            code = error.code
        out, err = self._capsys.readouterr()
        assert "Traceback" not in err
        assert not [name for name in os.listdir(self.path) if name.startswith(".")]
        return code, out, err.replace(f"{self.path}/", "")


@pytest.fixture
def folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Folder:
    return Folder(tmp_path, capsys)


ARRAYS = [
    RANDOM.random((20, 20)).astype(dtype) if np.dtype(dtype).kind == "f" else RANDOM.integers(0, 2, 300).astype(dtype)
    for dtype in ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"]
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: array.dtype.name)
def test_every_element_type_is_stored_as_others_store_it(folder: Folder, array: np.ndarray) -> None:
    folder.write(w=array)
    assert "dense_resource<w>" in (folder.path / "m.mlir").read_text()
    stored = safetensors.load_file(folder.path / "m.safetensors")["w"]
    assert stored.dtype == array.dtype
    np.testing.assert_array_equal(stored, array)
    module = fd.read(folder.path / "m.mlir", weights=folder.path / "m.safetensors")
    np.testing.assert_array_equal(fd.run(module)[0], array)
    assert str(module) == str(module_of(w=array))


def test_bfloat16_keeps_its_bits(folder: Folder) -> None:
    from ml_dtypes import bfloat16

    array = RANDOM.random(200).astype(bfloat16)
    folder.write(w=array)
    module = fd.read(folder.path / "m.mlir", weights=folder.path / "m.safetensors")
    np.testing.assert_array_equal(fd.run(module)[0].view(np.uint16), array.view(np.uint16))


def test_what_is_small_or_a_splat_stays_in_the_text(folder: Folder) -> None:
    folder.write(w=TABLE, small=np.arange(100), zeros=np.zeros(1000, np.float32))
    assert [*safetensors.load_file(folder.path / "m.safetensors")] == ["w"]


def test_one_constant_is_stored_once_and_equal_names_get_numbers(folder: Folder) -> None:
    module = module_of(a=TABLE, b=TABLE + 1, c=TABLE)
    first, second, third = (op for op in module.walk() if isinstance(op, arith.ConstantOp))
    third.properties["value"] = first.value
    second.result.name_hint = third.result.name_hint = "a"
    fd.write(module, folder.path / "m.mlir", folder.path / "m.safetensors")
    assert {*safetensors.load_file(folder.path / "m.safetensors")} == {"a", "a_2"}
    results = fd.run(fd.read(folder.path / "m.mlir", weights=folder.path / "m.safetensors"))
    for result, array in zip(results, (TABLE, TABLE + 1, TABLE), strict=True):
        np.testing.assert_array_equal(result, array)


def test_tensors_begin_at_multiples_of_their_elements(folder: Folder) -> None:
    folder.write(b=np.arange(101).astype(np.uint8), h=RANDOM.random(101).astype(np.float16), d=RANDOM.random(101))
    data = (folder.path / "m.safetensors").read_bytes()
    assert (8 + int.from_bytes(data[:8], "little")) % 8 == 0
    for line in re.findall(rb'"dtype":"\w(\d+)"[^}]*"data_offsets":\[(\d+),', data):
        assert int(line[1]) * 8 % int(line[0]) == 0


def test_fusing_needs_no_weights_and_running_does(folder: Folder) -> None:
    folder.write(w=TABLE)
    assert folder.opt("m.mlir", "--fuse-ops")[0] == 0
    code, _, err = folder.run("m.mlir")
    assert (code, "hint: weights= (--weights) names" in err) == (1, True)
    assert folder.run("m.mlir", "--weights", "m.safetensors")[0] == 0


def test_weights_that_do_not_fit_are_refused_with_the_place_of_the_constant(folder: Folder) -> None:
    folder.write(w=TABLE)
    for other, words in (
        ({"v": TABLE}, "needs the tensor 'w', which"),
        ({"w": TABLE.T.copy()}, "to be a tensor<30x40xf32>, but 'm.safetensors' holds 40x30 of F32"),
        ({"w": TABLE.astype(np.float64)}, "holds 30x40 of F64"),
        ({"w": TABLE.view(np.int32)}, "holds 30x40 of I32"),
    ):
        safetensors.save_file(other, folder.path / "m.safetensors")
        code, _, err = folder.opt("m.mlir", "--input-weights", "m.safetensors", "-o", "n.mlir")
        assert code == 1
        assert err.startswith("m.mlir:3:")
        assert words in err
        assert not (folder.path / "n.mlir").exists()


@pytest.mark.parametrize("keep", [0, 4, 8, 40, 1000, -1])
def test_a_truncated_file_is_refused(folder: Folder, keep: int) -> None:
    folder.write(w=TABLE)
    path = folder.path / "m.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    code, _, err = folder.run("m.mlir", "--weights", "m.safetensors")
    assert code == 1
    assert err.startswith("m.safetensors: error: cannot read the weights")


@pytest.mark.parametrize(
    "data",
    [
        b"\xff" * 100,
        (1 << 40).to_bytes(8, "little") + b"{}",
        b"\x02" + bytes(7) + b"{}",
        (58).to_bytes(8, "little") + b'{"w":{"dtype":"F32","shape":[9999],"data_offsets":[0,39996]}}'[:58],
        b"\x00" * 8,
    ],
)
def test_a_file_that_is_no_weights_file_is_refused(folder: Folder, data: bytes) -> None:
    folder.write(w=TABLE)
    (folder.path / "m.safetensors").write_bytes(data)
    code, _, err = folder.run("m.mlir", "--weights", "m.safetensors")
    assert code == 1
    assert "error" in err


@pytest.mark.slow
def test_damage_to_the_head_is_an_error_or_does_no_harm(folder: Folder) -> None:
    folder.write(w=TABLE, v=np.arange(200))
    path, choose = folder.path / "m.safetensors", random.Random(0)
    data = path.read_bytes()
    head = 8 + int.from_bytes(data[:8], "little")
    refused = 0
    for _ in range(60):
        damaged = bytearray(data)
        for _ in range(choose.randint(1, 2)):
            damaged[choose.randrange(head)] = choose.choice(b'0123456789{}[],:"FIUx\x00\xff')
        path.write_bytes(damaged)
        try:
            module = fd.read(folder.path / "m.mlir", weights=path)
            assert [result.shape for result in fd.run(module)] == [(30, 40), (200,)]
        except fd.FuseError:
            refused += 1
    assert refused > 30


def test_places_that_are_no_file_are_refused(folder: Folder) -> None:
    folder.write(w=TABLE)
    os.mkdir(folder.path / "d.d")
    os.mkfifo(folder.path / "p.p")
    for name in ("d.d", "p.p", "absent.s"):
        code, _, err = folder.run("m.mlir", "--weights", name)
        assert (code, err.startswith(f"{name}: error: cannot read the weights")) == (1, True)


def test_the_text_cannot_name_a_file(folder: Folder) -> None:
    for name in ('"../secret"', "/etc/passwd", "../secret"):
        text = f"func.func @main() -> tensor<4xf32> {{ %w = arith.constant dense_resource<{name}> : tensor<4xf32>\n"
        (folder.path / "m.mlir").write_text(text + "func.return %w : tensor<4xf32> }")
        code, _, err = folder.run("m.mlir")
        assert (code, "error" in err) == (1, True)


def test_nothing_is_written_unless_everything_can_be(folder: Folder) -> None:
    folder.write(w=TABLE)
    before = (folder.path / "m.safetensors").read_bytes()
    (folder.path / "big.mlir").write_text(str(module_of(w=TABLE + 1)))
    code, _, err = folder.opt("big.mlir", "--weights", "m.safetensors", "-o", f"{folder.path}/none/m.mlir")
    assert (code, "cannot write the output" in err) == (1, True)
    assert (folder.path / "m.safetensors").read_bytes() == before
    code, _, err = folder.opt("big.mlir", "--weights", f"{folder.path}/none/w", "-o", "m.mlir")
    assert (code, "cannot write the output" in err) == (1, True)
    assert (folder.path / "m.mlir").read_text().count("dense_resource") == 1


def test_a_weights_file_that_is_read_is_not_replaced(folder: Folder) -> None:
    folder.write(w=np.tile(TABLE, (50, 1)) + RANDOM.random((1500, 1), np.float32))
    before = (folder.path / "m.safetensors").read_bytes()
    code, _, error = folder.opt("m.mlir", "--input-weights", "m.safetensors", "--weights", "m.safetensors")
    assert code == 1
    assert "--weights would overwrite the file of --input-weights" in error
    assert (folder.path / "m.safetensors").read_bytes() == before


def test_a_new_file_needs_the_elements_of_the_old_one(folder: Folder) -> None:
    folder.write(w=TABLE)
    code, _, err = folder.opt("m.mlir", "--weights", "n.safetensors")
    assert (code, "hint: weights= (--input-weights)" in err) == (1, True)
    assert not (folder.path / "n.safetensors").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--weights", "m.mlir", "-o", "m.mlir"),
        ("--weights", "m.mlir"),
        ("--weights", "-"),
        ("--weights", "w.safetensors", "-t", "loops"),
        ("--weights", "w.safetensors", "--split-input-file"),
        ("--weights", "w.safetensors", "-t", "onnx"),
        ("--weights", "/tmp/w.safetensors", "-t", "onnx", "-o", "m.onnx"),
        ("-t", "onnx", "--split-input-file"),
    ],
)
def test_options_that_contradict_each_other_are_wrong_usage(folder: Folder, arguments: tuple[str, ...]) -> None:
    folder.write(w=TABLE)
    assert folder.opt("m.mlir", *arguments)[0] == 2


def test_native_code_reads_weights_from_the_file(folder: Folder) -> None:
    pytest.importorskip("llvmlite")
    text = """func.func @main(%x: tensor<8x512xf32>) -> tensor<8x300xf32> {
      %w = arith.constant dense_resource<w> : tensor<512x300xf32>
      %y = fuse.matmul %x, %w : (tensor<8x512xf32>, tensor<512x300xf32>)
      return %y : tensor<8x300xf32>
    }"""
    (folder.path / "m.mlir").write_text(text)
    weight, x = RANDOM.random((512, 300), np.float32), RANDOM.random((8, 512), np.float32)
    safetensors.save_file({"w": weight, "pad": np.zeros(3, np.uint8)}, folder.path / "m.safetensors")
    program = fd.compile(folder.path / "m.mlir", weights=folder.path / "m.safetensors", cache=False)
    assert_product(program(x)[0], x, weight)


_PEAK = """
import sys
from fuse_dialect.tools.fuse_opt import main
assert not main(sys.argv[1:])
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs the peak memory of a process")
def test_memory_does_not_grow_with_the_weights(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    peaks: list[int] = []
    for rows in (10, 10_000):
        weight = np.arange(rows * 1000, dtype=np.float32).reshape(rows, 1000)
        graph = onnx.helper.make_graph(
            [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])],
            "g",
            [onnx.helper.make_tensor_value_info("x", 1, [1, rows])],
            [onnx.helper.make_tensor_value_info("y", 1, [1, 1000])],
            [onnx.numpy_helper.from_array(weight, "w")],
        )
        path = tmp_path / f"{rows}.onnx"
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)]), path)
        arguments = [str(path), "--fuse-ops", "-o", f"{path}.mlir", "--weights", f"{path}.safetensors"]
        run = subprocess.run([sys.executable, "-c", _PEAK, *arguments], check=True, capture_output=True, text=True)
        peaks.append(int(run.stdout) * 1024)
    assert peaks[1] - peaks[0] < 0.4 * 10_000 * 1000 * 4
