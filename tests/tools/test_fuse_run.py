"""`fuse-run`: results on stdout or in a file, comparisons, and errors without tracebacks."""

import io
import json
import os
import re
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fuse_dialect.backends.checking import violations
from fuse_dialect.tools.fuse_run import main

MODULE = """func.func @main(%x: tensor<2x?xf32>, %index: tensor<3xi64>) -> (tensor<2x?xf32>, tensor<3xi64>) {
  %y = fuse.exp %x : tensor<2x?xf32>
  func.return %y, %index : tensor<2x?xf32>, tensor<3xi64>
}
"""
X = np.array([[0, 1, 2], [3, 4, 5]], np.float32)
INDEX = np.arange(3)


class Folder:
    """Files of a test, and the tool run on them."""

    def __init__(self, path: Path, capsys: pytest.CaptureFixture[str]):
        self.path = path
        self._capsys = capsys

    def file(self, name: str, text: str | bytes) -> str:
        path = self.path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    def arrays(self, name: str, *args: np.ndarray, **kwargs: np.ndarray) -> str:
        np.savez(self.path / name, *args, **kwargs)
        return str(self.path / name)

    def run(self, *args: str) -> SimpleNamespace:
        """Exit code, stdout and stderr; no traceback and no draft of a file may be left."""
        try:
            code: int | str | None = main(args)
        except SystemExit as error:
            code = error.code
        out, err = self._capsys.readouterr()
        assert "Traceback" not in err
        assert not [name for name in os.listdir(self.path) if name.startswith(".")]
        return SimpleNamespace(code=code, out=out, err=err.replace(f"{self.path}/", ""))


@pytest.fixture
def folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Folder:
    return Folder(tmp_path, capsys)


@pytest.fixture
def module(folder: Folder) -> str:
    return folder.file("m.mlir", MODULE)


def test_small_outputs_are_printed_in_full(folder: Folder, module: str) -> None:
    result = folder.run(module, "--inputs", folder.arrays("in.npz", x=np.zeros((2, 1), np.float32), index=INDEX))
    assert result.code == 0
    assert result.out == "result0: tensor<2x1xf32> = [[1.0], [1.0]]\nresult1: tensor<3xi64> = [0, 1, 2]\n"
    assert result.err == ""


def test_large_outputs_are_summarized(folder: Folder, module: str) -> None:
    x = np.zeros((2, 50), np.float32)
    x[0, 0] = np.nan
    result = folder.run(module, "--inputs", folder.arrays("in.npz", x=x, index=INDEX))
    assert result.out.startswith("result0: tensor<2x50xf32> min 1 max 1 mean 1 nan 1\n")


@pytest.mark.parametrize("names", [("x", "index"), ("arg0", "arg1"), ("arr_0", "arr_1"), ("x", "arg1")])
def test_inputs_are_found_by_name_or_position(folder: Folder, module: str, names: tuple[str, str]) -> None:
    inputs = folder.arrays("in.npz", **dict(zip(names, (X, INDEX), strict=True)))
    assert folder.run(module, "--inputs", inputs, "--outputs", str(folder.path / "out.npz")).code == 0
    with np.load(folder.path / "out.npz", allow_pickle=False) as outputs:
        assert outputs.files == ["result0", "result1"]
        np.testing.assert_array_equal(outputs["result0"], np.exp(X.astype(np.float64)).astype(np.float32))


def test_outputs_leave_stdout_empty(folder: Folder, module: str) -> None:
    assert folder.run(module, "--random-inputs", "0", "--outputs", str(folder.path / "out.npz")).out == ""


def test_random_inputs_depend_on_the_seed_alone(folder: Folder, module: str) -> None:
    first, again, other = (folder.run(module, "--random-inputs", seed).out for seed in ("1", "1", "2"))
    assert first == again
    assert first != other


def test_a_checked_run_prints_the_same(folder: Folder, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ("--random-inputs", "3", "--dynamic-dim", "5", "--backend", "llvm", module)
    plain = folder.run(*options)
    monkeypatch.setenv("FUSE_CHECKED", "1")
    checked = folder.run(*options)
    assert (checked.code, checked.out, checked.err) == (0, plain.out, plain.err)


def test_a_report_of_a_checked_kernel_is_an_error(folder: Folder, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUSE_CHECKED", "1")
    monkeypatch.setattr(violations, "_SITES", ["'fused_exp': a store"])
    monkeypatch.setattr(violations, "_REPORT", type(violations._REPORT)(1, 0, 40, 4, 40))
    run = folder.run("--random-inputs", "3", "--dynamic-dim", "5", "--backend", "llvm", module)
    assert run.code == 1
    assert "internal error: CheckError: 'fused_exp': a store: 4 bytes at 40 of an array of 40" in run.err


def test_dynamic_dim_sizes_random_inputs(folder: Folder, module: str) -> None:
    assert "tensor<2x2xf32>" in folder.run(module, "--random-inputs", "0").out
    assert "tensor<2x7xf32>" in folder.run(module, "--random-inputs", "0", "--dynamic-dim", "7").out


def test_random_integers_are_valid_indices(folder: Folder) -> None:
    text = "func.func @main(%i: tensor<1000xi64>) -> tensor<1000xi64> { func.return %i : tensor<1000xi64> }"
    assert "min 0 max 1 " in folder.run(folder.file("m.mlir", text), "--random-inputs", "0").out


def test_bfloat16_arrays_go_in_and_out(folder: Folder) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    text = "func.func @main(%x: tensor<2xbf16>) -> tensor<2xbf16> { func.return %x : tensor<2xbf16> }"
    module, x = folder.file("m.mlir", text), np.array([1.5, np.inf], ml_dtypes.bfloat16)
    result = folder.run(module, "--inputs", folder.arrays("in.npz", x=x), "--outputs", str(folder.path / "out.npz"))
    assert (result.code, result.err) == (0, "")
    with np.load(folder.path / "out.npz", allow_pickle=False) as outputs:
        assert outputs["result0"].tobytes() == x.tobytes()


def test_another_entry_can_be_run(folder: Folder, module: str) -> None:
    text = MODULE.replace("@main", "@start")
    assert folder.run(folder.file("s.mlir", text), "--entry", "start", "--random-inputs", "0").code == 0


def test_mlir_is_read_from_stdin(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(MODULE.encode())))
    assert folder.run("-", "--random-inputs", "0").code == 0


def test_onnx_is_read_from_stdin(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnx_ir")
    path = Path(__file__).resolve().parents[2] / "docs" / "examples" / "tiny_cnn.onnx"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    result = folder.run("-f", "onnx", "-", "--random-inputs", "0", "--compare-with", str(path))
    assert (result.code, result.err) == (0, "")


def test_onnx_is_read_by_its_extension(folder: Folder) -> None:
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    value = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2])
    output = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2])
    graph = helper.make_graph([helper.make_node("Exp", ["x"], ["y"])], "g", [value], [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    module = folder.file("m.onnx", model.SerializeToString())
    mlir = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %y = fuse.exp %x : tensor<2xf32>
      func.return %y : tensor<2xf32>
    }"""
    result = folder.run(module, "--random-inputs", "0", "--compare-with", folder.file("m.mlir", mlir))
    assert (result.code, result.err) == (0, "")


RESOURCE = """func.func @main() -> tensor<2xf32> {
  %%c = arith.constant dense_resource<%s> : tensor<2xf32>
  func.return %%c : tensor<2xf32>
}
{-#
  dialect_resources: { builtin: { blob: "0x%s" } }
#-}
"""


def test_constants_are_read_from_resources(folder: Folder) -> None:
    result = folder.run(folder.file("m.mlir", RESOURCE % ("blob", "040000000000803F00000040")))
    assert result.out == "result0: tensor<2xf32> = [1.0, 2.0]\n"


@pytest.mark.parametrize(("key", "blob"), [("blob", "0400"), ("blob", "04000000000080"), ("__elided__", "04000000")])
def test_constants_without_elements_are_diagnosed(folder: Folder, key: str, blob: str) -> None:
    result = folder.run(folder.file("m.mlir", RESOURCE % (key, blob)))
    assert result.code == 1
    assert result.err.startswith("m.mlir:2:8: error: 'arith.constant' op expects ")
    assert ("--mlir-elide-elementsattrs-if-larger" in result.err) == (key == "__elided__")


def test_version_names_both_packages(folder: Folder) -> None:
    assert re.fullmatch(r"fuse-run \S+ on xDSL 0\.74\S*\n", folder.run("-v").out)


def test_compare_prints_the_errors(folder: Folder, module: str) -> None:
    result = folder.run(module, "--random-inputs", "0", "--compare-with", module)
    assert result.code == 0
    assert result.out.splitlines() == [
        "result0: max absolute error 0, relative 0: ok",
        "result1: max absolute error 0, relative 0: ok",
    ]


def scaled(factor: str) -> str:
    """A module like `MODULE` that also multiplies by a number."""
    return MODULE.replace(
        "  func.return",
        f"  %f = arith.constant dense<{factor}> : tensor<f32>\n"
        "  %z = fuse.multiply %y, %f : (tensor<2x?xf32>, tensor<f32>) -> tensor<2x?xf32>\n  func.return",
    ).replace("func.return %y", "func.return %z")


@pytest.mark.parametrize(
    ("factor", "options", "code"),
    [
        ("1.00001", [], 0),
        ("1.01", [], 1),
        ("1.01", ["--rtol", "0.1"], 0),
        ("1.01", ["--atol", "10"], 0),
        ("1.00001", ["--atol", "0", "--rtol", "0"], 1),
        ("0x7FC00000", ["--rtol", "inf"], 1),
    ],
)
def test_compare_fails_beyond_the_tolerances(
    folder: Folder, module: str, factor: str, options: list[str], code: int
) -> None:
    other = folder.file("other.mlir", scaled(factor))
    result = folder.run(module, "--random-inputs", "0", "--compare-with", other, *options)
    assert result.code == code
    if code:
        assert "of 4 elements differ, worst at [" in result.out
        assert result.err.startswith("other.mlir: error: 1 of 2 outputs differ beyond atol ")


def test_equal_nans_are_no_difference(folder: Folder) -> None:
    other = folder.file("nan.mlir", scaled("0x7FC00000"))
    assert folder.run(other, "--random-inputs", "0", "--compare-with", other).code == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "func.func @main(%x: tensor<2x?xf32>, %i: tensor<3xi64>) -> tensor<2x?xf32> {"
            " func.return %x : tensor<2x?xf32> }",
            "expected 2 outputs as from 'm.mlir', got 1",
        ),
        (
            "func.func @main(%x: tensor<2x?xf32>, %i: tensor<3xi64>) -> (tensor<3xi64>, tensor<3xi64>) {"
            " func.return %i, %i : tensor<3xi64>, tensor<3xi64> }",
            "result0 cannot be compared: float32 of shape 2x2 against int64 of shape 3",
        ),
        ("func.func @main() { func.return }", "'main' expects 0 inputs, got 2"),
    ],
)
def test_compare_diagnoses_other_signatures(folder: Folder, module: str, text: str, message: str) -> None:
    result = folder.run(module, "--random-inputs", "0", "--compare-with", folder.file("other.mlir", text))
    assert result.code == 1
    assert result.err == f"other.mlir: error: {message}\n"


def test_missing_inputs_come_with_a_hint(folder: Folder, module: str) -> None:
    result = folder.run(module)
    assert result.code == 1
    assert "error: 'main' needs inputs: x, index\nhint: give --inputs FILE.npz or --random-inputs SEED\n" in result.err


def archive_with_object(folder: Folder) -> str:
    np.savez(folder.path / "in.npz", x=np.array([{}], dtype=object), allow_pickle=True)
    return str(folder.path / "in.npz")


def truncated_archive(folder: Folder) -> str:
    data = Path(folder.arrays("whole.npz", x=X, index=INDEX)).read_bytes()
    return folder.file("in.npz", data[: len(data) // 2])


def archive_with_a_huge_claim(folder: Folder) -> str:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (10**13,)})
    with zipfile.ZipFile(folder.path / "in.npz", "w") as archive:
        archive.writestr("x.npy", header.getvalue())
    return str(folder.path / "in.npz")


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (lambda folder: folder.arrays("in.npz", y=X), "no input 'x' among 'y'"),
        (lambda folder: folder.arrays("in.npz", x=X, index=INDEX, y=X), "no argument takes the input 'y'"),
        (
            lambda folder: folder.arrays("in.npz", x=X[0], index=INDEX),
            "input 'x' expects a value of type tensor<2x?xf32>",
        ),
        (lambda folder: folder.arrays("in.npz", x=X.astype("f8"), index=INDEX), "got float64 of shape 2x3"),
        (lambda folder: folder.file("in.npz", b"PK"), "expected an .npz archive of arrays"),
        (lambda folder: folder.file("in.npz", b""), "expected an .npz archive of arrays"),
        (lambda folder: str(folder.path / "in.npz"), "no such file or directory"),
        (lambda folder: str(folder.path), "is a directory"),
        (archive_with_object, "cannot read the arrays: "),
        (truncated_archive, "expected an .npz archive of arrays"),
        (archive_with_a_huge_claim, "cannot read the arrays: "),
    ],
)
def test_bad_inputs_are_diagnosed(folder: Folder, module: str, inputs: Callable[[Folder], str], message: str) -> None:
    result = folder.run(module, "--inputs", inputs(folder), "--outputs", str(folder.path / "out.npz"))
    assert result.code == 1
    assert "error: " in result.err
    assert message in result.err
    assert not (folder.path / "out.npz").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func @main() {", "error: "),
        ("\x00\xff", "error: "),
        (
            "func.func @f() { func.return }\nfunc.func @g() { func.return }",
            "m.mlir: error: no function 'main' in the module; there are 'f', 'g'",
        ),
        (
            "func.func @main() {\n  %x = memref.alloc() : memref<4xf32>\n  func.return\n}",
            "m.mlir:2:8: error: 'memref.alloc' op has no meaning in the NumPy interpreter",
        ),
        (
            "func.func @main() {\n func.call @main() : () -> ()\n func.return\n}",
            "m.mlir:2:2: error: 'func.call' op exceeds",
        ),
        ("func.func @main(%x: index) { func.return }", "no random value for input 'x': expects a tensor, got index"),
        ("func.func @main(%x: tensor<1000000000000xf32>) { func.return }", "4000000000000 bytes, more than"),
    ],
)
def test_bad_modules_are_diagnosed(folder: Folder, text: str, message: str) -> None:
    result = folder.run(folder.file("m.mlir", text), "--random-inputs", "0")
    assert result.code == 1
    assert message in result.err


@pytest.mark.parametrize("name", ["m.mlir", "m.onnx"])
def test_a_missing_module_is_diagnosed(folder: Folder, name: str) -> None:
    result = folder.run(str(folder.path / name))
    assert result.code == 1
    assert result.err.startswith(f"{name}: error: cannot read the ")
    assert result.err.endswith(": no such file or directory\n")


@pytest.mark.parametrize("target", ["nowhere/out.npz", "."])
def test_an_output_that_cannot_be_written_is_diagnosed(folder: Folder, module: str, target: str) -> None:
    result = folder.run(module, "--random-inputs", "0", "--outputs", str(folder.path / target))
    assert result.code == 1
    assert "error: cannot write the output: " in result.err


def test_an_error_keeps_the_old_output(folder: Folder, module: str) -> None:
    old = folder.file("out.npz", b"old")
    text = MODULE.replace("fuse.exp %x", "fuse.add %x, %x").replace("fuse.add", '"acme.f"')
    assert folder.run(folder.file("bad.mlir", text), "--random-inputs", "0", "--outputs", old).code == 1
    assert Path(old).read_bytes() == b"old"


@pytest.mark.parametrize(
    "options",
    [
        ["--random-inputs", "x"],
        ["--random-inputs", "-1"],
        ["--atol", "-1"],
        ["--rtol", "nan"],
        ["--inputs", "a", "--random-inputs", "0"],
        ["--frobnicate"],
    ],
)
def test_wrong_usage_exits_with_2(folder: Folder, module: str, options: list[str]) -> None:
    result = folder.run(module, *options)
    assert result.code == 2
    assert "error: " in result.err
    assert result.out == ""


NAMED = """
func.func @main(%a: tensor<2xf32> {onnx.name = "gpu_0/data_0"}, %b: tensor<2xf32> {onnx.name = "data.0"})
    -> (tensor<2xf32> {onnx.name = "out:0"}, tensor<2xf32>) {
  %y = fuse.subtract %a, %b : tensor<2xf32>
  func.return %y, %a : tensor<2xf32>, tensor<2xf32>
}
"""


@pytest.mark.parametrize("names", [("gpu_0/data_0", "data.0"), ("a", "b"), ("gpu_0/data_0", "arg1")])
@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_names_of_the_model_are_those_of_inputs_and_outputs(
    folder: Folder, names: tuple[str, str], backend: str
) -> None:
    if backend == "llvm":
        pytest.importorskip("llvmlite")
    module = folder.file("named.mlir", NAMED)
    values = np.array([3, 4], np.float32), np.array([1, 2], np.float32)
    inputs = folder.arrays("in.npz", **dict(zip(names, values, strict=True)))
    outputs, report = str(folder.path / "out.npz"), str(folder.path / "out.json")
    options = ["--backend", backend, "--no-cache"]
    assert folder.run(module, "--inputs", inputs, "--outputs", outputs, "--json", report, *options).code == 0
    with np.load(outputs, allow_pickle=False) as arrays:
        assert arrays.files == ["out:0", "result1"]
        np.testing.assert_array_equal(arrays["out:0"], [2, 2])
    assert json.loads((folder.path / "out.json").read_text())["outputs"] == ["out:0", "result1"]
    table = folder.run(module, "--inputs", inputs).out
    assert table == "out:0: tensor<2xf32> = [2.0, 2.0]\nresult1: tensor<2xf32> = [3.0, 4.0]\n"


def test_an_input_that_is_missing_is_named_as_in_the_model(folder: Folder) -> None:
    inputs = folder.arrays("in.npz", **{"data.0": X, "other": X})
    result = folder.run(folder.file("named.mlir", NAMED), "--inputs", inputs)
    assert "no input 'gpu_0/data_0' ('a') among 'data.0', 'other'" in result.err


def test_names_of_the_model_that_others_have_in_the_ir_count_when_all_are_given(folder: Folder) -> None:
    module = folder.file("named.mlir", NAMED.replace("gpu_0/data_0", "b").replace("data.0", "a"))
    inputs = folder.arrays("in.npz", a=np.array([1, 1], np.float32), b=np.array([5, 6], np.float32))
    assert "out:0: tensor<2xf32> = [4.0, 5.0]" in folder.run(module, "--inputs", inputs).out


TINY = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %f = arith.constant dense<FACTOR> : tensor<f32>
  %y = fuse.multiply %x, %f : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"""


def test_small_outputs_are_compared_with_their_own_greatest_element(folder: Folder) -> None:
    one, other = (folder.file(f"{name}.mlir", TINY.replace("FACTOR", name)) for name in ("1.0e-9", "1.1e-9"))
    result = folder.run(one, "--random-inputs", "0", "--compare-with", other)
    assert result.code == 1
    assert "1 of 1 outputs differ beyond atol 1e-05 of the greatest element and rtol 0.0001" in result.err


def test_a_tolerance_that_lets_anything_pass_is_said_to(folder: Folder) -> None:
    one, other = (folder.file(f"{name}.mlir", TINY.replace("FACTOR", name)) for name in ("1.0e-9", "1.1e-9"))
    result = folder.run(one, "--random-inputs", "0", "--compare-with", other, "--atol", "1e-5")
    assert result.code == 0
    assert "note: the greatest element of result0 is " in result.out
    assert "within --atol 1e-05 of 0: this shows little" in result.out


def test_a_member_that_is_no_array_is_an_error(folder: Folder, module: str) -> None:
    objects = folder.arrays("objects.npz", x=np.array([{}], object), index=INDEX)
    assert "Object arrays cannot be loaded" in folder.run(module, "--inputs", objects).err
    junk = folder.arrays("junk.npz", x=X)
    with zipfile.ZipFile(junk, "a") as archive:
        archive.writestr("index.npy", b"no array at all")
    result = folder.run(module, "--inputs", junk)
    assert result.code == 1
    assert "junk.npz: error: cannot read the arrays: 'index' is no array" in result.err


def test_a_member_that_expands_to_more_than_a_value_may_take_is_not_read(folder: Folder, module: str) -> None:
    np.savez_compressed(folder.path / "bomb.npz", x=np.zeros((2, 1 << 20), np.float32), index=INDEX)
    assert (folder.path / "bomb.npz").stat().st_size < 1 << 16
    arguments = (module, "--inputs", str(folder.path / "bomb.npz"), "--max-value-bytes", str(1 << 20))
    result = folder.run(*arguments)
    assert result.code == 1
    assert "'x.npy' takes 8388736 bytes, more than the 1048576 that one value may take" in result.err
