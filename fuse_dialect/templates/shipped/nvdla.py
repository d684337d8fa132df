"""NVDLA: a convolution core, whose sums pass the single point processor on their way to memory, and pools behind it.

The single point processor has three sub-units, X1, X2 and Y, each with an adder, a multiplier and an activation that
can be skipped; Y has a table besides. It runs alone, too, as do pools. What a sub-unit adds or multiplies with comes
from memory for each layer, channel or element, so a residual sum is no unit of its own. An adder can also take a
minimum, so a clip from zero on is an adder with the activation behind it, which stands here as the adder alone. Its
output converter takes sums to 8 bits. A convolution reads from its buffer, 16 banks of 512 entries of 64 bytes in
the full configuration, which larger inputs and weights pass in parts.

Differs from NVDLA: types are left out (8 and 16 bits, f16), so that f32 networks can be planned; local response
normalizations are no operator of ours.

Source: https://github.com/nvdla/doc, doc/hw/v1/ias/programming_guide.rst, "Limitation"; unit_description.rst, SDP and
PDP ("pooling kernel size range to 1~8, and set the stride range to 1 ~ 16"); https://github.com/nvdla/hw,
spec/defs/nv_full.spec, `CBUF_BANK_NUMBER_16`, `CBUF_BANK_WIDTH_64`, `CBUF_BANK_DEPTH_512`.
"""

from fuse_dialect.templates.template import HardwareRegion, HardwareTemplate, Predicate, links, mapped, units, virtual

_POOL = (
    "kernel in 1..8: Maximum supported pooling kernel size is 8",
    "stride in 1..16: The stride of a pool is 1 to 16",
    "padding_w < kernel_w: PL/PR should be less than kernel_width",
    "padding_h < kernel_h: Padding above and below should be less than the height of the kernel",
)

TEMPLATE = HardwareTemplate(
    name="nvdla",
    source="memory",
    units=units(
        ("memory", "memory"),
        ("conv", "conv"),
        *((f"{stage}_{kind}", kind) for stage in ("x1", "x2", "y") for kind in ("alu", "mul", "act")),
        ("y_lut", "lut"),
        ("convert", "convert"),
        ("pdp", "pool"),
    ),
    links=links(
        ("memory", "conv"),
        ("memory", "x1_alu"),
        ("memory", "pdp"),
        ("conv", "x1_alu"),
        ("x1_alu", "x1_mul"),
        ("x1_mul", "x1_act"),
        ("x1_act", "x2_alu"),
        ("x2_alu", "x2_mul"),
        ("x2_mul", "x2_act"),
        ("x2_act", "y_alu"),
        ("y_alu", "y_mul"),
        ("y_mul", "y_act"),
        ("y_act", "y_lut"),
        ("y_lut", "convert"),
        ("convert", "pdp"),
    ),
    mappings=(
        *mapped(
            "conv",
            ["fuse.conv2d"],
            where=(
                "padding_w < kernel_w: Left/Right padding should be less than S",
                "padding_h < kernel_h: Top/Bottom padding should be less than R",
            ),
            stream=0,
        ),
        *mapped("conv", ["fuse.dense"], stream=0),
        *mapped("alu", ["fuse.add", "fuse.subtract", "fuse.minimum", "fuse.maximum", "fuse.bias_add"]),
        *mapped("alu", ["fuse.requantize_sum"]),
        *mapped("convert", ["fuse.requantize"], stream=0),
        *mapped("mul", ["fuse.multiply"]),
        *mapped("act", ["fuse.relu", "fuse.leaky_relu"]),
        *mapped("alu", ["fuse.clip"], Predicate.MIN_ZERO),
        *mapped("lut", ["fuse.sigmoid", "fuse.tanh"]),
        *mapped("pool", ["fuse.max_pool2d", "fuse.avg_pool2d", "fuse.global_avg_pool2d"], where=_POOL),
        *mapped("pool", ["fuse.mean"], Predicate.OVER_SPACE),
    ),
    virtual=virtual("fuse.reshape", "fuse.batch_flatten", "fuse.expand_dims", "fuse.squeeze"),
    regions=(
        HardwareRegion("cbuf", ("inputs", "weights"), 16 * 64 * 512, streams=True),
        HardwareRegion("dram", ("outputs", "between")),
    ),
)
