"""What the loggers say, and who hears it."""

import logging
import os
import subprocess
import sys
from collections.abc import Generator

import numpy as np
import pytest

import fuse_dialect as fd
from fuse_dialect import logs

SOFTMAX = "docs/examples/softmax.mlir"
DYNAMIC = """
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = fuse.exp %x : tensor<?xf32>
  return %y : tensor<?xf32>
}"""


@pytest.fixture(autouse=True)
def levels() -> Generator[None]:
    """Loggers are as before afterwards, and nobody has listened before."""
    loggers = [logging.getLogger(f"fuse_dialect.{topic}") for topic in logs.TOPICS]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.NOTSET)
    yield
    for logger, level in zip(loggers, before, strict=True):
        logger.setLevel(level)
        logger.handlers.clear()


def of(caplog: pytest.LogCaptureFixture, topic: str) -> list[str]:
    """What was said of a topic."""
    return [record.getMessage() for record in caplog.records if record.name == f"fuse_dialect.{topic}"]


def test_nobody_hears_what_nobody_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    fd.compile(fd.read(SOFTMAX), backend="numpy")
    assert [logs.heard(topic) for topic in logs.TOPICS] == [None] * len(logs.TOPICS)
    assert not caplog.records


def test_fusion_and_compilation_say_what_they_did(caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("llvmlite")
    caplog.set_level("INFO", "fuse_dialect")
    fd.compile(fd.read(SOFTMAX), strategy="tvm")
    assert of(caplog, "fusion")[0].startswith("operators: 5, kernels: 4, strategy: tvm")
    (first,) = of(caplog, "compile")
    assert "'main' for llvm" in first
    assert "2 rows, 2 map" in first
    fd.compile(fd.read(SOFTMAX), strategy="tvm")
    assert "4 from the cache, 0 compiled; bytes: 0 of constants" in of(caplog, "compile")[1]


def test_each_kernel_is_named_in_detail(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "fuse_dialect")
    fd.compile(fd.read(SOFTMAX), backend="numpy", strategy="tvm")
    assert "kernel: fuse.subtract, fuse.exp" in of(caplog, "fusion")
    assert any(text.startswith("fused_sum: numpy, ") for text in of(caplog, "compile"))


def test_sizes_that_are_compiled_for_are_named(caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("llvmlite")
    caplog.set_level("INFO", "fuse_dialect.sizes")
    fd.compile(fd.parse(DYNAMIC)).specialize(np.zeros(3, np.float32))
    (text,) = of(caplog, "sizes")
    assert text.startswith("a program for inputs of 3 was made in")


def test_an_unknown_topic_is_a_warning_that_names_all(caplog: pytest.LogCaptureFixture) -> None:
    logs.listen("fusion, speed,+compile")
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage() == ("FUSE_LOG has no topic 'speed': there are fusion, compile, sizes, pytorch, all")
    assert logs.heard("fusion") is not None
    assert logs.heard("fusion", in_detail=True) is None
    assert logs.heard("compile", in_detail=True) is not None
    assert logs.heard("sizes") is None


def test_what_was_asked_for_twice_is_said_once_and_in_detail() -> None:
    logs.listen("+all,fusion")
    logs.listen("all")
    for topic in logs.TOPICS:
        assert logs.heard(topic, in_detail=True) is not None
        assert len(logging.getLogger(f"fuse_dialect.{topic}").handlers) == 1


PROGRAM = """
import sys, fuse_dialect as fd
fd.fuse_ops(fd.read("docs/examples/softmax.mlir"))
import logging
print(logging.root.handlers)
logging.basicConfig(format="mine: %(message)s")
fd.fuse_ops(fd.read("docs/examples/softmax.mlir"))
"""


@pytest.mark.parametrize("asked", ["", "fusion"])
def test_the_variable_writes_to_standard_error_unless_the_program_does(asked: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "FUSE_LOG": asked},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.endswith("[]\n"), "the root logger stays as it is"
    lines = done.stderr.splitlines()
    assert [line.partition(",")[0] for line in lines] == (
        ["fuse_dialect.fusion: operators: 5", "mine: operators: 5"] if asked else []
    )


def test_the_package_alone_imports_no_logging() -> None:
    code = "import sys, fuse_dialect; print('logging' in sys.modules)"
    environment = {name: value for name, value in os.environ.items() if name != "FUSE_LOG"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
