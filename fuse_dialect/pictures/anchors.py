"""What a kernel is for: the work of its anchor, the op of highest rank in it. Pictures colour kernels and ops by it."""

from collections.abc import Sequence

from fuse_dialect.pattern_kind import PatternKind

WORK = ("product", "convolution", "reduction", "elementwise", "move", "other")
"""Kinds of work, that of the highest rank first."""
_PRODUCTS = ("dot", "matmul", "dense", "gemm", "einsum", "attention")
_REDUCTIONS = ("pool", "softmax", "norm", "reduce", "arg", "cumsum", "cumprod", "sort", "topk", "top_k")


def work_of(op: str, kind: PatternKind) -> int:
    """The place in `WORK` of what an op does.

    Args:
        op: Its name, such as `fuse.conv2d`.
        kind: How it may take part in fusion.

    Example:
        >>> kind = PatternKind.OUT_EWISE_FUSABLE
        >>> [WORK[work_of(op, kind)] for op in ("fuse.conv2d", "fuse.dense", "fuse.max_pool2d")]
        ['convolution', 'product', 'reduction']
    """
    stem = op.partition(".")[2] or op
    if stem == "batch_norm":
        # Its means and variances are constants: it scales and shifts.
        return WORK.index("elementwise")
    if kind in (PatternKind.OUT_EWISE_FUSABLE, PatternKind.OPAQUE):
        if "conv" in stem and "convert" not in stem:
            return WORK.index("convolution")
        if any(part in stem for part in _REDUCTIONS):
            return WORK.index("reduction")
        is_product = kind is PatternKind.OUT_EWISE_FUSABLE or any(part in stem for part in _PRODUCTS)
        return WORK.index("product" if is_product else "other")
    if kind is PatternKind.COMM_REDUCE:
        return WORK.index("reduction")
    if kind is PatternKind.INJECTIVE or "broadcast" in stem:
        return WORK.index("move")
    return WORK.index("other" if kind is PatternKind.TUPLE else "elementwise")


def anchor_of(works: Sequence[int]) -> int:
    """The place of the op that a kernel is there for: the first of the highest rank.

    Args:
        works: For each op of the kernel the place in `WORK`; there is one at least.
    """
    return min(range(len(works)), key=works.__getitem__)
