"""Kernels whose every access is checked: a rewriting of their text, which knows nothing of who has written it.

1. Each pointer has *bounds*, two i64 values: where its array starts, and where it ends. What the slots hold are arrays
   of known sizes; allocas and constants, too. Whatever is computed from a pointer has its bounds, so an access through
   it must stay in the same array, even where another one is next to it.
2. Functions inside of the module get the bounds of their pointers as further parameters.
3. Before each access stands a call of a function that compares, and reports what lies outside; see `violations`. Of
   masked accesses those lanes count where the mask holds.
4. A pointer whose array is not known is not checked. Prefetches touch nothing.
5. A workspace is full of bits that are nan and -1 when a kernel begins: who reads what nobody has written computes with
   them, and gives a wrong result that a comparison finds.
6. Where a function takes several places in the workspace, at constant distances, each ends where the next one begins.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from fuse_dialect.backends.backend import symbols_of
from fuse_dialect.backends.checking.kernel_lines import (
    ADDRESS,
    ALLOCA,
    CALL,
    CHECKS,
    DECLARATIONS,
    DEFINE,
    GLOBAL,
    LOAD,
    PHI,
    PHI_SOURCE,
    SELECT,
    VALUE,
    VECTOR,
    bytes_of,
    listed,
    type_of,
)
from fuse_dialect.backends.checking.violations import new_site, report_address
from fuse_dialect.counts import Count, product
from fuse_dialect.loops.elements import element_bytes
from fuse_dialect.loops.program import LoopProgram, Role

Bounds: TypeAlias = tuple[str, str]
"""Names of the values that say where an array starts, and where it ends."""

_SLOTS = "%slots"
_STEP = re.compile(r"@([\w$]+?_\d+)(?:[_.][\w.$]*)?\(")


@dataclass(frozen=True, slots=True)
class Checked:
    """What slots hold: the buffers of a program, then a workspace."""

    program: LoopProgram
    packed: Mapping[str, int]
    """Bytes of the arguments that are passed packed."""
    workspace_bytes: int
    passed: Sequence[str] = ()
    """Buffers whose bounds follow the workspace and the sizes in the slots, two words for each (7)."""


def with_access_checks(text: str, kernel: Checked, steps: Mapping[str, Checked] | None = None) -> str:
    """The text of a kernel with a check before each access.

    Args:
        text: A module of LLVM IR, as kernels are written.
        kernel: What the slots of the kernel hold.
        steps: What those of its steps hold, by how names of their functions begin (7).
    """
    constants = {name: int(count) * bytes_of(type) for name, count, type in GLOBAL.findall(text)}
    slots, own = _slots_of(kernel), {name: _slots_of(step) for name, step in (steps or {}).items()}
    lines: list[str] = []
    rest = iter(text.splitlines())
    for line in rest:
        if not line.startswith("define "):
            lines.append(line)
            continue
        body: list[str] = []
        for inner in rest:
            if inner == "}":
                break
            body.append(inner)
        lines += _Rewriting(line, body, own.get(_step_name(line), slots), constants).lines()
    declared = {line for line in lines if line.startswith("declare ")}
    needed = [line for line in DECLARATIONS if line not in declared]
    return "\n".join([*lines, *needed, CHECKS.replace("{report}", str(report_address()))])


def _slots_of(checked: Checked) -> "_Slots":
    buffers = [buffer for buffer in checked.program.buffers if buffer.role in (Role.ARGUMENT, Role.RESULT)]
    packed = checked.packed
    sizes = [
        Count.of(packed[buffer.name])
        if buffer.name in packed
        else product(buffer.shape) * Count.of(element_bytes(buffer.element))
        for buffer in buffers
    ]
    symbols = {symbol: len(buffers) + 1 + place for place, symbol in enumerate(symbols_of(checked.program))}
    names = [buffer.name for buffer in buffers]
    first = len(names) + 1 + len(symbols)
    bounds = {names.index(name): first + 2 * place for place, name in enumerate(checked.passed)}
    return _Slots([*sizes, Count.of(checked.workspace_bytes)], symbols, bounds)


def _step_name(line: str) -> str:
    """How the name of a function begins: that of a kernel, and the number of a step if there is one."""
    found = _STEP.search(line)
    return found[1] if found else ""


@dataclass(frozen=True, slots=True)
class _Slots:
    """What the words behind `%slots` are."""

    sizes: Sequence[Count]
    """Bytes of the arrays, that of the workspace last."""
    symbols: Mapping[str, int]
    """The slots of sizes that are known when the kernel runs."""
    bounds: Mapping[int, int]
    """The slots of buffers whose bounds stand in the slots, with that of the first of the two words (7)."""


@dataclass(eq=False)
class _Rewriting:
    """One function."""

    head: str
    body: Sequence[str]
    slots: _Slots
    constants: Mapping[str, int]
    """Bytes of each constant array of the module."""
    bounds: dict[str, Bounds] = field(default_factory=dict[str, Bounds])
    """Of each pointer whose array is known."""
    out: list[str] = field(default_factory=list[str])
    words: dict[str, int] = field(default_factory=dict[str, int])
    """Numbers of the slots whose addresses pointers are."""
    workspace: str = ""
    """The pointer to the workspace, if it is read."""
    count: int = 0
    name: str = ""
    places: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    """Constant distances from the start of the workspace, with the pointers there (6)."""

    def lines(self) -> list[str]:
        """The function with its checks."""
        found = DEFINE.match(self.head)
        assert found is not None, f"a function begins otherwise than expected: {self.head}"
        internal, result, self.name, parameters, attributes = found.groups()
        given = listed(parameters)
        pointers = [each.rsplit(" ", 1)[1] for each in given if each.startswith("ptr ")]
        if internal:
            for pointer in pointers:
                if pointer != _SLOTS:
                    low, high = self.bounds[pointer] = f"%low.{pointer[1:]}", f"%high.{pointer[1:]}"
                    given += [f"i64 {low}", f"i64 {high}"]
        self._find_pointers()
        for line in self.body:
            self._rewrite(line)
            if line == "entry:" and not internal:
                self._fill_workspace()
        return [f"define {internal or ''}{result} @{self.name}({', '.join(given)}){attributes}{{", *self.out, "}"]

    def _fill_workspace(self) -> None:
        """(5)."""
        bytes = self.slots.sizes[-1].number
        if bytes:
            address = self._new(f"getelementptr i64, ptr {_SLOTS}, i64 {len(self.slots.sizes) - 1}")
            start = self._new(f"load ptr, ptr {address}")
            self.out.append(f"  call void @llvm.memset.p0.i64(ptr {start}, i8 -1, i64 {bytes}, i1 false)")

    def _find_pointers(self) -> None:
        """Name the bounds of all pointers first: a loop carries some that stand further down."""
        for name, size in self.constants.items():
            end = f"getelementptr (i8, ptr {name}, i64 {size})"
            self.bounds[name] = f"ptrtoint (ptr {name} to i64)", f"ptrtoint (ptr {end} to i64)"
        if _SLOTS in self.head:
            self.words[_SLOTS] = 0
        for line in self.body:
            found = VALUE.match(line)
            if found is None:
                continue
            name, instruction = found.groups()
            if address := ADDRESS.match(instruction):
                element, base, index = address.groups()
                if base in self.words and element == "i64" and index.startswith("i64 ") and index[4:].isdigit():
                    self.words[name] = self.words[base] + int(index[4:])
                elif base == self.workspace and element == "i8" and index[4:].isdigit():
                    self.places.append((int(index[4:]), name))
                elif base in self.bounds:
                    self.bounds[name] = self.bounds[base]
            elif (load := LOAD.match(instruction)) and load[1] == "ptr" and load[2] in self.words:
                if self.words[load[2]] < len(self.slots.sizes):
                    self.bounds[name] = _names(name)
                    if self.words[load[2]] == len(self.slots.sizes) - 1:
                        self.workspace = name
            elif PHI.match(instruction) or ALLOCA.match(instruction) or SELECT.match(instruction):
                self.bounds[name] = _names(name)
        # (6)
        self.places.sort()
        for _, name in self.places:
            self.bounds[name] = _names(name)

    def _rewrite(self, line: str) -> None:
        found = VALUE.match(line)
        name, instruction = found.groups() if found else ("", line.strip())
        call = CALL.search(instruction) if " call " in f" {instruction}" else None
        if call is not None:
            self._rewrite_call(line, call)
            return
        if load := LOAD.match(instruction):
            if load[2] not in self.words and load[1] != "ptr":
                self._check(load[2], bytes_of(load[1]), line)
        elif instruction.startswith("store "):
            value, pointer = listed(instruction.removeprefix("store "))[:2]
            self._check(pointer.removeprefix("ptr "), bytes_of(type_of(value)), line)
        self.out.append(line)
        if name in self.bounds and self.bounds[name] == _names(name):
            self._define_bounds(name, instruction)

    def _define_bounds(self, name: str, instruction: str) -> None:
        """(1) for a pointer that is no step from another one."""
        low, high = _names(name)
        if phi := PHI.match(instruction):
            sources = PHI_SOURCE.findall(phi[1])
            for place, bound in enumerate((low, high)):
                parts = ", ".join(f"[ {self._known(source)[place]}, {block} ]" for source, block in sources)
                self.out.append(f"  {bound} = phi i64 {parts}")
        elif select := SELECT.match(instruction):
            condition, yes, no = select.groups()
            for place, bound in enumerate((low, high)):
                first, second = self._known(yes)[place], self._known(no)[place]
                self.out.append(f"  {bound} = select {condition}, i64 {first}, i64 {second}")
        elif alloca := ALLOCA.match(instruction):
            self._define(name, str(bytes_of(alloca[1]) * int(alloca[2])))
        elif load := LOAD.match(instruction):
            slot = self.words[load[2]]
            if slot in self.slots.bounds:
                for place, bound in enumerate((low, high)):
                    word = self._new(f"getelementptr i64, ptr {_SLOTS}, i64 {self.slots.bounds[slot] + place}")
                    self.out.append(f"  {bound} = load i64, ptr {word}")
            else:
                self._define(name, self._size(self.slots.sizes[slot]))
        else:
            # (6)
            at = next(place for place, (_, each) in enumerate(self.places) if each == name)
            end = next((start for start, _ in self.places[at + 1 :] if start > self.places[at][0]), None)
            if end is None:
                self.out.append(f"  {low} = ptrtoint ptr {name} to i64")
                self.out.append(f"  {high} = add i64 0, {self.bounds[self.workspace][1]}")
            else:
                self._define(name, str(end - self.places[at][0]))

    def _known(self, pointer: str) -> Bounds:
        return self.bounds.get(pointer, ("0", "-1"))  # (4): everything is inside

    def _define(self, pointer: str, size: str) -> None:
        low, high = _names(pointer)
        self.out.append(f"  {low} = ptrtoint ptr {pointer} to i64")
        self.out.append(f"  {high} = add i64 {low}, {size}")

    def _size(self, count: Count) -> str:
        """A number of bytes, computed from sizes in slots where there are some."""
        if count.number is not None:
            return str(count.number)
        total = "0"
        for symbols, factor in count.terms:
            term = str(factor)
            for symbol in symbols:
                address = self._new(f"getelementptr i64, ptr {_SLOTS}, i64 {self.slots.symbols[symbol]}")
                term = self._new(f"mul i64 {term}, {self._new(f'load i64, ptr {address}')}")
            total = self._new(f"add i64 {total}, {term}")
        return total

    def _new(self, instruction: str) -> str:
        self.count += 1
        name = f"%checked.{self.count}"
        self.out.append(f"  {name} = {instruction}")
        return name

    def _site(self, line: str) -> int:
        return new_site(f"'{self.name}': {line.strip()[:160]}")

    def _check(self, pointer: str, bytes: int | str, line: str) -> None:
        bounds = self.bounds.get(pointer)
        if bounds is not None:
            at = self._new(f"ptrtoint ptr {pointer} to i64")
            values = f"i64 {bounds[0]}, i64 {bounds[1]}, i64 {at}, i64 {bytes}, i64 {self._site(line)}"
            self.out.append(f"  call void @fuse.check({values})")

    def _rewrite_call(self, line: str, call: re.Match[str]) -> None:
        function, arguments = call[2], listed(call[3])
        if function.startswith("llvm.masked."):
            self._check_masked(function, arguments, line)
        elif function.startswith(("llvm.memset.", "llvm.memcpy.", "llvm.memmove.")):
            size = arguments[2].removeprefix("i64 ")
            for argument in arguments[: 1 if "memset" in function else 2]:
                self._check(argument.rsplit(" ", 1)[1], size, line)
        elif not function.startswith("llvm."):
            # (2)
            pointers = [each.rsplit(" ", 1)[1] for each in arguments if each.startswith("ptr ")]
            added = [bound for each in pointers if each != _SLOTS for bound in self._known(each)]
            given = ", ".join([*arguments, *(f"i64 {bound}" for bound in added)])
            self.out.append(line[: line.index("(", line.index("@"))] + f"({given}){line[line.rindex(')') + 1 :]}")
            return
        self.out.append(line)

    def _check_masked(self, function: str, arguments: Sequence[str], line: str) -> None:
        is_store = ".store." in function or ".scatter." in function
        address, mask = arguments[1:3] if is_store else arguments[:2]
        vector = VECTOR.match(arguments[0] if is_store else line.partition("call ")[2])
        assert vector is not None, "masked accesses are of vectors"
        lanes, bytes = int(vector[1]), bytes_of(vector[2])
        pointer = address.rsplit(" ", 1)[1]
        bounds = self.bounds.get(pointer)
        if bounds is None:
            return
        bits = self._new(f"bitcast {mask} to i{lanes}")
        wide = bits if lanes == 64 else self._new(f"zext i{lanes} {bits} to i64")
        ends = f"i64 {bounds[0]}, i64 {bounds[1]}"
        site = self._site(line)
        if ".gather." not in function and ".scatter." not in function:
            at = self._new(f"ptrtoint ptr {pointer} to i64")
            self.out.append(f"  call void @fuse.lanes({ends}, i64 {at}, i64 {bytes}, i64 {wide}, i64 {site})")
            return
        addresses = self._new(f"ptrtoint <{lanes} x ptr> {pointer} to <{lanes} x i64>")
        for lane in range(lanes):
            at = self._new(f"extractelement <{lanes} x i64> {addresses}, i64 {lane}")
            bit = self._new(f"and i64 1, {self._new(f'lshr i64 {wide}, {lane}')}")
            self.out.append(f"  call void @fuse.lanes({ends}, i64 {at}, i64 {bytes}, i64 {bit}, i64 {site})")


def _names(pointer: str) -> Bounds:
    return f"%low.{pointer[1:]}", f"%high.{pointer[1:]}"
