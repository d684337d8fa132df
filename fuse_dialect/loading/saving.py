"""What a program is saved as: its IR as text, its constants, and its machine code, if it is all native.

1. A program of known sizes is saved as the module that was planned, after all passes before fusion: what fuses and runs
   is made of it alone. Constants are those that kernels read: packed ones can be unpacked, so each is there once.
2. A program of open sizes is saved as the module before the first pass, since it is compiled from there for sizes that
   come back.
3. Nothing of the machine's addresses or paths is in it.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from io import StringIO
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, DenseResourceAttr, ModuleOp
from xdsl.ir import Attribute

from fuse_dialect.backends.runtime.arrays import address_of
from fuse_dialect.backends.runtime.compilation import Compilation, constants_of
from fuse_dialect.backends.runtime.program import Program
from fuse_dialect.backends.stored.image import ALIGNMENT, encoded
from fuse_dialect.backends.stored.image_builder import image_of
from fuse_dialect.backends.stored.machine_code import is_supported
from fuse_dialect.backends.stored.saved_file import (
    CODE,
    CODE_HEADER,
    CONSTANTS,
    FUSED,
    PROGRAM,
    Draft,
    code_member,
)
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.fusion.core.tvm_rules import TVM_RULES
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.loading.saving_version import package_version
from fuse_dialect.loading.tensor_members import TensorMember
from fuse_dialect.targets.mlir import FuseMLIRTarget

if TYPE_CHECKING:
    from fuse_dialect.backends.stored.image import Image
    from fuse_dialect.dialect.op import Array
    from fuse_dialect.loops.packing import Packing

LARGE_BYTES = 64
"""Constants of more bytes stand beside the text."""
_SHOWN_ELEMENTS = 16


def draft_of(
    program: Program, *, needs_code: bool = False, others: "Mapping[str, Program] | None" = None
) -> Draft | None:
    """What a program is saved as.

    Args:
        program: Was compiled in this process.
        needs_code: Whether one without machine code is of no use.
        others: The same program for other processors, by their names.

    Returns:
        `None` if code is needed, and there is none.

    Raises:
        FuseError: The program depends on functions or objects of the caller, which a file cannot hold.
    """
    compilation = program._compilation  # pyright: ignore[reportPrivateUsage]  # nobody else needs it
    if compilation is None:
        raise FuseError("the program was not made from a module, so that it cannot be saved")
    image = image_of(program) if is_supported() and program.backend == "llvm" else None
    if image is None and needs_code:
        return None
    constants = program._constants  # pyright: ignore[reportPrivateUsage]  # as above
    tensors = _Tensors({_place(array): array for _, _, array in constants.forms()})
    if image is not None:
        tensors.add_all(image)
    is_source = compilation.source is not None
    module, weights = _source(compilation, tensors) if is_source else _planned(program, compilation, tensors)
    manifest: dict[str, Any] = {
        "made_by": package_version(),
        "stage": "source" if is_source else "planned",
        "options": _options(compilation),
        "interface": _interface(program),
        "weights": weights,
    }
    members: list[tuple[str, Any]] = [
        (CONSTANTS, tensors.member.pieces()),
        (PROGRAM, [_text(module, None)]),
        (FUSED, [_text(compilation.module, _SHOWN_ELEMENTS)]),
    ]
    if image is not None:
        from json import dumps

        header, payload = encoded(image)
        members += [(CODE_HEADER, [dumps(header, sort_keys=True).encode()]), (CODE, payload)]
        from fuse_dialect.backends.stored.key import processor

        manifest["code"] = {"processor": processor(), "made_by": package_version(), "threads": program.threads}
    if others:
        members += _code_of_others(others, tensors)
        manifest["other_code"] = [
            {"target_cpu": name, "made_by": package_version(), "threads": each.threads} for name, each in others.items()
        ]
        # Their constants have come to those of the program, behind them.
        members[0] = CONSTANTS, tensors.member.pieces()
    return Draft(manifest, members)


def _code_of_others(others: "Mapping[str, Program]", tensors: "_Tensors") -> "list[tuple[str, Any]]":
    """The members with machine code for other processors; what it reads is added to the tensors.

    Raises:
        FuseError: There is none.
    """
    from json import dumps

    members: list[tuple[str, Any]] = []
    for name, program in others.items():
        image = image_of(program, name)
        if image is None:
            hint = "leave out target_cpus: where it is loaded it is compiled from its IR"
            raise FuseError(
                "the program has steps that are not native or sizes that are open, and so no code for other processors",
                hint=hint,
            )
        header, payload = encoded(tensors.placed(image))
        members += [
            (code_member(CODE_HEADER, name), [dumps(header, sort_keys=True).encode()]),
            (code_member(CODE, name), payload),
        ]
    return members


@dataclass(slots=True)
class _Tensors:
    """Arrays of the constants' member, each once."""

    known: "Mapping[tuple[int, int], Array]"
    """Arrays by place, as kernels read them: machine code knows bytes alone."""
    member: TensorMember = field(default_factory=TensorMember)
    _names: dict[tuple[int, int], str] = field(default_factory=dict[tuple[int, int], str])
    _contents: dict[bytes, int] = field(default_factory=dict[bytes, int])
    """Where arrays are, by hashes of their bytes, once code for another processor is added."""

    def add_all(self, image: "Image") -> None:
        """Add what machine code reads, in the image's order: its offsets are those of the member."""
        for data in image.constants:
            array = np.frombuffer(data, np.uint8)
            self.name_of(self.known.get(_place(array), array))

    def placed(self, image: "Image") -> "Image":
        """An image that reads its constants where this member has them: those that others read, too, are there once."""
        moved: dict[int, int] = {}
        end = 0
        for data in image.constants:
            digest = sha256(data).digest()
            if not self._contents:
                self._contents.update({sha256(piece).digest(): place for place, piece in self.member.arrays()})
            if digest not in self._contents:
                self._contents[digest] = self.member.offset_of(self.member.add(np.frombuffer(data, np.uint8)))
            moved[end] = self._contents[digest]
            end += len(data) + -len(data) % ALIGNMENT
        words = image.in_constants.copy()
        words[:, 1] = [moved[int(place)] for place in words[:, 1]]
        return replace(image, in_constants=words, constants=[])

    def name_of(self, array: "Array") -> str:
        """The name of an array that lies row by row; it is added if it is new."""
        key = _place(array)
        if key not in self._names:
            self._names[key] = self.member.add(array)
        return self._names[key]


def _place(array: "Array") -> tuple[int, int]:
    return address_of(array), array.nbytes


def _planned(program: Program, compilation: Compilation, tensors: _Tensors) -> tuple[ModuleOp, dict[str, Any]]:
    """The module that was planned, and where its large constants are."""
    module = compilation.ran.unfused.clone()
    constants = program._constants  # pyright: ignore[reportPrivateUsage]  # as above
    weights: dict[str, Any] = {}
    for number, op in enumerate(constants_of(module)):
        if number not in compilation.weights:
            continue
        found = compilation.weights[number]
        if isinstance(found, int):
            form = constants.whole(found)
            if form is None:
                raise FuseError("a constant of the program has no elements any more: this is a bug")
            packing, array = form
        else:
            packing, array = None, _elements(found)
        weights[name := f"constant{number}"] = {
            "tensor": tensors.name_of(np.ascontiguousarray(array)),
            "packing": None if packing is None else _packing(packing),
        }
        op.properties["value"] = DenseResourceAttr.from_params(name, cast(Any, op.result.type))
    return module, weights


def _source(compilation: Compilation, tensors: _Tensors) -> tuple[ModuleOp, dict[str, Any]]:
    """The module before the first pass, and where its large constants are."""
    assert compilation.source is not None, "the caller has looked"
    module = compilation.source.clone()
    weights: dict[str, Any] = {}
    for number, op in enumerate(constants_of(module)):
        value = op.value
        if isinstance(value, DenseIntOrFPElementsAttr) and len(value.data.data) > LARGE_BYTES:
            weights[name := f"constant{number}"] = {"tensor": tensors.name_of(_elements(value)), "packing": None}
            op.properties["value"] = DenseResourceAttr.from_params(name, cast(Any, op.result.type))
    return module, weights


def _elements(value: Attribute) -> "Array":
    """The bytes of a constant as an attribute holds them."""
    return np.frombuffer(cast(Any, value).data.data, np.uint8)


def _packing(packing: "Packing") -> dict[str, Any]:
    return asdict(packing)


def _text(module: ModuleOp, elide: int | None) -> bytes:
    from fuse_dialect.frontends.mlir.reader import context

    text = StringIO()
    FuseMLIRTarget(elide_larger_than=elide, print_debuginfo=elide is None).emit(context(), module, text)
    return text.getvalue().encode("utf-8", "backslashreplace")


def _options(compilation: Compilation) -> Mapping[str, Any]:
    """How the program was compiled, as JSON says it.

    Raises:
        FuseError: A part of it is an object of the caller.
    """
    how, fuse = compilation.options, compilation.fuse_ops
    if not isinstance(how.backend, str):
        raise FuseError("a program of a backend of your own cannot be saved", hint="name a backend that is installed")
    if fuse.own_strategy is not None or fuse.rules is not TVM_RULES or type(fuse) is not FuseOpsPass:
        hint = "name a strategy that is installed, see docs/how-to/try-a-rule-of-your-own.md"
        raise FuseError("a program of a strategy or of rules of your own cannot be saved", hint=hint)
    return {
        "backend": how.backend,
        "threads": how.threads,
        "entry": how.entry,
        "layout": how.layout,
        "limits": [how.limits.ops, how.limits.bytes, how.limits.value_bytes],
        "sizes": dict(how.sizes),
        "target_cpu": how.target_cpu,
        "fast_math": how.fast_math,
        "fuse_ops": fuse.options(),
    }


def _interface(program: Program) -> Mapping[str, Any]:
    interface = program._interface  # pyright: ignore[reportPrivateUsage]  # as above

    def shape(sizes: tuple[int, ...]) -> list[int | None]:
        return [None if size < 0 else size for size in sizes]

    return {
        "name": interface.name,
        "inputs": [
            {
                "name": form.name,
                "model_name": form.model_name,
                "dtype": form.type.dtype.name,
                "shape": shape(form.type.shape),
                "sizes": list(form.sizes),
            }
            for form in interface.inputs
        ],
        "outputs": [
            {"name": name, "dtype": type.dtype.name, "shape": shape(type.shape)}
            for name, type in zip(interface.output_names, interface.outputs, strict=True)
        ],
    }
