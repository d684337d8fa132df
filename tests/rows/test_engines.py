"""The code that `docs/how-to/score-many-rows.md` shows for Ray and Spark gives what the program gives."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fuse_dialect as fd

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.slow

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "score-many-rows.md"
TEXT = """
func.func @main(%x: tensor<64x3xf32>) -> tensor<64xf32> {
  %w = arith.constant dense<[[0.5, 1.0, 2.0]]> : tensor<1x3xf32>
  %p = fuse.dense %x, %w : (tensor<64x3xf32>, tensor<1x3xf32>)
  %r = fuse.reshape %p : (tensor<64x1xf32>) -> tensor<64xf32>
  %s = fuse.sigmoid %r : tensor<64xf32>
  return %s : tensor<64xf32>
}
"""
RAY = """
if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    x = np.load("x.npy")
    found = score_with_ray(os.path.abspath("m.fuse"), x).to_pandas()
    expected = np.load("expected.npy")
    values = np.sort(found["result0"].to_numpy())
    assert values.tobytes() == np.sort(expected).tobytes(), (values[:4], np.sort(expected)[:4])
    print("ray ok", len(values))
"""
KILLED = """
import signal

class KilledOnce(Score):
    calls = 0

    def __call__(self, batch):
        self.calls += 1
        if self.calls == 2 and not os.path.exists(MARK):
            open(MARK, "x").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(batch)

MARK = os.path.abspath("killed")
Score = KilledOnce
"""
SPARK = """
if __name__ == "__main__":
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    x = np.load("x.npy")
    frame = spark.createDataFrame(pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "n": range(len(x))}))
    found = score_with_spark(os.path.abspath("m.fuse"), frame, ["a", "b", "c"]).orderBy("n").toPandas()
    assert found["score"].to_numpy(np.float32).tobytes() == np.load("expected.npy").tobytes()
    print("spark ok", len(found))
"""


def block(word: str) -> str:
    """The code of the page that has a word."""
    found = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return next(each for each in found if word in each)


def run(folder: Path, word: str, use: str) -> str:
    x = np.random.default_rng(0).standard_normal((5000, 3)).astype(np.float32)
    program = fd.compile(fd.parse(TEXT))
    program.save(folder / "m.fuse")
    np.save(folder / "x.npy", x)
    np.save(folder / "expected.npy", fd.map_rows(program, x))
    (folder / "script.py").write_text("import os\n" + block(word) + use)
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=folder, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("before", ["", KILLED], ids=["whole", "killed"])
def test_ray(tmp_path: Path, before: str) -> None:
    pytest.importorskip("ray.data")
    assert "ray ok 5000" in run(tmp_path, "import ray", before + RAY)
    assert (tmp_path / "killed").exists() == bool(before)


def test_spark(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    assert "spark ok 5000" in run(tmp_path, "pandas_udf", SPARK)
