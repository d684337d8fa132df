"""Arm Ethos-U in the manner of Vela's pass packing: one main operation a pass, and an activation after it.

A main operation is a product, a pool (a resize is made of pools) or an elementwise operation. The MAC unit runs
products and pools, and stands here twice, because a product alone has a bias. No link joins main operations, so a pass
has one of them. Sigmoid and tanh are table look-ups that no main operation may precede (`npu_post_fuse_limited_ops`),
so they hang off the source alone.

Differs from Vela: a pass may have several results, where Vela joins only what has a single consumer; it has at most one
activation, where Vela lets several follow each other; and a view (`memory_only_ops`) goes along with its data, where
Vela ends the pass at it.

Source: https://github.com/nxp-imx/ethos-u-vela, ethosu/vela/pass_packing.py, `test_sequence` (a mirror of Arm's Vela).
"""

from fuse_dialect.templates.template import (
    HardwareLimits,
    HardwareTemplate,
    Predicate,
    links,
    mapped,
    units,
    virtual,
)

TEMPLATE = HardwareTemplate(
    name="ethos-u",
    source="dma",
    units=units(
        ("dma", "dma"),
        ("mac", "mac"),
        ("pool", "pool"),
        ("elementwise", "elementwise"),
        ("lut", "lut"),
        ("bias", "bias"),
        ("activation", "activation"),
    ),
    links=links(
        ("dma", "mac"),
        ("dma", "pool"),
        ("dma", "elementwise"),
        ("dma", "lut"),
        ("mac", "bias"),
        ("bias", "activation"),
        ("pool", "activation"),
        ("elementwise", "activation"),
    ),
    mappings=(
        *mapped("mac", ["fuse.conv2d", "fuse.conv2d_transpose", "fuse.dense"]),
        *mapped("pool", ["fuse.max_pool2d", "fuse.avg_pool2d", "fuse.global_avg_pool2d", "fuse.resize2d"]),
        *mapped("bias", ["fuse.bias_add"]),
        *mapped("bias", ["fuse.add"], Predicate.BIAS),
        *mapped("elementwise", ["fuse.add", "fuse.subtract", "fuse.multiply", "fuse.minimum", "fuse.maximum"]),
        *mapped("elementwise", ["fuse.abs", "fuse.leaky_relu"]),
        *mapped("activation", ["fuse.relu"]),
        *mapped("activation", ["fuse.clip"], Predicate.MIN_ZERO),
        *mapped("lut", ["fuse.sigmoid", "fuse.tanh"]),
    ),
    virtual=virtual("fuse.reshape", "fuse.batch_flatten", "fuse.expand_dims", "fuse.squeeze"),
    limits=HardwareLimits(operands=4),  # IFM, IFM2, weights and biases
)
