"""What JAX refuses, and what it lowers that no program says, as errors that name the line of the user's function.

1. An exception that the user's function raises by itself goes on as it is.
2. One that JAX raises, or that is raised in JAX, is an error at the innermost line that belongs neither to JAX nor to
   this package.
"""

# JAX is no dependency of the checks.
# pyright: basic, reportMissingImports=false

import os
import re
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from types import TracebackType
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from fuse_dialect.diagnostics import FuseError, SourceLocation
from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.dialect.places import place_of
from fuse_dialect.dialect.shape_assertion import is_shape_assertion
from fuse_dialect.jax.signature import name_of

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def _folders(*names: str) -> tuple[str, ...]:
    """Where packages are installed."""
    specs = [spec for spec in map(find_spec, names) if spec is not None and spec.origin is not None]
    return tuple([os.path.dirname(os.path.abspath(spec.origin or "")) + os.sep for spec in specs])


_JAX = _folders("jax", "jaxlib")
_LIBRARIES = (_OWN, *_JAX, *_folders("numpy"))
_NO_FILES = ("<frozen ", "<string>", "<attrs ")
_STANDARD = (os.path.dirname(os.path.abspath(os.__file__)) + os.sep,)
_SITE = f"{os.sep}site-packages{os.sep}"
_CHOOSE = "jax.lax.cond, jax.lax.while_loop or jax.numpy.where decide on values; 'static_argnames' is for settings"
_LAPACK = {
    "gesdd": "a singular value decomposition",
    "gesvd": "a singular value decomposition",
    "geqrf": "a QR decomposition",
    "geqp3": "a QR decomposition",
    "orgqr": "a QR decomposition",
    "ungqr": "a QR decomposition",
    "getrf": "an LU decomposition",
    "potrf": "a Cholesky decomposition",
    "syevd": "eigenvalues of a symmetric matrix",
    "heevd": "eigenvalues of a symmetric matrix",
    "geev": "eigenvalues",
    "gees": "a Schur decomposition",
    "trsm": "a triangular system",
}
"""What routines of LAPACK compute."""
_REAL_FORM = "a matrix with real and imaginary parts x and y is [[x, -y], [y, x]]; or compute it outside of fd.jit"
_OUTSIDE = "compute it outside of fd.jit, by jax.jit, and hand the result over"


@contextmanager
def jax_refusals(function: Callable[..., Any]) -> Generator[None]:
    """Turn what JAX raises while it traces or lowers a function into errors about the function.

    Raises:
        FuseError: JAX refuses it.
    """
    try:
        with _whole_tracebacks():
            yield
    except FuseError:
        raise
    except Exception as error:
        frame = _last(error.__traceback__)
        is_theirs = any(each.__module__.partition(".")[0] in ("jax", "jaxlib") for each in type(error).__mro__)
        if not is_theirs and not (frame is not None and frame.tb_frame.f_code.co_filename.startswith(_JAX)):
            raise
        refusal = _refusal(error, function)
    else:
        return
    raise refusal from None  # it shows none of JAX's stack


def _whole_tracebacks() -> AbstractContextManager[Any]:
    """JAX takes its own frames out of tracebacks; where an exception was raised would not be known."""
    try:
        config: Any = import_module("jax._src.config")
        return config.traceback_filtering("off")
    except (ImportError, AttributeError, TypeError):  # internals of JAX have changed
        return nullcontext()


@cache
def hide_own_frames() -> None:
    """Let JAX take no line of this package for one of the user's."""
    try:
        info: Any = import_module("jax._src.source_info_util")
        info.register_exclusion(_OWN.rstrip(os.sep))
    except (ImportError, AttributeError):  # internals of JAX have changed: a call then stands in the code that calls
        pass


def _last(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace


def is_of_jax(path: str) -> bool:
    """Whether a file is one of JAX's."""
    return path.startswith(_JAX)


def _is_of_user(path: str) -> bool:
    if path.startswith((*_LIBRARIES, *_NO_FILES)):
        return False
    # Python's own files: `functools`, `contextlib`; but what is installed in `site-packages` may be a model.
    return not path.startswith(_STANDARD) or _SITE in path


def _refusal(error: Exception, function: Callable[..., Any]) -> FuseError:
    kinds = {each.__name__ for each in type(error).__mro__}
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    place = user_place(error.__traceback__) or definition_place(function)
    name = name_of(function)
    if "TracerBoolConversionError" in kinds:
        return FuseError(f"an 'if' or 'while' of Python asks for a value that '{name}' computes", place, hint=_CHOOSE)
    if "TracerArrayConversionError" in kinds:
        hint = "jax.numpy has most functions of numpy"
        return FuseError(f"NumPy asks for the elements of an array that '{name}' computes", place, hint=hint)
    if "ConcretizationTypeError" in kinds or "TracerIntegerConversionError" in kinds:
        return FuseError(f"Python asks for a value that '{name}' computes", place, (lines[0],), hint=_CHOOSE)
    kind = type(error).__name__
    return FuseError(f"JAX cannot trace '{name}': {kind}: {lines[0]}", place, tuple(islice(lines, 1, 3)))


def user_place(trace: TracebackType | None) -> SourceLocation | None:
    """The innermost line of a traceback that belongs to the user, with its column."""
    found: TracebackType | None = None
    while trace is not None:
        if _is_of_user(trace.tb_frame.f_code.co_filename):
            found = trace
        trace = trace.tb_next
    if found is None:
        return None
    code = found.tb_frame.f_code
    _, _, column, _ = next(islice(code.co_positions(), found.tb_lasti // 2, None), (None, None, None, None))
    return SourceLocation(code.co_filename, found.tb_lineno, 0 if column is None else column + 1)


def definition_place(function: Callable[..., Any]) -> SourceLocation | None:
    """Where a function is defined, if it is one of Python."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    return None if code is None else SourceLocation(code.co_filename, code.co_firstlineno)


def check_runnable(module: ModuleOp, function: Callable[..., Any]) -> None:
    """See that `fuse` ops say all of a converted module.

    Raises:
        FuseError: An op has none, with its line.
    """
    left = [
        op
        for op in ops_inside(module)
        if op.name.startswith(("stablehlo.", "chlo.")) and op.name != "stablehlo.return" and not is_shape_assertion(op)
    ]
    # Numbers around a call are complex because it is there: that is what a person knows by name.
    telling = [op for op in left if op.name in ("stablehlo.custom_call", "stablehlo.fft")]
    telling = telling or [op for op in left if op.name not in ("stablehlo.complex", "stablehlo.real", "stablehlo.imag")]
    op = next(iter(telling or left), None)
    if op is None:
        return
    what, hint = _said(op)
    found = place_of(op.location)
    place = (
        definition_place(function)
        if found is None
        else SourceLocation(found.filename.data, found.line.data, found.column.data)
    )
    raise FuseError(f"'{op.name}' op {what} has no kernel", place, hint=hint)


def _said(op: Operation) -> tuple[str, str]:
    if op.name == "stablehlo.custom_call":
        name = op.properties.get("call_target_name")
        target = name.data if isinstance(name, StringAttr) else ""
        routine = re.fullmatch(r"lapack_([sdcz])(\w+?)(?:_ffi)?", target)
        if routine is not None and routine[1] in "cz":
            what = _LAPACK.get(routine[2], "a routine of LAPACK")
            return f"of '{target}', {what} of complex matrices,", _REAL_FORM
        if routine is not None:
            return f"of '{target}', {_LAPACK.get(routine[2], 'a routine of LAPACK')},", _OUTSIDE
        if "callback" in target:
            return f"of '{target}', a call of Python,", "leave out jax.debug.print and callbacks, or use jax.jit"
        return f"of '{target}'", _OUTSIDE
    if op.name == "stablehlo.fft":
        return "of other sizes than its operand,", _OUTSIDE
    if any("complex" in str(value.type) for value in (*op.operands, *op.results)):
        return "of complex numbers", "give and take real and imaginary parts as two arrays"
    return "in this form", _OUTSIDE
