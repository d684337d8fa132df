"""Through an ONNX model: written, read back, and run by the interpreter here, by onnxruntime or by ONNX's evaluator.

Guards, where the other engine and not this package is at fault or where ONNX leaves a result open:

1. ONNX keeps real numbers of attributes in f32, and the reader takes the shortest decimal for one: the program goes
   through with its own rounded so beforehand.
2. What another engine refuses to run says nothing, and neither does a program that the writer refuses.
3. Other engines are given plain numbers alone: they differ from each other on nans, infinities and overflow.
4. An output that differs counts only if no other engine agrees with this package on it: onnxruntime and the evaluator
   have errors of their own, and not the same ones. It must differ by more than 1e-3 (f16, bf16: 0.05) of the greatest
   element: their sums run in other orders and types.
5. A program that the interpreter rejects may run: `Slice` cuts off more than there is.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from random import Random
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import FloatAttr, f64

from fuse_dialect.dialect.op import Array
from fuse_dialect.frontends.onnx.reader import import_model
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.loading.verification import verify_module
from fuse_dialect.targets.onnx.model import onnx_model
from fuzzing.comparing import Reference
from fuzzing.compiling import LIMITS
from fuzzing.program import RandomProgram, Step

FOREIGN = ("bfloat16",)
"""Element types that engines take in no form that NumPy has, or not at all."""


def through_onnx(program: RandomProgram, reference: Reference | None, random: Random, *, engine: str) -> None:
    """Write the program, read it or run it, and compare.

    Raises:
        MismatchError: The results differ.
        OpError: The program has no form in ONNX.
    """
    from xdsl.context import Context

    from fuzzing.ways import compare

    program = with_narrow_reals(program, shortest=engine == "onnx")
    reference = None if reference is None else Reference(program)
    module = program.module()
    verify_module(module)
    if random.random() < 0.4:
        FuseOpsPass().apply(Context(), module)
    model = onnx_model(module)
    if engine == "onnx":
        again = import_model(model)
        verify_module(again)
        if reference is None:
            return
        compare(run_module(again, program.inputs, limits=LIMITS), reference)
        return
    if reference is None or not _is_plain(reference):
        return
    names = [value.name for value in model.graph.input]
    given = model.SerializeToString(), dict(zip(names, program.inputs, strict=True))
    first, second = (
        (_with_onnxruntime, _with_reference) if engine == "onnxruntime" else (_with_reference, _with_onnxruntime)
    )
    outputs = first(*given)
    wrong = set[int]() if outputs is None else disagreeing(outputs, reference.outputs, reference.jumps)
    if outputs is None or not wrong:
        return
    others = second(*given)
    # (4) An engine alone is no witness against an output: the evaluator's `LogSoftmax` overflows, and onnxruntime's
    # `ReduceProd` of i64 does not wrap around. Where the other engine does not run the model, onnxruntime is believed.
    if others is not None:
        wrong &= disagreeing(others, reference.outputs, reference.jumps)
    elif engine != "onnxruntime":
        wrong = set[int]()
    if wrong:
        believed = [outputs[place] if place in wrong else want for place, want in enumerate(reference.outputs)]
        compare(believed, reference, reassociates=True)


def with_narrow_reals(program: RandomProgram, *, shortest: bool) -> RandomProgram:
    """The program with real properties that are f32 numbers, or the shortest decimals of such."""
    steps: list[Step] = []
    for step in program.steps:
        properties = dict(step.properties)
        for name, declared in step.op_class.get_irdl_definition().properties.items():
            value = properties.get(name, declared.default_value)
            if isinstance(value, FloatAttr):
                with np.errstate(all="ignore"):
                    narrow = np.float32(value.value.data)
                properties[name] = FloatAttr(float(str(narrow)) if shortest else float(narrow), f64)
        steps.append(replace(step, properties=properties))
    return replace(program, steps=tuple(steps))


def disagreeing(outputs: Sequence[Array], wanted: Sequence[Array], jumps: Callable[[Array], Array]) -> set[int]:
    """Numbers of the outputs that another engine gives otherwise, as far as its own precision goes.

    Args:
        outputs: What the engine gives.
        wanted: What it should give.
        jumps: For an array of `wanted` the elements that say nothing.
    """
    return {
        place for place, (got, want) in enumerate(zip(outputs, wanted, strict=False)) if not _agree(got, want, jumps)
    }


def _agree(got: Array, want: Array, jumps: Callable[[Array], Array]) -> bool:
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    wide = [array.astype(np.float64) for array in (got, want)]
    share = 0.05 if want.dtype.itemsize == 2 else 1e-3
    limit = share * float(np.abs(wide[1]).max(initial=0.0)) if want.dtype.kind == "f" else 0.0
    with np.errstate(invalid="ignore"):
        return bool((jumps(want) | (np.abs(wide[0] - wide[1]) <= limit)).all())


def _is_plain(reference: Reference) -> bool:
    arrays = reference.values()
    return all(array.dtype.name not in FOREIGN for array in arrays) and all(
        array.dtype.kind in "biu" or bool(np.isfinite(array).all()) for array in arrays
    )


def _engine() -> Any:
    """The module, which is not among what the checks install."""
    return import_module("onnxruntime")


@cache
def _options() -> Any:
    options = _engine().SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return options


def _with_onnxruntime(model: bytes, inputs: dict[str, Array]) -> Sequence[Array] | None:
    """The results of onnxruntime; `None` if it does not run the model."""
    try:
        session = _engine().InferenceSession(model, _options(), providers=["CPUExecutionProvider"])
        return session.run(None, inputs)
    except Exception:  # it has dozens of types for operators and element types that it lacks
        return None


def _with_reference(model: bytes, inputs: dict[str, Array]) -> Sequence[Array] | None:
    """The results of ONNX's own evaluator; `None` if it does not run the model."""
    import onnx
    from onnx.reference import ReferenceEvaluator

    try:
        results = cast(Any, ReferenceEvaluator(onnx.load_from_string(model))).run(None, inputs)
        return [np.asarray(result) for result in results]
    except Exception:  # as above
        return None
