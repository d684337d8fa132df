"""Factors of matrices and triangular systems: the ops of StableHLO, and the routines of LAPACK that JAX calls.

1. What a routine says of its success is told by nans here: a matrix that it fails on gives nans alone, which is what
   JAX makes of such a matrix. So `info` is a constant 0.
2. The loop in which JAX makes a permutation of the swaps of an LU decomposition is a result of `fuse.lu`.

Source: jax/_src/lax/linalg.py of JAX 0.10; LAPACK 3.12; `cholesky` and `triangular_solve` in docs/spec.md of
openxla/stablehlo.
"""

import re
from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, StringAttr
from xdsl.ir import Operation, OpResult, SSAValue

from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.broadcast import AddOp, SubtractOp
from fuse_dialect.dialect.ops.factorizations import (
    CholeskyOp,
    EighOp,
    EigvalshOp,
    HouseholderProductOp,
    HouseholderQrOp,
    LuOp,
    SvdOp,
    SvdvalsOp,
)
from fuse_dialect.dialect.ops.linear_systems import TriangularSolveOp
from fuse_dialect.frontends.fuse_values import NoFuseFormError, broadcast, dtype, result, scalar, shape, static_shape
from fuse_dialect.frontends.stablehlo.rules.building import Rule, known_number, number, word
from fuse_dialect.frontends.stablehlo.rules.dynamic_windows import TARGET, dynamic_reduce_window

_ROUTINE = re.compile(r"lapack_([sdcz])(\w+?)(?:_ffi)?")


def _letter(op: Operation, name: str) -> str:
    """An option of a routine, which is a letter, or its code."""
    for key, found in (("mhlo.backend_config", op.attributes), ("backend_config", op.properties)):
        options = found.get(key)
        value = options.data.get(name) if isinstance(options, DictionaryAttr) else None
        if isinstance(value, IntegerAttr):
            return chr(value.value.data & 127)
        if isinstance(value, StringAttr):
            return value.data
    raise NoFuseFormError(f"a routine without its option '{name}'")


def _zeros(value: SSAValue) -> SSAValue:
    """Zeros in place of a result."""
    zero = constant(np.zeros((), dtype(value))).result
    return broadcast(zero, static_shape(value))


def _cholesky(op: Operation) -> Sequence[SSAValue]:
    return [result(CholeskyOp(op.operands[0], upper=not number(op, "lower")))]


def _triangular_solve(op: Operation) -> Sequence[SSAValue]:
    transposition = word(op, "transpose_a")
    if transposition == "TRANSPOSE_INVALID":
        raise NoFuseFormError("an invalid transposition")
    made = TriangularSolveOp(
        *op.operands,
        left=bool(number(op, "left_side")),
        lower=bool(number(op, "lower")),
        transpose=transposition != "NO_TRANSPOSE",  # elements are real: the adjoint is the transpose
        unit_diagonal=bool(number(op, "unit_diagonal")),
    )
    return [result(made)]


def _potrf(op: Operation) -> Sequence[SSAValue]:
    factor = result(CholeskyOp(op.operands[0], upper=_letter(op, "uplo") == "U"))
    return [factor, _zeros(op.results[1])]


def _getrf(op: Operation) -> Sequence[SSAValue]:
    made = LuOp(op.operands[0])
    # LAPACK counts from 1.
    return [made.factors, result(AddOp(made.pivots, scalar(made.pivots, 1))), _zeros(op.results[2])]


def _geqrf(op: Operation) -> Sequence[SSAValue]:
    return HouseholderQrOp(op.operands[0]).results


def _orgqr(op: Operation) -> Sequence[SSAValue]:
    return [result(HouseholderProductOp(*op.operands))]


def _syevd(op: Operation) -> Sequence[SSAValue]:
    (x,), is_lower = op.operands, _letter(op, "uplo") == "L"
    if _letter(op, "mode") == "N":
        return [x, result(EigvalshOp(x, lower=is_lower)), _zeros(op.results[2])]
    made = EighOp(x, lower=is_lower)
    return [made.vectors, made.values, _zeros(op.results[2])]


def _gesdd(op: Operation) -> Sequence[SSAValue]:
    (x,), mode = op.operands, _letter(op, "mode") if _has(op, "mode") else _letter(op, "jobu")
    _, _, u, vh, info = op.results
    if mode == "N":
        return [x, result(SvdvalsOp(x)), _zeros(u), _zeros(vh), _zeros(info)]
    made = SvdOp(x, full_matrices=mode == "A")
    return [x, made.s, made.u, made.vh, _zeros(info)]


def _has(op: Operation, name: str) -> bool:
    options = op.attributes.get("mhlo.backend_config", op.properties.get("backend_config"))
    return isinstance(options, DictionaryAttr) and name in options.data


def _trsm(op: Operation) -> Sequence[SSAValue]:
    made = TriangularSolveOp(
        *op.operands,
        left=_letter(op, "side") == "L",
        lower=_letter(op, "uplo") == "L",
        transpose=_letter(op, "trans_x") != "N",
        unit_diagonal=_letter(op, "diag") == "U",
    )
    return [result(made)]


_ROUTINES: Mapping[str, tuple[int, int, Rule]] = {
    "gesdd": (1, 5, _gesdd),
    "gesvd": (1, 5, _gesdd),
    "getrf": (1, 3, _getrf),
    "geqrf": (1, 2, _geqrf),
    "orgqr": (2, 1, _orgqr),
    "potrf": (1, 2, _potrf),
    "syevd": (1, 3, _syevd),
    "trsm": (2, 1, _trsm),
}
"""Operands, results and rule by the name of a routine, without its type."""


def _custom_call(op: Operation) -> Sequence[SSAValue]:
    if word(op, "call_target_name") == TARGET:
        return dynamic_reduce_window(op)
    match = _ROUTINE.fullmatch(word(op, "call_target_name"))
    routine = None if match is None else _ROUTINES.get(match[2])
    if match is None or routine is None:
        raise NoFuseFormError("a call of a function outside")
    if match[1] in "cz":
        raise NoFuseFormError("factors of complex matrices")
    operands, results, rule = routine
    if (len(op.operands), len(op.results)) != (operands, results):
        raise NoFuseFormError(f"a routine with other operands and results than {operands} and {results}")
    return rule(op)


LINEAR_ALGEBRA: Mapping[str, Rule] = {
    "stablehlo.cholesky": _cholesky,
    "stablehlo.triangular_solve": _triangular_solve,
    "stablehlo.custom_call": _custom_call,
}
"""Rules by the name of the op."""


def pivots_to_permutation(op: Operation) -> Sequence[SSAValue] | None:
    """What a loop gives that makes a permutation of swaps, `jax.lax.linalg.lu_pivots_to_permutation`.

    Args:
        op: A `stablehlo.while` whose body is not yet converted, and whose operands are.

    Returns:
        Its four results; `None` if it is another loop.
    """
    if len(op.operands) != 4:
        return None
    swaps, first, second, order = op.operands
    lu = _lu_of_pivots(swaps)
    body = op.regions[1].first_block
    if lu is None or body is None or body.last_op is None or known_number(first) != 0 or known_number(second) != 0:
        return None
    # A permutation that begins as the rows in order, and in which each step swaps two of them.
    inside = [inner.name for inner in body.ops]
    if (
        order.type != lu.permutation.type
        or not _counts_up(order)
        or inside.count("stablehlo.scatter") != 2
        or any(inner.regions for inner in body.ops if inner.name != "stablehlo.scatter")
        or body.last_op.operands[0] is not body.args[0]
    ):
        return None
    steps = shape(swaps)[-1]
    return [swaps, *(_integer(steps, each) for each in (first, second)), lu.permutation]


def _integer(number: int, like: SSAValue) -> SSAValue:
    """A constant of an integer's type."""
    return constant(np.array(number, dtype(like))).result


def _lu_of_pivots(value: SSAValue) -> LuOp | None:
    """The decomposition whose pivots these are: JAX takes away the 1 that `_getrf` adds."""
    steps: tuple[type[FuseOp], ...] = (SubtractOp, AddOp)
    for cls in steps:
        if not isinstance(value, OpResult) or not isinstance(value.op, cls) or known_number(value.op.operands[1]) != 1:
            return None
        value = value.op.operands[0]
    owner = value.owner
    return owner if isinstance(owner, LuOp) and value is owner.pivots else None


_AROUND_COUNTING = ("fuse.broadcast_to", "fuse.reshape", "fuse.cast")


def _counts_up(value: SSAValue) -> bool:
    """Whether the last axis counts from 0."""
    while isinstance(value, OpResult) and value.op.name in _AROUND_COUNTING:
        value = value.op.operands[0]
    return isinstance(value, OpResult) and value.op.name in ("fuse.arange", "stablehlo.iota")
