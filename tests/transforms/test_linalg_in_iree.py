"""What `convert-fuse-to-linalg` writes, compiled and run by IREE and read by mlir-opt, where they are installed."""

import shutil
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from op_examples import assert_close, examples, operator, random_operands, rebuilt, replaced
from random_moves import random_moves
from random_programs import random_programs
from test_convert_fuse_to_linalg import WITHOUT_LINALG, arrays_for, functions_of, refusal
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr, f32, f64

from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.fuse import ALL_OPS
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.frontends.mlir.reader import parse_mlir
from fuse_dialect.frontends.onnx.reader import load_onnx_module
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.interpreters.numpy import evaluate, run_module
from fuse_dialect.interpreters.values import EvaluationError
from fuse_dialect.targets.convert_fuse_to_linalg import ConvertFuseToLinalgPass
from fuse_dialect.targets.mlir import FusePrinter
from fuse_dialect.transforms.compile_prefix import CompilePrefixPass

MODEL = Path(__file__).parents[2] / "docs" / "examples" / "tiny_cnn.onnx"
TORCH = Path(__file__).parents[1] / "data" / "torch"
NOT_IN_F64 = frozenset(f"fuse.{name}" for name in ("acos", "asin", "atan", "cos", "dft", "erf", "gelu", "sin", "tan"))
"""Ops that IREE 3.13 has no code for in f64: it links no library of mathematics."""

HAS_IREE = find_spec("iree") is not None and all(find_spec(f"iree.{part}") for part in ("compiler", "runtime"))
needs_iree = pytest.mark.skipif(not HAS_IREE, reason="needs IREE: pip install fuse_dialect[iree]")
MLIR_OPT = next(filter(None, map(shutil.which, ("mlir-opt", "mlir-opt-22", "mlir-opt-19"))), None)


def in_f32(op_class: type[FuseOp]) -> list[func.FuncOp]:
    """Functions of one op each, in f32."""
    found: list[func.FuncOp] = []
    for op in examples()[op_class.name]:
        function = rebuilt(op, replaced(op.operand_types, f64, f32), None)
        if function is not None:
            function.properties["sym_name"] = StringAttr(f"f{len(found)}")
            found.append(function)
    return found


def text_of(module: ModuleOp) -> str:
    """The module as linalg."""
    copy = module.clone()
    ConvertFuseToLinalgPass().apply(Context(), copy)
    text = StringIO()
    FusePrinter(stream=text).print_op(copy)
    return text.getvalue()


def loaded(module: ModuleOp) -> Any:
    """The module's functions, compiled for this machine."""
    import iree.compiler
    import iree.runtime

    flags = ["--iree-llvmcpu-target-cpu=host", "--iree-input-demote-f64-to-f32=false"]
    code = iree.compiler.compile_str(text_of(module), target_backends=["llvm-cpu"], extra_args=flags)
    context = iree.runtime.SystemContext(config=iree.runtime.Config("local-sync"))
    context.add_vm_module(iree.runtime.VmModule.copy_buffer(context.instance, code))
    return context.modules["module"]


def call(functions: Any, name: str, arrays: Sequence[Array]) -> list[Array]:
    signless = [array.view(f"i{array.dtype.itemsize}") if array.dtype.kind == "u" else array for array in arrays]
    results = functions[name](*signless)
    return [result.to_host() for result in (results if isinstance(results, (tuple, list)) else [results])]


@needs_iree
@pytest.mark.slow
@pytest.mark.parametrize("op_class", ALL_OPS, ids=lambda op: op.name)
def test_op_gives_its_meaning_in_iree(op_class: type[FuseOp]) -> None:
    if op_class.name in WITHOUT_LINALG:
        pytest.skip(WITHOUT_LINALG[op_class.name])
    chosen = [own for own in functions_of(op_class) if not refusal(own)][::2]
    if op_class.name in NOT_IN_F64:
        chosen = in_f32(op_class)
    compiled = loaded(ModuleOp([function.clone() for function in chosen]))
    random = np.random.default_rng(0)
    for function in chosen:
        arrays = random_operands(function, random)
        try:
            expected = evaluate(operator(function), arrays)
        except EvaluationError:
            continue  # the size that stands for `?` does not fit this op
        for actual, array in zip(call(compiled, function.sym_name.data, arrays), expected, strict=True):
            assert isinstance(array, np.ndarray)
            if array.dtype.kind == "f" and array.dtype.itemsize > 2:
                np.testing.assert_allclose(actual, array, rtol=1e-4, atol=1e-4, err_msg=str(function))
            elif array.dtype.kind in "biu":
                assert_close(actual.view(array.dtype), array, str(function))
            else:
                wide = [own.astype(np.float32) for own in (actual.view(array.dtype), array)]
                np.testing.assert_allclose(*wide, rtol=2**-7, atol=2**-7, err_msg=str(function))


@needs_iree
@pytest.mark.slow
@settings(max_examples=8)
@given(program=random_programs(max_ops=10) | random_moves(), fused=st.booleans())
def test_random_programs_give_the_same_in_iree(program: ModuleOp, fused: bool) -> None:
    if fused:
        FuseOpsPass().apply(Context(), program)
    arrays = arrays_for(program)
    for actual, expected in zip(call(loaded(program), "main", arrays), run_module(program, arrays), strict=True):
        finite = np.abs(expected[np.isfinite(expected)])
        np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-4 * float(finite.max(initial=1.0)))


@needs_iree
@pytest.mark.slow
def test_model_gives_the_same_in_iree() -> None:
    module = load_onnx_module(MODEL)
    CompilePrefixPass(layout="keep").apply(Context(), module)
    FuseOpsPass().apply(Context(), module)
    image = np.random.default_rng(0).standard_normal((1, 3, 16, 16)).astype(np.float32)
    (expected,) = run_module(module, [image])
    (actual,) = call(loaded(module), "main", [image])
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_exported_transformer_gives_the_same_in_iree() -> None:
    # Of a GPT-2, IREE once made nan: it has powers of negative numbers, and calls of functions that are not inlined.
    pytest.importorskip("iree.compiler")
    pytest.importorskip("iree.runtime")
    module = exported("gpt2.dynamo")
    recorded = np.load(TORCH / "gpt2.dynamo.0.npz")
    arrays = [array for name, array in recorded.items() if not name.startswith("result")]
    for actual, expected in zip(call(loaded(module), "main", arrays), run_module(module, arrays), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-5 * float(np.abs(expected).max()))


def exported(name: str, *sizes: str) -> ModuleOp:
    """A network that torch has exported, fused."""
    module = load_onnx_module(TORCH / f"{name}.onnx")
    CompilePrefixPass(layout="keep", sizes=sizes).apply(Context(), module)
    FuseOpsPass().apply(Context(), module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(path.stem for path in TORCH.glob("*.onnx")))
def test_exported_network_becomes_linalg(name: str) -> None:
    # Recurrent networks stack the values of a loop, and linalg has to know how many there are.
    sizes = ("batch=2", "seq=5") if name.startswith(("gru", "lstm", "rnn")) else ()
    if sizes:
        with pytest.raises(OpError, match=r"'fuse\.loop' op stacks values of sizes that are not known"):
            text_of(exported(name))
    text = text_of(exported(name, *sizes))
    assert not any(isinstance(op, FuseOp) for op in parse_mlir(text).walk())
    if MLIR_OPT is not None:
        run = subprocess.run([MLIR_OPT, "-"], input=text, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr[:2000]


@pytest.mark.skipif(MLIR_OPT is None, reason="needs mlir-opt")
@pytest.mark.slow
def test_every_op_is_accepted_by_mlir_opt() -> None:
    assert MLIR_OPT is not None
    modules = [ModuleOp([own.clone() for own in functions_of(op) if not refusal(own)]) for op in ALL_OPS]
    text = "\n// -----\n".join(text_of(module) for module in modules)
    run = subprocess.run([MLIR_OPT, "--split-input-file", "-"], input=text, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[:2000]
    assert run.stdout.count("linalg.generic") > 500
