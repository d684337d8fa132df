"""Files that mean harm, as functions of a size: small text and small models that ask for much work.

`bench_traps.py` measures them, and the tests read the small ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MERSENNE = 2**61 - 1
"""Python's integers are hashed modulo this number, so that its multiples collide."""


@dataclass(frozen=True, slots=True)
class Trap:
    """A family of inputs, and the command that reads them."""

    name: str
    make: Callable[[int], bytes]
    sizes: tuple[int, int]
    command: tuple[str, ...]
    """A module of `fuse_dialect.tools` and its arguments before the file."""
    extension: str = "mlir"
    smallest: int = 1
    """Size of an input that costs no more than the start of the process."""


def nested_operators(name: str, depth: int, *, effect: bool = False) -> str:
    """An op of a known kind whose region holds one whose region holds one ...; the innermost may have an effect."""
    inner = '"test.effect"() : () -> ()\n' if effect else ""
    properties = {
        "stablehlo.reduce": "dimensions = array<i64>",
        "stablehlo.reduce_window": "window_dimensions = array<i64: 1>",
    }
    spelled = f"<{{{properties[name]}}}> " if name in properties else ""
    count = 1 if name == "stablehlo.sort" else 2
    type_, operands = "tensor<4xf32>", ", ".join(["%x"] * count)
    types = ", ".join(["tensor<4xf32>"] * count)
    opening = "".join(
        f'%r{level} = "{name}"({operands}) {spelled}({{\n^bb0(%a{level}: {type_}, %b{level}: {type_}):\n'
        for level in range(depth)
    )
    closing = f'"stablehlo.return"(%x) : ({type_}) -> ()\n}}) : ({types}) -> {type_}\n'
    body = f"{opening}{inner}{closing * depth}return %r0 : tensor<4xf32>"
    return f"func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{\n{body}\n}}\n"


def nested_generators(depth: int) -> str:
    """`tensor.generate` in `tensor.generate`."""
    opening = "".join(f'%t{level} = "tensor.generate"() ({{\n^bb0(%i{level}: index):\n' for level in range(depth))
    closing = '"tensor.yield"(%f) : (f32) -> ()\n}) : () -> tensor<4xf32>\n'
    body = f"{opening}{closing * depth}return %t0 : tensor<4xf32>"
    return f"func.func @main(%f: f32) -> tensor<4xf32> {{\n{body}\n}}\n"


def nested_conditionals(depth: int) -> str:
    """`scf.if` in `scf.if`, each with an operator of its own."""
    opening = "".join(f"scf.if %c {{\n%v{level} = fuse.relu %x : tensor<4xf32>\n" for level in range(depth))
    return f"func.func @main(%c: i1, %x: tensor<4xf32>) {{\n{opening}{'}' * depth}\nreturn\n}}\n"


def many_blocks(count: int) -> str:
    """A function of `count` blocks, each of which branches to the next."""
    blocks = "\n".join(f"^b{i}:\n  %v{i} = fuse.relu %x : tensor<4xf32>\n  cf.br ^b{i + 1}" for i in range(count))
    return f"func.func @main(%x: tensor<4xf32>) {{\n  cf.br ^b0\n{blocks}\n^b{count}:\n  return\n}}\n"


def colliding_attributes(count: int) -> str:
    """Operators that differ in an attribute, all of one hash in Python."""
    ops = "\n".join(
        f"  %v{i} = fuse.relu %v{i - 1} {{a = {i * MERSENNE % 2**64} : ui64, b = {i} : i64}} : tensor<4xf32>\n"
        f"  %s{i} = fuse.stop_fusion %v{i} : tensor<4xf32>"
        for i in range(1, count + 1)
    )
    return f"func.func @main(%v0: tensor<4xf32>) -> tensor<4xf32> {{\n{ops}\n  return %v{count} : tensor<4xf32>\n}}\n"


def doubling_primitives(levels: int) -> str:
    """Primitive functions, each of which calls the next one twice."""
    functions = [
        f"""func.func private @f{i}(%x: tensor<4xf32>) -> tensor<4xf32> attributes {{primitive}} {{
  %a = func.call @f{i + 1}(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = func.call @f{i + 1}(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}}"""
        for i in range(levels)
    ]
    last = f"""func.func private @f{levels}(%x: tensor<4xf32>) -> tensor<4xf32> attributes {{primitive}} {{
  %a = fuse.relu %x : tensor<4xf32>
  return %a : tensor<4xf32>
}}"""
    main = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = func.call @f0(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %a : tensor<4xf32>
}"""
    return "\n".join([main, *functions, last])


def batch_norm_of_splats(size: int) -> str:
    """A batch norm whose parameters are splats of many elements."""
    vector = f"tensor<{size}xf32>"
    names = ("gamma", "beta", "mean", "variance")
    constants = "\n".join(f"  %{name} = arith.constant dense<1.5> : {vector}" for name in names)
    type_ = f"tensor<1x{size}xf32>"
    return (
        f"func.func @main(%x: {type_}) -> {type_} {{\n{constants}\n"
        f"  %y = fuse.batch_norm %x, %gamma, %beta, %mean, %variance : "
        f"({type_}, {vector}, {vector}, {vector}, {vector}) -> {type_}\n  return %y : {type_}\n}}\n"
    )


def convolution_of_splats(size: int) -> str:
    """A convolution of `size` channels, scaled, shifted and biased; all constants are splats."""
    vector, weight, wide = f"tensor<{size}x1x1xf32>", f"tensor<{size}x4x1x1xf32>", f"tensor<1x{size}x8x8xf32>"
    return f"""func.func @main(%x: tensor<1x4x8x8xf32>) -> {wide} {{
  %w = arith.constant dense<2.0> : {weight}
  %s = arith.constant dense<3.0> : {vector}
  %b = arith.constant dense<5.0> : tensor<{size}xf32>
  %0 = fuse.conv2d %x, %w : (tensor<1x4x8x8xf32>, {weight}) -> {wide}
  %1 = fuse.multiply %0, %s : ({wide}, {vector}) -> {wide}
  %2 = fuse.add %1, %s : ({wide}, {vector}) -> {wide}
  %3 = fuse.bias_add %2, %b, axis = 1 : ({wide}, tensor<{size}xf32>) -> {wide}
  %4 = fuse.divide %3, %s : ({wide}, {vector}) -> {wide}
  return %4 : {wide}
}}
"""


def scaled_sums_of_splats(size: int) -> str:
    """Four channels, each with a scale of its own, of an image of `size` rows, behind a sum with a splat."""
    image = f"tensor<1x4x{size}x8xf32>"
    return f"""func.func @main(%x: {image}) -> {image} {{
  %w = arith.constant dense<2.0> : tensor<4x4x1x1xf32>
  %s = arith.constant dense<[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]> : tensor<4x1x1xf32>
  %t = arith.constant dense<5.0> : tensor<4x{size}x8xf32>
  %0 = fuse.conv2d %x, %w : ({image}, tensor<4x4x1x1xf32>) -> {image}
  %1 = fuse.add %0, %t : ({image}, tensor<4x{size}x8xf32>) -> {image}
  %2 = fuse.multiply %1, %s : ({image}, tensor<4x1x1xf32>) -> {image}
  return %2 : {image}
}}
"""


def shifts_by_splats(size: int) -> str:
    """Integers that are shifted by as many bits each."""
    type_ = f"tensor<{size}xi32>"
    return f"""func.func @main(%x: {type_}) -> {type_} {{
  %s = stablehlo.constant dense<2> : {type_}
  %y = stablehlo.shift_left %x, %s : {type_}
  return %y : {type_}
}}
"""


def shared_scales(count: int) -> str:
    """Convolutions, each followed by a factor and two terms: one vector of 8,192 numbers for all of them."""
    size = 1 << 13
    vector, weight, wide = f"tensor<{size}x1x1xf32>", f"tensor<{size}x1x1x1xf32>", f"tensor<1x{size}x1x1xf32>"
    numbers = (1 + np.arange(size, dtype=np.float32) / size).astype("<f4").tobytes().hex().upper()
    layers = "".join(
        f"  %a{index} = fuse.conv2d %v{index}, %w, groups = {size} : ({wide}, {weight}) -> {wide}\n"
        f"  %b{index} = fuse.multiply %a{index}, %s : ({wide}, {vector}) -> {wide}\n"
        f"  %c{index} = fuse.add %b{index}, %s : ({wide}, {vector}) -> {wide}\n"
        f"  %v{index + 1} = fuse.add %c{index}, %s : ({wide}, {vector}) -> {wide}\n"
        for index in range(count)
    )
    return f"""func.func @main(%v0: {wide}) -> {wide} {{
  %s = arith.constant dense<"0x{numbers}"> : {vector}
  %w = arith.constant dense<1.0> : {weight}
{layers}  return %v{count} : {wide}
}}
"""


def shared_norms(count: int) -> str:
    """Batch norms that all have the same parameters, of 8,192 numbers."""
    size = 1 << 13
    vector, wide = f"tensor<{size}xf32>", f"tensor<1x{size}xf32>"
    numbers = (1 + np.arange(size, dtype=np.float32) / size).astype("<f4").tobytes().hex().upper()
    norms = "".join(
        f"  %v{index + 1} = fuse.batch_norm %v{index}, %s, %s, %s, %s : "
        f"({wide}, {vector}, {vector}, {vector}, {vector}) -> {wide}\n"
        for index in range(count)
    )
    return f"""func.func @main(%v0: {wide}) -> {wide} {{
  %s = arith.constant dense<"0x{numbers}"> : {vector}
{norms}  return %v{count} : {wide}
}}
"""


def doubling_locations(levels: int) -> str:
    """Locations, each of which names the one before it twice; the first says nothing."""
    aliases = "\n".join(f"#loc{i} = loc(callsite(#loc{i - 1} at #loc{i - 1}))" for i in range(1, levels + 1))
    return f"""func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %a = fuse.relu %x : tensor<4xf32> loc(fused[#loc{levels}, #loc{levels}])
  return %a : tensor<4xf32>
}}
#loc0 = loc(unknown)
{aliases}
"""


def doubling_aliases(levels: int) -> str:
    """Attributes, each of which names the one before it twice."""
    aliases = "\n".join(f"#a{i} = [#a{i - 1}, #a{i - 1}]" for i in range(1, levels + 1))
    return f"""#a0 = "text"
{aliases}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %a = fuse.relu %x {{a = #a{levels}}} : tensor<4xf32>
  return %a : tensor<4xf32>
}}
"""


def doubling_types(levels: int) -> str:
    """Types, each of which names the one before it twice."""
    aliases = "\n".join(f"!t{i} = tuple<!t{i - 1}, !t{i - 1}>" for i in range(1, levels + 1))
    return f"!t0 = tensor<4xf32>\n{aliases}\nfunc.func private @main(%x: !t{levels})\n"


_FLOAT = TensorProto.FLOAT


def _model(nodes: Sequence[onnx.NodeProto], functions: Sequence[onnx.FunctionProto] = ()) -> bytes:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", _FLOAT, [4])],
        [helper.make_tensor_value_info("y", _FLOAT, None)],
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    model = helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=8)
    return model.SerializeToString()


def _function(name: str, nodes: Sequence[onnx.NodeProto]) -> onnx.FunctionProto:
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    return helper.make_function("own", name, ["x"], ["y"], nodes, opsets)


def split_into(parts: int) -> bytes:
    """A Split that claims to have many results."""
    return _model([helper.make_node("Split", ["x"], ["y"], num_outputs=parts)])


def doubling_functions(levels: int) -> bytes:
    """ONNX functions, each of which calls the next one twice."""
    functions = [
        _function(
            f"f{i}",
            [
                helper.make_node(f"f{i + 1}", ["x"], ["a"], domain="own"),
                helper.make_node(f"f{i + 1}", ["a"], ["y"], domain="own"),
            ],
        )
        for i in range(levels)
    ]
    last = _function(f"f{levels}", [helper.make_node("Relu", ["x"], ["y"])])
    return _model([helper.make_node("f0", ["x"], ["y"], domain="own")], [*functions, last])


def chain_of_functions(count: int) -> bytes:
    """ONNX functions, each of which calls the next one."""
    functions = [
        _function(f"f{i}", [helper.make_node(f"f{i + 1}", ["x"], ["y"], domain="own")]) for i in range(count - 1)
    ]
    last = _function(f"f{count - 1}", [helper.make_node("Relu", ["x"], ["y"])])
    return _model([helper.make_node("f0", ["x"], ["y"], domain="own")], [*functions, last])


def many_ranges(count: int) -> bytes:
    """Ranges of 50,000 numbers, each of them an operand of its own."""
    nodes = [
        helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.array(number, np.int64)))
        for name, number in (("zero", 0), ("step", 1), ("stop", 50_000))
    ]
    for i in range(count):
        nodes.append(helper.make_node("Range", ["zero", "stop", "step"], [f"r{i}"]))
        nodes.append(helper.make_node("Add", [f"r{i}", "step"], [f"a{i}"]))
    nodes.append(helper.make_node("Sum", ["i", *(f"a{i}" for i in range(count))], ["y"]))
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("i", TensorProto.INT64, [50_000])],
        [helper.make_tensor_value_info("y", TensorProto.INT64, [50_000])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8).SerializeToString()


_OPT = ("fuse_opt", "--allow-unregistered-dialect")
_FUSE = (*_OPT, "--fuse-ops")
_HARDWARE = (*_OPT, "--fuse-ops-hw")


def long_vector(size: int, dtype: int = TensorProto.FLOAT) -> bytes:
    """A sum and a product of a vector of `size` numbers."""
    nodes = [helper.make_node("Add", ["x", "x"], ["y"]), helper.make_node("Mul", ["y", "y"], ["z"])]
    values = [helper.make_tensor_value_info(name, dtype, [size]) for name in "xz"]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:])
    opset = helper.make_opsetid("", 22)
    return helper.make_model(graph, opset_imports=[opset], ir_version=10).SerializeToString()


def _text(make: Callable[[int], str]) -> Callable[[int], bytes]:
    return lambda size: make(size).encode()


TRAPS: tuple[Trap, ...] = (
    Trap("nested-reduce", _text(lambda n: nested_operators("stablehlo.reduce", n)), (400, 1600), _FUSE),
    Trap("nested-window", _text(lambda n: nested_operators("stablehlo.reduce_window", n)), (400, 1600), _FUSE),
    Trap("nested-sort", _text(lambda n: nested_operators("stablehlo.sort", n)), (400, 1600), _FUSE),
    Trap("nested-effect", _text(lambda n: nested_operators("stablehlo.reduce", n, effect=True)), (400, 1600), _FUSE),
    Trap("nested-generate", _text(nested_generators), (400, 1600), _FUSE),
    Trap("nested-if", _text(nested_conditionals), (400, 1600), _FUSE),
    Trap("nested-if-remarks", _text(nested_conditionals), (400, 1600), (*_FUSE, "--fusion-remarks")),
    Trap("nested-if-hardware", _text(nested_conditionals), (400, 1600), _HARDWARE),
    Trap("nested-if-hw-remarks", _text(nested_conditionals), (400, 1600), (*_HARDWARE, "--fusion-remarks")),
    Trap("nested-reduce-hardware", _text(lambda n: nested_operators("stablehlo.reduce", n)), (400, 1600), _HARDWARE),
    Trap("blocks-hardware", _text(many_blocks), (1000, 4000), _HARDWARE),
    Trap("blocks", _text(many_blocks), (1000, 4000), _FUSE),
    Trap("colliding-attributes", _text(colliding_attributes), (1000, 4000), _FUSE),
    Trap("doubling-defuse", _text(doubling_primitives), (30, 600), (*_OPT, "--defuse-ops")),
    Trap("doubling-run", _text(doubling_primitives), (30, 120), ("fuse_run", "--random-inputs", "0")),
    Trap("doubling-locations", _text(doubling_locations), (40, 400), (*_FUSE, "--print-debuginfo", "--fusion-remarks")),
    Trap("doubling-aliases", _text(doubling_aliases), (40, 400), _FUSE),
    Trap("doubling-types", _text(doubling_types), (40, 400), _FUSE),
    Trap("splat-parameters", _text(batch_norm_of_splats), (10**4, 10**8), (*_OPT, "--simplify-inference")),
    Trap("splat-scales", _text(convolution_of_splats), (10**4, 10**12), (*_OPT, "--fold-scale-axis")),
    Trap("splat-prefix", _text(convolution_of_splats), (10**4, 10**12), (*_OPT, "--compile-prefix")),
    Trap("splat-linalg", _text(convolution_of_splats), (10**4, 10**12), (*_OPT, "--convert-fuse-to-linalg")),
    Trap("splat-terms", _text(scaled_sums_of_splats), (10**4, 10**12), (*_OPT, "--fold-scale-axis")),
    Trap("splat-shifts", _text(shifts_by_splats), (10**4, 10**12), (*_OPT, "--convert-stablehlo-to-fuse")),
    Trap("shared-scales", _text(shared_scales), (500, 2000), (*_OPT, "--fold-scale-axis")),
    Trap("shared-norms", _text(shared_norms), (500, 2000), (*_OPT, "--simplify-inference")),
    Trap("onnx-split", split_into, (10**6, 10**9), ("fuse_opt",), "onnx"),
    Trap("onnx-doubling", doubling_functions, (30, 600), ("fuse_opt",), "onnx"),
    Trap("onnx-chain", chain_of_functions, (1000, 5000), ("fuse_opt",), "onnx", 2),
    Trap("onnx-vector", long_vector, (10**4, 10**12), ("fuse_opt", "--allow-unsupported-onnx"), "onnx"),
    Trap("onnx-ranges", many_ranges, (250, 1000), ("fuse_opt", "-o", "/dev/null"), "onnx"),
)
"""All families."""
