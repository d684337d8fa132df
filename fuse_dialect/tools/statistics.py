"""Statistics of the passes that fuse. Imported when they are asked for, because it imports the passes."""

import json
from collections.abc import Callable

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.hardware.fuse_ops_hw import FuseOpsHwPass
from fuse_dialect.remarks.hardware import hardware_remarks
from fuse_dialect.remarks.module_plan import plan_module
from fuse_dialect.remarks.statistics import primitives_of, statistics_of


def observe(module_pass: ModulePass, module: ModuleOp, ctx: Context, *, as_json: bool) -> Callable[[], str] | None:
    """What gives the statistics of the pass once it has run on the module; `None` for a pass that does not fuse.

    Raises:
        FuseError: The pass has no template.
        OpError: The pass cannot group a block.
    """
    if not isinstance(module_pass, FuseOpsPass | FuseOpsHwPass):
        return None
    known = frozenset(primitives_of(module))
    if isinstance(module_pass, FuseOpsPass):
        refusals = plan_module(module, module_pass).refusals()
    else:
        refusals = [remark.reason.value for remark in hardware_remarks(module, module_pass, ctx)]

    def text() -> str:
        statistics = statistics_of(module_pass.name, module, known, refusals)
        return json.dumps(statistics.as_json()) if as_json else str(statistics)

    return text
