"""Dialects that IRDL files define, for ops that are to be read, verified and fused without any Python.

xDSL makes classes of the ops and types of an `irdl.dialect`. What its interpreter would leave out or trip over is
refused here, at the op that says it:

1. an operand or result is one value: not optional, not variadic;
2. ops of IRDL that xDSL parses and does not interpret: `irdl.attribute` and `irdl.c_pred`, for example;
3. a base that `irdl.parametric` names must be a type of the same dialect, `@tile`, or as MLIR writes it `@npu::@tile`;
4. the name of the dialect must be free;
5. names of operands and results differ, and hide no member of xDSL's `Operation`.

Source: xDSL `IRDLFunctions`, xdsl/interpreters/irdl.py (v0.74).
"""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.dialects.irdl import irdl
from xdsl.interpreters.irdl import make_dialect
from xdsl.ir import Dialect, Operation
from xdsl.irdl import IRDLOperation
from xdsl.traits import SymbolTable

from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.loading.failure import failing_operation, located_errors
from fuse_dialect.loading.module_file import read_module

_INTERPRETED = (
    irdl.DialectOp,
    irdl.OperationOp,
    irdl.TypeOp,
    irdl.OperandsOp,
    irdl.ResultsOp,
    irdl.ParametersOp,
    irdl.IsOp,
    irdl.AnyOp,
    irdl.AnyOfOp,
    irdl.ParametricOp,
)
"""What `IRDLFunctions` has a function for."""
_RESERVED = frozenset(
    name for each in IRDLOperation.__mro__ for name in (*vars(each), *vars(each).get("__annotations__", ()))
)
"""Names of members of each op."""


def load_irdl(ctx: Context, path: str) -> None:
    """Make the dialects known that a file defines.

    Raises:
        FuseError: The file cannot be read, defines no dialect, or one that xDSL cannot make, with the place.
    """
    file = read_module(path, "mlir")
    with located_errors(file.source_map, " while dialects are made"):
        for dialect in _dialects(file.module):
            name = dialect.sym_name.data
            if name in ctx.registered_dialect_names:
                raise OpError(dialect, f"'irdl.dialect' op defines '{name}', which is known already")
            for op in ops_inside(dialect):
                _check(op, dialect)
            ctx.load_dialect(_made(dialect))


def _made(dialect: irdl.DialectOp) -> Dialect:
    try:
        return make_dialect(dialect)
    except Exception as error:
        # xDSL asserts some of its expectations: no diagnosis, but the op is known.
        what = f"'irdl.dialect' op '{dialect.sym_name.data}' cannot be made ({type(error).__name__} in xDSL)"
        raise OpError(failing_operation(error) or dialect, what) from error


def _dialects(module: ModuleOp) -> list[irdl.DialectOp]:
    """The dialects of a file."""
    dialects = list[irdl.DialectOp]()
    for op in module.ops:
        if not isinstance(op, irdl.DialectOp):
            raise OpError(op, f"'{op.name}' op stands in a file of dialects", "expected irdl.dialect")
        dialects.append(op)
    if not dialects:
        raise OpError(module, "'builtin.module' op defines no dialect", "write irdl.dialect @npu { ... }")
    return dialects


def _check(op: Operation, dialect: irdl.DialectOp) -> None:
    """Refuse what xDSL makes nothing of, or the wrong thing."""
    if not isinstance(op, _INTERPRETED):  # (2)
        raise OpError(op, f"'{op.name}' op has no meaning in xDSL", "irdl.any takes everything")
    if isinstance(op, irdl.OperationOp):
        _check_names(op)
    if isinstance(op, irdl.OperandsOp | irdl.ResultsOp):
        for name, each in zip(op.names, op.variadicity.value, strict=True):
            if each.data != irdl.VariadicityEnum.SINGLE:  # (1)
                what = f"'{op.name}' op says that '{name.data}' is {each.data}, and xDSL takes it for a single value"
                raise OpError(op, what, "give each form of the operation a name of its own")
    if isinstance(op, irdl.ParametricOp):
        names = op.base_type.string_value().split(".")
        if len(names) == 2 and names[0] == dialect.sym_name.data:
            op.properties["base_type"] = SymbolRefAttr(names[1])  # what xDSL looks up
        base = SymbolTable.lookup_symbol(op, op.base_type)
        if not isinstance(base, irdl.TypeOp) or base.parent_op() is not dialect:  # (3)
            raise OpError(op, f"'irdl.parametric' op names no type of '{dialect.sym_name.data}': {op.base_type}")


def _check_names(op: irdl.OperationOp) -> None:
    seen: set[str] = set()
    for part in op.body.ops:
        for name in part.names if isinstance(part, irdl.OperandsOp | irdl.ResultsOp) else ():
            if name.data in seen or name.data in _RESERVED:  # (5)
                why = "has two values of the name" if name.data in seen else "may have no value of the name"
                raise OpError(part, f"'{part.name}' op: '{op.qualified_name}' {why} '{name.data}'", "name it otherwise")
            seen.add(name.data)
