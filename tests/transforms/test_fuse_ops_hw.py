"""`fuse-ops-hw` as a whole: random programs on random hardware, and the networks of the records."""

import os
from collections import Counter
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from random_hardware import random_templates
from random_programs import SHAPE, random_programs
from recorded_graphs import recorded
from relay_networks import Network
from unet import unet
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, OpResult

from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.fuse import ALL_OPS
from fuse_dialect.dialect.hardware_templates import hardware_op
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.hardware import HARDWARE_ATTRIBUTE, REASON_ATTRIBUTE, UNIT_ATTRIBUTE
from fuse_dialect.frontends.mlir.reader import context, parse_mlir
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.fusion.ir.ssa import check_ssa_order
from fuse_dialect.hardware.fuse_ops_hw import FuseOpsHwPass
from fuse_dialect.hardware.predicates import PREDICATES
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.templates.shipped.shipped import SHIPPED_TEMPLATES
from fuse_dialect.templates.template import HardwareTemplate, Predicate
from fuse_dialect.transforms.simplify_inference import SimplifyInferencePass

CASES = int(os.environ.get("HARDWARE_CASES", "100"))
"""Random programs; set the variable for a longer run."""

OPERATORS = ("exp", "abs", "sigmoid", "relu", "negative", "add", "subtract", "multiply", "where", "less", "sum")
VIRTUAL = ("fuse.transpose", "fuse.get_tuple_element", "fuse.tuple", "fuse.strided_slice")
NETWORKS = ("resnet18", "resnet50", "mobilenet", "yolo_head", "squeezenet_1_1", "se_block", "dcgan", "unet")


def hardware_functions(module: ModuleOp) -> list[func.FuncOp]:
    return [op for op in module.ops if isinstance(op, func.FuncOp) and HARDWARE_ATTRIBUTE in op.attributes]


def units_of(function: func.FuncOp) -> list[str]:
    """Units in the order in which the ops of the function use them."""
    attributes = [op.attributes.get(UNIT_ATTRIBUTE) for op in function.body.block.ops]
    return [each.data for each in attributes if isinstance(each, StringAttr)]


def check_trip(function: func.FuncOp, template: HardwareTemplate) -> None:
    """The units are a walk of the template within capacities, and the ops are connected."""
    links = nx.DiGraph((link.source, link.sink) for link in template.links)
    links.add_nodes_from(unit.name for unit in template.units)
    units = units_of(function)
    assert units
    assert all(nx.has_path(links, one, other) for one, other in pairwise([template.source, *units]))
    capacity = {unit.name: unit.capacity for unit in template.units}
    assert all(count <= capacity[unit] for unit, count in Counter(units).items())
    ops = [op for op in function.body.block.ops if isinstance(op, FuseOp)]
    wires: nx.Graph[Operation] = nx.Graph()
    wires.add_nodes_from(ops)
    wires.add_edges_from(
        (operand.op, op) for op in ops for operand in op.operands if isinstance(operand, OpResult) and operand.op in ops
    )
    assert nx.is_connected(wires)


@pytest.mark.slow
@settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    program=random_programs(max_ops=14),
    template=random_templates([f"fuse.{name}" for name in OPERATORS], ["always", "bias", "residual"], VIRTUAL),
    dedup=st.booleans(),
)
def test_random_programs_mean_the_same_on_random_hardware(
    program: ModuleOp, template: HardwareTemplate, **options: Any
) -> None:
    generator = np.random.default_rng(0)
    inputs = [generator.standard_normal(SHAPE).astype(np.float32) for _ in range(2)]
    before = run_module(program, inputs)
    program.body.block.add_op(hardware_op(template))
    program.verify()
    FuseOpsHwPass(template.name, **options).apply(Context(), program)
    program.verify()
    main = program.body.block.first_op
    assert isinstance(main, func.FuncOp)
    check_ssa_order(main.body.block)
    for function in hardware_functions(program):
        check_trip(function, template)
    for op in main.body.block.ops:
        assert (
            not isinstance(op, FuseOp)
            or op.name in VIRTUAL
            or op.name == "fuse.stop_fusion"
            or REASON_ATTRIBUTE in op.attributes
        )
    FuseOpsPass().apply(Context(), program)
    program.verify()
    for one, other in zip(before, run_module(program, inputs), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.slow
@settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    program=random_programs(max_ops=8),
    template=random_templates([f"fuse.{name}" for name in OPERATORS], ["always", "bias", "residual"], VIRTUAL),
)
def test_strict_mode_gives_a_program_that_means_the_same_or_none(program: ModuleOp, template: HardwareTemplate) -> None:
    generator = np.random.default_rng(0)
    inputs = [generator.standard_normal(SHAPE).astype(np.float32) for _ in range(2)]
    before = run_module(program, inputs)
    program.body.block.add_op(hardware_op(template))
    try:
        FuseOpsHwPass(template.name, strict_opu=True).apply(Context(), program)
    except OpError as error:
        event(str(error).split(" op ")[1].split(":")[0])
        return
    event("a program")
    program.verify()
    main = program.body.block.first_op
    assert isinstance(main, func.FuncOp)
    check_ssa_order(main.body.block)
    for one, other in zip(before, run_module(program, inputs), strict=True):
        np.testing.assert_array_equal(one, other)


def network(name: str) -> ModuleOp:
    """A recorded network as it is written, its batch norms folded into bias and scale; or a small U-Net."""
    if name == "unet":
        return unet((4, 8, 16), 16)
    (case,) = (
        case
        for file in ("zoo", "handmade")
        for case in recorded(file)
        if (case["name"], case["stage"]) == (name, "raw (InferType only)")
    )
    module = Network(case, constant_parameters=True).module
    SimplifyInferencePass().apply(Context(), module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("template", SHIPPED_TEMPLATES)
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_map_to_trips_without_cycles(name: str, template: str) -> None:
    module = network(name)
    always = {row.operator for row in SHIPPED_TEMPLATES[template].mappings if row.predicate == Predicate.ALWAYS}
    has_mapped_op = any(op.name in always for op in module.walk())
    FuseOpsHwPass(template).apply(Context(), module)
    module.verify()
    main = module.body.block.first_op
    assert isinstance(main, func.FuncOp)
    check_ssa_order(main.body.block)
    assert hardware_functions(module) or not has_mapped_op or "hardware-constraint: " in str(module)
    for function in hardware_functions(module):
        check_trip(function, SHIPPED_TEMPLATES[template])


def test_fusion_for_the_host_leaves_hardware_functions_alone() -> None:
    module = network("se_block")
    FuseOpsHwPass().apply(Context(), module)
    functions = [str(function) for function in hardware_functions(module)]
    FuseOpsPass().apply(Context(), module)
    assert [str(function) for function in hardware_functions(module)] == functions
    main = module.body.block.first_op
    assert isinstance(main, func.FuncOp)
    assert not any(isinstance(op, FuseOp) for op in main.body.block.ops)


def test_order_of_pure_ops_has_no_influence() -> None:
    text = """
        func.func @main(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>)
            -> (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) {{
          %a = fuse.conv2d %x, %w : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
          {}
          {}
          %r = fuse.relu %a : tensor<1x4x8x8xf32>
          %s = fuse.add %r, %e : tensor<1x4x8x8xf32>
          func.return %s, %t : tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>
        }}
    """
    host = "%e = fuse.exp %x : tensor<1x4x8x8xf32>", "%t = fuse.tanh %a : tensor<1x4x8x8xf32>"
    printed: set[str] = set()
    for one, other in (host, host[::-1]):
        module = parse_mlir(text.format(one, other), "test.mlir", context())
        FuseOpsHwPass().apply(Context(), module)
        module.verify()
        main = module.body.block.first_op
        assert isinstance(main, func.FuncOp)
        check_ssa_order(main.body.block)
        printed.add("\n".join(str(function) for function in hardware_functions(module)))
        assert [function.sym_name.data for function in hardware_functions(module)] == ["fused_conv2d_relu_add"]
    assert len(printed) == 1


@pytest.mark.parametrize("template", SHIPPED_TEMPLATES.values(), ids=lambda template: template.name)
def test_shipped_templates_are_valid_and_name_existing_ops(template: HardwareTemplate) -> None:
    template.validate()
    known = {op.name for op in ALL_OPS}
    assert {part.operator for part in (*template.mappings, *template.virtual)} <= known


def test_every_predicate_has_a_meaning() -> None:
    assert set(PREDICATES) == set(Predicate)
