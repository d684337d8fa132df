"""Broken input never gives a traceback, and never anything on stdout."""

import io
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuse_dialect.tools.fuse_opt import main

PROGRAM = b"""\
#loc = loc("f.py":1:2)
!t = tensor<4x?xf32>
func.func @f(%x: tensor<4xf32>, %c: i1) -> (tensor<4xf32>, f32) attributes {a = [1, "s\\0A", @g::@h]} {
  %0 = arith.constant dense<[1.0, 0x7F800000, -2.0e1, 3.]> : tensor<4xf32>
  %1 = "arith.addf"(%x, %0) <{fastmath = #arith.fastmath<none>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = arith.constant dense<(1.0, 2.0)> : tensor<2xcomplex<f32>>
  %3 = scf.if %c -> (f32) {
    %4 = arith.constant 0xFF800000 : f32
    scf.yield %4 : f32
  } else {
    %5 = arith.constant 1.5e-3 : f32
    scf.yield %5 : f32
  }
  "test.op"() {m = affine_map<(d0, d1) -> (d0 + 3, d1)>, d = array<i32: 1, 2>, t = tuple<i1, index>} : () -> ()
  return %1, %3 : tensor<4xf32>, f32
}
{-# dialect_resources: {builtin: {blob: "0x08"}} #-}
"""

FUZZ = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return tmp_path / "fuzz.mlir"


def check(source: Path, data: bytes) -> None:
    source.write_bytes(data)
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main([str(source), "--allow-unregistered-dialect"])
    assert status in (0, 1)
    assert "Traceback" not in err.getvalue()
    assert "internal error" not in err.getvalue()
    assert (status == 1) == err.getvalue().startswith(str(source))
    assert (status == 1) == (out.getvalue() == "")


def test_program_itself_is_accepted(source: Path):
    check(source, PROGRAM)
    source.write_bytes(PROGRAM)
    assert main([str(source)]) == 0


@pytest.mark.slow
@FUZZ
@given(length=st.integers(0, len(PROGRAM)))
def test_truncated_program(source: Path, length: int):
    check(source, PROGRAM[:length])


@FUZZ
@given(data=st.binary(max_size=200))
def test_random_bytes(source: Path, data: bytes):
    check(source, data)


@pytest.mark.slow
@FUZZ
@given(
    start=st.integers(0, len(PROGRAM)),
    length=st.integers(0, 12),
    replacement=st.text('{}[]()<>"%#!@^:,=-0123456789xabcdef.*/?\\ \n', max_size=6),
)
def test_edited_program(source: Path, start: int, length: int, replacement: str):
    check(source, PROGRAM[:start] + replacement.encode() + PROGRAM[start + length :])
