"""Gemmini, a systolic array whose results pass a fixed line of post-processing on their way out of the accumulator.

`tiled_conv_auto` and `tiled_conv_dw_auto` of its C library take a bias, one scale, an activation and a max pool: each
at most once, in this order. `tiled_matmul_auto` takes the same without the pool. `tiled_resadd_auto` adds two feature
maps without the array and may end in a relu; `tiled_global_average_auto` stands alone.

Its default configuration has a scratchpad of 256 KiB and an accumulator of 64 KiB. The library passes what does not fit
through both in parts, so they are no limits.

Differs from the library: since data may pass any unit, a bias, scale, activation or pool may also begin a trip, which
the library has as part of a product alone. Norms (`tiled_norm_auto`) and convolutions of other numbers of groups are
left out.

Source: https://github.com/ucb-bar/gemmini-rocc-tests, include/gemmini.h; https://github.com/ucb-bar/gemmini,
src/main/scala/gemmini/Configs.scala, `defaultConfig`, its capacities.
"""

from fuse_dialect.templates.template import HardwareRegion, HardwareTemplate, Predicate, links, mapped, units, virtual

_CONVOLUTION = (
    "padding < kernel: kernel_dim must be larger than padding",
    "kernel_h == kernel_w: A convolution has one kernel_dim",
    "stride_h == stride_w: A convolution has one stride",
    "dilation_h == dilation_w: A convolution has one kernel_dilation",
    "padding_h == padding_w: A convolution has one padding",
)
"""What the signature of `tiled_conv_auto` and its checks ask for."""

TEMPLATE = HardwareTemplate(
    name="gemmini",
    source="scratchpad",
    units=units(
        ("scratchpad", "memory"),
        ("matmul", "matmul"),
        ("matmul_bias", "bias"),
        ("matmul_scale", "scale"),
        ("matmul_activation", "activation"),
        ("conv", "conv"),
        ("conv_bias", "bias"),
        ("conv_scale", "scale"),
        ("conv_activation", "activation"),
        ("conv_pool", "pool"),
        ("resadd", "resadd"),
        ("resadd_activation", "activation"),
        ("average", "average"),
    ),
    links=links(
        ("scratchpad", "matmul"),
        ("scratchpad", "conv"),
        ("scratchpad", "resadd"),
        ("scratchpad", "average"),
        ("matmul", "matmul_bias"),
        ("matmul_bias", "matmul_scale"),
        ("matmul_scale", "matmul_activation"),
        ("conv", "conv_bias"),
        ("conv_bias", "conv_scale"),
        ("conv_scale", "conv_activation"),
        ("conv_activation", "conv_pool"),
        ("resadd", "resadd_activation"),
    ),
    mappings=(
        *mapped("matmul", ["fuse.dense", "fuse.matmul"]),
        *mapped("conv", ["fuse.conv2d"], Predicate.UNGROUPED, where=_CONVOLUTION, stream=0),
        *mapped("conv", ["fuse.conv2d"], Predicate.DEPTHWISE, where=_CONVOLUTION, stream=0),
        *mapped("bias", ["fuse.bias_add"], stream=0),
        *mapped("bias", ["fuse.add"], Predicate.BIAS),
        *mapped("resadd", ["fuse.add"], Predicate.RESIDUAL),
        *mapped("scale", ["fuse.multiply"], Predicate.SCALAR),
        *mapped("scale", ["fuse.requantize"], stream=0),
        *mapped("resadd", ["fuse.requantize_sum"]),
        *mapped("activation", ["fuse.relu"]),
        *mapped("activation", ["fuse.clip"], Predicate.MIN_ZERO),
        *mapped(
            "pool",
            ["fuse.max_pool2d"],
            where=(
                "kernel_h == kernel_w: Pooling with rectangular convolutions is currently not supported",
                "stride_h == stride_w: A pool has one stride",
                "padding_h == padding_w: A pool has one padding",
            ),
        ),
        *mapped("average", ["fuse.global_avg_pool2d"]),
        *mapped("average", ["fuse.mean"], Predicate.OVER_SPACE),
    ),
    virtual=virtual("fuse.reshape", "fuse.batch_flatten", "fuse.expand_dims", "fuse.squeeze"),
    regions=(
        HardwareRegion("scratchpad", ("inputs", "weights"), 256 << 10, streams=True),
        HardwareRegion("accumulator", ("between",), 64 << 10, streams=True),
        HardwareRegion("dram", ("outputs",)),
    ),
)
