"""A planned kernel is one native kernel, of the family that its form promises or of one that is tried before."""

from collections.abc import Sequence
from pathlib import Path

import onnx
import pytest
from fuzzing.chains import random_chain
from fuzzing.generator import make_program
from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation

import fuse_dialect as fd
from fuse_dialect.cost.by_cost import searched
from fuse_dialect.cost.search import CostSearch
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.fusion.core.plan import FusionPlan
from fuse_dialect.fusion.core.strategy import FusionOptions
from fuse_dialect.fusion.core.value_graph import NodeRole, ValueGraph
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.loops.choosing import FAMILIES, choose
from fuse_dialect.loops.forms import Form, Loops
from fuse_dialect.loops.kernel_schedule import KernelSchedule
from fuse_dialect.loops.program import LoopProgram
from fuse_dialect.loops.simplify import simplify
from fuse_dialect.lowering.loop_program import lower
from fuse_dialect.machines.names import find_machine
from fuse_dialect.transforms.compile_prefix import compile_prefix

MACHINE = find_machine("cpu-avx512")
LIGHT_MODELS = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


def broken(module: ModuleOp) -> list[str]:
    """The kernels of a plan that are none, or of a slower family than promised; the module is fused."""
    searches: list[tuple[FusionPlan, CostSearch]] = []

    def strategy(graph: ValueGraph, options: FusionOptions) -> FusionPlan:
        search = searched(graph, options)
        searches.append((search.plan(), search))
        return searches[-1][0]

    fusing = FuseOpsPass(machine="cpu-avx512", dedup=False).using(strategy=strategy)
    plans = fusing.plan_functions(module)
    promised: list[tuple[Sequence[Operation], Form]] = []
    for fusion in (fusion for fusions in plans.values() for fusion in fusions):
        graph, nodes = fusion.block_graph.value_graph, fusion.block_graph.nodes
        (search,) = [search for plan, search in searches if plan is fusion.plan]
        forms = {draft.members: draft.form for draft in search.steps.drafts.values()}
        for kernel in fusion.plan.kernels:
            members = [node for node in kernel.nodes if graph.roles[node] is NodeRole.OPERATOR]
            ops = [op for node in members if (op := nodes[node].op) is not None]
            promised.append((ops, forms[frozenset(members)]))
    fusing.outline(module, plans)
    form_of = {id(op): (len(ops), form) for ops, form in promised for op in ops}
    found: list[str] = []
    for function in module.body.block.ops:
        if isinstance(function, func.FuncOp) and "primitive" in function.attributes:
            own = [op for op in function.body.block.ops if isinstance(op, FuseOp)]
            # Ops that several kernels compute stand in one of them, and elsewhere as copies.
            forms = [form for op in own if id(op) in form_of for count, form in [form_of[id(op)]] if count == len(own)]
            if forms and not _is_kept(forms[0], function, _constants(module, function)):
                found.append(f"{forms[0].loops} {forms[0].family}: {function}")
    return found


def _constants(module: ModuleOp, function: func.FuncOp) -> frozenset[int]:
    """Which arguments of a primitive are constant."""
    name = function.sym_name.data
    calls = [op for op in module.walk() if isinstance(op, func.CallOp) and op.callee.root_reference.data == name]
    return frozenset(
        place for place, value in enumerate(calls[0].operands) if isinstance(value.owner, arith.ConstantOp)
    )


def _is_kept(form: Form, function: func.FuncOp, constants: frozenset[int]) -> bool:
    program = lower(function)
    if form.loops is Loops.UNKNOWN or form.is_view:
        return True
    if not isinstance(program, LoopProgram):
        return False
    chosen = choose(simplify(program), MACHINE, constants)
    return isinstance(chosen, KernelSchedule) and FAMILIES.index(chosen.family) <= FAMILIES.index(form.family)


def _is_static(module: ModuleOp) -> bool:
    """Whether all sizes are known, and all ops have loops."""
    results = [result.type for op in module.walk() for result in op.results]
    return all(not isinstance(type, TensorType) or type.has_static_shape() for type in results)


@pytest.mark.parametrize("first", range(0, 160, 20))
def test_random_programs_become_what_is_promised(first: int) -> None:
    seen = 0
    for seed in range(first, first + 20):
        program = make_program(seed)
        module = None if program is None else program.module()
        if module is not None and _is_static(module):
            seen += 1
            assert broken(module) == [], seed
    assert seen


@pytest.mark.parametrize("first", range(0, 80, 20))
def test_random_chains_become_what_is_promised(first: int) -> None:
    strips = 0
    for seed in range(first, first + 20):
        module = fd.parse(random_chain(seed).text)
        assert broken(module) == [], seed
        functions = [op for op in module.body.block.ops if isinstance(op, func.FuncOp)]
        for function in (each for each in functions if "primitive" in each.attributes):
            program = lower(function)
            assert isinstance(program, LoopProgram)
            chosen = choose(simplify(program), MACHINE)
            strips += isinstance(chosen, KernelSchedule) and chosen.family == "strips"
    assert strips


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(LIGHT_MODELS.glob("*.onnx")), ids=lambda path: path.stem)
def test_networks_become_what_is_promised(path: Path) -> None:
    module = fd.read(path)
    for each in compile_prefix():
        each.apply(Context(), module)
    assert broken(module) == []
