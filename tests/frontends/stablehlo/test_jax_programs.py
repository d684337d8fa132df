"""Programs as JAX prints them: they are read, fused and printed, JAX runs the result to the bit, and so does NumPy."""

from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

import fuse_dialect as fd
from fuse_dialect.frontends.mlir.reader import context
from fuse_dialect.targets.mlir import FuseMLIRTarget
from fuse_dialect.tools.module_file import read_module
from fuse_dialect.tools.verification import verify_module
from fuse_dialect.transforms.convert_stablehlo_to_fuse import ConvertStableHLOToFusePass
from fuse_dialect.transforms.inline import InlinePass

DATA = Path(__file__).parents[2] / "data" / "jax"
PROGRAMS = sorted(path.name.removesuffix(".mlir") for path in DATA.glob("*.mlir"))
PLAIN = [name for name in PROGRAMS if not name.endswith(".debug")]
OF_SYMBOLIC_SIZE = "symbolic_batch"
NOT_ON_NUMPY = {
    "factorize": "stablehlo.custom_call",  # LAPACK
    "numbers": "stablehlo.complex",
    OF_SYMBOLIC_SIZE: "stablehlo.get_dimension_size",
}
"""Programs with an op that no `fuse` ops say."""
TOLERANCE = {"transformer_bf16": 2e-2}
"""Of the greatest element of a result; XLA keeps more digits between ops than bf16 has."""


def read(name: str) -> ModuleOp:
    """A program."""
    return read_module(str(DATA / f"{name}.mlir")).module


def printed(module: ModuleOp, *, debug: bool = False) -> str:
    """The module as `fuse-opt` prints it."""
    text = StringIO()
    FuseMLIRTarget(print_debuginfo=debug).emit(context(), module, text)
    return text.getvalue()


def fused(name: str) -> ModuleOp:
    """A program, inlined and fused."""
    module = read(name)
    InlinePass().apply(Context(), module)
    return fd.fuse_ops(module)


def test_data_are_complete() -> None:
    assert len(PLAIN) == 27
    assert {f"{name}.debug" for name in PLAIN} - {*PROGRAMS} == {"exported_mlp.debug", "symbolic_batch.debug"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_is_read_fused_and_printed(name: str) -> None:
    module = read(name)
    assert read_again(printed(module)).is_structurally_equivalent(module)
    fd.fuse_ops(module)
    verify_module(module)
    assert any("primitive" in op.attributes for op in module.ops)
    assert read_again(printed(module)).is_structurally_equivalent(module)


def read_again(text: str) -> ModuleOp:
    """The module that was printed."""
    return fd.parse(text)


@pytest.mark.parametrize("name", ["attention.debug", "scan.debug", "sort.debug", OF_SYMBOLIC_SIZE])
def test_debug_info_is_printed_as_it_was_read(name: str) -> None:
    module = read(name)
    text = printed(module, debug=True)
    assert '"make_jax_programs.py":' in text
    assert " to :" in text
    assert printed(read_again(text), debug=True) == text


def test_ops_in_loops_and_branches_fuse() -> None:
    for name, inside in (("while_loop", 1), ("scan", 1), ("conditional", 3)):
        module = fused(name)
        calls = [op for op in module.walk() if isinstance(op, func.CallOp)]
        nested = [op for op in calls if not isinstance(op.parent_op(), func.FuncOp)]
        assert len(nested) >= inside


def test_nothing_in_a_reduction_or_sort_is_outlined() -> None:
    for name in ("sort", "reductions", "scatter"):
        module = fused(name)
        for op in module.walk():
            if op.name in ("stablehlo.reduce", "stablehlo.sort", "stablehlo.scatter", "stablehlo.reduce_window"):
                assert all(not isinstance(inner, func.CallOp) for inner in op.walk())


@pytest.mark.parametrize("name", PLAIN)
def test_is_said_with_fuse_ops(name: str) -> None:
    module = read(name)
    InlinePass().apply(Context(), module)
    ConvertStableHLOToFusePass().apply(Context(), module)
    verify_module(module)
    left = {op.name for op in module.walk() if op.name.startswith(("stablehlo", "chlo"))}
    assert (NOT_ON_NUMPY.get(name) in left) if name in NOT_ON_NUMPY else not left


@pytest.mark.slow
@pytest.mark.parametrize("name", [*PLAIN, "attention.debug", "scan.debug", "sort.debug", "reductions.debug"])
def test_xla_runs_what_is_printed_to_the_bit(name: str) -> None:
    pytest.importorskip("jax")
    from xla_programs import XLAProgram, load_lapack

    if name == OF_SYMBOLIC_SIZE:
        pytest.skip("XLA needs sizes; see the next test")
    load_lapack()
    original = XLAProgram((DATA / f"{name}.mlir").read_text())
    arguments = original.arguments(0)
    if name.startswith("factorize"):
        arguments[0] = arguments[0] @ arguments[0].T + 4 * np.eye(4, dtype=np.float32)
    expected = original(arguments)
    debug = name.endswith(".debug")
    for text in (printed(read(name), debug=debug), printed(fused(name), debug=debug)):
        results = XLAProgram(text)(arguments)
        assert [each.dtype for each in results] == [each.dtype for each in expected]
        assert [each.tobytes() for each in results] == [each.tobytes() for each in expected]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name.endswith(".debug")])
def test_mlir_reads_what_is_printed_with_places(name: str) -> None:
    pytest.importorskip("jax")
    from jax._src.interpreters.mlir import make_ir_context
    from jaxlib.mlir import ir

    for module in (read(name), fused(name)):
        with make_ir_context():
            theirs = ir.Module.parse(printed(module, debug=True))
            assert theirs.operation.verify()
            assert '"make_jax_programs.py":' in theirs.operation.get_asm(enable_debug_info=True)


@pytest.mark.slow
def test_jax_runs_an_exported_function_of_symbolic_size_to_the_bit() -> None:
    jax = pytest.importorskip("jax")
    import dataclasses

    from jax._src.export._export import _module_to_bytecode
    from jax._src.interpreters.mlir import make_ir_context
    from jaxlib.mlir import ir
    from make_jax_programs import symbolic

    sizes = jax.export.symbolic_shape("b, 16")
    float32 = np.dtype(np.float32)
    example = jax.ShapeDtypeStruct(sizes, float32), jax.ShapeDtypeStruct((16, 8), float32)
    exported = jax.export.export(jax.jit(symbolic))(*example)
    for module in (read(OF_SYMBOLIC_SIZE), fused(OF_SYMBOLIC_SIZE)):
        with make_ir_context():
            data = _module_to_bytecode(ir.Module.parse(printed(module)))
        ours = dataclasses.replace(exported, mlir_module_serialized=data)
        for batch in (1, 5):
            random = np.random.default_rng(batch)
            x, w = (random.standard_normal(shape).astype(np.float32) for shape in ((batch, 16), (16, 8)))
            assert np.asarray(ours.call(x, w)).tobytes() == np.asarray(exported.call(x, w)).tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["numpy", "llvm"])
@pytest.mark.parametrize("name", [name for name in PLAIN if name not in NOT_ON_NUMPY])
def test_runs_on_numpy_and_natively_as_in_xla(name: str, backend: str) -> None:
    pytest.importorskip("jax")
    pytest.importorskip("llvmlite")
    from xla_programs import XLAProgram

    original = XLAProgram((DATA / f"{name}.mlir").read_text())
    arguments = original.arguments(1)
    module = read(name)
    results = fd.run(module, *arguments) if backend == "numpy" else fd.compile(module, cache=False)(*arguments)
    for result, expected in zip(results, original(arguments), strict=True):
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
        ours, theirs = result.astype(np.float64), expected.astype(np.float64)
        known = np.isfinite(theirs)
        np.testing.assert_array_equal(ours[~known], theirs[~known])
        greatest = np.abs(theirs[known]).max(initial=0)
        error = np.abs(ours[known] - theirs[known]).max(initial=0)
        assert error <= TOLERANCE.get(name, 1e-5) * greatest
