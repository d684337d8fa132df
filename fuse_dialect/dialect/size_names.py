"""Names of sizes that the types of a function leave open: equal names are equal sizes.

    func.func @main(%x: tensor<?x?xf32> {fuse.sizes = ["batch", "seq"]}, %mask: tensor<?xi1> {fuse.sizes = ["seq"]})

An argument's attribute has one name an axis; an empty one says nothing. A name is good for one call of the function.
"""

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute

from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.types import Shape, is_tensor

SIZES_ATTRIBUTE = "fuse.sizes"
"""Name of the argument attribute."""

SizeNames = tuple[str, ...]
"""Names of one argument's sizes; nothing for an argument without the attribute."""


def size_names(function: func.FuncOp) -> list[SizeNames]:
    """The names of each argument's sizes.

    Raises:
        OpError: An attribute is no list of strings, or not one for each axis.
    """
    types = function.function_type.inputs.data
    if function.arg_attrs is None:
        return [()] * len(types)
    found: list[SizeNames] = []
    for index, (attributes, type) in enumerate(zip(function.arg_attrs.data, types, strict=True)):
        attribute = attributes.data.get(SIZES_ATTRIBUTE)
        names = _strings(attribute)
        if names is None or (attribute is not None and (not is_tensor(type) or len(names) != type.get_num_dims())):
            raise OpError(
                function,
                f"argument {index} of '@{function.sym_name.data}': '{SIZES_ATTRIBUTE}' expects a list of strings, one "
                f"for each axis of {type}, got {attribute}",
            )
        found.append(names)
    return found


def _strings(attribute: Attribute | None) -> SizeNames | None:
    if attribute is None:
        return ()
    items = cast("ArrayAttr[Attribute]", attribute).data if isinstance(attribute, ArrayAttr) else None
    strings = [item.data for item in items or () if isinstance(item, StringAttr)]
    return tuple(strings) if items is not None and len(strings) == len(items) else None


def contradiction(names: Sequence[SizeNames], labels: Sequence[str], shapes: Sequence[Shape]) -> str | None:
    """Where a name stands for two sizes, in words; `None` if nowhere.

    Args:
        names: Of the sizes of each argument.
        labels: What to call each argument.
        shapes: Sizes of each argument.
    """
    known: dict[str, tuple[int, str]] = {}
    for own, label, shape in zip(names, labels, shapes, strict=True):
        for axis, (name, size) in enumerate(zip(own, shape, strict=False)):
            if not name:
                continue
            place = f"axis {axis} of {label}"
            first, where = known.setdefault(name, (size, place))
            if first != size:
                return f"size '{name}' is {first} on {where}, and {size} on {place}"
    return None
