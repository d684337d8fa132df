"""Constraints as lines of text: what can be said, and that what does not hold is refused by its own sentence."""

import pytest
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.hardware_templates import hardware_op
from fuse_dialect.dialect.ops.hardware import REASON_ATTRIBUTE, UNIT_ATTRIBUTE
from fuse_dialect.frontends.mlir.reader import context, parse_mlir
from fuse_dialect.hardware import support
from fuse_dialect.hardware.fuse_ops_hw import FuseOpsHwPass
from fuse_dialect.templates.constraint import ConstraintError, contradictions, padded_operations, parse_constraint
from fuse_dialect.templates.template import (
    HardwareTemplate,
    HardwareUnit,
    OperatorMapping,
    TemplateError,
    required,
)

CONV = "fuse.conv2d"


def conv(
    x: str = "1x4x8x8xi8",
    w: str = "4x4x1x1xi8",
    y: str = "1x4x8x8xi32",
    attributes: str = "",
    weights: str = "dense<1>",
) -> str:
    """A function of one convolution of constant weights."""
    return f"""func.func @main(%x: tensor<{x}>) -> tensor<{y}> {{
      %w = arith.constant {weights} : tensor<{w}>
      %y = fuse.conv2d %x, %w{attributes}, out_dtype = "i32" : (tensor<{x}>, tensor<{w}>) -> tensor<{y}>
      func.return %y : tensor<{y}>
    }}"""


def unary(op: str, x: str, y: str = "") -> str:
    types = f"tensor<{x}>" if not y else f"(tensor<{x}>) -> tensor<{y}>"
    return f"""func.func @main(%x: tensor<{x}>) -> tensor<{y or x}> {{
      %y = {op} : {types}
      func.return %y : tensor<{y or x}>
    }}"""


def bias(b: str, constant: str = "dense<1>") -> str:
    _shape, _, element = b.rpartition("x")
    return f"""func.func @main(%x: tensor<1x4x8x8x{element}>) -> tensor<1x4x8x8x{element}> {{
      %b = arith.constant {constant} : tensor<{b}>
      %y = fuse.add %x, %b : (tensor<1x4x8x8x{element}>, tensor<{b}>) -> tensor<1x4x8x8x{element}>
      func.return %y : tensor<1x4x8x8x{element}>
    }}"""


def quantized(scale: str) -> str:
    """A multiplication by a scale, as quantization is written by its formula."""
    shape = scale.split(" : ")[1].removeprefix("tensor<").removesuffix(">")
    return f"""func.func @main(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32> {{
      %s = arith.constant {scale}
      %y = fuse.multiply %x, %s : (tensor<1x4x8x8xf32>, tensor<{shape}>) -> tensor<1x4x8x8xf32>
      func.return %y : tensor<1x4x8x8xf32>
    }}"""


OPEN = """func.func @main(%x: tensor<1x4x8x8xi8>, %w: tensor<4x4x1x1xi8>) -> tensor<1x4x8x8xi32> {
  %y = fuse.conv2d %x, %w, out_dtype = "i32" : (tensor<1x4x8x8xi8>, tensor<4x4x1x1xi8>) -> tensor<1x4x8x8xi32>
  func.return %y : tensor<1x4x8x8xi32>
}"""


def tosa(attributes: str, types: str = "tensor<1x8x8x4xi8>, tensor<4x1x1x4xi8>, tensor<4xi32>") -> str:
    operands = ", ".join(f"%a{place}" for place in range(types.count("tensor")))
    arguments = ", ".join(f"%a{place}: {type}" for place, type in enumerate(types.split(", ")))
    return f"""func.func @main({arguments}) -> tensor<1x8x8x4xi32> {{
      %y = "tosa.conv2d"({operands}) {{{attributes}}} : ({types}) -> tensor<1x8x8x4xi32>
      func.return %y : tensor<1x8x8x4xi32>
    }}"""


VELA_CONV_2D = [
    (
        "Stride values for both width and height must be integer types",
        "attr.stride in 0..",
        "tosa.conv2d",
        tosa('stride = "one"'),
    ),
    (
        "IFM depth must be a whole multiple of the filter kernel depth",
        "input.channels multiple of kernel_depth",
        "tosa.conv2d",
        tosa("", "tensor<1x8x8x6xi8>, tensor<4x1x1x4xi8>"),
    ),
    (
        "Number of filter kernels must be equally divisible by the number of convolution groups",
        "weights.dim0 multiple of groups",
        "onnx.Conv",
        tosa("group = 3 : i64").replace("tosa.conv2d", "onnx.Conv"),
    ),
    (
        "Dilation factor values for both width and height must be integer types",
        "attr.dilation in 0..",
        "tosa.conv2d",
        tosa('dilation = "two"'),
    ),
    (
        "Stride h must be between 1 and 3 when ofm height is greater than 1",
        "stride_h in 1..3 or result.height == 1",
        CONV,
        conv(y="1x4x2x8xi32", attributes=", strides = [4, 1]"),
    ),
    (
        "Dilated kernel height must be in the range [1, 64]",
        "dilated_kernel_h in 1..64",
        CONV,
        conv("1x4x80x8xi8", "4x4x65x1xi8", "1x4x16x8xi32"),
    ),
    (
        "Product of dilated kernel width and height must be in the range [1, 4096]",
        "product of dilated_kernel in 1..4096",
        CONV,
        conv("1x1x64x128xi8", "1x1x64x65xi8", "1x1x1x64xi32"),
    ),
    (
        "Weight tensor must be 8-bit",
        "weights.bits == 8",
        CONV,
        conv("1x4x8x8xi16", "4x4x1x1xi16", "1x4x8x8xi16").replace(', out_dtype = "i32"', ""),
    ),
    ("Weight tensor must be constant", "weights.source is constant", CONV, OPEN),
    (
        "The sum of the weights cannot exceed 8323072",
        "weights.abs_sum <= 8323072",
        CONV,
        conv("1x70000x1x1xi8", "4x70000x1x1xi8", "1x4x1x1xi32", weights="dense<-128>"),
    ),
    (
        "Optional Bias tensor must be of shape: 1D",
        "bias.rank == 1",
        "tosa.conv2d",
        tosa("", "tensor<1x8x8x4xi8>, tensor<4x1x1x4xi8>, tensor<1x4xi32>"),
    ),
    (
        "Optional Bias tensor must be of type: int32, int64",
        "bias.type is i32, i64",
        "tosa.conv2d",
        tosa("", "tensor<1x8x8x4xi8>, tensor<4x1x1x4xi8>, tensor<4xi16>"),
    ),
    (
        "Optional Bias tensor values must fit within 40-bits",
        "operand1.value_bits <= 40",
        "fuse.add",
        bias("1x1x1x1xi64", "dense<1099511627776>"),
    ),
]
"""The constraints of CONV_2D that Vela 3.10 publishes, as lines, and what breaks each of them."""

NEVER = "never"
VELA_GENERIC = [
    (
        "All required operator attributes must be specified",
        "attr.stride is present",
        "tosa.conv2d",
        tosa("pad = array<i64: 0, 0, 0, 0>"),
    ),
    (
        "Input(s) and Output tensors must not be dynamic",
        "tensors.shape is static",
        "fuse.relu",
        unary("fuse.relu %x", "?x4xi8"),
    ),
    (
        "Input(s) and Output tensors must have a defined shape",
        "tensors.shape is ranked",
        "team.op",
        unary('"team.op"(%x) {fuse.pattern_kind = #fuse.pattern_kind<elemwise>}', "4xi8", "4xi8").replace(
            "tensor<4xi8>", "tensor<*xi8>"
        ),
    ),
    ("Output tensors cannot be scalar", "results.rank >= 1", "fuse.relu", unary("fuse.relu %x", "i8")),
    (
        "Scalar Input tensors are only valid for op type: ADD, MUL, SUB",
        "operands.rank >= 1",
        "fuse.maximum",
        quantized("dense<0.5> : tensor<f32>").replace("multiply", "maximum"),
    ),
    (
        "Input(s) and Output tensors must not be greater than 4D",
        "tensors.rank <= 4",
        "fuse.relu",
        unary("fuse.relu %x", "1x1x1x2x4xi8"),
    ),
    (
        "Input(s), Output and Weight tensors must have quantization parameters",
        "operand1.source is constant",
        "fuse.multiply",
        unary("fuse.multiply %x, %x", "4xf32"),
    ),
    (
        "Input(s), Output and Weight tensors with quantization scales must be finite",
        "operand1.values is finite",
        "fuse.multiply",
        quantized("dense<0x7F800000> : tensor<f32>"),
    ),
    (
        "Input and Output tensors must have quantization scales that fit within float32 precision",
        "operand1.values in 1.2e-38..3.4e38",
        "fuse.multiply",
        quantized("dense<1.0e-42> : tensor<f32>"),
    ),
    (
        "Constant tensors should not have NoneType-values",
        "constants.values is known",
        "fuse.multiply",
        quantized("dense_resource<__elided__> : tensor<1x4x1x1xf32>"),
    ),
    (
        "Tensors must be of type: int16, int32, int8, uint8",
        "tensors.type is i8, ui8, i16, i32",
        "fuse.relu",
        unary("fuse.relu %x", "4xf32"),
    ),
    (
        "Tensors which are int32 are only valid when op type is: ADD, MUL, SUB",
        "tensors.type is not i32",
        "fuse.relu",
        unary("fuse.relu %x", "4xi32"),
    ),
    (
        "Tensor dimensions must be in the range [1, 65535]",
        "tensors.dims in 1..65535",
        "fuse.relu",
        unary("fuse.relu %x", "65536xi8"),
    ),
    (
        "Per-axis quantization is only supported for the following op types: CONV_2D, DEPTHWISE_CONV_2D",
        "operand1.elements == 1",
        "fuse.multiply",
        quantized("dense<0.5> : tensor<1x4x1x1xf32>"),
    ),
    ("IFM Tensor batch size must be 1", "input.batch == 1", "fuse.relu", unary("fuse.relu %x", "2x4xi8")),
    (
        "The fused activation function (if present) must be one of type: LOGISTIC, RELU, RELU6, RELU_N1_TO_1, TANH",
        NEVER,
        "fuse.elu",
        unary("fuse.elu %x", "4xf32"),
    ),
    (
        "If a fused activation function is present, the Output tensor must be one of type: int16, int8, uint8",
        "result.type is i8, ui8, i16",
        "fuse.relu",
        unary("fuse.relu %x", "4xi32"),
    ),
]
"""The generic constraints of Vela 3.10, the same. Quantization is its formula: scales are constants that multiply."""

NVDLA = [
    (
        "Left and right padding should be less than S, top and bottom padding less than R",
        "padding_w < kernel_w",
        CONV,
        conv(y="1x4x8x10xi32", attributes=", padding = [0, 1, 0, 1]"),
    ),
    (
        "Maximum supported pooling kernel size is 8",
        "kernel in 1..8",
        "fuse.max_pool2d",
        unary("fuse.max_pool2d %x, pool_size = [9, 9]", "1x4x16x16xf32", "1x4x8x8xf32"),
    ),
    (
        "The stride of a pool is 1 to 16",
        "stride in 1..16",
        "fuse.max_pool2d",
        unary("fuse.max_pool2d %x, pool_size = [2, 2], strides = [17, 17]", "1x4x32x32xf32", "1x4x2x2xf32"),
    ),
    (
        "PL and PR should be less than the width of the kernel",
        "padding_w < kernel_w",
        "fuse.max_pool2d",
        unary("fuse.max_pool2d %x, pool_size = [2, 2], padding = [0, 2, 0, 2]", "1x4x8x8xf32", "1x4x7x11xf32"),
    ),
    (
        "Features and weights are int8, int16 or fp16",
        "tensors.type is i8, i16, f16",
        "fuse.relu",
        unary("fuse.relu %x", "4xf32"),
    ),
    (
        "The local size of a normalization is at most 9",
        "attr.size <= 9",
        "team.lrn",
        unary(
            '"team.lrn"(%x) {size = 11 : i64, fuse.pattern_kind = #fuse.pattern_kind<opaque>}',
            "1x4x8x8xf32",
            "1x4x8x8xf32",
        ),
    ),
]
"""Programming guide of NVDLA v1, section on limitations, and its description of the pooling engine."""

GEMMINI = [
    (
        "kernel_dim must be larger than padding",
        "padding < kernel",
        CONV,
        conv(y="1x4x10x10xi32", attributes=", padding = [1, 1, 1, 1]"),
    ),
    ("Convolutions are square", "kernel_h == kernel_w", CONV, conv(w="4x4x3x1xi8", y="1x4x6x8xi32")),
    (
        "Convolutions have one stride",
        "stride_h == stride_w",
        CONV,
        conv(y="1x4x4x8xi32", attributes=", strides = [2, 1]"),
    ),
    ("Convolutions have one dilation", "dilation_h == dilation_w", CONV, conv(attributes=", dilation = [2, 1]")),
    (
        "Pooling with rectangular windows is not supported",
        "kernel_h == kernel_w",
        "fuse.max_pool2d",
        unary("fuse.max_pool2d %x, pool_size = [2, 1]", "1x4x8x8xf32", "1x4x7x8xf32"),
    ),
    (
        "Elements are 8 bits, sums 32",
        "input.bits == 8",
        CONV,
        conv("1x4x8x8xi16", "4x4x1x1xi16", "1x4x8x8xi16").replace(', out_dtype = "i32"', ""),
    ),
]
"""What the C library of Gemmini prints before it gives up, and the signatures of its functions."""


def template_of(operator: str, *lines: str) -> HardwareTemplate:
    template = HardwareTemplate(
        "t",
        "u",
        (HardwareUnit("u", "k"),),
        mappings=(OperatorMapping(operator, ("k",), constraints=tuple(map(parse_constraint, lines))),),
    )
    template.validate()
    return template


def fused(text: str, template: HardwareTemplate) -> list[Operation]:
    """The ops of a program that has been fused onto a template."""
    module = parse_mlir(text, ctx=context(allow_unregistered=True))
    module.body.block.add_op(hardware_op(template))
    FuseOpsHwPass("t").apply(context(allow_unregistered=True), module)
    return list(module.walk())


def reasons_of(text: str, template: HardwareTemplate) -> list[str]:
    found = [op.attributes.get(REASON_ATTRIBUTE) for op in fused(text, template)]
    return [reason.data for reason in found if isinstance(reason, StringAttr)]


@pytest.mark.parametrize(
    ("sentence", "line", "operator", "text"),
    [*VELA_CONV_2D, *VELA_GENERIC, *NVDLA, *GEMMINI],
    ids=lambda each: each[:40] if isinstance(each, str) and "\n" not in each else "-",
)
def test_published_constraint_is_said_and_refused_by_its_sentence(
    sentence: str, line: str, operator: str, text: str
) -> None:
    (reason,) = reasons_of(text, template_of(operator, f"{line}: {sentence}"))
    assert reason.startswith(f"hardware-constraint: {sentence}")
    if line != NEVER:
        # Without it, the unit takes the operator: nothing else has refused it.
        assert any(UNIT_ATTRIBUTE in op.attributes for op in fused(text, template_of(operator)))


def test_a_constraint_without_a_sentence_says_the_number() -> None:
    text = unary("fuse.max_pool2d %x, pool_size = [2, 2], strides = [7, 7]", "1x4x16x16xf32", "1x4x3x3xf32")
    assert reasons_of(text, template_of("fuse.max_pool2d", "stride in 1..3")) == ["hardware-constraint: stride 7 > 3"]


def test_every_row_that_does_not_hold_gives_its_reason() -> None:
    rows = (
        OperatorMapping(CONV, ("k",), "depthwise"),
        OperatorMapping(CONV, ("k",), "ungrouped", (parse_constraint("kernel in 3..3"),)),
    )
    template = HardwareTemplate("t", "u", (HardwareUnit("u", "k"),), mappings=rows)
    (reason,) = reasons_of(conv(), template)
    assert reason == "hardware-constraint: the convolution has not one group for each channel; kernel 1 < 3"


def test_requirements_bind_all_mapped_operators_but_those_excepted() -> None:
    template = HardwareTemplate(
        "t",
        "u",
        (HardwareUnit("u", "k"),),
        mappings=(OperatorMapping("fuse.relu", ("k",)), OperatorMapping("fuse.exp", ("k",))),
        requirements=required("tensors.rank <= 2", excepted=["fuse.exp"]),
    )
    assert reasons_of(unary("fuse.relu %x", "1x1x4xf32"), template) == ["hardware-constraint: tensors.rank 3 > 2"]
    assert reasons_of(unary("fuse.exp %x", "1x1x4xf32"), template) == []


def test_padding_to_a_multiple_takes_the_place_of_refusing() -> None:
    line = "result.channels multiple of 16 or pad"
    paddings = [op.attributes.get("fuse.hardware_padding") for op in fused(conv(), template_of(CONV, line))]
    assert [each for each in map(str, paddings) if each != "None"] == ['"result.channels 4 -> 16"']
    (reason,) = reasons_of(conv(), template_of(CONV, "result.channels multiple of 16"))
    assert reason == "hardware-constraint: result.channels 4 is no multiple of 16"


def test_weights_do_not_stream_as_data() -> None:
    text = """func.func @main(%x: tensor<1x4x8x8xf32>, %v: tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32> {
      %s = arith.constant dense<2.0> : tensor<4x4x1x1xf32>
      %k = fuse.multiply %v, %s : tensor<4x4x1x1xf32>
      %y = fuse.conv2d %x, %k : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
      func.return %y : tensor<1x4x8x8xf32>
    }"""
    module = parse_mlir(text)
    FuseOpsHwPass("opu").apply(context(), module)
    reasons = [str(op.attributes[REASON_ATTRIBUTE]) for op in module.walk() if REASON_ATTRIBUTE in op.attributes]
    assert reasons == ['"hardware-limit: %k would stream by as an operand that comes from memory"']


def test_a_check_of_a_package_says_what_no_row_can(monkeypatch: pytest.MonkeyPatch) -> None:
    def odd(op: Operation) -> str | None:
        return None if len(op.operands) % 2 else "an even number of operands"

    monkeypatch.setattr(support, "hardware_check", {"odd": odd}.__getitem__)
    rows = tuple(OperatorMapping(name, ("k",), check="odd") for name in ("fuse.relu", "fuse.add"))
    template = HardwareTemplate("t", "u", (HardwareUnit("u", "k"),), mappings=rows)
    assert reasons_of(unary("fuse.relu %x", "4xf32"), template) == []
    assert reasons_of(unary("fuse.add %x, %x", "4xf32"), template) == [
        "hardware-constraint: an even number of operands"
    ]


def test_a_check_that_no_package_brings_is_an_error() -> None:
    rows = (OperatorMapping("fuse.relu", ("k",), check="nobody"),)
    template = HardwareTemplate("t", "u", (HardwareUnit("u", "k"),), mappings=rows)
    with pytest.raises(FuseError, match="no hardware check 'nobody'"):
        fused(unary("fuse.relu %x", "4xf32"), template)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("speed in 1..3", "expects a quantity as stride"),
        ("stride in 3", "expects a range as 1..3"),
        ("stride in 5..2", "from the lower number to the higher"),
        ("weights.colour is red", "expects a quantity of words"),
        ("stride", "expects a quantity, a relation"),
        ("weights.source is green", "to be computed or constant, got 'green'"),
        ("stride in one..two", "expects a number, got 'one'"),
        ("stride multiple of 0", "expects a multiple of a number of 1 or more"),
        ("stride in 1..3 or pad", "expects 'or pad' behind one 'multiple of'"),
    ],
)
def test_a_line_that_is_no_constraint_says_what_is_expected(line: str, message: str) -> None:
    with pytest.raises(ConstraintError, match=message):
        parse_constraint(line)


@pytest.mark.parametrize(
    ("lines", "count"),
    [
        (("stride in 1..3", "stride in 4..7"), 1),
        (("stride <= 3", "stride > 3"), 1),
        (("stride <= 3", "stride >= 3"), 0),
        (("stride == 1", "stride == 2"), 1),
        (("input.type is i8, ui8", "input.type is f32"), 1),
        (("input.type is i8", "input.type is not i8"), 1),
        (("input.type is i8, i16", "input.type is not i8"), 0),
        (("stride in 1..3", "kernel in 4..7"), 0),
        (("stride in 1..3", "product of stride in 4..7"), 0),
        (("stride in 1..3 or pad_h == 1".replace("pad_h", "padding_h"), "stride in 4..7"), 0),
    ],
)
def test_constraints_that_exclude_each_other_are_found(lines: tuple[str, str], count: int) -> None:
    assert len(list(contradictions([parse_constraint(line) for line in lines]))) == count


def test_a_template_whose_constraints_contradict_themselves_is_reported() -> None:
    with pytest.raises(
        TemplateError, match=r"expects constraints of 'fuse.conv2d' that can all hold, got 'stride in 1..3'"
    ):
        template_of(CONV, "stride in 1..3", "stride in 4..7")


def test_what_is_padded_is_computed_too() -> None:
    assert padded_operations(100, "") == 100
    assert padded_operations(300, "input.channels 3 -> 16") == 1600
    assert padded_operations(300, "input.channels 3 -> 16; result.channels 10 -> 16") == 2560
