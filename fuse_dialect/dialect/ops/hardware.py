"""Hardware templates as IR: `fuse.hardware` with one op for each unit, link, mapping and virtual operator.

    fuse.hardware @tiny source @mac {
      fuse.hardware_unit @mac kind "mac"
      fuse.hardware_unit @act kind "activation" capacity 2
      fuse.hardware_link @mac -> @act
      fuse.hardware_map "fuse.conv2d" to ["mac"]
      fuse.hardware_map "fuse.clip" to ["activation"] if "min-zero"
      fuse.hardware_map "fuse.dense" to ["mac"] where ["weights.source is constant"] stream 0
      fuse.hardware_require "tensors.rank <= 4" except ["fuse.dense"]
      fuse.hardware_virtual "fuse.reshape"
    }

What a template must satisfy is checked by `HardwareTemplate.problems`; a problem is reported at the op it is about.
These ops describe; they compute nothing, and are no `FuseOp`s.
"""

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import (
    ArrayAttr,
    FlatSymbolRefAttrConstr,
    StringAttr,
    SymbolNameConstraint,
    UnitAttr,
)
from xdsl.ir import Operation
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
)
from xdsl.traits import HasParent, IsolatedFromAbove, NoTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.fields import INTEGER, Integer
from fuse_dialect.extensions import at_place

HARDWARE_ATTRIBUTE = "fuse.hardware"
"""Name of the attribute that a function for hardware carries: the name of its template."""
UNIT_ATTRIBUTE = "fuse.unit"
"""Name of the attribute that says which unit runs an op."""
PADDING_ATTRIBUTE = "fuse.hardware_padding"
"""Name of the attribute that says how far the unit of an op wants a tensor padded: `result.channels 20 -> 32`."""
TILE_ATTRIBUTE = "fuse.tile"
"""Name of the attribute that the ops around tiles carry: the trip that has been cut into them, and which call of it."""
REASON_ATTRIBUTE = "fuse.hardware_reason"
"""Name of the attribute that says why an op, or the first op of a called function, joined no earlier group."""


@irdl_op_definition
class HardwareOp(IRDLOperation):
    """An accelerator; its parts stand in the region. It is no symbol table: links and problems know units by name."""

    name = "fuse.hardware"

    sym_name = prop_def(SymbolNameConstraint())
    source = prop_def(FlatSymbolRefAttrConstr)
    """The unit where data enters."""
    max_operands: Integer | None = opt_prop_def(INTEGER)
    buffer_bytes: Integer | None = opt_prop_def(INTEGER)
    channel_alignment: Integer | None = opt_prop_def(INTEGER)
    max_results: Integer | None = opt_prop_def(INTEGER)
    max_products: Integer | None = opt_prop_def(INTEGER)
    trip_bytes: Integer | None = opt_prop_def(INTEGER)
    feature_bytes: Integer | None = opt_prop_def(INTEGER)
    constant_bytes: Integer | None = opt_prop_def(INTEGER)
    bandwidth: Integer | None = opt_prop_def(INTEGER)
    """Bytes from and to memory in a cycle."""
    body = region_def("single_block")

    traits = traits_def(NoTerminator(), IsolatedFromAbove(), SymbolOpInterface())

    assembly_format = (
        "$sym_name `source` $source (`operands` $max_operands^)? (`buffer_bytes` $buffer_bytes^)? "
        "(`channel_alignment` $channel_alignment^)? (`results` $max_results^)? (`products` $max_products^)? "
        "(`trip_bytes` $trip_bytes^)? (`feature_bytes` $feature_bytes^)? (`constant_bytes` $constant_bytes^)? "
        "(`bandwidth` $bandwidth^)? attr-dict-with-keyword $body"
    )

    def verify_(self) -> None:
        """Report the first problem of the template, at the part that it is about.

        Raises:
            VerifyException: There is one.
        """
        # Templates are another module: most programs have none.
        problem = at_place("fuse_dialect.dialect.hardware_templates:template_problem")(self)
        if problem is not None:
            part, message = problem
            error = VerifyException(message)
            if part is self:
                raise error
            part.emit_error(f"Operation does not verify: {error}", error)


@irdl_op_definition
class HardwareUnitOp(IRDLOperation):
    """A unit: its name, its kind, and how many operators it runs in one trip of data."""

    name = "fuse.hardware_unit"

    sym_name = prop_def(SymbolNameConstraint())
    kind: StringAttr = prop_def(StringAttr)
    capacity: Integer | None = opt_prop_def(INTEGER)
    """1, if left out."""
    operations: Integer | None = opt_prop_def(INTEGER)
    """Arithmetic operations in a cycle."""
    rate: Integer | None = opt_prop_def(INTEGER)
    """Bytes of results in a cycle."""
    required: UnitAttr | None = opt_prop_def(UnitAttr)
    """Every trip must use it."""
    stores: UnitAttr | None = opt_prop_def(UnitAttr)
    """What it gives can be written to memory."""
    cascades: UnitAttr | None = opt_prop_def(UnitAttr)
    """Trips that use it may run together with others, stripe by stripe."""

    traits = lazy_traits_def(lambda: (HasParent(HardwareOp),))
    assembly_format = (
        "$sym_name `kind` $kind (`capacity` $capacity^)? (`operations` $operations^)? (`bytes` $rate^)? "
        "(`required` $required^)? (`stores` $stores^)? (`cascades` $cascades^)? attr-dict"
    )


@irdl_op_definition
class HardwareLinkOp(IRDLOperation):
    """A link from one unit to another. The order of links decides between units that are equally near."""

    name = "fuse.hardware_link"

    source = prop_def(FlatSymbolRefAttrConstr)
    sink = prop_def(FlatSymbolRefAttrConstr)

    traits = lazy_traits_def(lambda: (HasParent(HardwareOp),))
    assembly_format = "$source `->` $sink attr-dict"


@irdl_op_definition
class HardwareMapOp(IRDLOperation):
    """An operator, the kinds of units that run it, and a condition."""

    name = "fuse.hardware_map"

    operator: StringAttr = prop_def(StringAttr)
    kinds: ArrayAttr[StringAttr] = prop_def(ArrayAttr[StringAttr])
    predicate: StringAttr | None = opt_prop_def(StringAttr)
    constraints: ArrayAttr[StringAttr] | None = opt_prop_def(ArrayAttr[StringAttr])
    """Lines of `templates.constraint`, each with a sentence of its own behind a colon, if it has one."""
    stream: Integer | None = opt_prop_def(INTEGER)
    """The operand that streams by."""
    check: StringAttr | None = opt_prop_def(StringAttr)
    """A function of the entry point group `fuse_dialect.hardware_checks`."""

    traits = lazy_traits_def(lambda: (HasParent(HardwareOp),))
    assembly_format = (
        "$operator `to` $kinds (`if` $predicate^)? (`where` $constraints^)? (`stream` $stream^)? (`check` $check^)? "
        "attr-dict"
    )


@irdl_op_definition
class HardwareVirtualOp(IRDLOperation):
    """An operator that costs nothing."""

    name = "fuse.hardware_virtual"

    operator: StringAttr = prop_def(StringAttr)

    traits = lazy_traits_def(lambda: (HasParent(HardwareOp),))
    assembly_format = "$operator attr-dict"


@irdl_op_definition
class HardwareRequireOp(IRDLOperation):
    """A constraint of all mapped operators but some."""

    name = "fuse.hardware_require"

    constraint: StringAttr = prop_def(StringAttr)
    excepted: ArrayAttr[StringAttr] | None = opt_prop_def(ArrayAttr[StringAttr])

    traits = lazy_traits_def(lambda: (HasParent(HardwareOp),))
    assembly_format = "$constraint (`except` $excepted^)? attr-dict"


@irdl_op_definition
class HardwareRegionOp(IRDLOperation):
    """A memory: which of `inputs`, `weights`, `outputs` and `between` of a trip may live in it, and its size."""

    name = "fuse.hardware_region"

    sym_name = prop_def(SymbolNameConstraint())
    holds: ArrayAttr[StringAttr] = prop_def(ArrayAttr[StringAttr])
    size: Integer | None = opt_prop_def(INTEGER)
    """Bytes, 0 if left out: as many as there are."""
    streams: UnitAttr | None = opt_prop_def(UnitAttr)
    """What is larger passes in parts, so that the size is no limit."""
    sentence: StringAttr | None = opt_prop_def(StringAttr)
    """What a refusal says first."""

    traits = lazy_traits_def(lambda: (HasParent(HardwareOp),))
    assembly_format = (
        "$sym_name `holds` $holds (`bytes` $size^)? (`streams` $streams^)? (`because` $sentence^)? attr-dict"
    )


HARDWARE_OPS: Sequence[type[Operation]] = (
    HardwareOp,
    HardwareUnitOp,
    HardwareLinkOp,
    HardwareMapOp,
    HardwareVirtualOp,
    HardwareRequireOp,
    HardwareRegionOp,
)
"""The ops of this file."""

PartOp: TypeAlias = (
    HardwareUnitOp | HardwareLinkOp | HardwareMapOp | HardwareVirtualOp | HardwareRequireOp | HardwareRegionOp
)
