"""What SECURITY.md says of files, processes and the network, seen by an audit hook of the interpreter."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

_AUDITED = """
import json, os, sys
import xdsl.interpreter  # it starts the program `file` to learn how wide a pointer is, whatever the model

seen = {"read": [], "written": [], "other": []}
OTHER = ("socket.", "subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.fork", "pickle.", "urllib.", "ftplib.")

def hook(name, args):
    if name == "open" and isinstance(args[0], (str, bytes)):
        writes = args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        seen["written" if writes else "read"].append(os.path.realpath(os.fsdecode(args[0])))
    elif name in ("os.rename", "os.remove", "os.mkdir", "os.link", "os.symlink"):
        paths = [path for path in args[:2] if isinstance(path, (str, bytes))]
        seen["written"].extend(os.path.realpath(os.fsdecode(path)) for path in paths)
    elif name.startswith(OTHER):
        seen["other"].append(name)

tool, report, *arguments = sys.argv[1:]
module = __import__(f"fuse_dialect.tools.{tool}", fromlist=["main"])
sys.addaudithook(hook)
status = module.main(arguments)
touched = json.dumps(seen)
os.write(os.open(report, os.O_WRONLY | os.O_CREAT), touched.encode())
sys.exit(status)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a model, its data, and files that are nobody's business."""
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
    weight.external_data.add(key="location", value="w.bin")
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", value[:1], value[1:], [weight])
    opsets = [helper.make_opsetid("", 18)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "x.onnx").write_bytes(model.SerializeToString())
    (tmp_path / "model" / "w.bin").write_bytes(np.ones(4, np.float32).tobytes())
    (tmp_path / "model" / "x.mlir").write_text(
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  %y = fuse.relu %x : tensor<4xf32>\n"
        "  return %y : tensor<4xf32>\n}\n"
    )
    np.savez(tmp_path / "model" / "in.npz", x=np.ones(4, np.float32))
    for decoy in ("secret.bin", "model/other.onnx", "model/hidden.mlir", "model/x.onnx.data"):
        (tmp_path / decoy).write_text("secret")
    (tmp_path / "out").mkdir()
    return tmp_path


def _touched(folder: Path, tool: str, *arguments: str) -> dict[str, list[str]]:
    """What below the folder was read and written, and all else that was done."""
    environment = {**os.environ, "FUSE_CACHE_DIR": str(folder / "cache"), "HOME": str(folder)}
    command = [sys.executable, "-c", _AUDITED, tool, str(folder / "report"), *arguments]
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    seen = json.loads((folder / "report").read_text())
    root = os.path.realpath(folder)
    below = {
        how: sorted({os.path.relpath(path, root) for path in seen[how] if path.startswith(root)})
        for how in ("read", "written")
    }
    elsewhere = [path for path in seen["written"] if not path.startswith(root) and path != os.devnull]
    return {**below, "elsewhere": elsewhere, "other": seen["other"]}


_NATIVE = pytest.mark.skipif(find_spec("llvmlite") is None, reason="needs llvmlite")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tool", "arguments", "read", "written"),
    [
        ("fuse_opt", ["model/x.mlir", "--fuse-ops", "-o", "out/y.mlir"], ["model/x.mlir"], "out/"),
        ("fuse_opt", ["model/x.onnx", "--fuse-ops", "-o", "out/y.mlir"], ["model/w.bin", "model/x.onnx"], "out/"),
        (
            "fuse_run",
            ["model/x.onnx", "--inputs", "model/in.npz", "--outputs", "out/y.npz"],
            ["model/in.npz", "model/w.bin", "model/x.onnx"],
            "out/",
        ),
        pytest.param(
            "fuse_run",
            ["model/x.mlir", "--random-inputs", "0", "--backend", "llvm", "--no-cache"],
            ["model/x.mlir"],
            None,
            marks=_NATIVE,
        ),
    ],
)
def test_only_files_that_are_named_are_read_and_written(folder, tool, arguments, read, written):
    touched = _touched(folder, tool, *arguments)
    assert touched["read"] == read
    assert touched["elsewhere"] == []
    assert touched["other"] == []
    assert all(written is not None and path.startswith(written) for path in touched["written"])
    assert sorted(path.name for path in (folder / "out").iterdir()) == ([Path(arguments[-1]).name] if written else [])
    assert bool(touched["written"]) == (written is not None)


@_NATIVE
@pytest.mark.slow
def test_machine_code_is_kept_in_the_cache_alone(folder):
    touched = _touched(folder, "fuse_run", "model/x.mlir", "--random-inputs", "0", "--backend", "llvm")
    assert touched["elsewhere"] == []
    assert touched["other"] == []
    assert touched["written"]
    assert all(path.startswith("cache") for path in touched["written"])
    assert all(path == "model/x.mlir" or path.startswith("cache") for path in touched["read"])
