"""The benchmark of start-up: what it prints. No time is asserted."""

import subprocess
import sys
from pathlib import Path

import bench_startup
import numpy as np
import pytest


def test_the_middle_run_counts_and_the_greatest_memory() -> None:
    runs = [(3.0, 2.0, 5.0, 100.0), (1.0, 4.0, 6.0, 300.0), (2.0, 3.0, 4.0, 200.0)]
    assert bench_startup._middle(runs) == (2.0, 3.0, 5.0, 300.0)


def test_a_row_says_what_was_measured() -> None:
    rows = [("cold", (1.5, 1.25, 2.0, 100.4)), ("cached", (0.2, 0.1, 0.3, 60.0))]
    text = bench_startup.table(Path("a/net.onnx"), rows)
    assert text.splitlines() == [
        "| net | cold | 1.50 s | 1.25 s | 2.00 s | 100 MiB |",
        "| net | cached | 0.20 s | 0.10 s | 0.30 s | 60 MiB |",
    ]


@pytest.mark.slow
def test_a_model_is_measured_cold_and_from_the_cache(tmp_path: Path) -> None:
    pytest.importorskip("llvmlite")
    model = tmp_path / "net.mlir"
    model.write_text(
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %y = fuse.exp %x : tensor<4xf32>\n  return %y : tensor<4xf32>\n}\n"
    )
    np.savez(tmp_path / "net.0.npz", x=np.zeros(4, np.float32))
    (tmp_path / "cache").mkdir()
    for _ in range(2):
        run = bench_startup.measured(sys.executable, bench_startup._OURS, model, 1, tmp_path / "cache")
        assert all(number > 0 for number in run)
    assert list((tmp_path / "cache" / "code").glob("*.fuse"))
    with pytest.raises(subprocess.CalledProcessError):
        bench_startup.measured(sys.executable, "raise SystemExit(3)", model, 1, tmp_path / "cache")
