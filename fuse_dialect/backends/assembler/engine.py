"""LLVM IR text to machine code: parse, optimise, object bytes, address. The only module that imports llvmlite.

1. `compile_object` gives relocatable object bytes, which a cache may keep; `load` makes them callable.
2. `load` looks up every symbol that the object needs before it gives an address, so a call never jumps into nothing.
3. What was loaded stays loaded as long as the `Code` that owns it.
4. Every function here may be called from any thread. llvmlite serialises calls into LLVM by a lock of its own; the two
   long ones, for passes and for machine code, go around it: a module has a context and a thread a target machine of its
   own, which is all that they touch. What exists once (`Once`) is made by one thread: code that was loaded by a second
   session would go with that session.
"""

import ctypes
import os
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Any, cast

import llvmlite
import llvmlite.binding

from fuse_dialect.backends.assembler.compilations import note_compilation
from fuse_dialect.backends.assembler.elf import undefined_symbols
from fuse_dialect.backends.assembler.host import Host
from fuse_dialect.machines.tiles import usable
from fuse_dialect.process_wide import EXCLUSIVE, Once

llvm = cast(Any, llvmlite.binding)  # it has no types
VERSION = f"llvmlite-{llvmlite.__version__}"
"""What object bytes depend on apart from the text and the host."""

_names = count()
_DECLARED = re.compile(r"^declare .*@(?!llvm\.)([\w.]+)\(", re.MULTILINE)
_PLACE = re.compile(r"<string>:(\d+):(\d+)")


class EngineError(Exception):
    """LLVM rejects the text, or a symbol is missing: a mistake of the code generator, never of a user."""


class MissingFunctionError(EngineError):
    """The code calls a function that this process does not have: an older C library, or one of another system."""


@dataclass(frozen=True, eq=False, slots=True)
class Code:
    """Machine code in memory; it goes when nothing holds this any more."""

    addresses: dict[str, int]
    """Of the functions that were asked for."""
    object: bytes
    """The object that was loaded."""
    _owners: Any
    """What unloads the code when it goes."""


@cache
def host() -> Host:
    """The processor that this process runs on."""
    # Features, not the name: a system may forbid instructions that the processor has.
    features = cast(dict[str, bool], llvm.get_host_cpu_features())
    present = set(usable(name for name, on in features.items() if on))
    named = sorted(("+" if name in present else "-") + name for name in features)
    return Host(llvm.get_host_cpu_name(), ",".join(named))


def compile_object(text: str, target: Host | None = None) -> bytes:
    """Relocatable object code of a module.

    Args:
        text: The module.
        target: The processor it is for; by default that of this process.

    Raises:
        EngineError: LLVM rejects the text; the message quotes the line.
        MissingFunctionError: The code calls a function that is not in this process.
    """
    note_compilation()
    code = object_for(text, target or host())
    # (2) LLVM adds calls of its own, and drops declared ones: both lists are looked through.
    for symbol in (*_DECLARED.findall(text), *undefined_symbols(code)):
        if not _is_present(symbol):
            raise MissingFunctionError(f"the generated code calls '{symbol}', which this process does not have")
    return code


def object_for(text: str, target: Host, triple: str = "") -> bytes:
    """Relocatable object code, which need not run here.

    Args:
        text: The module.
        target: The processor.
        triple: Architecture and system as LLVM names them; by default those of this process.

    Raises:
        EngineError: LLVM rejects the text; the message quotes the line.
    """
    machine = _machine(target, triple)
    return _object_of(_optimised(text, machine), machine)


def assembly(text: str, target: Host | None = None) -> str:
    """Machine code of a module as text, for people."""
    machine = _machine(target or host())
    return machine.emit_assembly(_optimised(text, machine))


def load(code: bytes, symbols: Sequence[str], imported: Mapping[str, int] | None = None) -> Code:
    """Make the functions of an object callable.

    Args:
        code: The object.
        symbols: The functions.
        imported: Addresses of functions that it calls and the process has under no name.

    Raises:
        EngineError: The bytes are no object for this machine, or a symbol is missing.
    """
    session = _session()
    library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    for name, address in (imported or {}).items():
        library = library.import_symbol(name, address)
    for symbol in symbols:
        library = library.export_symbol(symbol)
    try:
        tracker = library.link(session, f"fuse{next(_names)}")
        return Code({symbol: int(tracker[symbol]) for symbol in symbols}, code, (session, tracker))
    except (RuntimeError, KeyError) as error:
        raise EngineError(f"machine code cannot be loaded: {error}") from error


def callable_of(address: int) -> Any:
    """A Python function `(slots, part, parts)` for a kernel at an address; for tests and small tools."""
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(address)


def _is_present(symbol: str) -> bool:
    """Whether the process has a function; where that cannot be asked, `load` still finds out."""
    return os.name != "posix" or hasattr(ctypes.CDLL(None), symbol)


def _optimised(text: str, machine: Any) -> Any:
    """The module after a few passes.

    Kernels are written as they should run, with vectors, and without what is computed twice in a block: O3 takes
    ten times as long as this, O1 three times, and neither gains anything. What is left is what folds, and what makes
    loops test at their end. Loops are unrolled where the text asks for it.
    """
    module = _parse(text)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    _without_lock("LLVMPY_RunNewModulePassManager")(_few_passes(text), module, builder)
    return module


def _object_of(module: Any, machine: Any) -> bytes:
    """Object code of a module, as the target machine of llvmlite makes it (4)."""
    functions = llvm.ffi.lib
    with llvm.ffi.OutputString() as problem:
        buffer = _without_lock("LLVMPY_TargetMachineEmitToMemory")(machine, module, 1, problem)
        if not buffer:
            raise EngineError(f"LLVM makes no machine code: {problem}")
    try:
        return ctypes.string_at(functions.LLVMPY_GetBufferStart(buffer), functions.LLVMPY_GetBufferSize(buffer))
    finally:
        functions.LLVMPY_DisposeMemoryBuffer(buffer)


def _without_lock(name: str) -> Any:
    """A function of llvmlite's library without the lock around it (4); with it, should llvmlite hide it otherwise."""
    function = getattr(llvm.ffi.lib, name)
    return getattr(function, "_cfn", function)


def _few_passes(text: str) -> Any:
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_loop_rotate_pass()
    if "llvm.loop.unroll.count" in text or "llvm.loop.unroll.full" in text:
        passes.add_loop_unroll_pass()
        passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    return passes


def _parse(text: str) -> Any:
    try:
        module = llvm.parse_assembly(text, llvm.create_context())
        module.verify()
    except RuntimeError as error:
        raise EngineError(f"LLVM rejects the generated code: {error}{_quoted(text, str(error))}") from error
    return module


def _quoted(text: str, message: str) -> str:
    place = _PLACE.search(message)
    if place is None:
        return ""
    number = int(place.group(1))
    return f"\nline {number}: {text.splitlines()[number - 1]}"


@cache
def _initialise() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


class _Machines(threading.local):
    """Target machines of a thread."""

    def __init__(self) -> None:
        self.made: dict[tuple[Host, str], Any] = {}


_machines = _Machines()


def _machine(target: Host, triple: str = "") -> Any:
    made, key = _machines.made, (target, triple)
    if key not in made:
        with EXCLUSIVE:
            _initialise()
            if triple:
                llvm.initialize_all_targets()
                llvm.initialize_all_asmprinters()
        made[key] = llvm.Target.from_triple(triple or llvm.get_process_triple()).create_target_machine(
            cpu=target.cpu, features=target.features, opt=3, jit=True, reloc="pic", codemodel="jitdefault"
        )
    return made[key]


@Once
def _session() -> Any:
    _initialise()
    return llvm.create_lljit_compiler(_machine_of_session(), suppress_errors=True)


def _machine_of_session() -> Any:
    triple = llvm.Target.from_triple(llvm.get_process_triple())
    return triple.create_target_machine(opt=0, jit=True, reloc="pic", codemodel="jitdefault")
