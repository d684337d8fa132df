"""Same input, same bytes out, whatever the hashes of strings are."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FUSE_OPT = Path(sys.executable).parent / "fuse-opt"
INPUTS = (
    ROOT / "docs" / "examples" / "tiny_cnn.onnx",
    ROOT / "tests" / "filecheck" / "transforms" / "fuse-ops" / "outlining.mlir",
)


@pytest.mark.slow
@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.name)
def test_output_does_not_depend_on_hash_seeds(path: Path) -> None:
    command = [str(FUSE_OPT), "--simplify-inference", "--fuse-ops", "--print-debuginfo", str(path)]
    outputs = {
        subprocess.run(
            command, env={**os.environ, "PYTHONHASHSEED": str(seed)}, capture_output=True, check=True, timeout=120
        ).stdout
        for seed in range(5)
    }
    assert len(outputs) == 1
    assert b"@fused_" in outputs.pop()
