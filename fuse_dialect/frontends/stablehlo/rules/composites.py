"""Composites: ops that are what a function of the module says, unless a `fuse` op says it better.

Source: `composite` in docs/spec.md of openxla/stablehlo.
"""

from collections.abc import Mapping, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, SymbolRefAttr
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import SymbolTable

from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.frontends.fuse_values import NoFuseFormError, tensor
from fuse_dialect.frontends.stablehlo.rules.building import Rule, word
from fuse_dialect.frontends.stablehlo.rules.orders import top_k

_NAME = "stablehlo.composite"


def call_decompositions(module: ModuleOp) -> None:
    """Replace composites that no `fuse` op says by calls of their decompositions, which `inline` then takes in.

    Those whose decomposition is not there, or takes and gives other types, stay.
    """
    for op in list(ops_inside(module)):
        if op.name == _NAME and _top_k_of(op) is None and _decomposition(op) is not None:
            callee = op.properties["decomposition"]
            assert isinstance(callee, SymbolRefAttr), "a decomposition was found"
            call = func.CallOp(callee, op.operands, list(op.result_types))
            call.location = op.location
            Rewriter.replace_op(op, call)


def _decomposition(op: Operation) -> func.FuncOp | None:
    """The function that a composite is made of, if it is one of the same types."""
    callee = op.properties.get("decomposition")
    found = SymbolTable.lookup_symbol(op, callee) if isinstance(callee, SymbolRefAttr) else None
    if not isinstance(found, func.FuncOp):
        return None
    types = found.function_type
    alike = types.inputs.data == tuple(op.operand_types) and types.outputs.data == tuple(op.result_types)
    return found if alike else None


def _top_k_of(op: Operation) -> int | None:
    """How many elements a `chlo.top_k` takes, as JAX writes it."""
    items = op.properties.get("composite_attributes")
    k = items.data.get("k") if isinstance(items, DictionaryAttr) and word(op, "name") == "chlo.top_k" else None
    return k.value.data if isinstance(k, IntegerAttr) else None


def _composite(op: Operation) -> Sequence[SSAValue]:
    """What is left are composites that a `fuse` op says, and those of which nothing is known."""
    k = _top_k_of(op)
    if k is None:
        raise NoFuseFormError(f"its decomposition, {op.properties['decomposition']}, is no function of these types")
    return top_k(op.operands[0], k, tensor(op.results[1]).element_type)


COMPOSITES: Mapping[str, Rule] = {_NAME: _composite}
"""Rules by the name of the op."""
