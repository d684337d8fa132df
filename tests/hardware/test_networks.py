"""Ten networks on every shipped template: what stays on the host says why, and the numbers are the same."""

import numpy as np
import pytest
from trip_networks import NETWORKS
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import StringAttr

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.hardware import HARDWARE_ATTRIBUTE, REASON_ATTRIBUTE
from fuse_dialect.dialect.types import tensor_type
from fuse_dialect.hardware.fuse_ops_hw import FuseOpsHwPass
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.templates.shipped.shipped import SHIPPED_TEMPLATES

TEMPLATES = [each for each in SHIPPED_TEMPLATES if each != "ethos-u-int8"]


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_what_stays_on_the_host_says_why_and_results_are_equal(name: str) -> None:
    module = NETWORKS[name]()
    main = module.body.block.first_op
    assert isinstance(main, func.FuncOp)
    shape = tensor_type(main.body.block.args[0]).get_shape()
    image = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    expected = run_module(module, [image])
    for template in TEMPLATES:
        fused = module.clone()
        FuseOpsHwPass(template).apply(Context(), fused)
        fused.verify()
        main = fused.body.block.first_op
        assert isinstance(main, func.FuncOp)
        for op in main.body.block.ops:
            if isinstance(op, FuseOp):
                reason = op.attributes.get(REASON_ATTRIBUTE)
                assert isinstance(reason, StringAttr), f"{op.name} on {template}"
                assert reason.data.split(":")[0] in ("no-unit", "hardware-constraint", "hardware-limit")
                mapped = {row.operator for row in SHIPPED_TEMPLATES[template].mappings}
                assert op.name not in mapped or not reason.data.startswith("no-unit")
        for result, wanted in zip(run_module(fused, [image]), expected, strict=True):
            np.testing.assert_array_equal(result, wanted)


def trips(name: str, template: str) -> tuple[int, int]:
    """Trips of a network, and operators that stay on the host."""
    module = NETWORKS[name]()
    FuseOpsHwPass(template).apply(Context(), module)
    main = module.body.block.first_op
    assert isinstance(main, func.FuncOp)
    host = sum(isinstance(op, FuseOp) for op in main.body.block.ops)
    callees = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
    calls = [op for op in main.body.block.ops if isinstance(op, func.CallOp)]
    return sum(HARDWARE_ATTRIBUTE in callees[call.callee.string_value()].attributes for call in calls), host


@pytest.mark.parametrize(
    ("name", "template", "count"),
    [
        # 20 convolutions, the sums behind them, and the layer at the end.
        ("resnet18", "opu", 21),
        ("resnet18", "nvdla", 21),
        ("resnet18", "systolic", 21),
        # 52 convolutions and a layer, each a trip with whatever follows it.
        ("mobilenet_v2", "opu", 53),
        ("mobilenet_v2", "nvdla", 53),
        # One main operation a pass: 53 of these, ten sums and a mean.
        ("mobilenet_v2", "ethos-u", 64),
        ("unet", "opu", 10),
    ],
)
def test_networks_take_the_fewest_trips_that_one_product_a_trip_allows(name: str, template: str, count: int) -> None:
    assert trips(name, template) == (count, 0)
