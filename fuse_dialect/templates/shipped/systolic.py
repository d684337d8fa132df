"""A systolic array with a vector unit behind its accumulators, as in the first tensor processing unit.

Weights stand in the array while features stream by; what leaves the accumulators passes an activation pipeline that
runs any short chain of elementwise operations, and a pool, on its way back to the buffer. Elementwise work alone takes
the same way without the array. What a trip reads and writes lives in the unified buffer, and must fit; sums pass the
accumulators in parts, and weights have a memory of their own.

Source: Jouppi et al., "In-Datacenter Performance Analysis of a Tensor Processing Unit", ISCA 2017,
doi:10.1145/3079856.3080246, figure 1 and section 2: the array has 65,536 multiply-accumulates for 8-bit integers and
gives 256 sums a cycle of 700 MHz, activations and pooling follow, and weights come with 34 GB a second from 8 GiB. The
unified buffer has 24 MiB, the accumulators 4 MiB. The capacity of the vector unit is ours: the paper gives none.
"""

from fuse_dialect.templates.template import (
    HardwareRegion,
    HardwareTemplate,
    HardwareUnit,
    Predicate,
    links,
    mapped,
    virtual,
)

TEMPLATE = HardwareTemplate(
    name="systolic",
    source="buffer",
    units=(
        HardwareUnit("buffer", "memory"),
        HardwareUnit("array", "array", operations=2 * 65_536),
        HardwareUnit("vector", "vector", capacity=8, bytes=256),
        HardwareUnit("pool", "pool", bytes=256),
    ),
    links=links(("buffer", "array"), ("buffer", "vector"), ("array", "vector"), ("vector", "pool")),
    mappings=(
        *mapped(
            "array",
            ["fuse.conv2d", "fuse.dense"],
            where=("weights.source is constant: Weights stand in the array",),
            stream=0,
        ),
        *mapped("array", ["fuse.matmul", "fuse.batch_matmul"]),
        *mapped("vector", ["fuse.bias_add"], stream=0),
        *mapped(
            "vector", ["fuse.add", "fuse.subtract", "fuse.multiply", "fuse.divide", "fuse.minimum", "fuse.maximum"]
        ),
        *mapped("vector", ["fuse.relu", "fuse.clip", "fuse.leaky_relu", "fuse.sigmoid", "fuse.tanh", "fuse.exp"]),
        *mapped(
            "vector", ["fuse.sqrt", "fuse.rsqrt", "fuse.abs", "fuse.negative", "fuse.hard_swish", "fuse.hard_sigmoid"]
        ),
        *mapped("vector", ["fuse.gelu", "fuse.silu", "fuse.cast", "fuse.requantize_sum"]),
        *mapped("vector", ["fuse.requantize"], stream=0),
        *mapped("pool", ["fuse.max_pool2d", "fuse.avg_pool2d", "fuse.global_avg_pool2d"]),
        *mapped("pool", ["fuse.mean"], Predicate.OVER_SPACE),
    ),
    virtual=virtual("fuse.reshape", "fuse.batch_flatten", "fuse.expand_dims", "fuse.squeeze"),
    bandwidth=34_000 // 700,
    regions=(
        HardwareRegion(
            "unified_buffer",
            ("inputs", "outputs"),
            24 << 20,
            sentence="What a trip reads and writes must fit into the unified buffer",
        ),
        HardwareRegion("accumulators", ("between",), 4 << 20, streams=True),
        HardwareRegion("weight_memory", ("weights",), 8 << 30),
    ),
)
