"""Runs onnx's own node test cases through import, verification and the NumPy meaning, and counts them.

    python tools/onnx_coverage.py [--verbose] [--backend numpy|llvm] [--read-back] [NAME ...]

A case *passes* when its outputs agree within its own tolerance. It is *unsupported* when the import refuses it with a
diagnosed error. Anything else is a *failure*: a wrong answer or a crash, of which there must be none. Many cases feed
shapes, axes and the like as inputs; the importer needs them as constants, as exporters write them, so such an input is
turned into an initializer when the importer names it, or a value computed from it. Those cases are counted apart.

With `--read-back` the imported model is fused and written as ONNX again; `onnx.checker` must accept what is written,
with strict shape inference, and what is read from it must give the case's outputs. What cannot be written is
*unsupported*.

With `--backend llvm` the imported model is compiled, and must also give what its NumPy meaning gives, within 1e-4.
"""

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, cast

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.backends.compile import compile_program
from fuse_dialect.backends.options import CompileOptions
from fuse_dialect.backends.table import BACKENDS
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.frontends.onnx.node import NeedsConstantError
from fuse_dialect.frontends.onnx.reader import import_model
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.interpreters.comparison import difference
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.targets.onnx.model import onnx_model

_MAX_CONSTANTS = 8
"""Inputs of one case that may become initializers."""


_TWO_ULPS = {"bfloat16": 2**-6, "float16": 2**-9}
"""Two units in the last place, relative."""


class Outcome(StrEnum):
    """What came of a case."""

    PASSED = "passed"
    UNSUPPORTED = "unsupported"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One test case, run."""

    name: str
    operator: str
    outcome: Outcome
    detail: str = ""
    frozen_inputs: tuple[str, ...] = ()
    """Inputs that were turned into initializers."""


@dataclass(slots=True)
class Coverage:
    """All cases, run."""

    results: list[CaseResult] = field(default_factory=list[CaseResult])

    def count(self, outcome: Outcome) -> int:
        """Number of cases with an outcome."""
        return sum(result.outcome is outcome for result in self.results)

    def failures(self) -> list[CaseResult]:
        """Wrong answers and crashes."""
        return [result for result in self.results if result.outcome is Outcome.FAILED]

    def summary(self) -> str:
        """The counts, and the operators that are not supported."""
        frozen = sum(bool(result.frozen_inputs) and result.outcome is Outcome.PASSED for result in self.results)
        missing = Counter(r.operator for r in self.results if r.outcome is Outcome.UNSUPPORTED)
        lines = [
            f"onnx node test cases: {self.count(Outcome.PASSED)} of {len(self.results)} pass "
            f"({frozen} of them with shape inputs made constant), {self.count(Outcome.UNSUPPORTED)} are refused as "
            f"unsupported, {self.count(Outcome.FAILED)} fail",
            "not supported: " + ", ".join(f"{name} ({count})" for name, count in sorted(missing.items())),
        ]
        return "\n".join(lines)


def run_cases(names: Sequence[str] = (), backend: str = "numpy", *, reads_back: bool = False) -> Coverage:
    """Run onnx's node test cases, all of them or those whose name contains one of `names`, on a backend.

    Args:
        names: Parts of names; none for all cases.
        backend: What runs the models.
        reads_back: Whether they are written as ONNX and read again first.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    chosen = [case for case in cases if not names or any(name in case.name for name in names)]
    return Coverage([_run_case(case, backend, reads_back=reads_back) for case in chosen])


def _run_case(case: Any, backend: str, *, reads_back: bool) -> CaseResult:
    operator = _operator_of(case)
    frozen: list[str] = []
    try:
        for inputs, outputs in case.data_sets:
            results = _run(case.model, inputs, frozen, backend, reads_back=reads_back)
            _compare(outputs, results, case.rtol, case.atol)
    except FuseError as error:
        text = "\n".join((error.message, *error.notes))
        return CaseResult(case.name, operator, Outcome.UNSUPPORTED, text, tuple(frozen))
    except Exception as error:
        return CaseResult(case.name, operator, Outcome.FAILED, f"{type(error).__name__}: {error}", tuple(frozen))
    return CaseResult(case.name, operator, Outcome.PASSED, "", tuple(frozen))


def _operator_of(case: Any) -> str:
    """The operator that a case is about; a case named `_expanded` shows its definition by other operators."""
    operators = {node.op_type for node in case.model.graph.node}
    return next(iter(operators)) if len(operators) == 1 else case.name.removeprefix("test_") + "*"


def _run(
    model: onnx.ModelProto, inputs: Sequence[Any], frozen: list[str], backend: str, *, reads_back: bool
) -> Sequence[np.ndarray]:
    """Import and run; an input that must be a constant becomes one, and the import starts over."""
    names = [value.name for value in model.graph.input]
    feeds = dict(zip(names, (_array(value) for value in inputs), strict=True))
    for _ in range(_MAX_CONSTANTS):
        candidate = onnx.ModelProto()
        candidate.CopyFrom(model)
        _freeze(candidate, {name: feeds[name] for name in frozen})
        try:
            module = import_model(candidate)
        except NeedsConstantError as error:
            missing = [name for name in error.inputs or (error.operand,) if name in feeds and name not in frozen]
            if not missing:
                raise
            frozen.extend(missing)
            continue
        module.verify()
        if reads_back:
            module = _read_back(module)
        values = [feeds[name] for name in names if name not in frozen]
        results = run_module(module, values)
        return results if backend == "numpy" else _run_on(backend, module, values, results)
    raise FuseError(f"more than {_MAX_CONSTANTS} inputs must be constants")


def _read_back(module: ModuleOp) -> ModuleOp:
    """The module fused, written as ONNX, checked, and read again."""
    FuseOpsPass().apply(Context(), module)
    try:
        model = onnx_model(module)
    except OpError as error:
        raise FuseError(str(error)) from error
    onnx.checker.check_model(model, full_check=True)  # pyright: ignore[reportUnknownMemberType]
    try:
        return import_model(model)
    except FuseError as error:
        raise AssertionError(f"cannot be read back: {error}") from error


def _run_on(
    backend: str, module: ModuleOp, values: Sequence[Any], expected: Sequence[np.ndarray]
) -> Sequence[np.ndarray]:
    """Compile and run, and compare with the NumPy meaning; f16 and bf16 may differ by a unit in the last place."""
    results = compile_program(module, CompileOptions(backend=backend, cache=False))(*values)
    for want, got in zip(expected, results, strict=True):
        rtol = _TWO_ULPS.get(want.dtype.name, 1e-4)
        finite = np.abs(want[np.isfinite(want)].astype(np.float64)) if want.dtype.kind in "fV" else np.zeros(1)
        found = difference(got, want, rtol=rtol, atol=rtol * 1e-2 * float(finite.max(initial=0)))
        assert found.is_within, f"differs from the NumPy meaning: {found}"
    return results


def _array(value: Any) -> Any:
    """A test case's tensor; its sequences stay as they are, no importable model has any."""
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    return np.asarray(cast(Any, value)) if isinstance(value, np.generic) else value


def _freeze(model: onnx.ModelProto, constants: dict[str, Any]) -> None:
    kept = [value for value in model.graph.input if value.name not in constants]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    model.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in constants.items())


def _compare(expected: Iterable[Any], actual: Sequence[np.ndarray], rtol: float, atol: float) -> None:
    """Compare as `onnx.backend.test.runner` does, but allow f16 the two units in the last place that it allows bf16.

    Softmax and the like of f16 are computed in 32 bits here; some of the recorded outputs are not.
    """
    expected = list(expected)
    assert len(expected) == len(actual), f"expected {len(expected)} outputs, got {len(actual)}"
    for want, got in zip((_array(value) for value in expected), actual, strict=True):
        assert want.shape == got.shape, f"expected shape {want.shape}, got {got.shape}"
        assert want.dtype == got.dtype, f"expected {want.dtype}, got {got.dtype}"
        if want.dtype.name in _TWO_ULPS:
            rtol = max(rtol, _TWO_ULPS[want.dtype.name])
            want, got = want.astype(np.float32), got.astype(np.float32)
        np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)


def main() -> int:
    """Run the script; exit code 1 when a case fails."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="run only the cases whose names contain one of these")
    parser.add_argument("--backend", choices=tuple(BACKENDS), default="numpy", help="what runs the imported model")
    parser.add_argument("--read-back", action="store_true", help="write each model as ONNX and read it again first")
    parser.add_argument("--verbose", action="store_true", help="print every case that does not pass")
    arguments = parser.parse_args()
    coverage = run_cases(arguments.names, arguments.backend, reads_back=arguments.read_back)
    if not coverage.results:
        parser.error(f"no case has one of these in its name: {', '.join(arguments.names)}")
    for result in coverage.results:
        if result.outcome is Outcome.FAILED or (arguments.verbose and result.outcome is not Outcome.PASSED):
            print(f"{result.outcome}: {result.name}: {result.detail}")
    print(coverage.summary())
    return 1 if coverage.failures() else 0


if __name__ == "__main__":
    sys.exit(main())
