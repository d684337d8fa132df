"""Named ops of linalg for stages that are products or pools: found by how they read, whatever op they come from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from xdsl.dialects import tensor
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, TensorType, i64
from xdsl.ir import SSAValue

from fuse_dialect.counts import Size
from fuse_dialect.dialect.types import is_tensor
from fuse_dialect.frontends.mlir.linalg_forms import FORMS, Form
from fuse_dialect.frontends.mlir.named_linalg import NAMED_OPS, window_attribute
from fuse_dialect.loops.indices import Index, Loop
from fuse_dialect.loops.program import Apply, Combiner, Read, Reduction, Stage
from fuse_dialect.targets.linalg.accesses import Access

CHOSEN: Sequence[str] = (
    *("matmul", "batch_matmul"),
    *("conv_2d_nchw_fchw", "conv_2d_nhwc_hwcf", "conv_2d_nhwc_fhwc", "conv_1d_ncw_fcw", "conv_1d_nwc_wcf"),
    *("conv_3d_ncdhw_fcdhw", "conv_3d_ndhwc_dhwcf", "depthwise_conv_2d_nchw_chw", "depthwise_conv_2d_nhwc_hwc"),
    *("depthwise_conv_1d_ncw_cw", "depthwise_conv_1d_nwc_wc"),
    *("pooling_nchw_max", "pooling_nchw_sum", "pooling_nhwc_max", "pooling_nhwc_sum"),
)
"""Names of the ops that are written; all of LLVM 19 to 24 have them."""

_COMBINATIONS: Mapping[tuple[Combiner, bool], str] = {
    (Combiner.ADD, True): "product",
    (Combiner.ADD, False): "sum",
    (Combiner.MAXIMUM, False): "max",
}


@dataclass(frozen=True, slots=True)
class _Window:
    """Strides and dilations that were found, one for each window axis."""

    strides: list[int] = field(default_factory=list[int])
    dilations: list[int] = field(default_factory=list[int])


def named_op(stage: Stage, reduction: Reduction, inputs: Sequence[Access], total: SSAValue) -> SSAValue | None:
    """The result of the named op that computes a stage's reduction; `None` if there is none.

    Args:
        stage: The stage; its inputs are all its reads, in order.
        reduction: How it combines.
        inputs: Tensors and indices.
        total: The tensor that the reduction begins with.
    """
    combination = _combination(stage, reduction)
    if combination is None or len(inputs) != (2 if combination == "product" else 1):
        return None
    if combination != "product" and not any(len(index.terms) > 1 for index in inputs[0].indices):
        return None  # one window over all of an axis: a plain reduction
    extents = [axis.size for axis in stage.axes]
    parallel = sum(not axis.is_reduced for axis in stage.axes)
    for name in CHOSEN:
        form = FORMS[name]
        if form.combination == combination:
            loops = _numbered_loops(form, extents, parallel)
            result = None if loops is None else _built(name, form, loops, inputs, extents, total)
            if result is not None:
                return result
    return None


def _combination(stage: Stage, reduction: Reduction) -> str | None:
    """What the body is: a product of two reads, a read, or anything else."""
    functions = [own.function for own in stage.body if isinstance(own, Apply)]
    if not all(isinstance(own, Apply | Read) for own in stage.body) or reduction.start.element.startswith("u"):
        return None
    products = [name for name in functions if name in ("arith.mulf", "arith.muli")]
    rest = [name for name in functions if name not in ("arith.mulf", "arith.muli")]
    if any(name != "arith.extf" for name in rest) or len(products) > 1:
        return None
    if products and sum(isinstance(own, Read) for own in stage.body) != 2:
        return None
    return _COMBINATIONS.get((reduction.combiner, bool(products)))


def _numbered_loops(form: Form, extents: Sequence[Size], parallel: int) -> dict[str, int] | None:
    """The stage's axis for each loop of a form; reduced axes of a convolution by channels first are in this order."""
    own, reduced = form.parallel.split(), form.reduced.split()
    axes = list(range(parallel, len(extents)))
    if len(axes) == len(reduced) + 1 and extents[parallel] == 1:
        del axes[0]  # the only channel of a group, of which a depthwise op knows nothing
    if len(own) != parallel or len(reduced) != len(axes):
        return None
    # Stages count channels before the places in the window, whatever the layout.
    ordered = sorted(reduced, key=lambda name: "kcpqr".index(name))
    return {**{name: axis for axis, name in enumerate(own)}, **dict(zip(ordered, axes, strict=True))}


def _built(
    name: str,
    form: Form,
    loops: Mapping[str, int],
    inputs: Sequence[Access],
    extents: Sequence[Size],
    total: SSAValue,
) -> SSAValue | None:
    window = _Window()
    operands: list[SSAValue] = []
    for pattern, access in zip(form.inputs, inputs, strict=False):
        operand = _matched(pattern.split(), access, loops, extents, window)
        if operand is None:
            return None
        operands.append(operand)
    if form.combination != "product":
        window_sizes = [extents[loops[loop]] for loop in form.inputs[1].split()]
        sizes = [size for size in window_sizes if isinstance(size, int)]
        if len(sizes) != len(window_sizes):
            return None
        assert is_tensor(total.type), "the total is a tensor"
        operands.append(tensor.EmptyOp([], TensorType(total.type.element_type, sizes)).tensor)
    properties = {}
    if form.window_rank:
        properties = {
            "strides": window_attribute(window.strides),
            "dilations": window_attribute(window.dilations),
        }
    return NAMED_OPS[name](operands, [total], properties).res[0]


def _matched(
    pattern: Sequence[str], access: Access, loops: Mapping[str, int], extents: Sequence[Size], window: _Window
) -> SSAValue | None:
    """The tensor whose axes run as the pattern says, or `None`; axes of size 1 may be left out."""
    indices, kept = list(access.indices), list(range(len(access.indices)))
    while len(kept) > len(pattern):
        spare = [axis for axis in kept if not indices[axis].terms]
        if not spare:
            return None
        kept.remove(spare[0])
    if len(kept) != len(pattern):
        return None
    for text, axis in zip(pattern, kept, strict=True):
        if not _fits(text, indices[axis], loops, extents, window):
            return None
    return _without(access.value, kept)


def _fits(text: str, index: Index, loops: Mapping[str, int], extents: Sequence[Size], window: _Window) -> bool:
    factors = {atom.axis: factor for atom, factor in index.terms if isinstance(atom, Loop)}
    if len(factors) != len(index.terms) or index.constant:
        return False
    terms = text.split("+")
    for term in terms:
        name, factor = term[-1], factors.pop(loops[term[-1]], None)
        if factor is None:
            if extents[loops[name]] != 1:
                return False
            factor = 1  # a loop of size 1 stands in no index, and its factor does not matter
        if "*" not in term and factor != 1:
            return False
        if term.startswith("s*"):
            window.strides.append(factor)
        if term.startswith("d*"):
            window.dilations.append(factor)
    return not factors


def _without(value: SSAValue, kept: Sequence[int]) -> SSAValue:
    """The tensor without the axes of size 1 that are not kept."""
    assert is_tensor(value.type), "inputs are tensors"
    shape = value.type.get_shape()
    if len(kept) == len(shape):
        return value
    bounds = [0, *kept[1:], len(shape)]
    groups = [list(range(start, end)) for start, end in pairwise(bounds)]
    reassociation = ArrayAttr([ArrayAttr([IntegerAttr(axis, i64) for axis in group]) for group in groups])
    result = TensorType(value.type.element_type, [shape[axis] for axis in kept])
    return tensor.CollapseShapeOp(
        operands=[value], result_types=[result], properties={"reassociation": reassociation}
    ).result
