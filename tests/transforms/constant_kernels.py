"""Programs of one convolution whose kernel is a constant."""

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

import fuse_dialect as fd
from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.op import Array


def with_kernel(text: str, kernel: Array) -> ModuleOp:
    """The program with a constant in the place of its second argument."""
    module = fd.parse(text)
    (main,) = module.ops
    assert isinstance(main, func.FuncOp)
    block, value = main.body.block, constant(kernel)
    assert block.first_op is not None
    block.insert_op_before(value, block.first_op)
    block.args[1].replace_all_uses_with(value.result)
    return module
