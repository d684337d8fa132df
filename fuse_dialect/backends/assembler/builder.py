"""Writes LLVM IR as text: functions, loops, vectors, intrinsics. Knows nothing of programs or of llvmlite.

1. Every instruction method appends one line and returns the typed `Value` that it defines; a method whose operands are
   constants that decide the result appends nothing.
2. Names are `%hint.number` with one counter for a function, so the same calls give the same text.
3. Float instructions carry `flags`, by default those of the function (`contract`); a caller passes others where a
   single instruction needs more or less.
4. Integer arithmetic for addresses is i64 and does not wrap: `add`, `multiply`. Arithmetic of programs wraps, and goes
   through `binary`.
5. What a function calls is declared once for the module, whoever calls it first.
6. Integers and addresses that were computed in the same block before are not computed again: a third of the lines of a
   convolution, which LLVM would read first, and then find out the same.
7. Which numbers were added to a value is known, so that addresses at known distances from each other are one address
   and these distances: see `parts`, `moved` and `stepped`.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TypeAlias, TypeVar

from fuse_dialect.backends.assembler.values import (
    I1,
    I32,
    I64,
    PTR,
    VOID,
    Type,
    Value,
    constant,
    index_constant,
    lanes,
    poison,
)

CONTRACT = "contract"
"""Multiplications and additions may fuse; nothing else changes."""
SUM = "reassoc contract"
"""Additions of a reduction may also be in any order."""
FAST = "fast"
"""Anything that is true of real numbers; nan and infinities need not survive."""
Written = TypeVar("Written")
Branch: TypeAlias = Callable[[], Sequence[Value]]
"""Writes the code of one branch, and gives the values that it computes."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function."""

    name: str
    type: Type
    attributes: str = ""
    """As LLVM writes them: `noalias readonly align 64`."""


@dataclass(eq=False, slots=True)
class Loop:
    """A loop that is being written; `following` must be set before its body ends if it carries values."""

    index: Value
    carried: tuple[Value, ...]
    """The carried values at the start of an iteration; after the loop, what the last iteration left."""
    following: Sequence[Value] = ()
    """What the next iteration, or the code after the loop, gets."""


@dataclass(eq=False, slots=True)
class Module:
    """A module that is being written; `text` gives what was written so far."""

    attributes: str = "nounwind"
    """Of every function: `nounwind "prefer-vector-width"="512"`."""
    has_halves: bool = True
    """Whether the processor converts f16 to f32 and back."""
    narrows_in_stores: bool = False
    """Whether a store may cut off the upper bits of integers: LLVM 22 forgets that where it knows that one lane is
    stored, and writes them behind it (`reduceMaskedStoreToScalarStore` in X86ISelLowering.cpp)."""
    flags: str = CONTRACT
    """Of float instructions of functions that are begun from now on."""
    _functions: list["Function"] = field(default_factory=list["Function"])
    _declarations: dict[str, str] = field(default_factory=dict[str, str])
    _metadata: list[str] = field(default_factory=list[str])
    _globals: list[str] = field(default_factory=list[str])

    def function(
        self,
        name: str,
        parameters: Sequence[Parameter],
        *,
        linkage: str = "",
        attributes: str = "",
        result: Type = VOID,
    ) -> "Function":
        """A new function; the caller ends it with `ret`."""
        function = Function(self, name, tuple(parameters), linkage, attributes, result)
        self._functions.append(function)
        return function

    def defines(self, name: str) -> bool:
        """Whether a function of this name is written, or being written."""
        return any(function.name == name for function in self._functions)

    def declare(self, symbol: str, result: Type, operands: Sequence[Type]) -> None:
        """Make a function that is defined elsewhere known."""
        # (5) Declaring what the module defines would be an error; a kernel may call what another one in it defines.
        if all(function.name != symbol for function in self._functions):
            self._declarations[symbol] = f"declare {result} @{symbol}({', '.join(map(str, operands))})"

    def metadata(self, content: str) -> str:
        """A numbered node, distinct if the content begins with `distinct`; gives `!3`. `SELF` stands for its name."""
        name = f"!{len(self._metadata)}"
        self._metadata.append(content.replace("SELF", name))
        return name

    def table(self, name: str, element: Type, numbers: Sequence[float]) -> Value:
        """A constant array; gives its address. An array of a name is written once."""
        elements = ", ".join(str(constant(element, number)) for number in numbers)
        array = f"[{len(numbers)} x {element}]"
        text = f"@{name} = private unnamed_addr constant {array} [{elements}], align 64"
        if text not in self._globals:
            self._globals.append(text)
        return Value(f"@{name}", PTR)

    def text(self) -> str:
        """The module as LLVM reads it."""
        parts = [*self._globals, *(function.text() for function in self._functions)]
        parts += [self._declarations[symbol] for symbol in sorted(self._declarations)]
        parts.append(f"attributes #0 = {{ {self.attributes} }}")
        parts += [f"!{number} = {content}" for number, content in enumerate(self._metadata)]
        return "\n".join(parts) + "\n"


class Function:
    """A function that is being written, at the end of what was written so far."""

    def __init__(
        self, module: Module, name: str, parameters: tuple[Parameter, ...], linkage: str, attributes: str, result: Type
    ):
        self.module = module
        self.name = name
        self.flags = module.flags
        self.streams = False
        """Whether there are stores past the caches, which need a fence."""
        self.parameters = tuple(Value(f"%{parameter.name}", parameter.type) for parameter in parameters)
        declared = ", ".join(f"{p.type} {p.attributes} %{p.name}".replace("  ", " ") for p in parameters)
        head = " ".join(word for word in ("define", linkage, str(result)) if word)
        self._head = f"{head} @{name}({declared}) {attributes + ' ' if attributes else ''}#0 {{"
        self._lines: list[str] = ["entry:"]
        self._block = "entry"
        self._count = 0
        self._known: dict[str, Value] = {}
        """Of this block, by instruction (6)."""
        self._sums: dict[str, tuple[Value, int]] = {}
        """Values that are others plus a number, by name (7)."""

    def interleaved(self, writers: Sequence[Callable[[], Written]]) -> list[Written]:
        """What each writer gives; their instructions take turns, unless one of them writes several blocks.

        A processor looks ahead some fifty instructions that wait. A polynomial is a chain of as many, each waiting for
        the one before, so chains side by side must stand side by side.

        Args:
            writers: They read memory, but write none, and none needs what another one computes.
        """
        place, block, known = len(self._lines), self._block, len(self._known)
        results: list[Written] = []
        pieces: list[list[str]] = []
        for write in writers:
            start = len(self._lines)
            results.append(write())
            pieces.append(self._lines[start:])
            # (6) What one of them has computed may stand behind what the next one begins with.
            while len(self._known) > known:
                self._known.popitem()
        # Lines of another block must stay behind its label.
        if len(pieces) > 1 and self._block == block:
            self._lines[place:] = [line for step in zip_longest(*pieces) for line in step if line is not None]
        return results

    def heading(self, text: str) -> None:
        """A line for people, before the function."""
        self._head = f"; {text}\n{self._head}"

    def text(self) -> str:
        """The function as LLVM reads it."""
        return "\n".join([self._head, *self._lines, "}"])

    def comment(self, text: str) -> None:
        """A line for people."""
        self._lines.extend(f"  ; {line}" for line in text.splitlines())

    def emit(self, type: Type, instruction: str, hint: str = "v") -> Value:
        """Append an instruction that defines a value."""
        value = Value(self._name(hint), type)
        self._lines.append(f"  {value.text} = {instruction}")
        return value

    def _once(self, type: Type, instruction: str, hint: str = "v") -> Value:
        """The value of an instruction that depends on its operands alone, appended unless the block has it (6)."""
        value = self._known.get(instruction)
        if value is None:
            value = self._known[instruction] = self.emit(type, instruction, hint)
        # Types of one text may differ: those of 16-bit floats are i16 there.
        return value if value.type == type else self.emit(type, instruction, hint)

    def do(self, instruction: str) -> None:
        """Append an instruction that defines nothing."""
        self._lines.append(f"  {instruction}")

    def _name(self, hint: str) -> str:
        self._count += 1
        return f"%{hint}.{self._count}"

    def i64(self, number: int) -> Value:
        """A constant for addresses and counters."""
        return index_constant(number)

    def add(self, lhs: Value, rhs: Value) -> Value:
        """`lhs + rhs`, which does not wrap."""
        # (1) Tiles are unrolled in Python, so most addresses are sums of numbers that are known here.
        if lhs.number is not None and rhs.number is not None:
            total = lhs.number + rhs.number
            return index_constant(total) if lhs.type is I64 else constant(lhs.type, total)
        if lhs.number == 0:
            return rhs
        if rhs.number == 0:
            return lhs
        total = self._once(lhs.type, f"add nsw {lhs}, {rhs.text}", "i")
        if lhs.type is I64 and (lhs.number is not None or rhs.number is not None):
            (one, first), (other, second) = self.parts(lhs), self.parts(rhs)
            self._sums[total.text] = (one if rhs.number is not None else other, first + second)
        return total

    def parts(self, value: Value) -> tuple[Value, int]:
        """An i64 as a sum of a value and the numbers that were added to it (7)."""
        if value.number is not None:
            return self.i64(0), value.number
        return self._sums.get(value.text, (value, 0))

    def subtract(self, lhs: Value, rhs: Value) -> Value:
        """`lhs - rhs`, which does not wrap."""
        if lhs.number is not None and rhs.number is not None:
            return constant(lhs.type, lhs.number - rhs.number)
        return lhs if rhs.number == 0 else self._once(lhs.type, f"sub nsw {lhs}, {rhs.text}", "i")

    def multiply(self, lhs: Value, rhs: Value) -> Value:
        """`lhs * rhs`, which does not wrap."""
        if lhs.number is not None and rhs.number is not None:
            return constant(lhs.type, lhs.number * rhs.number)
        if 0 in (lhs.number, rhs.number):
            return constant(lhs.type, 0)
        if lhs.number == 1:
            return rhs
        return lhs if rhs.number == 1 else self._once(lhs.type, f"mul nsw {lhs}, {rhs.text}", "i")

    def quotient(self, value: Value, by: int) -> Value:
        """`value / by` for a value that is not negative and a positive constant."""
        if value.number is not None:
            return constant(value.type, value.number // by)
        return value if by == 1 else self._once(value.type, f"udiv {value}, {constant(value.type, by).text}", "i")

    def remainder(self, value: Value, by: int) -> Value:
        """What is left of the division of a value that is not negative by a positive constant."""
        if value.number is not None or by == 1:
            return constant(value.type, (value.number or 0) % by)
        return self._once(value.type, f"urem {value}, {constant(value.type, by).text}", "i")

    def least(self, lhs: Value, rhs: Value) -> Value:
        """The smaller of two signed integers."""
        if lhs.number is not None and rhs.number is not None:
            return constant(lhs.type, min(lhs.number, rhs.number))
        return self.intrinsic("smin", lhs.type, [lhs, rhs])

    def greatest(self, lhs: Value, rhs: Value) -> Value:
        """The larger of two signed integers."""
        if lhs.number is not None and rhs.number is not None:
            return constant(lhs.type, max(lhs.number, rhs.number))
        return self.intrinsic("smax", lhs.type, [lhs, rhs])

    def compare(self, predicate: str, lhs: Value, rhs: Value) -> Value:
        """`icmp` or `fcmp` by the type; `predicate` as LLVM writes it: `slt`, `olt`."""
        word = "fcmp" if lhs.type.is_float else "icmp"
        return self._once(lhs.type.of("i1"), f"{word} {predicate} {lhs}, {rhs.text}", "c")

    def binary(self, operation: str, lhs: Value, rhs: Value) -> Value:
        """An integer instruction, which wraps: `add`, `and`, `shl`, `udiv`."""
        return self._once(lhs.type, f"{operation} {lhs}, {rhs.text}")

    def float_binary(self, operation: str, lhs: Value, rhs: Value, flags: str | None = None) -> Value:
        """`fadd`, `fsub`, `fmul`, `fdiv`."""
        words = (operation, self.flags if flags is None else flags, f"{lhs}, {rhs.text}")
        return self.emit(lhs.type, " ".join(word for word in words if word))

    def fadd(self, lhs: Value, rhs: Value, flags: str | None = None) -> Value:
        """`lhs + rhs`."""
        return self.float_binary("fadd", lhs, rhs, flags)

    def fsub(self, lhs: Value, rhs: Value, flags: str | None = None) -> Value:
        """`lhs - rhs`."""
        return self.float_binary("fsub", lhs, rhs, flags)

    def fmul(self, lhs: Value, rhs: Value, flags: str | None = None) -> Value:
        """`lhs * rhs`."""
        return self.float_binary("fmul", lhs, rhs, flags)

    def fdiv(self, lhs: Value, rhs: Value, flags: str | None = None) -> Value:
        """`lhs / rhs`."""
        return self.float_binary("fdiv", lhs, rhs, flags)

    def fneg(self, value: Value) -> Value:
        """`-value`, also of nan."""
        return self.emit(value.type, f"fneg {value}")

    def fma(self, lhs: Value, rhs: Value, addend: Value) -> Value:
        """`lhs * rhs + addend`, rounded once."""
        return self.intrinsic("fma", lhs.type, [lhs, rhs, addend])

    def select(self, condition: Value, yes: Value, no: Value) -> Value:
        """`yes` where the condition holds, else `no`; lane by lane if the condition is a vector."""
        return self.emit(yes.type, f"select {condition}, {yes}, {no}")

    def cast(self, operation: str, value: Value, type: Type) -> Value:
        """`bitcast`, `sext`, `trunc`, `fpext`, `sitofp` and the like."""
        return value if value.type == type else self.emit(type, f"{operation} {value} to {type}")

    def freeze(self, value: Value) -> Value:
        """The value, or any fixed one where it is poison."""
        return self.emit(value.type, f"freeze {value}")

    def call(
        self, symbol: str, result: Type, operands: Sequence[Value], flags: str = "", attributes: str = ""
    ) -> Value:
        """Call a function by name; it is declared if the module does not define it."""
        self.module.declare(symbol, result, [operand.type for operand in operands])
        call = f"call {flags + ' ' if flags else ''}{result} @{symbol}({', '.join(map(str, operands))}){attributes}"
        if result == VOID:
            self.do(call)
            return Value("", VOID)
        return self.emit(result, call)

    def intrinsic(
        self, name: str, result: Type, operands: Sequence[Value], *, over: Sequence[Type] | None = None, flags: str = ""
    ) -> Value:
        """Call `llvm.name`, overloaded on the types `over`: by default on the result type."""
        suffix = ".".join(type.mangled for type in ([result] if over is None else over))
        return self.call(f"llvm.{name}.{suffix}" if suffix else f"llvm.{name}", result, operands, flags)

    def offset(self, pointer: Value, index: Value, element: Type) -> Value:
        """The address of an element; `index` may be a vector, then a vector of addresses comes out."""
        if index.number == 0 and not index.type.lanes:
            return pointer
        return self._once(PTR.wide(index.type.lanes), f"getelementptr inbounds {element}, {pointer}, {index}", "p")

    def moved(self, pointer: Value, index: Value, distance: int, element: Type) -> Value:
        """The address of the element at `index + distance`, of which neighbours share all but the distance (7)."""
        if index.number is not None:
            return self.offset(pointer, self.i64(index.number + distance), element)
        # Where the first address lies is not known, so neither says that it is in the array.
        start = self._once(PTR, f"getelementptr {element}, {pointer}, {index}", "p")
        return self._once(PTR, f"getelementptr {element}, {start}, {self.i64(distance)}", "p") if distance else start

    def stepped(self, pointer: Value, steps: Value, stride: int, element: Type) -> Value:
        """The address of the element `steps * stride` further on; see `moved`."""
        start, number = self.parts(steps)
        return self.moved(pointer, self.multiply(start, self.i64(stride)), number * stride, element)

    def load(self, type: Type, pointer: Value, align: int = 0) -> Value:
        """Read a scalar or a vector; `align` in bytes, by default that of an element."""
        return self.emit(type, f"load {type}, {pointer}, align {self._align(type, align)}")

    def store(self, value: Value, pointer: Value, align: int = 0, metadata: str = "") -> None:
        """Write a scalar or a vector; `align` in bytes, by default that of an element."""
        self.do(f"store {value}, {pointer}, align {self._align(value.type, align)}{', ' * bool(metadata)}{metadata}")

    def prefetch(self, pointer: Value, ahead: Value, *, writes: bool = False, near: bool = True) -> None:
        """Fetch a cache line that is needed soon.

        Args:
            pointer: An address.
            ahead: How many bytes behind it the line is; nothing need be there.
            writes: Whether the line will be written.
            near: Whether it is fetched into the first cache, else into the second.
        """
        if ahead.number != 0:
            pointer = self.emit(PTR, f"getelementptr i8, {pointer}, {ahead}", "ahead")
        hints = [constant(I32, int(writes)), constant(I32, 3 if near else 2), constant(I32, 1)]
        self.intrinsic("prefetch", VOID, [pointer, *hints], over=[PTR])

    def stream(self, value: Value, pointer: Value, align: int) -> None:
        """Write past the caches; `align` must be that of the whole vector."""
        self.streams = True
        hint = self.module.metadata("!{i32 1}")
        self.store(value, pointer, align, f"!nontemporal {hint}")

    def masked_load(self, type: Type, pointer: Value, mask: Value, otherwise: Value) -> Value:
        """Read the lanes where the mask holds; the others are not touched, and are those of `otherwise`."""
        self.module.declare(f"llvm.masked.load.{type.mangled}.p0", type, [PTR, mask.type, type])
        align = self._align(type, 0)
        address = f"ptr align {align} {pointer.text}"
        return self.emit(type, f"call {type} @llvm.masked.load.{type.mangled}.p0({address}, {mask}, {otherwise})")

    def masked_store(self, value: Value, pointer: Value, mask: Value) -> None:
        """Write the lanes where the mask holds; the others are not touched."""
        type = value.type
        if self.module.narrows_in_stores and not type.is_float and type.bits < 64:
            mask = self._hidden(mask)
        self.module.declare(f"llvm.masked.store.{type.mangled}.p0", VOID, [type, PTR, mask.type])
        address = f"ptr align {self._align(type, 0)} {pointer.text}"
        self.do(f"call void @llvm.masked.store.{type.mangled}.p0({value}, {address}, {mask})")

    def _hidden(self, mask: Value) -> Value:
        """The same mask, of which LLVM does not know a lane."""
        # An empty piece of assembly hides a value, but only one of a whole register.
        bits, room = I1.of(f"i{mask.type.lanes}"), I1.of(f"i{max(mask.type.lanes, 8)}")
        number = self.emit(bits, f"bitcast {mask} to {bits}")
        wide = number if bits == room else self.cast("zext", number, room)
        wide = self.emit(room, f'call {room} asm "", "=r,0"({wide})')
        number = wide if bits == room else self.cast("trunc", wide, bits)
        return self.emit(mask.type, f"bitcast {number} to {mask.type}")

    def gather(self, type: Type, pointers: Value, mask: Value, otherwise: Value) -> Value:
        """Read one element from each address where the mask holds; the other lanes are those of `otherwise`."""
        name = f"llvm.masked.gather.{type.mangled}.{pointers.type.mangled}"
        self.module.declare(name, type, [pointers.type, mask.type, type])
        addresses = f"{pointers.type} align {self._align(type, 0)} {pointers.text}"
        return self.emit(type, f"call {type} @{name}({addresses}, {mask}, {otherwise})")

    def scatter(self, value: Value, pointers: Value, mask: Value) -> None:
        """Write one element to each address where the mask holds."""
        name = f"llvm.masked.scatter.{value.type.mangled}.{pointers.type.mangled}"
        self.module.declare(name, VOID, [value.type, pointers.type, mask.type])
        addresses = f"{pointers.type} align {self._align(value.type, 0)} {pointers.text}"
        self.do(f"call void @{name}({value}, {addresses}, {mask})")

    def scratch(self, element: Type, count: int) -> Value:
        """A small array on the stack, 64-byte aligned; must be written at the start of the function."""
        return self.emit(PTR, f"alloca {element}, i64 {count}, align 64", "stack")

    def _align(self, type: Type, align: int) -> int:
        return align or max(type.bits // 8, 1)

    def splat(self, value: Value, lanes_count: int) -> Value:
        """A vector with the scalar in every lane; the scalar itself for 0 lanes."""
        if not lanes_count:
            return value
        if value.number is not None:
            return constant(value.type.wide(lanes_count), value.number)
        wide = value.type.wide(lanes_count)
        first = self._once(wide, f"insertelement {poison(wide)}, {value}, i64 0")
        zeros = Value("zeroinitializer", I32.wide(lanes_count))
        return self._once(wide, f"shufflevector {first}, {poison(wide)}, {zeros}")

    def shuffle(self, lhs: Value, rhs: Value, places: list[int]) -> Value:
        """The elements at these places of `lhs` followed by `rhs`."""
        mask = lanes(I32.wide(len(places)), places)
        return self.emit(lhs.type.wide(len(places)), f"shufflevector {lhs}, {rhs}, {mask}")

    def element(self, vector: Value, lane: int) -> Value:
        """One lane."""
        return self.emit(vector.type.scalar, f"extractelement {vector}, i64 {lane}")

    def insert(self, vector: Value, value: Value, lane: int) -> Value:
        """The vector with one lane replaced."""
        return self.emit(vector.type, f"insertelement {vector}, {value}, i64 {lane}")

    def steps(self, first: Value, lanes_count: int, stride: int = 1) -> Value:
        """The i64 vector `first, first + stride, ...`."""
        offsets = lanes(I64.wide(lanes_count), [lane * stride for lane in range(lanes_count)])
        if first.number == 0:
            return offsets
        return self._once(offsets.type, f"add nsw {self.splat(first, lanes_count)}, {offsets.text}", "i")

    def first_lanes(self, count: Value, lanes_count: int) -> Value:
        """A mask of the lanes with a number less than `count`, an i64."""
        if count.number is not None:
            return lanes(I1.wide(lanes_count), [int(lane < count.number) for lane in range(lanes_count)])
        # Counts above the lanes are cut first: what is left fits 32 bits, whose comparisons take half the registers.
        narrow = self.cast("trunc", self.least(count, self.i64(lanes_count)), I32)
        order = lanes(I32.wide(lanes_count), list(range(lanes_count)))
        return self.compare("slt", order, self.splat(narrow, lanes_count))

    def label(self, hint: str) -> str:
        """A new name for a block."""
        return self._name(hint)[1:]

    def start(self, block: str) -> None:
        """Begin a block; the one before must have ended with `br`."""
        self._lines.append(f"{block}:")
        self._block = block
        self._known.clear()

    def br(self, block: str) -> None:
        """Go on in a block."""
        self.do(f"br label %{block}")

    def branch(self, condition: Value, yes: str, no: str) -> None:
        """Go on in one of two blocks."""
        self.do(f"br {condition}, label %{yes}, label %{no}")

    def ret(self, value: Value | None = None) -> None:
        """End the function."""
        self.do(f"ret {value}" if value is not None else "ret void")

    @contextmanager
    def loop(
        self, start: Value, stop: Value, step: int = 1, carried: Sequence[Value] = (), hints: Sequence[str] = ()
    ) -> Generator[Loop]:
        """A loop over `start, start + step, ...` below `stop`; its body is what the `with` block writes.

        Args:
            start: The first index, an i64.
            stop: The first index that is too large.
            step: A positive number.
            carried: What the first iteration gets as `Loop.carried`.
            hints: Loop metadata: `unroll.disable`, `unroll.count, i32 4`, `vectorize.enable, i1 false`.
        """
        head, body, end = self.label("head"), self.label("body"), self.label("end")
        # (1) The body may end in another block than it began in, so both ends of the phis are known only after it.
        before = self._block
        index = Value(self._name("i"), I64)
        values = tuple(Value(self._name("carried"), value.type) for value in carried)
        self.br(head)
        self.start(head)
        place = len(self._lines)
        inside = self.compare("slt", index, stop)
        self.branch(inside, body, end)
        self.start(body)
        loop = Loop(index, values)
        yield loop
        assert len(loop.following) == len(values), "a loop carries as many values as its body leaves"
        following = self.emit(I64, f"add nsw {index}, {step}", "i")
        after = self._block
        self.do(f"br label %{head}{self._loop_metadata(hints)}")
        phis = [f"  {index.text} = phi i64 [ {start.text}, %{before} ], [ {following.text}, %{after} ]"]
        phis += [
            f"  {value.text} = phi {value.type} [ {first.text}, %{before} ], [ {rest.text}, %{after} ]"
            for value, first, rest in zip(values, carried, loop.following, strict=True)
        ]
        # Phis stand first in their block but name values of its end, so they are written last.
        self._lines[place:place] = phis
        self.start(end)

    def _loop_metadata(self, hints: Sequence[str]) -> str:
        if not hints:
            return ""
        nodes = ", ".join(self.module.metadata("!{" + _hint(hint) + "}") for hint in hints)
        loop = self.module.metadata(f"distinct !{{SELF, {nodes}}}")
        return f", !llvm.loop {loop}"

    @contextmanager
    def when(self, condition: Value) -> Generator[None]:
        """What the `with` block writes runs only if the condition, an i1, holds."""
        yes, end = self.label("then"), self.label("end")
        self.branch(condition, yes, end)
        self.start(yes)
        yield
        self.br(end)
        self.start(end)

    def either(self, condition: Value, yes: Branch, no: Branch) -> tuple[Value, ...]:
        """Run one of two writers of code; gives the values of the one that ran."""
        first, second, end = self.label("then"), self.label("else"), self.label("end")
        self.branch(condition, first, second)
        sources: list[tuple[Sequence[Value], str]] = []
        for block, write in ((first, yes), (second, no)):
            self.start(block)
            # A branch may hold blocks of its own: values come from the block in which it ends.
            sources.append((write(), self._block))
            self.br(end)
        self.start(end)
        (ones, one), (others, other) = sources
        return tuple(
            self.emit(left.type, f"phi {left.type} [ {left.text}, %{one} ], [ {right.text}, %{other} ]")
            for left, right in zip(ones, others, strict=True)
        )


def _hint(hint: str) -> str:
    """`unroll.count, i32 4` as the content of a node: the name is a string."""
    name, comma, rest = hint.partition(",")
    return f'!"llvm.loop.{name}"{comma}{rest}'
