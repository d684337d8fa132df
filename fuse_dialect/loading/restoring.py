"""The program of a saved file, made of its IR: what `saving` has written, checked as any input, and compiled."""

from collections.abc import Mapping
from dataclasses import fields, replace
from math import prod
from typing import TYPE_CHECKING, Any, cast, get_args

import numpy as np
from xdsl.dialects.builtin import AnyDenseElement, BytesAttr, DenseIntOrFPElementsAttr, DenseResourceAttr, TensorType
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.backends.compile import compile_program
from fuse_dialect.backends.options import CompileOptions
from fuse_dialect.backends.runtime.compilation import constants_of
from fuse_dialect.backends.stored.saved_file import CONSTANTS, PROGRAM, SavedFile, tensors_in
from fuse_dialect.budget import LARGEST_SIZE, Limits
from fuse_dialect.diagnostics import FuseError, SourceLocation
from fuse_dialect.dialect.constants import constant_array
from fuse_dialect.dialect.types import element_dtype, is_tensor
from fuse_dialect.fusion.core.options import FuseOptions
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.loading.failure import located_errors
from fuse_dialect.loading.module_file import module_of_text
from fuse_dialect.loading.tensor_members import read_tensors
from fuse_dialect.loading.verification import verify_module
from fuse_dialect.loops.packing import Packing, Strided

if TYPE_CHECKING:
    from xdsl.dialects.arith import ConstantOp
    from xdsl.dialects.builtin import ModuleOp

    from fuse_dialect.backends.progress import Progress
    from fuse_dialect.backends.runtime.program import Program
    from fuse_dialect.dialect.op import Array

_LAYOUTS = (None, "NHWC", "NCHW", "keep")


def compiled(
    saved: SavedFile,
    threads: int,
    progress: "Progress | None" = None,
    *,
    cache: bool = True,
    is_ours: bool = False,
    target_cpu: str | None = None,
) -> "Program":
    """The program that the IR of a file says.

    Args:
        saved: The file.
        threads: Most threads that one call uses.
        progress: Is told when each kernel is begun.
        cache: Keep machine code of kernels on disk, and use what is there.
        is_ours: Whether this user has made the file here; others may not raise the limits of a run.
        target_cpu: Another processor than that of the file.

    Raises:
        FuseError: Its contents contradict each other, or the program cannot be compiled here.
    """
    try:
        options = options_of(saved, threads, cache=cache, is_ours=is_ours)
        return _compiled(saved, replace(options, target_cpu=target_cpu or options.target_cpu), progress)
    except FuseError as error:
        error.location = error.location or SourceLocation(saved.path)
        raise


def _compiled(saved: SavedFile, options: CompileOptions, progress: "Progress | None") -> "Program":
    file = module_of_text(saved.text(PROGRAM), f"{saved.path}/{PROGRAM}", allow_unregistered=True)
    _restore_constants(file.module, saved)
    saved.check_whole()
    with located_errors(file.source_map, " in the compiler"):
        verify_module(file.module)
        is_prepared = saved.manifest.get("stage") == "planned"
        return compile_program(file.module, options, in_place=True, progress=progress, is_prepared=is_prepared)


def options_of(saved: SavedFile, threads: int, *, cache: bool = True, is_ours: bool = False) -> CompileOptions:
    """How a saved program is compiled.

    Raises:
        FuseError: The manifest does not say it as it should.
    """
    try:
        found = saved.manifest["options"]
        ops, most_bytes, value_bytes = (_natural(each) for each in found["limits"])
        limits = Limits(ops=ops, bytes=most_bytes, value_bytes=value_bytes)
        if not is_ours:
            most = Limits()
            limits = Limits(
                ops=min(ops, most.ops),
                bytes=min(most_bytes, most.bytes),
                value_bytes=min(value_bytes, most.value_bytes),
            )
        layout = found["layout"]
        if layout not in _LAYOUTS or saved.manifest["stage"] not in ("planned", "source"):
            raise ValueError("its layout or stage is not known")
        return CompileOptions(
            backend=_text(found["backend"]),
            threads=threads,
            entry=_text(found["entry"]),
            cache=cache,
            layout=layout,
            limits=limits,
            sizes={_text(name): _natural(size) for name, size in found["sizes"].items()},
            target_cpu=_machine(found["target_cpu"]),
            fast_math=_is(found["fast_math"], bool),
            fuse=_fuse_ops(found["fuse_ops"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise saved.error(f"the saved program is damaged: its options are not readable: {error}") from error


def _fuse_ops(found: Mapping[str, Any]) -> FuseOpsPass:
    known = {each.name: each.type for each in fields(FuseOptions)}
    for name, value in found.items():
        wanted = known[name]
        if value.__class__ not in (get_args(wanted) or (wanted,)):  # exactly: true is no number
            raise TypeError(f"expected {wanted}, got {str(value)[:40]}")
    _machine(found.get("machine"))
    return FuseOpsPass(**cast("dict[str, Any]", found))


def _machine(name: Any) -> str | None:
    """A name of a machine; a path would lead out of the file."""
    if name is None:
        return None
    if _text(name).endswith(".toml"):
        raise ValueError("its machine is in another file")
    return name


def _restore_constants(module: "ModuleOp", saved: SavedFile) -> None:
    """Give constants the elements that stand beside the text."""
    member = saved.members.get(CONSTANTS, memoryview(bytes(8)))
    try:
        weights = _is(saved.manifest["weights"], dict)
        tensors = read_tensors(member, tensors_in(member))
        for op in constants_of(module):
            value = op.properties.get("value")
            if isinstance(value, DenseResourceAttr):
                op.properties["value"] = _restored(op, weights[value.resource_handle.data], tensors)
    except (KeyError, TypeError, ValueError, AttributeError, VerifyException) as error:
        said = f"there is no {error}" if isinstance(error, KeyError) else str(error)
        raise saved.error(f"the saved program is damaged: its constants do not fit: {said}") from error


def _restored(op: "ConstantOp", found: Mapping[str, Any], tensors: "Mapping[str, Array]") -> DenseIntOrFPElementsAttr:
    type, array = op.result.type, tensors[_text(found["tensor"])]
    if not is_tensor(type) or min(type.get_shape(), default=0) < 0:
        raise ValueError(f"a constant of type {type} stands beside the text")
    if found["packing"] is not None:
        size, dtype = prod(type.get_shape()), element_dtype(type.element_type)
        packing = _packing(found["packing"])
        data = packing.undo(_units(array.reshape(-1), packing.element), dtype, size).tobytes()
    else:
        # Not as a view of the file: it may be cut short while the program runs, and nobody would notice.
        data = array.tobytes()
    attribute = DenseIntOrFPElementsAttr(cast("TensorType[AnyDenseElement]", type), BytesAttr(data))
    constant_array(attribute)  # it has as many elements as its type says
    return attribute


def _units(array: "Array", element: str) -> "Array":
    """Panels as they were made: an image has them as bytes."""
    dtype = {
        **{"f32": np.float32, "f64": np.float64, "f16": np.float16},
        **{"i8": np.int8, "i32": np.int32, "i64": np.int64},
    }.get(element)
    if dtype is None:
        raise ValueError(f"a constant in panels of {element}")
    return array.view(np.uint8).view(dtype)


def _packing(found: Mapping[str, Any]) -> Packing:
    def axes(each: Any) -> tuple[Strided, ...]:
        return tuple(Strided(_natural(axis["size"]), _natural(axis["stride"])) for axis in each)

    return Packing(
        _text(found["element"]),
        _natural(found["start"]),
        axes(found["outer"]),
        axes([found["columns"]])[0],
        axes(found["reduced"]),
        _natural(found["width"]),
        has_points=_is(found["has_points"], bool),
        is_pairs=_is(found["is_pairs"], bool),
        # Files that were written before there were halves, or pairs of bf16, do not say it.
        is_halves=_is(found.get("is_halves", False), bool),
        apart=_natural(found.get("apart", 1)),
    )


def _is(value: Any, type: type) -> Any:
    # Exactly: true is no number.
    if value.__class__ is not type:
        raise TypeError(f"expected {type.__name__}, got {str(value)[:40]}")
    return value


def _text(value: Any) -> str:
    return _is(value, str)


def _natural(value: Any) -> int:
    if not 0 <= _is(value, int) <= LARGEST_SIZE:
        raise ValueError(f"{value} is no size")
    return value
