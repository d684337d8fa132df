"""`stablehlo.custom_call @shape_assertion`: how a program that JAX has exported checks the sizes that it is given.

The first operand says whether all is well; the others are numbers that the message names as `{0}`, `{1}`, ...
"""

import re
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

_TARGET = StringAttr("shape_assertion")
_PLACEHOLDER = re.compile(r"\{([0-9]{1,3})\}")
_SEE_ALSO = re.compile(r"\s*Please see https?://\S+ for more details\.?\s*")


def is_shape_assertion(op: Operation) -> bool:
    """Whether the op is such a check."""
    return op.name == "stablehlo.custom_call" and op.properties.get("call_target_name") == _TARGET and bool(op.operands)


def violation(op: Operation, operands: Sequence[object]) -> str | None:
    """What a check says about the values of its operands; `None` if all is well."""
    holds, *numbers = (np.asarray(each) for each in operands)
    if holds.all():
        return None
    message = op.attributes.get("error_message")
    if not isinstance(message, StringAttr):
        return "the sizes of the arguments are not what the program expects"

    def spelled(match: re.Match[str]) -> str:
        place = int(match[1])
        return str(numbers[place]) if place < len(numbers) else match[0]

    return _PLACEHOLDER.sub(spelled, " ".join(_SEE_ALSO.sub("", message.data).split()))
