"""Arm Ethos-U with what Vela 3.10 asks of types: features and weights of 8 bits, sums of 32 or 64.

Source: https://github.com/nxp-imx/ethos-u-vela, SUPPORTED_OPS.md. The rest is `ethos-u`.
"""

from dataclasses import replace

from fuse_dialect.templates.constraint import parse_constraint
from fuse_dialect.templates.shipped.ethos_u import TEMPLATE as ETHOS_U
from fuse_dialect.templates.template import HardwareTemplate, OperatorMapping, required

_MORE = {
    "mac": ("weights.bits == 8: Weight tensor must be 8-bit",),
    "activation": (
        "result.bits <= 16: If a fused activation function is present, the Output tensor must be one of type: int16, "
        "int8, uint8",
    ),
}
"""Constraints of all operators that run on units of a kind."""


def _with_types(row: OperatorMapping) -> OperatorMapping:
    lines = [line for kind in row.kinds for line in _MORE.get(kind, ())]
    return replace(row, constraints=(*row.constraints, *map(parse_constraint, lines)))


TEMPLATE: HardwareTemplate = replace(
    ETHOS_U,
    name="ethos-u-int8",
    mappings=tuple(map(_with_types, ETHOS_U.mappings)),
    requirements=(
        *ETHOS_U.requirements,
        *required(
            "input.type is i8, ui8, i16, i32, i64: Tensors must be of type: int16, int32, int8, uint8",
            "results.type is i8, ui8, i16, i32, i64: Tensors must be of type: int16, int32, int8, uint8",
        ),
    ),
)
