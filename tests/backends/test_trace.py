"""When kernels ran, and on which thread; the roofline as a picture; how far compiling has come."""

import json
from io import StringIO
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import fuse_dialect as fd
from fuse_dialect.backends.runtime.kernel_timing import KernelReport, KernelTiming
from fuse_dialect.backends.runtime.roofline import Limits
from fuse_dialect.backends.runtime.roofline_picture import MOST_NAMED, roofline_svg
from fuse_dialect.backends.runtime.trace import Trace
from fuse_dialect.tools.fuse_run import main
from fuse_dialect.tools.progress import ProgressLine, progress_line

pytest.importorskip("llvmlite")

TEXT = """
func.func @main(%x: tensor<256x512xf32>, %w: tensor<512x512xf32>) -> (tensor<256x512xf32>, tensor<256x512xf32>) {
  %y = fuse.matmul %x, %w : (tensor<256x512xf32>, tensor<512x512xf32>)
  %z = fuse.relu %y : tensor<256x512xf32>
  %s = fuse.sort %z : tensor<256x512xf32>
  %e = fuse.exp %s : tensor<256x512xf32>
  return %z, %e : tensor<256x512xf32>, tensor<256x512xf32>
}
"""


def inputs() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.random((256, 512), np.float32), rng.random((512, 512), np.float32)]


def check_nesting(trace: Trace) -> None:
    """Every kernel is inside a run, and kernels of one thread do not overlap."""
    runs = [event for event in trace.events if event.kernel < 0]
    for event in trace.events:
        around = runs[event.run]
        assert around.start <= event.start + 1e-6
        assert event.start + event.seconds <= around.start + around.seconds + 1e-5
    for thread in {event.thread for event in trace.events}:
        own = [event for event in trace.events if event.thread == thread and event.kernel >= 0]
        assert all(one.start + one.seconds <= two.start + 1e-6 for one, two in pairwise(own))


@pytest.mark.parametrize("threads", [1, 2])
def test_every_part_of_every_kernel_is_noted_in_each_run(threads: int):
    program = fd.compile(fd.parse(TEXT), threads=threads)
    expected = program(*inputs())
    trace = program.trace(*inputs(), repeat=4)
    check_nesting(trace)
    assert sum(event.kernel < 0 for event in trace.events) == 4
    for run in range(4):
        parts: dict[int, list[int]] = {}
        for event in trace.events:
            if event.run == run and event.kernel >= 0:
                parts.setdefault(event.kernel, []).append(event.part)
                assert event.parts in (1, threads)
        assert len(parts) == len(program.kernels)
        assert all(sorted(each) == list(range(len(each))) for each in parts.values())
    for got, want in zip(program(*inputs()), expected, strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("threads", [1, 2])
def test_kernels_in_loops_are_noted_in_each_iteration(threads: int):
    type = "tensor<3x4xf32>"
    text = f"""func.func @main(%h: {type}, %x: tensor<7x3x4xf32>) -> ({type}, tensor<7x3x4xf32>) {{
  %last, %all = fuse.loop states(%h : {type}) rows(%x : tensor<7x3x4xf32>) -> ({type}, tensor<7x3x4xf32>) {{
  ^bb0(%i: tensor<i64>, %state: {type}, %row: {type}):
    %sum = fuse.add %state, %row : {type}
    %next = fuse.tanh %sum : {type}
    fuse.yield %next, %next : {type}, {type}
  }}
  return %last, %all : {type}, tensor<7x3x4xf32>
}}
"""
    program = fd.compile(fd.parse(text), threads=threads)
    trace = program.trace(np.ones((3, 4), np.float32), np.ones((7, 3, 4), np.float32), repeat=2)
    check_nesting(trace)
    assert [event.run for event in trace.events if event.kernel >= 0 and event.part == 0] == [0] * 7 + [1] * 7


def test_kernels_that_may_find_a_fault_are_noted():
    text = """func.func @main(%x: tensor<4xf32>, %i: tensor<2xi64>) -> tensor<2xf32> {
  %g = fuse.gather %x, %i, axis = 0 : (tensor<4xf32>, tensor<2xi64>)
  %e = fuse.exp %g : tensor<2xf32>
  func.return %e : tensor<2xf32>
}
"""
    program = fd.compile(fd.parse(text), cache=False, threads=2)
    values = np.arange(4, dtype=np.float32)
    trace = program.trace(values, np.array([1, 2]), repeat=2)
    check_nesting(trace)
    assert [trace.kernels[event.kernel].name for event in trace.events if event.kernel >= 0] == ["fused_gather_exp"] * 2
    with pytest.raises(fd.FuseError):
        program.trace(values, np.array([1, 9]))


def test_events_say_ops_bytes_and_flops():
    program = fd.compile(fd.parse(TEXT))
    rows = program.trace(*inputs(), repeat=1).as_json()["traceEvents"]
    by_name = {row["name"]: row for row in rows if row["ph"] == "X"}
    matmul = by_name["fused_matmul_relu"]
    reports = {report.name: report for report in program.kernels}
    assert matmul["args"] == {
        "ops": "matmul + relu",
        "bytes": reports["fused_matmul_relu"].bytes,
        "flops": 2 * 256 * 512 * 512 + 256 * 512,
    }
    assert all(row["cat"] == reports[name].family for name, row in by_name.items() if name in reports)
    assert {row["args"]["name"] for row in rows if row["name"] == "thread_name"} == {"caller"}
    assert all({"name", "ph", "pid", "tid"} <= row.keys() for row in rows)
    assert all(row["dur"] >= 0 and row["ts"] >= 0 for row in rows if row["ph"] == "X")


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_what_python_runs_step_by_step_is_noted_too(backend: str):
    text = """func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %e = fuse.exp %x : tensor<?xf32>
  %m = fuse.greater %e, %x : tensor<?xf32>
  %i = fuse.argwhere %m : (tensor<?xi1>)
  %f = fuse.cast %i : (tensor<?x1xi64>) -> tensor<?x1xf32>
  %s = fuse.sum %f, axes = [1] : (tensor<?x1xf32>)
  return %s : tensor<?xf32>
}
"""
    program = fd.compile(fd.parse(text), backend=backend)
    trace = program.trace(np.ones(5, np.float32), repeat=2)
    check_nesting(trace)
    named = {trace.kernels[event.kernel].name for event in trace.events if event.kernel >= 0}
    assert any("argwhere" in name for name in named)


def test_a_number_of_runs_that_is_none():
    program = fd.compile(fd.parse(TEXT))
    with pytest.raises(fd.FuseError, match="expected 1 to"):
        program.trace(*inputs(), repeat=0)


def measured(count: int) -> list[KernelTiming]:
    return [
        KernelTiming(KernelReport(f"k<{n}>&", ("exp",), "map", "", 1, 1000 * n, 10**n), (1e-6 * (n + 1),), 1e-7)
        for n in range(count)
    ]


def test_the_roofline_is_a_picture_of_all_kernels_that_compute():
    svg = roofline_svg(measured(6), 1, 2, 'a "model" <b>', Limits(2e10, 1e11))
    root = ElementTree.fromstring(svg)
    circles = [each for each in root.iter() if each.tag.endswith("circle")]
    assert len(circles) == 5  # the first moves no bytes
    texts = "".join(root.itertext())
    assert "k<5>&: " in texts
    assert "without 1 of no arithmetic" in texts
    assert "100 GFLOP/s, 20.0 GB/s" in texts
    x0, y0, width, height = map(float, root.attrib["viewBox"].split())
    assert all(x0 < float(each.attrib["cx"]) < width and y0 < float(each.attrib["cy"]) < height for each in circles)


def test_the_list_of_the_roofline_ends():
    texts = "".join(ElementTree.fromstring(roofline_svg(measured(14), 1, 2, "m", Limits(2e10, 1e11))).itertext())
    assert f"and {13 - MOST_NAMED} more" in texts


def test_trace_and_roofline_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    module, trace, roof = tmp_path / "m.mlir", tmp_path / "t.json", tmp_path / "r.svg"
    module.write_text(TEXT)
    command = [str(module), "--random-inputs", "0", "--backend", "llvm", "--benchmark", "9"]
    assert main([*command, "--trace", str(trace), "--roofline", str(roof)]) == 0
    rows = json.loads(trace.read_text())["traceEvents"]
    assert [row["name"] for row in rows if row.get("cat") == "run"] == [f"run {n}" for n in range(1, 6)]
    assert ElementTree.parse(roof).getroot().tag.endswith("svg")
    assert "GFLOP/s" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--trace", "--roofline"])
def test_without_a_benchmark_there_is_nothing_to_write(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "m.mlir"
    path.write_text(TEXT)
    assert main([str(path), "--random-inputs", "0", option, str(tmp_path / "out")]) == 2
    assert f"argument {option}: what runs is measured with --benchmark N" in capsys.readouterr().err
    assert main([str(path), "--random-inputs", "0", "--benchmark", "1", option, str(tmp_path / "no" / "out")]) == 1
    assert "cannot write the output" in capsys.readouterr().err


def test_compiling_says_which_kernel_is_begun():
    told: list[tuple[int, int, str]] = []
    program = fd.compile(fd.parse(TEXT), cache=False, progress=lambda *what: told.append(what))
    total = told[0][1]
    assert [done for done, _, _ in told] == list(range(total + 1))
    assert "fused_matmul_relu" in {name for _, _, name in told}
    assert told[-1] == (total, total, "")
    assert [kernel.name for kernel in program.kernels if kernel.family != "numpy"]


def test_a_line_on_a_terminal_comes_and_goes():
    stream = StringIO()
    line = ProgressLine(stream, quiet_seconds=0)
    line(0, 3, "fused_exp")
    line(3, 3, "")
    line.erase()
    assert stream.getvalue() == "\r\x1b[Kkernel 1 of 3: fused_exp\r\x1b[K"


def test_a_program_that_is_compiled_at_once_is_silent():
    stream = StringIO()
    line = ProgressLine(stream)
    line(0, 3, "fused_exp")
    line.erase()
    assert stream.getvalue() == ""


def test_a_pipe_is_told_nothing(capsys: pytest.CaptureFixture[str]):
    with progress_line() as progress:
        assert progress is None
