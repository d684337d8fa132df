"""What holds blocks that fuse: functions of any dialect, and a module's own top level.

An op is a function if it has a name, `sym_name`, a type, `function_type`, and one region; MLIR's interface
`FunctionOpInterface` asks for the same. So `util.func` and `ml_program.func` are functions, whether or not their
classes are known.

Source: mlir/include/mlir/Interfaces/FunctionInterfaces.td.
"""

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, TypeAttribute
from xdsl.traits import IsTerminator


def is_function(op: Operation) -> bool:
    """Whether the op is a function of some dialect."""
    if isinstance(op, func.FuncOp):
        return True
    if len(op.regions) != 1 or isinstance(op, ModuleOp):
        return False
    return isinstance(_named(op, "sym_name"), StringAttr) and isinstance(_named(op, "function_type"), TypeAttribute)


def is_private(function: func.FuncOp) -> bool:
    """Whether nothing outside of its module refers to a function; `public` may be written, or left out."""
    visibility = function.sym_visibility
    return visibility is not None and visibility.data == "private"


def is_top_level(block: Block) -> bool:
    """Whether the block is the top level of a module: it ends without a terminator, and gives nothing to anybody."""
    return isinstance(block.parent_op(), ModuleOp)


def terminator_of(block: Block) -> Operation | None:
    """The op that ends the block; an unregistered one may, except at a top level."""
    last = block.last_op
    return last if last is not None and last.has_trait(IsTerminator) and not is_top_level(block) else None


def symbols_around(op: Operation) -> Block:
    """The block whose functions ops inside a function, or at a module's top level, can call."""
    symbols = op.body.block if isinstance(op, ModuleOp) else op.parent
    assert symbols is not None, "a function inside a module stands in a block"
    return symbols


def symbol_of(op: Operation) -> str:
    """The name of a function or module; empty if it has none."""
    symbol = _named(op, "sym_name")
    return symbol.data if isinstance(symbol, StringAttr) else ""


def place_name(op: Operation) -> str:
    """What people call a function, or a module's top level: `@main`, `the module`."""
    symbol = symbol_of(op)
    return f"@{symbol}" if symbol else "the module"


def _named(op: Operation, name: str) -> Attribute | None:
    return op.properties.get(name) or op.attributes.get(name)
