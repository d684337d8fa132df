"""Pattern kinds: how an operator's output elements depend on its input elements.

Source: TVM `OpPatternKind`, include/tvm/relay/op_attr_types.h (v0.18). The values are TVM's, because the fusion
rules compare kinds with `<=` and take the greatest kind on a path.
"""

from enum import IntEnum


class PatternKind(IntEnum):
    """How an operator may take part in fusion; a greater kind is harder to fuse."""

    ELEMWISE = 0
    """One output element needs the input element of the same index: `exp`."""
    BROADCAST = 1
    """Output axes map to input axes in order: `out[i, j] = in[i]`; a transpose is not a broadcast."""
    INJECTIVE = 2
    """Each output element needs one input element, at any index: `transpose`, `reshape`."""
    COMM_REDUCE = 3
    """A commutative reduction over axes: `sum`, `max`."""
    OUT_EWISE_FUSABLE = 4
    """A complex operator, an *anchor*, whose output accepts elementwise operators: `conv2d`, `dense`."""
    TUPLE = 7
    """A tuple of tensors; it may join injective operators."""
    OPAQUE = 8
    """Never fused: `sort`, or an operator that nothing is known about."""

    @property
    def keyword(self) -> str:
        """Spelling in the IR, as in `#fuse.pattern_kind<out_ewise_fusable>`."""
        return self.name.lower()

    @staticmethod
    def from_keyword(keyword: str) -> "PatternKind":
        """The kind spelled `keyword` in the IR.

        Raises:
            ValueError: No kind is spelled so.
        """
        kind = _KIND_OF_KEYWORD.get(keyword)
        if kind is None:
            raise ValueError(f"unknown pattern kind '{keyword}', expected one of {', '.join(_KIND_OF_KEYWORD)}")
        return kind


_KIND_OF_KEYWORD = {kind.keyword: kind for kind in PatternKind}
