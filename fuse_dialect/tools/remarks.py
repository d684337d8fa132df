"""Which pass has which remarks. Imported when remarks are asked for, because it imports the passes."""

from collections.abc import Iterable
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from fuse_dialect.remarks.calls import CallRemark, call_remarks
from fuse_dialect.remarks.fusion import FusionRemark, fusion_remarks
from fuse_dialect.remarks.hardware import HardwareRemark, hardware_remarks
from fuse_dialect.transforms.defuse_ops import DefuseOpsPass
from fuse_dialect.transforms.fuse_ops import FuseOpsPass
from fuse_dialect.transforms.fuse_ops_hw import FuseOpsHwPass

Remark: TypeAlias = FusionRemark | HardwareRemark | CallRemark


def remarks_of(module_pass: ModulePass, module: ModuleOp, ctx: Context) -> Iterable[Remark]:
    """Remarks on what the pass would refuse in the module, in the order of its ops as they are printed.

    A pass that has nothing to do with fusion has none.
    """
    remarks: Iterable[Remark]
    match module_pass:
        case FuseOpsPass():
            remarks = fusion_remarks(module, module_pass)
        case FuseOpsHwPass():
            remarks = hardware_remarks(module, module_pass, ctx)
        case DefuseOpsPass():
            remarks = call_remarks(module)
        case _:
            return ()
    # Graphs are numbered from the results back, whatever the order in the text is.
    places = {op: place for place, op in enumerate(module.walk())}
    return sorted(remarks, key=lambda remark: places[remark.op])
