"""Functions around routines of LAPACK, as LLVM IR: matrices of a batch one after the other, in their row-major order.

1. LAPACK has columns where we have rows: to it a matrix is its transpose. So one triangle is the other, a matrix on the
   left stands on the right, and the factors of a transpose are those of the matrix, the other way round. Only LU and QR
   need the elements in the other order.
2. What a routine overwrites is a result, or a copy in the workspace.
3. A routine that says that it failed leaves nans in all results of that matrix.
4. A routine that iterates never gets a number that is not finite, as some would never end: nans in all results.

Source: LAPACK 3.12, https://netlib.org/lapack/explore-html.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from fuse_dialect.backends.assembler.builder import Function, Module, Parameter
from fuse_dialect.backends.assembler.values import F32, F64, I1, I8, I32, I64, PTR, VOID, Type, Value, constant
from fuse_dialect.backends.libraries.lapack import routine_address, work_size
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.factorizations import (
    CholeskyOp,
    EighOp,
    EigvalshOp,
    HouseholderProductOp,
    HouseholderQrOp,
    LuOp,
    SvdOp,
    SvdvalsOp,
)
from fuse_dialect.dialect.ops.linear_systems import InverseOp, SolveOp, TriangularSolveOp
from fuse_dialect.dialect.types import element_dtype, tensor_type

PREFIX = "fuse_lapack_"
"""Of the names by which the code calls routines."""
_ALIGNMENT = 64
_TILE = 16
_NAN = "nan"


class UnknownRoutineError(Exception):
    """A routine is not published, or rejects the sizes."""


@dataclass(slots=True)
class MatrixCode:
    """The function of an op that is being written."""

    f: Function
    type: Type
    """Of the elements."""
    operands: Sequence[Value]
    """Addresses, for the matrix at hand."""
    results: Sequence[Value]
    sizes: Sequence[int]
    """Elements of each result, for one matrix."""
    workspace: Value
    used: int = 0
    """Bytes of the workspace that have an owner."""
    symbols: dict[str, str] = field(default_factory=dict[str, str])
    """Routines by the names that the code has for them."""

    @property
    def letter(self) -> str:
        """The first letter of a routine for such elements."""
        return "s" if self.type is F32 else "d"

    def room(self, count: int, type: Type | None = None) -> Value:
        """A part of the workspace."""
        place = self.used
        self.used += -(-count * _bytes(type or self.type) // _ALIGNMENT) * _ALIGNMENT
        return self.f.offset(self.workspace, self.f.i64(place), I8)

    def integer(self, number: int) -> Value:
        """The address of a number."""
        return self.f.module.table(f"number_{number}", I32, [number])

    def word(self, letter: str) -> Value:
        """The address of a letter."""
        return self.f.module.table(f"letter_{letter}", I8, [ord(letter)])

    def call(self, routine: str, *arguments: Value | str | int) -> None:
        """Call a routine.

        Raises:
            UnknownRoutineError: Nobody publishes it.
        """
        name = self.letter + routine
        if not routine_address(name):
            raise UnknownRoutineError(f"SciPy publishes no '{name}'")
        self.symbols[PREFIX + name] = name
        values = [
            self.word(each) if isinstance(each, str) else self.integer(each) if isinstance(each, int) else each
            for each in arguments
        ]
        self.f.call(PREFIX + name, VOID, values)

    def work(self, routine: str, *arguments: str | int | None) -> tuple[Value, int]:
        """A workspace for a routine, whose array and size are its last arguments but `info`."""
        try:
            count = work_size(self.letter + routine, (*arguments, None, None), len(arguments))
        except ValueError as error:
            raise UnknownRoutineError(str(error)) from error
        return self.room(count), count

    def copy(self, source: Value, target: Value, count: int) -> None:
        """Elements one after the other."""
        bytes = self.f.i64(count * _bytes(self.type))
        self.f.intrinsic("memcpy", VOID, [target, source, bytes, constant(I1, 0)], over=[PTR, PTR, I64])

    def transpose(self, source: Value, target: Value, rows: int, columns: int) -> None:
        """A matrix in the other order, by strips of rows that stay in the cache."""
        f = self.f
        if min(rows, columns) == 1:
            self.copy(source, target, rows * columns)
            return
        with f.loop(f.i64(0), f.i64(rows), _TILE) as strip:
            end = f.least(f.add(strip.index, f.i64(_TILE)), f.i64(rows))
            with f.loop(f.i64(0), f.i64(columns)) as column, f.loop(strip.index, end) as row:
                value = f.load(self.type, self.at(source, row.index, columns, column.index))
                f.store(value, self.at(target, column.index, rows, row.index))

    def at(self, base: Value, row: Value, columns: int, column: Value) -> Value:
        """The address of an element."""
        place = self.f.add(self.f.multiply(row, self.f.i64(columns)), column)
        return self.f.offset(base, place, self.type)

    def succeeded(self, info: Value) -> Value:
        """Whether a routine has done what it is for."""
        return self.f.compare("eq", self.f.load(I32, info), constant(I32, 0))

    def is_finite(self, matrix: Value, rows: int, columns: int, triangle: str | None = None) -> Value:
        """Whether a matrix, or its lower (`L`) or upper (`U`) triangle with the diagonal, holds finite numbers only."""
        f, zero = self.f, constant(self.type, 0.0)
        with f.loop(f.i64(0), f.i64(rows), carried=[zero]) as row:
            begin = row.index if triangle == "U" else f.i64(0)
            end = f.add(row.index, f.i64(1)) if triangle == "L" else f.i64(columns)
            with f.loop(begin, end, carried=row.carried) as column:
                # A finite number times 0 is 0, any other is a nan, and the sum keeps it in whatever order.
                element = f.load(self.type, self.at(matrix, row.index, columns, column.index))
                product = f.fmul(element, zero, flags="")
                column.following = [f.fadd(column.carried[0], product, flags="reassoc")]
            row.following = column.carried
        return f.compare("oeq", row.carried[0], zero)

    def unless_failed(self, info: Value, write: Callable[[], None]) -> None:
        """What follows a routine, or nans in all results (3)."""
        self.where(self.succeeded(info), write)

    def where(self, is_good: Value, write: Callable[[], None]) -> None:
        """Write code for a matrix that a routine can do; nans in all results of others (3, 4)."""

        def failed() -> Sequence[Value]:
            for result, count in zip(self.results, self.sizes, strict=True):
                with self.f.loop(self.f.i64(0), self.f.i64(count)) as each:
                    self.f.store(constant(self.type, float(_NAN)), self.f.offset(result, each.index, self.type))
            return ()

        def done() -> Sequence[Value]:
            write()
            return ()

        self.f.either(is_good, done, failed)


def _bytes(type: Type) -> int:
    return {F32: 4, F64: 8, I32: 4}[type]


def _cholesky(op: CholeskyOp, code: MatrixCode) -> None:
    f, (x,), (result,) = code.f, code.operands, code.results
    size, info, is_upper = op.input.type.get_shape()[-1], code.room(1, I32), bool(op.upper.value.data)
    code.copy(x, result, size * size)
    code.call("potrf", "L" if is_upper else "U", size, result, size, info)

    def clear() -> None:
        with f.loop(f.i64(0), f.i64(size)) as row:
            begin, end = (f.i64(0), row.index) if is_upper else (f.add(row.index, f.i64(1)), f.i64(size))
            with f.loop(begin, end) as column:
                f.store(constant(code.type, 0.0), code.at(result, row.index, size, column.index))

    code.unless_failed(info, clear)


def _lu(op: LuOp, code: MatrixCode) -> None:
    f, (x,), (factors, pivots, order) = code.f, code.operands, code.results
    rows, columns = op.input.type.get_shape()[-2:]
    turned, info, step = code.room(rows * columns), code.room(1, I32), constant(I32, 1)
    code.transpose(x, turned, rows, columns)
    code.call("getrf", rows, columns, turned, rows, pivots, info)
    code.transpose(turned, factors, columns, rows)
    with f.loop(f.i64(0), f.i64(rows)) as row:
        f.store(f.cast("trunc", row.index, I32), f.offset(order, row.index, I32))
    with f.loop(f.i64(0), f.i64(min(rows, columns))) as row:
        place = f.offset(pivots, row.index, I32)
        other = f.binary("sub", f.load(I32, place), step)
        f.store(other, place)
        one, two = f.offset(order, row.index, I32), f.offset(order, f.cast("sext", other, I64), I32)
        first, second = f.load(I32, one), f.load(I32, two)
        f.store(second, one)
        f.store(first, two)


def _householder_qr(op: HouseholderQrOp, code: MatrixCode) -> None:
    (x,), (factors, scales) = code.operands, code.results
    rows, columns = op.input.type.get_shape()[-2:]
    turned, info = code.room(rows * columns), code.room(1, I32)
    work, size = code.work("geqrf", rows, columns, None, rows, None)
    code.transpose(x, turned, rows, columns)
    code.call("geqrf", rows, columns, turned, rows, scales, work, size, info)
    code.transpose(turned, factors, columns, rows)


def _householder_product(op: HouseholderProductOp, code: MatrixCode) -> None:
    (x, scales), (result,) = code.operands, code.results
    rows, columns = op.factors.type.get_shape()[-2:]
    steps = op.scales.type.get_shape()[-1]
    turned, info = code.room(rows * columns), code.room(1, I32)
    work, size = code.work("orgqr", rows, columns, steps, None, rows, None)
    code.transpose(x, turned, rows, columns)
    code.call("orgqr", rows, columns, steps, turned, rows, scales, work, size, info)
    code.transpose(turned, result, columns, rows)


def _eigenvalues(op: EighOp | EigvalshOp, code: MatrixCode) -> None:
    (x,), values, size = code.operands, code.results[0], op.input.type.get_shape()[-1]
    has_vectors = isinstance(op, EighOp)
    turned, info = code.room(size * size), code.room(1, I32)
    counts = (1 + 6 * size + 2 * size * size + 64 * size, 3 + 5 * size)
    work, integers = code.room(counts[0]), code.room(counts[1], I32)
    read, theirs = ("L", "U") if op.lower.value.data else ("U", "L")

    def find() -> None:
        code.copy(x, turned, size * size)
        code.call(
            "syevd",
            *("V" if has_vectors else "N", theirs, size, turned, size, values),
            *(work, counts[0], integers, counts[1], info),
        )
        code.unless_failed(info, turn)

    def turn() -> None:
        if has_vectors:
            code.transpose(turned, code.results[1], size, size)

    code.where(code.is_finite(x, size, size, read), find)


def _singular_values(op: SvdOp | SvdvalsOp, code: MatrixCode) -> None:
    (x,) = code.operands
    rows, columns = op.input.type.get_shape()[-2:]
    fewer = min(rows, columns)
    copied, info, integers = code.room(rows * columns), code.room(1, I32), code.room(8 * fewer, I32)
    if isinstance(op, SvdOp):
        u, s, vh = code.results
        letter, lead = ("A", rows) if op.full_matrices.value.data else ("S", fewer)
    else:
        letter, lead = "N", 1
        (s,), u, vh = code.results, copied, copied
    lengths = (letter, columns, rows, None, columns, None, None, columns, None, lead)
    work, size = _svd_work(code, lengths)

    def find() -> None:
        code.copy(x, copied, rows * columns)
        code.call("gesdd", letter, columns, rows, copied, columns, s, vh, columns, u, lead, work, size, integers, info)
        code.unless_failed(info, lambda: None)

    code.where(code.is_finite(x, rows, columns), find)


def _svd_work(code: MatrixCode, lengths: tuple[str | int | None, ...]) -> tuple[Value, int]:
    try:
        count = work_size(f"{code.letter}gesdd", (*lengths, None, None, None), len(lengths))
    except ValueError as error:
        raise UnknownRoutineError(str(error)) from error
    return code.room(count), count


def _triangular_solve(op: TriangularSolveOp, code: MatrixCode) -> None:
    (a, b), (result,) = code.operands, code.results
    size, (rows, columns) = op.a.type.get_shape()[-1], op.b.type.get_shape()[-2:]
    one = code.f.module.table("one", code.type, [1.0])
    code.copy(b, result, rows * columns)
    # (1) The transposed system: `x' op(a)' = b'`.
    code.call(
        "trsm",
        *("R" if op.left.value.data else "L", "U" if op.lower.value.data else "L"),
        *("T" if op.transpose.value.data else "N", "U" if op.unit_diagonal.value.data else "N"),
        *(columns, rows, one, a, size, result, columns),
    )


def _solve(op: SolveOp, code: MatrixCode) -> None:
    (a, b), (result,) = code.operands, code.results
    size, sides = op.b.type.get_shape()[-2:]
    factors, info, pivots = code.room(size * size), code.room(1, I32), code.room(size, I32)
    turned = result if sides == 1 else code.room(size * sides)
    code.copy(a, factors, size * size)
    code.call("getrf", size, size, factors, size, pivots, info)

    def substitute() -> None:
        code.transpose(b, turned, size, sides)
        code.call("getrs", "T", size, sides, factors, size, pivots, turned, size, info)
        if sides > 1:
            code.transpose(turned, result, sides, size)

    code.unless_failed(info, substitute)


def _inverse(op: InverseOp, code: MatrixCode) -> None:
    (x,), (result,), size = code.operands, code.results, op.input.type.get_shape()[-1]
    info, pivots = code.room(1, I32), code.room(size, I32)
    work, count = code.work("getri", size, None, size, None)
    code.copy(x, result, size * size)
    code.call("getrf", size, size, result, size, pivots, info)
    code.unless_failed(info, lambda: code.call("getri", size, result, size, pivots, work, count, info))


_WRITERS: Mapping[type[FuseOp], Callable[..., None]] = {
    CholeskyOp: _cholesky,
    EighOp: _eigenvalues,
    EigvalshOp: _eigenvalues,
    HouseholderProductOp: _householder_product,
    HouseholderQrOp: _householder_qr,
    InverseOp: _inverse,
    LuOp: _lu,
    SolveOp: _solve,
    SvdOp: _singular_values,
    SvdvalsOp: _singular_values,
    TriangularSolveOp: _triangular_solve,
}
"""What writes the code for one matrix, by the op."""


@dataclass(frozen=True, slots=True)
class WrittenCode:
    """A function for LLVM."""

    text: str
    symbols: Mapping[str, str]
    """Routines that it calls, by the names that it has for them."""
    workspace_bytes: int


NAME = "fuse_matrices"
"""Of the function."""


def matrix_code(op: FuseOp, operands: Sequence[int], returned: Sequence[int]) -> WrittenCode | None:
    """The function of an op; `None` if it is another op, or of open sizes, or has no elements.

    Args:
        op: The op.
        operands: The number of the argument that each operand is.
        returned: Numbers of the results that the function gives, in its order; others are put down in the workspace.

    Raises:
        UnknownRoutineError: A routine is not published, or rejects the sizes.
    """
    write = _WRITERS.get(type(op))
    types = [tensor_type(value) for value in (*op.operands, *op.results)]
    shapes = [tuple(type.get_shape()) for type in types]
    names = {element_dtype(type.element_type).name for type in types} - {"int32"}
    if write is None or min((size for shape in shapes for size in shape), default=1) < 1 or len(names) != 1:
        return None
    (name,) = names
    if name not in ("float32", "float64"):
        return None
    batch = shapes[0][:-2]
    count, item = prod(batch), {"float32": F32, "float64": F64, "int32": I32}
    module = Module()
    f = module.function(NAME, [Parameter("slots", PTR), Parameter("part", I64), Parameter("parts", I64)])
    slots = f.parameters[0]
    arguments = max(operands, default=-1) + 1

    def slot(number: int) -> Value:
        return f.load(PTR, f.offset(slots, f.i64(number), I64))

    workspace = slot(arguments + len(returned))
    each = [
        (prod(shape[len(batch) :]), item[element_dtype(type.element_type).name])
        for shape, type in zip(shapes, types, strict=True)
    ]
    code = MatrixCode(f, item[name], [], [], [], workspace)
    unread = {
        number: code.room(*each[len(operands) + number]) for number in range(len(op.results)) if number not in returned
    }
    bases = [slot(number) for number in operands]
    targets = {number: slot(arguments + place) for place, number in enumerate(returned)}
    with f.loop(f.i64(0), f.i64(count)) as matrix:

        def moved(base: Value, place: int) -> Value:
            size, type = each[place]
            return f.offset(base, f.multiply(matrix.index, f.i64(size)), type)

        code.operands = [moved(base, place) for place, base in enumerate(bases)]
        code.results = [
            unread[number] if number in unread else moved(targets[number], len(operands) + number)
            for number in range(len(op.results))
        ]
        code.sizes = [size for size, _ in each[len(operands) :]]
        write(op, code)
    f.ret()
    return WrittenCode(module.text(), code.symbols, code.used)
