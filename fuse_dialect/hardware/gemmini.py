"""Gemmini, a systolic array whose results pass a fixed line of post-processing on their way out of the accumulator.

`tiled_conv_auto` and `tiled_matmul_auto` of its C library take a bias, one scale, an activation and, for
convolutions, a max pool: each at most once, in this order. `tiled_resadd_auto` adds two feature maps without the array
and may end in a relu; `tiled_global_average_auto` stands alone.

Differs from the library: scratchpad and accumulator tile what does not fit, so the template has no limits.

Source: https://github.com/ucb-bar/gemmini-rocc-tests, include/gemmini.h.
"""

from fuse_dialect.hardware.template import HardwareTemplate, Predicate, links, mapped, units, virtual

GEMMINI = HardwareTemplate(
    name="gemmini",
    source="scratchpad",
    units=units(
        ("scratchpad", "memory"),
        ("mesh", "mesh"),
        ("resadd", "resadd"),
        ("resadd_activation", "activation"),
        ("average", "average"),
        ("bias", "bias"),
        ("scale", "scale"),
        ("activation", "activation"),
        ("pool", "pool"),
    ),
    links=links(
        ("scratchpad", "mesh"),
        ("scratchpad", "resadd"),
        ("scratchpad", "average"),
        ("mesh", "bias"),
        ("bias", "scale"),
        ("scale", "activation"),
        ("activation", "pool"),
        ("resadd", "resadd_activation"),
    ),
    mappings=(
        *mapped("mesh", ["fuse.dense", "fuse.matmul"]),
        *mapped("mesh", ["fuse.conv2d"], Predicate.UNGROUPED),
        *mapped("bias", ["fuse.bias_add"]),
        *mapped("bias", ["fuse.add"], Predicate.BIAS),
        *mapped("resadd", ["fuse.add"], Predicate.RESIDUAL),
        *mapped("scale", ["fuse.multiply"], Predicate.SCALAR),
        *mapped("activation", ["fuse.relu"]),
        *mapped("activation", ["fuse.clip"], Predicate.MIN_ZERO),
        *mapped("pool", ["fuse.max_pool2d"]),
        *mapped("average", ["fuse.global_avg_pool2d"]),
    ),
    virtual=virtual("fuse.reshape", "fuse.batch_flatten", "fuse.expand_dims", "fuse.squeeze"),
)
