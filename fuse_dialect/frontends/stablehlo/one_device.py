"""Shardings over one device, which say nothing: JAX prints them around random keys.

1. A mesh of one device is one without axes, or whose axes all have one device: `<[]>`, `<["x"=1]>`.
2. A constraint to such a mesh gives its operand, a computation of each device is what stands in it, and attributes that
   name such a mesh go; so does the mesh.
3. What a group of one device reduces, gathers or exchanges is what it has.
4. What is spread over several devices stays, or is an error.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DenseIntOrFPElementsAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.rewriter import InsertPoint, Rewriter

from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.frontends.stablehlo.attributes import Raw

SHARDING = "sdy.sharding"
_COLLECTIVES = frozenset(
    f"stablehlo.{name}" for name in ("all_gather", "all_reduce", "all_to_all", "collective_broadcast", "reduce_scatter")
)
_AXIS = re.compile(r'"(?:[^"\\]|\\.)*"\s*=\s*(\d+)')
_NAMED = re.compile(r"@([A-Za-z_$.][\w$.-]*)")
_WRITTEN = re.compile(r"mesh<([^>]*)>")


def drop_shardings(module: ModuleOp, *, strict: bool = False) -> None:
    """Remove what is said of a mesh of one device.

    Args:
        module: The module; it changes.
        strict: Whether a mesh of several devices is an error.

    Raises:
        OpError: With `strict`, an op names a mesh of several devices.

    Complexity: O(ops).
    """
    ops = ops_inside(module)
    meshes = {_name(op): op for op in ops if op.name == "sdy.mesh"}
    devices = {name: _devices(op.properties["mesh"]) for name, op in meshes.items()}
    spread: list[Operation] = []
    for op in ops:
        if op.name in _COLLECTIVES and _is_alone(op):
            for result, operand in zip(op.results, op.operands, strict=True):
                result.replace_all_uses_with(operand)
            Rewriter.erase_op(op)
            continue
        if not any(True for _ in _shardings(op)):
            continue
        if all(_is_on_one(each, devices) for each in _shardings(op)):
            _drop(op)
        else:
            spread.append(op)
    if strict and spread:
        raise _refusal(spread[0], devices)
    if not spread:
        for name, op in meshes.items():
            if devices[name] == 1:
                Rewriter.erase_op(op)


def _is_alone(op: Operation) -> bool:
    """Whether each group of a collective op is one device, and its results are like its operands."""
    groups = op.properties.get("replica_groups")
    if not isinstance(groups, DenseIntOrFPElementsAttr) or groups.get_shape()[-1:] != (1,):
        return False
    return [value.type for value in op.operands] == [value.type for value in op.results]


def _name(mesh: Operation) -> str:
    name = mesh.properties["sym_name"]
    return name.data if isinstance(name, StringAttr) else ""


def _devices(mesh: Attribute) -> int:
    """How many devices a mesh has."""
    return prod(map(int, _AXIS.findall(mesh.data.partition("]")[0]))) if isinstance(mesh, Raw) else 0


def _shardings(op: Operation) -> Iterator[Attribute]:
    """What the op says of meshes."""
    if op.name == "sdy.mesh":
        return
    for name in ("sharding", "in_shardings", "out_shardings"):
        if op.name.startswith("sdy.") and name in op.properties:
            yield op.properties[name]
    if SHARDING in op.attributes:
        yield op.attributes[SHARDING]
    if isinstance(op, func.FuncOp):
        for attributes in (op.arg_attrs, op.res_attrs):
            yield from [each.data[SHARDING] for each in _entries(attributes) if SHARDING in each.data]


def _entries(attributes: ArrayAttr[DictionaryAttr] | None) -> Sequence[DictionaryAttr]:
    return () if attributes is None else attributes.data


def _is_on_one(sharding: Attribute, devices: Mapping[str, int]) -> bool:
    """Whether all meshes that a sharding names have one device."""
    if not isinstance(sharding, Raw):
        return False
    written = _WRITTEN.findall(sharding.data)
    counts = [prod(map(int, _AXIS.findall(text.partition("]")[0]))) for text in written]
    counts += [devices.get(name, 0) for name in _NAMED.findall(sharding.data)]
    return all(count == 1 for count in counts)


def _drop(op: Operation) -> None:
    op.attributes.pop(SHARDING, None)
    if isinstance(op, func.FuncOp):
        op.arg_attrs, op.res_attrs = _without(op.arg_attrs), _without(op.res_attrs)
    elif op.name == "sdy.sharding_constraint":
        op.results[0].replace_all_uses_with(op.operands[0])
        Rewriter.erase_op(op)
    elif op.name == "sdy.manual_computation":
        block = op.regions[0].block
        end = block.last_op
        assert end is not None, "the verifier has seen a terminator"
        for argument, operand in zip(block.args, op.operands, strict=True):
            argument.replace_all_uses_with(operand)
        for result, value in zip(op.results, end.operands, strict=True):
            result.replace_all_uses_with(value)
        end.detach()
        end.erase()
        inner = list(block.ops)
        for each in inner:
            each.detach()
        Rewriter.insert_op(inner, InsertPoint.before(op))
        Rewriter.erase_op(op)


def _without(attributes: ArrayAttr[DictionaryAttr] | None) -> ArrayAttr[DictionaryAttr] | None:
    if attributes is None:
        return None
    kept = [{name: value for name, value in each.data.items() if name != SHARDING} for each in attributes.data]
    return ArrayAttr([DictionaryAttr(each) for each in kept]) if any(kept) else None


def _refusal(op: Operation, devices: Mapping[str, int]) -> OpError:
    most = max(devices.values(), default=0)
    what = f"a mesh of {most} devices" if most > 1 else "a mesh that is not known"
    return OpError(
        op,
        f"'{op.name}' op is spread over {what}, and a program runs on one",
        "lower it without a mesh: outside of jax.set_mesh, with arguments on one device",
    )
