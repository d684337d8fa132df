"""Builds the image of a program that was compiled in this process."""

import platform
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from fuse_dialect.backends.assembler.engine import compile_object
from fuse_dialect.backends.backend import NativeFunction
from fuse_dialect.backends.llvm.backend import NativeKernel
from fuse_dialect.backends.llvm.processors import target_of
from fuse_dialect.backends.runtime.arrays import address_of
from fuse_dialect.backends.runtime.control_code import control_text, native_control
from fuse_dialect.backends.runtime.driver import DRIVER_FUNCTIONS, driver_object, driver_text
from fuse_dialect.backends.runtime.executable import Executable
from fuse_dialect.backends.runtime.moves import MOVE_FAMILY, move_kernel, moves_text
from fuse_dialect.backends.runtime.program import Program
from fuse_dialect.backends.stored.image import ALIGNMENT, NOWHERE, Image, can_be_stored
from fuse_dialect.backends.stored.linking import LinkError, link

if TYPE_CHECKING:
    from fuse_dialect.backends.assembler.engine import Code
    from fuse_dialect.backends.assembler.host import Host
    from fuse_dialect.dialect.op import Array


def image_of(program: Program, target_cpu: str = "") -> Image | None:
    """The image of a program; `None` if it needs its IR to run, or its code cannot be linked here.

    Args:
        program: Was compiled in this process.
        target_cpu: The processor that it was compiled for, if its code is to run on others than that at hand. Then what
            the process has compiled for itself, the driver, loops and moves, is compiled for that one, too.

    Raises:
        FuseError: There is no such processor.
    """
    # Nobody else needs to know how a program is run.
    executable, interface = program._static, program._interface  # pyright: ignore[reportPrivateUsage]
    if not isinstance(executable, Executable) or not executable.writes_all or len(executable.segments) != 1:
        return None
    types = [*(form.type for form in interface.inputs), *interface.outputs]
    if not executable.is_native or not all(map(can_be_stored, types)):
        return None
    codes = _codes(executable)
    if codes is None:
        return None
    objects = [driver_object(), *(code.object for code in codes)]
    if target_cpu:
        objects = _objects_for(target_of(target_cpu), codes)
    try:
        linked = link(objects)
    except LinkError:
        return None
    placed = {
        address: places[symbol]
        for code, places in zip(codes, linked.symbols[1:], strict=True)
        for symbol, address in code.addresses.items()
    }
    table = executable.table
    words, in_constants, constants = _without_addresses(table.words, table.in_constants)
    rows = [(placed[function] if function else NOWHERE, first, flags) for function, first, flags in table.rows]
    return Image(
        interface,
        program.kernels,
        program.constant_bytes,
        linked.code,
        linked.imports,
        linked.inside,
        {name: linked.symbols[0][name] for name in DRIVER_FUNCTIONS},
        replace(table, words=cast("Sequence[int]", words), rows=rows, in_constants=[]),
        in_constants,
        constants,
    )


def _codes(executable: Executable) -> "list[Code] | None":
    """What the rows of the table run; `None` if some of it is not of the LLVM backend."""
    kernels = [compiled.kernel for compiled in executable.primitives if compiled.kernel is not None]
    native = [kernel for kernel in kernels if isinstance(kernel, NativeKernel)]
    moves = [each for each in kernels if isinstance(each, NativeFunction) and each.family == MOVE_FAMILY]
    if len(native) + len(moves) < len(kernels):
        return None
    codes = [*(kernel.code for kernel in native), *(kernel.owner for kernel in moves[:1])]
    if executable.plan.flow.has_control:
        codes.append(native_control().code)
    return codes


def _objects_for(target: "Host", codes: "Sequence[Code]") -> list[bytes]:
    """The driver, and what rows run: kernels as they are, and the rest compiled for a processor."""
    texts = {id(native_control().code): control_text, id(move_kernel().owner): moves_text}
    shared = {key: compile_object(text(), target) for key, text in texts.items() if key in map(id, codes)}
    driver = compile_object(driver_text(platform.machine()), target)
    return [driver, *(shared.get(id(code), code.object) for code in codes)]


def _without_addresses(
    words: Sequence[int], places: "Sequence[tuple[int, Array]]"
) -> "tuple[Array, Array, list[bytes | memoryview]]":
    """Words without the addresses of constants, offsets of those, and their elements one after the other."""
    cleared = np.array(words, np.int64)
    offsets: dict[tuple[int, int], int] = {}
    constants: list[bytes | memoryview] = []
    found: list[tuple[int, int]] = []
    end = 0
    for word, array in places:
        cleared[word] = 0
        # One array has a word for each kernel and part that reads it.
        key = (address_of(array), array.nbytes)
        if key not in offsets:
            offsets[key] = end
            constants.append(memoryview(cast(Any, array.reshape(-1).view(np.uint8))))
            end += array.nbytes + -array.nbytes % ALIGNMENT
        found.append((word, offsets[key]))
    return cleared, np.array(found, np.int64).reshape(-1, 2), constants
