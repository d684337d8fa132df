"""Files of kinds on command lines and in Python."""

import json
from pathlib import Path

import numpy as np
import pytest

import fuse_dialect as fd
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.tools import fuse_opt, fuse_run

TEXT = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "npu.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "npu.gelu"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
"""
OURS = TEXT.replace('"npu.exp"(%x) : (tensor<4xf32>) ->', "fuse.exp %x :").replace(
    '"npu.gelu"(%0) : (tensor<4xf32>) ->', "fuse.relu %0 :"
)
NPU = '[[op]]\nname = "npu.*"\nkind = "elemwise"\n'
IDLE = NPU + '[[op]]\nname = "tpu.*"\nkind = "elemwise"\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in {"x.mlir": TEXT, "ours.mlir": OURS, "npu.toml": NPU, "idle.toml": IDLE}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "wrong.toml").write_text(NPU.replace("elemwise", "elementwise"))
    (tmp_path / "other.toml").write_text(NPU.replace("elemwise", "opaque"))
    (tmp_path / "ours.toml").write_text('[[op]]\nname = "fuse.relu"\nkind = "opaque"\n')
    return tmp_path


def fused(module: object) -> bool:
    return "@fused_exp_gelu" in str(module)


OPT = ["x.mlir", "--allow-unregistered-dialect", "--fuse-ops"]


def test_fuse_opt_takes_kinds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fuse_opt.main([*OPT, "--kinds", "npu.toml"]) == 0
    captured = capsys.readouterr()
    assert fused(captured.out)
    assert captured.err == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--kinds", "wrong.toml"], "wrong.toml:3: error: unknown pattern kind 'elementwise'\nhint: did you mean"),
        (["--kinds", "npu.toml", "--kinds=other.toml"], "other.toml:1: error: 'npu.*' is said to be opaque here, and"),
        (["--kinds", "none.toml"], "error: cannot read file of kinds 'none.toml': No such file"),
        (
            ["--kinds", "npu.toml", "-o", "npu.toml"],
            "npu.toml: error: --output-file would overwrite the file of --kinds",
        ),
        (["--irdl", "x.mlir"], "x.mlir:2:8: error: operation 'npu.exp' is not registered"),
        (["--irdl", "ours.mlir", "-o", "ours.mlir"], "ours.mlir:1:1: error: 'func.func' op stands in a file of dial"),
    ],
)
def test_a_wrong_file_is_an_error_without_traceback(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert fuse_opt.main([*OPT, *words]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith(message)
    assert captured.out == ""
    assert (folder / "npu.toml").read_text() == NPU


def test_a_row_for_no_op_is_a_warning_once_for_all_parts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "parts.mlir").write_text(f"func.func private @f()\n// -----\n{TEXT}")
    words = ["parts.mlir", *OPT[1:], "--split-input-file", "--kinds", "idle.toml"]
    assert fuse_opt.main(words) == 0
    assert capsys.readouterr().err == "idle.toml:4: warning: no op with a result has the name 'tpu.*'\n"


def test_stories_statistics_and_comparisons_know_kinds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["x.mlir", "--allow-unregistered-dialect", "--kinds", "npu.toml"]
    assert fuse_opt.main([*words, "--explain", "%0"]) == 0
    assert "the attribute fuse.pattern_kind on the op" in capsys.readouterr().out
    assert fuse_opt.main([*words, "--compare-pipelines", "fuse-ops", "fuse-ops{max-depth=1}"]) == 0
    assert "exp + gelu" in capsys.readouterr().out


def test_a_reproducer_needs_no_files_of_kinds_but_names_dialects(folder: Path) -> None:
    one = "irdl.operation @{} {{\n %0 = irdl.any\n irdl.operands(x: %0)\n irdl.results(y: %0)\n}}\n"
    (folder / "npu.irdl").write_text("irdl.dialect @npu {\n" + one.format("exp") + one.format("gelu") + "}\n")
    words = ["x.mlir", "--irdl", "npu.irdl", "--kinds", "npu.toml", "--fuse-ops=strategy=none-such"]
    assert fuse_opt.main([*words, "--mlir-pass-pipeline-crash-reproducer", "again.mlir"]) == 1
    again = (folder / "again.mlir").read_text()
    assert "--irdl npu.irdl" in again.splitlines()[0] + again.splitlines()[1]
    assert "fuse.pattern_kind = #fuse.pattern_kind<elemwise>" in again


def test_fuse_run_plans_with_kinds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["ours.mlir", "--backend", "numpy", "--fuse-ops", "strategy=tvm", "--random-inputs", "0"]
    counts: list[int] = []
    for more in ([], ["--kinds", "ours.toml"]):
        assert fuse_run.main([*words, *more, "--json", "times.json", "--benchmark", "1"]) == 0, capsys.readouterr().err
        counts.append(len(json.loads((folder / "times.json").read_text())["kernels"]))
    assert counts == [1, 2]


def test_fuse_run_warns_of_rows_for_no_op(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fuse_run.main(["ours.mlir", "--random-inputs", "0", "--kinds", "npu.toml"]) == 0
    assert capsys.readouterr().err == "npu.toml:1: warning: no op with a result has the name 'npu.*'\n"


def test_reading_takes_kinds(folder: Path) -> None:
    for module in (
        fd.parse(TEXT, allow_unregistered=True, kinds="npu.toml"),
        fd.read("x.mlir", allow_unregistered=True, kinds=[folder / "npu.toml"]),
    ):
        assert fused(fd.fuse_ops(module))


def test_operators_of_other_onnx_domains_have_kinds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx = pytest.importorskip("onnx")
    x, y, z = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [4]) for name in "xyz")
    nodes = [
        onnx.helper.make_node("Gelu", ["x"], ["y"], domain="com.acme"),
        onnx.helper.make_node("Relu", ["y"], ["z"]),
    ]
    graph = onnx.helper.make_graph(nodes, "g", [x], [z], value_info=[y])
    domains = [onnx.helper.make_opsetid("", 18), onnx.helper.make_opsetid("com.acme", 1)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=domains, ir_version=9), "x.onnx")
    (folder / "acme.toml").write_text(NPU.replace("npu.*", "onnx.com.acme.*"))
    words = ["x.onnx", "--allow-unsupported-onnx", "--fuse-ops"]
    for more, name in (([], "@fused_relu("), (["--kinds", "acme.toml"], "_relu(")):
        assert fuse_opt.main([*words, *more]) == 0
        assert name in capsys.readouterr().out
    assert fuse_opt.main([*words, "--kinds", "acme.toml"]) == 0
    assert "@fused_relu(" not in capsys.readouterr().out


def test_fusing_and_planning_take_kinds(folder: Path) -> None:
    module = fd.parse(TEXT, allow_unregistered=True)
    assert fd.plan_fusion(module).groups == ()
    (group,) = fd.plan_fusion(module, kinds=folder / "npu.toml").groups
    assert len(group.ops) == 2
    assert fused(fd.fuse_ops(fd.parse(TEXT, allow_unregistered=True), kinds=["npu.toml", "npu.toml"]))


def test_the_kinds_of_a_module_count_in_plans() -> None:
    kinds = '{fuse.kinds = [{name = "npu.*", kind = #fuse.pattern_kind<elemwise>}]}'
    module = fd.parse(f"module attributes {kinds} {{\n{TEXT}}}", allow_unregistered=True)
    assert len(fd.plan_fusion(module).groups) == 1


def test_rows_for_no_op_are_warnings_where_python_is_called(folder: Path) -> None:
    with pytest.warns(RuntimeWarning, match=r"^idle.toml:4: no op with a result has the name 'tpu\.\*'$") as caught:
        fd.parse(TEXT, allow_unregistered=True, kinds="idle.toml")
    assert caught[0].filename == __file__
    with pytest.warns(RuntimeWarning, match="tpu") as caught:
        fd.plan_fusion(fd.parse(TEXT, allow_unregistered=True), kinds="idle.toml")
    assert caught[0].filename == __file__


def test_what_is_wrong_is_an_error_in_python_too(folder: Path) -> None:
    with pytest.raises(FuseError, match=r"^wrong.toml:3: error: unknown pattern kind 'elementwise'"):
        fd.parse(TEXT, allow_unregistered=True, kinds="wrong.toml")
    (folder / "edges.toml").write_text(NPU + 'edges = ["elemwise", "elemwise"]\n')
    with pytest.raises(FuseError, match=r"^<string>:2:8: error: 'npu.exp' op has 1 operand, and edges.toml:1 gives 2"):
        fd.parse(TEXT, allow_unregistered=True, kinds="edges.toml")


def test_kinds_change_no_result(folder: Path) -> None:
    x = np.linspace(-1, 1, 4, dtype=np.float32)
    want = fd.run(fd.parse(OURS), x)[0]
    np.testing.assert_array_equal(fd.run(fd.fuse_ops(fd.parse(OURS), kinds="ours.toml"), x)[0], want)
