"""`extract-primitives`: each distinct primitive function as a module of its own, with how often it is called.

1. The module becomes a list of modules, one for each primitive, in the order in which the primitives stand. Such a
   module has the name of its primitive, and the primitive is its one public function. Everything else is dropped.
2. The attribute `fuse.calls` of a module says how many calls the program has of the primitive; a primitive may be
   called often by one that is itself called often, which is not multiplied out.
3. Primitives of the same structure count as one, also where `fuse-ops` was told not to share them.
4. Functions that a primitive calls come along, as private ones. Symbol tables inside the module are searched, too.
5. A kernel in its place, `fuse.fused`, is a primitive with a call.

Source: TVM `ExtractFusedFunctions`, src/relay/analysis/extract_fused_functions.cc (v0.18), which does not count.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from fuse_dialect.fusion.inlining import callee
from fuse_dialect.fusion.ir.fusible_blocks import PRIMITIVE_ATTRIBUTE
from fuse_dialect.fusion.ir.ssa import check_ssa_order
from fuse_dialect.fusion.ir.symbol_tables import blocks_of_functions, may_be_symbol_table, walk_table
from fuse_dialect.fusion.outlining.group import Group
from fuse_dialect.fusion.outlining.primitives import Primitives
from fuse_dialect.fusion.outlining.regions import outline_regions

CALLS_ATTRIBUTE = "fuse.calls"
"""Name of the attribute that says how often a primitive is called."""


@dataclass(slots=True)
class _Extract:
    """A primitive and how often it, or one of the same structure, is called."""

    function: func.FuncOp
    functions: dict[str, func.FuncOp]
    """All functions of the module that the primitive stands in."""
    calls: int = 0


@dataclass(frozen=True)
class ExtractPrimitivesPass(ModulePass):
    """Turn the module into a list of modules, one for each distinct primitive function."""

    name = "extract-primitives"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Replace the contents of the module."""
        outline_regions(op)
        structures = Primitives(op.body.block)
        extracts: dict[object, _Extract] = {}
        for block in blocks_of_functions(op):
            functions = {inner.sym_name.data: inner for inner in block.ops if isinstance(inner, func.FuncOp)}
            calls = dict.fromkeys(functions, 0)
            for call in _calls_in(inner for inner in block.ops if not may_be_symbol_table(inner)):
                calls[callee(call)] = calls.get(callee(call), 0) + 1
            for name, function in functions.items():
                if PRIMITIVE_ATTRIBUTE in function.attributes and not function.is_declaration:
                    key = _structure(function, structures)
                    extract = extracts.setdefault(function if key is None else key, _Extract(function, functions))
                    extract.calls += calls[name]
        names: set[str] = set()
        modules = [
            _module_of(extract, _unused_name(extract.function.sym_name.data, names)) for extract in extracts.values()
        ]
        op.body.detach_block(op.body.block)
        op.body.add_block(Block(modules))


def _calls_in(ops: Iterable[Operation]) -> Iterable[func.CallOp]:
    for op in ops:
        for inner in walk_table(op):
            if type(inner) is func.CallOp:
                yield inner


def _structure(function: func.FuncOp, structures: Primitives) -> object:
    """The structure of a primitive of one block that calls nothing; `None` for others, which are not compared.

    Raises:
        OpError: The primitive is not in SSA order.
    """
    if len(function.body.blocks) > 1 or any(_calls_in([function])):
        return None
    block = function.body.block
    check_ssa_order(block)
    assert block.last_op is not None, "the body of a function ends with a terminator"
    return structures.structure(Group(list(block.ops), block.args, ()))


def _module_of(extract: _Extract, name: str) -> ModuleOp:
    """A module with a copy of the primitive, and of the functions that it calls."""
    main = extract.function.clone()
    main.properties.pop("sym_visibility", None)
    needed: dict[str, func.FuncOp] = {main.sym_name.data: main}
    pending = [main]
    while pending:
        for call in _calls_in([pending.pop()]):
            inner = callee(call)
            if inner not in needed and inner in extract.functions:
                needed[inner] = copy = extract.functions[inner].clone()
                copy.properties["sym_visibility"] = StringAttr("private")
                pending.append(copy)
    attributes = {CALLS_ATTRIBUTE: IntegerAttr(extract.calls, i64)}
    return ModuleOp(list(needed.values()), attributes, StringAttr(name))


def _unused_name(name: str, names: set[str]) -> str:
    """The name, with a number behind it if modules of that name have been met."""
    unused, number = name, 0
    while unused in names:
        unused, number = f"{name}_{number}", number + 1
    names.add(unused)
    return unused
