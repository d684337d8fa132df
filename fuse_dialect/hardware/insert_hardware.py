"""`insert-hardware`: put a hardware template into the module as a `fuse.hardware` op.

Passes then find it under its name, and so does the target `hardware-dot`. On an empty module it prints the template.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.hardware_templates import hardware_op, read_template
from fuse_dialect.dialect.ops.hardware import HardwareOp
from fuse_dialect.hardware.template_file import find_template


@dataclass(frozen=True)
class InsertHardwarePass(ModulePass):
    """Put a hardware template into the module."""

    name = "insert-hardware"

    template: str = "opu"
    """Name of a shipped template, or path of an MLIR file with one `fuse.hardware` op."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Insert the template at the top, unless the module has it.

        Raises:
            OpError: The module has another template of the same name.
        """
        template = find_template(self.template, op, ctx)
        for present in [
            each for each in op.ops if isinstance(each, HardwareOp) and each.sym_name.data == template.name
        ]:
            if read_template(present)[0] != template:
                raise OpError(present, f"'fuse.hardware' op is another template than the '{template.name}' to insert")
            return
        block = op.body.block
        inserted = hardware_op(template)
        if block.first_op is None:
            block.add_op(inserted)
        else:
            block.insert_op_before(inserted, block.first_op)
