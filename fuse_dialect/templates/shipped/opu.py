"""OPU, an overlay processor for FPGAs: its data flow with the links in the order of the OPU article.

The order decides between units that are equally near. The operators are those of the original table in the words of
the `fuse` dialect, and:

- an `add` of two feature maps runs on the residual adder alone, and one of a bias on the adders alone; the original
  maps both to both, although it looks for the difference;
- `multiply` is also mapped there to a kind (SE) that no unit has, and here to the multipliers alone, which take a
  constant or a broadcast scale, not a second feature map;
- a bias that follows a product is `bias_add` here, and an `add` after expansion there;
- `clip` from zero on and the mean over an image are ours; the strict replay leaves them out.

Source: https://github.com/OPU-Lab/opu-compiler, frontend/src/relay/pass/fuse_ops_hw.{h,cc}, `HDFG::Create`.
"""

from dataclasses import replace

from fuse_dialect.templates.template import HardwareTemplate, Predicate, links, mapped, units, virtual

TEMPLATE = HardwareTemplate(
    name="opu",
    source="concat",
    units=units(
        ("concat", "mem_rd"),
        ("ipa", "ipa"),
        ("add", "adder"),
        ("add_pre", "adder"),
        ("mul_pre", "multiplier"),
        ("mul", "multiplier"),
        ("compare", "comparator"),
        ("pool_pad", "pad"),
        ("pool", "pool"),
        ("res_add", "res_adder"),
        ("pad", "pad"),
        ("upsample", "upsample"),
    ),
    links=links(
        ("concat", "add_pre"),
        ("add_pre", "mul_pre"),
        ("mul_pre", "pad"),
        ("pad", "ipa"),
        ("ipa", "mul"),
        ("mul", "add"),
        ("add", "compare"),
        ("add", "pool_pad"),
        ("add", "res_add"),
        ("pool_pad", "pool"),
        ("compare", "pool"),
        ("compare", "res_add"),
        ("pool", "compare"),
        ("pool", "res_add"),
        ("res_add", "compare"),
        ("res_add", "pool"),
        ("compare", "upsample"),
        ("pool", "upsample"),
        ("res_add", "upsample"),
    ),
    mappings=(
        *mapped("mem_rd", ["fuse.concatenate"]),
        *mapped("adder", ["fuse.add"], Predicate.BIAS),
        *mapped("res_adder", ["fuse.add"], Predicate.RESIDUAL),
        *mapped("adder", ["fuse.bias_add"]),
        *mapped("multiplier", ["fuse.multiply"], Predicate.BIAS),
        *mapped("ipa", ["fuse.conv2d", "fuse.conv2d_transpose", "fuse.dense"], stream=0),
        *mapped("pool", ["fuse.max_pool2d", "fuse.avg_pool2d", "fuse.global_avg_pool2d"]),
        *mapped("pool", ["fuse.mean"], Predicate.OVER_SPACE),
        *mapped("comparator", ["fuse.relu", "fuse.leaky_relu"]),
        *mapped("comparator", ["fuse.clip"], Predicate.MIN_ZERO),
        *mapped("pad", ["fuse.pad"]),
        *mapped("upsample", ["fuse.resize2d"], Predicate.NEAREST),
    ),
    virtual=virtual("fuse.reshape", "fuse.batch_flatten", "fuse.expand_dims", "fuse.squeeze"),
)

_OURS = ("fuse.clip", "fuse.mean")


def article_rows(template: HardwareTemplate) -> HardwareTemplate:
    """The template with the rows of the article alone, if it is this one; another one as it is."""
    if template != TEMPLATE:
        return template
    return replace(TEMPLATE, mappings=tuple(row for row in TEMPLATE.mappings if row.operator not in _OURS))
