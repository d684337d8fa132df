"""`fuse-ops` and then `defuse-ops` give back the program."""

from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from random_programs import random_programs
from ssa_form import ssa_form
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from fuse_dialect.dialect.ops.regions import FusedOp
from fuse_dialect.frontends.mlir.reader import context, parse_mlir
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.transforms.defuse_ops import DefuseOpsPass
from fuse_dialect.transforms.fused_regions import InlineFusedPass, OutlineFusedPass

FILECHECK = Path(__file__).parents[1] / "filecheck" / "transforms" / "fuse-ops"
MANY = settings(
    max_examples=1000,
    phases=(Phase.generate,),
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
"""Random programs that are not made smaller: a test that fails shows the first."""


def fuse_and_defuse(module: ModuleOp, **options: object) -> None:
    """Fuse, which must leave calls, and defuse, which must leave none and no primitive."""
    FuseOpsPass(**options).apply(Context(), module)  # pyright: ignore[reportArgumentType]
    DefuseOpsPass().apply(Context(), module)
    module.verify()
    assert not any("primitive" in op.attributes for op in module.walk())


@pytest.mark.slow
@MANY
@given(
    program=random_programs(max_ops=12),
    opt_level=st.sampled_from([0, 2]),
    max_depth=st.sampled_from([2, 256]),
    link_params=st.booleans(),
    dedup=st.booleans(),
)
def test_random_programs_come_back(program: ModuleOp, **options: object) -> None:
    before = ssa_form(program)
    fuse_and_defuse(program, **options)
    assert ssa_form(program) == before


@pytest.mark.slow
@MANY
@given(
    program=random_programs(max_ops=12),
    strategy=st.sampled_from(["tvm", "cost"]),
    dedup=st.booleans(),
    passes=st.lists(
        st.sampled_from([OutlineFusedPass(), OutlineFusedPass(dedup=False), InlineFusedPass()]), max_size=4
    ),
)
def test_kernels_in_place_and_functions_are_the_same(
    program: ModuleOp, strategy: str, dedup: bool, passes: list[ModulePass]
) -> None:
    before = ssa_form(program)
    FuseOpsPass(form="inline", strategy=strategy, dedup=dedup).apply(Context(), program)
    assert not any("primitive" in op.attributes for op in program.walk())
    for each in passes:
        each.apply(Context(), program)
        program.verify()
        inline = isinstance(each, InlineFusedPass)
        assert not any("primitive" in op.attributes if inline else isinstance(op, FusedOp) for op in program.walk())
    DefuseOpsPass().apply(Context(), program)
    assert ssa_form(program) == before


@pytest.mark.slow
@pytest.mark.skipif(find_spec("onnx") is None, reason="needs the extra 'onnx'")
def test_light_models_come_back() -> None:
    import onnx

    from fuse_dialect.frontends.onnx.reader import load_onnx_module

    folder = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    models = sorted(folder.glob("light_*.onnx"))
    assert len(models) == 9
    for model in models:
        module = load_onnx_module(model)
        before = ssa_form(module)
        FuseOpsPass().apply(Context(), module)
        assert sum(isinstance(op, func.CallOp) for op in module.walk()) > 5
        DefuseOpsPass().apply(Context(), module)
        module.verify()
        assert ssa_form(module) == before


@pytest.mark.parametrize("name", ["outlining", "options", "injective-into-tuple", "kinds"])
def test_written_programs_come_back(name: str) -> None:
    module = parse_mlir((FILECHECK / f"{name}.mlir").read_text(), name, context(allow_unregistered=True))
    before = ssa_form(module, locations=True)
    fuse_and_defuse(module, dedup=False)
    assert ssa_form(module, locations=True) == before


def test_fusing_again_gives_the_same_kernels() -> None:
    module = parse_mlir((FILECHECK / "outlining.mlir").read_text(), "test.mlir", context())
    FuseOpsPass().apply(Context(), module)
    fused = str(module)
    DefuseOpsPass().apply(Context(), module)
    FuseOpsPass().apply(Context(), module)
    assert str(module) == fused


def test_the_form_tells_programs_apart() -> None:
    text = (
        "func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {{\n{}\nfunc.return %b : tensor<4xf32>\n}}"
    )
    bodies = (
        "%a = fuse.exp %x : tensor<4xf32>\n%b = fuse.subtract %a, %y : tensor<4xf32>",
        "%a = fuse.exp %x : tensor<4xf32>\n%b = fuse.subtract %y, %a : tensor<4xf32>",
        "%a = fuse.exp %y : tensor<4xf32>\n%b = fuse.subtract %a, %y : tensor<4xf32>",
        "%a = fuse.relu %x : tensor<4xf32>\n%b = fuse.subtract %a, %y : tensor<4xf32>",
        "%a = fuse.exp %x {m} : tensor<4xf32>\n%b = fuse.subtract %a, %y : tensor<4xf32>",
    )
    assert len({ssa_form(parse_mlir(text.format(body), "f.mlir", context())) for body in bodies}) == len(bodies)
