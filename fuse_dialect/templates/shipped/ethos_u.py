"""Arm Ethos-U in the manner of Vela's pass packing: one main operation a pass, and an activation after it.

A main operation is a product, a pool (a resize is made of pools) or an elementwise operation. The MAC unit runs
products and pools, and stands here twice, because a product alone has a bias. No link joins main operations, so a pass
has one of them. Sigmoid and tanh are table look-ups that no main operation may precede (`npu_post_fuse_limited_ops`),
so they hang off the source alone. Results are rescaled on their way to memory, before the activation. A mean over an
image is a pool of all of it, and a concatenation a pass that copies.

Vela's cascades run several passes stripe by stripe, with rolling buffers between them, but each stays a pass with one
main operation. So they are no trips here, and the report has them: passes on the MAC unit or with a pool may be in one,
elementwise operations and fully connected layers are in none.

What a pass must satisfy is what Vela 3.10 publishes, except for types and quantization, so that networks can be planned
before they are quantized: `ethos-u-int8` is the same with these.

Differs from Vela: a pass may have several results, where Vela joins only what has a single consumer; it has at most one
activation, where Vela lets several follow each other; a view (`memory_only_ops`) goes along with its data, where
Vela ends the pass at it; and a batch of several images is no reason to stay on the host where Vela unrolls it.

Source: https://github.com/nxp-imx/ethos-u-vela (a mirror of Arm's Vela), ethosu/vela/pass_packing.py, `test_sequence`;
cascade_builder.py; SUPPORTED_OPS.md.
"""

from fuse_dialect.templates.template import (
    HardwareLimits,
    HardwareTemplate,
    HardwareUnit,
    Predicate,
    links,
    mapped,
    required,
    units,
    virtual,
)

_WINDOW = (
    "dilated_kernel_h in 1..64: Dilated kernel height must be in the range [1, 64]",
    "product of dilated_kernel in 1..4096: Product of dilated kernel width and height must be in the range [1, 4096]",
)
_STRIDE = "stride in 1..3: Stride values for both width and height must be in the range [1, 3]"
_PRODUCT = (
    "weights.source is constant: Weight tensor must be constant",
    "weights.abs_sum <= 8323072 or weights.bits in 16..: The sum of the weights cannot exceed 8323072",
)
_AVERAGE = (
    "kernel in 1..8 or sum of padding == 0: Kernel filter values for both width and height must be in the range [1, 8]"
)
_POOL = (
    "kernel_h in 1..256: Kernel filter height must be in the range [1, 256]",
    "product of kernel in 1..65536: Product of kernel filter width and height must be in the range [1, 65536]",
)

TEMPLATE = HardwareTemplate(
    name="ethos-u",
    source="dma",
    units=(
        HardwareUnit("dma", "dma"),
        HardwareUnit("mac", "mac", cascades=True),
        HardwareUnit("pool", "pool", cascades=True),
        *units(("elementwise", "elementwise"), ("lut", "lut")),
        *units(("bias", "bias"), ("rescale", "rescale"), ("activation", "activation")),
    ),
    links=links(
        ("dma", "mac"),
        ("dma", "pool"),
        ("dma", "elementwise"),
        ("dma", "lut"),
        ("mac", "bias"),
        ("bias", "rescale"),
        ("pool", "rescale"),
        ("elementwise", "rescale"),
        ("rescale", "activation"),
    ),
    mappings=(
        *mapped("mac", ["fuse.conv2d", "fuse.conv2d_transpose"], where=(_STRIDE, *_WINDOW, *_PRODUCT), stream=0),
        *mapped("mac", ["fuse.dense"], where=_PRODUCT, stream=0),
        *mapped("pool", ["fuse.max_pool2d"], where=(_STRIDE, *_POOL)),
        *mapped("pool", ["fuse.avg_pool2d"], where=(_STRIDE, _AVERAGE, *_POOL)),
        *mapped("pool", ["fuse.global_avg_pool2d"], where=_POOL),
        *mapped("pool", ["fuse.mean"], Predicate.OVER_SPACE),
        *mapped("pool", ["fuse.resize2d"]),
        *mapped("bias", ["fuse.bias_add"], stream=0),
        *mapped("bias", ["fuse.add"], Predicate.BIAS),
        *mapped("elementwise", ["fuse.add", "fuse.subtract", "fuse.multiply", "fuse.minimum", "fuse.maximum"]),
        *mapped("elementwise", ["fuse.abs", "fuse.leaky_relu"]),
        *mapped("elementwise", ["fuse.concatenate", "fuse.requantize_sum"]),
        *mapped("rescale", ["fuse.requantize"], stream=0),
        *mapped("activation", ["fuse.relu"]),
        *mapped("activation", ["fuse.clip"], Predicate.MIN_ZERO),
        *mapped(
            "activation", ["fuse.clip"], where=("attr.min == -1: RELU_N1_TO_1 clips from -1 to 1", "attr.max == 1")
        ),
        *mapped("lut", ["fuse.sigmoid", "fuse.tanh"]),
    ),
    virtual=virtual("fuse.reshape", "fuse.batch_flatten", "fuse.expand_dims", "fuse.squeeze"),
    limits=HardwareLimits(operands=4),  # IFM, IFM2, weights and biases
    requirements=required(
        "tensors.shape is static: Input(s) and Output tensors must not be dynamic",
        "results.rank >= 1: Output tensors cannot be scalar",
        "tensors.rank <= 4: Input(s) and Output tensors must not be greater than 4D",
        "tensors.dims in 1..65535: Tensor dimensions must be in the range [1, 65535]",
    ),
)
