"""Programs as JAX prints them: they are read, fused and printed, JAX runs the result to the bit, and so does NumPy."""

from functools import partial
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

import fuse_dialect as fd
from fuse_dialect.backends.runtime.slow_parts import slow_kernels
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.shape_assertion import is_shape_assertion
from fuse_dialect.frontends.mlir.reader import context
from fuse_dialect.frontends.stablehlo.convert_stablehlo_to_fuse import ConvertStableHLOToFusePass
from fuse_dialect.fusion.inline import InlinePass
from fuse_dialect.loading.module_file import read_module
from fuse_dialect.loading.verification import verify_module
from fuse_dialect.targets.mlir import FuseMLIRTarget
from fuse_dialect.transforms.runnable import make_runnable

DATA = Path(__file__).parents[2] / "data" / "jax"
PROGRAMS = sorted(path.name.removesuffix(".mlir") for path in DATA.glob("*.mlir"))
PLAIN = [name for name in PROGRAMS if not name.endswith(".debug")]
SYMBOLIC = [name for name in PLAIN if name.startswith("symbolic_")]
STATIC = [name for name in PLAIN if name not in SYMBOLIC]
OF_LAPACK = {"factorize", "linear_algebra"}
"""Programs whose results have other signs with other libraries; `test_linear_algebra.py` says what they are."""
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


def in_pairs(array: Array) -> Array:
    """Complex numbers as programs take and give them."""
    return np.stack([array.real, array.imag], axis=-1) if array.dtype.kind == "c" else array


def fused(name: str) -> ModuleOp:
    """A program, inlined and fused."""
    module = read(name)
    InlinePass().apply(Context(), module)
    return fd.fuse_ops(module)


def test_data_are_complete() -> None:
    assert (len(PLAIN), len(SYMBOLIC)) == (36, 8)
    without = {"exported_mlp.debug", "mobilenet_v2.debug", *(f"{name}.debug" for name in SYMBOLIC)}
    assert {f"{name}.debug" for name in PLAIN} - {*PROGRAMS} == without


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


@pytest.mark.parametrize("name", ["attention.debug", "scan.debug", "sort.debug", "symbolic_batch"])
def test_debug_info_is_printed_as_it_was_read(name: str) -> None:
    module = read(name)
    text = printed(module, debug=True)
    assert '"make_jax_programs.py":' in text
    assert " to :" in text
    assert printed(read_again(text), debug=True) == text


def sensible(name: str, arguments: list[np.ndarray]) -> list[np.ndarray]:
    """Random arguments, made what a program is for."""
    if name.startswith("factorize"):  # a matrix that has roots
        return [arguments[0] @ arguments[0].T + 4 * np.eye(4, dtype=np.float32), *arguments[1:]]
    if name == "mobilenet_v2":  # variances are positive
        return [np.abs(each) + 0.5 if each.ndim == 1 else 0.1 * each for each in arguments]
    return arguments


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
    ops = [op for op in module.walk() if not is_shape_assertion(op)]
    left = {op.name for op in ops if op.name.startswith(("stablehlo", "chlo"))}
    assert not left


@pytest.mark.slow
@pytest.mark.parametrize("name", [*STATIC, "attention.debug", "scan.debug", "sort.debug", "reductions.debug"])
def test_xla_runs_what_is_printed_to_the_bit(name: str) -> None:
    pytest.importorskip("jax")
    from networks.xla_programs import XLAProgram, load_lapack

    load_lapack()
    original = XLAProgram((DATA / f"{name}.mlir").read_text())
    arguments = sensible(name, original.arguments(0))
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


def symbolic_arguments(exported, **sizes: int) -> list[np.ndarray]:
    """Arguments of an exported function for numbers in the place of its symbols."""
    random = np.random.default_rng(sum(sizes.values()))
    arguments: list[np.ndarray] = []
    for aval in exported.in_avals:
        shape = [sizes[str(size)] if str(size) in sizes else int(size) for size in aval.shape]
        # Small numbers: a loss near 0 would be all cancellation.
        numbers = 0.3 * random.standard_normal(shape) if aval.dtype == np.float32 else random.integers(0, 2, shape)
        arguments.append(numbers.astype(aval.dtype))
    return arguments


@pytest.mark.slow
@pytest.mark.parametrize("name", ["symbolic_batch", "symbolic_attention", "symbolic_sgd"])
def test_jax_runs_an_exported_function_of_symbolic_size_to_the_bit(name: str) -> None:
    jax = pytest.importorskip("jax")
    import dataclasses

    from jax._src.export._export import _module_to_bytecode
    from jax._src.interpreters.mlir import make_ir_context
    from jaxlib.mlir import ir
    from make_jax_programs import export_symbolic

    exported = export_symbolic(name)
    for module in (read(name), fused(name)):
        with make_ir_context():
            data = _module_to_bytecode(ir.Module.parse(printed(module)))
        ours = dataclasses.replace(exported, mlir_module_serialized=data)
        for batch, length in ((1, 5), (5, 3)):
            arguments = symbolic_arguments(exported, b=batch, s=length)
            results, expected = jax.tree.leaves(ours.call(*arguments)), jax.tree.leaves(exported.call(*arguments))
            assert [np.asarray(each).tobytes() for each in results] == [np.asarray(each).tobytes() for each in expected]


@pytest.mark.slow
@pytest.mark.parametrize("name", SYMBOLIC)
def test_programs_of_symbolic_size_run_at_several_sizes(name: str) -> None:
    jax = pytest.importorskip("jax")
    pytest.importorskip("llvmlite")
    from make_jax_programs import export_symbolic

    exported = export_symbolic(name)
    module, again = read(name), read(name)
    make_runnable(again)
    fd.fuse_ops(again)
    native = fd.compile(module, cache=False)
    for batch, length in ((3, 5), (1, 2), (4, 7)):
        arguments = symbolic_arguments(exported, b=batch, s=length)
        expected = [np.asarray(each) for each in jax.tree.leaves(exported.call(*arguments))]
        for results in (fd.run(module, *arguments), fd.run(again, *arguments), native(*arguments)):
            for ours, theirs in zip(results, expected, strict=True):
                assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
                greatest = np.abs(theirs).max(initial=0)
                assert np.abs(ours.astype(np.float64) - theirs).max(initial=0) <= 1e-5 * greatest


@pytest.mark.parametrize("way", ["numpy", "native", "native, after other sizes", "saved"])
def test_a_size_that_the_program_rejects_is_named(way: str, tmp_path: Path) -> None:
    module, weights = read("symbolic_batch"), np.zeros((16, 8), np.float32)
    program = fd.compile(module, cache=False)
    if way == "saved":
        program.save(tmp_path / "program.fuse")
        program = fd.load(tmp_path / "program.fuse")
    call = program if way != "numpy" else partial(fd.run, module)
    for batch in (1, 3, 2, 5) if way.startswith("native,") else ():
        call(np.zeros((batch, 16), np.float32), weights)
    with pytest.raises(fd.FuseError) as caught:
        call(np.zeros((0, 16), np.float32), weights)
    message = str(caught.value)
    assert "'stablehlo.custom_call' op of 'shape_assertion' fails: Input shapes do not match" in message
    assert "Obtained dimension variables: 'b' = 0" in message
    assert "https" not in message


@pytest.mark.parametrize("entry", ["main", "forward"])
@pytest.mark.parametrize("strategy", ["tvm", "cost"])
@pytest.mark.parametrize("name", SYMBOLIC)
def test_checks_of_sizes_are_no_steps_of_a_call(name: str, strategy: str, entry: str) -> None:
    module = fd.parse(fd.text(read(name)).replace("@main(", f"@{entry}("))
    program = fd.compile(module, strategy=strategy, cache=False)
    assert program.name == entry
    slow = [kernel for kernel in slow_kernels(program) if "shape_assertion" in str(kernel) or "check" in kernel.name]
    assert slow == []


CHECKED = """func.func @main(%x: tensor<?xf32> {fuse.sizes = ["n"]}) -> tensor<?xf32> {
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %least = stablehlo.constant dense<3> : tensor<i32>
  %holds = stablehlo.compare GE, %n, %least, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%holds, %n) {
    api_version = 2 : i32, error_message = "got {0}", has_side_effect = true
  } : (tensor<i1>, tensor<i32>) -> ()
  %y = stablehlo.add %x, %x : tensor<?xf32>
  return %y : tensor<?xf32>
}"""


def test_a_check_of_sizes_that_are_given_is_made_once() -> None:
    x = np.ones(4, np.float32)
    program = fd.compile(fd.parse(CHECKED), sizes={"n": 4}, cache=False)
    assert [kernel.family for kernel in program.kernels] == ["map"]
    np.testing.assert_array_equal(program(x)[0], 2 * x)
    with pytest.raises(fd.FuseError, match="got 2"):
        fd.compile(fd.parse(CHECKED), sizes={"n": 2}, cache=False)(x[:2])


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["numpy", "llvm"])
@pytest.mark.parametrize("name", [name for name in STATIC if name not in OF_LAPACK])
def test_runs_on_numpy_and_natively_as_in_xla(name: str, backend: str) -> None:
    pytest.importorskip("jax")
    pytest.importorskip("llvmlite")
    from networks.xla_programs import XLAProgram

    original = XLAProgram((DATA / f"{name}.mlir").read_text())
    arguments = sensible(name, original.arguments(1))
    module = read(name)
    given = list(map(in_pairs, arguments))
    results = fd.run(module, *given) if backend == "numpy" else fd.compile(module, cache=False)(*given)
    for result, expected in zip(results, map(in_pairs, original(arguments)), strict=True):
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
        ours, theirs = result.astype(np.float64), expected.astype(np.float64)
        known = np.isfinite(theirs)
        np.testing.assert_array_equal(ours[~known], theirs[~known])
        greatest = np.abs(theirs[known]).max(initial=0)
        error = np.abs(ours[known] - theirs[known]).max(initial=0)
        assert error <= TOLERANCE.get(name, 1e-5) * greatest
