"""From a graph of ATen operators to a module of `fuse` ops, and the question whether an operator can be read."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    FileLineColLoc,
    FunctionType,
    IntAttr,
    LocationAttr,
    ModuleOp,
    NameLoc,
    StringAttr,
    TensorType,
    UnknownLoc,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.building import building
from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.types import element_type_of
from fuse_dialect.frontends.aten.graph import Argument, Array, AtenGraph, Call, Ref, TensorMeta, refs_of
from fuse_dialect.frontends.aten.rules import (
    bags,
    elementwise,
    images,
    indexing,
    linear_algebra,
    normalizations,
    products,
    recurrent,
    reductions,
    shapes,
    signs,
)
from fuse_dialect.frontends.aten.rules.complex_numbers import (
    Parts,
    as_pairs,
    complex_results,
    has_parts,
    of_pairs,
    part_dtype,
    part_meta,
)
from fuse_dialect.frontends.aten.rules.table import RULES, Want
from fuse_dialect.frontends.fuse_values import NoFuseFormError, cast_to, shape
from fuse_dialect.source_names import unnumbered

_RULE_MODULES = (
    bags,
    elementwise,
    images,
    indexing,
    linear_algebra,
    normalizations,
    products,
    recurrent,
    reductions,
    shapes,
    signs,
)
"""Imported for the rules that they enter."""
_NO_TENSOR = "a value that is no tensor of known shape and type"


def tensor_type(meta: TensorMeta) -> TensorType[Attribute]:
    """The type of a tensor in the IR; of complex numbers that of their parts, as pairs along a last axis.

    Raises:
        NoFuseFormError: There is no such element type.
    """
    try:
        pairs = (2,) if meta.dtype.kind == "c" else ()
        return TensorType(element_type_of(part_dtype(meta.dtype)), (*meta.shape, *pairs))
    except ValueError as error:
        raise NoFuseFormError(str(error)) from error


def why_not(call: Call, metas: Mapping[Ref, TensorMeta]) -> str | None:
    """Why a call has no equal among `fuse` ops; `None` if it has one. The call is read by itself to find out.

    Args:
        call: The call.
        metas: What is known of the values that it reads.
    """
    refs = list(dict.fromkeys(refs_of([*call.args, *call.kwargs.values()])))
    if any(ref not in metas for ref in refs):
        return _NO_TENSOR
    try:
        block = Block(arg_types=[tensor_type(metas[ref]) for ref in refs])
        with building(block):
            _results(call, {ref: _given(value, metas[ref]) for ref, value in zip(refs, block.args, strict=True)})
    except NoFuseFormError as error:
        return str(error)
    return None


def _given(value: SSAValue, meta: TensorMeta) -> SSAValue | Parts:
    """A value that comes from outside."""
    return of_pairs(value) if meta.dtype.kind == "c" else value


def _constant(array: Array) -> SSAValue | Parts:
    if array.dtype.kind != "c":
        return constant(array).result
    return Parts(*(constant(np.ascontiguousarray(part)).result for part in (np.real(array), np.imag(array))))


def _results(call: Call, values: Mapping[Ref, SSAValue | Parts]) -> list[SSAValue | Parts]:
    """The values of a call, which are built where the builder stands.

    Raises:
        NoFuseFormError: There is no rule, or it finds no way.
    """
    if any(ref not in values for ref in refs_of([*call.args, *call.kwargs.values()])):
        raise NoFuseFormError(_NO_TENSOR)
    rule = RULES.rules.get(call.target)

    def given(argument: Argument) -> Any:
        if isinstance(argument, Ref):
            return values[argument]
        if isinstance(argument, list | tuple):
            return [given(each) for each in cast("Sequence[Argument]", argument)]
        return argument

    want = Want(call.results)
    args, kwargs = [given(each) for each in call.args], {name: given(each) for name, each in call.kwargs.items()}
    gives_complex = any(meta is not None and meta.dtype.kind == "c" for meta in call.results)
    try:
        if gives_complex or has_parts([*args, *kwargs.values()]):
            found = complex_results(call.target, want, args, kwargs)
        elif rule is None:
            raise NoFuseFormError("no rule")
        else:
            found = rule(want, *args, **kwargs)
    except VerifyException as error:
        raise NoFuseFormError(str(error)) from error
    return [
        value if meta is None else _as_wanted(value, meta)
        for value, meta in zip([found] if isinstance(found, SSAValue) else found, call.results, strict=False)
    ]


def _as_wanted(value: SSAValue | Parts, meta: TensorMeta) -> SSAValue | Parts:
    if isinstance(value, Parts):
        return Parts(*(_real_as_wanted(each, part_meta(meta)) for each in value.both))
    return _real_as_wanted(value, meta)


def _real_as_wanted(value: SSAValue, meta: TensorMeta) -> SSAValue:
    if shape(value) != meta.shape:
        raise NoFuseFormError(f"a result of shape {list(shape(value))} instead of {list(meta.shape)}")
    return cast_to(value, tensor_type(meta).element_type)


def module_of(graph: AtenGraph) -> ModuleOp:
    """A verified module whose function `main` computes what the graph does.

    Its arguments are the inputs that are no constants, in their order. Complex numbers go in and out as pairs along a
    last axis. Names of values are those of the graph, and locations those that calls name.

    Raises:
        FuseError: An operator has no equal among `fuse` ops; the text says which, and why.
    """
    arguments = [(name, meta) for name, meta in graph.inputs if name not in graph.constants]
    body = Block(arg_types=[tensor_type(meta) for _, meta in arguments])
    values = dict[Ref, SSAValue | Parts]()
    with building(body):
        for (name, meta), argument in zip(arguments, body.args, strict=True):
            argument.name_hint = unnumbered(name)
            values[Ref(name)] = _given(argument, meta)
        for name, array in graph.constants.items():
            values[Ref(name)] = _constant(array)
        for call in graph.calls:
            before = body.last_op
            try:
                results = _results(call, values)
            except NoFuseFormError as error:
                raise FuseError(
                    f"operator '{call.target}' is not supported: {error}",
                    notes=(f"at {call.where}",) if call.where else (),
                ) from error
            _name(call, results, body, before)
            values |= {Ref(call.name, index): value for index, value in enumerate(results)}
        outputs = [values[ref] for ref in graph.outputs]
        results = [as_pairs(value) if isinstance(value, Parts) else value for value in outputs]
        ReturnOp(*results)
    function = FuncOp(
        "main",
        FunctionType.from_lists([argument.type for argument in body.args], [value.type for value in results]),
        Region(body),
    )
    module = ModuleOp([function])
    module.verify()
    return module


def _name(call: Call, results: Sequence[SSAValue | Parts], body: Block, before: Any) -> None:
    """Give the new ops the place in the user's program, and results the name in the graph."""
    first = results[0].real if results and isinstance(results[0], Parts) else next(iter(results), None)
    if isinstance(first, SSAValue) and first.name_hint is None:
        first.name_hint = unnumbered(call.name)
    op = body.first_op if before is None else before.next_op
    location = _location(call)
    while op is not None and location is not None:
        op.location = location
        op = op.next_op


def _location(call: Call) -> LocationAttr | None:
    """The module's path, and the line as its child."""
    line = None if call.line is None else FileLineColLoc(StringAttr(call.line[0]), IntAttr(call.line[1]), IntAttr(1))
    return NameLoc(StringAttr(call.path), line or UnknownLoc()) if call.path else line
