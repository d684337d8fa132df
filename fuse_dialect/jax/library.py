"""Functions that JAX itself jits: `jax.random.normal`, `jax.numpy.linalg.norm` and their like.

JAX keeps what it has traced of them, with the lines of whoever has called them first. Ops of such functions lose these
lines here; `inline` gives them that of the call.
"""

from collections import defaultdict
from typing import Any, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, NameLoc, NoneAttr, UnknownLoc

from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.jax.refusals import is_of_jax


def library_functions(jaxpr: Any) -> set[str]:
    """The names of the jitted functions in what JAX has traced that are defined in JAX, and in nothing of the user's.

    Args:
        jaxpr: `jax.stages.Traced.jaxpr`.
    """
    ours, others = set[str](), set[str]()
    pending, seen = [jaxpr], set[int]()
    while pending:
        current = pending.pop()
        current = getattr(current, "jaxpr", current)
        if id(current) in seen:
            continue
        seen.add(id(current))
        for eqn in current.eqns:
            inner = [part for value in eqn.params.values() for part in _jaxprs(value)]
            pending += inner
            if inner and isinstance(name := eqn.params.get("name"), str):
                debug_info: Any = getattr(getattr(inner[0], "jaxpr", inner[0]), "debug_info", None)
                place = str(getattr(debug_info, "func_src_info", "")).rpartition(" at ")[2]
                (ours if is_of_jax(place) else others).add(name)
    return ours - others


def _jaxprs(value: Any) -> list[Any]:
    parts = cast("list[Any]", value) if isinstance(value, list | tuple) else [value]
    return [part for part in parts if hasattr(part, "eqns") or hasattr(getattr(part, "jaxpr", None), "eqns")]


def forget_lines(module: ModuleOp, names: set[str]) -> None:
    """Take the lines from the ops of functions of these names, and of those that only such functions call."""
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
    callers: dict[str, set[str]] = defaultdict(set)
    for name, function in functions.items():
        for op in ops_inside(function):
            if isinstance(op, func.CallOp):
                callers[op.callee.root_reference.data].add(name)
    # JAX numbers functions of one name: `norm`, `norm_0`.
    known = {name for name in functions if name in names or name.rstrip("0123456789").removesuffix("_") in names}
    grown = True
    while grown:
        found = {name for name in functions if callers[name] and callers[name] <= known} - known
        known |= found
        grown = bool(found)
    for name in known - {"main"}:
        for op in ops_inside(functions[name]):
            op.location = NameLoc(op.location.desc, NoneAttr()) if isinstance(op.location, NameLoc) else UnknownLoc()
