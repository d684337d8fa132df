"""Where kernels come from in the program of the user: names of nodes, paths of modules, lines."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    ModuleOp,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute

import fuse_dialect as fd
from fuse_dialect.dialect.op_sources import source_of
from fuse_dialect.frontends.onnx.sources import module_path
from fuse_dialect.frontends.torch_stacks import user_line
from fuse_dialect.source_names import TORCH_SCOPES, TORCH_STACK, common_source
from fuse_dialect.targets.onnx.body import DOMAIN
from fuse_dialect.targets.onnx.sources import SOURCES, node_source

LAYERS = 3


def stack(line: int) -> str:
    return (
        f'  File "/home/somebody/model.py", line {line}, in forward\n    x = self.fc(x)\n'
        '  File "/usr/lib/torch/nn/modules/linear.py", line 134, in forward\n    return F.linear(x)\n'
    )


@pytest.fixture
def exported(tmp_path: Path) -> str:
    """Three layers, as PyTorch's exporter writes them."""
    nodes: list[onnx.NodeProto] = []
    weights: list[onnx.TensorProto] = []
    for layer in range(LAYERS):
        weight = np.full((16, 16), 0.1 * (layer + 1), np.float32)
        weights.append(numpy_helper.from_array(weight, f"w{layer}"))
        for op, reads, gives in (
            ("MatMul", [f"x{layer}", f"w{layer}"], f"m{layer}"),
            ("Relu", [f"m{layer}"], f"x{layer + 1}"),
        ):
            node = helper.make_node(op, reads, [gives], name=f"node_{op}_{layer}")
            own = {
                "pkg.torch.onnx.name_scopes": str(["", f"layers.{layer}", f"layers.{layer}.fc", gives]),
                "pkg.torch.onnx.stack_trace": stack(10 + layer),
            }
            for key, value in own.items():
                node.metadata_props.add(key=key, value=value)
            nodes.append(node)
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 16]) for name in ("x0", f"x{LAYERS}"))
    graph = helper.make_graph(nodes, "layers", [x], [y], weights)
    path = tmp_path / "layers.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]).SerializeToString())
    return str(path)


def test_kernels_name_the_module_and_the_line(exported: str) -> None:
    program = fd.compile(exported, strategy="tvm")
    (kernel,) = program.kernels
    assert kernel.sources == tuple(f"layers.{layer}.fc/node_Relu_{layer} (model.py:{10 + layer})" for layer in range(3))
    assert kernel.source == "layers.*.fc/node_Relu_* (model.py:*)"
    assert kernel.source in str(program.profile(np.ones((4, 16), np.float32), repeat=1))


def test_a_program_from_the_cache_names_them_too(exported: str) -> None:
    first = fd.compile(exported)
    again = fd.compile(exported)
    assert [kernel.sources for kernel in again.kernels] == [kernel.sources for kernel in first.kernels]


def test_a_kernel_of_one_call_is_named_after_its_anchor() -> None:
    module = fd.parse(
        """
        func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
          %0 = fuse.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("product"("net.py":3:1))
          %1 = fuse.relu %0 : tensor<4x4xf32> loc("end"("net.py":4:1))
          func.return %1 : tensor<4x4xf32>
        }
        """
    )
    (group,) = fd.plan_fusion(module).groups
    assert group.source == "product (net.py:3)"
    (kernel,) = fd.compile(module).kernels
    assert kernel.source == "product (net.py:3)"


def test_the_plan_folds_layers_and_their_names(exported: str) -> None:
    assert f"{LAYERS}x matmul + relu -> %x1, from layers.*.fc/node_MatMul_* (model.py:*)" in str(
        fd.plan_fusion(fd.read(exported))
    )


def test_stories_name_them(exported: str) -> None:
    plan = fd.plan_fusion(fd.read(exported))
    stories = {plan.explain(name) for name in ("layers.1.fc/node_Relu_1", "node_Relu_1", "%x2")}
    (story,) = stories
    assert "from layers.1.fc/node_Relu_1 (model.py:11)" in story


@pytest.mark.parametrize(
    ("scopes", "path"),
    [
        ("['', 'encoder', 'encoder.layer.0', 'add_3']", "encoder.layer.0"),
        ("['', 'encoder', '', 'add_3']", "encoder"),
        ("['add_3']", ""),
        ("[]", ""),
        ("", ""),
        ("{'a': 1}", ""),
        ("[1, 2, 3]", ""),
        ("__import__('os').system('true')", ""),
        ("[" * 5000, ""),
        ("['" + "x" * (1 << 14) + "', 'y']", ""),
        ("['\0', 'y']", ""),
    ],
)
def test_scopes_are_read_like_any_input(scopes: str, path: str) -> None:
    assert module_path(scopes) == path


def test_lines_of_pytorch_itself_are_passed_over() -> None:
    assert user_line(stack(7)) == ("/home/somebody/model.py", 7)
    inner = stack(7).splitlines()[2]
    assert user_line(inner) == ("/usr/lib/torch/nn/modules/linear.py", 134)
    assert user_line("no frame") is None
    assert user_line('  File "a.py", line ' + "9" * 40) is None


def load_model(path: str) -> onnx.ModelProto:
    return onnx.ModelProto.FromString(Path(path).read_bytes())


def written(path: str, tmp_path: Path, *, dedup: bool) -> onnx.ModelProto:
    """The model at a path, fused and written; `back.onnx` has it."""
    fused = str(tmp_path / "back.onnx")
    fd.write(fd.fuse_ops(fd.read(path), dedup=dedup), fused)
    return load_model(fused)


def test_a_written_model_has_the_names_of_its_nodes(exported: str, tmp_path: Path) -> None:
    model = written(exported, tmp_path, dedup=False)
    assert [[node.name for node in function.node] for function in model.functions] == [
        [f"node_MatMul_{layer}", f"node_Relu_{layer}"] for layer in range(LAYERS)
    ]
    calls = [node for node in model.graph.node if node.domain == DOMAIN]
    assert [call.name for call in calls] == [f"node_Relu_{layer}/{calls[layer].op_type}" for layer in range(LAYERS)]
    for layer, call in enumerate(calls):
        notes = {entry.key: entry.value for entry in call.metadata_props}
        assert module_path(notes[TORCH_SCOPES]) == f"layers.{layer}.fc"
        assert user_line(notes[TORCH_STACK]) == ("/home/somebody/model.py", 10 + layer)
        assert json.loads(notes[SOURCES]) == [
            f"layers.{layer}.fc/node_{op}_{layer} (model.py:{10 + layer})" for op in ("MatMul", "Relu")
        ]


def test_names_modules_and_lines_come_back(exported: str, tmp_path: Path) -> None:
    written(exported, tmp_path, dedup=False)
    before, after = fd.read(exported), fd.read(str(tmp_path / "back.onnx"))
    places = [[source_of(op) for op in module.walk() if op.name.startswith("fuse.")] for module in (before, after)]
    assert places[0] == places[1]
    assert places[0][0] == "layers.0.fc/node_MatMul_0 (model.py:10)"


def test_what_calls_of_a_shared_kernel_are_made_of_is_named_after_each(exported: str, tmp_path: Path) -> None:
    model = written(exported, tmp_path, dedup=True)
    (function,) = model.functions
    assert not any(node.name or node.metadata_props for node in function.node)
    plan = fd.plan_fusion(fd.read(str(tmp_path / "back.onnx")))
    assert [group.source for group in plan] == [
        f"layers.{layer}.fc/node_Relu_{layer}/{function.name}/MatMul (model.py:{10 + layer})" for layer in range(LAYERS)
    ]


def test_a_node_for_each_op_has_a_name_of_its_own(tmp_path: Path) -> None:
    module = fd.parse(
        """
        func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
          %0 = fuse.silu %x : tensor<4x4xf32> loc("gate")
          %1 = fuse.silu %0 : tensor<4x4xf32> loc("gate")
          func.return %1 : tensor<4x4xf32>
        }
        """
    )
    fd.write(module, str(tmp_path / "silu.onnx"))
    names = [node.name for node in load_model(str(tmp_path / "silu.onnx")).graph.node]
    assert names == ["gate/Sigmoid", "gate", "gate/Sigmoid_2", "gate_2"]


@pytest.mark.parametrize("file", ['a".py', "a\nb.py"])
def test_a_file_that_a_stack_cannot_name_is_left_out(file: str) -> None:
    source = node_source(NameLoc(StringAttr("fc"), a_line(file, 3)))
    assert source is not None
    assert source.metadata() == {}


@pytest.mark.parametrize("location", [UnknownLoc(), FileLineColLoc(StringAttr("a.mlir"), IntAttr(3), IntAttr(2))])
def test_a_location_without_a_name_names_no_node(location: Attribute) -> None:
    assert node_source(location) is None


def a_line(file: str, line: int) -> FileLineColLoc:
    return FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(2))


UNKNOWN = UnknownLoc()


@pytest.mark.parametrize(
    ("location", "text"),
    [
        (UNKNOWN, ""),
        (a_line("a.mlir", 3), "a.mlir:3:2"),
        (a_line("/far/away/net.py", 3), "net.py:3:2"),
        (NameLoc(StringAttr("fc"), UNKNOWN), "fc"),
        (NameLoc(StringAttr("fc"), a_line("net.py", 3)), "fc (net.py:3:2)"),
        (NameLoc(StringAttr("a.b/fc"), NameLoc(StringAttr("a.b"), a_line("net.py", 3))), "a.b/fc (net.py:3:2)"),
        (NameLoc(StringAttr("a.b/fc"), NameLoc(StringAttr("c"), UNKNOWN)), "a.b/fc (c)"),
        (CallSiteLoc(a_line("net.py", 3), a_line("main.py", 9)), "net.py:3:2"),
        (CallSiteLoc(UNKNOWN, a_line("main.py", 9)), "main.py:9:2"),
        (CallSiteLoc(NameLoc(StringAttr("exp"), UNKNOWN), a_line("main.py", 9)), "exp (main.py:9:2)"),
        (CallSiteLoc(NameLoc(StringAttr("exp"), UNKNOWN), UNKNOWN), "exp"),
        (FusedLoc(ArrayAttr([UNKNOWN, a_line("net.py", 3)]), NoneAttr()), "net.py:3:2"),
        (FusedLoc(ArrayAttr[Attribute]([]), NoneAttr()), ""),
    ],
)
def test_a_location_as_text(location: Attribute, text: str) -> None:
    op = ModuleOp([])
    op.location = location  # pyright: ignore[reportAttributeAccessIssue]
    assert source_of(op) == text


@pytest.mark.parametrize(
    ("sources", "text"),
    [
        ([], ""),
        (["fc"], "fc"),
        (["layers.0.fc", "layers.1.fc"], "layers.*.fc"),
        (["layers.0.fc2", "layers.1.fc2"], "layers.*.fc2"),
        (["a.0/relu (m.py:8)", "a.1/relu_1 (m.py:8)", "a.2/relu_2 (m.py:8)"], "a.*/relu_* (m.py:8)"),
        (["relu_1", "relu"], "relu_*"),
        (["relu", "relu"], "relu"),
        (["a.3", "a.3"], "a.3"),
        (["a", "b"], "a, b"),
        (["a", "b", "c", "d", "e"], "a, b, c, 2 more"),
    ],
)
def test_names_that_differ_in_numbers_are_one(sources: list[str], text: str) -> None:
    assert common_source(sources) == text
